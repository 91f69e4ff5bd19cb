/* sweep-supervise ATTACK [SCENARIO ROLE NUMBER [from]] - fail each kernel call of a broker's run; shows TAP
 *
 * Every scenario runs once for each call that it makes, in a process of its own: that call fails with
 * EIO, or it and every later one. Whatever fails, and whenever: the run ends in time and without a
 * crash; it says -1 or leaves an ending; no process of the payload and no descriptor is left. When
 * every later call fails as well nobody can be signalled any more: then the first process must not
 * outlive the broker (PR_SET_PDEATHSIG).
 */
#include "../unit/supervise/supervise-test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

enum { DEADLINE_S = 30, CALLS_MAX = 2000, CALM_RUNS = 8 };

static const char *attack;
static const char *errno_name = "EIO";

/* -- scenarios --------------------------------------------------------------------------------- */

struct scene {
    struct trial trial;
    int keep;
    int onward[2];
};

/* A reader that takes little at a time. */
static void *read_slowly(void *context)
{
    const struct scene *scene = context;
    char bytes[512];
    while (read(scene->onward[0], bytes, sizeof bytes) > 0) {
    }
    return NULL;
}

static void set_exit(struct scene *scene)
{
    scene->trial = trial_of("/bin/sh", "-c", "echo out; echo err >&2; exit 3");
    scene->keep = memfd_create("keep", MFD_CLOEXEC);
    scene->trial.request.keep_fd[STREAM_STDOUT] = scene->keep;
    scene->trial.request.keep_bytes = 100;
    scene->trial.request.pass_fd[STREAM_STDERR] = scene->keep;
}

static void set_tree(struct scene *scene)
{
    scene->trial = trial_of("/bin/sh", "-c", "sleep 100 & sleep 100 & wait");
    scene->trial.request.limits.timeout_ns = 40 * NS_PER_MS;
}

static void set_stubborn(struct scene *scene)
{
    scene->trial = trial_of(attack, "stubborn-daemon");
    scene->trial.request.limits.grace_ns = 20 * NS_PER_MS;
}

/* A reader onward that is slower than the payload, and a limit behind it. */
static void set_flood(struct scene *scene)
{
    scene->trial = trial_of(attack, "flood");
    pthread_t reader;
    if (pipe2(scene->onward, O_CLOEXEC) < 0 || fcntl(scene->onward[1], F_SETPIPE_SZ, 4096) < 0 ||
        pthread_create(&reader, NULL, read_slowly, scene) != 0) {
        _exit(90);
    }
    scene->trial.request.pass_fd[STREAM_STDOUT] = scene->onward[1];
    scene->trial.request.pass_fd[STREAM_STDERR] = scene->onward[1];
    scene->trial.request.limits.output_bytes = 40000;
}

/* Somebody asks about the run, who is no member: every call of the broker's own may fail as well. */
static void set_asked(struct scene *scene)
{
    static char leaf[64];
    static char address[CONTEXT_ADDRESS_SIZE];
    static struct context_facts facts;
    (void)snprintf(leaf, sizeof leaf, "/berm-sweep%d.scope/payload", getpid());
    if (!context_address(leaf, address)) {
        _exit(90);
    }
    facts = (struct context_facts){.leaf = leaf, .run = "sweep"};
    scene->trial = trial_of(attack, "ask-context", address + 1);
    scene->trial.request.context = &facts;
}

static const struct scenario {
    const char *name;
    void (*set)(struct scene *scene);
} scenarios[] = {
    {"exit", set_exit},   {"tree", set_tree},   {"stubborn", set_stubborn},
    {"flood", set_flood}, {"asked", set_asked},
};

/* -- one run ----------------------------------------------------------------------------------- */

enum { RUN_FINE, RUN_ENDED, RUN_LOST_CHILD, RUN_LOST_FILE, RUN_NO_PROOF, RUN_STRANGE };
static const char *const verdicts[] = {
    "fine",
    "ended",
    "a process is left",
    "a descriptor is left",
    "no proof, and nobody named",
    "neither -1 nor an ending",
};

static int count_files_quietly(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

/* The file of the helper stays open, and the trial could not make it: asked for again, it costs no descriptor. */
static bool run_made_image(const struct trial *trial)
{
    int files = count_files_quietly();
    return !trial->image_there && helper_image_file() >= 0 && count_files_quietly() == files;
}

/* In a process of its own, with the fault set. */
static int run_scene(const struct scenario *scenario, bool persistent, bool close_failed)
{
    struct scene scene = {.keep = -1, .onward = {-1, -1}};
    scenario->set(&scene);
    struct trial *trial = &scene.trial;
    trial->request.binding = &trial->binding;
    trial->request.interrupts = &trial->interrupts;
    int before = count_files_quietly();
    alarm(DEADLINE_S);
    int result = interrupts_begin(&trial->interrupts, &trial->err);
    if (result == 0) {
        result = supervise_run(&trial->request, &trial->ending, &trial->err);
        interrupts_end(&trial->interrupts);
    }
    if (persistent) {
        return result == 0 && trial->ending->how != ENDED_FAILED ? RUN_FINE : RUN_ENDED;
    }
    if (waitpid(-1, NULL, WNOHANG) >= 0) {
        return RUN_LOST_CHILD;
    }
    if (count_files_quietly() > before + close_failed + run_made_image(trial)) {
        return RUN_LOST_FILE;
    }
    if (result < 0) {
        return trial->ending || trial->err.code == ERR_NONE ? RUN_STRANGE : RUN_ENDED;
    }
    if (!trial->ending->tree_empty) {
        return RUN_NO_PROOF;
    }
    bool failed = trial->ending->how == ENDED_FAILED;
    if (failed && trial->ending->failure.code == ERR_NONE) {
        return RUN_STRANGE;
    }
    return failed ? RUN_ENDED : RUN_FINE;
}

/* -- the sweep --------------------------------------------------------------------------------- */

static int log_fd;
static char *log_text;
enum { LOG_BYTES = 1 << 20 };

/* The name of the Nth call of the role in the log of the last run; NULL: it made fewer. */
static bool find_call(const char *role, int number, char name[32])
{
    char wanted[64];
    ssize_t length = pread(log_fd, log_text, LOG_BYTES - 1, 0);
    log_text[length < 0 ? 0 : length] = '\0';
    int width = snprintf(wanted, sizeof wanted, "%s %d ", role, number);
    for (const char *line = log_text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, wanted, (size_t)width) == 0) {
            (void)sscanf(line + width, "%31s", name);
            return true;
        }
    }
    return false;
}

