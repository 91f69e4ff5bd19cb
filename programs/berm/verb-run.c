#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"
#include "explain.h"
#include "file.h"
#include "json-file.h"
#include "live.h"
#include "memory.h"
#include "process.h"
#include "request.h"
#include "say.h"
#include "summary.h"
#include "text.h"
#include "verb.h"

static int explain(const struct options *options, const struct run_request *request,
                   struct verb_end *ret_end, struct err *err)
{
    with_json explained = run_explain(request, err);
    if (!explained) {
        return -1;
    }
    ret_end->exit_code =
        json_is_true(json_object_get(explained, "would_run")) ? EXIT_OK : EXIT_RUN_REFUSED;
    if (options_given(options, OPTION_JSON)) {
        return say_json(explained, err);
    }
    with_buf text = buf_new(EXPLAIN_BYTES);
    explain_render(explained, &text);
    return say_result(&text, err);
}

/* Something was piped in and goes nowhere: better said than wondered about. A choice that was made
 * by --stdin is not repeated. */
static void announce_stdin(const struct options *options)
{
    struct stat stat;
    if (options_given(options, OPTION_STDIN) || options_given(options, OPTION_QUIET) ||
        os_fstat(STDIN_FILENO, &stat) < 0) {
        return;
    }
    const char *what = S_ISFIFO(stat.st_mode)   ? "pipe"
                       : S_ISREG(stat.st_mode)  ? "file"
                       : S_ISSOCK(stat.st_mode) ? "socket"
                                                : NULL;
    if (what) {
        with_buf text = buf_new(200);
        buf_add_format(
            &text, "berm: stdin  is a %s and not passed on; --stdin inherit passes it on\n", what);
        say_words(&text);
    }
}

/* A command that talks to the person at the terminal has it for itself. */
static bool wants_live_line(const struct options *options, const struct run_request *request)
{
    const char *terminal = os_environment("TERM");
    bool talks = request->stdin_mode == RUN_STDIN_INHERIT && os_is_terminal(STDIN_FILENO);
    return !talks && !options_given(options, OPTION_QUIET) && terminal &&
           strcmp(terminal, "dumb") != 0 && os_is_terminal(STDERR_FILENO);
}

static int execute(const struct options *options, struct run_request *request,
                   struct run_result *ret_result, struct err *err)
{
    struct live live;
    bool with_live = wants_live_line(options, request);
    if (with_live) {
        bool passes[STREAM_COUNT];
        for (int i = 0; i < STREAM_COUNT; i++) {
            passes[i] = request->pass_fd[i] >= 0 && os_is_terminal(request->pass_fd[i]);
        }
        live_begin(&live, STDERR_FILENO, passes);
        request->observer = live_observer(&live);
    }
    int result = run_execute(request, ret_result, err);
    if (with_live) {
        live_end(&live);
    }
    return result;
}

static void summarise(const struct options *options, const struct run_result *result)
{
    if (options_given(options, OPTION_QUIET) && summary_is_success(result->record)) {
        return;
    }
    const struct summary_view view = {.place = result->record_path,
                                      .report = result->report_path,
                                      .home = os_environment("HOME"),
                                      .exit_code = result->exit_code,
                                      .colour = say_in_colour(STDERR_FILENO)};
    with_buf text = buf_new(SUMMARY_BYTES);
    summary_render(result->record, &view, &text);
    say_words(&text);
}

static void say_wait(const char *why)
{
    with_buf text = buf_new(1000);
    buf_add_string(&text, "berm: wait   for its turn: ");
    text_neutralise(&text, span_of_string(why));
    buf_add_char(&text, '\n');
    say_words(&text);
}

static void say_promoted(const struct run_request *request)
{
    with_buf text = buf_new(1000);
    buf_add_format(&text, "berm: tier   %s: workload %s is promoted; `berm promotions`\n",
                   option_tier_words[request->tier], request->workload);
    say_words(&text);
}

int verb_run(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    with_request request = run_request_plain();
    if (request_from_options(options, &request, err) < 0) {
        return -1;
    }
    if (options_given(options, OPTION_EXPLAIN)) {
        return explain(options, &request, ret_end, err);
    }
    const char *json_path = options->values[OPTION_JSON].text;
    bool json_to_stdout = options_given(options, OPTION_JSON) && !json_path;
    with_json_file json_file = {0};
    if (json_path && json_file_open(json_path, &json_file, err) < 0) {
        return err_wrap(err, "--json");
    }
    if (!json_to_stdout) {
        request.pass_fd[STREAM_STDOUT] = STDOUT_FILENO;
        request.pass_fd[STREAM_STDERR] = STDERR_FILENO;
    }
    announce_stdin(options);
    request.on_wait = options_given(options, OPTION_QUIET) ? NULL : say_wait;

    with_run_result result = {0};
    if (execute(options, &request, &result, err) < 0) {
        return -1;
    }
    ret_end->exit_code = result.exit_code;
    ret_end->die_of = result.die_of;
    summarise(options, &result);
    if (result.promoted && !options_given(options, OPTION_QUIET)) {
        say_promoted(&request);
    }
    if (json_path && json_file_write(&json_file, result.record, err) < 0) {
        return err_wrap(err, "--json=%s", json_path);
    }
    return json_to_stdout ? say_json(result.record, err) : 0;
}
