/* The tables. What a person reads in help, completions and man pages stands here and nowhere else. */
#include "archive.h"
#include "guarantee.h"
#include "options.h"
#include "run.h"

/* The ranges are the request's own: a front end has no rule of its own (IF-1). */
enum limit_range {
#define X(limit, member, minimum, maximum, meaning)                                                \
    member##_MINIMUM = (minimum), member##_MAXIMUM = (maximum),
    RUN_LIMITS(X)
#undef X
};
#define WORDS(number)  #number
#define NUMBER(number) WORDS(number)
#define RANGE(member)  .minimum = member##_MINIMUM, .maximum = member##_MAXIMUM

static const char *const require_words[] = {
    "managed",
#define X(enumerator, name, promise) name,
    GUARANTEES(X)
#undef X
        NULL,
};
static const char *const network_words[] = {"isolated", "host", NULL};
const char *const option_tier_words[] = {"none", "small", "medium", "large", NULL};
static const char *const stdin_words[] = {"null", "inherit", NULL};
static const char *const exit_mode_words[] = {"plain", "outcome", "bisect", NULL};

#define JSON_FLAG(what)                                                                            \
    {                                                                                              \
        .id = OPTION_JSON, .kind = KIND_FLAG, .name = "--json", .group = "results", .help = (what) \
    }

