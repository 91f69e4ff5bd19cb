#include "config-words.h"

#include "lookup.h"
#include "text.h"

static void add_text(struct buf *out, const char *text)
{
    text_neutralise(out, span_of_string(text ? text : "?"));
}

static void add_line(struct buf *out, const char *word, const char *text)
{
    if (text) {
        buf_add_format(out, "%-10s ", word);
        add_text(out, text);
        buf_add_char(out, '\n');
    }
}

static void add_list(struct buf *out, const char *word, const json_t *list)
{
    if (json_array_size(list) == 0) {
        return;
    }
    buf_add_format(out, "%-10s", word);
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_add_char(out, ' ');
        add_text(out, json_string_value(json_array_get(list, i)));
    }
    buf_add_char(out, '\n');
}

static void add_refusal(struct buf *out, const json_t *refused)
{
    buf_add_format(out, "%-10s ", "  REFUSED");
    add_text(out, lookup_text(refused, "where"));
    buf_add_string(out, ": '");
    add_text(out, lookup_text(refused, "saw"));
    buf_add_string(out, "': ");
    add_text(out, lookup_text(refused, "what"));
    buf_add_format(out, " [%s]\n", lookup_text(refused, "rule"));
    add_line(out, "  because", lookup_text(refused, "why"));
    add_line(out, "  instead", lookup_text(refused, "instead"));
}

static void add_authority(struct buf *out, const json_t *json)
{
    static const char *const kinds[][2] = {{"network", "network_reason"},
                                           {"scratch", "scratch_reason"}};
    for (size_t i = 0; i < countof(kinds); i++) {
        const char *what = lookup_text(json, kinds[i][0]);
        const char *reason = lookup_text(json, kinds[i][1]);
        if (what) {
            buf_add_format(out, "  %-8s ", kinds[i][0]);
            add_text(out, what);
            buf_add_string(out, reason ? ": " : "");
            add_text(out, reason ? reason : "");
            buf_add_char(out, '\n');
        }
    }
}

static void add_parameters(struct buf *out, const json_t *parameters)
{
    const char *name;
    json_t *values;
    json_object_foreach((json_t *)(uintptr_t)parameters, name, values) {
        with_buf title = buf_new(200);
        buf_add_format(&title, "  {%s}", name);
        add_list(out, buf_string(&title), values);
    }
}

static void add_sealed(struct buf *out, const json_t *sealed)
{
    for (size_t i = 0; i < json_array_size(sealed); i++) {
        const json_t *one = json_array_get(sealed, i);
        const char *of = lookup_text(one, "of");
        buf_add_string(out, "  sealed   ");
        add_text(out, lookup_text(one, "flag"));
        if (of) {
            buf_add_string(out, " DIGEST of ");
            add_text(out, of);
            buf_add_char(out, '\n');
        } else {
            buf_add_format(out, " FILE, at most %lld MiB%s\n",
                           (long long)lookup_number(one, "max_mib"),
                           json_is_true(lookup(one, "executable")) ? ", executable" : "");
        }
    }
}

static void add_items(struct buf *out, const char *word, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *one = json_array_get(items, i);
        buf_add_format(out, "%-10s %s (line %lld)\n", word, lookup_text(one, "name"),
                       (long long)lookup_number(one, "line"));
        add_list(out, "  argv", lookup(one, "argv"));
        add_line(out, "  exec", lookup_text(one, "exec"));
        add_parameters(out, lookup(one, "parameters"));
        add_authority(out, one);
        add_line(out, "  runtime", lookup_text(one, "toolchain"));
        add_list(out, "  set", lookup(one, "environment"));
        add_list(out, "  needs", lookup(one, "dependencies"));
        add_sealed(out, lookup(one, "sealed"));
        if (json_is_object(lookup(one, "refused"))) {
            add_refusal(out, lookup(one, "refused"));
        }
    }
}

void config_words(const json_t *config, struct buf *out)
{
    const char *file = lookup_text(config, "file");
    if (!file) {
        buf_add_string(out, "there is no berm.yaml: nothing is declared, and nothing required\n");
        return;
    }
    add_line(out, "project", file);
    if (json_array_size(lookup(config, "require")) == 0) {
        add_line(out, "require", "nothing");
    }
    add_list(out, "require", lookup(config, "require"));
    add_items(out, "entrypoint", lookup(config, "entrypoints"));
    add_items(out, "workload", lookup(config, "workloads"));
    add_items(out, "daemon", lookup(config, "daemons"));
    int64_t refusals = lookup_number(config, "refusals");
    if (refusals > 0) {
        buf_add_format(out, "%lld of these would be refused\n", (long long)refusals);
    }
}

void config_words_check(const json_t *check, struct buf *out)
{
    if (json_is_object(lookup(check, "refused"))) {
        buf_add_string(out, "no\n");
        add_refusal(out, lookup(check, "refused"));
        return;
    }
    buf_add_string(out, "yes: entrypoint ");
    add_text(out, lookup_text(check, "entrypoint"));
    buf_add_char(out, '\n');
    add_authority(out, check);
}
