#include "../bfs/bfs-test.h"

#include "infrastructure.h"
#include "memory.h"

#define WORDS(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

static void put_program(const struct place *place, const char *name, const char *bytes)
{
    put(place, name, bytes);
    assert_int_equal(fchmodat(place->fd, name, 0755, 0), 0);
}

/* --- which bubblewrap --------------------------------------------------------------------------- */

static void a_pin_is_a_path_and_a_digest(void **state)
{
    struct infrastructure_request request = {0};
    struct err err = {0};
    assert_ok(infrastructure_pin(WORDS("PATH=/x"), &request, &err));
    assert_null(request.pinned_path);
    assert_ok(infrastructure_pin(WORDS("LAMINA_SAFE_BWRAP_PATH=/l", "LAMINA_SAFE_BWRAP_SHA256=1"),
                                 &request, &err));
    assert_string_equal(request.pinned_path, "/l");
    assert_ok(infrastructure_pin(WORDS("LAMINA_SAFE_BWRAP_PATH=/l", "LAMINA_SAFE_BWRAP_SHA256=1",
                                       "BERM_BWRAP_SHA256=2", "BERM_BWRAP_PATH=/b"),
                                 &request, &err));
    assert_string_equal(request.pinned_path, "/b");
    assert_string_equal(request.pinned_sha256, "2");
    assert_fails(infrastructure_pin(WORDS("BERM_BWRAP_PATH=/b"), &request, &err), ERR_USAGE);
    assert_fails(infrastructure_pin(WORDS("BERM_BWRAP_SHA256=2", "LAMINA_SAFE_BWRAP_PATH=/l",
                                          "LAMINA_SAFE_BWRAP_SHA256=1"),
                                    &request, &err),
                 ERR_USAGE);
}

/* IB-1: root's own, at a fixed place. A host without one says so, with what would help. */
static void unpinned_it_is_the_systems(void **state)
{
    const struct infrastructure_request request = {0};
    struct err err = {0};
    with_binding binding = NULL;
    if (access("/usr/bin/bwrap", X_OK) != 0) {
        assert_fails(infrastructure_bind_bwrap(&request, &binding, &err), ERR_UNAVAILABLE);
        assert_non_null(strstr(err.msg, "install the package bubblewrap"));
        return;
    }
    assert_ok(infrastructure_bind_bwrap(&request, &binding, &err));
    assert_string_equal(binding_file_path(binding, 0), "/usr/bin/bwrap");
    assert_int_equal(binding_file_identity(binding, 0)->owner, 0);
    assert_ok(binding_revalidate(binding, &err));
}

struct pinned {
    struct place *place;
    char path[128];
    char sha256[HASH_HEX_SIZE];
    struct infrastructure_request request;
};

static void pin(struct place *place, struct pinned *pinned)
{
    static const char bytes[] = "not really a program";
    put_program(place, "bwrap", bytes);
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, bytes, sizeof bytes - 1);
    hash_hex(&hash, pinned->sha256);
    snprintf(pinned->path, sizeof pinned->path, "%s/bwrap", place->path);
    pinned->request = (struct infrastructure_request){pinned->path, pinned->sha256};
}

/* IB-2: a physical path with these very bytes; it may be the caller's own. */
static void pinned_it_is_these_bytes(void **state)
{
    struct place *place = *state;
    struct pinned pinned;
    struct err err = {0};
    with_binding binding = NULL;
    pin(place, &pinned);
    assert_ok(infrastructure_bind_bwrap(&pinned.request, &binding, &err));
    assert_string_equal(binding_file_path(binding, 0), pinned.path);

    /* IB-1: what was bound is asked again before the launch. */
    put_program(place, "bwrap", "another, not really one");
    assert_fails(binding_revalidate(binding, &err), ERR_CHANGED);
    with_binding other = NULL;
    assert_fails(infrastructure_bind_bwrap(&pinned.request, &other, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, pinned.sha256));
}

