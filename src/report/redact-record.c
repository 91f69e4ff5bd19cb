/* redact-record.c
 *
 * The redactor over argument lists, JSON and records.
 */
#include "redact.h"

#include <string.h>

#include "memory.h"
#include "redact-priv.h"
#include "text.h"

/* Room for the worst case: a form takes at least four bytes and leaves at most fourteen of them. */
static struct buf room_for(size_t n)
{
    return buf_new(4 * n + 64);
}

static json_t *text_as_json(struct span text)
{
    with_buf out = room_for(text.n);
    redact_text(text, &out);
    return json_text(buf_span(&out));
}

static json_t *string_as_json(const json_t *string)
{
    struct span text = span_of(json_string_value(string), json_string_length(string));
    if (redact_leaves(text)) {
        return json_incref((json_t *)(uintptr_t)string);
    }
    with_buf out = room_for(text.n);
    redact_text(text, &out);
    struct span seen = buf_span(&out);
    bool same = seen.n == text.n && memcmp(seen.p, text.p, text.n) == 0;
    return same ? json_incref((json_t *)(uintptr_t)string) : json_text(seen);
}

/* Argument lists. */

static struct span base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return span_of_string(slash ? slash + 1 : path);
}

static json_t *seen_and_hidden(const char *seen, size_t n)
{
    with_buf out = buf_new(n + sizeof REDACTED);
    buf_add(&out, seen, n);
    buf_add_string(&out, REDACTED);
    return json_text(buf_span(&out));
}

/* "--token=v", "TOKEN=v": where the value begins, 0: it is no such argument. */
static size_t find_assigned(const char *argument)
{
    size_t n = 0;
    while (redact_is_name(argument[n])) {
        n++;
    }
    bool assigns = n > 0 && argument[n] == '=' && argument[n + 1] != '\0';
    return assigns && redact_is_credential(span_of(argument, n)) ? n + 1 : 0;
}

static bool is_flag_of_credential(const char *argument)
{
    return argument[0] == '-' && strchr(argument, '=') == NULL &&
           redact_is_credential(span_of_string(argument));
}

static bool has_colon(const char *text)
{
    return strchr(text, ':') != NULL;
}

struct arguments {
    json_t *list;
    unsigned programs;
    bool next_is_secret;
    bool next_needs_colon;
};

/* Hidden as the value of the flag before it? `--password --verbose`: the flag had none. */
static bool is_awaited(const struct arguments *arguments, const char *argument)
{
    return arguments->next_is_secret && strncmp(argument, "--", 2) != 0 &&
           (!arguments->next_needs_colon || has_colon(argument));
}

static void add_argument(struct arguments *arguments, const char *argument)
{
    bool awaited = is_awaited(arguments, argument);
    arguments->next_is_secret = arguments->next_needs_colon = false;
    if (awaited) {
        json_array_append_new(arguments->list, json_string(REDACTED));
        return;
    }
    size_t assigned = find_assigned(argument);
    if (assigned > 0) {
        json_array_append_new(arguments->list, seen_and_hidden(argument, assigned));
        return;
    }
    size_t flag = 0;
    bool colon = false;
    enum flag_form form =
        redact_program_flag(arguments->programs, span_of_string(argument), &flag, &colon);
    if (form == FLAG_ATTACHED && (!colon || has_colon(argument + flag))) {
        json_array_append_new(arguments->list, seen_and_hidden(argument, flag));
        return;
    }
    arguments->next_is_secret = form == FLAG_SEPARATE || is_flag_of_credential(argument);
    arguments->next_needs_colon = form == FLAG_SEPARATE && colon;
    arguments->programs |= redact_programs(base_name(argument));
    json_array_append_new(arguments->list, text_as_json(span_of_string(argument)));
}

json_t *redact_argv(char *const *argv)
{
    struct arguments arguments = {.list = json_array()};
    for (; *argv; argv++) {
        add_argument(&arguments, *argv);
    }
    return arguments.list;
}

/* JSON. */

static json_t *redact_any(const json_t *value, bool secret);

/* Whatever has nothing to hide is shared with what was given, and that is most of a record. The copy of
 * a container is made with the first of its members that is seen otherwise. */
struct shared {
    const json_t *given;
    json_t *copy; /* NULL: all of it is seen as it is */
};

static json_t *copy_of(struct shared *shared)
{
    shared->copy = shared->copy ? shared->copy : json_copy((json_t *)(uintptr_t)shared->given);
    return shared->copy;
}

static void share_member(struct shared *shared, const char *name, const json_t *member,
                         json_t *seen)
{
    if (seen != member) {
        (void)json_object_set(copy_of(shared), name, seen);
    }
    json_decref(seen);
}

static void share_item(struct shared *shared, size_t index, const json_t *item, json_t *seen)
{
    if (seen != item) {
        (void)json_array_set(copy_of(shared), index, seen);
    }
    json_decref(seen);
}

static json_t *shared_or_copy(const struct shared *shared)
{
    return shared->copy ? shared->copy : json_incref((json_t *)(uintptr_t)shared->given);
}

static bool is_seen_as_it_is(const char *name)
{
    struct span text = span_of_string(name);
    if (redact_leaves(text)) {
        return true;
    }
    with_buf shown = room_for(text.n);
    redact_text(text, &shown);
    return strcmp(buf_string(&shown), name) == 0;
}

