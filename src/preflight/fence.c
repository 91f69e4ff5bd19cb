#include "fence.h"

#include <string.h>

#include "boundary.h"
#include "clock.h"
#include "hash.h"
#include "memory.h"
#include "state-file-priv.h"
#include "text.h"

enum { DIGEST_LENGTH = HASH_HEX_SIZE - 1, ID_LEAST = 4, WORDS_BYTES = 600 };

static const char *const state_names[] = {
#define X(enumerator, name, what) [enumerator] = name,
    FENCE_STATES(X)
#undef X
        NULL,
};

const char *fence_state_name(enum fence_state state)
{
    return state_names[state];
}

const char *fence_state_words(enum fence_state state)
{
    static const char *const words[] = {
#define X(enumerator, name, what) [enumerator] = what,
        FENCE_STATES(X)
#undef X
    };
    return words[state];
}

/* --- the record ---------------------------------------------------------------------------------- */

#define TEXT(member, kind, max, text)                                                              \
    FIELD(struct fence, member, FIELD_STRING, kind, .minimum = 1, .maximum = (max), .doc = (text))

static const struct record_field fence_fields[] = {
    FIELD(struct fence, frozen_digest, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = DIGEST_LENGTH,
          .maximum = DIGEST_LENGTH,
          .doc = "the work: its frozen identity; its first twelve digits are the id of the fence"),
    FIELD(struct fence, state, FIELD_ENUM, SENSITIVITY_PUBLIC, .names = state_names,
          .doc = "what happened"),
    FIELD(struct fence, limit, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, .maximum = 64,
          .doc = "the limit that was passed; null: none"),
    TEXT(tier, SENSITIVITY_PUBLIC, 16, "of the attempt"),
    TEXT(repository, SENSITIVITY_PATH, 4096, "physical path of its root"),
    TEXT(workload, SENSITIVITY_PUBLIC, 128, "what it was called"),
    TEXT(run_id, SENSITIVITY_PUBLIC, 16, "the run that attempted it"),
    TEXT(since, SENSITIVITY_PUBLIC, 64, "date and time of the attempt, RFC 3339"),
};
static const struct record fence_record = RECORD(struct fence, "fence", fence_fields);

static const struct record_field clearing_fields[] = {
    FIELD(struct fence_clearing, fence, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &fence_record,
          .doc = "as it stood"),
    FIELD(struct fence_clearing, cleared_at, FIELD_STRING, SENSITIVITY_PUBLIC, .maximum = 64,
          .doc = "date and time, RFC 3339"),
    FIELD(struct fence_clearing, reason, FIELD_STRING, SENSITIVITY_TEXT, .minimum = 1,
          .maximum = FENCE_REASON_BYTES, .doc = "why a person cleared it"),
};
const struct record fence_clearing_record =
    RECORD(struct fence_clearing, "fence_clearing", clearing_fields);

static const struct record_field fences_fields[] = {
    FIELD_FIXED("schema", "berm.fences/v1", .doc = "names this format"),
    FIELD(struct fences, standing, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .maximum = FENCES_MAX,
          .record = &fence_record, .doc = "work that no tier attempts"),
    FIELD(struct fences, cleared, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .maximum = FENCES_CLEARED_MAX,
          .record = &fence_clearing_record, .doc = "what a person cleared, the oldest first"),
    FIELD(struct fences, cleared_before, FIELD_INT, SENSITIVITY_PUBLIC,
          .doc = "how many of those were given up for newer ones"),
};
const struct record fences_record = RECORD(
    struct fences, "berm.fences/v1", fences_fields,
    .doc = "Which work was being attempted, or hit a limit, and may not be tried again as it "
           "is.");

static const struct state_file fences_file = {
    FENCES_FILE, &fences_record,
    "look into it: what it fenced was unsafe; move it away only when you know what that was"};

void fences_done(struct fences *fences)
{
    record_done(&fences_record, fences);
}

int fences_read(const struct bfs_dir *folder, struct fences *ret_fences, struct err *err)
{
    return state_file_read(folder, &fences_file, ret_fences, err);
}

/* --- judging ------------------------------------------------------------------------------------- */

bool fence_judge(const struct fence_facts *facts, enum fence_state *ret_state)
{
    if (!facts->released) {
        return true; /* nothing of it ran */
    }
    if (facts->limit) {
        *ret_state = FENCE_LIMIT;
        return false;
    }
    if (facts->interrupted) {
        *ret_state = FENCE_INTERRUPTED;
        return false;
    }
    *ret_state = FENCE_FAILED;
    return facts->clean && facts->published && facts->disarmed;
}

