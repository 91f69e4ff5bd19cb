/* The keys of berm.yaml. The schema for editors and docs/formats/project-v1.md come from these tables. */
#include "project.h"

/* A test compares them with the names of guarantee.h, which is further down in the flow. */
static const char *const require_words[] = {
    "managed", "filesystem", "writable-roots", "network",         "descendants", "memory", "pids",
    "swap",    "temp-bytes", "temp-inodes",    "control-sockets", "syscalls",    NULL};
static const char *const network_words[] = {"isolated", "required", NULL};
static const char *const strength_words[] = {"execution_check", "contract_check",
                                             "cross_treatment_equivalence", NULL};

static const struct form_field parameter_fields[] = {
    FORM_FIELD(struct project_parameter, values, FORM_TEXTS, .minimum = 1, .maximum = 256,
               .doc = "the values that may stand for it"),
};
static const struct form parameter_form =
    FORM(struct project_parameter, "parameter", parameter_fields, .bare = true,
         .doc = "A parameter of an argv: `{NAME}` in one of its words.");

static const struct form_field sealed_fields[] = {
    FORM_FIELD(struct project_sealed, flag, FORM_TEXT, .needed = true, .shape = SHAPE_FLAG,
               .doc = "the option that names it, which stands once in the command"),
    FORM_FIELD(struct project_sealed, executable, FORM_BOOL, .doc = "it must be executable"),
    FORM_FIELD(struct project_sealed, manifest, FORM_TEXT, .shape = SHAPE_PATH, .minimum = 1,
               .doc = "a file of the repository that says its bytes and digest; at most 1 MiB"),
    FORM_FIELD(struct project_sealed, max_mib, FORM_NUMBER, .minimum = 1, .maximum = 256,
               .otherwise = 64, .doc = "its size at most, in MiB; 64 when it is not given"),
    FORM_FIELD(struct project_sealed, of, FORM_TEXT, .shape = SHAPE_NAME, .minimum = 1,
               .doc = "this one is no file but the digest of that one: 64 digits 0-9a-f"),
};
static const struct form sealed_form =
    FORM(struct project_sealed, "sealed", sealed_fields,
         .doc = "An input that is fixed before the command starts: one file of the repository.");

static const struct form_field entrypoint_fields[] = {
    FORM_FIELD(struct project_entrypoint, argv, FORM_TEXTS, .needed = true, .minimum = 1,
               .maximum = 256,
               .doc = "the whole command; its first word is a file of the repository"),
    FORM_FIELD(struct project_entrypoint, parameters, FORM_NAMED, .part = &parameter_form,
               .maximum = 64, .doc = "what may stand in its words"),
    FORM_FIELD(struct project_entrypoint, network, FORM_WORD, .words = network_words,
               .doc = "`required` needs a reason"),
    FORM_FIELD(struct project_entrypoint, network_reason, FORM_TEXT, .minimum = 1, .maximum = 400,
               .doc = "why it needs the network"),
    FORM_FIELD(struct project_entrypoint, scratch, FORM_TEXT, .shape = SHAPE_PATH, .minimum = 1,
               .doc = "the one folder of the repository that it may write, at the small tier"),
    FORM_FIELD(struct project_entrypoint, scratch_reason, FORM_TEXT, .minimum = 1, .maximum = 400,
               .doc = "why it needs that folder"),
    FORM_FIELD(
        struct project_entrypoint, environment, FORM_TEXTS, .maximum = 64,
        .doc = "its variables, each as NAME=VALUE; beside a fixed PATH, LANG, HOME and TMPDIR it "
               "has no other"),
    FORM_FIELD(
        struct project_entrypoint, dependencies, FORM_TEXTS, .shape = SHAPE_PATH, .maximum = 16,
        .doc = "folders of the repository that it needs although git ignores them; all that is in "
               "them is frozen with the source"),
    FORM_FIELD(struct project_entrypoint, toolchain, FORM_TEXT, .shape = SHAPE_NAME, .minimum = 1,
               .maximum = 64,
               .doc =
                   "a runtime that was staged (berm toolchain stage): its bin comes first in PATH"),
    FORM_FIELD(struct project_entrypoint, sealed, FORM_NAMED, .part = &sealed_form, .maximum = 16,
               .doc = "inputs that follow the words of argv, each once, in any order"),
};
static const struct form entrypoint_form =
    FORM(struct project_entrypoint, "entrypoint", entrypoint_fields,
         .doc = "A command that tier runs may launch: declared, looked at, and no other.");

