/* unit.h
 *
 * The headers that cmocka wants before itself, and nothing else.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attributes.h"
