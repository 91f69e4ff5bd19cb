/* helper.h
 *
 * The duties of the helper program. It is one image (src/contain/helper-image.h), which is started from
 * a sealed file of memory by its descriptor, with the word of its duty as first argument:
 *
 *   launcher   the first process of a sandbox (launcher.h)
 *   anchor     keeps a scope alive, and ends its payload when nobody else can (anchor-message.h)
 *   watchdog   finishes the job when the controller of a run has died (watchdog.h)
 *
 * What every duty keeps to: nothing is allocated, and there is no stdio. The image stays small (it is
 * copied into memory for each run), and a host without memory does not stop a duty half-way.
 *
 * Limitations  what comes behind the word belongs to the duty; a word that is none ends the program with
 *              HELPER_EXIT_USAGE, before it did anything.
 */
#pragma once

#include "attributes.h"

enum { HELPER_EXIT_REFUSED = 1, HELPER_EXIT_USAGE = 2, HELPER_EXIT_BUG = 70 };

/* One for each duty: argv[0] is the duty's word, as argv[argc] is NULL. */
no_return void launcher_main(int argc, char **argv);
no_return void anchor_main(int argc, char **argv);
no_return void watchdog_main(int argc, char **argv);
