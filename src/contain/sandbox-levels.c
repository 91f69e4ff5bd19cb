/* Which levels a plan promises, and what was verified gives; what would help where that is less. */
#include "sandbox-priv.h"

#include "confine.h"

bool sandbox_closes_abstract(const struct sandbox *sandbox)
{
    return !sandbox->host_network || sandbox->kernel_abi >= OS_LANDLOCK_ABI_OF_SCOPES;
}

static void enforce(struct guarantees *guarantees, enum guarantee guarantee)
{
    guarantees->level[guarantee] = LEVEL_ENFORCED;
    guarantees->why[guarantee] = NULL;
}

#define NETWORK_WHY                                                                                \
    "the network is the host's, and this kernel's Landlock does not close abstract sockets "       \
    "(Linux 6.12)"
#define NETWORK_REMEDY                                                                             \
    "use Linux 6.12 or later with Landlock, or do without the network of the host"
#define PATHS_WHY                                                                                  \
    "not every socket of a daemon could be covered: one has a relative or odd name, or there are " \
    "too many"
#define PATHS_REMEDY "end that daemon, or do not require it"

/* Of sockets of daemons: [those by path are closed][the abstract ones are]. */
static const struct {
    const char *why; /* NULL: none is open */
    const char *remedy;
} open_sockets[2][2] = {
    {{PATHS_WHY "; and " NETWORK_WHY, PATHS_REMEDY "; and " NETWORK_REMEDY},
     {PATHS_WHY, PATHS_REMEDY}},
    {{NETWORK_WHY, NETWORK_REMEDY}, {NULL, NULL}},
};

static void raise_all(const struct sandbox *sandbox, bool abstract_closed,
                      struct guarantees *guarantees)
{
    static const enum guarantee always[] = {GUARANTEE_FILESYSTEM,  GUARANTEE_WRITABLE_ROOTS,
                                            GUARANTEE_DESCENDANTS, GUARANTEE_TEMP_BYTES,
                                            GUARANTEE_TEMP_INODES, GUARANTEE_SYSCALLS};
    for (size_t i = 0; i < countof(always); i++) {
        enforce(guarantees, always[i]);
    }
    if (!sandbox->host_network) {
        enforce(guarantees, GUARANTEE_NETWORK);
    } else {
        guarantees->why[GUARANTEE_NETWORK] = "--network host was asked for";
    }
    const char *why = open_sockets[sandbox->sockets_closed][abstract_closed].why;
    if (why) {
        guarantees->why[GUARANTEE_CONTROL_SOCKETS] = why;
    } else {
        enforce(guarantees, GUARANTEE_CONTROL_SOCKETS);
    }
}

void sandbox_promise(const struct sandbox *sandbox, struct guarantees *guarantees)
{
    raise_all(sandbox, sandbox_closes_abstract(sandbox), guarantees);
}

const char *sandbox_remedy(const struct sandbox *sandbox, enum guarantee guarantee)
{
    const char *sockets =
        open_sockets[sandbox->sockets_closed][sandbox_closes_abstract(sandbox)].remedy;
    return guarantee == GUARANTEE_CONTROL_SOCKETS                    ? sockets
           : guarantee == GUARANTEE_NETWORK && sandbox->host_network ? "leave --network host out"
                                                                     : NULL;
}

void sandbox_could(struct guarantees *guarantees)
{
    static const struct sandbox ordinary = {.sockets_closed = true};
    raise_all(&ordinary, true, guarantees);
}

void sandbox_raise(const struct sandbox *sandbox, struct guarantees *guarantees)
{
    if (sandbox->verified) {
        bool scoped = sandbox->facts & LAUNCH_FACT_SCOPES;
        raise_all(sandbox, !sandbox->host_network || scoped, guarantees);
    }
}
