#include "binding-test.h"

#include <sys/xattr.h>

enum { ROOT = 0, OTHER = 54321 };

/* A walk as it would have been made, for owners and modes that a test cannot make. */
struct made_up {
    uint32_t folder_mode;
    uint32_t folder_owner;
    uint32_t file_mode;
    uint32_t file_owner;
};

static int decide(const struct made_up *facts, bool own_authority, struct decision *decision,
                  struct err *err)
{
    struct walk_place places[] = {
        {WORD("/"), {.mode = S_IFDIR | 0755, .owner = ROOT}},
        {WORD("/opt"), {.mode = S_IFDIR | facts->folder_mode, .owner = facts->folder_owner}},
    };
    struct walk walk = {
        .canonical = WORD("/opt/tool"),
        .facts = {.mode = S_IFREG | facts->file_mode, .owner = facts->file_owner},
        .places = places,
        .place_count = countof(places),
    };
    struct binding_request request = {
        .cwd_path = "/", .own_authority = own_authority, .policy = POLICY_TRUSTED_HOST_TOOL};
    return policy_decide(&request, request.policy, &walk, decision, err);
}

/* EX-1, IF-2: what a person may do all the same, what nobody may; path, mode and owner are named. */
static void owners_and_modes(void **state)
{
    enum answer { FINE, WEAK, NEVER };
    uint32_t me = geteuid();
    const struct {
        struct made_up facts;
        enum answer answer;
        const char *says;
    } cases[] = {
        {{0755, ROOT, 0755, ROOT}, FINE, NULL},
        {{0755, me, 0700, me}, FINE, NULL},
        {{01777, ROOT, 0755, me}, FINE, NULL}, /* /tmp */
        {{01777, ROOT, 0755, ROOT}, FINE, NULL},
        {{01775, ROOT, 0755, me}, FINE, NULL},
        {{02775, ROOT, 0755, ROOT},
         WEAK,
         "'/opt' (mode 2775, owner 0"}, /* Debian's /usr/local/bin */
        {{0755, OTHER, 0755, me}, WEAK, "'/opt' (mode 0755, owner 54321"},
        {{01777, OTHER, 0755, me}, WEAK, "'/opt' (mode 1777, owner 54321"},
        {{01777, ROOT, 0755, OTHER}, WEAK, "'/opt/tool' (mode 0755, owner 54321"},
        {{0755, ROOT, 0755, OTHER}, WEAK, "'/opt/tool' (mode 0755, owner 54321"},
        {{0755, ROOT, 0775, ROOT}, WEAK, "'/opt/tool' (mode 0775, owner 0"},
        {{0777, ROOT, 0755, ROOT}, NEVER, "'/opt' (mode 0777, owner 0"},
        {{0757, me, 0755, me}, NEVER, "'/opt' (mode 0757"},
        {{0755, ROOT, 0777, ROOT}, NEVER, "'/opt/tool' (mode 0777"},
        {{0755, ROOT, 0757, me}, NEVER, "'/opt/tool' (mode 0757"},
        {{0755, ROOT, 04755, ROOT}, NEVER, "'/opt/tool' (mode 4755, owner 0"},
        {{0755, ROOT, 02755, ROOT}, NEVER, "'/opt/tool' (mode 2755, owner 0"},
        {{0755, me, 04755, me}, NEVER, "set-id"},
        {{0777, OTHER, 0755, me}, NEVER, "'/opt' (mode 0777, owner 54321"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        cleanup(decision_done) struct decision own = {0};
        cleanup(decision_done) struct decision strict = {0};
        if (cases[i].answer == NEVER) {
            assert_fails(decide(&cases[i].facts, true, &own, &err), ERR_REFUSED);
        } else {
            assert_ok(decide(&cases[i].facts, true, &own, &err));
            assert_int_equal(own.weaknesses.count, cases[i].answer == WEAK);
        }
        if (cases[i].answer == WEAK) {
            assert_non_null(strstr(own.weaknesses.strings[0], cases[i].says));
        }
        if (cases[i].answer == FINE) {
            assert_ok(decide(&cases[i].facts, false, &strict, &err));
            continue;
        }
        assert_fails(decide(&cases[i].facts, false, &strict, &err), ERR_REFUSED);
        assert_non_null(strstr(err.msg, cases[i].says));
    }
}

static int resolve(const struct place *place, const char *name, enum binding_policy policy,
                   const char *const *roots, struct binding **ret_binding, struct err *err)
{
    struct binding_request request = request_for(place, WORDS(name), WORDS("PATH=/usr/bin:/bin"));
    request.policy = policy;
    request.roots = roots;
    *ret_binding = binding_resolve(&request, err);
    return *ret_binding ? 0 : -1;
}

/* I2: what counts is where the file lies, not where the link to it does. */
static void roots_are_for_the_canonical_target(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char text[5][128];
    const char *below[] = {"/project", "/project-two", "/link", "/project/tool", "/none"};
    for (size_t i = 0; i < countof(below); i++) {
        snprintf(text[i], sizeof text[i], "%s%s", place->path, below[i]);
    }
    assert_int_equal(mkdirat(place->fd, "project", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "project-two", 0755), 0);
    assert_int_equal(symlinkat("project", place->fd, "link"), 0);
    assert_int_equal(symlinkat("/usr/bin/true", place->fd, "project/out"), 0);
    assert_int_equal(symlinkat("../project-two/tool", place->fd, "project/sideways"), 0);
    assert_int_equal(symlinkat("tool", place->fd, "project/inside"), 0);
    copy_program(place, "/bin/true", "project/tool");
    copy_program(place, "/bin/true", "project-two/tool");
    put_program(place, "project/script", "#!/bin/sh\n");
    const struct {
        const char *name;
        const char *root;
        bool allowed;
    } cases[] = {
        {"project/tool", text[0], true},
        {"link/tool", text[0], true},
        {"project/tool", text[2], true}, /* a root may be named through a link */
        {"project/inside", text[0], true},
        {"project/script", text[0], true}, /* its interpreter is a host tool */
        {"project/tool", "/", true},
        {"project/tool", text[3], true}, /* a file may be a root of its own */
        {"project/inside", text[3], true},
        {"project/out", text[0], false},
        {"project/sideways", text[0], false},
        {"project-two/tool", text[0], false},
        {"project/../project-two/tool", text[0], false},
        {"project/tool", text[1], false},
        {"project/tool", text[4], false},
        {"project/script", text[3], false},
    };
    const enum binding_policy policies[] = {POLICY_PROJECT_BOUND, POLICY_MANAGED_TOOL};
    for (size_t i = 0; i < countof(cases) * countof(policies); i++) {
        const char *const roots[] = {"/no/such/root", cases[i / 2].root, NULL};
        with_binding binding = NULL;
        if (!cases[i / 2].allowed) {
            assert_fails(resolve(place, cases[i / 2].name, policies[i % 2], roots, &binding, &err),
                         ERR_REFUSED);
            continue;
        }
        assert_ok(resolve(place, cases[i / 2].name, policies[i % 2], roots, &binding, &err));
        assert_string_equal(binding->files[0].decision.matched_root, cases[i / 2].root);
    }
}

static void policies_with_roots_need_one(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_binding binding = NULL;
    const char *const relative[] = {"project", NULL};
    const enum binding_policy policies[] = {POLICY_PROJECT_BOUND, POLICY_MANAGED_TOOL,
                                            POLICY_EXACT_PATH};
    for (size_t i = 0; i < countof(policies); i++) {
        assert_fails(resolve(place, "/usr/bin/true", policies[i], NULL, &binding, &err),
                     ERR_REFUSED);
        assert_fails(resolve(place, "/usr/bin/true", policies[i], relative, &binding, &err),
                     ERR_USAGE);
    }
    const char *const roots[] = {"/usr/bin/true", NULL};
    assert_fails(resolve(place, "true", POLICY_EXACT_PATH, roots, &binding, &err), ERR_REFUSED);
    assert_ok(resolve(place, "/usr/bin/true", POLICY_EXACT_PATH, roots, &binding, &err));
}

/* An interpreter that env picks by itself is nothing that was bound. */
static void an_unbound_interpreter_is_a_weakness(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put_program(place, "split", "#!/usr/bin/env -S sh -e\n");
    struct binding_request request = request_for(place, WORDS("./split"), WORDS("PATH=/bin"));
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    assert_int_equal(binding->files[0].decision.weaknesses.count, 1);
    request.own_authority = false;
    assert_null_with(binding_resolve(&request, &err), ERR_REFUSED);
    put_program(place, "plain", "#!/usr/bin/env sh\n");
    struct binding_request plain = request_for(place, WORDS("./plain"), WORDS("PATH=/bin"));
    plain.own_authority = false;
    with_binding bound = binding_resolve(&plain, &err);
    assert_made(bound);
}

static void file_capabilities_are_a_weakness(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    copy_program(place, "/bin/true", "tool");
    int fd = openat(place->fd, "tool", O_RDONLY | O_CLOEXEC);
    /* Revision 2, cap_net_raw permitted (linux/capability.h). */
    const uint32_t value[] = {0x02000000, 1u << 13, 0, 0, 0};
    int set = fsetxattr(fd, "security.capability", value, sizeof value, 0);
    close(fd);
    if (set < 0) {
        skip(); /* only root can, and not on every filesystem */
    }
    struct binding_request request = request_for(place, WORDS("./tool"), WORDS("PATH=/bin"));
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    assert_int_equal(binding->files[0].decision.weaknesses.count, 1);
    request.own_authority = false;
    assert_null_with(binding_resolve(&request, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "capabilities"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_and_modes),
        place_test(roots_are_for_the_canonical_target),
        place_test(policies_with_roots_need_one),
        place_test(an_unbound_interpreter_is_a_weakness),
        place_test(file_capabilities_are_a_weakness),
    };
    return cmocka_run_group_tests_name("binding/policy", tests, NULL, NULL);
}
