/* shebang.h
 *
 * What the kernel makes of the first line of a script.
 *
 * Calling sequence
 *   shebang_parse(head, &shebang)      the first SHEBANG_BYTES of a file, or all of it
 *   shebang_env_name(&shebang)         who `#!/usr/bin/env NAME` really means
 *
 * Limitations  `env -S`, and `env` with options or variables, have no name here: they are command lines.
 * Source       execve(2) "Interpreter scripts"; fs/binfmt_script.c of Linux for lines without an end.
 */
#pragma once

#include <stdbool.h>

#include "span.h"

enum { SHEBANG_BYTES = 256 }; /* as much of a file as the kernel looks at */

struct shebang {
    char interpreter[SHEBANG_BYTES]; /* empty: this is no script */
    char argument[SHEBANG_BYTES];    /* empty: none */
};
void shebang_parse(struct span head, struct shebang *ret_shebang);
bool shebang_is_env(const struct shebang *shebang);
/* The NAME of `#!/usr/bin/env NAME`, else NULL. */
const char *shebang_env_name(const struct shebang *shebang);
