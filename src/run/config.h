/* config.h
 *
 * What the project of a folder declares, and what becomes of it: for people who write a berm.yaml, and for
 * checks in CI.
 *
 * Calling sequence
 *   json = run_config(cwd, err)                  a berm.config/v1 object
 *   json = run_config_check(cwd, argv, err)      is this command one that tier runs may launch?
 *
 * `cwd` NULL is where the caller stands. Both read and start nothing.
 *
 * berm.config/v1  file (null: there is no berm.yaml), root, require[], entrypoints[], workloads[], daemons[];
 *              each of these has name, line, and refused: null, or rule, where, saw, why, instead
 *              (entrypoint.h). refusals: how many.
 * The check    file, entrypoint (null: none), network, scratch, and refused as above.
 * Errors       those of project.h: the file is wrong in itself; and what cannot be read.
 * Limitations  an audit of a declaration sees its words as they are declared: values of parameters are looked
 *              at with the command.
 */
#pragma once

#include "err.h"
#include "json.h"

json_t *run_config(const char *cwd, struct err *err) must_check;
json_t *run_config_check(const char *cwd, char *const *argv, struct err *err) must_check;