const struct fence *fences_find(const struct fences *fences, const char *frozen_digest)
{
    const struct fence *list = fences->standing.objects;
    for (size_t i = 0; i < fences->standing.count; i++) {
        if (strcmp(list[i].frozen_digest, frozen_digest) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

void fence_explain(const struct fence *fence, struct buf *out)
{
    buf_add_string(out, "run ");
    text_neutralise(out, span_of_string(fence->run_id));
    buf_add_string(out, " at ");
    text_neutralise(out, span_of_string(fence->since));
    buf_add_format(out, ": %s", fence_state_words((enum fence_state)fence->state));
    if (fence->limit) {
        buf_add_string(out, " (");
        text_neutralise(out, span_of_string(fence->limit));
        buf_add_char(out, ')');
    }
    buf_add_string(out, "; fence ");
    text_neutralise(out, span_of(fence->frozen_digest, FENCE_ID_LENGTH));
}

/* --- changes: each of what was read under the lock ------------------------------------------------ */

/* Everything else of them is borrowed for the writing. */
struct change {
    struct fences fences; /* as they were read */
    struct fence *standing;
    size_t count;
};

static void change_done(struct change *change)
{
    memory_free(change->standing);
    fences_done(&change->fences);
}

static int change_begin(const struct bfs_dir *folder, struct change *change, struct err *err)
{
    if (state_file_lock(folder, err) < 0) {
        return -1;
    }
    if (fences_read(folder, &change->fences, err) < 0) {
        state_file_unlock(folder);
        return -1;
    }
    change->count = change->fences.standing.count;
    change->standing = memory_new((change->count + 1) * sizeof *change->standing);
    if (change->count > 0) {
        memcpy(change->standing, change->fences.standing.objects,
               change->count * sizeof *change->standing);
    }
    return 0;
}

static int change_write(const struct bfs_dir *folder, const struct change *change,
                        struct object_list cleared, int64_t cleared_before, struct err *err)
{
    const struct fences changed = {.standing = {change->standing, change->count},
                                   .cleared = cleared,
                                   .cleared_before = cleared_before};
    return state_file_write(folder, &fences_file, &changed, err);
}

static int change_standing(const struct bfs_dir *folder, const struct change *change,
                           struct err *err)
{
    return change_write(folder, change, change->fences.cleared, change->fences.cleared_before, err);
}

static void take_out(struct change *change, size_t which)
{
    change->count--;
    memmove(change->standing + which, change->standing + which + 1,
            (change->count - which) * sizeof *change->standing);
}

/* Nothing is written yet. */
static int check_place(const struct change *change, const struct fence *fence, struct err *err)
{
    const struct fence *there = fences_find(&change->fences, fence->frozen_digest);
    if (there) {
        with_buf words = buf_new(WORDS_BYTES);
        fence_explain(there, &words);
        return err_set(err, ERR_CONFLICT, "this work is fenced: %s", buf_string(&words));
    }
    if (change->count == FENCES_MAX) {
        return err_set(err, ERR_OVER_BUDGET,
                       "%d pieces of work are fenced already, and there may be no more: look at "
                       "`berm fence list`, and clear some",
                       FENCES_MAX);
    }
    return 0;
}

static int put_up(const struct bfs_dir *folder, struct change *change, const struct fence *fence,
                  struct err *err)
{
    change->standing[change->count++] = *fence;
    if (change_standing(folder, change, err) < 0) {
        return -1;
    }
    os_boundary(BOUNDARY_FENCE_WRITTEN);
    return 0;
}

/* What could not be synced may stand in its place all the same. */
static int take_down(const struct bfs_dir *folder, const struct fence *fence, const struct err *why,
                     struct err *err)
{
    struct err left = {0};
    return fence_lower(folder, fence->frozen_digest, fence->run_id, &left) == 0
               ? err_set(err, why->code, "%s", why->msg)
               : err_set(err, why->code,
                         "%s; and it may stand all the same (%s): `berm fence clear %.*s` if so",
                         why->msg, left.msg, FENCE_ID_LENGTH, fence->frozen_digest);
}

int fence_raise(const struct bfs_dir *folder, const struct fence *fence, struct err *err)
{
    struct err seen = {0};
    struct change change = {0};
    if (change_begin(folder, &change, err) < 0) {
        return -1;
    }
    bool fits = check_place(&change, fence, err) == 0;
    int result = fits ? put_up(folder, &change, fence, &seen) : -1;
    state_file_unlock(folder);
    change_done(&change);
    return fits && result < 0 ? take_down(folder, fence, &seen, err) : result;
}

/* Of the run that raised it; count: there is none. */
static size_t find_own(const struct change *change, const char *frozen_digest, const char *run_id)
{
    size_t i = 0;
    while (i < change->count && (strcmp(change->standing[i].frozen_digest, frozen_digest) != 0 ||
                                 strcmp(change->standing[i].run_id, run_id) != 0)) {
        i++;
    }
    return i;
}

int fence_lower(const struct bfs_dir *folder, const char *frozen_digest, const char *run_id,
                struct err *err)
{
    struct change change = {0};
    if (change_begin(folder, &change, err) < 0) {
        return -1;
    }
    int result = 0;
    size_t which = find_own(&change, frozen_digest, run_id);
    if (which < change.count) {
        take_out(&change, which);
        result = change_standing(folder, &change, err);
        if (result == 0) {
            os_boundary(BOUNDARY_FENCE_CLEARED);
        }
    }
    state_file_unlock(folder);
    change_done(&change);
    return result;
}

static int put_back(const struct bfs_dir *folder, struct change *change, const struct fence *fence,
                    struct err *err)
{
    size_t which = find_own(change, fence->frozen_digest, fence->run_id);
    if (which == change->count && fences_find(&change->fences, fence->frozen_digest)) {
        return err_set(err, ERR_NOT_FOUND, "the fence of this work is no longer of run %s",
                       fence->run_id);
    }
    if (which == change->count) {
        return check_place(change, fence, err) < 0 ? -1 : put_up(folder, change, fence, err);
    }
    change->standing[which].state = fence->state;
    change->standing[which].limit = fence->limit;
    return change_standing(folder, change, err);
}

int fence_keep(const struct bfs_dir *folder, const struct fence *fence, struct err *err)
{
    struct change change = {0};
    if (change_begin(folder, &change, err) < 0) {
        return -1;
    }
    int result = put_back(folder, &change, fence, err);
    state_file_unlock(folder);
    change_done(&change);
    return result;
}

/* --- a person's clearing -------------------------------------------------------------------------- */

static int find_by_id(const struct change *change, const char *id, size_t *ret_which,
                      struct err *err)
{
    size_t n = strlen(id);
    size_t found = change->count;
    if (n < ID_LEAST || n >= HASH_HEX_SIZE || strspn(id, "0123456789abcdef") != n) {
        return err_set(err, ERR_USAGE,
                       "'%s' is no id of a fence: at least %d of the digits that `berm fence list` "
                       "shows",
                       id, ID_LEAST);
    }
    for (size_t i = 0; i < change->count; i++) {
        if (strncmp(change->standing[i].frozen_digest, id, n) != 0) {
            continue;
        }
        if (found < change->count) {
            return err_set(err, ERR_USAGE,
                           "'%s' is the beginning of several fences: give more of "
                           "it",
                           id);
        }
        found = i;
    }
    if (found == change->count) {
        return err_set(err, ERR_NOT_FOUND, "there is no fence '%s'; `berm fence list` shows all",
                       id);
    }
    *ret_which = found;
    return 0;
}

static int check_reason(const char *reason, struct err *err)
{
    size_t n = strlen(reason);
    return n > 0 && n <= FENCE_REASON_BYTES && strspn(reason, " \t\n") < n
               ? 0
               : err_set(err, ERR_USAGE,
                         "a fence is cleared for a reason, of 1 to %d bytes: what makes the work "
                         "safe to be tried again",
                         FENCE_REASON_BYTES);
}

/* The history with one more; the oldest gives way. */
static int put_away(const struct bfs_dir *folder, struct change *change, size_t which,
                    const struct fence_clearing *clearing, struct err *err)
{
    const struct object_list *old = &change->fences.cleared;
    size_t dropped = old->count == FENCES_CLEARED_MAX;
    size_t kept = old->count - dropped;
    struct fence_clearing *list = memory_new((kept + 1) * sizeof *list);
    if (kept > 0) {
        memcpy(list, (const struct fence_clearing *)old->objects + dropped, kept * sizeof *list);
    }
    list[kept] = *clearing;
    take_out(change, which);
    int result = change_write(folder, change, (struct object_list){list, kept + 1},
                              change->fences.cleared_before + (int64_t)dropped, err);
    memory_free(list);
    return result;
}

static int copy(const struct fence_clearing *clearing, struct fence_clearing *ret_copy,
                struct err *err)
{
    with_json json = record_encode(&fence_clearing_record, clearing);
    return record_decode(&fence_clearing_record, json, ret_copy, err);
}

int fence_clear(const struct bfs_dir *folder, const char *id, const char *reason,
                int64_t realtime_ns, struct fence_clearing *ret_cleared, struct err *err)
{
    char now[CLOCK_TEXT_SIZE];
    struct change change = {0};
    size_t which = 0;
    if (check_reason(reason, err) < 0 || change_begin(folder, &change, err) < 0) {
        return -1;
    }
    clock_format_utc(realtime_ns, now);
    with_string why = memory_copy_string(reason);
    int result = find_by_id(&change, id, &which, err);
    if (result == 0) {
        const struct fence_clearing clearing = {change.standing[which], now, why};
        result = put_away(folder, &change, which, &clearing, err) < 0
                     ? -1
                     : copy(&clearing, ret_cleared, err);
    }
    state_file_unlock(folder);
    change_done(&change);
    return result;
}
