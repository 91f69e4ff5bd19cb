#include "helper-image.h"

/* programs/helper/image.S.in */
extern const char helper_image_first[] __attribute__((visibility("hidden")));
extern const char helper_image_end[] __attribute__((visibility("hidden")));

struct span helper_image(void)
{
    return span_of(helper_image_first, (size_t)(helper_image_end - helper_image_first));
}
