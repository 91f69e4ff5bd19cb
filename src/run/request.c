#include "run-priv.h"

#include <string.h>

#include "memory.h"
#include "process.h"
#include "record.h"

struct run_request run_request_plain(void)
{
    return (struct run_request){
        .environment = os_environment_all(),
        .grace_ms = -1,
        .authority = AUTHORITY_PERSON,
        .pass_fd = {-1, -1},
        .cancel_fd = -1,
        .clock = &os_clock_real,
    };
}

static int check_argv(const struct run_request *request, struct err *err)
{
    if (!request->argv || !request->argv[0] || request->argv[0][0] == '\0') {
        return err_set(err, ERR_USAGE, "argv: no command was given");
    }
    return 0;
}

static int check_scope(const char *field, const char *scope, struct err *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
    size_t n = scope ? strlen(scope) : 1;
    if (scope && (n == 0 || n > 128 || strspn(scope, allowed) != n)) {
        return err_set(err, ERR_USAGE, "%s: 1 to 128 letters, digits and . _ : - are allowed",
                       field);
    }
    return 0;
}

static const struct {
    const char *name;
    size_t offset;
    int64_t minimum;
    int64_t maximum;
} limits[] = {
#define X(limit, member, minimum, maximum, meaning)                                                \
    {#member, offsetof(struct run_request, member), minimum, maximum},
    RUN_LIMITS(X)
#undef X
};

bool run_wants_sandbox(const struct run_request *request)
{
    return request->sandbox || request->require != 0; /* none is enforced without one */
}

/* What a request may widen: the first that is given and has a meaning in a sandbox alone, or is refused at a
 * tier, where it is no caller's to give; NULL: none. */
static const char *find_widened(const struct run_request *request, bool at_a_tier)
{
    const struct {
        const char *name;
        bool given;
        bool of_sandbox;
        bool not_at_a_tier;
    } fields[] = {
        {"writable", request->writable != NULL, true, true},
        {"readable", request->readable != NULL, true, true},
        {"network", request->host_network, true, true},
        {"daemons", request->daemons != NULL, true, true},
        {"gpu", request->gpu, true, true},
        {"user", request->user != NULL, true, false},
        {"temporary_bytes", request->temporary_bytes > 0, true, false},
        {"temporary_files", request->temporary_files > 0, true, false},
        {"environment", request->overrides.count > 0, false, true},
        {"environment_all", request->env_all, false, true},
        {"standard_input", request->stdin_mode != RUN_STDIN_NULL, false, true},
    };
    for (size_t i = 0; i < countof(fields); i++) {
        if (fields[i].given && (at_a_tier ? fields[i].not_at_a_tier : fields[i].of_sandbox)) {
            return fields[i].name;
        }
    }
    return NULL;
}

const char *run_needs_sandbox(const struct run_request *request)
{
    return run_wants_sandbox(request) ? NULL : find_widened(request, false);
}

/* What counts looks above a mark that there is not is refused and not forgotten. Declared work always has one. */
static int check_high(const struct run_request *request, struct err *err)
{
    bool has_mark = request->memory_high_bytes > 0 || request->authority == AUTHORITY_DECLARED;
    return request->high_samples > 0 && !has_mark
               ? err_set(err, ERR_USAGE,
                         "high_samples: has a meaning only with memory_high_bytes (--memory-high)")
               : 0;
}

static int check_tier_fields(const struct run_request *request, struct err *err)
{
    const char *name = find_widened(request, true);
    return name ? err_set(err, ERR_USAGE,
                          "%s: not at a tier; what its work is given stands in berm.yaml", name)
                : 0;
}

static int check_wait(const struct run_request *request, struct err *err)
{
    if (request->wait_ms < -1 || request->wait_ms > RUN_WAIT_MAX_MS) {
        return err_set(err, ERR_RANGE, "wait_ms: -1 to %lld", (long long)RUN_WAIT_MAX_MS);
    }
    return request->wait_ms != 0 && request->tier == CONTEXT_TIER_NONE
               ? err_set(err, ERR_USAGE, "wait: only what is run at a tier (--tier) has to wait")
               : 0;
}

static int check_tier(const struct run_request *request, struct err *err)
{
    if (request->tier < CONTEXT_TIER_NONE || request->tier >= CONTEXT_TIER_COUNT) {
        return err_set(err, ERR_RANGE, "tier: small, medium or large");
    }
    if (request->tier == CONTEXT_TIER_NONE) {
        return request->promote ? err_set(err, ERR_USAGE,
                                          "promote: only what is run at a tier "
                                          "(--tier) can be promoted")
                                : 0;
    }
    if (!request->workload) {
        return err_set(err, ERR_USAGE,
                       "tier: needs a workload (--workload), the name that its evidence is kept "
                       "under");
    }
    if (!request->report) {
        return err_set(err, ERR_USAGE, "tier: needs a report (--report)");
    }
    return check_tier_fields(request, err);
}

int run_request_check(const struct run_request *request, struct err *err)
{
    if (check_argv(request, err) < 0 || check_scope("scope", request->scope, err) < 0 ||
        check_scope("workload", request->workload, err) < 0 || check_tier(request, err) < 0 ||
        check_wait(request, err) < 0 || check_high(request, err) < 0 ||
        run_daemons_check(request->daemons, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < countof(limits); i++) {
        int64_t value;
        memcpy(&value, (const char *)request + limits[i].offset, sizeof value);
        bool default_value = value == 0 || value == -1;
        if (!default_value && (value < limits[i].minimum || value > limits[i].maximum)) {
            return err_set(err, ERR_RANGE, "%s: %lld is outside %lld to %lld", limits[i].name,
                           (long long)value, (long long)limits[i].minimum,
                           (long long)limits[i].maximum);
        }
    }
    if (request->label && strlen(request->label) > 200) {
        return err_set(err, ERR_RANGE, "label: at most 200 bytes");
    }
    if (request->stdin_mode == RUN_STDIN_FILE && !request->stdin_path) {
        return err_set(err, ERR_USAGE, "stdin: no file was given");
    }
    return 0;
}

/* A request as an agent or a library sends it: berm.request/v1 (EX-5). */
struct run_request_holder {
    struct strvec argv;
    char *cwd;
    struct strvec roots;
    struct strvec environment;
    bool environment_all;
#define X(limit, member, minimum, maximum, meaning) struct maybe_int member;
    RUN_LIMITS(X)
#undef X
    char *standard_input;
    char *report;
    char *label;
    char *scope;
    char *workload;
    int tier; /* of tier_words; -1: none */
    bool promote;
    int64_t wait_ms;
    bool keep_output;
    bool measure_io;
    struct strvec require;
    char *cgroup_parent;
    bool sandbox;
    struct strvec writable;
    struct strvec readable;
    struct strvec daemons;
    bool host_network;
    bool gpu;
    char *user;
};

static const char *const tier_words[] = {"small", "medium", "large", NULL};

#define OPTIONAL .optional = true
static const struct record_field request_fields[] = {
    FIELD_FIXED("schema", "berm.request/v1", .doc = "this format"),
    FIELD(struct run_request_holder, argv, FIELD_STRINGS, SENSITIVITY_ARGV, .minimum = 1,
          .maximum = 65536, .doc = "the command; never a shell string"),
    FIELD(struct run_request_holder, cwd, FIELD_MAYBE_STRING, SENSITIVITY_PATH, OPTIONAL,
          .maximum = 4095, .doc = "working folder"),
    FIELD(struct run_request_holder, roots, FIELD_STRINGS, SENSITIVITY_PATH, OPTIONAL,
          .maximum = 64, .doc = "folders that cwd must lie in"),
    FIELD(struct run_request_holder, environment, FIELD_STRINGS, SENSITIVITY_TEXT, OPTIONAL,
          .maximum = 1024, .doc = "NAME (the caller's) or NAME=VALUE"),
    FIELD(struct run_request_holder, environment_all, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "pass everything that is not refused"),
#define X(limit_, member_, minimum_, maximum_, meaning_)                                           \
    FIELD(struct run_request_holder, member_, FIELD_MAYBE_INT, SENSITIVITY_PUBLIC, OPTIONAL,       \
          .minimum = minimum_, .maximum = maximum_, .doc = meaning_),
    RUN_LIMITS(X)
#undef X
        FIELD(struct run_request_holder, standard_input, FIELD_MAYBE_STRING, SENSITIVITY_PATH,
              OPTIONAL, .maximum = 4095, .doc = "a file; none: /dev/null"),
    FIELD(struct run_request_holder, report, FIELD_MAYBE_STRING, SENSITIVITY_PATH, OPTIONAL,
          .maximum = 4095, .doc = "where the report goes besides the state folder"),
    FIELD(struct run_request_holder, label, FIELD_MAYBE_STRING, SENSITIVITY_TEXT, OPTIONAL,
          .maximum = 200, .doc = "text for the record"),
    FIELD(struct run_request_holder, scope, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, OPTIONAL,
          .minimum = 1, .maximum = 128, .doc = "what the run belongs to, for the record"),
    FIELD(struct run_request_holder, workload, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, OPTIONAL,
          .minimum = 1, .maximum = 64,
          .doc = "the declared work of the project that argv is; at a tier the name of its "
                 "evidence"),
    FIELD(struct run_request_holder, tier, FIELD_MAYBE_ENUM, SENSITIVITY_PUBLIC, OPTIONAL,
          .names = tier_words, .doc = "run a declared entrypoint at this tier"),
    FIELD(struct run_request_holder, promote, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "its success opens the next tier"),
    FIELD(struct run_request_holder, wait_ms, FIELD_INT, SENSITIVITY_PUBLIC, OPTIONAL,
          .minimum = -1, .maximum = RUN_WAIT_MAX_MS,
          .doc = "how long it waits for its turn at a tier; -1: for as long as it takes"),
    FIELD(struct run_request_holder, keep_output, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "keep the output beside the record"),
    FIELD(struct run_request_holder, measure_io, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "count what is read and written, where its cgroup can"),
    FIELD(struct run_request_holder, require, FIELD_STRINGS, SENSITIVITY_PUBLIC, OPTIONAL,
          .maximum = 16, .doc = "guarantees that must be enforced"),
    FIELD(struct run_request_holder, sandbox, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "run it in a sandbox"),
    FIELD(struct run_request_holder, writable, FIELD_STRINGS, SENSITIVITY_PATH, OPTIONAL,
          .maximum = 32, .doc = "folders that it may write in its sandbox"),
    FIELD(struct run_request_holder, readable, FIELD_STRINGS, SENSITIVITY_PATH, OPTIONAL,
          .maximum = 32, .doc = "files and folders that it may read where they would be hidden"),
    FIELD(struct run_request_holder, daemons, FIELD_STRINGS, SENSITIVITY_PATH, OPTIONAL,
          .maximum = DAEMON_COUNT,
          .doc = "NAME=EXEC,SOCKET,LOCK, or a NAME that berm.yaml declares: daemons that it may "
                 "leave running at its end"),
    FIELD(struct run_request_holder, host_network, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "the sandbox has the host's network; else none"),
    FIELD(struct run_request_holder, gpu, FIELD_BOOL, SENSITIVITY_PUBLIC, OPTIONAL,
          .doc = "the sandbox shows the devices of graphics cards"),
    FIELD(struct run_request_holder, cgroup_parent, FIELD_MAYBE_STRING, SENSITIVITY_PATH, OPTIONAL,
          .minimum = 1, .maximum = 4095, .doc = "the cgroup that its scope is made in"),
    FIELD(struct run_request_holder, user, FIELD_MAYBE_STRING, SENSITIVITY_TEXT, OPTIONAL,
          .minimum = 1, .maximum = 64, .doc = "the user that it runs as, when berm is run by root"),
};
static const struct record request_record =
    RECORD(struct run_request_holder, "berm.request/v1", request_fields,
           .doc = "What a run is asked to be.");

static int64_t given_or(struct maybe_int value, int64_t fallback)
{
    return value.known ? value.value : fallback;
}

static int decode_require(const struct strvec *names, uint32_t *ret_set, struct err *err)
{
    for (size_t i = 0; i < names->count; i++) {
        uint32_t set = 0;
        if (guarantee_parse_set(names->strings[i], &set, err) < 0) {
            return err_wrap(err, "require");
        }
        *ret_set |= set;
    }
    return 0;
}

int run_request_decode(const json_t *json, enum run_authority authority,
                       struct run_request *ret_request, struct run_request_holder **ret_holder,
                       struct err *err)
{
    struct run_request_holder *holder = memory_new(sizeof *holder);
    if (record_decode(&request_record, json, holder, err) < 0) {
        memory_free(holder);
        return -1;
    }
    struct run_request request = run_request_plain();
    request.authority = authority;
    request.argv = strvec_argv(&holder->argv);
    request.cwd = holder->cwd;
    request.roots = holder->roots.count ? strvec_argv(&holder->roots) : NULL;
    request.overrides = holder->environment;
    request.env_all = holder->environment_all;
#define X(limit, member, minimum, maximum, meaning)                                                \
    request.member = given_or(holder->member, request.member);
    RUN_LIMITS(X)
#undef X
    request.stdin_mode = holder->standard_input ? RUN_STDIN_FILE : RUN_STDIN_NULL;
    request.stdin_path = holder->standard_input;
    request.report = holder->report;
    request.label = holder->label;
    request.scope = holder->scope;
    request.workload = holder->workload;
    request.tier = (enum context_tier)(holder->tier + 1); /* the words stand in its order */
    request.promote = holder->promote;
    request.wait_ms = holder->wait_ms;
    request.keep_output = holder->keep_output;
    request.measure_io = holder->measure_io;
    request.cgroup_parent = holder->cgroup_parent;
    request.sandbox = holder->sandbox;
    request.writable = holder->writable.count ? strvec_argv(&holder->writable) : NULL;
    request.readable = holder->readable.count ? strvec_argv(&holder->readable) : NULL;
    request.daemons = holder->daemons.count ? strvec_argv(&holder->daemons) : NULL;
    request.host_network = holder->host_network;
    request.gpu = holder->gpu;
    request.user = holder->user;
    if (decode_require(&holder->require, &request.require, err) < 0 ||
        run_request_check(&request, err) < 0) {
        run_request_release(holder);
        return -1;
    }
    *ret_request = request;
    *ret_holder = holder;
    return 0;
}

void run_request_release(struct run_request_holder *holder)
{
    if (!holder) {
        return;
    }
    record_done(&request_record, holder);
    memory_free(holder);
}
