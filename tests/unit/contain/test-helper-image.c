#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "helper-image.h"
#include "unit.h"

static void it_is_a_whole_program_that_needs_no_loader(void **state)
{
    struct span image = helper_image();
    assert_true(image.n > sizeof(Elf64_Ehdr));
    Elf64_Ehdr header;
    memcpy(&header, image.p, sizeof header);
    assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
    assert_true(header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) <= image.n);
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        memcpy(&part, image.p + header.e_phoff + i * sizeof part, sizeof part);
        assert_int_not_equal(part.p_type, PT_INTERP);
        assert_true(part.p_offset + part.p_filesz <= image.n);
    }
}

/* Whoever was handed it can change nothing for those who come after. */
static void its_file_is_one_and_sealed(void **state)
{
    struct span image = helper_image();
    int file = helper_image_file();
    assert_true(file >= 0);
    assert_int_equal(helper_image_file(), file);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    assert_int_equal(fcntl(file, F_GET_SEALS) & seals, seals);
    char *bytes = mmap(NULL, image.n, PROT_READ, MAP_PRIVATE, file, 0);
    assert_memory_equal(bytes, image.p, image.n);
    assert_int_equal(munmap(bytes, image.n), 0);
}

/* Linux 6.3: nor take away that it may be executed. An older kernel does not know the seal. */
static void nobody_makes_its_file_one_that_cannot_be_executed(void **state)
{
    const int executable = 0x20; /* F_SEAL_EXEC */
    int file = helper_image_file();
    with_fd other = fd_adopt(memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    bool is_known = fcntl(fd_num(&other), F_ADD_SEALS, executable) == 0;
    if (!is_known) {
        assert_int_equal(errno, EINVAL);
        skip();
    }
    assert_int_equal(fchmod(file, 0600), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(faccessat(file, "", X_OK, AT_EMPTY_PATH), 0);
}

/* Outside of a PID namespace of its own kill(-1) would mean everybody: it refuses to begin. */
static void it_ends_at_once_when_it_is_not_the_first_process(void **state)
{
    struct span image = helper_image();
    int file = memfd_create("image", MFD_CLOEXEC);
    assert_int_equal(write(file, image.p, image.n), image.n);
    pid_t pid = fork();
    if (pid == 0) {
        char name[] = "berm-helper";
        char duty[] = "launcher";
        char *argv[] = {name, duty, NULL};
        fexecve(file, argv, argv + 2);
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_whole_program_that_needs_no_loader),
        cmocka_unit_test(its_file_is_one_and_sealed),
        cmocka_unit_test(nobody_makes_its_file_one_that_cannot_be_executed),
        cmocka_unit_test(it_ends_at_once_when_it_is_not_the_first_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
