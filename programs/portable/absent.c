/* absent.c
 *
 * What only a run has, of which a record could tell: a refusal has none of it, and does not ask.
 */
#include "binding.h"
#include "contain.h"
#include "daemon.h"
#include "environment.h"

json_t *binding_to_json(const struct binding *binding)
{
    BUG("a refused run has no executable");
}

json_t *environment_recorded(const struct environment *environment)
{
    BUG("a refused run has no environment");
}

json_t *sandbox_to_json(const struct sandbox *sandbox)
{
    BUG("a refused run has no sandbox");
}

void sandbox_links_say_why(const struct sandbox_links *links, char text[LINKS_WHY_SIZE])
{
    BUG("a refused run has no temporary folders");
}

const char *scope_adapter_id(enum scope_adapter adapter)
{
    BUG("a refused run has no scope");
}

const char *daemon_state_name(enum daemon_state state)
{
    BUG("a refused run has no daemon");
}

const char *daemon_fate_name(enum daemon_fate fate)
{
    BUG("a refused run has no daemon");
}
