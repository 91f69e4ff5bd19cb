/* exits.h
 *
 * Exit codes. How a run ended is answered by src/report/exit.c, and by src/run/exit-code.c in another
 * mode than the plain one; RUN_EXITS is what the help says of it, and EXIT_RUN_* what `berm run` answers
 * when there was no run. Every other command answers by its error (docs/adr/0007).
 */
#pragma once

#include "err.h"

/* X(code, meaning) */
#define RUN_EXITS(X)                                                                               \
    X("N", "what COMMAND itself answered, when it ended by itself")                                \
    X("120", "stopped at a limit other than time")                                                 \
    X("121", "refused: nothing was run")                                                           \
    X("124", "stopped at its time limit")                                                          \
    X("125", "berm itself failed, or the command line is wrong")                                   \
    X("126", "COMMAND was found and cannot be executed")                                           \
    X("127", "COMMAND was not found")                                                              \
    X("128+n", "ended by signal n")

#define VERB_EXITS(X)                                                                              \
    X("0", "done; the answer is yes")                                                              \
    X("1", "the answer is no: not found, not valid; or a system call failed")                      \
    X("2", "the command line is wrong")                                                            \
    X("3", "this host cannot do it")                                                               \
    X("5", "stored bytes are not what they must be, or over a budget")                             \
    X("7", "somebody else holds it")                                                               \
    X("8", "cancelled, or out of time")                                                            \
    X("9", "refused by policy")

enum {
    EXIT_OK = 0,
    EXIT_NEGATIVE = 1,
    EXIT_WRONG_USAGE = 2,
    EXIT_RUN_REFUSED = 121,
    EXIT_RUN_FAILED = 125,
};

int exit_of(enum err_code code); /* for every command but run */
