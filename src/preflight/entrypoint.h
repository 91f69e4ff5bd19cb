/* entrypoint.h
 *
 * Which commands tier runs may launch: what the project's berm.yaml declares, word by word, and what stands an
 * audit (EP-1…EP-3). There is no other way in.
 *
 * Calling sequence
 *   entrypoint_judge(&project, argv, &files, &entrypoint, &verdict, err)
 *                           a command as it was given: the one entrypoint that it is, its sealed inputs,
 *                           and the audit
 *   entrypoint_audit(argv, ENTRYPOINT_FILE, &files, &verdict, err)      the audit alone
 *   workload_judge(&workload, argv, &files, &verdict, err)              the same for declared work, which may
 *                           begin with an interpreter
 *   verdict.rule == RULE_NONE: it may; entrypoint_explain() says a refusal in words
 *
 * A function of declarations, words and what `files` says: entrypoint_files_of() shows it the files below a
 * folder, through bfs.h; a test shows it what it likes.
 *
 * The audit    The first word is a regular file of the repository, no link and linked once, that nobody else
 *              may write. A script's `#!` line names a known interpreter of the system's folders with harmless
 *              options. Its words, those of the files that it names (scripts, modules, the scripts of
 *              package.json, makefiles, and their like in the folders that it goes to), and those of the command
 *              itself are compared with the clients of daemons, whose processes nobody here can own, and with
 *              their sockets. Behind the first word stands no program of the system, no program at all where one
 *              would be started ("--"), and no interpreter with its program.
 * Budgets      AUDIT_* below. What does not fit is refused and not passed.
 * Ownership    the entrypoint is the project's.
 * Errors       -1 is for files that cannot be read (ERR_SYS, ERR_CHANGED), and is no verdict.
 * Limitations  a compiled program is not looked into, and a name that a script puts together while it runs is
 *              not seen: the sandbox covers the sockets and the control group holds the processes, whatever
 *              is missed here. A word that only looks like a client is refused too, and named with its
 *              line. A line that is a comment alone is passed over only if it executes nothing wherever it
 *              stands: it begins with # or //, holds nothing but letters and digits of ASCII, blanks and
 *              `_ . , : - / # !`, and the line before does not go on in it (\ or $ at its end). So a comment that
 *              names a client is refused if it has an apostrophe, a parenthesis or a letter of another script
 *              in it. # or // it is by the `#!` line, the interpreter in front and the name of the file, and
 *              by whatever else names it, which may read it as well: where these differ, where none is known,
 *              and in Perl, Ruby, Lua, Tcl, Guile, Erlang and Elixir, where # may be something else, every line is
 *              looked at. What a script takes out of such a line and runs (a list, a here-document) is put
 *              together while it runs.
 */
#pragma once

#include <stdbool.h>

#include "bfs.h"
#include "project.h"

