/* audit-priv.h
 *
 * What the files of the audit share: one audit on its way. Its functions answer 0 to go on, 1 for a refusal,
 * which stands in the verdict, and -1 for an error.
 */
#pragma once

#include "entrypoint.h"
#include "strvec.h"

enum { AUDIT_FOLDERS = 32 };

/* By what a file is run, whatever it looks like; and by what it is only named, which may run it in a way that is not
 * seen. */
enum {
    CALLED_BY_SLASHES = 1 << 0, /* an interpreter whose comments begin with // */
    CALLED_BY_HASHES = 1 << 1,  /* with #; a shell */
    CALLED_BY_OTHERS = 1 << 2,  /* any other */
    CALLED_BY = CALLED_BY_SLASHES | CALLED_BY_HASHES | CALLED_BY_OTHERS,
    CALLED_AS_ITSELF = 1 << 3, /* what its first line says, or a shell */
    CALLED = CALLED_BY | CALLED_AS_ITSELF,
    NAMED_SHIFT = 4,
    NAMED_BY_HASHES = CALLED_BY_HASHES << NAMED_SHIFT,
    NAMED_BY_OTHERS = CALLED_BY_OTHERS << NAMED_SHIFT,
};

struct audit_file {
    unsigned depth;
    unsigned called; /* CALLED_* and NAMED_*, as far as is known */
    bool looked_at;
    unsigned looked_at_as; /* likewise, as far as was known then */
    const char *comment;   /* static; lines that are no more than one were passed over then */
};

struct audit {
    const struct entrypoint_files *files;
    struct entrypoint_verdict *verdict;
    struct strvec paths; /* seen or to be seen, each once */
    struct audit_file of[AUDIT_FILES];
    size_t looks;
    size_t bytes;
    /* Of the one text that is looked at: */
    struct strvec folders;  /* it goes to */
    struct strvec searched; /* it has in PATH */
    unsigned called; /* CALLED_*: the word is what an interpreter is told to run; else NAMED_* */
};

/* Where words stand, and which files they may name. */
struct audit_place {
    const char *path;    /* of the file; NULL: the command itself */
    const char *where;   /* for a message; without a line */
    bool lines;          /* the message has one */
    bool names_only;     /* of clients and sockets: a word is no file */
    const char *comment; /* begins a line that is nothing else; NULL: none does */
    unsigned named;      /* NAMED_*: a file that stands here, and nobody is seen to run it */
    bool all;            /* files that look like data too */
    unsigned depth;
};

/* Always 1. */
int audit_refuse(struct audit *audit, enum entrypoint_rule rule, const char *where,
                 struct span saw) must_check;
int audit_look(struct audit *audit, const char *path, struct buf *text,
               struct entrypoint_look *ret_look, struct err *err) must_check;
/* Once. A second time tells what it is called by, and it is looked at again when that changes anything. */
int audit_add(struct audit *audit, const char *path, unsigned depth) must_check;

int audit_refuse_budget(struct audit *audit, const char *where, const char *what,
                        int budget) must_check;

/* audit-words.c: every word of a text, and the files that they name. */
int audit_words(struct audit *audit, const struct audit_place *place, struct span text,
                struct err *err) must_check;
/* The next word of *rest, which goes on behind it. */
bool audit_next_word(struct span *rest, struct span *ret_word);
/* CALLED_BY_*: what an interpreter runs is called by. */
unsigned audit_reader(struct span interpreter);

/* audit-paths.c: what a word may mean is added to what is looked at. */
int audit_try_word(struct audit *audit, const struct audit_place *place, struct span word,
                   unsigned called, struct err *err) must_check;
enum audit_import { IMPORT_NOTHING, IMPORT_PYTHON, IMPORT_OTHERS };
int audit_try_module(struct audit *audit, const struct audit_place *place, struct span word,
                     enum audit_import import, struct err *err) must_check;
int audit_try_folder(struct audit *audit, const struct audit_place *place, struct span word,
                     bool searched, struct err *err) must_check;
/* Files that a program of that name reads by itself. */
int audit_try_scripts_of(struct audit *audit, const struct audit_place *place, struct span word,
                         struct err *err) must_check;
bool audit_is_script_name(struct span word);
/* `path` as seen from a folder of the repository, without "." and ".."; false: it leads out of it. */
bool audit_join(struct span folder, struct span path, struct buf *out);
