/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of os.h that are the same on every POSIX system. */
#include "base/os/os.h"
#include "base/kit/kit.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static bool lower_limit(int which, rlim_t soft, rlim_t hard) {
    struct rlimit limit;
    if (getrlimit(which, &limit) != 0)
        return false;
    if (limit.rlim_max == RLIM_INFINITY || hard < limit.rlim_max)
        limit.rlim_max = hard;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    return setrlimit(which, &limit) == 0;
}

bool os_limit_memory(uint64_t bytes) {
    return !bytes || lower_limit(RLIMIT_AS, (rlim_t)bytes, (rlim_t)bytes);
}

bool os_limit_cpu(double seconds) {
    if (!(seconds > 0) || seconds > 1e9)
        return true;
    rlim_t whole = (rlim_t)ceil(seconds);
    return lower_limit(RLIMIT_CPU, whole, whole + 1);
}

bool os_limit_files(uint64_t bytes) {
    return lower_limit(RLIMIT_CORE, 0, 0) &&
           lower_limit(RLIMIT_FSIZE, (rlim_t)bytes, (rlim_t)bytes);
}

bool os_limit_processes(unsigned count) {
    return !count || lower_limit(RLIMIT_NPROC, count, count);
}

bool os_can_limit_own_memory(void) {
#ifdef __SANITIZE_ADDRESS__
    return false;
#else
    return true;
#endif
}

static void *listen_for_end(void *fd) {
    struct pollfd out = {.fd = (int)(intptr_t)fd};
    while (poll(&out, 1, -1) < 0 && errno == EINTR)
        continue;
    if (out.revents & (POLLERR | POLLHUP))
        _exit(EXIT_FAILURE);
    return NULL;
}

void os_end_unheard(int fd) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, listen_for_end, (void *)(intptr_t)fd) == 0)
        pthread_detach(thread);
}
