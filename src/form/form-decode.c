/* Invariant: what was filled before a fault is released by form_done(), which takes a struct that is
 * filled in part: all that was not reached is zero. */
#include "form-priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "text.h"

enum { PATH_BYTES = 250, WHAT_BYTES = 300 };

/* Where the walk is: the file, and the keys down to here. */
struct walk {
    const char *name;
    struct buf path;
};

printf_like(5, 6) static int fail(const struct walk *walk, const struct yaml_node *node,
                                  enum err_code code, struct err *err, const char *format, ...)
{
    va_list args;
    char what[WHAT_BYTES];
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *path = buf_string(&walk->path);
    return err_set(err, code, "%s:%u:%u: %s%s%s", walk->name, node->line, node->column, path,
                   *path ? ": " : "", what);
}

static size_t descend(struct walk *walk, const char *key)
{
    size_t before = buf_length(&walk->path);
    buf_add_string(&walk->path, before > 0 ? "." : "");
    buf_add_string(&walk->path, key);
    return before;
}

static void add_words(struct buf *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        buf_add_format(out, "%s%s", i > 0 ? ", " : "", words[i]);
    }
}

static int decode_part(const struct form *form, struct walk *walk, const struct yaml_node *node,
                       void *object, struct err *err);

static int check_kind(const struct form_field *field, const struct walk *walk,
                      const struct yaml_node *node, enum yaml_kind kind, struct err *err)
{
    return node->kind == kind
               ? 0
               : fail(walk, node, ERR_USAGE, err, "must be %s", form_trait(field->type)->words);
}

static int check_bounds(const struct form_field *field, const struct walk *walk,
                        const struct yaml_node *node, uint64_t value, struct err *err)
{
    uint64_t minimum = (uint64_t)field->minimum;
    uint64_t maximum = (uint64_t)form_maximum(field);
    if (value >= minimum && value <= maximum) {
        return 0;
    }
    const char *unit = form_trait(field->type)->unit;
    return fail(walk, node, ERR_RANGE, err, "%llu%s%s is outside %llu to %llu",
                (unsigned long long)value, *unit ? " " : "", unit, (unsigned long long)minimum,
                (unsigned long long)maximum);
}