static const struct form_field daemon_fields[] = {
    FORM_FIELD(struct project_daemon, exec, FORM_TEXT, .needed = true, .shape = SHAPE_PATH,
               .minimum = 1, .doc = "its program, a file of the repository"),
    FORM_FIELD(struct project_daemon, socket, FORM_TEXT, .needed = true, .shape = SHAPE_PATH,
               .minimum = 1, .maximum = 100, .doc = "where it listens"),
    FORM_FIELD(struct project_daemon, lock, FORM_TEXT, .needed = true, .shape = SHAPE_PATH,
               .minimum = 1, .maximum = 100, .doc = "its lock file"),
};
static const struct form daemon_form =
    FORM(struct project_daemon, "daemon", daemon_fields,
         .doc = "A daemon that a command may start and leave behind until its run ends.");

static const struct form_field oracle_fields[] = {
    FORM_FIELD(struct project_oracle, argv, FORM_TEXTS, .needed = true, .minimum = 1,
               .maximum = 256, .doc = "the command that checks the result"),
    FORM_FIELD(struct project_oracle, strength, FORM_WORD, .needed = true, .words = strength_words,
               .doc = "what its yes means"),
};
static const struct form oracle_form = FORM(struct project_oracle, "oracle", oracle_fields,
                                            .doc = "What says that a result is right.");

static const struct form_field workload_fields[] = {
    FORM_FIELD(struct project_workload, argv, FORM_TEXTS, .needed = true, .minimum = 1,
               .maximum = 256,
               .doc = "the whole command: a file of the repository, or an interpreter and one"),
    FORM_FIELD(struct project_workload, parameters, FORM_NAMED, .part = &parameter_form,
               .maximum = 64, .doc = "what may stand in its words"),
    FORM_FIELD(struct project_workload, timeout_s, FORM_NUMBER, .minimum = 1, .maximum = 31622400,
               .doc = "wall time in seconds; without it there is no limit"),
    FORM_FIELD(struct project_workload, structured_output, FORM_BOOL,
               .doc =
                   "its standard output is a result, such as JSON: a report keeps the last 1 MiB "
                   "of it, and not 8 KiB"),
    FORM_FIELD(struct project_workload, oracle, FORM_PART, .part = &oracle_form,
               .doc = "the check of its result"),
};
static const struct form workload_form =
    FORM(struct project_workload, "workload", workload_fields,
         .doc = "Work with a name, so that runs of it can be compared.");

static const struct form_field project_fields[] = {
    FORM_FIELD(struct project, schema, FORM_NUMBER, .needed = true, .minimum = 1, .maximum = 1,
               .doc = "1: this format"),
    FORM_FIELD(
        struct project, require, FORM_TEXTS, .maximum = 16, .words = require_words,
        .doc = "guarantees that every run in this project must have, as `--require` asks for them"),
    FORM_FIELD(struct project, entrypoint, FORM_NAMED, .part = &entrypoint_form,
               .doc = "commands that tier runs may launch"),
    FORM_FIELD(struct project, daemon, FORM_NAMED, .part = &daemon_form, .maximum = 16,
               .doc = "daemons that commands may start"),
    FORM_FIELD(struct project, workload, FORM_NAMED, .part = &workload_form,
               .doc = "work that is known by name"),
};
const struct form project_form = FORM(
    struct project, "berm.yaml", project_fields,
    .doc = "What a project declares to berm. It can ask for more than the person who runs berm, "
           "and never for less.");