/* X(enumerator, id, promise, what is refused, why, what to do instead) */
#define ENTRYPOINT_RULES(X)                                                                        \
    X(RULE_UNDECLARED, "undeclared", "EP-1",                                                       \
      "a command that is none of the declared ones, word by word",                                 \
      "what nobody looked at is not launched",                                                     \
      "declare it in berm.yaml with all its words, and parameters for those that vary")            \
    X(RULE_AMBIGUOUS, "ambiguous", "EP-1", "a command that is two of the declared ones",           \
      "each may have another authority", "change an argv so that one of them fits")                \
    X(RULE_SEALED, "sealed", "SI-1", "sealed inputs that are not given once each, as declared",    \
      "what runs must be what was sealed",                                                         \
      "give each of its options once, with a file of the repository or a digest, and no other")    \
    X(RULE_OUTSIDE, "outside", "EP-1", "a first word that is no file of the repository",           \
      "what lies elsewhere is in no snapshot",                                                     \
      "put the program or a script for it into the repository and declare that")                   \
    X(RULE_LINK, "link", "EP-2", "a symbolic link, or a file with a second hard link",             \
      "what it leads to can be exchanged behind its name", "put the file itself there")            \
    X(RULE_SHARED, "shared", "EP-2", "a file that everybody, or another user, may write",          \
      "it could be another one at the launch", "take it over: chown, chmod go-w")                  \
    X(RULE_EVAL, "eval", "EP-2", "an interpreter whose program is an argument",                    \
      "the words of a command line are in no file that was looked at",                             \
      "write the program into a script of the repository and declare that")                        \
    X(RULE_LOADER, "loader", "EP-2", "an option by which an interpreter loads other code",         \
      "it runs before, or in place of, what was looked at",                                        \
      "load it in the script itself, by its path in the repository")                               \
    X(RULE_OPTION, "option", "EP-2", "any other option in front of a script",                      \
      "what it means is the interpreter's secret",                                                 \
      "put the script right behind the interpreter, and options into the script")                  \
    X(RULE_SCRIPT, "script", "EP-2",                                                               \
      "an interpreter without a script of the repository behind it",                               \
      "it would read its program from wherever it likes",                                          \
      "name a file of the repository right behind it")                                             \
    X(RULE_INTERPRETER, "interpreter", "EP-2",                                                     \
      "a `#!` line with an unknown program, one outside /bin, /usr/bin and /usr/local/bin, or "    \
      "options that are not harmless",                                                             \
      "the interpreter is what runs",                                                              \
      "begin the script with a known interpreter, by its path or as `#!/usr/bin/env NAME`")        \
    X(RULE_RUNNER, "package-runner", "EP-2", "a package runner or build tool as the command",      \
      "what it starts stands in files that it finds by itself, or comes from the network",         \
      "declare the script or program that it would start")                                         \
    X(RULE_WRAPPER, "wrapper", "EP-2", "a program that starts the one behind it",                  \
      "another program runs than the one that is declared",                                        \
      "declare the program itself; berm has options for time, user and environment")               \
    X(RULE_PROGRAM, "program", "EP-2", "a program of the host that is no known interpreter",       \
      "nobody knows what it starts", "declare a script of the repository that calls it")           \
    X(RULE_CLIENT, "external-daemon", "EP-3", "a client of a daemon that starts processes",        \
      "what the daemon starts lies outside the run: it is not limited, not seen and not ended",    \
      "run it outside of berm, or take the word out where it is no command (of a comment, too: "   \
      "only one of plain words is passed over)")                                                   \
    X(RULE_SOCKET, "daemon-socket", "EP-3", "the socket or the address of such a daemon",          \
      "the same as with its client", "run it outside of berm, or take the address out")            \
    X(RULE_UNREADABLE, "unreadable", "EP-3",                                                       \
      "scripts and other executable files that are too large, too many or too deep to be looked "  \
      "through, a script with a zero byte, or a package.json or composer.json that cannot be "     \
      "understood",                                                                                \
      "what cannot be looked at is not launched", "make them smaller, or declare a smaller one")

enum entrypoint_rule {
    RULE_NONE,
#define X(enumerator, id, promise, what, why, instead) enumerator,
    ENTRYPOINT_RULES(X)
#undef X
        RULE_COUNT
};

enum {
    AUDIT_FILE_BYTES = 256 << 10, /* of one file that is read */
    AUDIT_TOTAL_BYTES = 2 << 20,
    AUDIT_FILES = 64,
    AUDIT_DEPTH = 8,
    AUDIT_LOOKS = 16384, /* names that are tried */
};

struct entrypoint_verdict {
    enum entrypoint_rule rule;
    char where[200]; /* "bench/run.sh:12" */
    char saw[200];   /* the word */
};

enum entrypoint_kind { LOOK_NOTHING, LOOK_FILE, LOOK_LINK, LOOK_OTHER };
struct entrypoint_look {
    enum entrypoint_kind kind;
    uint64_t links;
    bool executable;
    bool shared; /* others may write it */
    int64_t size_bytes;
};
struct entrypoint_files {
    /* What a path below the root is, no link followed on the way (one is LOOK_LINK). With `text` the first
     * AUDIT_FILE_BYTES of a file, or all of it. -1: it cannot be told. */
    int (*look)(void *context, const char *path, struct buf *text, struct entrypoint_look *ret_look,
                struct err *err);
    void *context;
};
struct entrypoint_files entrypoint_files_of(const struct bfs_dir *root);

/* How a command may begin. */
enum entrypoint_begin { ENTRYPOINT_FILE, ENTRYPOINT_FILE_OR_INTERPRETER };

int entrypoint_judge(const struct project *project, char *const *argv,
                     const struct entrypoint_files *files,
                     const struct project_entrypoint **ret_entrypoint,
                     struct entrypoint_verdict *ret_verdict, struct err *err) must_check;
int workload_judge(const struct project_workload *workload, char *const *argv,
                   const struct entrypoint_files *files, struct entrypoint_verdict *ret_verdict,
                   struct err *err) must_check;
int entrypoint_audit(char *const *argv, enum entrypoint_begin begin,
                     const struct entrypoint_files *files, struct entrypoint_verdict *ret_verdict,
                     struct err *err) must_check;

/* {rule, promise, where, saw, what, why, instead}; NULL for RULE_NONE. */
json_t *entrypoint_to_json(const struct entrypoint_verdict *verdict) must_check;
/* "WHERE: 'SAW': WHAT [ID]" */
void entrypoint_explain(const struct entrypoint_verdict *verdict, struct buf *out);
const char *entrypoint_instead(enum entrypoint_rule rule);
/* Markdown: the rules, and the programs that they know by name. */
void entrypoint_document(struct buf *out);
