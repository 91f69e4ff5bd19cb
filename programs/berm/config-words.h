/* config-words.h
 *
 * What berm config says to people of a berm.config/v1 object, and of a check (src/run/config.h).
 *
 * Limitations  text from files is neutralised; what does not fit CONFIG_WORDS_BYTES is cut.
 */
#pragma once

#include "buf.h"
#include "json.h"

enum { CONFIG_WORDS_BYTES = 4 << 20 };

void config_words(const json_t *config, struct buf *out);
void config_words_check(const json_t *check, struct buf *out);
