/* SPDX-License-Identifier: Apache-2.0 */
/* Which of OpenBLAS's kernels suit this processor. OpenBLAS chooses by model number and takes its
 * oldest kernels for models newer than itself, which are four times slower than they need be. It
 * reads its environment once, when it is loaded: whoever starts a process that multiplies sets
 * it. */
#include "base/openblas.h"
#include "device/exec/exec.h"

#include <stdlib.h>

/* What the processor can do, by the names OpenBLAS has for kernels that need it. */
static const char *best_core(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "OPENBLAS_CORETYPE=SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "OPENBLAS_CORETYPE=Haswell";
#endif
    return NULL;
}

const char *device_blas_environment(void) {
    static const char *const old[] = {"Prescott", "Core2", "Penryn", "Nehalem", "Sandybridge"};
    const char *chosen = openblas_get_corename();
    if (getenv("OPENBLAS_CORETYPE"))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(old); i++)
        if (strcmp(chosen, old[i]) == 0)
            return best_core();
    return NULL;
}
