#include "qualify-priv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "archive.h"
#include "file.h"
#include "guarantee.h"
#include "memory.h"
#include "qualification.h"
#include "text.h"

enum { WHY_BYTES = 4096 };

static void qualifying_done(struct qualifying *qualifying)
{
    memory_free(qualifying->fixture);
    memory_free(qualifying->fixture_folder);
    bfs_dir_done(&qualifying->folder);
    bfs_dir_done(&qualifying->reports);
}

/* --- before the cases ---------------------------------------------------------------------------- */

/* Two at once would write over each other's reports. */
static int open_places(struct qualifying *qualifying, struct err *err)
{
    with_string state = archive_state_folder(qualifying->request->environment, err);
    if (!state ||
        bfs_dir_make(AT_FDCWD, state, 0700, BFS_TRUST_OWN, &qualifying->folder, err) < 0 ||
        bfs_dir_make_beneath(&qualifying->folder, ATTESTATION_REPORTS, 0700, &qualifying->reports,
                             err) < 0) {
        return -1;
    }
    int result = os_flock(bfs_dir_fd(&qualifying->reports), LOCK_EX | LOCK_NB);
    return result < 0 ? err_set(err, ERR_CONFLICT, "another self-test is on its way in '%s'",
                                qualifying->reports.path)
                      : 0;
}

static void add_reasons(const json_t *explained, struct buf *why)
{
    size_t i;
    json_t *check;
    const json_t *checks = json_object_get(explained, "checks");
    json_array_foreach((json_t *)(uintptr_t)checks, i, check) {
        if (json_is_true(json_object_get(check, "ok"))) {
            continue;
        }
        const char *saw = json_string_value(json_object_get(check, "saw"));
        buf_add_string(why, buf_length(why) > 0 ? "; " : "");
        buf_add_string(why, json_string_value(json_object_get(check, "what")));
        buf_add_format(why, saw && saw[0] ? " (%s)" : "%s", saw ? saw : "");
    }
}

/* The first case as it would be run; NULL: nothing stands in its way that can be seen without starting
 * anything. */
static struct attestation_error *ask_for_enforcement(const struct qualifying *qualifying)
{
    static const char code[] = "LAMINA_SAFE_PRODUCTION_ENFORCEMENT_REQUIRED";
    struct err err = {0};
    with_buf why = buf_new(WHY_BYTES);
    char mode[] = "escape";
    char *argv[] = {qualifying->fixture, mode, NULL};
    char *const roots[] = {qualifying->fixture_folder, NULL};
    struct run_request request = qualify_request_of(qualifying, &qualify_cases[CASE_NORMAL]);
    request.argv = argv;
    request.authority = AUTHORITY_DECLARED;
    request.roots = roots;
    request.sandbox = true;
    request.require = GUARANTEE_ALL;
    request.user = qualifying->request->user;
    with_json explained = run_explain(&request, &err);
    if (!explained) {
        buf_add_string(&why, err.msg);
        return qualify_error(code, &why);
    }
    if (json_is_true(json_object_get(explained, "would_run"))) {
        return NULL;
    }
    add_reasons(explained, &why);
    return qualify_error(code, &why);
}

/* --- the cases ----------------------------------------------------------------------------------- */

static void run_case(struct qualifying *qualifying, struct attestation_case *one)
{
    const struct qualify_request *request = qualifying->request;
    const struct qualify_case *wanted = &qualify_cases[one->id];
    int64_t began_ns = request->clock->monotonic_ns();
    one->evidence = json_object();
    wanted->run(qualifying, wanted, one);
    if (!one->error && !one->cleanup_verified) {
        qualify_fault(one, "CLEANUP_UNPROVEN", "it was not proved that nothing is left");
    }
    one->passed = !one->error;
    one->duration_ms = (request->clock->monotonic_ns() - began_ns) / NS_PER_MS;
    if (request->on_case && !qualifying->die_of) {
        request->on_case(request->context, one->id + 1, one);
    }
}

