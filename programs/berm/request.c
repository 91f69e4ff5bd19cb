#include "request.h"

static void set_number(const struct options *options, enum option_id id, int64_t *number)
{
    if (options_given(options, id)) {
        *number = options->values[id].number;
    }
}

static void set_text(const struct options *options, enum option_id id, const char **text)
{
    if (options_given(options, id)) {
        *text = options->values[id].text;
    }
}

static void set_stdin(const struct options *options, struct run_request *request)
{
    const char *text = options->values[OPTION_STDIN].text;
    if (!text || strcmp(text, "null") == 0) {
        request->stdin_mode = RUN_STDIN_NULL;
    } else if (strcmp(text, "inherit") == 0) {
        request->stdin_mode = RUN_STDIN_INHERIT;
    } else {
        request->stdin_mode = RUN_STDIN_FILE;
        request->stdin_path = text;
    }
}

static int check_together(const struct options *options, struct err *err)
{
    const char *json = options->values[OPTION_JSON].text;
    const char *report = options->values[OPTION_REPORT].text;
    if (json && report && strcmp(json, report) == 0) {
        return err_set(err, ERR_USAGE, "--json=FILE and --report name the same file");
    }
    return 0;
}

int request_from_options(const struct options *options, struct run_request *request,
                         struct err *err)
{
    if (check_together(options, err) < 0) {
        return -1;
    }
    const char *require = options->values[OPTION_REQUIRE].text;
    if (require && guarantee_parse_set(require, &request->require, err) < 0) {
        return err_wrap(err, "--require");
    }
    set_number(options, OPTION_MEMORY, &request->memory_bytes);
    set_number(options, OPTION_MEMORY_HIGH, &request->memory_high_bytes);
    set_number(options, OPTION_TASKS, &request->tasks);
    set_number(options, OPTION_TIMEOUT, &request->timeout_ms);
    set_number(options, OPTION_OUTPUT_MAX, &request->output_bytes);
    set_number(options, OPTION_GRACE, &request->grace_ms);
    set_number(options, OPTION_SAMPLE, &request->sample_ms);
    set_number(options, OPTION_HIGH_SAMPLES, &request->high_samples);
    set_number(options, OPTION_TEMPORARY, &request->temporary_bytes);
    set_number(options, OPTION_TEMPORARY_FILES, &request->temporary_files);
    set_text(options, OPTION_CGROUP_PARENT, &request->cgroup_parent);
    request->sandbox = options_given(options, OPTION_SANDBOX);
    if (options_given(options, OPTION_WRITABLE)) {
        request->writable = strvec_argv(&options->values[OPTION_WRITABLE].texts);
    }
    if (options_given(options, OPTION_READABLE)) {
        request->readable = strvec_argv(&options->values[OPTION_READABLE].texts);
    }
    if (options_given(options, OPTION_DAEMON)) {
        request->daemons = strvec_argv(&options->values[OPTION_DAEMON].texts);
    }
    if (options_given(options, OPTION_NETWORK)) { /* the second word */
        request->host_network = options->values[OPTION_NETWORK].number == 1;
    }
    request->gpu = options_given(options, OPTION_GPU);
    set_text(options, OPTION_USER, &request->user);
    set_text(options, OPTION_CWD, &request->cwd);
    set_text(options, OPTION_REPORT, &request->report);
    set_text(options, OPTION_LABEL, &request->label);
    set_text(options, OPTION_WORKLOAD, &request->workload);
    if (options_given(options,
                      OPTION_TIER)) { /* the words stand in the enum's order, without none */
        request->tier = (enum context_tier)(options->values[OPTION_TIER].number + 1);
    }
    request->promote = options_given(options, OPTION_PROMOTE);
    if (options_given(options, OPTION_WAIT)) {
        const struct option_value *wait = &options->values[OPTION_WAIT];
        request->wait_ms = wait->text ? wait->number : -1;
    }
    set_stdin(options, request);
    if (options_given(options, OPTION_ENV)) {
        strvec_push_all(&request->overrides, options->values[OPTION_ENV].texts.strings);
    }
    request->env_all = options_given(options, OPTION_ENV_ALL);
    request->keep_output = options_given(options, OPTION_KEEP_OUTPUT);
    request->measure_io = options_given(options, OPTION_MEASURE_IO);
    if (options_given(options, OPTION_EXIT_MODE)) { /* the words stand in the enum's order */
        request->exit_mode = (enum run_exit_mode)options->values[OPTION_EXIT_MODE].number;
    }
    request->argv = options->command;
    return 0;
}

void request_done(struct run_request *request)
{
    strvec_done(&request->overrides);
}
