/* The bytes are judged before libyaml sees them, so that it and a person's editor agree on what a line is.
 * The depth of the recursion below is that of the budget. */
#include "yaml-tree.h"

#include <string.h>

#include <yaml.h>

#include "memory.h"
#include "text.h"

enum { DEPTH_MAX = 64 };

const struct yaml_budget yaml_budget_project = {
    .bytes = 128 << 10, .depth = 8, .nodes = 8192, .text_bytes = 4095};

struct reader {
    yaml_parser_t parser;
    const char *name;
    const struct yaml_budget *budget;
    size_t nodes;
    size_t depth;
};

static void event_done(yaml_event_t *event)
{
    yaml_event_delete(event);
}
#define with_event cleanup(event_done) yaml_event_t

static int fail_at(const struct reader *reader, yaml_mark_t mark, const char *what, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "%s:%zu:%zu: %s", reader->name, mark.line + 1, mark.column + 1,
                   what);
}

static int next(struct reader *reader, yaml_event_t *event, struct err *err)
{
    if (yaml_parser_parse(&reader->parser, event)) {
        return 0;
    }
    const yaml_parser_t *parser = &reader->parser;
    BUG_IF(parser->error == YAML_MEMORY_ERROR);
    memset(event, 0, sizeof *event);
    return fail_at(reader, parser->problem_mark,
                   parser->problem ? parser->problem : "this is not YAML", err);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* What shows as it is. */
static bool is_plain_text(struct span text, size_t *ret_at)
{
    with_buf shown = buf_new(4 * text.n);
    text_neutralise(&shown, text);
    size_t at = 0;
    while (at < text.n && at < buf_length(&shown) && buf_string(&shown)[at] == text.p[at]) {
        at++;
    }
    *ret_at = at;
    return at == text.n && at == buf_length(&shown);
}

static const char *why_not(struct span line, size_t at)
{
    switch (line.p[at]) {
    case '\t':
        return "a tab: indent and separate with blanks";
    case '\r':
        return "a carriage return: save it with lines that end in a newline alone";
    case '\xef':
        if (at == 0 && span_starts_with(line, "\xef\xbb\xbf")) {
            return "a byte order mark: save it as UTF-8 without one";
        }
        break;
    default:
        break;
    }
    return "a control character, one that does not show, or no UTF-8: remove it";
}

static int check_bytes(struct span text, const char *name, const struct yaml_budget *budget,
                       struct err *err)
{
    if (text.n > budget->bytes) {
        return err_set(err, ERR_OVER_BUDGET, "%s: %zu bytes, more than %zu: make it smaller", name,
                       text.n, budget->bytes);
    }
    size_t number = 1;
    for (size_t start = 0; start < text.n; number++) {
        const char *end = memchr(text.p + start, '\n', text.n - start);
        size_t length = end ? (size_t)(end - text.p) - start : text.n - start;
        struct span line = span_of(text.p + start, length);
        size_t at;
        if (!is_plain_text(line, &at)) {
            return err_set(err, ERR_CORRUPT, "%s:%zu:%zu: %s", name, number, at + 1,
                           why_not(line, at));
        }
        start += length + 1;
    }
    return 0;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void node_done(struct yaml_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->keys) {
            node_done(&node->keys[i]);
        }
        node_done(&node->values[i]);
    }
    memory_free(node->keys);
    memory_free(node->values);
    memory_free(node->text);
    *node = (struct yaml_node){0};
}

/* Room for one more; a new one is all zero, which node_done() takes. */
static void grow(struct yaml_node *node)
{
    size_t size = (node->count + 1) * sizeof(struct yaml_node);
    if (node->kind == YAML_MAPPING) {
        node->keys = memory_resize(node->keys, size);
        node->keys[node->count] = (struct yaml_node){0};
    }
    node->values = memory_resize(node->values, size);
    node->values[node->count] = (struct yaml_node){0};
    node->count++;
}

