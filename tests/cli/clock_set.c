/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded by clock.py: from HONE_TEST_CLOCK_FROM on (milliseconds of the monotonic clock) the
 * wall clock is set ahead or back by HONE_TEST_CLOCK seconds. Clocks that nobody can set go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(which, now);
    struct timespec since;
    const char *by = getenv("HONE_TEST_CLOCK"), *from = getenv("HONE_TEST_CLOCK_FROM");
    if (which == CLOCK_REALTIME && by && from && real(CLOCK_MONOTONIC, &since) == 0 &&
        since.tv_sec * 1000 + since.tv_nsec / 1000000 >= atol(from))
        now->tv_sec += atol(by);
    return status;
}
