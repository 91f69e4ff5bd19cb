/* berm - run heavy or untrusted commands within limits, and report truthfully */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "exits.h"
#include "file.h"
#include "help.h"
#include "process.h"
#include "run.h"
#include "say.h"
#include "verb.h"

static verb_function *const functions[VERB_COUNT] = {
    [VERB_RUN] = verb_run,
    [VERB_SHOW] = verb_show,
    [VERB_ENVELOPE] = verb_envelope,
    [VERB_VALIDATE_REPORT] = verb_validate_report,
    [VERB_CONFIG] = verb_config,
    [VERB_CONTEXT] = verb_context,
    [VERB_DAEMON] = verb_daemon,
    [VERB_GC] = verb_gc,
    [VERB_TOOLCHAIN] = verb_toolchain,
    [VERB_RECOVER] = verb_recover,
    [VERB_HELP] = verb_help,
    [VERB_SELF_TEST] = verb_self_test,
    [VERB_PROMOTIONS] = verb_promotions,
    [VERB_FENCE] = verb_fence,
    [VERB_VERSION] = verb_version,
};

/* D12: a descriptor that is opened later must not become 0, 1 or 2 by accident, or a record would
 * be read as input or get the payload's output. The places are taken in the wrong direction, so
 * that whoever uses one is told as if it were still closed. */
static int take_standard_fds(struct err *err)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        struct stat stat;
        int result = os_fstat(fd, &stat);
        if (result != -EBADF) {
            continue;
        }
        result = os_openat(AT_FDCWD, "/dev/null", fd == 0 ? O_WRONLY : O_RDONLY, 0);
        if (result != fd) {
            return err_sys(err, result < 0 ? result : -EBADF, "open /dev/null as descriptor %d",
                           fd);
        }
    }
    return 0;
}

static int start(char *const *arguments, struct options *options, struct verb_end *end,
                 struct err *err)
{
    if (take_standard_fds(err) < 0 || options_parse(arguments, options, err) < 0) {
        return -1;
    }
    if (options->help) {
        with_buf text = buf_new(HELP_BYTES);
        help_verb(options->verb, &text);
        return say_result(&text, err);
    }
    return functions[options->verb->id](options, end, err);
}

/* `berm run` leaves the small numbers to its command, unless it was asked for outcomes. */
static int exit_of_failure(const struct options *options, enum err_code code)
{
    bool run = options->verb && options->verb->takes_command;
    bool outcome = options->values[OPTION_EXIT_MODE].number == EXIT_MODE_OUTCOME;
    return run && !outcome ? EXIT_RUN_FAILED : exit_of(code);
}

int main(int argc, char **argv)
{
    static char *const nothing[] = {NULL};
    with_options options = {0};
    struct verb_end end = {0};
    struct err err = {0};
    if (start(argc > 0 ? argv + 1 : nothing, &options, &end, &err) < 0) {
        say_error(&err);
        end.exit_code = exit_of_failure(&options, err.code);
        end.die_of = 0;
    }
    if (end.die_of > 0) {
        os_die_of(end.die_of);
    }
    return end.exit_code;
}
