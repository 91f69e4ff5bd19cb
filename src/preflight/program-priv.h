/* program-priv.h
 *
 * Programs by their names: what starting one means for who wants to know what really runs.
 *
 * Names are compared without their folder and without a version at the end (python3.11 is python).
 * Limitations  a program under another name is PROGRAM_UNKNOWN, which is refused where it matters.
 */
#pragma once

#include <stdbool.h>

#include "entrypoint.h"

enum program_class {
    PROGRAM_UNKNOWN,
    PROGRAM_INTERPRETER,
    PROGRAM_RUNNER,
    PROGRAM_WRAPPER,
    PROGRAM_CLIENT,
};
enum program_class program_class(struct span path);
/* The rule that refuses a program of that class as a command; RULE_NONE for an interpreter. */
enum entrypoint_rule program_rule(enum program_class class);

/* What an interpreter makes of the first argument behind it: RULE_NONE when it is no option, and not its
 * program either. */
enum entrypoint_rule program_argument_rule(struct span interpreter, const char *argument);
/* An argument of a `#!` line that changes how a script is run, and not what; "" is none. */
bool program_option_is_harmless(struct span interpreter, const char *argument);

/* What begins a line of its language that is a comment alone. None: nothing does, or what does is also what may end a
 * quote (q# of Perl, %q# of Ruby) or stand in a list (Tcl). */
enum program_comments { COMMENTS_NONE, COMMENTS_HASHES, COMMENTS_SLASHES };
enum program_comments program_comments(struct span interpreter);

/* RULE_CLIENT or RULE_SOCKET for a word of a script, else RULE_NONE. */
enum entrypoint_rule program_word_rule(struct span word);
/* The files, by name, in which a program of that name finds what it starts; NULL for most. */
const char *program_reads(struct span word);
/* ld-linux-x86-64.so.2 starts whatever is behind it. */
bool program_is_loader(struct span path);

void program_document(struct buf *out);
