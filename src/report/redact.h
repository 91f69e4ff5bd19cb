/* redact.h
 *
 * Credentials out of text, argument lists and whole records (RP-5, R59): credential flags and
 * assignments, bearer and basic authorisation, URL userinfo, well-known token shapes, private key
 * blocks. The replacement is "[REDACTED]".
 *
 * redact_record() follows the sensitivity that each field of the record declares.
 * A tail is redacted over a window that is larger than what is kept, so that a secret that was split
 * across two reads, or cut by the start of the tail, is still seen (O5).
 *
 * docs/redaction.md lists the forms; a test reads them from there.
 *
 * Limitations  defence in depth, no guarantee: text that does not look like a credential is kept.
 */
#pragma once

#include <stdbool.h>

#include "buf.h"
#include "json.h"
#include "record.h"
#include "span.h"

#define REDACTED "[REDACTED]"

/* Linear in the length of the text; valid UTF-8 stays valid; redacting twice changes nothing. */
void redact_text(struct span in, struct buf *out);
/* argv-like: the value after a credential flag, and FLAG=VALUE forms; then each as text. */
json_t *redact_argv(char *const *argv) must_check;
/* Recursively, every string of an open JSON value; the whole string under a credential's key. What has
 * nothing to hide is shared with the value that was given, not copied. */
json_t *redact_json(const json_t *value) must_check;
/* The same for an encoded record; what each field is decides what is done to it. */
json_t *redact_record(const struct record *record, const json_t *value) must_check;
/* The last keep_bytes of the window as valid UTF-8, redacted, cut on a character. With `cut` the
 * window is not the beginning of its stream: its first line may be the end of a secret whose
 * beginning nobody sees, and is dropped (of a line that is longer than what the window has beyond
 * keep_bytes, that much). *ret_whole says whether the answer is all of the stream. */
json_t *redact_tail(struct span window, bool cut, size_t keep_bytes, bool *ret_whole) must_check;