/* What a process that is gone left behind comes to us; end it and say how many. */
static int reap_rest(void)
{
    int rest = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        int child;
        FILE *file = fopen(path, "re");
        while (file && fscanf(file, "%d", &child) == 1) {
            rest += kill(child, SIGKILL) == 0;
        }
        if (file) {
            fclose(file);
        }
        sched_yield();
    }
    return rest;
}

static int run_with_fault(const struct scenario *scenario, const char *role, int number,
                          bool persistent, bool close_failed)
{
    char spec[64];
    char log[16];
    snprintf(spec, sizeof spec, "%s:%d:%s%s", role, number, errno_name, persistent ? ":from" : "");
    snprintf(log, sizeof log, "%d", log_fd);
    if (ftruncate(log_fd, 0) < 0 || lseek(log_fd, 0, SEEK_SET) < 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        setenv("BERM_FAULT", spec, 1);
        setenv("BERM_FAULT_LOG", log, 1);
        _exit(run_scene(scenario, persistent, close_failed));
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The number of runs that were bad. */
static int sweep(const struct scenario *scenario, const char *role, bool persistent, int *ret_calls)
{
    int bad = 0;
    int calm = 0;
    bool controller = strcmp(role, "controller") == 0;
    for (int number = 1; number < CALLS_MAX; number++) {
        char name[32] = "?";
        int verdict = run_with_fault(scenario, role, number, persistent, false);
        bool hit = find_call(role, number, name);
        if (verdict == RUN_LOST_FILE && strcmp(name, "close") == 0) {
            verdict = RUN_FINE; /* what the table refused to close is open */
        }
        /* The first process of a broker that could do nothing ends with it; what that left behind
         * is beyond anybody's reach but ours. */
        int rest = reap_rest();
        if (verdict > RUN_ENDED || (rest > 0 && !persistent)) {
            bad++;
            printf("# %s, call %d of the %s (%s)%s: %s (%d), %d left\n", scenario->name, number,
                   role, name, persistent ? " and all later" : "",
                   verdict >= 0 && verdict < (int)countof(verdicts) ? verdicts[verdict] : "died",
                   verdict, rest);
        }
        /* The log of a gate ends where it closes what is not its own: count undisturbed runs. */
        calm = verdict == RUN_FINE && !hit ? calm + 1 : 0;
        if (controller ? !hit : calm == CALM_RUNS) {
            *ret_calls += controller ? number - 1 : number - CALM_RUNS;
            break;
        }
    }
    return bad;
}

int main(int count, char **arguments)
{
    attack = count > 1 ? arguments[1] : "attack";
    log_fd = memfd_create("log", 0);
    log_text = malloc(LOG_BYTES);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (count > 4) { /* one run, to look at closely */
        for (size_t i = 0; i < countof(scenarios); i++) {
            if (strcmp(scenarios[i].name, arguments[2]) == 0) {
                int number = (int)strtol(arguments[4], NULL, 10);
                return run_with_fault(&scenarios[i], arguments[3], number, count > 5, false);
            }
        }
        return 2;
    }
    static const char *const roles[] = {"controller", "gate"};
    static const char *const errnos[] = {"EIO", "EINTR", "EAGAIN", "ENOMEM", "EMFILE", "ENOSYS"};
    size_t errno_count = getenv("BERM_TEST_LONG") ? countof(errnos) : 1;
    int test = 0;
    int calls = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%zu\n", errno_count * countof(scenarios) * countof(roles) * 2);
    for (size_t i = 0; i < errno_count * countof(scenarios); i++) {
        const struct scenario *scenario = &scenarios[i % countof(scenarios)];
        errno_name = errnos[i / countof(scenarios)];
        for (size_t role = 0; role < countof(roles); role++) {
            for (int persistent = 0; persistent < 2; persistent++) {
                int before = calls;
                /* A kernel that interrupts every call for ever is no kernel; os/ tries again. */
                bool absurd = persistent && strcmp(errno_name, "EINTR") == 0;
                int bad = absurd ? 0 : sweep(scenario, roles[role], persistent, &calls);
                printf("%s %d - %s: each of %d calls of the %s fails with %s%s\n",
                       bad ? "not ok" : "ok", ++test, scenario->name, calls - before, roles[role],
                       errno_name, persistent ? ", and all later" : "");
            }
        }
    }
    printf("# %d runs, each with another call that failed\n", calls);
    return 0;
}
