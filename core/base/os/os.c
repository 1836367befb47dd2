/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of os.h that every POSIX system does the same way. */
#include "base/os/os.h"
#include "base/kit/kit.h"

#include <math.h>
#include <sys/resource.h>

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
