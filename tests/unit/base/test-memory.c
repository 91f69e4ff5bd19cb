#include "../unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

/* How a child that called `function` ended; 0 when the call came back. */
static int ends_by(void (*function)(void))
{
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO); /* the last words of BUG() are expected */
        function();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void allocate(void)
{
    memory_free(memory_new(1));
}

static void allocate_while_armed(void)
{
    memory_arm();
    allocate();
}

static void grow_while_armed(void)
{
    void *memory = memory_new(1);
    memory_arm();
    memory_free(memory_resize(memory, 100));
}

static void allocate_after_disarming(void)
{
    memory_arm();
    memory_disarm();
    allocate();
}

static void free_while_armed(void)
{
    void *memory = memory_new(1);
    memory_arm();
    memory_free(memory);
}

/* EX-8: what stops a payload needs no memory, so a host without any cannot prevent it. */
static void nothing_is_allocated_while_armed(void **state)
{
    assert_int_equal(ends_by(allocate), 0);
    assert_int_equal(ends_by(allocate_while_armed), SIGABRT);
    assert_int_equal(ends_by(grow_while_armed), SIGABRT);
    assert_int_equal(ends_by(allocate_after_disarming), 0);
    assert_int_equal(ends_by(free_while_armed), 0);
}

static void ask_for_too_much(void)
{
    memory_free(memory_new(PTRDIFF_MAX));
}

static void out_of_memory_does_not_come_back(void **state)
{
    /* Not which end: AddressSanitizer has an answer of its own to such a size. */
    assert_int_not_equal(ends_by(ask_for_too_much), 0);
}

static void new_memory_is_zero_and_never_null(void **state)
{
    unsigned char *memory = memory_new(4096);
    for (size_t i = 0; i < 4096; i++) {
        assert_int_equal(memory[i], 0);
    }
    memory = memory_resize(memory, 0);
    assert_non_null(memory);
    memory_free(memory);
    memory_free(NULL);
}

static void copies_and_formats_strings(void **state)
{
    assert_null(memory_copy_or_null(NULL));
    with_string copy = memory_copy_string("abc");
    assert_string_equal(copy, "abc");
    with_string text = memory_format("%s-%d", copy, 7);
    assert_string_equal(text, "abc-7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_while_armed),
        cmocka_unit_test(out_of_memory_does_not_come_back),
        cmocka_unit_test(new_memory_is_zero_and_never_null),
        cmocka_unit_test(copies_and_formats_strings),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
