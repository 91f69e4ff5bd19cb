#include "words-priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "names.h"
#include "text.h"

const char *words_signal(int signal, char word[WORD_SIZE])
{
    const char *name = names_signal(signal);
    if (name) {
        (void)snprintf(word, WORD_SIZE, "SIG%s", name);
    } else if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
        (void)snprintf(word, WORD_SIZE, "SIGRTMIN+%d", signal - SIGRTMIN);
    } else {
        (void)snprintf(word, WORD_SIZE, "signal %d", signal);
    }
    return word;
}

const char *words_errno(int sys, char word[WORD_SIZE])
{
    const char *name = sys > 0 ? names_errno(sys) : NULL;
    if (name) {
        (void)snprintf(word, WORD_SIZE, "%s", name);
    } else {
        (void)snprintf(word, WORD_SIZE, "errno %d", sys);
    }
    return word;
}

char *words_survivor(const struct supervise_survivor *survivor)
{
    with_buf name = buf_new(4 * sizeof survivor->name);
    text_neutralise(&name, span_of(survivor->name, strnlen(survivor->name, sizeof survivor->name)));
    char word[WORD_SIZE];
    return memory_format("pid %d (%s): %s", (int)survivor->pid, buf_string(&name),
                         survivor->unclaimed ? "not signalled: whose it is cannot be told"
                         : survivor->sys     ? words_errno(survivor->sys, word)
                                             : "signalled and still there");
}

char *words_path(const char *path)
{
    with_buf text = buf_new(4 * LINK_PATH_SIZE);
    text_neutralise(&text, span_of_string(path));
    return memory_copy_string(buf_string(&text));
}
