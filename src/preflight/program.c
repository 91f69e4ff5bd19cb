#include "program-priv.h"

#include <string.h>

static const struct group {
    enum program_class class;
    const char *title;
    const char *names;
} groups[] = {
    {PROGRAM_RUNNER, "package runners and build tools",
     "npx npm pnpm pnpx yarn yarnpkg bunx corepack tsx ts-node turbo nx lerna uvx uv pip pipx "
     "pipenv "
     "poetry pdm hatch rye tox nox conda mamba micromamba pixi cargo rustup go bundle bundler rake "
     "gem composer cpanm luarocks stack cabal opam dune make gmake bmake ninja samu meson cmake "
     "ctest "
     "just task gradle gradlew mvn mvnw mvnd ant sbt mill lein clojure clj bazel bazelisk buck "
     "buck2 "
     "pants scons waf mix rebar dotnet nix nix-shell nix-build nix-env guix snap flatpak brew apt "
     "apt-get asdf mise rtx nvm fnm volta direnv"},
    {PROGRAM_WRAPPER, "programs that start another one",
     "env sudo sudoedit doas su pkexec run0 runuser setpriv gosu su-exec chroot unshare nsenter "
     "capsh "
     "newgrp sg xargs parallel find timeout gtimeout nohup setsid setarch linux32 linux64 nice "
     "ionice chrt taskset numactl stdbuf unbuffer script time gtime watch flock entr strace ltrace "
     "gdb lldb rr perf valgrind heaptrack ssh rsh mosh sshpass screen tmux dtach at batch crontab "
     "systemd-run systemd-inhibit systemd-nspawn systemctl busctl dbus-run-session dbus-launch "
     "dbus-send gdbus xvfb-run firejail bwrap flatpak-spawn nsjail crun runc youki proot fakeroot "
     "fakechroot faketime busybox toybox exec eval command builtin source vi vim nvim emacs ed ex "
     "less more man git hyperfine prlimit choom uclampset coresched cgexec chronic ifne "
     "softlimit chpst envdir setlock tini dumb-init catatonit start-stop-daemon daemonize rlwrap "
     "torsocks proxychains proxychains4 eatmydata catchsegv uftrace bpftrace run-parts logsave "
     "openvt systemd-cat systemd-socket-activate socat qemu-x86_64 qemu-aarch64 wine"},
    {PROGRAM_CLIENT, "clients of daemons",
     "docker docker-compose dockerd podman podman-compose podman-remote nerdctl kubectl harbor "
     "crictl "
     "buildah minikube limactl virsh machinectl ctr oc kind k3s k3d helm lxc lxd incus vagrant "
     "multipass colima containerd dockerd-rootless"},
};

/* Of the clients those whose names are no ordinary words, and so are looked for in scripts. */
static const char clients_in_text[] = "docker docker-compose dockerd podman podman-compose "
                                      "podman-remote nerdctl kubectl harbor crictl "
                                      "buildah minikube limactl virsh machinectl "
                                      "docker-machine dockerd-rootless dockerode testcontainers "
                                      "aiodocker vagrant lxd incus colima k3d systemd-run "
                                      "flatpak-spawn";
static const char sockets_in_text[] =
    "docker.sock podman.sock containerd.sock crio.sock cri-dockerd.sock buildkitd.sock "
    "libvirt-sock "
    "DOCKER_HOST DOCKER_CONTEXT CONTAINER_HOST CONTAINERD_ADDRESS PODMAN_HOST";