static void a_pin_that_is_none(void **state)
{
    struct place *place = *state;
    struct pinned pinned;
    struct err err = {0};
    with_binding binding = NULL;
    pin(place, &pinned);
    struct infrastructure_request request = {"bwrap", pinned.sha256};
    assert_fails(infrastructure_bind_bwrap(&request, &binding, &err), ERR_USAGE);
    request = (struct infrastructure_request){pinned.path, "abc"};
    assert_fails(infrastructure_bind_bwrap(&request, &binding, &err), ERR_USAGE);
    request = (struct infrastructure_request){pinned.path, NULL};
    assert_fails(infrastructure_bind_bwrap(&request, &binding, &err), ERR_USAGE);

    char link[128];
    snprintf(link, sizeof link, "%s/link", place->path);
    assert_int_equal(symlinkat("bwrap", place->fd, "link"), 0);
    request = (struct infrastructure_request){link, pinned.sha256};
    assert_fails(infrastructure_bind_bwrap(&request, &binding, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, pinned.path));
    snprintf(link, sizeof link, "%s/none", place->path);
    assert_fails(infrastructure_bind_bwrap(&request, &binding, &err), ERR_NOT_FOUND);
}

/* What its interpreter does with bubblewrap's arguments is anybody's guess. */
static void a_script_is_no_bubblewrap(void **state)
{
    struct place *place = *state;
    struct pinned pinned;
    struct err err = {0};
    with_binding binding = NULL;
    pin(place, &pinned);
    put_program(place, "bwrap", "#!/bin/sh\nexec /usr/bin/bwrap \"$@\"\n");
    assert_fails(infrastructure_bind_bwrap(&pinned.request, &binding, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "is a script"));
}

/* IB-2, CVE-2020-5291 */
static void modes_that_are_refused(void **state)
{
    struct place *place = *state;
    struct pinned pinned;
    struct err err = {0};
    with_binding binding = NULL;
    pin(place, &pinned);
    static const struct {
        unsigned file;
        unsigned folder;
        enum err_code code;
    } cases[] = {
        {04755, 0700, ERR_UNAVAILABLE},   {02755, 0700, ERR_UNAVAILABLE}, {0775, 0700, ERR_REFUSED},
        {0757, 0700, ERR_REFUSED},        {0755, 0770, ERR_REFUSED},      {0755, 0707, ERR_REFUSED},
        {0644, 0700, ERR_NOT_EXECUTABLE},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(fchmodat(place->fd, "bwrap", cases[i].file, 0), 0);
        assert_int_equal(fchmod(place->fd, cases[i].folder), 0);
        assert_fails(infrastructure_bind_bwrap(&pinned.request, &binding, &err), cases[i].code);
        if (cases[i].file & 06000) {
            assert_non_null(strstr(err.msg, "CVE-2020-5291"));
        }
    }
    assert_int_equal(fchmod(place->fd, 0700), 0);
}

/* --- why not ------------------------------------------------------------------------------------ */

static const struct infrastructure_host ordinary = {false, -1, -1, 15000};
static const struct infrastructure_host ubuntu = {false, 1, -1, 15000};
static const struct infrastructure_host root_on_ubuntu = {true, 1, 0, 15000};
static const struct infrastructure_host hardened = {false, 0, 0, 15000};
static const struct infrastructure_host closed = {true, 0, 1, 0};