/* -1: none of them */
static int word_index(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

static int check_text(const struct form_field *field, const struct walk *walk,
                      const struct yaml_node *node, struct err *err)
{
    if (node->kind != YAML_TEXT) {
        return fail(walk, node, ERR_USAGE, err, "must be a text");
    }
    if (node->plain && node->text[0] == '\0') {
        return fail(walk, node, ERR_USAGE, err,
                    "has no value: write one, or \"\" for an empty text");
    }
    if (!form_text_fits(field->shape, node->text)) {
        return fail(walk, node, ERR_USAGE, err, "'%.60s' must be %s", node->text,
                    form_shape_trait(field->shape)->words);
    }
    if (field->words && word_index(field->words, node->text) < 0) {
        with_buf words = buf_new(WHAT_BYTES);
        add_words(&words, field->words);
        return fail(walk, node, ERR_USAGE, err, "'%.60s' is none of %s", node->text,
                    buf_string(&words));
    }
    return 0;
}

static int fill_bool(const struct form_field *field, struct walk *walk,
                     const struct yaml_node *node, void *place, struct err *err)
{
    bool yes = node->kind == YAML_TEXT && node->plain && strcmp(node->text, "true") == 0;
    bool no = node->kind == YAML_TEXT && node->plain && strcmp(node->text, "false") == 0;
    if (!yes && !no) {
        return fail(walk, node, ERR_USAGE, err, "must be %s", form_trait(field->type)->words);
    }
    *(bool *)place = yes;
    return 0;
}

static int fill_number(const struct form_field *field, struct walk *walk,
                       const struct yaml_node *node, void *place, struct err *err)
{
    uint64_t value = 0;
    bool digits = node->kind == YAML_TEXT && node->plain &&
                  text_parse_number(span_of_string(node->text), INT64_MAX, &value);
    /* 010 is ten to some readers of YAML and eight to others. */
    if (!digits || (node->text[0] == '0' && node->text[1] != '\0')) {
        return fail(walk, node, ERR_USAGE, err, "must be %s", form_trait(field->type)->words);
    }
    *(int64_t *)place = (int64_t)value;
    return check_bounds(field, walk, node, value, err);
}

static int fill_text(const struct form_field *field, struct walk *walk,
                     const struct yaml_node *node, void *place, struct err *err)
{
    if (check_text(field, walk, node, err) < 0 ||
        check_bounds(field, walk, node, strlen(node->text), err) < 0) {
        return -1;
    }
    *(char **)place = memory_copy_string(node->text);
    return 0;
}

static int fill_word(const struct form_field *field, struct walk *walk,
                     const struct yaml_node *node, void *place, struct err *err)
{
    if (check_text(field, walk, node, err) < 0) {
        return -1;
    }
    *(int *)place = word_index(field->words, node->text);
    return 0;
}

static int fill_texts(const struct form_field *field, struct walk *walk,
                      const struct yaml_node *node, void *place, struct err *err)
{
    struct strvec *texts = place;
    if (check_kind(field, walk, node, YAML_LIST, err) < 0 ||
        check_bounds(field, walk, node, node->count, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (check_text(field, walk, &node->values[i], err) < 0) {
            return -1;
        }
        strvec_push(texts, node->values[i].text);
    }
    return 0;
}

static int fill_part(const struct form_field *field, struct walk *walk,
                     const struct yaml_node *node, void *place, struct err *err)
{
    struct form_item *item = place;
    item->line = node->line;
    item->column = node->column;
    return decode_part(field->part, walk, node, place, err);
}

static int fill_named(const struct form_field *field, struct walk *walk,
                      const struct yaml_node *node, void *place, struct err *err)
{
    struct form_named *named = place;
    if (check_kind(field, walk, node, YAML_MAPPING, err) < 0 ||
        check_bounds(field, walk, node, node->count, err) < 0) {
        return -1;
    }
    named->items = node->count > 0 ? memory_new(node->count * field->part->size) : NULL;
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = &node->keys[i];
        struct form_item *item = (void *)((char *)named->items + i * field->part->size);
        if (!form_text_fits(SHAPE_NAME, key->text)) {
            return fail(walk, key, ERR_USAGE, err, "the name '%.64s' must be %s", key->text,
                        form_shape_trait(SHAPE_NAME)->words);
        }
        named->count = i + 1;
        *item = (struct form_item){memory_copy_string(key->text), key->line, key->column};
        size_t before = descend(walk, key->text);
        if (decode_part(field->part, walk, &node->values[i], item, err) < 0) {
            return -1;
        }
        buf_cut(&walk->path, before);
    }
    return 0;
}

static void drop_text(const struct form_field *field, void *place)
{
    memory_free(*(char **)place);
}

static void drop_texts(const struct form_field *field, void *place)
{
    strvec_done(place);
}

static void drop_part(const struct form_field *field, void *place)
{
    form_done(field->part, place);
}

static void drop_named(const struct form_field *field, void *place)
{
    struct form_named *named = place;
    for (size_t i = 0; i < named->count; i++) {
        struct form_item *item = (void *)((char *)named->items + i * field->part->size);
        memory_free(item->name);
        form_done(field->part, item);
    }
    memory_free(named->items);
}

static const struct {
    int (*fill)(const struct form_field *field, struct walk *walk, const struct yaml_node *node,
                void *place, struct err *err);
    void (*drop)(const struct form_field *field, void *place); /* NULL: owns nothing */
} decoders[] = {
    [FORM_BOOL] = {fill_bool, NULL},         [FORM_NUMBER] = {fill_number, NULL},
    [FORM_TEXT] = {fill_text, drop_text},    [FORM_WORD] = {fill_word, NULL},
    [FORM_TEXTS] = {fill_texts, drop_texts}, [FORM_PART] = {fill_part, drop_part},
    [FORM_NAMED] = {fill_named, drop_named},
};

static const struct form_field *find_field(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->field_count; i++) {
        if (strcmp(form->fields[i].name, name) == 0) {
            return &form->fields[i];
        }
    }
    return NULL;
}

