/* words-priv.h
 *
 * Numbers of the kernel by their names, for records and messages.
 */
#pragma once

#include "supervise.h"

enum { WORD_SIZE = 24 };

/* "SIGSEGV", "SIGRTMIN+2"; "signal 99" for a number that has no name. */
const char *words_signal(int signal, char word[WORD_SIZE]);
/* "EPERM"; "errno 999" for a number that has no name. */
const char *words_errno(int sys, char word[WORD_SIZE]);
/* "pid 12 (name): EPERM", the name neutralised; the caller frees it. */
char *words_survivor(const struct supervise_survivor *survivor);
/* A path of the payload's, neutralised; the caller frees it. */
char *words_path(const char *path) must_check;