/* A name that is itself seen otherwise: all members anew, in their order. */
static json_t *rename_members(const json_t *value)
{
    json_t *object = json_object();
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        with_buf shown = room_for(strlen(name));
        redact_text(span_of_string(name), &shown);
        (void)json_object_set(object, buf_string(&shown), member);
    }
    return object;
}

static json_t *redact_object(const json_t *value, bool secret)
{
    struct shared shared = {.given = value};
    bool renamed = false;
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        bool below = secret || redact_is_credential(span_of_string(name));
        share_member(&shared, name, member, redact_any(member, below));
        renamed = renamed || !is_seen_as_it_is(name);
    }
    json_t *seen = shared_or_copy(&shared);
    if (renamed) {
        json_t *anew = rename_members(seen);
        json_decref(seen);
        return anew;
    }
    return seen;
}

static json_t *redact_array(const json_t *value, bool secret)
{
    struct shared shared = {.given = value};
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        share_item(&shared, i, item, redact_any(item, secret));
    }
    return shared_or_copy(&shared);
}

static json_t *redact_any(const json_t *value, bool secret)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return redact_object(value, secret);
    case JSON_ARRAY:
        return redact_array(value, secret);
    case JSON_STRING:
        return secret && json_string_length(value) > 0 ? json_string(REDACTED)
                                                       : string_as_json(value);
    case JSON_INTEGER:
    case JSON_REAL:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
    default:
        return json_incref((json_t *)(uintptr_t)value);
    }
}

json_t *redact_json(const json_t *value)
{
    return redact_any(value, false);
}

/* Records. */

static json_t *redact_arguments(const json_t *value)
{
    if (!json_is_array(value)) {
        return redact_json(value);
    }
    with_strvec argv = {0};
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *argument = json_string_value(json_array_get(value, i));
        strvec_push(&argv, argument ? argument : "");
    }
    json_t *seen = redact_argv(strvec_argv(&argv));
    if (json_equal(seen, value)) {
        json_decref(seen);
        return json_incref((json_t *)(uintptr_t)value);
    }
    return seen;
}

static json_t *redact_parts(const struct record *record, const json_t *value)
{
    if (!json_is_array(value)) {
        return redact_record(record, value);
    }
    struct shared shared = {.given = value};
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        share_item(&shared, i, item, redact_record(record, item));
    }
    return shared_or_copy(&shared);
}

static json_t *redact_field(const struct record_field *field, const json_t *value)
{
    if (field->record && !json_is_null(value)) {
        return redact_parts(field->record, value); /* each field of it speaks for itself */
    }
    switch (field->sensitivity) {
    case SENSITIVITY_PUBLIC:
        return json_incref((json_t *)(uintptr_t)value);
    case SENSITIVITY_ARGV:
        return redact_arguments(value);
    case SENSITIVITY_TEXT:
    case SENSITIVITY_PATH:
    case SENSITIVITY_OUTPUT:
    default:
        return redact_json(value);
    }
}

/* Members that no field names are not passed on. */
static void drop_strangers(const struct record *record, struct shared *shared)
{
    for (void *at = json_object_iter(copy_of(shared)); at;) {
        const char *name = json_object_iter_key(at);
        bool known = false;
        for (size_t i = 0; i < record->field_count && !known; i++) {
            known = strcmp(record->fields[i].name, name) == 0;
        }
        at = json_object_iter_next(shared->copy, at);
        if (!known) {
            (void)json_object_del(shared->copy, name);
        }
    }
}

json_t *redact_record(const struct record *record, const json_t *value)
{
    struct shared shared = {.given = value};
    size_t known = 0;
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        const json_t *member = json_object_get(value, field->name);
        if (member) {
            share_member(&shared, field->name, member, redact_field(field, member));
            known++;
        }
    }
    if (known < json_object_size(value)) {
        drop_strangers(record, &shared);
    }
    return shared_or_copy(&shared);
}

/* Tails. */

/* A line that a secret stands on is not expected to be longer. */
enum { FOREIGN_BYTES = 4096 };

/* Where what may belong to a secret that began before the window ends. */
static size_t foreign_end(struct span window, size_t keep_bytes)
{
    size_t limit = window.n > keep_bytes ? window.n - keep_bytes : 0;
    limit = limit > FOREIGN_BYTES ? limit : FOREIGN_BYTES;
    limit = limit < window.n ? limit : window.n;
    const char *newline = memchr(window.p, '\n', limit);
    size_t line = newline ? (size_t)(newline - window.p) + 1 : limit;
    size_t key = redact_private_key_rest(window);
    return key > line ? key : line;
}

static size_t next_character(struct span text, size_t at)
{
    while (at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80) {
        at++;
    }
    return at;
}

json_t *redact_tail(struct span window, bool cut, size_t keep_bytes, bool *ret_whole)
{
    /* The foreign part is redacted along and dropped from the result: a cut through the middle of a
     * line of the input would take the names off their values. */
    size_t foreign = cut && window.n > 0 ? foreign_end(window, keep_bytes) : 0;
    with_buf redacted = room_for(window.n);
    size_t start = redact_from(window, foreign, &redacted);
    /* Made valid and cut in this order: a byte that is no character grows to three. */
    struct span seen = span_of(buf_string(&redacted) + start, buf_length(&redacted) - start);
    with_json valid = json_text(seen);
    struct span all = span_of(json_string_value(valid), json_string_length(valid));
    size_t first = all.n > keep_bytes ? next_character(all, all.n - keep_bytes) : 0;
    *ret_whole = !cut && first == 0;
    return json_stringn(all.p + first, all.n - first);
}
