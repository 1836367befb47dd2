/* SPDX-License-Identifier: Apache-2.0 */
#include "base/optional.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/kit/kit.h"

/* As Linux and the BSDs name them, and as macOS does, which looks into folders of its own only:
 * those of Homebrew on both processors and of MacPorts are named. */
static const struct place {
    const char *before, *between, *after;
} places[] = {{"lib", ".so.", ""},
              {"lib", ".", ".dylib"},
              {"/opt/homebrew/lib/lib", ".", ".dylib"},
              {"/usr/local/lib/lib", ".", ".dylib"},
              {"/opt/local/lib/lib", ".", ".dylib"}};

bool library_try(const char *name, int number, const char *const *functions, size_t n, void **out) {
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
