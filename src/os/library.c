#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#include "fault.h"

/* The fault table's answers are numbers: -errno is no address. */
static void *or_null(long address)
{
    return address > -4096 && address < 0 ? NULL : (void *)(intptr_t)address;
}

void *os_library_open(const char *name, char *why, size_t size)
{
    errno = 0;
    void *library = or_null(OS_CALL(dlopen, (intptr_t)dlopen(name, RTLD_NOW | RTLD_LOCAL)));
    if (!library) {
        const char *said = dlerror();
        (void)snprintf(why, size, "%s", said ? said : "it cannot be loaded");
    }
    return library;
}

void *os_library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

const char *os_library_path(void *library)
{
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] == '/' ? map->l_name
                                                                                : NULL;
}
