#include "entrypoint.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "program-priv.h"

static const struct {
    const char *id;
    const char *promise;
    const char *what;
    const char *why;
    const char *instead;
} rules[RULE_COUNT] = {
#define X(enumerator, id, promise, what, why, instead)                                             \
    [enumerator] = {id, promise, what, why, instead},
    ENTRYPOINT_RULES(X)
#undef X
};

static void refuse(struct entrypoint_verdict *verdict, enum entrypoint_rule rule, const char *where,
                   const char *saw)
{
    verdict->rule = rule;
    (void)snprintf(verdict->where, sizeof verdict->where, "%s", where);
    (void)snprintf(verdict->saw, sizeof verdict->saw, "%s", saw);
}

/* --- is it the declared one? ------------------------------------------------------------------ */

static const struct project_parameter *parameter_of(const struct form_named *parameters,
                                                    struct span name)
{
    with_string text = memory_format("%.*s", (int)name.n, name.p);
    return form_find(parameters, sizeof(struct project_parameter), text);
}

/* Does the word fit from here on? Tries the values of the first placeholder in turn; there are as many levels
 * as the word has placeholders. */
static bool word_fits(const char *declared, const char *word, const struct form_named *parameters)
{
    struct span whole;
    struct span name;
    if (!project_placeholder(declared, &whole, &name)) {
        return strcmp(declared, word) == 0;
    }
    size_t before = (size_t)(whole.p - declared);
    if (strncmp(declared, word, before) != 0) {
        return false;
    }
    const struct project_parameter *parameter = parameter_of(parameters, name);
    for (size_t i = 0; parameter && i < parameter->values.count; i++) {
        const char *value = parameter->values.strings[i];
        size_t n = strlen(value);
        if (strncmp(word + before, value, n) == 0 &&
            word_fits(whole.p + whole.n, word + before + n, parameters)) {
            return true;
        }
    }
    return false;
}

/* The number of words that it took; 0: it does not fit. */
static size_t words_fit(const struct strvec *declared, const struct form_named *parameters,
                        char *const *argv)
{
    for (size_t i = 0; i < declared->count; i++) {
        if (!argv[i] || !word_fits(declared->strings[i], argv[i], parameters)) {
            return 0;
        }
    }
    return declared->count;
}

/* --- sealed inputs (SI-1) --------------------------------------------------------------------- */

static const struct project_sealed *find_flag(const struct form_named *sealed, const char *flag,
                                              size_t *ret_index)
{
    const struct project_sealed *list = sealed->items;
    for (size_t i = 0; i < sealed->count; i++) {
        if (strcmp(list[i].flag, flag) == 0) {
            *ret_index = i;
            return &list[i];
        }
    }
    return NULL;
}

