#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

/* A tree of files as the kernel would show it, in a folder of its own. */
static char root[] = "/tmp/berm-cgroup-XXXXXX";

static int make_root(void **state)
{
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct cgroup_facts look(const char *proc, const char *mount)
{
    char proc_path[128];
    char mount_path[128];
    snprintf(proc_path, sizeof proc_path, "%s/%s", root, proc);
    snprintf(mount_path, sizeof mount_path, "%s/%s", root, mount);
    struct cgroup_facts facts;
    cgroup_read_at(proc_path, mount_path, &facts);
    return facts;
}

/* EN-1, EN-2: the minimum over every ancestor, with page cache counted as available. */
static void the_tightest_ancestor_binds(void **state)
{
    put("v2/proc", "0::/user.slice/app\n");
    put("v2/mount/cgroup.controllers", "cpu io memory pids\n");
    put("v2/mount/user.slice/app/cgroup.controllers", "cpu memory pids\n");
    put("v2/mount/user.slice/memory.max", "1000000\n");
    put("v2/mount/user.slice/memory.current", "900000\n");
    put("v2/mount/user.slice/memory.stat", "anon 5\ninactive_file 300000\n");
    put("v2/mount/user.slice/app/memory.max", "max\n");
    put("v2/mount/user.slice/app/memory.current", "10\n");
    struct cgroup_facts facts = look("v2/proc", "v2/mount");
    assert_int_equal(facts.layout, CGROUP_V2);
    assert_string_equal(facts.path, "/user.slice/app");
    assert_string_equal(facts.controllers, "cpu memory pids");
    assert_int_equal(facts.memory_max_bytes, 1000000);
    assert_int_equal(facts.memory_available_bytes, 400000);
    assert_non_null(strstr(facts.memory_bound_by, "v2/mount/user.slice"));
}

/* EN-1, R12: what an ancestor keeps to itself is not to be had here, though the root lists it. */
static void controllers_are_those_of_the_own_folder(void **state)
{
    put("own/proc", "0::/a/b\n");
    put("own/mount/cgroup.controllers", "cpu memory pids\n");
    put("own/mount/a/cgroup.controllers", "memory pids\n");
    put("own/mount/a/b/cgroup.controllers", "memory\n");
    assert_string_equal(look("own/proc", "own/mount").controllers, "memory");
    put("own/proc", "0::/../elsewhere\n"); /* seen from another cgroup namespace */
    assert_string_equal(look("own/proc", "own/mount").controllers, "cpu memory pids");
    put("own/mount/a/b/cgroup.controllers", "\n");
    put("own/proc", "0::/a/b\n");
    assert_string_equal(look("own/proc", "own/mount").controllers, "");
}

static void the_top_folder_counts_too(void **state)
{
    put("ns/proc", "0::/\n");
    put("ns/mount/cgroup.controllers", "memory pids\n");
    put("ns/mount/memory.max", "5000\n");
    put("ns/mount/memory.current", "9000\n"); /* above the limit for a moment: nothing left */
    struct cgroup_facts facts = look("ns/proc", "ns/mount");
    assert_int_equal(facts.memory_max_bytes, 5000);
    assert_int_equal(facts.memory_available_bytes, 0);
}

static void a_hybrid_host_is_named_and_its_v1_limit_found(void **state)
{
    put("hy/proc", "3:memory:/box\n2:pids:/box\n1:name=systemd:/\n0::/u\n");
    put("hy/mount/unified/cgroup.controllers", "hugetlb\n");
    put("hy/mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("hy/mount/memory/box/memory.limit_in_bytes", "4096000\n");
    put("hy/mount/memory/box/memory.usage_in_bytes", "1096000\n");
    struct cgroup_facts facts = look("hy/proc", "hy/mount");
    assert_int_equal(facts.layout, CGROUP_HYBRID);
    assert_string_equal(facts.controllers, "hugetlb");
    assert_int_equal(facts.memory_max_bytes, 4096000);
    assert_int_equal(facts.memory_available_bytes, 3000000);
}

static void nothing_there_is_said(void **state)
{
    struct cgroup_facts facts = look("no/proc", "no/mount");
    assert_int_equal(facts.layout, CGROUP_NONE);
    assert_int_equal(facts.memory_max_bytes, -1);
    put("odd/proc", "garbage\n::\n0::relative\n");
    put("odd/mount/cgroup.controllers", "memory\n");
    facts = look("odd/proc", "odd/mount");
    assert_int_equal(facts.layout, CGROUP_V2);
    assert_string_equal(facts.path, "");
    assert_int_equal(facts.memory_max_bytes, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tightest_ancestor_binds),
        cmocka_unit_test(controllers_are_those_of_the_own_folder),
        cmocka_unit_test(the_top_folder_counts_too),
        cmocka_unit_test(a_hybrid_host_is_named_and_its_v1_limit_found),
        cmocka_unit_test(nothing_there_is_said),
    };
    return cmocka_run_group_tests_name("preflight/cgroup", tests, make_root, remove_root);
}
