/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that few commands need are loaded when they are first used: each of them brings others
 * along, and binding them all took two thirds of the time of a short command. Where
 * programs are no ELF files they are linked like the others.
 *
 * A header lists the functions it uses, LIST(X) with a row X(function) for each, and says
 * OS_LIBRARY(name, LIST) once. Then name()->function is the function; a macro of its name after
 * that makes calls look as ever. One source file says OS_LIBRARY_OPEN(name, LIST, "libx.so.1"). */
#ifndef HONE_BASE_OS_LIBRARY_H
#define HONE_BASE_OS_LIBRARY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/kit/kit.h"

#ifdef __ELF__ /* where the files of libraries are named as below */
#define HONE_LATE_LIBRARIES
#endif

/* Loads a shared library and puts its functions, n of them, one behind the other at *out. Ends the
 * process with a message when it is not there: what is needed to start at all otherwise. */
void os_library_load(const char *file, const char *const *functions, size_t n, void *out);

#define OS_LIBRARY_FIELD(function) __typeof__(function) *function;
#define OS_LIBRARY_NAME(function) #function,
#define OS_LIBRARY(name, LIST)     \
    struct name {                  \
        LIST(OS_LIBRARY_FIELD)     \
    };                             \
    /* The library's functions. */ \
    const struct name *name(void);

/* Two threads that come first at once load it twice, which is the same as once. */
#define OS_LIBRARY_OPEN(name, LIST, file)                                              \
    const struct name *name(void) {                                                    \
        static _Atomic(const struct name *) loaded; /* a process has a library once */ \
        static const char *const functions[] = {LIST(OS_LIBRARY_NAME)};                \
        const struct name *known = atomic_load(&loaded);                               \
        if (known)                                                                     \
            return known;                                                              \
        struct name *all = mem_alloc(1, sizeof *all);                                  \
        os_library_load(file, functions, COUNT_OF(functions), all);                    \
        if (atomic_compare_exchange_strong(&loaded, &known, all))                      \
            return all;                                                                \
        free(all);                                                                     \
        return known;                                                                  \
    }

#endif