static const struct yaml_node *find_value(const struct yaml_node *mapping, const char *name)
{
    for (size_t i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->keys[i].text, name) == 0) {
            return &mapping->values[i];
        }
    }
    return NULL;
}

static int fail_unknown(const struct form *form, const struct walk *walk,
                        const struct yaml_node *key, struct err *err)
{
    with_buf known = buf_new(WHAT_BYTES);
    for (size_t i = 0; i < form->field_count; i++) {
        buf_add_format(&known, "%s%s", i > 0 ? ", " : "", form->fields[i].name);
    }
    return fail(walk, key, ERR_USAGE, err, "there is no key '%.60s' here; there are: %s", key->text,
                buf_string(&known));
}

static int decode_field(const struct form_field *field, struct walk *walk,
                        const struct yaml_node *node, void *object, struct err *err)
{
    size_t before = descend(walk, field->name);
    if (decoders[field->type].fill(field, walk, node, form_place(field, object), err) < 0) {
        return -1;
    }
    buf_cut(&walk->path, before);
    return 0;
}

static int decode_mapping(const struct form *form, struct walk *walk, const struct yaml_node *node,
                          void *object, struct err *err)
{
    if (node->kind != YAML_MAPPING) {
        return fail(walk, node, ERR_USAGE, err, "must be a mapping");
    }
    for (size_t i = 0; i < node->count; i++) {
        if (!find_field(form, node->keys[i].text)) {
            return fail_unknown(form, walk, &node->keys[i], err);
        }
    }
    for (size_t i = 0; i < form->field_count; i++) {
        const struct form_field *field = &form->fields[i];
        const struct yaml_node *value = find_value(node, field->name);
        if (value) {
            if (decode_field(field, walk, value, object, err) < 0) {
                return -1;
            }
        } else if (field->needed) {
            return fail(walk, node, ERR_USAGE, err, "the key '%s' is missing: %s", field->name,
                        field->doc);
        } else if (field->type == FORM_NUMBER) {
            *(int64_t *)form_place(field, object) = field->otherwise;
        }
    }
    return 0;
}

static int decode_part(const struct form *form, struct walk *walk, const struct yaml_node *node,
                       void *object, struct err *err)
{
    if (form->bare) {
        const struct form_field *field = &form->fields[0];
        return decoders[field->type].fill(field, walk, node, form_place(field, object), err);
    }
    return decode_mapping(form, walk, node, object, err);
}

int form_decode(const struct form *form, const struct yaml_tree *tree, void *object,
                struct err *err)
{
    memset(object, 0, form->size);
    struct walk walk = {.name = tree->name, .path = buf_new(PATH_BYTES)};
    int result = decode_part(form, &walk, &tree->root, object, err);
    buf_done(&walk.path);
    if (result < 0) {
        form_done(form, object);
    }
    return result;
}

void form_done(const struct form *form, void *object)
{
    for (size_t i = 0; i < form->field_count; i++) {
        const struct form_field *field = &form->fields[i];
        if (decoders[field->type].drop) {
            decoders[field->type].drop(field, form_place(field, object));
        }
    }
    memset(object, 0, form->size);
}

const void *form_find(const struct form_named *named, size_t size, const char *name)
{
    for (size_t i = 0; i < named->count; i++) {
        const struct form_item *item = (const void *)((const char *)named->items + i * size);
        if (strcmp(item->name, name) == 0) {
            return item;
        }
    }
    return NULL;
}