static const struct option run_options[] = {
    {
        .id = OPTION_MEMORY,
        .kind = KIND_SIZE,
        .name = "--memory",
        .value = "2G",
        .group = "limits",
        .help = "memory of all its processes together",
        .more = "The default is what the host has available less a reserve of 2 GiB, and never "
                "more than a control group above berm allows.",
        RANGE(memory_bytes),
        .alias = "--memory-mib",
        .alias_scale = INT64_C(1) << 20,
    },
    {
        .id = OPTION_MEMORY_HIGH,
        .kind = KIND_SIZE,
        .name = "--memory-high",
        .value = "1G",
        .group = "limits",
        .help = "memory it may hold only for a moment; default: none",
        .more = "Above it the kernel takes cached files back and slows the command down. What "
                "stays above it without them for --high-samples looks in a row, each --sample-ms "
                "after the last, ends the run.",
        RANGE(memory_high_bytes),
        .alias = "--memory-high-mib",
        .alias_scale = INT64_C(1) << 20,
    },
    {
        .id = OPTION_TASKS,
        .kind = KIND_COUNT,
        .name = "--tasks",
        .value = "N",
        .group = "limits",
        .help = "tasks at one time; a thread is one",
        .more = "The default is 128 for each processor, at least 1024.",
        RANGE(tasks),
        .alias = "--pids",
        .alias_scale = 1,
    },
    {
        .id = OPTION_TIMEOUT,
        .kind = KIND_DURATION,
        .name = "--timeout",
        .value = "30s|none",
        .group = "limits",
        .help = "wall time, start included; default: none",
        .accepts_none = true,
        RANGE(timeout_ms),
        .alias = "--timeout-ms",
        .alias_scale = 1,
    },
    {
        .id = OPTION_OUTPUT_MAX,
        .kind = KIND_SIZE,
        .name = "--output-max",
        .value = "32M",
        .group = "limits",
        .help = "stdout and stderr together; default: counted only",
        RANGE(output_bytes),
        .alias = "--output-mib",
        .alias_scale = INT64_C(1) << 20,
    },
    {
        .id = OPTION_GRACE,
        .kind = KIND_COUNT,
        .name = "--grace-ms",
        .value = "N",
        .group = "limits",
        .help = "from SIGTERM to SIGKILL when it is stopped",
        RANGE(grace_ms),
    },
    {
        .id = OPTION_SAMPLE,
        .kind = KIND_COUNT,
        .name = "--sample-ms",
        .value = "N",
        .group = "limits",
        .help = "from one look at its processes to the next",
        RANGE(sample_ms),
    },
    {
        .id = OPTION_HIGH_SAMPLES,
        .kind = KIND_COUNT,
        .name = "--high-samples",
        .value = "N",
        .group = "limits",
        .help = "looks in a row above --memory-high; default: 4",
        RANGE(high_samples),
    },
    {
        .id = OPTION_TEMPORARY,
        .kind = KIND_SIZE,
        .name = "--temporary",
        .value = "512M",
        .group = "limits",
        .help = "with --sandbox: its private /tmp and /dev/shm",
        .more = "They are memory, and one file system. The default is a quarter of the memory that "
                "it may have, at most 1 GiB.",
        RANGE(temporary_bytes),
        .alias = "--temporary-mib",
        .alias_scale = INT64_C(1) << 20,
    },
    {
        .id = OPTION_TEMPORARY_FILES,
        .kind = KIND_COUNT,
        .name = "--temporary-files",
        .value = "N",
        .group = "limits",
        .help = "with --sandbox: files and folders in these",
        RANGE(temporary_files),
    },
    {
        .id = OPTION_REQUIRE,
        .kind = KIND_TEXT,
        .name = "--require",
        .value = "managed|NAME,...",
        .group = "contain",
        .help = "refuse to run unless these are enforced",
        .more = "NAME is a guarantee: filesystem, writable-roots, network, descendants, memory, "
                "pids, swap, temp-bytes, temp-inodes, control-sockets or syscalls; managed is all "
                "of them. What cannot be enforced is named, with what was probed and what would "
                "help; nothing is run then.",
        .words = require_words,
        .completion = COMPLETE_LIST,
    },
    {
        .id = OPTION_SANDBOX,
        .kind = KIND_FLAG,
        .name = "--sandbox",
        .group = "contain",
        .help = "the host read-only, homes hidden, no network",
        .more = "Through bubblewrap: the project (the nearest folder with .git or .berm, else the "
                "working folder) can be read, /tmp, /var/tmp and /dev/shm are private, .git and "
                ".berm stay closed, and no daemon is reached. SECURITY.md says the rest.",
    },
    {
        .id = OPTION_TIER,
        .kind = KIND_WORD,
        .name = "--tier",
        .value = "TIER",
        .group = "contain",
        .help = "small, medium or large: qualified work, or refused",
        .more =
            "COMMAND is an entrypoint that berm.yaml declares. Every guarantee is enforced, limits "
            "only go down, and what it is given beyond that stands in berm.yaml: --writable, "
            "--readable, --network, --gpu, --daemon, --env, --env-all and --stdin are refused. "
            "Needs --workload, the name that its evidence is kept under, and --report.",
        .words = option_tier_words + 1,
        .completion = COMPLETE_WORDS,
    },
    {
        .id = OPTION_CGROUP_PARENT,
        .kind = KIND_TEXT,
        .name = "--cgroup-parent",
        .value = "DIR",
        .group = "contain",
        .help = "make its scope in this cgroup",
        .more = "A folder of cgroup v2 that you may write and that hands on memory and pids, for "
                "containers and batch systems. The default: systemd's manager, else the nearest "
                "such folder above your own.",
        .completion = COMPLETE_FOLDER,
    },
    {
        .id = OPTION_WRITABLE,
        .kind = KIND_TEXT,
        .name = "--writable",
        .value = "DIR",
        .group = "contain",
        .help = "with --sandbox: it may write there; repeatable",
        .completion = COMPLETE_FOLDER,
        .repeatable = true,
    },
    {
        .id = OPTION_READABLE,
        .kind = KIND_TEXT,
        .name = "--readable",
        .value = "FILE|DIR",
        .group = "contain",
        .help = "with --sandbox: it may read it; repeatable",
        .more = "For what would be hidden: a tool chain in the home folder, input in /tmp.",
        .completion = COMPLETE_FILE,
        .repeatable = true,
    },
    {
        .id = OPTION_DAEMON,
        .kind = KIND_TEXT,
        .name = "--daemon",
        .value = "NAME[=EXEC,SOCKET,LOCK]",
        .group = "contain",
        .help = "with --sandbox: it may start this daemon; repeatable",
        .more =
            "A daemon that goes by the rules of berm daemon may still be there when the command "
            "ends: it is asked to end then, and has --grace-ms for it. Whoever else is left of "
            "a run that declares one is a failure (detached_descendant). EXEC is a program and "
            "no script; SOCKET and LOCK lie in one folder, in /tmp of the sandbox or beneath "
            "--writable, and are not there yet. NAME alone is one that berm.yaml declares.",
        .repeatable = true,
    },
    {
        .id = OPTION_NETWORK,
        .kind = KIND_WORD,
        .name = "--network",
        .value = "host|isolated",
        .group = "contain",
        .help = "with --sandbox: its network; default: isolated",
        .words = network_words,
    },
    {
        .id = OPTION_GPU,
        .kind = KIND_FLAG,
        .name = "--gpu",
        .group = "contain",
        .help = "with --sandbox: it sees graphics cards",
        .more = "Refused where there is none, so that nothing is measured on the processor by "
                "mistake; without it a run says that one was hidden.",
    },
    {
        .id = OPTION_USER,
        .kind = KIND_TEXT,
        .name = "--user",
        .value = "NAME",
        .group = "contain",
        .help = "with --sandbox, for root: who it runs as",
        .more = "A name, a number or UID:GID. The default is whoever called sudo; nothing in a "
                "sandbox runs as root.",
    },
    {
        .id = OPTION_STDIN,
        .kind = KIND_TEXT,
        .name = "--stdin",
        .value = "null|inherit|FILE",
        .group = "input",
        .help = "what it reads; default: null",
        .more = "A file that is called null or inherit is ./null or ./inherit.",
        .words = stdin_words,
        .completion = COMPLETE_FILE,
    },
    {
        .id = OPTION_CWD,
        .kind = KIND_TEXT,
        .name = "--cwd",
        .value = "DIR",
        .group = "input",
        .help = "where it runs",
        .completion = COMPLETE_FOLDER,
    },
    {
        .id = OPTION_ENV,
        .kind = KIND_TEXT,
        .name = "--env",
        .value = "NAME[=V]",
        .group = "input",
        .help = "pass a variable on, or set it; repeatable",
        .more = "Variables that load code into programs which did not ask for it (LD_PRELOAD, "
                "BASH_ENV, NODE_OPTIONS and their kin) are refused.",
        .completion = COMPLETE_VARIABLE,
        .repeatable = true,
    },
    {
        .id = OPTION_ENV_ALL,
        .kind = KIND_FLAG,
        .name = "--env-all",
        .group = "input",
        .help = "pass every variable on that is not refused",
        .more = "The default passes PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TERM, "
                "TMPDIR, XDG_*, CI and the common variables of compilers and tool chains.",
    },
    {
        .id = OPTION_REPORT,
        .kind = KIND_TEXT,
        .name = "--report",
        .value = "FILE",
        .group = "results",
        .help = "write the report there as well",
        .completion = COMPLETE_FILE,
    },
    {
        .id = OPTION_KEEP_OUTPUT,
        .kind = KIND_FLAG,
        .name = "--keep-output",
        .group = "results",
        .help = "keep both streams beside the record",
    },
    {
        .id = OPTION_MEASURE_IO,
        .kind = KIND_FLAG,
        .name = "--measure-io",
        .group = "results",
        .help = "count what it reads and writes on disk, where its scope can",
        .more = "The kernel counts it for a control group with the io controller, which systemd "
                "hands down to root; for another user it must be delegated. It makes the start "
                "slower. Where it cannot be had the run says so.",
    },
    {
        .id = OPTION_LABEL,
        .kind = KIND_TEXT,
        .name = "--label",
        .value = "TEXT",
        .group = "results",
        .help = "a word of your own in the record",
    },
    {
        .id = OPTION_PROMOTE,
        .kind = KIND_FLAG,
        .name = "--promote",
        .group = "results",
        .help = "with --tier: a success opens the next tier",
    },
    {
        .id = OPTION_WAIT,
        .kind = KIND_DURATION,
        .name = "--wait",
        .value = "30s",
        .group = "contain",
        .help = "with --tier: wait for its turn on this host",
        .more = "At a tier one run is on its way on a host at a time. Without a duration it waits "
                "for as long as it takes; Ctrl-C gives up.",
        .minimum = 1,
        .maximum = RUN_WAIT_MAX_MS,
        .optional_value = true,
    },
    {
        .id = OPTION_WORKLOAD,
        .kind = KIND_TEXT,
        .name = "--workload",
        .value = "NAME",
        .group = "results",
        .help = "it is this workload of berm.yaml, or refused",
        .more =
            "The command must be the argv that berm.yaml declares for NAME, with declared values "
            "of its parameters, and stand the audit that `berm config check` makes. The record "
            "carries the name, and a timeout that is declared holds unless another is given. With "
            "--tier NAME need not be declared: it is what the evidence is kept under.",
    },
    {
        .id = OPTION_JSON,
        .kind = KIND_TEXT,
        .name = "--json",
        .value = "FILE",
        .group = "results",
        .help = "the record on stdout, in place of the output, or in FILE",
        .more = "The record is one berm.run/v1 object. Without FILE the command's own output is "
                "not passed on; with FILE it is.",
        .completion = COMPLETE_FILE,
        .optional_value = true,
    },
    {
        .id = OPTION_QUIET,
        .kind = KIND_FLAG,
        .name = "--quiet",
        .group = "results",
        .help = "say nothing when it succeeds",
    },
    {
        .id = OPTION_EXPLAIN,
        .kind = KIND_FLAG,
        .name = "--explain",
        .group = "results",
        .help = "show limits, environment and where each came from; run nothing",
    },
    {
        .id = OPTION_EXIT_MODE,
        .kind = KIND_WORD,
        .name = "--exit-mode",
        .value = "MODE",
        .group = "results",
        .help = "plain (as below), outcome or bisect",
        .more = "outcome: 0 success, 4 the command failed or was stopped at a limit, 5 berm itself "
                "failed, 8 it ran out of time or was interrupted, 9 it was refused. bisect: the "
                "command's own exit code up to 119, and 125 for everything that is not its "
                "verdict, so that git bisect skips it.",
        .words = exit_mode_words,
        .completion = COMPLETE_WORDS,
    },
};

