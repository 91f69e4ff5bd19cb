/* files.h
 *
 * A file of a test's own, in its working folder. Behind unit.h.
 */
#pragma once

#include <stdio.h>
#include <sys/stat.h>

static unused void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(name, mode), 0);
}
