#include "helper-image.h"

#include "fd.h"
#include "file.h"

/* programs/helper/image.S.in */
extern const char helper_image_first[] __attribute__((visibility("hidden")));
extern const char helper_image_end[] __attribute__((visibility("hidden")));

struct span helper_image(void)
{
    return span_of(helper_image_first, (size_t)(helper_image_end - helper_image_first));
}

int helper_image_file(void)
{
    static struct fd sealed;
    if (fd_is_open(&sealed)) {
        return fd_num(&sealed);
    }
    struct span image = helper_image();
    with_fd file = fd_adopt(os_memfd("berm-helper"));
    int result = fd_error(&file);
    result = result < 0 ? result : os_write_all(fd_num(&file), image.p, image.n);
    result = result < 0 ? result : os_memfd_seal_mode(fd_num(&file));
    result = result < 0 ? result : os_memfd_seal(fd_num(&file));
    if (result < 0) {
        return result;
    }
    sealed = fd_take(&file);
    return fd_num(&sealed);
}