/* Each with the options, and words in the place of one, that are its program or load it. */
static const struct interpreter {
    const char *names;
    const char *evals;
    const char *loaders;
    const char *harmless;     /* letters, in a #! line */
    bool argument_is_program; /* the first word is the program itself */
    enum program_comments comments;
} interpreters[] = {
    {"python pypy pythonw", "-c", "-m -i -x", "BEIObqsuvPS", false, COMMENTS_HASHES},
    {"node nodejs", "-e --eval -p -pe --print -i --interactive",
     "-r --require --import --loader --experimental-loader --env-file --inspect --inspect-brk "
     "--run --test --watch --snapshot-blob --openssl-config",
     "", false, COMMENTS_SLASHES},
    {"deno", "eval repl -e", "run x task install compile serve test bench add", "", false,
     COMMENTS_SLASHES},
    {"bun", "-e --eval -p --print repl exec", "-r --preload --require run x create install test",
     "", false, COMMENTS_SLASHES},
    {"perl", "-e -E", "-M -m -I -x -d -S -i -n -p", "wWtTs", false, COMMENTS_NONE},
    {"ruby jruby", "-e", "-r -I -x -C -S -n -p", "wW", false, COMMENTS_NONE},
    {"php", "-r -B -R -E -a --run", "-d -c -z -F -S -t", "", false, COMMENTS_SLASHES},
    {"lua luajit", "-e -i -", "-l", "W", false, COMMENTS_NONE},
    {"sh bash dash ash ksh mksh zsh rbash yash", "-c -s",
     "--rcfile --init-file -i -l --login -o -O", "efuvxC", false, COMMENTS_HASHES},
    {"fish", "-c --command -C --init-command", "-i -l", "N", false, COMMENTS_HASHES},
    {"java", "--source",
     "-jar -cp -classpath --class-path -javaagent -agentlib -agentpath -p --module-path -m "
     "--module "
     "--patch-module -Xbootclasspath",
     "", false, COMMENTS_SLASHES},
    {"awk gawk mawk nawk", "-e --source", "-f --file -i --include -l --load -E --exec", "f", true,
     COMMENTS_HASHES},
    {"sed", "-e --expression", "-f --file", "nEf", true, COMMENTS_HASHES},
    {"tclsh wish expect", "-c", "-f -b -encoding", "", false, COMMENTS_NONE},
    {"Rscript R", "-e", "-f --file --args", "", false, COMMENTS_HASHES},
    {"julia", "-e -E --eval --print", "-L --load -J --sysimage -i", "", false, COMMENTS_HASHES},
    {"guile", "-c", "-l -L -e -s -q", "s", false, COMMENTS_NONE},
    {"groovy", "-e", "-cp -classpath", "", false, COMMENTS_SLASHES},
    {"elixir escript erl", "-e --eval -eval", "-r -pa -pz -S -s -run", "", false, COMMENTS_NONE},
};

/* Programs that start what stands in a file which they find by themselves. */
static const struct {
    const char *programs;
    const char *files;
} readers[] = {
    {"npm npx pnpm pnpx yarn bun bunx corepack --run", "package.json"},
    {"make gmake bmake", "GNUmakefile makefile Makefile"},
    {"just", "justfile Justfile .justfile"},
    {"task go-task", "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml"},
    {"rake", "rakefile Rakefile rakefile.rb Rakefile.rb"},
    {"ninja samu", "build.ninja"},
    {"tox", "tox.ini setup.cfg pyproject.toml"},
    {"nox", "noxfile.py"},
    {"scons", "SConstruct"},
    {"invoke inv", "tasks.py"},
    {"fab", "fabfile.py"},
    {"poetry pdm hatch uv poe", "pyproject.toml"},
    {"composer", "composer.json"},
    {"deno", "deno.json deno.jsonc"},
    {"cargo", "build.rs .cargo/config.toml"},
    {"gradle gradlew", "build.gradle build.gradle.kts"},
    {"mvn mvnw", "pom.xml"},
    {"ant", "build.xml"},
    {"meson", "meson.build"},
    {"cmake ctest", "CMakeLists.txt"},
};

static bool is_in(const char *list, struct span word)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (word.n == n && memcmp(list, word.p, n) == 0) {
            return true;
        }
        list += n + (list[n] == ' ');
    }
    return false;
}

