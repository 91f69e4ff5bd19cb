#include "../unit.h"

#include "program-priv.h"

#define CLASS(name) program_class(span_of_string(name))

static void assert_class(const char *names, enum program_class class)
{
    char name[64];
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        memcpy(name, at, n);
        name[n] = '\0';
        if (CLASS(name) != class) {
            fail_msg("'%s' is of class %d", name, (int)CLASS(name));
        }
        at += n;
    }
}

/* EP-2, EP-3: a program is known by its name, in whichever folder and version. */
static void programs_are_known_by_name(void **state)
{
    assert_class(
        "python python3 python3.11 /usr/bin/python3.12 pypy3 node nodejs node-22 perl5.36.0 "
        "ruby3.1 php8.2 lua5.4 bash sh /bin/dash zsh fish java awk gawk sed deno bun",
        PROGRAM_INTERPRETER);
    assert_class(
        "npx npm pnpm yarn bunx uvx uv pipx poetry cargo go bundle make just task gradle mvn "
        "/usr/bin/make go1.22 pip3 nix-shell cmake",
        PROGRAM_RUNNER);
    assert_class("env sudo doas su xargs timeout nohup busybox setsid strace find ssh systemd-run "
                 "/usr/bin/env run0 linux32 ld-linux-x86-64.so.2 /lib/ld-musl-x86_64.so.1",
                 PROGRAM_WRAPPER);
    assert_class(
        "docker podman nerdctl kubectl harbor crictl buildah /usr/bin/docker docker-compose "
        "docker-24 kubectl1.30 k3s k3d virsh",
        PROGRAM_CLIENT);
    assert_class("retrieval ls cat pythonic dockerode mydocker ./run 7 3", PROGRAM_UNKNOWN);
    assert_int_equal(CLASS(""), PROGRAM_UNKNOWN);
    assert_int_equal(CLASS("/usr/bin/"), PROGRAM_UNKNOWN);
}

/* EP-2: nothing but a script may stand right behind an interpreter. */
static void options_of_interpreters_are_refused(void **state)
{
    static const struct {
        const char *interpreter;
        const char *argument;
        enum entrypoint_rule rule;
    } cases[] = {
        {"python3", "-c", RULE_EVAL},
        {"python3.11", "-cprint(1)", RULE_EVAL},
        {"python3", "-Ic", RULE_EVAL},
        {"python3", "-m", RULE_LOADER},
        {"python3", "-mhttp.server", RULE_LOADER},
        {"python3", "-i", RULE_LOADER},
        {"python3", "-S", RULE_OPTION},
        {"python3", "-", RULE_OPTION},
        {"python3", "--version", RULE_OPTION},
        {"node", "-e", RULE_EVAL},
        {"node", "--eval=1", RULE_EVAL},
        {"node", "-pe", RULE_EVAL},
        {"nodejs", "--print", RULE_EVAL},
        {"node", "-r", RULE_LOADER},
        {"node", "-r./x", RULE_LOADER},
        {"node", "--require=./x", RULE_LOADER},
        {"node", "--import=./x", RULE_LOADER},
        {"node", "--loader", RULE_LOADER},
        {"node", "--experimental-loader", RULE_LOADER},
        {"node", "--env-file=.env", RULE_LOADER},
        {"node", "--inspect", RULE_LOADER},
        {"node", "--run", RULE_LOADER},
        {"node", "--max-old-space-size=1", RULE_OPTION},
        {"perl", "-e", RULE_EVAL},
        {"perl", "-we", RULE_EVAL},
        {"perl", "-E", RULE_EVAL},
        {"perl", "-MPOSIX", RULE_LOADER},
        {"perl", "-Ilib", RULE_LOADER},
        {"ruby", "-e", RULE_EVAL},
        {"ruby", "-rjson", RULE_LOADER},
        {"bash", "-c", RULE_EVAL},
        {"sh", "-ec", RULE_EVAL},
        {"sh", "-s", RULE_EVAL},
        {"bash", "--rcfile", RULE_LOADER},
        {"bash", "-i", RULE_LOADER},
        {"bash", "+x", RULE_OPTION},
        {"fish", "-c", RULE_EVAL},
        {"php", "-r", RULE_EVAL},
        {"php", "-d", RULE_LOADER},
        {"lua", "-e", RULE_EVAL},
        {"lua", "-lx", RULE_LOADER},
        {"deno", "eval", RULE_EVAL},
        {"deno", "run", RULE_LOADER},
        {"deno", "task", RULE_LOADER},
        {"bun", "-e", RULE_EVAL},
        {"bun", "x", RULE_LOADER},
        {"bun", "--preload=./x", RULE_LOADER},
        {"java", "-jar", RULE_LOADER},
        {"java", "-cp", RULE_LOADER},
        {"java", "-javaagent=x", RULE_LOADER},
        {"java", "-Dx=1", RULE_OPTION},
        {"julia", "-E", RULE_EVAL},
        {"awk", "BEGIN { system(\"x\") }", RULE_EVAL},
        {"awk", "-f", RULE_LOADER},
        {"sed", "1e id", RULE_EVAL},
        {"python3", NULL, RULE_SCRIPT},
        {"python3", "", RULE_SCRIPT},
        {"python3", "bench.py", RULE_NONE},
        {"node", "bench/e.js", RULE_NONE},
        {"bash", "run.sh", RULE_NONE},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        enum entrypoint_rule rule =
            program_argument_rule(span_of_string(cases[i].interpreter), cases[i].argument);
        if (rule != cases[i].rule) {
            fail_msg("%s %s: rule %d", cases[i].interpreter, cases[i].argument, (int)rule);
        }
    }
}