static const struct option show_options[] = {
    JSON_FLAG("the record itself"),
};

static const struct option envelope_options[] = {
    JSON_FLAG("one object"),
};

static const struct option self_test_options[] = {
    {
        .id = OPTION_USER,
        .kind = KIND_TEXT,
        .name = "--user",
        .value = "NAME",
        .group = "contain",
        .help = "for root: who the cases run as",
        .more = "A name, a number or UID:GID. The default is whoever called sudo; nothing in a "
                "sandbox runs as root.",
    },
    {
        .id = OPTION_CGROUP_PARENT,
        .kind = KIND_TEXT,
        .name = "--cgroup-parent",
        .value = "DIR",
        .group = "contain",
        .help = "make the scopes in this cgroup",
        .more = "A folder of cgroup v2 that you may write and that hands on memory and pids.",
        .completion = COMPLETE_FOLDER,
    },
    {
        .id = OPTION_REQUIRE_PRODUCTION,
        .kind = KIND_FLAG,
        .name = "--require-production",
        .group = "results",
        .help = "fail unless it qualifies for production tiers",
    },
    JSON_FLAG("one object, with every case"),
    {
        .id = OPTION_QUIET,
        .kind = KIND_FLAG,
        .name = "--quiet",
        .group = "results",
        .help = "no line for each case",
    },
};

