#include "../unit.h"

#include "buf.h"
#include "yaml-tree.h"

static struct yaml_tree *read_text(const char *text, size_t n, struct err *err)
{
    return yaml_tree_read(span_of(text, n), "f", &yaml_budget_project, err);
}

/* EP-1: what is read is what stands there, with its place. */
static void what_is_read_is_what_stands_there(void **state)
{
    struct err err = {0};
    static const char text[] = "# a comment\n"
                               "a: 1000\n"
                               "'b c': \"1000 # \\\"\"\n"
                               "list: [x, \"\", {deep: [y]}]\n"
                               "block:\n"
                               "  - one\n"
                               "  - two: 2\n"
                               "    three: yes\n";
    with_yaml_tree tree = read_text(text, sizeof text - 1, &err);
    if (!tree) {
        fail_msg("%s", err.msg);
    }
    const struct yaml_node *root = &tree->root;
    assert_int_equal(root->kind, YAML_MAPPING);
    assert_int_equal(root->count, 4);
    assert_string_equal(root->keys[0].text, "a");
    assert_string_equal(root->values[0].text, "1000");
    assert_true(root->values[0].plain);
    assert_string_equal(root->keys[1].text, "b c");
    assert_string_equal(root->values[1].text, "1000 # \"");
    assert_false(root->values[1].plain);
    assert_int_equal(root->values[2].count, 3);
    assert_string_equal(root->values[2].values[2].values[0].values[0].text, "y");
    const struct yaml_node *pair = &root->values[3].values[1];
    assert_string_equal(pair->values[1].text, "yes");
    assert_int_equal(pair->keys[1].line, 8);
    assert_int_equal(pair->keys[1].column, 5);
}

/* EP-1: everything of YAML that two readers could understand differently is refused, at its place. */
static void the_rest_of_yaml_is_refused(void **state)
{
#define TEXT(text) text, sizeof(text) - 1
    static const struct {
        const char *text;
        size_t n;
        const char *wanted;
    } cases[] = {
        {TEXT(""), "f:1:1: it is empty"},
        {TEXT("# nothing\n"), "it is empty"},
        {TEXT("- a\n"), "f:1:1: the top is no mapping"},
        {TEXT("word\n"), "the top is no mapping"},
        {TEXT("a: &x 1\n"), "f:1:4: an anchor"},
        {TEXT("a: &x [1]\n"), "f:1:4: an anchor"},
        {TEXT("a: &x {b: 1}\n"), "an anchor"},
        {TEXT("&x a: 1\n"), "an anchor"},
        {TEXT("a: b\nc: *b\n"), "f:2:4: an alias"},
        {TEXT("*b : 1\n"), "an alias"},
        {TEXT("a: !!int 1\n"), "f:1:4: a tag"},
        {TEXT("a: ! 1\n"), "a tag"},
        {TEXT("a: !x [1]\n"), "a tag"},
        {TEXT("a: !x {b: 1}\n"), "a tag"},
        {TEXT("a:\n  <<: {b: 1}\n"), "f:2:3: <<: a merge key"},
        {TEXT("%YAML 1.1\n---\na: 1\n"), "a directive"},
        {TEXT("%TAG ! tag:x,2000:\n---\na: 1\n"), "a directive"},
        {TEXT("a: 1\n---\nb: 1\n"), "f:2:1: a second document"},
        {TEXT("a: 1\n...\n---\n"), "a second document"},
        {TEXT("a: 1\nb: 2\na: 3\n"), "f:3:1: a: the same key as in line 1"},
        {TEXT("a: 1\n'a': 3\n"), "the same key as in line 1"},
        {TEXT("a: {b: 1, b: 2}\n"), "f:1:11: b: the same key"},
        {TEXT("[a]: 1\n"), "a key that is no text"},
        {TEXT("? {a: 1}\n: 1\n"), "a key that is no text"},
        {TEXT("a: |\n  x\n"), "f:1:4: a text of several lines"},
        {TEXT("a: >-\n  x\n"), "a text of several lines"},
        {TEXT("a: x\n  y\n"), "a text of several lines"},
        {TEXT("a: \"x\n  y\"\n"), "a text of several lines"},
        {TEXT("\xef\xbb\xbf"
              "a: 1\n"),
         "f:1:1: a byte order mark"},
        {TEXT("\xff\xfe"
              "a\0"),
         "f:1:1: a control character"},
        {TEXT("a: 1\r\nb: 2\r\n"), "f:1:5: a carriage return"},
        {TEXT("a:\t1\n"), "f:1:3: a tab"},
        {TEXT("a: x\0y\n"), "f:1:5: a control"},
        {TEXT("a: \xc3\x28\n"), "f:1:4: a control"},
        {TEXT("a: \xe2\x80\xa8z\n"), "f:1:4: a control"}, /* U+2028 breaks lines for YAML 1.1 */
        {TEXT("a: \xc2\x85z\n"), "f:1:4: a control"},     /* U+0085 too */
        {TEXT("a: \xe2\x80\xae z\n"), "f:1:4: a control"},
        {TEXT("a: \"\\0\"\n"), "f:1:4: an escape"},
        {TEXT("a: \"\\n\"\n"), "an escape"},
        {TEXT("a: \"\\u202e\"\n"), "an escape"},
        {TEXT("a: \"\\x1b[2J\"\n"), "an escape"},
        {TEXT("\"\\0\": 1\n"), "an escape"},
        {TEXT("a: [1\n"), "f:2:1: "},
        {TEXT("a: {\n"), "f:2:1: "},
        {TEXT("a: 1\n b: 2\n"), "a text of several lines"},
        {TEXT("a: @x\n"), "f:1:4: "},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        with_yaml_tree tree = read_text(cases[i].text, cases[i].n, &err);
        if (tree || err.code != ERR_CORRUPT || !strstr(err.msg, cases[i].wanted)) {
            fail_msg("case %zu '%s': code %d, '%s'", i, cases[i].text, (int)err.code, err.msg);
        }
    }
}

