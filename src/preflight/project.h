/* project.h
 *
 * What a project declares in its berm.yaml: entrypoints, sealed inputs, daemons, workloads, and the
 * guarantees that it wants of every run. Data that is read and believed as far as it goes: it can ask for more
 * than the person who runs berm, and never for less.
 *
 * Calling sequence
 *   with_string root = NULL;
 *   project_find(cwd_path, &root, err)           the folder whose berm.yaml counts
 *   with_project project = {0};
 *   project_read(root, &project, err)            project.present is false where there is no berm.yaml
 *
 * Which file   the one in the nearest folder at or above the working folder that has .git or .berm in it, else
 *              the one in the working folder. A folder that others may write is no such folder above:
 *              whoever can write /tmp is not to speak for the runs below it. One file alone counts,
 *              so that no deeper one weakens it.
 * The file     regular, linked once, of this user or of root (for root: or of the folder's owner), and
 *              not writable by everybody. yaml-tree.h and form.h say how strictly it is read.
 * Ownership    a project owns what it holds.
 * Errors       ERR_REFUSED: a file that is not to be believed; ERR_USAGE, ERR_RANGE, ERR_CORRUPT,
 *              ERR_OVER_BUDGET with line, column, key and remedy; ERR_CHANGED; ERR_SYS.
 * Limitations  a group that may write the file is trusted. A folder that may not be looked into is taken for one without a project. Manifests of sealed
 *              inputs are named here and read by who seals.
 */
#pragma once

#include "form.h"
#include "hash.h"

struct project_parameter {
    struct form_item item;
    struct strvec values; /* what may stand for {NAME} */
};

struct project_sealed {
    struct form_item item;
    char *flag;
    bool executable;
    char *manifest; /* NULL: what it is is taken down when it is sealed */
    int64_t max_mib;
    char *of; /* this one is the digest of that one; NULL: it is a file */
};

enum project_network { PROJECT_NETWORK_ISOLATED, PROJECT_NETWORK_REQUIRED };

struct project_entrypoint {
    struct form_item item;
    struct strvec argv;
    struct form_named parameters; /* project_parameter */
    int network;
    char *network_reason;
    char *scratch; /* a folder that it may write; NULL: none */
    char *scratch_reason;
    struct form_named sealed;  /* project_sealed */
    char *toolchain;           /* name of a staged runtime; NULL: none */
    struct strvec environment; /* NAME=VALUE: all that it has beside the fixed ones */
    struct strvec
        dependencies; /* folders of the repository that are source although they are ignored */
};

struct project_daemon {
    struct form_item item;
    char *exec;
    char *socket;
    char *lock;
};

struct project_oracle {
    struct form_item item;
    struct strvec argv;
    int strength;
};

struct project_workload {
    struct form_item item;
    struct strvec argv;
    struct form_named parameters; /* project_parameter */
    int64_t timeout_s;            /* 0: none */
    bool structured_output;
    struct project_oracle oracle; /* item.line 0: none */
};

struct project {
    int64_t schema;
    struct strvec require;        /* names of guarantees, or managed */
    struct form_named entrypoint; /* project_entrypoint */
    struct form_named daemon;     /* project_daemon */
    struct form_named workload;   /* project_workload */
    bool present;
    char *root;
    char *path;                 /* of the file */
    char digest[HASH_HEX_SIZE]; /* of its bytes */
};

extern const struct form project_form;

int project_find(const char *cwd_path, char **ret_root, struct err *err) must_check;
int project_read(const char *root, struct project *ret_project, struct err *err) must_check;
/* From the text of a file that was read already; `name` is for messages. */
int project_parse(struct span text, const char *name, struct project *ret_project,
                  struct err *err) must_check;
void project_done(struct project *project);
#define with_project cleanup(project_done) struct project

/* The next {NAME} of a word at or behind `from`; false: there is none. */
bool project_placeholder(const char *from, struct span *ret_whole, struct span *ret_name);
