#include "fake-files.h"

#include <stdio.h>

#include "memory.h"

#define ZEROS(string) .text = (string), .n = sizeof(string) - 1

/* EP-1, EP-2: how a command begins. */
static void the_first_word_is_a_file_of_the_repository(void **state)
{
    static const struct fake_file files[] = {
        {.path = "bench/run", .text = "#!/bin/sh\necho hi\n"},
        {.path = "bench/compiled"},
        {.path = "bench/link", .kind = LOOK_LINK},
        {.path = "toplink", .kind = LOOK_LINK},
        {.path = "odd/a,b", .kind = LOOK_LINK}, /* no word of any text */
        {.path = "bench/folder", .kind = LOOK_OTHER},
        {.path = "bench/hard", .links = 2},
        {.path = "bench/shared", .shared = true},
        {.path = "bench/batch", .text = "#!/bin/sh\n"}, /* a script may have such a name */
        {.path = "tools/busybox"},
        {.path = "tools/timeout"},
        {.path = "tools/npx"},
        {.path = "tools/python3"},
        {.path = "tools/docker", .text = "#!/bin/sh\n"},
        {.path = "e.py", .text = "#!/usr/bin/env python3\n"},
        {.path = "worker", .text = "#!/bin/sh\ndocker run\n"},
        {.path = "notes", .text = "docker\n", .plain = true},
        {.path = "blob", ZEROS("docker run\n\0"), .plain = true},
    };
    static const struct {
        const char *argv[6];
        enum entrypoint_rule rule;
        const char *wanted;
    } cases[] = {
        {{"bench/run"}, RULE_NONE, ""},
        {{"bench/run", "-c", "x"}, RULE_NONE, ""}, /* its own option, whatever that is */
        {{"bench/compiled", "--size", "7"}, RULE_NONE, ""},
        {{"bench/batch"}, RULE_NONE, ""},
        {{"bench/link"}, RULE_LINK, "bench/link: a symbolic link"},
        {{"toplink"}, RULE_LINK, "toplink: a symbolic link"},
        {{"odd/a,b"}, RULE_LINK, "odd/a,b: a symbolic link"},
        {{"bench/hard"}, RULE_LINK, "bench/hard: 2 hard links"},
        {{"bench/shared"}, RULE_SHARED, "bench/shared"},
        {{"bench/folder"}, RULE_OUTSIDE, "bench/folder: no regular file"},
        {{"bench/none"}, RULE_OUTSIDE, "bench/none: no such file"},
        {{"/bin/ls"}, RULE_OUTSIDE, "argv[0]: /bin/ls"},
        {{"../run"}, RULE_OUTSIDE, "argv[0]: ../run"},
        {{"bench/../bench/run"}, RULE_OUTSIDE, "argv[0]"},
        {{"python3", "e.py"}, RULE_OUTSIDE, "python3: no such file"},
        {{"tools/busybox", "sh"}, RULE_WRAPPER, "tools/busybox"},
        {{"tools/timeout"}, RULE_WRAPPER, "tools/timeout"},
        {{"tools/npx"}, RULE_RUNNER, "tools/npx"},
        {{"tools/python3", "-c", "x"}, RULE_EVAL, "argv[1]: -c"},
        {{"tools/python3", "-m", "x"}, RULE_LOADER, "argv[1]: -m"},
        {{"tools/python3", "e.py"}, RULE_NONE, ""},
        {{"tools/python3", "blob"}, RULE_UNREADABLE, "blob: a script with zero bytes"},
        {{"tools/python3", "notes"}, RULE_CLIENT, "notes:1: docker"},
        {{"tools/python3", "./blob"}, RULE_UNREADABLE, "blob: a script with zero bytes"},
        {{"tools/docker"}, RULE_CLIENT, "argv[0]: tools/docker"},
        {{"bench/run", "python3", "x"}, RULE_WRAPPER, "argv[1]: python3"},
        {{"bench/run", "sudo", "x"}, RULE_WRAPPER, "argv[1]: sudo"},
        {{"bench/run", "--lang", "python"}, RULE_NONE, ""},
        {{"bench/run", "--lang", "python", "--size", "7"}, RULE_NONE, ""},
        {{"bench/run", "--mode", "time", "7"}, RULE_NONE, ""},
        {{"bench/run", "--tools", "awk", "perl"}, RULE_NONE, ""},
        {{"bench/run", "--in", "/data/time", "7"}, RULE_NONE, ""},
        {{"bench/run", "--", "sh", "x"}, RULE_WRAPPER, "argv[2]: sh"},
        {{"bench/run", "--fast", "--", "nice", "x"}, RULE_WRAPPER, "argv[3]: nice"},
        {{"bench/run", "5", "sh", "-c", "x"}, RULE_WRAPPER, "argv[2]: sh"},
        {{"bench/run", "X=1", "perl", "-we", "x"}, RULE_WRAPPER, "argv[2]: perl"},
        {{"bench/run", "--shell=bash", "-lc", "x"}, RULE_WRAPPER, "argv[1]: bash"},
        {{"bench/run", "--command", "bash -c x"}, RULE_WRAPPER, "argv[2]: bash"},
        {{"bench/run", "-x", "node", "--import=./x", "y"}, RULE_WRAPPER, "argv[2]: node"},
        {{"bench/run", "-x", "awk", "BEGIN{system(\"x\")}"}, RULE_WRAPPER, "argv[2]: awk"},
        {{"bench/run", "--with", "/usr/bin/env"}, RULE_WRAPPER, "argv[2]: /usr/bin/env"},
        {{"bench/run", "--with=/usr/bin/../bin/sh"}, RULE_WRAPPER, "argv[1]: /usr/bin/../bin/sh"},
        {{"bench/run", "/../bin/sh"}, RULE_WRAPPER, "argv[1]: /../bin/sh"},
        {{"bench/run", "--with=/usr/../../bin/sh"}, RULE_WRAPPER, "argv[1]: /usr/../../bin/sh"},
        {{"bench/run", "--with=../../usr/bin/env"}, RULE_WRAPPER, "argv[1]: ../../usr/bin/env"},
        {{"bench/run", "-x", "bench/../../bin/sh"}, RULE_WRAPPER, "argv[2]: bench/../../bin/sh"},
        {{"bench/run", "--in", "../data/time", "7"}, RULE_NONE, ""},
        {{"bench/run", "--in", "/usr/../data/time", "7"}, RULE_NONE, ""},
        {{"bench/run", "/proc/self/root//bin/./sh"}, RULE_WRAPPER, "/bin/./sh"},
        {{"bench/run", "/lib64/ld-linux-x86-64.so.2"}, RULE_WRAPPER, "argv[1]: /lib64/ld-linux"},
        {{"bench/run", "-l", "/lib/x/ld-2.36.so", "x"}, RULE_WRAPPER, "argv[2]: /lib/x/ld-2.36"},
        {{"bench/run", "docker", "x"}, RULE_CLIENT, "argv[1]: docker"},
        {{"bench/run", "--with=podman"}, RULE_CLIENT, "argv[1]: podman"},
        {{"bench/run", "unix:///run/docker.sock"}, RULE_SOCKET, "argv[1]: ///run/docker.sock"},
        {{"bench/run", "bench/link"}, RULE_LINK, "bench/link"},
        {{"bench/run", "worker"}, RULE_CLIENT, "worker:2: docker"},
        {{"bench/run", "--worker=worker"}, RULE_CLIENT, "worker:2: docker"},
        {{"bench/run", "notes"}, RULE_NONE, ""},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files fake = {files, countof(files), 0};
        assert_verdict(audited((char *const *)(uintptr_t)cases[i].argv, ENTRYPOINT_FILE, &fake),
                       cases[i].rule, cases[i].wanted);
    }
}

