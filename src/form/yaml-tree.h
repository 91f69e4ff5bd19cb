/* yaml-tree.h
 *
 * A strict subset of YAML, read through libyaml: mappings, lists and text, each with its line and column.
 * What a text means is for the form that it is read by (form.h); nothing is guessed here.
 *
 * Calling sequence
 *   with_yaml_tree tree = yaml_tree_read(text, "berm.yaml", &yaml_budget_project, err);
 *   tree->root            a mapping; form_decode() makes a struct of it
 *
 * The subset   one document, a mapping at its top; block and flow style; texts in one line, plain or in
 *              quotes. Refused: anchors, aliases, tags, merge keys, directives, a second document, the
 *              same key twice, keys that are no text, texts of several lines (| and > too); in the bytes
 *              and in the escapes of quoted texts whatever is not UTF-8 or does not show: NUL, controls,
 *              tabs, carriage returns, byte order marks, bidi controls.
 * Ownership    the tree owns its nodes and texts.
 * Errors       ERR_CORRUPT, and ERR_OVER_BUDGET for the budget, as "NAME:LINE:COLUMN: KEY: what; what to
 *              do". A byte that is refused by itself has the column of the byte, from 1.
 * Memory       libyaml allocates for itself; when it cannot, the process is aborted.
 * Limitations  no comments and no order of keys are kept for writing. `? key` and `key` are the same.
 * Source       libyaml 0.2.5, <yaml.h>; YAML 1.1, chapter 5 about what a line break is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "attributes.h"
#include "err.h"
#include "span.h"

struct yaml_budget {
    size_t bytes; /* of the whole text */
    size_t depth; /* nested mappings and lists; at most 64 */
    size_t nodes; /* keys, values and items in all */
    size_t text_bytes;
};

extern const struct yaml_budget yaml_budget_project; /* 128 KiB, 8, 8192, 4095 */

enum yaml_kind { YAML_TEXT = 1, YAML_LIST, YAML_MAPPING };

struct yaml_node {
    enum yaml_kind kind;
    unsigned line; /* both from 1 */
    unsigned column;
    bool plain;               /* a text that was written without quotes */
    char *text;               /* of a text; else NULL */
    struct yaml_node *keys;   /* of a mapping: texts, side by side */
    struct yaml_node *values; /* of a mapping or list */
    size_t count;
};

struct yaml_tree {
    char *name; /* of the file, for messages */
    struct yaml_node root;
};

struct yaml_tree *yaml_tree_read(struct span text, const char *name,
                                 const struct yaml_budget *budget, struct err *err) must_check;
void yaml_tree_free(struct yaml_tree *tree);

static inline void yaml_tree_freep(struct yaml_tree **tree)
{
    yaml_tree_free(*tree);
    *tree = NULL;
}
#define with_yaml_tree cleanup(yaml_tree_freep) struct yaml_tree *
