/* request.h
 *
 * From the options of `berm run` to the request that src/run takes. Pure.
 *
 * Ownership    the request borrows from the options; its overrides are a copy that
 *              request_done() frees.
 * Errors       ERR_USAGE: two options that exclude each other, an unknown guarantee
 */
#pragma once

#include "options.h"
#include "run.h"

/* *request holds the defaults (run_request_plain()); what was given is put over them. */
int request_from_options(const struct options *options, struct run_request *request,
                         struct err *err) must_check;
void request_done(struct run_request *request);
#define with_request cleanup(request_done) struct run_request
