#include "promotion.h"

#include <string.h>

#include "boundary.h"
#include "hash.h"
#include "memory.h"
#include "state-file-priv.h"
#include "text.h"

enum { DIGEST_LENGTH = HASH_HEX_SIZE - 1, WHY_BYTES = 400 };

const char *const promotion_tier_names[] = {"small", "medium", "large", NULL};

const char *promotion_tier_name(enum promotion_tier tier)
{
    return promotion_tier_names[tier];
}

/* --- the record ---------------------------------------------------------------------------------- */

#define TEXT(member, kind, max, text)                                                              \
    FIELD(struct promotion, member, FIELD_STRING, kind, .minimum = 1, .maximum = (max),            \
          .doc = (text))
#define DIGEST(member, text)                                                                       \
    FIELD(struct promotion, member, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = DIGEST_LENGTH,    \
          .maximum = DIGEST_LENGTH, .doc = (text))

static const struct record_field promotion_fields[] = {
    TEXT(repository, SENSITIVITY_PATH, 4096, "physical path of its root"),
    TEXT(workload, SENSITIVITY_PUBLIC, 128, "what it was called"),
    FIELD(struct promotion, tier, FIELD_ENUM, SENSITIVITY_PUBLIC, .names = promotion_tier_names,
          .doc = "the tier at which it succeeded"),
    DIGEST(frozen_digest, "the work: its frozen identity"),
    DIGEST(report_digest, "of the bytes of its report"),
    TEXT(run_id, SENSITIVITY_PUBLIC, 16, "the run"),
    TEXT(recorded_at, SENSITIVITY_PUBLIC, 64, "date and time, RFC 3339"),
    DIGEST(build, "the berm program that ran it"),
};
static const struct record promotion_record =
    RECORD(struct promotion, "promotion", promotion_fields);

static const struct record_field promotions_fields[] = {
    FIELD_FIXED("schema", "berm.promotions/v1", .doc = "names this format"),
    FIELD(struct promotions, promotions, FIELD_OBJECTS, SENSITIVITY_PUBLIC,
          .maximum = PROMOTIONS_MAX, .record = &promotion_record,
          .doc = "the oldest first; of one workload of one repository at most one at a tier"),
};
const struct record promotions_record =
    RECORD(struct promotions, "berm.promotions/v1", promotions_fields,
           .doc = "Which workloads succeeded at which tier.");

static const struct state_file promotions_file = {
    PROMOTIONS_FILE, &promotions_record,
    "move it away, and run the smaller tiers with --promote again"};

void promotions_done(struct promotions *promotions)
{
    record_done(&promotions_record, promotions);
}

int promotions_read(const struct bfs_dir *folder, struct promotions *ret_promotions,
                    struct err *err)
{
    return state_file_read(folder, &promotions_file, ret_promotions, err);
}

/* --- what they open ------------------------------------------------------------------------------ */

static bool is_of(const struct promotion *one, const char *repository, const char *workload,
                  int tier)
{
    return strcmp(one->repository, repository) == 0 && strcmp(one->workload, workload) == 0 &&
           one->tier == tier;
}

const struct promotion *promotions_find(const struct promotions *promotions,
                                        const struct promotion_work *work, enum promotion_tier tier)
{
    const struct promotion *list = promotions->promotions.objects;
    for (size_t i = 0; i < promotions->promotions.count; i++) {
        if (is_of(&list[i], work->repository, work->workload, (int)tier)) {
            return &list[i];
        }
    }
    return NULL;
}

bool promotions_allow(const struct promotions *promotions, const struct promotion_work *work,
                      enum promotion_tier tier, struct buf *why)
{
    for (enum promotion_tier below = PROMOTION_SMALL; below < tier; below++) {
        const struct promotion *one = promotions_find(promotions, work, below);
        if (one && strcmp(one->frozen_digest, work->frozen_digest) == 0) {
            continue;
        }
        if (!one) {
            buf_add_format(why, "workload '%s' was not promoted at tier %s", work->workload,
                           promotion_tier_name(below));
        } else {
            buf_add_format(why, "workload '%s' was promoted at tier %s by run ", work->workload,
                           promotion_tier_name(below));
            text_neutralise(why, span_of_string(one->run_id));
            buf_add_string(why, ", which was other work: its source, words, inputs or berm itself "
                                "have changed since");
        }
        return false;
    }
    return true;
}

bool promotion_is_earned(const struct promotion_facts *facts, struct buf *why)
{
    bool earned = true;
#define X(member, missing)                                                                         \
    if (!facts->member) {                                                                          \
        buf_add_format(why, "%s%s", earned ? "" : "; ", missing);                                  \
        earned = false;                                                                            \
    }
    PROMOTION_FACTS(X)
#undef X
    return earned;
}

/* --- one more ------------------------------------------------------------------------------------ */

/* Borrowed: the list that is written is of pointers to texts of the one that was read. */
static size_t leave_room(const struct promotion *old, size_t count, const struct promotion *one,
                         struct promotion *ret_list)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_of(&old[i], one->repository, one->workload, one->tier)) {
            ret_list[kept++] = old[i];
        }
    }
    if (kept < PROMOTIONS_MAX) {
        return kept;
    }
    memmove(ret_list, ret_list + 1, (kept - 1) * sizeof *ret_list);
    return kept - 1;
}

static int add(const struct bfs_dir *folder, const struct promotion *one, struct err *err)
{
    with_promotions there = {0};
    if (promotions_read(folder, &there, err) < 0) {
        return -1;
    }
    struct promotion *list = memory_new((there.promotions.count + 1) * sizeof *list);
    size_t kept = leave_room(there.promotions.objects, there.promotions.count, one, list);
    list[kept] = *one;
    const struct promotions with_one = {.promotions = {list, kept + 1}};
    int result = state_file_write(folder, &promotions_file, &with_one, err);
    if (result == 0) {
        os_boundary(BOUNDARY_PROMOTED);
    }
    memory_free(list);
    return result;
}

int promotion_add(const struct bfs_dir *folder, const struct promotion *promotion,
                  const struct promotion_facts *facts, struct err *err)
{
    with_buf why = buf_new(WHY_BYTES);
    if (!promotion_is_earned(facts, &why)) {
        return err_set(err, ERR_REFUSED, "it is not promoted: %s", buf_string(&why));
    }
    if (state_file_lock(folder, err) < 0) {
        return -1;
    }
    int result = add(folder, promotion, err);
    state_file_unlock(folder);
    return result;
}
