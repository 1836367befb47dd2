/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/library.h"
#include "base/os/os.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

_Noreturn static void give_up(const char *file) {
    const char *why = dlerror();
    fprintf(stderr, "hone: %s cannot be loaded: %s; install the packages that ./run installs\n",
            file, why ? why : "?");
    exit(1);
}

void os_library_load(const char *file, const char *const *functions, size_t n, void *out) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        give_up(file);
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, functions[i]);
        if (!function)
            give_up(file);
        memcpy((char *)out + i * sizeof function, &function, sizeof function);
    }
}

/* As Linux and the BSDs name them, and as macOS does, which looks into folders of its own only:
 * those of Homebrew on both processors and of MacPorts are named. */
static const struct place {
    const char *before, *between, *after;
} places[] = {{"lib", ".so.", ""},
              {"lib", ".", ".dylib"},
              {"/opt/homebrew/lib/lib", ".", ".dylib"},
              {"/usr/local/lib/lib", ".", ".dylib"},
              {"/opt/local/lib/lib", ".", ".dylib"}};

bool os_library_try(const char *name, int number, const char *const *functions, size_t n,
                    void **out) {
    void *library = NULL;
    for (size_t i = 0; !library && i < COUNT_OF(places); i++) {
        char file[120];
        snprintf(file, sizeof file, "%s%s%s%d%s", places[i].before, name, places[i].between, number,
                 places[i].after);
        library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; library && i < n; i++) {
        out[i] = functions[i] ? dlsym(library, functions[i]) : NULL;
        if (functions[i] && !out[i])
            library = NULL;
    }
    return library != NULL;
}
