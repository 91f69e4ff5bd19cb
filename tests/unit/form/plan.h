/* plan.h
 *
 * A form with every type in it.
 */
#pragma once

#include "../unit.h"

#include "form.h"

struct part {
    struct form_item item;
    int64_t count;
    char *path;
};
struct values {
    struct form_item item;
    struct strvec list;
};
struct plan {
    bool truth;
    int64_t number;
    char *text;
    char *flag;
    int word;
    struct strvec texts;
    struct strvec words;
    struct part part;
    struct form_named parts;
    struct form_named values;
};

static const char *const plan_words[] = {"first", "second", NULL};
static const struct form_field part_fields[] = {
    FORM_FIELD(struct part, count, FORM_NUMBER, .minimum = 1, .maximum = 9, .otherwise = 7,
               .doc = "how many"),
    FORM_FIELD(struct part, path, FORM_TEXT, .shape = SHAPE_PATH, .doc = "where"),
};
static const struct form part_form = FORM(struct part, "part", part_fields, .doc = "A part.");
static const struct form_field values_fields[] = {
    FORM_FIELD(struct values, list, FORM_TEXTS, .minimum = 1, .maximum = 2, .doc = "the values"),
};
static const struct form values_form =
    FORM(struct values, "values", values_fields, .bare = true, .doc = "Values.");
static const struct form_field plan_fields[] = {
    FORM_FIELD(struct plan, truth, FORM_BOOL, .doc = "is it so"),
    FORM_FIELD(struct plan, number, FORM_NUMBER, .needed = true, .minimum = 1, .maximum = 100,
               .doc = "a number of it"),
    FORM_FIELD(struct plan, text, FORM_TEXT, .minimum = 1, .maximum = 5, .doc = "some text"),
    FORM_FIELD(struct plan, flag, FORM_TEXT, .shape = SHAPE_FLAG, .doc = "an option"),
    FORM_FIELD(struct plan, word, FORM_WORD, .words = plan_words, .doc = "which"),
    FORM_FIELD(struct plan, texts, FORM_TEXTS, .maximum = 3, .doc = "texts"),
    FORM_FIELD(struct plan, words, FORM_TEXTS, .words = plan_words, .doc = "words"),
    FORM_FIELD(struct plan, part, FORM_PART, .part = &part_form, .doc = "a part"),
    FORM_FIELD(struct plan, parts, FORM_NAMED, .part = &part_form, .maximum = 2, .doc = "parts"),
    FORM_FIELD(struct plan, values, FORM_NAMED, .part = &values_form, .doc = "values"),
};
static const struct form plan_form = FORM(struct plan, "plan", plan_fields, .doc = "A plan.");

static inline int plan_decode(const char *text, struct plan *ret_plan, struct err *err)
{
    with_yaml_tree tree = yaml_tree_read(span_of_string(text), "f", &yaml_budget_project, err);
    return tree ? form_decode(&plan_form, tree, ret_plan, err) : -1;
}
