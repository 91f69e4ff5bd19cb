#include "exits.h"

int exit_of(enum err_code code)
{
    static const int exits[ERR_CODE_COUNT] = {
        [ERR_NONE] = EXIT_OK,
        [ERR_SYS] = EXIT_NEGATIVE,
        [ERR_INTERNAL] = EXIT_NEGATIVE,
        [ERR_TIMEOUT] = 8,
        [ERR_USAGE] = EXIT_WRONG_USAGE,
        [ERR_RANGE] = EXIT_WRONG_USAGE,
        [ERR_REFUSED] = 9,
        [ERR_UNAVAILABLE] = 3,
        [ERR_NOT_FOUND] = EXIT_NEGATIVE,
        [ERR_NOT_EXECUTABLE] = EXIT_NEGATIVE,
        [ERR_CHANGED] = 5,
        [ERR_OVER_BUDGET] = 5,
        [ERR_CONFLICT] = 7,
        [ERR_CORRUPT] = 5,
        [ERR_CANCELLED] = 8,
    };
    return (unsigned)code < ERR_CODE_COUNT ? exits[code] : EXIT_NEGATIVE;
}
