/* The attestation on the disk, and whether it is one of this host as it is now. */
#include "attestation.h"

#include <string.h>

#include "clock.h"
#include "memory.h"
#include "process.h"
#include "text.h"

enum { FILE_MAX_BYTES = 1 << 20, REPORT_MAX_BYTES = 16 << 20, MODE = 0600, OTHERS_WRITE = 022 };

/* Nobody else wrote it. */
static int check_owner(const struct bfs_facts *facts, struct err *err)
{
    if (facts->owner != os_geteuid() || (facts->mode & OTHERS_WRITE) != 0) {
        return err_set(
            err, ERR_REFUSED,
            "it belongs to uid %u with mode %o, and would have to be this user's (%u) alone; "
            "remove it and run `berm self-test`",
            facts->owner, facts->mode & 07777U, os_geteuid());
    }
    return 0;
}

static int decode(struct span text, struct attestation *ret_attestation, struct err *err)
{
    with_json json = json_read(text, &json_budget_control, err);
    if (!json) {
        return -1;
    }
    if (record_decode(&attestation_record, json, ret_attestation, err) < 0) {
        err->code = ERR_CORRUPT;
        return err_wrap(err, "it is no attestation of this berm; run `berm self-test`");
    }
    return 0;
}

int attestation_read(const struct bfs_dir *folder, struct attestation *ret_attestation,
                     struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = FILE_MAX_BYTES};
    struct bfs_facts facts;
    struct err seen = {0};
    with_buf text = buf_new(FILE_MAX_BYTES);
    int result = bfs_read(folder, ATTESTATION_FILE, &rule, &text, &facts, &seen);
    if (result < 0 && seen.code == ERR_NOT_FOUND) {
        return 0;
    }
    if (result < 0 || check_owner(&facts, &seen) < 0 ||
        decode(buf_span(&text), ret_attestation, &seen) < 0) {
        return err_set(err, seen.code, "'%s/" ATTESTATION_FILE "': %s", folder->path, seen.msg);
    }
    return 1;
}

int attestation_report_digest(const struct bfs_dir *reports, const char *file,
                              char hex[HASH_HEX_SIZE], struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = REPORT_MAX_BYTES};
    with_bfs_file opened = {0};
    return bfs_file_open(reports, file, &rule, &opened, err) < 0 ? -1
                                                                 : bfs_file_hash(&opened, hex, err);
}

/* --- what speaks against it ---------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void add_value(struct buf *why, const char *value)
{
    text_neutralise(why, span_of_string(value && value[0] ? value : "none"));
}

static bool is_this_host(const struct attestation_host *then, const struct attestation_host *now,
                         struct buf *why)
{
    static const struct {
        const char *meaning;
        size_t offset;
    } facts[] = {
#define X(member, meaning) {meaning, offsetof(struct attestation_host, member)},
        ATTESTATION_FACTS(X)
#undef X
    };
    for (size_t i = 0; i < countof(facts); i++) {
        const char *was = *(char *const *)(const void *)((const char *)then + facts[i].offset);
        const char *is = *(char *const *)(const void *)((const char *)now + facts[i].offset);
        if (!same(was, is)) {
            buf_add_format(why, "%s changed: was ", facts[i].meaning);
            add_value(why, was);
            buf_add_string(why, ", is ");
            add_value(why, is);
            return false;
        }
    }
    return true;
}

static bool passed(const struct attestation *attestation, struct buf *why)
{
    if (attestation->refusal) {
        text_neutralise(why, span_of_string(attestation->refusal->message));
        return false;
    }
    if (!attestation_complete(attestation, why)) {
        return false;
    }
    if (!attestation->passed || !attestation->qualified_for_production_tiers) {
        buf_add_string(why, "the self-test did not qualify this host");
        return false;
    }
    return true;
}

static bool has_reports(const struct attestation *attestation, const struct bfs_dir *reports,
                        struct buf *why)
{
    const struct attestation_case *cases = attestation->cases.objects;
    for (size_t i = 0; i < attestation->cases.count; i++) {
        const struct attestation_report *stored = cases[i].reports.objects;
        for (size_t j = 0; j < cases[i].reports.count; j++) {
            char hex[HASH_HEX_SIZE];
            struct err err = {0};
            if (attestation_report_digest(reports, stored[j].file, hex, &err) < 0) {
                buf_add_format(why, "the report of the case %s cannot be read: ",
                               attestation_case_name((enum attestation_case_id)cases[i].id));
                text_neutralise(why, span_of_string(err.msg));
                return false;
            }
            if (strcmp(hex, stored[j].sha256) != 0) {
                buf_add_format(why, "the report of the case %s is not the one that it wrote",
                               attestation_case_name((enum attestation_case_id)cases[i].id));
                return false;
            }
        }
    }
    return true;
}

int attestation_judge(const struct attestation *attestation, const struct bfs_dir *folder,
                      const struct attestation_host *host, struct buf *why, struct err *err)
{
    char hex[HASH_HEX_SIZE];
    with_bfs_dir reports = {0};
    if (!passed(attestation, why)) {
        return 0;
    }
    if (!attestation->host || !attestation->host_fingerprint) {
        return err_set(err, ERR_CORRUPT,
                       "'%s/" ATTESTATION_FILE "' passed without a host; run `berm self-test`",
                       folder->path);
    }
    attestation_fingerprint(attestation->host, hex);
    if (strcmp(hex, attestation->host_fingerprint) != 0 ||
        !same(attestation->adapter, attestation->host->adapter)) {
        return err_set(err, ERR_CORRUPT,
                       "'%s/" ATTESTATION_FILE "': its fingerprint is not that of its host; "
                       "run `berm self-test`",
                       folder->path);
    }
    if (!is_this_host(attestation->host, host, why)) {
        return 0;
    }
    struct err missing = {0};
    if (bfs_dir_open_beneath(folder, ATTESTATION_REPORTS, &reports, &missing) < 0) {
        buf_add_string(why, "the reports of the cases cannot be read: ");
        text_neutralise(why, span_of_string(missing.msg));
        return 0;
    }
    return has_reports(attestation, &reports, why) ? 1 : 0;
}

/* --- writing ------------------------------------------------------------------------------------- */

int attestation_write(const struct bfs_dir *folder, const struct attestation *attestation,
                      struct err *err)
{
    with_json json = record_encode(&attestation_record, attestation);
    with_buf text = buf_new(FILE_MAX_BYTES);
    with_bfs_stage stage = {0};
    if (json_write(json, JSON_READABLE, &text, err) < 0 ||
        bfs_stage_open(folder, MODE, 0, &stage, err) < 0 ||
        bfs_stage_write(&stage, buf_span(&text), err) < 0 ||
        bfs_stage_replace(&stage, ATTESTATION_FILE, err) < 0) {
        return err_wrap(err, "cannot write '%s/" ATTESTATION_FILE "'", folder->path);
    }
    return 0;
}

int attestation_withdraw(const struct bfs_dir *folder, int64_t realtime_ns, struct err *err)
{
    char time[CLOCK_TEXT_SIZE];
    clock_format_utc(realtime_ns, time);
    struct attestation_error *refusal = memory_new(sizeof *refusal);
    refusal->code = memory_copy_string("LAMINA_SAFE_SELF_TEST_IN_PROGRESS");
    refusal->message = memory_copy_string("a self-test began and has not ended");
    with_attestation withdrawn = {.tested_at = memory_copy_string(time),
                                  .adapter = memory_copy_string(""),
                                  .refusal = refusal};
    return attestation_write(folder, &withdrawn, err);
}
