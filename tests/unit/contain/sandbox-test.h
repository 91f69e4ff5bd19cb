/* sandbox-test.h
 *
 * A folder for each test, and the plan of a run in it.
 */
#pragma once

#include "../bfs/bfs-test.h"

#include "environment.h"
#include "memory.h"
#include "sandbox-priv.h"

#define WORDS(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

struct trial {
    struct binding *binding;
    struct sandbox_request request;
    struct checks checks;
    struct sandbox *sandbox;
    char path[4096]; /* of the folder, physical */
};

static unused void trial_plan(struct trial *trial, const struct place *place)
{
    /* The request is looked at again by some tests, when this function has returned. */
    static const char *const inherited[] = {"HOME=/root", NULL};
    static const char *const environment[] = {"HOME=/root", "LANG=C", NULL};
    struct err err = {0};
    char *const *argv = WORDS("/bin/true", "a b");
    assert_non_null(realpath(place->path, trial->path));
    const struct binding_request wanted = {.name = "/bin/true",
                                           .argv = argv,
                                           .cwd_fd = place->fd,
                                           .cwd_path = trial->path,
                                           .environment = WORDS("PATH=/usr/bin"),
                                           .own_authority = true};
    trial->binding = binding_resolve(&wanted, &err);
    assert_non_null(trial->binding);
    struct sandbox_request *request = &trial->request;
    request->cwd_fd = place->fd;
    request->cwd_path = trial->path;
    request->binding = trial->binding;
    request->inherited =
        request->inherited ? request->inherited : (char *const *)(uintptr_t)inherited;
    request->environment =
        request->environment ? request->environment : (char *const *)(uintptr_t)environment;
    request->private_bytes = 1 << 20;
    request->private_inodes = 500;
    request->become = geteuid() == 0;
    request->uid = request->gid = 1000;
    trial->sandbox = sandbox_plan(request, &trial->checks);
}

static unused void trial_done(struct trial *trial)
{
    sandbox_free(trial->sandbox);
    binding_free(trial->binding);
    checks_done(&trial->checks);
}

static unused bool has_mount(const struct sandbox *sandbox, enum mount_kind kind, const char *path)
{
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        if (sandbox->mounts[i].kind == kind && strcmp(sandbox->mounts[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

static unused bool has_rule(const struct sandbox *sandbox, enum launch_kind kind, const char *path)
{
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        if (sandbox->rules[i].kind == kind && strcmp(sandbox->rules[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* A failed check of that code whose words hold the text. */
static unused bool was_refused(const struct checks *checks, const char *code, const char *words)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct check *check = &checks->list[i];
        if (!check->ok && strcmp(check->code, code) == 0 &&
            (strstr(check->what, words) || strstr(check->saw, words))) {
            return true;
        }
    }
    return false;
}