static int check_scalar(const struct reader *reader, const yaml_event_t *event, struct err *err)
{
    struct span text = span_of((const char *)event->data.scalar.value, event->data.scalar.length);
    yaml_scalar_style_t style = event->data.scalar.style;
    size_t at;
    if (event->data.scalar.anchor) {
        return fail_at(reader, event->start_mark, "an anchor: write the value where it is used",
                       err);
    }
    if (event->data.scalar.tag) {
        return fail_at(reader, event->start_mark, "a tag: write the value without it", err);
    }
    if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE ||
        event->start_mark.line != event->end_mark.line) {
        return fail_at(reader, event->start_mark, "a text of several lines: write it in one", err);
    }
    if (text.n > reader->budget->text_bytes) {
        return err_set(err, ERR_OVER_BUDGET, "%s:%zu:%zu: a text of %zu bytes, more than %zu",
                       reader->name, event->start_mark.line + 1, event->start_mark.column + 1,
                       text.n, reader->budget->text_bytes);
    }
    if (!is_plain_text(text, &at)) {
        return fail_at(reader, event->start_mark,
                       "an escape that stands for what does not show: leave it out", err);
    }
    return 0;
}

static int check_collection(const struct reader *reader, const yaml_event_t *event, bool anchor,
                            bool tag, struct err *err)
{
    if (anchor) {
        return fail_at(reader, event->start_mark, "an anchor: write the value where it is used",
                       err);
    }
    if (tag) {
        return fail_at(reader, event->start_mark, "a tag: write the value without it", err);
    }
    if (reader->depth == reader->budget->depth) {
        return err_set(err, ERR_OVER_BUDGET, "%s:%zu:%zu: nested deeper than %zu: flatten it",
                       reader->name, event->start_mark.line + 1, event->start_mark.column + 1,
                       reader->budget->depth);
    }
    return 0;
}

static int check_key(const struct reader *reader, const yaml_event_t *event,
                     const struct yaml_node *mapping, const struct yaml_node *key, struct err *err)
{
    if (key->kind != YAML_TEXT) {
        return fail_at(reader, event->start_mark, "a key that is no text: name it", err);
    }
    if (key->plain && strcmp(key->text, "<<") == 0) {
        return fail_at(reader, event->start_mark, "<<: a merge key: write its values out", err);
    }
    for (size_t i = 0; i + 1 < mapping->count; i++) {
        if (strcmp(mapping->keys[i].text, key->text) == 0) {
            return err_set(err, ERR_CORRUPT, "%s:%u:%u: %.100s: the same key as in line %u",
                           reader->name, key->line, key->column, key->text, mapping->keys[i].line);
        }
    }
    return 0;
}

static int read_node(struct reader *reader, const yaml_event_t *event, struct yaml_node *ret_node,
                     struct err *err);

/* The items of a list, or the pairs of a mapping, up to its end. */
static int read_items(struct reader *reader, yaml_event_type_t end, struct yaml_node *node,
                      struct err *err)
{
    for (;;) {
        with_event event = {0};
        if (next(reader, &event, err) < 0) {
            return -1;
        }
        if (event.type == end) {
            return 0;
        }
        grow(node);
        if (node->kind == YAML_MAPPING) {
            struct yaml_node *key = &node->keys[node->count - 1];
            if (read_node(reader, &event, key, err) < 0 ||
                check_key(reader, &event, node, key, err) < 0) {
                return -1;
            }
            event_done(&event);
            if (next(reader, &event, err) < 0) {
                return -1;
            }
        }
        if (read_node(reader, &event, &node->values[node->count - 1], err) < 0) {
            return -1;
        }
    }
}