static const struct option promotions_options[] = {
    JSON_FLAG("one object"),
};

static const struct option fence_options[] = {
    {
        .id = OPTION_REASON,
        .kind = KIND_TEXT,
        .name = "--reason",
        .value = "TEXT",
        .group = "what",
        .help = "for clear: what makes the work safe to be tried again",
        .more = "It is kept in the file with the fence, 400 bytes at most.",
    },
    JSON_FLAG("one object"),
};

static const struct option validate_report_options[] = {
    {
        .id = OPTION_FILE,
        .kind = KIND_TEXT,
        .name = "--file",
        .value = "FILE",
        .group = "input",
        .help = "the report, or the record of a run",
        .completion = COMPLETE_FILE,
        .needed = true,
    },
    JSON_FLAG("one object"),
};

static const struct option context_options[] = {
    {
        .id = OPTION_MINIMUM_TIER,
        .kind = KIND_WORD,
        .name = "--minimum-tier",
        .value = "TIER",
        .group = "what",
        .help = "small, medium or large: a lower one is not enough",
        .words = option_tier_words,
        .completion = COMPLETE_WORDS,
    },
    JSON_FLAG("one object"),
};

static const struct option config_options[] = {
    JSON_FLAG("one object"),
};

static const struct option toolchain_options[] = {
    {
        .id = OPTION_NAME,
        .kind = KIND_TEXT,
        .name = "--name",
        .value = "NAME",
        .group = "what",
        .help = "for stage: what it is called; default: the last part of DIR",
    },
    JSON_FLAG("one object"),
};