static struct span leaf_of(struct span path)
{
    const char *slash = path.n > 0 ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? span_of(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
}

static bool is_version(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/* k3s and run0 are what they are; what has a version behind it is what it is without. */
static struct span name_of(struct span path)
{
    struct span name = leaf_of(path);
    while (name.n > 1 && is_version(name.p[name.n - 1])) {
        name.n--;
    }
    return name;
}

static const struct interpreter *find_interpreter(struct span path)
{
    for (size_t i = 0; i < countof(interpreters); i++) {
        if (is_in(interpreters[i].names, leaf_of(path)) ||
            is_in(interpreters[i].names, name_of(path))) {
            return &interpreters[i];
        }
    }
    return NULL;
}

bool program_is_loader(struct span path)
{
    struct span name = leaf_of(path);
    return span_starts_with(name, "ld-linux") || span_starts_with(name, "ld-musl") ||
           (span_starts_with(name, "ld") && span_find(name, span_of_string(".so")));
}

enum program_class program_class(struct span path)
{
    for (size_t i = 0; i < countof(groups); i++) {
        if (is_in(groups[i].names, leaf_of(path)) || is_in(groups[i].names, name_of(path))) {
            return groups[i].class;
        }
    }
    if (program_is_loader(path)) {
        return PROGRAM_WRAPPER;
    }
    return find_interpreter(path) ? PROGRAM_INTERPRETER : PROGRAM_UNKNOWN;
}

enum entrypoint_rule program_rule(enum program_class class)
{
    static const enum entrypoint_rule rules[] = {
        [PROGRAM_UNKNOWN] = RULE_PROGRAM, [PROGRAM_INTERPRETER] = RULE_NONE,
        [PROGRAM_RUNNER] = RULE_RUNNER,   [PROGRAM_WRAPPER] = RULE_WRAPPER,
        [PROGRAM_CLIENT] = RULE_CLIENT,
    };
    return rules[class];
}

/* "-ne" is -n and -e, "--eval=1" is --eval, "-Mstrict" is -M. */
static bool has_option(const char *list, const char *argument)
{
    struct span whole = span_of(argument, strcspn(argument, "="));
    if (is_in(list, whole)) {
        return true;
    }
    if (argument[0] != '-' || argument[1] == '-') {
        return false;
    }
    for (size_t i = 1; argument[i]; i++) {
        const char option[] = {'-', argument[i]};
        if (is_in(list, span_of(option, sizeof option))) {
            return true;
        }
    }
    return false;
}

enum entrypoint_rule program_argument_rule(struct span path, const char *argument)
{
    const struct interpreter *interpreter = find_interpreter(path);
    if (!interpreter || !argument || argument[0] == '\0') {
        return RULE_SCRIPT;
    }
    if (has_option(interpreter->evals, argument)) {
        return RULE_EVAL;
    }
    if (has_option(interpreter->loaders, argument)) {
        return RULE_LOADER;
    }
    if (argument[0] == '-' || argument[0] == '+') {
        return RULE_OPTION;
    }
    return interpreter->argument_is_program ? RULE_EVAL : RULE_NONE;
}

bool program_option_is_harmless(struct span path, const char *argument)
{
    const struct interpreter *interpreter = find_interpreter(path);
    if (!interpreter || argument[0] == '\0') {
        return interpreter && !interpreter->argument_is_program;
    }
    size_t n = strlen(argument);
    bool plain =
        n > 1 && argument[0] == '-' && strspn(argument + 1, interpreter->harmless) == n - 1;
    /* What stands behind an `f` is the name of the program; only behind the last one it is the script's. */
    return plain &&
           (!interpreter->argument_is_program || strchr(argument, 'f') == argument + n - 1);
}

enum entrypoint_rule program_word_rule(struct span word)
{
    static const char suffix[] = ".exe";
    enum { N = sizeof suffix - 1 };
    struct span name = leaf_of(word);
    if (name.n > N && memcmp(name.p + name.n - N, suffix, N) == 0) {
        name.n -= N;
    }
    if (is_in(sockets_in_text, name)) {
        return RULE_SOCKET;
    }
    return is_in(clients_in_text, name) || is_in(clients_in_text, name_of(name)) ? RULE_CLIENT
                                                                                 : RULE_NONE;
}

enum program_comments program_comments(struct span path)
{
    const struct interpreter *interpreter = find_interpreter(path);
    return interpreter ? interpreter->comments : COMMENTS_NONE;
}

const char *program_reads(struct span word)
{
    for (size_t i = 0; i < countof(readers); i++) {
        if (is_in(readers[i].programs, leaf_of(word))) {
            return readers[i].files;
        }
    }
    return NULL;
}

void program_document(struct buf *out)
{
    buf_add_string(out, "| programs | known by their names |\n| --- | --- |\n");
    for (size_t i = 0; i < countof(groups); i++) {
        buf_add_format(out, "| %s | %s |\n", groups[i].title, groups[i].names);
    }
    buf_add_format(out, "| of these, looked for in scripts | %s |\n", clients_in_text);
    buf_add_format(out, "| sockets and addresses, looked for in scripts | %s |\n", sockets_in_text);
    buf_add_string(out,
                   "\n| programs in scripts | read, and so looked at with them |\n| --- | --- |\n");
    for (size_t i = 0; i < countof(readers); i++) {
        buf_add_format(out, "| %s | %s |\n", readers[i].programs, readers[i].files);
    }
    buf_add_string(out, "\n| interpreter | `eval` | `loader` | harmless in a `#!` line |\n"
                        "| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < countof(interpreters); i++) {
        const struct interpreter *one = &interpreters[i];
        buf_add_format(out, "| %s | %s%s | %s | %s%s |\n", one->names, one->evals,
                       one->argument_is_program ? ", and its first word" : "", one->loaders,
                       *one->harmless ? "-" : "", one->harmless);
    }
}
