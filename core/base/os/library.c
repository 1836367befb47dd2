/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/library.h"

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