static int read_collection(struct reader *reader, const yaml_event_t *event, struct yaml_node *node,
                           struct err *err)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    bool anchor = mapping ? event->data.mapping_start.anchor != NULL
                          : event->data.sequence_start.anchor != NULL;
    bool tag =
        mapping ? event->data.mapping_start.tag != NULL : event->data.sequence_start.tag != NULL;
    if (check_collection(reader, event, anchor, tag, err) < 0) {
        return -1;
    }
    node->kind = mapping ? YAML_MAPPING : YAML_LIST;
    reader->depth++;
    int result =
        read_items(reader, mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, node, err);
    reader->depth--;
    return result;
}

static int read_node(struct reader *reader, const yaml_event_t *event, struct yaml_node *ret_node,
                     struct err *err)
{
    ret_node->line = (unsigned)event->start_mark.line + 1;
    ret_node->column = (unsigned)event->start_mark.column + 1;
    if (++reader->nodes > reader->budget->nodes) {
        return err_set(err, ERR_OVER_BUDGET, "%s:%u:%u: more than %zu keys and values",
                       reader->name, ret_node->line, ret_node->column, reader->budget->nodes);
    }
    switch ((int)event->type) {
    case YAML_SCALAR_EVENT:
        if (check_scalar(reader, event, err) < 0) {
            return -1;
        }
        ret_node->kind = YAML_TEXT;
        ret_node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        ret_node->text = memory_copy_string((const char *)event->data.scalar.value);
        return 0;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return read_collection(reader, event, ret_node, err);
    case YAML_ALIAS_EVENT:
        return fail_at(reader, event->start_mark, "an alias: write the value where it is used",
                       err);
    default:
        return fail_at(reader, event->start_mark, "a value is missing here", err);
    }
}

static int expect(struct reader *reader, yaml_event_type_t type, const char *what,
                  yaml_event_t *event, struct err *err)
{
    if (next(reader, event, err) < 0) {
        return -1;
    }
    return event->type == type ? 0 : fail_at(reader, event->start_mark, what, err);
}

static int read_document(struct reader *reader, struct yaml_node *root, struct err *err)
{
    with_event stream = {0};
    with_event document = {0};
    with_event top = {0};
    with_event end = {0};
    with_event last = {0};
    if (expect(reader, YAML_STREAM_START_EVENT, "no stream", &stream, err) < 0 ||
        expect(reader, YAML_DOCUMENT_START_EVENT, "it is empty: begin with `schema: 1`", &document,
               err) < 0) {
        return -1;
    }
    if (document.data.document_start.version_directive ||
        document.data.document_start.tag_directives.start !=
            document.data.document_start.tag_directives.end) {
        return fail_at(reader, document.start_mark, "a directive: leave it out", err);
    }
    if (expect(reader, YAML_MAPPING_START_EVENT, "the top is no mapping: begin with `schema: 1`",
               &top, err) < 0 ||
        read_node(reader, &top, root, err) < 0 ||
        expect(reader, YAML_DOCUMENT_END_EVENT, "something follows the mapping", &end, err) < 0 ||
        expect(reader, YAML_STREAM_END_EVENT, "a second document: one file is one document", &last,
               err) < 0) {
        return -1;
    }
    return 0;
}

struct yaml_tree *yaml_tree_read(struct span text, const char *name,
                                 const struct yaml_budget *budget, struct err *err)
{
    BUG_IF(budget->depth > DEPTH_MAX);
    if (check_bytes(text, name, budget, err) < 0) {
        return NULL;
    }
    struct reader reader = {.name = name, .budget = budget};
    BUG_IF(!yaml_parser_initialize(&reader.parser));
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.p, text.n);
    struct yaml_tree *tree = memory_new(sizeof *tree);
    tree->name = memory_copy_string(name);
    int result = read_document(&reader, &tree->root, err);
    yaml_parser_delete(&reader.parser);
    if (result < 0) {
        yaml_tree_free(tree);
        return NULL;
    }
    return tree;
}

void yaml_tree_free(struct yaml_tree *tree)
{
    if (!tree) {
        return;
    }
    node_done(&tree->root);
    memory_free(tree->name);
    memory_free(tree);
}
