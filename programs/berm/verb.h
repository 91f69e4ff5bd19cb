/* verb.h
 *
 * The verbs of berm, one file each. main.c has parsed the options; a verb does the work and says
 * its results.
 *
 * A verb answers 0 and its end (exit code, or the signal to die of when everything is said), or -1
 * and an error, which main.c prints, once, and maps to an exit code.
 */
#pragma once

#include "err.h"
#include "options.h"

struct verb_end {
    int exit_code;
    int die_of; /* a signal, 0: none */
};

typedef int verb_function(const struct options *options, struct verb_end *ret_end,
                          struct err *err) must_check;

verb_function verb_run;
verb_function verb_show;
verb_function verb_envelope;
verb_function verb_self_test;
verb_function verb_promotions;
verb_function verb_fence;
verb_function verb_validate_report;
verb_function verb_config;
verb_function verb_context;
verb_function verb_daemon;
verb_function verb_toolchain;
verb_function verb_recover;
verb_function verb_gc;
verb_function verb_help;
verb_function verb_version;