static bool is_digest(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int check_sealed_file(const struct project_sealed *sealed, const char *path,
                             const struct entrypoint_files *files,
                             struct entrypoint_verdict *verdict, struct err *err)
{
    struct entrypoint_look look;
    if (!form_text_fits(SHAPE_PATH, path)) {
        refuse(verdict, RULE_SEALED, sealed->flag, path);
        return 0;
    }
    if (files->look(files->context, path, NULL, &look, err) < 0) {
        return -1;
    }
    if (look.kind == LOOK_LINK || (look.kind == LOOK_FILE && look.links != 1)) {
        refuse(verdict, RULE_LINK, sealed->flag, path);
    } else if (look.kind != LOOK_FILE) {
        refuse(verdict, RULE_SEALED, sealed->flag, "no regular file of the repository");
    } else if (look.shared) {
        refuse(verdict, RULE_SHARED, sealed->flag, path);
    } else if (sealed->executable && !look.executable) {
        refuse(verdict, RULE_SEALED, sealed->flag, "it is not executable");
    } else if (look.size_bytes > sealed->max_mib << 20) {
        with_string saw = memory_format("%lld bytes, more than %lld MiB",
                                        (long long)look.size_bytes, (long long)sealed->max_mib);
        refuse(verdict, RULE_SEALED, sealed->flag, saw);
    }
    return 0;
}

static int check_sealed_value(const struct project_sealed *sealed, const char *value,
                              const struct entrypoint_files *files,
                              struct entrypoint_verdict *verdict, struct err *err)
{
    if (!sealed->of) {
        return check_sealed_file(sealed, value, files, verdict, err);
    }
    if (!is_digest(value)) {
        refuse(verdict, RULE_SEALED, sealed->flag, "no digest: 64 digits 0-9a-f");
    }
    return 0;
}

/* Pairs of option and value: each once, in any order, and nothing else. */
static int check_sealed(const struct project_entrypoint *entrypoint, char *const *rest,
                        const struct entrypoint_files *files, struct entrypoint_verdict *verdict,
                        struct err *err)
{
    const struct project_sealed *list = entrypoint->sealed.items;
    uint32_t given = 0; /* by bit; the form allows 16 of them */
    for (; *rest && verdict->rule == RULE_NONE; rest += 2) {
        size_t index = 0;
        const struct project_sealed *sealed = find_flag(&entrypoint->sealed, rest[0], &index);
        if (!sealed || given >> index & 1) {
            refuse(verdict, RULE_SEALED, rest[0], sealed ? "given twice" : "no such option");
        } else if (!rest[1]) {
            refuse(verdict, RULE_SEALED, rest[0], "it has no value");
        } else if (check_sealed_value(sealed, rest[1], files, verdict, err) < 0) {
            return -1;
        } else {
            given |= UINT32_C(1) << index;
        }
        if (!rest[1]) {
            break;
        }
    }
    for (size_t i = 0; i < entrypoint->sealed.count && verdict->rule == RULE_NONE; i++) {
        if (!(given >> i & 1)) {
            refuse(verdict, RULE_SEALED, list[i].flag, "it is missing");
        }
    }
    return 0;
}

/* --- verdicts --------------------------------------------------------------------------------- */

static const struct project_entrypoint *find_entrypoint(const struct project *project,
                                                        char *const *argv, size_t *ret_words,
                                                        struct entrypoint_verdict *verdict)
{
    const struct project_entrypoint *list = project->entrypoint.items;
    const struct project_entrypoint *found = NULL;
    for (size_t i = 0; i < project->entrypoint.count; i++) {
        size_t words = words_fit(&list[i].argv, &list[i].parameters, argv);
        if (words == 0 || (argv[words] && list[i].sealed.count == 0)) {
            continue;
        }
        if (found) {
            with_string saw = memory_format("%s and %s", found->item.name, list[i].item.name);
            refuse(verdict, RULE_AMBIGUOUS, "argv", saw);
            return NULL;
        }
        found = &list[i];
        *ret_words = words;
    }
    if (!found) {
        refuse(verdict, RULE_UNDECLARED, "argv", argv[0]);
    }
    return found;
}

int entrypoint_judge(const struct project *project, char *const *argv,
                     const struct entrypoint_files *files,
                     const struct project_entrypoint **ret_entrypoint,
                     struct entrypoint_verdict *ret_verdict, struct err *err)
{
    struct entrypoint_verdict verdict = {0};
    size_t words = 0;
    const struct project_entrypoint *found = find_entrypoint(project, argv, &words, &verdict);
    if (found && check_sealed(found, argv + words, files, &verdict, err) < 0) {
        return -1;
    }
    if (found && verdict.rule == RULE_NONE &&
        entrypoint_audit(argv, ENTRYPOINT_FILE, files, &verdict, err) < 0) {
        return -1;
    }
    *ret_entrypoint = verdict.rule == RULE_NONE ? found : NULL;
    *ret_verdict = verdict;
    return 0;
}

int workload_judge(const struct project_workload *workload, char *const *argv,
                   const struct entrypoint_files *files, struct entrypoint_verdict *ret_verdict,
                   struct err *err)
{
    size_t words = words_fit(&workload->argv, &workload->parameters, argv);
    if (words == 0 || argv[words]) {
        *ret_verdict = (struct entrypoint_verdict){0};
        refuse(ret_verdict, RULE_UNDECLARED, "argv", argv[0]);
        return 0;
    }
    return entrypoint_audit(argv, ENTRYPOINT_FILE_OR_INTERPRETER, files, ret_verdict, err);
}

json_t *entrypoint_to_json(const struct entrypoint_verdict *verdict)
{
    if (verdict->rule == RULE_NONE) {
        return json_null();
    }
    json_t *json = json_object();
    json_object_set_new(json, "rule", json_string(rules[verdict->rule].id));
    json_object_set_new(json, "promise", json_string(rules[verdict->rule].promise));
    json_object_set_new(json, "where", json_text(span_of_string(verdict->where)));
    json_object_set_new(json, "saw", json_text(span_of_string(verdict->saw)));
    json_object_set_new(json, "what", json_string(rules[verdict->rule].what));
    json_object_set_new(json, "why", json_string(rules[verdict->rule].why));
    json_object_set_new(json, "instead", json_string(rules[verdict->rule].instead));
    return json;
}

void entrypoint_explain(const struct entrypoint_verdict *verdict, struct buf *out)
{
    buf_add_format(out, "%s: '%s': %s [%s]", verdict->where, verdict->saw,
                   rules[verdict->rule].what, rules[verdict->rule].id);
}

const char *entrypoint_instead(enum entrypoint_rule rule)
{
    return rules[rule].instead;
}

void entrypoint_document(struct buf *out)
{
    buf_add_string(out, "## What is refused\n\n"
                        "| rule | promise | refused is | because | instead |\n"
                        "| --- | --- | --- | --- | --- |\n");
    for (size_t i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        buf_add_format(out, "| `%s` | %s | %s | %s | %s |\n", rules[i].id, rules[i].promise,
                       rules[i].what, rules[i].why, rules[i].instead);
    }
    buf_add_format(out,
                   "\nThe audit looks at most at %d files, %d names, %d KiB of one file and %d KiB "
                   "together, %d files in a row.\n\n",
                   AUDIT_FILES, AUDIT_LOOKS, AUDIT_FILE_BYTES >> 10, AUDIT_TOTAL_BYTES >> 10,
                   AUDIT_DEPTH);
    program_document(out);
}
