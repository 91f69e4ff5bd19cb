/* audit-priv.h
 *
 * What the files of the audit share: one audit on its way. Its functions answer 0 to go on, 1 for a refusal,
 * which stands in the verdict, and -1 for an error.
 */
#pragma once

#include "entrypoint.h"
#include "strvec.h"

struct audit {
    const struct entrypoint_files *files;
    struct entrypoint_verdict *verdict;
    struct strvec paths; /* seen or to be seen, each once */
    unsigned depth[AUDIT_FILES];
    size_t looks;
    size_t bytes;
};

/* Where words stand, and which files they may name. */
struct audit_place {
    const char *path;  /* of the file; NULL: the command itself */
    const char *where; /* for a message; without a line */
    bool lines;        /* the message has one */
    bool python;
    bool all; /* files that look like data too */
    unsigned depth;
};

/* Always 1. */
int audit_refuse(struct audit *audit, enum entrypoint_rule rule, const char *where,
                 struct span saw) must_check;
int audit_look(struct audit *audit, const char *path, struct buf *text,
               struct entrypoint_look *ret_look, struct err *err) must_check;
/* Once; a second time is none. */
int audit_add(struct audit *audit, const char *path, unsigned depth) must_check;

/* audit-words.c: every word of a text, and the files that they name. */
int audit_words(struct audit *audit, const struct audit_place *place, struct span text,
                struct err *err) must_check;
/* `path` as seen from a folder of the repository, without "." and ".."; false: it leads out of it. */
bool audit_join(struct span folder, struct span path, struct buf *out);