/* R13, R14: what bubblewrap says, as what it means here and what would help. */
static void its_words_become_reasons(void **state)
{
    static const struct {
        const struct infrastructure_host *host;
        const char *words;
        const char *saw;
        const char *remedy;
    } cases[] = {
        {&ordinary,
         "bwrap: No permissions to create new namespace, likely because the kernel does not allow "
         "non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl "
         "kernel.unprivileged_userns_clone=1'.\n",
         "as most containers", "docker run"},
        {&ordinary, "bwrap: No permissions to create a new namespace\n", "containers", "docker"},
        {&ubuntu, "bwrap: setting up uid map: Permission denied\n",
         "apparmor_restrict_unprivileged_userns is 1", "AppArmor profile"},
        {&ubuntu, "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n", "AppArmor",
         "as root with --user NAME"},
        {&root_on_ubuntu, "bwrap: setting up uid map: Permission denied\n", "containers", "docker"},
        {&hardened, "bwrap: No permissions to create new namespace, ...\n",
         "kernel.unprivileged_userns_clone is 0", "sysctl kernel.unprivileged_userns_clone=1"},
        {&closed,
         "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
         "exceeded (ENOSPC)\n",
         "user.max_user_namespaces is 0", "sysctl user.max_user_namespaces"},
        {&ordinary,
         "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
         "exceeded (ENOSPC)\n",
         "too deep", "max_*_namespaces"},
        {&ordinary,
         "bwrap: Creating new namespace failed, likely because the kernel does not support user "
         "namespaces.  bwrap must be installed setuid on such systems.\n",
         "the kernel has no user namespaces", "CONFIG_USER_NS"},
        {&ordinary, "bwrap: Failed to make / slave: Permission denied\n", "mounting is closed",
         "docker run"},
        {&ordinary, "bwrap: Can't mount proc on /newroot/proc: Operation not permitted\n",
         "mounting is closed", "systempaths=unconfined"},
        {&ordinary, "bwrap: Unknown option --disable-userns\n", "does not know", "0.8"},
        {&ordinary, "bwrap: Can't find source path /nope: No such file or directory\n",
         "path of the plan", "--explain"},
        {&ordinary, "bwrap: Can't find source path /shut/p: Permission denied\n", "may not enter",
         "--user"},
        {&ordinary,
         "the sandbox cannot be set up: cannot enter the working folder: /shut: Permission denied "
         "(EACCES)\n",
         "may not enter", "chmod o+x"},
        {&ordinary,
         "the sandbox cannot be set up: cannot set resource limits: Invalid argument (EINVAL)\n",
         "the launcher could not", "the step"},
        {&ordinary, "bwrap: Unexpected capabilities but not setuid, old file caps config?\n",
         "capabilities", "ambient"},
        {&ordinary, "warning\nbwrap: pivot_root: Operation not permitted\n",
         "(it says: bwrap: pivot_root: Operation not permitted)", "docker"},
        {&ordinary, "\n\nsomething else\n", "(it says: something else)", "by hand"},
        {&ordinary, "\x1b[31mred\n", "\\x1b[31mred", "by hand"},
        {&ordinary, "", "without a word", "by hand"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_string saw = NULL;
        with_string remedy = NULL;
        infrastructure_explain_on(cases[i].host, cases[i].words, &saw, &remedy);
        if (!strstr(saw, cases[i].saw) || !strstr(remedy, cases[i].remedy) || strchr(saw, '\x1b')) {
            fail_msg("'%s'\nsaw: %s\nremedy: %s", cases[i].words, saw, remedy);
        }
    }
}

static void a_flood_of_words_is_cut(void **state)
{
    static char flood[100000];
    memset(flood, 7, sizeof flood - 1);
    with_string saw = NULL;
    with_string remedy = NULL;
    infrastructure_explain(flood, &saw, &remedy);
    assert_true(strlen(saw) < 2000);
    assert_non_null(strstr(saw, "...)"));
}

/* R13: what the settings of the host say before anything was tried. */
static void the_outlook_of_a_host(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "kernel", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "user", 0700), 0);
    struct infrastructure_host host;
    infrastructure_read_host(place->fd, &host);
    assert_int_equal(host.apparmor_restricts, -1);
    assert_int_equal(host.namespaces_max, -1);
    put(place, "kernel/apparmor_restrict_unprivileged_userns", "1\n");
    put(place, "user/max_user_namespaces", "7\n");
    put(place, "kernel/unprivileged_userns_clone", "1\n");
    infrastructure_read_host(place->fd, &host);
    assert_int_equal(host.apparmor_restricts, 1);
    assert_int_equal(host.namespaces_max, 7);
    assert_int_equal(host.clone_allowed, 1);
    assert_int_equal(host.is_root, geteuid() == 0);

    static const struct {
        const struct infrastructure_host *host;
        enum infrastructure_outlook outlook;
    } cases[] = {
        {&ordinary, OUTLOOK_OPEN},   {&ubuntu, OUTLOOK_DOUBTFUL}, {&root_on_ubuntu, OUTLOOK_OPEN},
        {&hardened, OUTLOOK_CLOSED}, {&closed, OUTLOOK_CLOSED},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_string saw = NULL;
        with_string remedy = NULL;
        assert_int_equal(infrastructure_probe_on(cases[i].host, &saw, &remedy), cases[i].outlook);
        assert_int_equal(saw != NULL, cases[i].outlook != OUTLOOK_OPEN);
        assert_int_equal(remedy != NULL, cases[i].outlook != OUTLOOK_OPEN);
    }
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pin_is_a_path_and_a_digest),
        cmocka_unit_test(unpinned_it_is_the_systems),
        IN_PLACE(pinned_it_is_these_bytes),
        IN_PLACE(a_pin_that_is_none),
        IN_PLACE(a_script_is_no_bubblewrap),
        IN_PLACE(modes_that_are_refused),
        cmocka_unit_test(its_words_become_reasons),
        cmocka_unit_test(a_flood_of_words_is_cut),
        IN_PLACE(the_outlook_of_a_host),
    };
    return cmocka_run_group_tests_name("contain/infrastructure", tests, NULL, NULL);
}