static void run_cases(struct qualifying *qualifying, struct attestation *attestation)
{
    struct attestation_case *cases = memory_new(CASE_COUNT * sizeof *cases);
    attestation->cases.objects = cases;
    for (int id = 0; id < CASE_COUNT && !qualifying->die_of; id++) {
        cases[id].id = id;
        attestation->cases.count = (size_t)id + 1;
        run_case(qualifying, &cases[id]);
    }
}

/* --- after them ---------------------------------------------------------------------------------- */

static void conclude(const struct scope_offer *offer, const struct qualify_request *request,
                     struct attestation_host *before, struct attestation *attestation)
{
    struct err err = {0};
    char hex[HASH_HEX_SIZE];
    with_buf why = buf_new(WHY_BYTES);
    struct attestation_host *host = memory_new(sizeof *host);
    if (qualification_read_host(request->environment, offer, host, &err) < 0) {
        memory_free(host);
        buf_add_string(&why, err.msg);
        attestation->refusal = qualify_error("LAMINA_SAFE_SELF_TEST_HOST", &why);
        return;
    }
    attestation_fingerprint(host, hex);
    attestation->host = host;
    attestation->host_fingerprint = memory_copy_string(hex);
    if (!attestation_same_programs(before, host)) {
        buf_add_string(&why,
                       "a program of berm's or of the host was replaced during the self-test");
        attestation->refusal = qualify_error("LAMINA_SAFE_SELF_TEST_HOST", &why);
        return;
    }
    attestation->passed = attestation_complete(attestation, NULL);
    attestation->qualified_for_production_tiers = attestation->passed;
}

static int examine(struct qualifying *qualifying, struct qualify_result *result, struct err *err)
{
    const struct qualify_request *request = qualifying->request;
    struct attestation *attestation = &result->attestation;
    const struct scope_question question = {
        .parent = request->cgroup_parent,
        .runtime_dir = text_variable(request->environment, "XDG_RUNTIME_DIR"),
        .ask = true,
    };
    struct scope_offer offer;
    with_attestation_host before = {0};
    scope_probe(&question, &offer);
    attestation->adapter =
        memory_copy_string(offer.adapter == SCOPE_NONE ? "portable-process-group-small-only"
                                                       : scope_adapter_id(offer.adapter));
    attestation->refusal = ask_for_enforcement(qualifying);
    if (attestation->refusal) {
        result->refused = true;
        qualify_skip_cases(attestation);
        return 0;
    }
    if (qualification_read_host(request->environment, &offer, &before, err) < 0) {
        return -1;
    }
    run_cases(qualifying, attestation);
    result->die_of = qualifying->die_of;
    if (!qualifying->die_of) {
        conclude(&offer, request, &before, attestation);
    }
    return 0;
}

int qualify_run(const struct qualify_request *request, struct qualify_result *ret_result,
                struct err *err)
{
    char time[CLOCK_TEXT_SIZE];
    cleanup(qualifying_done) struct qualifying qualifying = {.request = request};
    with_qualify_result result = {0};
    int64_t now_ns = request->clock->realtime_ns();
    clock_format_utc(now_ns, time);
    if (open_places(&qualifying, err) < 0 ||
        attestation_withdraw(&qualifying.folder, now_ns, err) < 0) {
        return -1;
    }
    qualifying.fixture = qualification_fixture(err);
    if (!qualifying.fixture) {
        return -1;
    }
    qualifying.fixture_folder = memory_format(
        "%.*s", (int)(strrchr(qualifying.fixture, '/') - qualifying.fixture), qualifying.fixture);
    result.attestation.tested_at = memory_copy_string(time);
    result.path = memory_format("%s/%s", qualifying.folder.path, ATTESTATION_FILE);
    if (examine(&qualifying, &result, err) < 0 ||
        (!result.die_of && attestation_write(&qualifying.folder, &result.attestation, err) < 0)) {
        return -1;
    }
    *ret_result = result;
    result = (struct qualify_result){0};
    return 0;
}