static void few_options_of_a_first_line_are_harmless(void **state)
{
    static const struct {
        const char *interpreter;
        const char *argument;
        bool harmless;
    } cases[] = {
        {"sh", "-e", true},       {"bash", "-eu", true},     {"python3", "-u", true},
        {"perl", "-w", true},     {"awk", "-f", true},       {"sh", "-c", false},
        {"sh", "-ec", false},     {"bash", "--norc", false}, {"python3", "-c", false},
        {"perl", "-we", false},   {"node", "-e", false},     {"node", "--import=./x", false},
        {"sh", "-", false},       {"sh", "e", false},        {"ls", "-l", false},
        {"bash", "-e -c", false}, {"python3", "-m", false},  {"sh", "", true},
        {"sed", "-nEf", true},    {"sed", "-fE", false},     {"sed", "-n", false},
        {"awk", "-ff", false},    {"awk", "", false},        {"ls", "", false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        if (program_option_is_harmless(span_of_string(cases[i].interpreter), cases[i].argument) !=
            cases[i].harmless) {
            fail_msg("%s %s", cases[i].interpreter, cases[i].argument);
        }
    }
}

/* EP-3: words of a script. */
static void words_of_scripts(void **state)
{
    static const struct {
        const char *word;
        enum entrypoint_rule rule;
    } cases[] = {
        {"docker", RULE_CLIENT},
        {"/usr/bin/docker", RULE_CLIENT},
        {"docker-compose", RULE_CLIENT},
        {"podman", RULE_CLIENT},
        {"nerdctl", RULE_CLIENT},
        {"kubectl", RULE_CLIENT},
        {"harbor", RULE_CLIENT},
        {"crictl", RULE_CLIENT},
        {"buildah", RULE_CLIENT},
        {"/var/run/docker.sock", RULE_SOCKET},
        {"/run/podman/podman.sock", RULE_SOCKET},
        {"containerd.sock", RULE_SOCKET},
        {"/run/crio/crio.sock", RULE_SOCKET},
        {"DOCKER_HOST", RULE_SOCKET},
        {"CONTAINERD_ADDRESS", RULE_SOCKET},
        {"docker-24", RULE_CLIENT},
        {"/mnt/c/docker.exe", RULE_CLIENT},
        {".exe", RULE_NONE},
        {"dockerfile", RULE_NONE},
        {"docker_image", RULE_NONE},
        {"ctr", RULE_NONE}, /* a counter, more often than not */
        {"kind", RULE_NONE},
        {"sock", RULE_NONE},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        if (program_word_rule(span_of_string(cases[i].word)) != cases[i].rule) {
            fail_msg("'%s'", cases[i].word);
        }
    }
    assert_string_equal(program_reads(span_of_string("npm")), "package.json");
    assert_string_equal(program_reads(span_of_string("/usr/bin/make")),
                        "GNUmakefile makefile Makefile");
    assert_null(program_reads(span_of_string("maker")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_known_by_name),
        cmocka_unit_test(options_of_interpreters_are_refused),
        cmocka_unit_test(few_options_of_a_first_line_are_harmless),
        cmocka_unit_test(words_of_scripts),
    };
    return cmocka_run_group_tests_name("preflight/program", tests, NULL, NULL);
}
