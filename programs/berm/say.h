/* say.h
 *
 * What berm says: results on standard output, words on standard error. Whole texts, written at once
 * through os/, with no stdio between.
 *
 * Errors       a result that cannot be written is an error (a full disk, a closed output); a word
 *              that cannot be written is not, because there is nowhere left to say so.
 */
#pragma once

#include <stdbool.h>

#include "buf.h"
#include "err.h"
#include "json.h"

enum { SAY_JSON_BYTES = 64 << 20 };

int say_result(const struct buf *text, struct err *err) must_check;
int say_json(const json_t *value, struct err *err) must_check; /* readable, with a newline */
void say_add(struct buf *out, const char *text); /* neutralised: it may be anybody's words */
void say_words(const struct buf *text);          /* complete lines that begin with "berm: " */
void say_error(const struct err *err);           /* "berm: " and the message, neutralised */
/* All of it, also to a descriptor that somebody has made non-blocking; -errno. */
int say_whole(int fd, const struct buf *text) must_check;
/* Is it a terminal that shows colours, and does nobody mind (NO_COLOR)? */
bool say_in_colour(int fd);