/* EP-2: declared work may begin with an interpreter, and a script right behind it. */
static void work_may_begin_with_an_interpreter(void **state)
{
    static const struct fake_file files[] = {
        {.path = "e.py", .text = "print(1)\n", .plain = true},
        {.path = "bad.py", .text = "import os\nos.system('docker ps')\n", .plain = true},
        {.path = "link.py", .kind = LOOK_LINK},
        {.path = "blob", ZEROS("docker run\n\0"), .plain = true},
        {.path = "bench/app", ZEROS("PK\3\4\0\0"), .plain = true},
        {.path = "words", .text = "docker run\n", .plain = true},
        {.path = "x.js", .text = "//usr/bin/docker run\n", .plain = true},
    };
    static const struct {
        const char *argv[6];
        enum entrypoint_rule rule;
        const char *wanted;
    } cases[] = {
        {{"python3", "e.py", "-c"}, RULE_NONE, ""},
        {{"python3", "e.py", "--", "sh", "x"}, RULE_WRAPPER, "argv[3]: sh"},
        {{"python3", "e.py", "bash -c x"}, RULE_WRAPPER, "argv[2]: bash"},
        {{"python3", "-c", "x"}, RULE_EVAL, "argv[1]: -c"},
        {{"python3", "-m", "x"}, RULE_LOADER, "argv[1]: -m"},
        {{"python3", "-u", "e.py"}, RULE_OPTION, "argv[1]: -u"},
        {{"python3"}, RULE_SCRIPT, "python3"},
        {{"python3", "none.py"}, RULE_OUTSIDE, "none.py: no such file"},
        {{"python3", "link.py"}, RULE_LINK, "link.py"},
        {{"python3", "bad.py"}, RULE_CLIENT, "bad.py:2: docker"},
        {{"env", "python3", "e.py"}, RULE_WRAPPER, "argv[0]: env"},
        {{"sudo", "-u", "x"}, RULE_WRAPPER, "argv[0]: sudo"},
        {{"xargs", "e.py"}, RULE_WRAPPER, "argv[0]: xargs"},
        {{"timeout", "9", "e.py"}, RULE_WRAPPER, "argv[0]: timeout"},
        {{"nohup", "e.py"}, RULE_WRAPPER, "argv[0]: nohup"},
        {{"busybox", "sh"}, RULE_WRAPPER, "argv[0]: busybox"},
        {{"sh", "-c", "true"}, RULE_EVAL, "argv[1]: -c"},
        {{"npx", "x"}, RULE_RUNNER, "argv[0]: npx"},
        {{"npm", "run", "x"}, RULE_RUNNER, "argv[0]: npm"},
        {{"uv", "run", "x"}, RULE_RUNNER, "argv[0]: uv"},
        {{"cargo", "run"}, RULE_RUNNER, "argv[0]: cargo"},
        {{"make"}, RULE_RUNNER, "argv[0]: make"},
        {{"docker", "run", "x"}, RULE_CLIENT, "argv[0]: docker"},
        {{"kubectl", "get", "x"}, RULE_CLIENT, "argv[0]: kubectl"},
        {{"something", "e.py"}, RULE_PROGRAM, "argv[0]: something"},
        {{"python3", "blob"}, RULE_UNREADABLE, "blob: a script with zero bytes"},
        {{"python3", "bench/app"}, RULE_UNREADABLE, "bench/app: a script with zero bytes"},
        {{"sh", "words"}, RULE_CLIENT, "words:1: docker"},
        {{"sh", "x.js"}, RULE_CLIENT, "x.js:1: //usr/bin/docker"},
        {{"node", "x.js"}, RULE_NONE, ""},
        {{"./e.py", "x"}, RULE_NONE, ""},
        {{".//e.py", "x"}, RULE_OUTSIDE, "argv[0]: .//e.py"},
        {{"./../e.py", "x"}, RULE_OUTSIDE, "argv[0]: ./../e.py"},
        {{"/usr/bin/python3", "e.py"}, RULE_OUTSIDE, "argv[0]: /usr/bin/python3"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files fake = {files, countof(files), 0};
        assert_verdict(
            audited((char *const *)(uintptr_t)cases[i].argv, ENTRYPOINT_FILE_OR_INTERPRETER, &fake),
            cases[i].rule, cases[i].wanted);
    }
}

/* EP-2, EP-3: the first line of a script says what runs. */
static void first_lines_are_judged(void **state)
{
    static const struct {
        const char *text;
        enum entrypoint_rule rule;
        const char *wanted;
    } cases[] = {
        {"#!/bin/sh\n", RULE_NONE, ""},
        {"#!/bin/bash -eu\n", RULE_NONE, ""},
        {"#! /usr/bin/env python3\n", RULE_NONE, ""},
        {"#!/usr/bin/perl -w\n", RULE_NONE, ""},
        {"#!/usr/bin/awk -f\n", RULE_NONE, ""},
        {"#!/bin/sh", RULE_NONE, ""},
        {"#!/usr/bin/sed -nEf\n", RULE_NONE, ""},
        {"#!/usr/bin/awk -ff\n", RULE_INTERPRETER, "-ff"}, /* of a file that is called f */
        {"#!/usr/bin/sed -nfE\n", RULE_INTERPRETER, "-nfE"},
        {"#!/usr/bin/sed -n\n", RULE_INTERPRETER, "-n"}, /* the script's name is its program */
        {"#!/usr/bin/env awk\n", RULE_INTERPRETER, "awk"},
        {"#!/bin/sh -c\n", RULE_INTERPRETER, "bench/run:1: #!/bin/sh -c"},
        {"#!/usr/bin/node --import=./x\n", RULE_INTERPRETER, "--import"},
        {"#!/usr/bin/python3 -m\n", RULE_INTERPRETER, "-m"},
        {"#!/usr/bin/env -S node --import ./x\n", RULE_INTERPRETER, "-S node"},
        {"#!/usr/bin/env X=1 python3\n", RULE_INTERPRETER, "X=1"},
        {"#!/usr/bin/env\n", RULE_INTERPRETER, "#!/usr/bin/env"},
        {"#!/usr/bin/env ./python3\n", RULE_INTERPRETER, "./python3"},
        {"#!/opt/x/python3\n", RULE_INTERPRETER, "#!/opt/x/python3"},
        {"#!/usr/bin/../x/sh\n", RULE_INTERPRETER, ""},
        {"#!bench/wrap\n", RULE_INTERPRETER, "#!bench/wrap"},
        {"#!/usr/bin/env wrap\n", RULE_INTERPRETER, "wrap"},
        {"#!\n", RULE_INTERPRETER, ""},
        {"#!/usr/bin/env npx\n", RULE_RUNNER, "bench/run:1: npx"},
        {"#!/usr/bin/make -f\n", RULE_RUNNER, "bench/run:1: /usr/bin/make"},
        {"#!/usr/bin/sudo /bin/sh\n", RULE_WRAPPER, "bench/run:1: /usr/bin/sudo"},
        {"#!/bin/busybox sh\n", RULE_WRAPPER, "bench/run:1: /bin/busybox"},
        {"#!/usr/bin/docker run\n", RULE_CLIENT, "bench/run:1: /usr/bin/docker"},
        {"#!/usr/bin/env podman\n", RULE_CLIENT, "bench/run:1: podman"},
        {"#!/usr/bin/env -S docker run -i x\n", RULE_CLIENT, "bench/run:1: docker"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files *fake = FAKE({.path = "bench/run", .text = cases[i].text});
        assert_verdict(audited(ARGV("bench/run"), ENTRYPOINT_FILE, fake), cases[i].rule,
                       cases[i].wanted);
    }
}

/* EP-3: a client is found behind scripts, package scripts, makefiles, modules and wrappers, with its line. */
static void clients_are_found_behind_what_a_script_names(void **state)
{
    static const struct fake_file files[] = {
        {.path = "direct.sh", .text = "#!/bin/sh\n# docker is not used here\ntrue && docker run\n"},
        {.path = "comment.sh", .text = "#!/bin/sh\n  # docker\necho dockerfile # fine\n"},
        {.path = "tail.sh", .text = "#!/bin/sh\nx=' # '; docker run\n"},
        {.path = "socket.sh", .text = "#!/bin/sh\ncurl --unix-socket /run/docker.sock x\n"},
        {.path = "host.sh", .text = "#!/bin/sh\nDOCKER_HOST=tcp://x ./go\n"},
        {.path = "a/one.sh", .text = "#!/bin/sh\n. ./lib/two\n"},
        {.path = "a/lib/two", .text = "exec \"$HERE/three.sh\"\n", .plain = true},
        {.path = "a/lib/three.sh", .text = "\n\nsudo podman run\n", .plain = true},
        {.path = "npm.sh", .text = "#!/bin/sh\nnpm run bench\n"},
        {.path = "package.json",
         .text = "{\"keywords\": [\"docker\"], \"scripts\": {\"ok\": \"true\", "
                 "\"bench\": \"nerdctl run\"}}",
         .plain = true},
        {.path = "b/pnpm.sh", .text = "#!/bin/sh\npnpm bench\n"},
        {.path = "b/package.json", .text = "{\"scripts\": {", .plain = true},
        {.path = "make.sh", .text = "#!/bin/sh\nmake bench\n"},
        {.path = "Makefile", .text = "bench:\n\tkubectl apply\n", .plain = true},
        {.path = "p/e.py", .text = "#!/usr/bin/env python3\nfrom lib.deep import x\n"},
        {.path = "p/lib/deep.py", .text = "run(['crictl'])\n", .plain = true},
        {.path = "j/e.mjs", .text = "#!/usr/bin/env node\nimport { x } from './lib';\n"},
        {.path = "j/lib.js", .text = "spawn('buildah')\n", .plain = true},
        {.path = "link.sh", .text = "#!/bin/sh\n./helper\n"},
        {.path = "helper", .kind = LOOK_LINK},
        {.path = "up.sh", .text = "#!/bin/sh\n../outside.sh ../../x/y.sh /etc/z.sh\n"},
        {.path = "data.sh", .text = "#!/bin/sh\ncat words.txt\n"},
        {.path = "words.txt", .text = "docker\n", .plain = true},
        {.path = "bare.sh", .text = "#!/bin/sh\nsh setup\n"},
        {.path = "setup", .text = "harbor push\n", .plain = true},
        {.path = "round.sh", .text = "#!/bin/sh\n./round.sh ./round2.sh\n"},
        {.path = "round2.sh", .text = "./round.sh\n", .plain = true},
        {.path = "shebang.sh", .text = "#!/bin/sh\n./inner\n"},
        {.path = "inner", .text = "#!/usr/bin/env -S npx tsx\n"},
        {.path = "option.sh", .text = "#!/bin/sh\nsh -eu setup\n"},
        {.path = "slashes.sh", .text = "#!/bin/sh\n//usr/bin/docker run\n"},
        {.path = "x.go", .text = "//usr/bin/docker run\n"},
        {.path = "plain.go", .text = "// docker\n", .plain = true},
        {.path = "go.sh", .text = "#!/bin/sh\n./plain.go\n"},
        {.path = "told.sh", .text = "#!/bin/sh\nsh ./plain.go\n"},
        {.path = "later.sh", .text = "#!/bin/sh\ncat ./plain.go\n. ./last.sh\n"},
        {.path = "last.sh", .text = "node ./plain.go\nbash ./plain.go\n", .plain = true},
        {.path = "node.sh", .text = "#!/bin/sh\nnode ./slashes.js\n"},
        {.path = "node-go.sh", .text = "#!/bin/sh\nnode ./slashes.js ./plain.go\n"},
        {.path = "sh.sh", .text = "#!/bin/sh\nsh ./slashes.js\n"},
        {.path = "exec.sh", .text = "#!/bin/sh\nexec ./slashes.js\n"},
        {.path = "exec-go.sh", .text = "#!/bin/sh\nexec ./x.go\n"},
        {.path = "one.php", .text = "#!/usr/bin/php\n<?php include './plain.go';\n"},
        {.path = "ninja.sh", .text = "#!/bin/sh\nninja\n"},
        {.path = "build.ninja", .text = "include ./plain.go\n", .plain = true},
        {.path = "pound", .text = "echo\n#` + docker\n", .plain = true},
        {.path = "hash.sh", .text = "#!/bin/sh\nsh ./pound\n"},
        {.path = "both.sh", .text = "#!/bin/sh\nsh ./pound\nnode ./pound\n"},
        {.path = "slashes.js", .text = "#!/usr/bin/env node\n// docker\n"},
        {.path = "hash.js", .text = "#!/usr/bin/env node\nx(`\n#` + 'docker'\n#docker`)\n"},
        {.path = "version.sh", .text = "#!/bin/sh\nkubectl1.30 get || docker.exe ps\n"},
        {.path = "exe.sh", .text = "#!/bin/sh\ndocker.exe ps\n"},
        {.path = "manager.sh", .text = "#!/bin/sh\nsystemd-run --user x\n"},
        {.path = "library.js", .text = "#!/usr/bin/env node\nimport D from 'dockerode';\n"},
    };
    static const struct {
        const char *path;
        enum entrypoint_rule rule;
        const char *wanted;
    } cases[] = {
        {"direct.sh", RULE_CLIENT, "direct.sh:3: docker"},
        {"comment.sh", RULE_NONE, ""},
        {"tail.sh", RULE_CLIENT, "tail.sh:2: docker"},
        {"socket.sh", RULE_SOCKET, "socket.sh:2: /run/docker.sock"},
        {"host.sh", RULE_SOCKET, "host.sh:2: DOCKER_HOST"},
        {"a/one.sh", RULE_CLIENT, "a/lib/three.sh:3: podman"},
        {"npm.sh", RULE_CLIENT, "package.json: scripts.bench: nerdctl"},
        {"b/pnpm.sh", RULE_CLIENT, "package.json: scripts.bench"},
        {"make.sh", RULE_CLIENT, "Makefile:2: kubectl"},
        {"p/e.py", RULE_CLIENT, "p/lib/deep.py:1: crictl"},
        {"j/e.mjs", RULE_CLIENT, "j/lib.js:1: buildah"},
        {"link.sh", RULE_LINK, "helper"},
        {"up.sh", RULE_NONE, ""},
        {"data.sh", RULE_NONE, ""},
        {"bare.sh", RULE_CLIENT, "setup:1: harbor"},
        {"round.sh", RULE_NONE, ""},
        {"shebang.sh", RULE_INTERPRETER, "inner:1: #!/usr/bin/env -S npx tsx"},
        {"option.sh", RULE_CLIENT, "setup:1: harbor"},
        {"slashes.sh", RULE_CLIENT, "slashes.sh:2: //usr/bin/docker"},
        {"x.go", RULE_CLIENT, "x.go:1: //usr/bin/docker"},
        {"go.sh", RULE_CLIENT, "plain.go:1: docker"},
        {"told.sh", RULE_CLIENT, "plain.go:1: docker"},
        {"later.sh", RULE_CLIENT, "plain.go:1: docker"},
        {"node.sh", RULE_NONE, ""},
        {"node-go.sh", RULE_CLIENT, "plain.go:1: docker"},
        {"sh.sh", RULE_CLIENT, "slashes.js:2: docker"},
        {"exec.sh", RULE_NONE, ""},
        {"exec-go.sh", RULE_CLIENT, "x.go:1: //usr/bin/docker"},
        {"one.php", RULE_NONE, ""},
        {"ninja.sh", RULE_CLIENT, "plain.go:1: docker"},
        {"hash.sh", RULE_CLIENT, "pound:2: docker"},
        {"both.sh", RULE_CLIENT, "pound:2: docker"},
        {"slashes.js", RULE_NONE, ""},
        {"hash.js", RULE_CLIENT, "hash.js:3: docker"},
        {"version.sh", RULE_CLIENT, "version.sh:2: kubectl1.30"},
        {"exe.sh", RULE_CLIENT, "exe.sh:2: docker.exe"},
        {"manager.sh", RULE_CLIENT, "manager.sh:2: systemd-run"},
        {"library.js", RULE_CLIENT, "library.js:2: dockerode"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files fake = {files, countof(files), 0};
        assert_verdict(audited(ARGV(cases[i].path), ENTRYPOINT_FILE, &fake), cases[i].rule,
                       cases[i].wanted);
    }
    struct fake_files *broken = FAKE({.path = "npm.sh", .text = "#!/bin/sh\nnpm test\n"},
                                     {.path = "package.json", .text = "{", .plain = true});
    assert_verdict(audited(ARGV("npm.sh"), ENTRYPOINT_FILE, broken), RULE_UNREADABLE,
                   "package.json: no JSON");
    /* Of composer a list, too; nothing else is passed over. */
    static const struct {
        const char *text;
        enum entrypoint_rule rule;
        const char *wanted;
    } packages[] = {
        {"{\"scripts\": {\"x\": [\"@ok\", \"true\"], \"y\": []}}", RULE_NONE, ""},
        {"{\"keywords\": [\"docker\"]}", RULE_NONE, ""},
        {"{\"scripts\": {\"x\": [\"true\", \"docker run\"]}}", RULE_CLIENT, "scripts.x: docker"},
        {"{\"scripts\": {\"x\": {\"y\": \"docker\"}}}", RULE_UNREADABLE,
         "scripts.x: neither a text"},
        {"{\"scripts\": {\"x\": [[\"docker\"]]}}", RULE_UNREADABLE, "scripts.x: neither a text"},
        {"{\"scripts\": [\"docker\"]}", RULE_UNREADABLE, "composer.json: no object"},
        {"[]", RULE_UNREADABLE, "composer.json: no object"},
    };
    for (size_t i = 0; i < countof(packages); i++) {
        struct fake_files *php =
            FAKE({.path = "php.sh", .text = "#!/bin/sh\ncomposer run x\n"},
                 {.path = "composer.json", .text = packages[i].text, .plain = true});
        assert_verdict(audited(ARGV("php.sh"), ENTRYPOINT_FILE, php), packages[i].rule,
                       packages[i].wanted);
    }
    struct fake_files *package =
        FAKE({.path = "run.sh", .text = "#!/bin/sh\nsh ./package.json\n"},
             {.path = "package.json", .text = "{\"name\": \"$(docker)\"}", .plain = true});
    assert_verdict(audited(ARGV("run.sh"), ENTRYPOINT_FILE, package), RULE_CLIENT,
                   "package.json:1: docker");
    /* Also what the command itself is told to run. */
    struct fake_files *told = FAKE({.path = "run"}, {.path = "x/y.sh", .text = "docker\n"});
    assert_verdict(audited(ARGV("run", "--script=x/y.sh"), ENTRYPOINT_FILE, told), RULE_CLIENT,
                   "x/y.sh:1: docker");
}

/* EP-3: a line that begins like a comment executes, by what stands in it, by the line before, or by who reads it. */
static void what_executes_is_no_comment(void **state)
{
#define PY "#!/usr/bin/env python3\n"
#define JS "#!/usr/bin/env node\n"
#define SH "#!/bin/sh\n"
    static const struct {
        const char *text;   /* of "run" */
        const char *path;   /* of another file, that nobody may execute */
        const char *other;  /* its text */
        const char *wanted; /* NULL: nothing */
    } cases[] = {
        {SH "echo \"\n#$(docker ps)\"\n", NULL, NULL, "run:3: docker"},
        {SH "echo \"\n#`docker ps`\"\n", NULL, NULL, "run:3: docker"},
        {SH "echo x\\\n#$(docker ps)\n", NULL, NULL, "run:3: docker"},
        {SH "echo x\\\n# | docker ps\n", NULL, NULL, "run:3: docker"},
        {SH "echo x\\\n#a\ndocker\n", NULL, NULL, "run:4: docker"},
        {SH "# and so on \\\n# docker ps\n", NULL, NULL, "run:3: docker"},
        {SH "echo '\n#' && docker ps\n", NULL, NULL, "run:3: docker"},
        {SH "echo \"\n#\" ; docker ps\n", NULL, NULL, "run:3: docker"},
        {SH "# docker ps | sh\n", NULL, NULL, "run:2: docker"},
        {SH "# docker, and podman: http://docker.com/a-b_c #1!\n", NULL, NULL, NULL},
        {SH "\t # docker\necho x\n# docker\n", NULL, NULL, NULL},
        {SH "# docker isn't used\n", NULL, NULL, "run:2: docker"}, /* the safe side */
        {SH "# (docker)\n", NULL, NULL, "run:2: docker"},
        {PY "# x\rimport os; os.system('docker ps')\n", NULL, NULL, "run:2: docker"},
        {PY "# x\rimport docker\n", NULL, NULL, "run:2: docker"},
        {JS "// x\rimport docker\n", NULL, NULL, "run:2: docker"},
        {JS "// x\342\200\250import docker\n", NULL, NULL, "run:2: docker"},
        {JS "/*\n// */ import docker\n", NULL, NULL, "run:3: docker"},
        {JS "// docker\n", NULL, NULL, NULL},
        {"#!/usr/bin/php\n<?php\n// ?> <?php system(docker)\n", NULL, NULL, "run:3: docker"},
        {"#!/usr/bin/lua\nx =\n#io.popen docker\n", NULL, NULL, "run:3: docker"},
        {"#!/usr/bin/perl\nprint q#\n# and exec docker ps\n", NULL, NULL, "run:3: docker"},
        {"#!/usr/bin/ruby\nx = %q#\n# and docker\n", NULL, NULL, "run:3: docker"},
        {"#!/usr/bin/awk -f\n# docker\n", NULL, NULL, NULL},
        {"#!/usr/bin/tclsh\nforeach {a b} {\n# docker\n} {exec $b}\n", NULL, NULL, "run:3: docker"},
        {JS "require('./d.x')\n", "d.x", "class A {\n#docker\n}\n", "d.x:2: docker"},
        {JS "require('./d.x')\n", "d.x", "// docker\n", "d.x:1: docker"},
        {JS "require('./d')\n", "d.js", "// docker\n", NULL},
        {JS "require('./d.sh')\n", "d.sh", "# docker\n", "d.sh:1: docker"},
        {SH "cat ./notes\n", "notes", "# docker\n", "notes:1: docker"},
        {SH ". ./notes\n", "notes", "# docker\n", NULL},
        {SH "make all\n", "Makefile", "# docker\n", NULL},
        {JS "spawn('make')\n", "Makefile", "# docker\n", NULL},
        {SH "./lib.py\n", "lib.py", "# docker\n", NULL},
        {PY "import lib\n", "lib.py", "# docker\n", NULL},
        {JS "spawn('python3 -m lib')\n", "lib.py", "# docker\n", NULL},
        {SH "ninja\n", "build.ninja", "command = x $\n# docker\n", "build.ninja:2: docker"},
        {"#!/usr/bin/perl\ndo './c.js';\n", "c.js", "// or 1; system('docker')\n",
         "c.js:1: docker"},
        {"#!/usr/bin/perl\ndo './c.js';\n", "c.js", "// docker\n", "c.js:1: docker"},
        {"#!/usr/bin/ruby\nload './b.js'\n", "b.js", "// docker\n", "b.js:1: docker"},
        {PY "exec(open('e.js').read())\n", "e.js", "// docker\n", "e.js:1: docker"},
        {SH "bash -o pipefail ./f.js\n", "f.js", "// docker\n", "f.js:1: docker"},
        {SH "for f in ./f.js; do sh $f; done\n", "f.js", "// docker\n", "f.js:1: docker"},
        {SH "cat f.js | sh\n", "f.js", "// docker\n", "f.js:1: docker"},
        {SH "cat f.js | sh\n", "f.js", JS "// docker\n", "f.js:2: docker"},
        {SH "node ./f.js\n", "f.js", "// docker\n", NULL},
        {SH "node ./f.js; cat f.js | sh\n", "f.js", "// docker\n", "f.js:1: docker"},
        {SH "# docker\nexec node \"$0\"\n", NULL, NULL, "run:2: docker"},
        {SH "# docker\nexec perl ${0}\n", NULL, NULL, "run:2: docker"},
        {SH "# docker\nexec perl -x $BASH_SOURCE\n", NULL, NULL, "run:2: docker"},
        {SH "# docker\nsh \"$0\" 0\ncd $(dirname $0)\n", NULL, NULL, NULL},
        {SH "# docker\nnode 0\n", NULL, NULL, NULL},
        {SH "npm run x\n", "package.json", "{\"scripts\": {\"x\": \"sh ./run\"}}", NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files *fake = FAKE({.path = "run", .text = cases[i].text},
                                       {.path = cases[i].path ? cases[i].path : "other",
                                        .text = cases[i].other ? cases[i].other : "",
                                        .plain = true});
        assert_verdict(audited(ARGV("run"), ENTRYPOINT_FILE, fake),
                       cases[i].wanted ? RULE_CLIENT : RULE_NONE,
                       cases[i].wanted ? cases[i].wanted : "");
    }
    /* What the command names is read by whom it names in front, and by nobody knows whom. */
    struct fake_files *named = FAKE({.path = "run", .text = SH}, {.path = "tools/node"},
                                    {.path = "f.js", .text = "// docker\n", .plain = true});
    assert_verdict(audited(ARGV("run", "f.js"), ENTRYPOINT_FILE, named), RULE_CLIENT,
                   "f.js:1: docker");
    assert_verdict(audited(ARGV("node", "f.js"), ENTRYPOINT_FILE_OR_INTERPRETER, named), RULE_NONE,
                   "");
    assert_verdict(audited(ARGV("tools/node", "f.js"), ENTRYPOINT_FILE, named), RULE_CLIENT,
                   "f.js:1: docker");
    struct fake_files *package =
        FAKE({.path = "run", .text = SH "npm run x\n"},
             {.path = "package.json", .text = "{\"scripts\": {\"x\": \"./go.sh\"}}", .plain = true},
             {.path = "go.sh", .text = "# docker\n"});
    assert_verdict(audited(ARGV("run"), ENTRYPOINT_FILE, package), RULE_NONE, "");
}

/* EP-3: a script finds others in the folders to which it changes, in which it searches, or in which it has others work. */
static void folders_that_a_script_names_are_searched(void **state)
{
#define BAD .text = "\ndocker run\n"
    static const struct fake_file files[] = {
        {.path = "sub", .kind = LOOK_OTHER},
        {.path = "a/sub", .kind = LOOK_OTHER},
        {.path = "sub/go", BAD},
        {.path = "a/sub/step", BAD},
        {.path = "sub/data", BAD, .plain = true},
        {.path = "sub/Makefile", BAD, .plain = true},
        {.path = "sub/package.json", .text = "{\"scripts\": {\"x\": \"podman\"}}", .plain = true},
        {.path = "Rakefile", BAD, .plain = true},
        {.path = "justfile", BAD, .plain = true},
        {.path = "rules", BAD, .plain = true},
        {.path = "pkg/run.py", BAD, .plain = true},
        {.path = "sub/part.rb", BAD, .plain = true},
        {.path = "lib", .kind = LOOK_OTHER},
        {.path = "lib/Deep/Part.pm", BAD, .plain = true},
        {.path = "part.lua", BAD, .plain = true},
    };
    static const struct {
        const char *text;
        const char *wanted; /* NULL: nothing */
    } cases[] = {
        {"cd sub && ./go\n", "sub/go:2: docker"},
        {"cd \"$(dirname \"$0\")/sub\"\n./go\n", "sub/go:2: docker"},
        {"cd a/sub\n./step\n", "a/sub/step:2: docker"},
        {"PATH=$PWD/sub:$PATH\ngo now\n", "sub/go:2: docker"},
        {"run(['./go'], cwd='sub')\n", "sub/go:2: docker"},
        {"cd sub; cat data; ls go\n", NULL},
        {"ls sub; ./go\n", NULL},
        {"make -C sub all\n", "sub/Makefile:2: docker"},
        {"make -Csub all\n", "sub/Makefile:2: docker"},
        {"cd sub\nmake\n", "sub/Makefile:2: docker"},
        {"npm --prefix sub run x\n", "sub/package.json: scripts.x: podman"},
        {"npm --prefix=sub run x\n", "sub/package.json: scripts.x: podman"},
        {"node --run x --cwd sub\n", "sub/package.json: scripts.x: podman"},
        {"cd sub; ls Makefile\n", NULL},
        {"rake all\n", "Rakefile:2: docker"},
        {"just all\n", "justfile:2: docker"},
        {"include rules\n", "rules:2: docker"},
        {"python3 -m pkg.run\n", "pkg/run.py:2: docker"},
        {"python3 -mpkg.run\n", "pkg/run.py:2: docker"},
        {"require_relative 'sub/part'\n", "sub/part.rb:2: docker"},
        {"use lib 'lib';\nuse Deep::Part;\n", "lib/Deep/Part.pm:2: docker"},
        {"perl -Ilib -MDeep::Part x\n", "lib/Deep/Part.pm:2: docker"},
        {"local p = require('part')\n", "part.lua:2: docker"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_file all[countof(files) + 1] = {{.path = "run", .text = cases[i].text}};
        memcpy(all + 1, files, sizeof files);
        struct fake_files fake = {all, countof(all), 0};
        assert_verdict(audited(ARGV("run"), ENTRYPOINT_FILE, &fake),
                       cases[i].wanted ? RULE_CLIENT : RULE_NONE,
                       cases[i].wanted ? cases[i].wanted : "");
    }
}

/* EP-2, EP-3: a zero byte makes no program of a script. */
static void zeros_hide_nothing(void **state)
{
    static const struct fake_file files[] = {
        {.path = "run", ZEROS("#!/bin/sh\ndocker run\n#\0\n")},
        {.path = "first", ZEROS("#!/usr/bin/env -S docker run\n\0")},
        {.path = "archive", ZEROS("#!/usr/bin/env python3\nPK\3\4\0\0")},
        {.path = "called.sh", .text = "#!/bin/sh\nsh -e ./blob\n"},
        {.path = "named.sh", .text = "#!/bin/sh\n./x.sh\n"},
        {.path = "x.sh", ZEROS("docker run\n\0"), .plain = true},
        {.path = "started.sh", .text = "#!/bin/sh\n./blob\n"},
        {.path = "blob", ZEROS("docker run\n\0")},
        {.path = "reads.sh", .text = "#!/bin/sh\ncat ./words ./image\n"},
        {.path = "words", ZEROS("docker\0podman"), .plain = true},
        {.path = "image", ZEROS("\211PNG\r\n\0"), .plain = true, .size_bytes = 1 << 30},
        {.path = "large.sh", .text = "#!/bin/sh\n./large\n"},
        {.path = "large", ZEROS("true\n\0"), .size_bytes = AUDIT_FILE_BYTES + 1},
        {.path = "sees.sh", .text = "#!/bin/sh\ncat ./words\n. ./lib.sh\n"},
        {.path = "lib.sh", .text = ". ./words\n", .plain = true},
        {.path = "self.sh", .text = "#!/bin/sh\n. ./self.sh\n"},
    };
    static const struct {
        const char *path;
        enum entrypoint_rule rule;
        const char *wanted;
    } cases[] = {
        {"run", RULE_UNREADABLE, "run: a script with zero bytes"},
        {"first", RULE_UNREADABLE, "first"},
        {"archive", RULE_UNREADABLE, "archive"},
        {"called.sh", RULE_UNREADABLE, "blob"},
        {"named.sh", RULE_UNREADABLE, "x.sh"},
        {"started.sh", RULE_CLIENT, "blob:1: docker"},
        {"reads.sh", RULE_NONE, ""},
        {"large.sh", RULE_UNREADABLE, "large: more than 262144 bytes of one file"},
        {"sees.sh", RULE_UNREADABLE, "words: a script with zero bytes"}, /* run when it was seen */
        {"self.sh", RULE_NONE, ""},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files fake = {files, countof(files), 0};
        assert_verdict(audited(ARGV(cases[i].path), ENTRYPOINT_FILE, &fake), cases[i].rule,
                       cases[i].wanted);
    }
}

/* FS-5: what is too much to be looked at is refused, and the bound is named. */
static void budgets_refuse(void **state)
{
    struct fake_files *large =
        FAKE({.path = "run", .text = "#!/bin/sh\n", .size_bytes = AUDIT_FILE_BYTES + 1});
    assert_verdict(audited(ARGV("run"), ENTRYPOINT_FILE, large), RULE_UNREADABLE,
                   "run: more than 262144 bytes of one file");

    enum { COUNT = AUDIT_FILES + 1 };
    struct fake_file files[COUNT];
    char paths[COUNT][16];
    char texts[COUNT][32];
    with_buf all = buf_new(1 << 16);
    buf_add_string(&all, "#!/bin/sh\n");
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "f%zu.sh", i);
        (void)snprintf(texts[i], sizeof texts[i], "./f%zu.sh\n", i + 1);
        files[i] = (struct fake_file){.path = paths[i], .text = texts[i]};
        buf_add_format(&all, "./f%zu.sh\n", i);
    }
    struct fake_files chain = {files, COUNT, 0};
    assert_verdict(audited(ARGV("f0.sh"), ENTRYPOINT_FILE, &chain), RULE_UNREADABLE,
                   "f9.sh: more than 8 files that name each other in a row");
    for (size_t i = 1; i < COUNT; i++) {
        files[i].text = "true\n";
    }
    files[0].text = buf_string(&all);
    assert_verdict(audited(ARGV("f0.sh"), ENTRYPOINT_FILE, &chain), RULE_UNREADABLE,
                   "f64.sh: more than 64 files");

    with_buf words = buf_new(1 << 20);
    buf_add_string(&words, "#!/bin/sh\n");
    for (size_t i = 0; i < AUDIT_LOOKS; i++) {
        buf_add_format(&words, "a/%zu\n", i);
    }
    struct fake_files *many = FAKE({.path = "run", .text = buf_string(&words)});
    assert_verdict(audited(ARGV("run"), ENTRYPOINT_FILE, many), RULE_UNREADABLE,
                   "more than 16384 names that may be files");
    assert_true(many->looks <= AUDIT_LOOKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_word_is_a_file_of_the_repository),
        cmocka_unit_test(work_may_begin_with_an_interpreter),
        cmocka_unit_test(first_lines_are_judged),
        cmocka_unit_test(clients_are_found_behind_what_a_script_names),
        cmocka_unit_test(what_executes_is_no_comment),
        cmocka_unit_test(folders_that_a_script_names_are_searched),
        cmocka_unit_test(zeros_hide_nothing),
        cmocka_unit_test(budgets_refuse),
    };
    return cmocka_run_group_tests_name("preflight/audit", tests, NULL, NULL);
}
