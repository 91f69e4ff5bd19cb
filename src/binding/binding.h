/* binding.h
 *
 * A binding is the proof that an executable was found, allowed, and is the one that was hashed
 * (EX-1, EX-2). It holds the descriptors that are executed later: what was hashed is what runs.
 *
 * Calling sequence
 *   binding_resolve(&request, err)   PATH search (the only one in berm, EX-3), policy, identity of
 *                                    the file and, for a script, of every interpreter in its chain
 *   binding_argv()                   the argv that the kernel would have built for a script
 *   binding_revalidate(binding, err) right before the release: the descriptors still hold the very
 *                                    bytes (fstat against the recorded identity)
 *   binding_exec_fd()                lent to the process broker for execveat
 *
 * A script runs as its interpreter's descriptor with the script's ordinary path as an argument
 * (otherwise $0 would be /dev/fd/N). `#!/usr/bin/env NAME` is followed to NAME through the same
 * search, so that the interpreter that really runs is the one recorded.
 *
 * Policies     project_bound, managed_tool, exact_path: canonical target beneath one of the roots,
 *              owner root or the caller, no group or world write on file or ancestors, no set-id.
 *              trusted_host_tool: any place. With `own_authority` (plain runs, IF-2) a foreign owner,
 *              a group-writable place or file capabilities are recorded as weaknesses instead of
 *              refused; set-id files, world-writable files and world-writable folders without the
 *              sticky bit are refused under every policy.
 * Ownership    the binding owns its descriptors; binding_exec_fd() lends one.
 * Errors       ERR_NOT_FOUND, ERR_NOT_EXECUTABLE, ERR_REFUSED (policy), ERR_CHANGED (identity), ERR_SYS.
 * Limitations  a file that the same user can still write is bound up to the check, not beyond it, and
 *              a script is opened again by its interpreter; shared libraries that the program loads
 *              are not bound; no more than 5 interpreters. `#!/usr/bin/env -S ...` binds env and not
 *              what env starts (a weakness, and refused without own_authority). A file that is
 *              neither ELF nor a script is left to the kernel: formats of binfmt_misc need a path
 *              and are not started by a descriptor.
 * Source       execve(2) "Interpreter scripts", execveat(2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"
#include "err.h"
#include "hash.h"
#include "json.h"

enum binding_policy {
    POLICY_TRUSTED_HOST_TOOL,
    POLICY_PROJECT_BOUND,
    POLICY_MANAGED_TOOL,
    POLICY_EXACT_PATH,
};

struct binding_request {
    const char *name;         /* argv[0] as it was given */
    char *const *argv;        /* all of it, NULL-terminated */
    int cwd_fd;               /* relative names start here; borrowed */
    const char *cwd_path;     /* physical path of cwd_fd; NULL: it has none (it was removed) */
    char *const *environment; /* the child's: PATH comes from here and nowhere else */
    enum binding_policy policy;
    const char *const *roots; /* NULL-terminated, absolute; NULL: none */
    bool own_authority;       /* a person's plain run (IF-2) */
};

struct file_identity {
    uint64_t device;
    uint64_t inode;
    uint32_t mode; /* with the file type */
    uint32_t owner;
    uint32_t group;
    int64_t size_bytes;
    int64_t mtime_ns;
    int64_t ctime_ns;
    char sha256[HASH_HEX_SIZE];
};

struct binding;

struct binding *binding_resolve(const struct binding_request *request, struct err *err) must_check;
int binding_revalidate(const struct binding *binding, struct err *err) must_check;
int binding_exec_fd(const struct binding *binding);
char *const *binding_argv(const struct binding *binding);
/* The chain: the target first, then each interpreter; the last is what is executed. */
size_t binding_file_count(const struct binding *binding);
const char *binding_file_path(const struct binding *binding, size_t index); /* canonical */
const struct file_identity *binding_file_identity(const struct binding *binding, size_t index);
/* The record of EX-1: requested name, invocation path, canonical target, origin, matched PATH
 * entry, decision with its reason, weaknesses, identity; the same for each interpreter. */
json_t *binding_to_json(const struct binding *binding) must_check;
void binding_free(struct binding *binding);

static inline void binding_freep(struct binding **binding)
{
    binding_free(*binding);
    *binding = NULL;
}
#define with_binding cleanup(binding_freep) struct binding *
