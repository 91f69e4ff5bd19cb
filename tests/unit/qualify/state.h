/* state.h
 *
 * A state folder of its own for a self-test.
 */
#pragma once

#include "../bfs/bfs-test.h"

#include "memory.h"
#include "process.h"
#include "qualify-priv.h"

struct own_state {
    char variable[96];
    char *environment[2];
    struct qualify_request request;
    struct qualifying qualifying;
};

static unused void own_state_make(const struct place *place, struct own_state *own)
{
    struct err err = {0};
    *own = (struct own_state){0};
    snprintf(own->variable, sizeof own->variable, "XDG_STATE_HOME=%s", place->path);
    own->environment[0] = own->variable;
    own->request =
        (struct qualify_request){.environment = own->environment, .clock = &os_clock_real};
    own->qualifying = (struct qualifying){.request = &own->request,
                                          .fixture = memory_copy_string("/nowhere/fixture"),
                                          .fixture_folder = memory_copy_string("/nowhere")};
    assert_ok(
        bfs_dir_make(AT_FDCWD, place->path, 0700, BFS_TRUST_OWN, &own->qualifying.folder, &err));
    assert_ok(bfs_dir_make_beneath(&own->qualifying.folder, ATTESTATION_REPORTS, 0700,
                                   &own->qualifying.reports, &err));
}

static unused void own_state_done(struct own_state *own)
{
    memory_free(own->qualifying.fixture);
    memory_free(own->qualifying.fixture_folder);
    bfs_dir_done(&own->qualifying.folder);
    bfs_dir_done(&own->qualifying.reports);
}
