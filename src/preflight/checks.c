#include "checks.h"

#include "memory.h"

#define X(enumerator, code, what) const char enumerator[] = code;
CHECK_CODES(X)
#undef X

void checks_add_take(struct checks *checks, const char *code, bool ok, char *what, char *saw,
                     char *remedy)
{
    BUG_IF(!ok && remedy[0] == '\0');
    checks->list = memory_resize(checks->list, (checks->count + 1) * sizeof *checks->list);
    checks->list[checks->count++] = (struct check){code, ok, what, saw, remedy};
}

bool checks_ok(const struct checks *checks)
{
    return checks_first_failed(checks) == NULL;
}

const struct check *checks_first_failed(const struct checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        if (!checks->list[i].ok) {
            return &checks->list[i];
        }
    }
    return NULL;
}

static json_t *text(const char *string)
{
    return json_text(span_of_string(string));
}

json_t *checks_to_json(const struct checks *checks)
{
    json_t *list = json_array();
    for (size_t i = 0; i < checks->count; i++) {
        const struct check *check = &checks->list[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "code", json_string(check->code));
        json_object_set_new(entry, "ok", json_boolean(check->ok));
        json_object_set_new(entry, "what", text(check->what));
        json_object_set_new(entry, "saw", text(check->saw));
        json_object_set_new(entry, "remedy", text(check->remedy));
        json_array_append_new(list, entry);
    }
    return list;
}

void checks_done(struct checks *checks)
{
    if (!checks) {
        return;
    }
    for (size_t i = 0; i < checks->count; i++) {
        memory_free(checks->list[i].what);
        memory_free(checks->list[i].saw);
        memory_free(checks->list[i].remedy);
    }
    memory_free(checks->list);
    *checks = (struct checks){0};
}