static const struct option daemon_options[] = {
    {
        .id = OPTION_RESERVATION,
        .kind = KIND_TEXT,
        .name = "--reservation",
        .value = "HEX",
        .group = "what",
        .help = "what reserve printed; for every other step",
    },
    {
        .id = OPTION_PID,
        .kind = KIND_COUNT,
        .name = "--pid",
        .value = "N",
        .group = "what",
        .help = "for bind: the process that is the daemon",
        .minimum = 1,
        .maximum = INT32_MAX,
    },
    JSON_FLAG("one object"),
};

static const struct option recover_options[] = {
    {
        .id = OPTION_RUNS,
        .kind = KIND_FLAG,
        .name = "--runs",
        .group = "what",
        .help = "runs whose berm and watchdog died",
        .more = "Each run with a watchdog has a manifest in the state folder. What a stale one "
                "names is ended and removed, if it still is exactly that; the report of the crash "
                "is written.",
        .needed = true,
    },
    JSON_FLAG("one object"),
};

static const struct option gc_options[] = {
    {
        .id = OPTION_STATE,
        .kind = KIND_FLAG,
        .name = "--state",
        .group = "what",
        .help = "records of runs in the state folder",
        .more = "The newest " NUMBER(
            ARCHIVE_KEEP_RUNS) " stay, as far as they take no more "
                               "than " NUMBER(ARCHIVE_KEEP_MIB) " MiB together. Reports "
                                                                "that were written with "
                                                                "--report "
                                                                "are not touched.",
        .needed = true,
    },
    {
        .id = OPTION_DRY_RUN,
        .kind = KIND_FLAG,
        .name = "--dry-run",
        .group = "what",
        .help = "only say what would be removed",
    },
    JSON_FLAG("one object"),
};

static const struct option help_options[] = {
    {
        .id = OPTION_ALL,
        .kind = KIND_FLAG,
        .name = "--all",
        .group = "what",
        .help = "every command with all its options",
        .alias = "-a",
    },
};

static const struct option version_options[] = {
    JSON_FLAG("one object, with what it was built from"),
};

#define OPTIONS(table) .options = (table), .option_count = countof(table)