static void add_times(struct buf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_string(out, text);
    }
}

static void assert_over(const struct buf *text, const char *wanted)
{
    struct err err = {0};
    with_yaml_tree tree = read_text(buf_string(text), buf_length(text), &err);
    if (tree || err.code != ERR_OVER_BUDGET || !strstr(err.msg, wanted)) {
        fail_msg("code %d, '%s'", (int)err.code, err.msg);
    }
}

/* FS-5: bytes, depth, nodes and texts have bounds; the error names the bound. */
static void budgets_hold(void **state)
{
    with_buf deep = buf_new(1 << 20);
    buf_add_string(&deep, "a: ");
    add_times(&deep, "[", 8);
    assert_over(&deep, "f:1:11: nested deeper than 8");
    with_buf deepest = buf_new(1 << 20);
    buf_add_string(&deepest, "a: ");
    add_times(&deepest, "{a: ", 20000);
    assert_over(&deepest, "nested deeper than 8");
    with_buf many = buf_new(1 << 20);
    buf_add_string(&many, "a: [");
    add_times(&many, "1,", 8190);
    assert_over(&many, "more than 8192 keys and values");
    with_buf large = buf_new(1 << 21);
    add_times(&large, "k", 1 << 20);
    buf_add_string(&large, ": 1\n");
    assert_over(&large, "1048580 bytes, more than 131072");
    with_buf long_text = buf_new(1 << 20);
    buf_add_string(&long_text, "a: '");
    add_times(&long_text, "x", 4096);
    buf_add_string(&long_text, "'\n");
    assert_over(&long_text, "f:1:4: a text of 4096 bytes, more than 4095");
    with_buf long_key = buf_new(1 << 20);
    add_times(&long_key, "x", 100000);
    buf_add_string(&long_key, ": 1\n");
    struct err err = {0};
    with_yaml_tree tree = read_text(buf_string(&long_key), buf_length(&long_key), &err);
    assert_null(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_stands_there),
        cmocka_unit_test(the_rest_of_yaml_is_refused),
        cmocka_unit_test(budgets_hold),
    };
    return cmocka_run_group_tests_name("form/yaml-tree", tests, NULL, NULL);
}