const struct verb verbs[VERB_COUNT] = {
    [VERB_RUN] =
        {
            .id = VERB_RUN,
            .name = "run",
            .operands = "[options] [--] COMMAND [ARG...]",
            .summary = "run, measure, limit, clean up after a command",
            .about =
                "Runs COMMAND, passes its output through, measures it, stops it at its limits, "
                "ends every process that it started and writes a record of the run. Options end "
                "at the first word that is none, or at --.\n"
                "How far a limit or a promise holds depends on the host: the summary and the "
                "record say for each guarantee whether it is enforced, limited, observed or "
                "absent. Nothing is weakened silently.\n"
                "After SIGINT, SIGTERM or SIGHUP berm ends the command, writes the record and "
                "then dies of that signal itself, so that Ctrl-C ends a shell loop.",
            .takes_command = true,
            .completion = COMPLETE_COMMAND,
            OPTIONS(run_options),
        },
    [VERB_SHOW] =
        {
            .id = VERB_SHOW,
            .name = "show",
            .operands = "[ID|FILE|last]",
            .summary = "explain a run (default: last)",
            .about = "Prints the summary of a recorded run again, from its record alone. ID may "
                     "be a beginning of one, as long as it fits one run only. A word with a slash "
                     "or a point in it is a file.",
            .most_operands = 1,
            .completion = COMPLETE_RUN,
            OPTIONS(show_options),
        },
    [VERB_ENVELOPE] =
        {
            .id = VERB_ENVELOPE,
            .name = "envelope",
            .operands = "",
            .summary = "what this host can enforce",
            .about = "Shows memory, disk, control groups and the limits that follow from them. "
                     "Reads only: nothing is started and nothing is changed.",
            OPTIONS(envelope_options),
        },
    [VERB_SELF_TEST] =
        {
            .id = VERB_SELF_TEST,
            .name = "self-test",
            .operands = "",
            .summary = "prove that this host enforces what berm says",
            .about =
                "Eleven small programs misbehave within low limits, each in a run of its own: they "
                "take "
                "memory, processes, output and space, ignore signals, leave processes behind; berm "
                "itself is interrupted and killed. Each must end as it has to, with a valid report "
                "and nothing left. The attestation in the state folder says so, with what the "
                "host, "
                "berm and its tools were; it is void when any of them changes, after a reboot too, "
                "and from the beginning of the next self-test. berm envelope tells whether it "
                "holds.\n"
                "Exit status 0: passed; 1: not passed; 3: this host cannot enforce it, and nothing "
                "was run.",
            OPTIONS(self_test_options),
        },
    [VERB_PROMOTIONS] =
        {
            .id = VERB_PROMOTIONS,
            .name = "promotions",
            .operands = "",
            .summary = "which workloads succeeded at which tier",
            .about =
                "A run with --tier and --promote that succeeds, and leaves nothing behind, is a "
                "promotion of its workload: the next tier is open for that very work. A changed "
                "source, word, input or berm is other work, for which the smaller tiers are run "
                "again; a later promotion of the workload at a tier takes the place of the earlier "
                "one. berm promotions lists them, and changes nothing.",
            OPTIONS(promotions_options),
        },
    [VERB_FENCE] =
        {
            .id = VERB_FENCE,
            .name = "fence",
            .operands = "list | clear ID --reason TEXT",
            .summary = "work that no tier tries again, and why",
            .about =
                "Right before a run at a tier releases its command, a fence is put up for that "
                "very "
                "work, and goes when the command ended by itself, whatever its exit status was, "
                "and nothing is left. After a limit, an interruption or a death of berm it stays, "
                "and the same work is refused: other limits are no way around it. Change what made "
                "it unsafe, which makes it other work; or look into it, and clear the fence. ID is "
                "what berm fence list shows, or the beginning of it.",
            .most_operands = 2,
            OPTIONS(fence_options),
        },
    [VERB_VALIDATE_REPORT] =
        {
            .id = VERB_VALIDATE_REPORT,
            .name = "validate-report",
            .operands = "--file FILE",
            .summary = "check a report: its schema and its cross-field rules",
            .about = "Says whether a report is consistent in itself, not whether it is true. "
                     "Each fault is a line of its own.",
            OPTIONS(validate_report_options),
        },
    [VERB_CONTEXT] =
        {
            .id = VERB_CONTEXT,
            .name = "context",
            .operands = "[--minimum-tier TIER]",
            .summary = "am I inside a run, and within which limits?",
            .about =
                "For scripts that need much and want to be held: asks the run that holds this "
                "process, and compares the answer with the control group and the limits that the "
                "kernel shows. Variables, files and arguments are no proof and are not looked at.\n"
                "Exit status 0: inside, and of the tier that was asked for; 3: outside of every "
                "run; 9: it cannot be proved, or the tier is too low. What is proved and what is "
                "not stands in berm-context.h, for programs that link libberm-context.",
            OPTIONS(context_options),
        },
    [VERB_CONFIG] =
        {
            .id = VERB_CONFIG,
            .name = "config",
            .operands = "show | check [--] COMMAND [ARG...]",
            .summary = "what berm.yaml declares, and what is refused of it",
            .about =
                "berm config show reads the project's berm.yaml (in the nearest folder with .git "
                "or "
                ".berm, else in the working folder) and prints what it requires and declares; each "
                "entrypoint, workload and daemon is audited as at a launch, and what would be "
                "refused is told with the rule, the line and what to do instead. The answer is no "
                "when there is one.\n"
                "berm config check says whether COMMAND is an entrypoint that tier runs may "
                "launch. "
                "It starts nothing.\n"
                "What berm.yaml may say, and every rule, stands in docs/formats/project-v1.md; a "
                "schema for editors is installed as share/berm/schema/project-v1.schema.json.",
            .most_operands = 1024,
            OPTIONS(config_options),
        },
    [VERB_TOOLCHAIN] =
        {
            .id = VERB_TOOLCHAIN,
            .name = "toolchain",
            .operands = "stage DIR | list",
            .summary = "copy an interpreter for runs at a tier",
            .about =
                "A run at a tier has the interpreters of /usr/local/bin, /usr/bin and /bin. One "
                "that "
                "lies in a home folder, or in a tool cache that others may write (pyenv, nvm, "
                "asdf, a "
                "hosted CI), is staged: berm toolchain stage DIR copies all of DIR, links "
                "included, into "
                "the state folder, where nobody else may write, with the digests of both, and who "
                "could write the folders above. DIR is the folder that has the runtime's bin in "
                "it.\n"
                "An entrypoint of berm.yaml uses it with toolchain: NAME: its bin comes first in "
                "PATH, the command sees the copy by the path of DIR, and its digest is a part of "
                "the "
                "frozen identity. To remove one, remove its folder in the state folder.",
            .most_operands = 2,
            .completion = COMPLETE_FOLDER,
            OPTIONS(toolchain_options),
        },
    [VERB_DAEMON] =
        {
            .id = VERB_DAEMON,
            .name = "daemon",
            .operands = "reserve|bind|start|lock-ready|seal NAME",
            .summary = "in a run: start a daemon that it declares",
            .about =
                "A run with --daemon NAME=EXEC,SOCKET,LOCK lets its command leave that daemon "
                "behind, "
                "if it was started in these steps. berm looks for itself at each of them; nothing "
                "that is said is believed.\n"
                "The command: reserve prints a reservation, which the daemon has to be given. Then "
                "it "
                "starts the daemon, and bind tells berm its pid. The daemon: start waits until it "
                "is "
                "bound; then it writes its lock, one JSON object with \"pid\", its own, and "
                "\"safe_runner_reservation\"; lock-ready; then it listens at its socket; seal.\n"
                "Exit status 0: done; 3: outside of every run, or of one that declares it; 9: "
                "refused, or it cannot be proved who answers. Programs link libberm-context "
                "(berm-daemon.h).",
            .most_operands = 2,
            OPTIONS(daemon_options),
        },
    [VERB_RECOVER] =
        {
            .id = VERB_RECOVER,
            .name = "recover",
            .operands = "--runs",
            .summary = "heal what a crash or a reboot left of runs",
            .about =
                "When berm dies, its watchdog ends the run. When both die, or the machine, what is "
                "left stands in a manifest in the state folder: a control group with its "
                "processes, directories, a report that says that the run is on its way. berm "
                "recover --runs ends, removes and writes what the watchdog would have. A process "
                "or directory that is another one by now is left alone, and so is a run that "
                "lives, or that is of another machine or container. The answer is no when "
                "something could not be removed or looked at.",
            OPTIONS(recover_options),
        },
    [VERB_GC] =
        {
            .id = VERB_GC,
            .name = "gc",
            .operands = "--state [--dry-run]",
            .summary = "free space: drop the records of old runs",
            .about = "Every run keeps a record in the state folder. berm gc --state drops the "
                     "oldest beyond what is kept.",
            OPTIONS(gc_options),
        },
    [VERB_HELP] =
        {
            .id = VERB_HELP,
            .name = "help",
            .operands = "[COMMAND]",
            .summary = "help with a command; berm help -a shows all",
            .most_operands = 1,
            .completion = COMPLETE_VERB,
            OPTIONS(help_options),
        },
    [VERB_VERSION] =
        {
            .id = VERB_VERSION,
            .name = "version",
            .operands = "",
            .summary = "the version; also berm --version",
            OPTIONS(version_options),
        },
};
