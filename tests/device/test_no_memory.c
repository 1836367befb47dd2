/* SPDX-License-Identifier: Apache-2.0 */
/* A machine whose memory is taken: the kernel keeps within its limit, but the system refuses. That
 * is the machine's trouble and never the kernel's. It has a program of its own, because the refusal
 * is a limit of the whole process. */
#include "device/build.h"

#include <string.h>
#include <sys/resource.h>

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer reserves more than any limit of address space, and has a limit of its own. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}
static void take_the_memory(void) {
}
#else
static void take_the_memory(void) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = 1ull << 30;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}
#endif

/* 8 GiB, half of what a kernel may have. */
static void memory_that_others_have_is_not_the_kernels_fault(void **state) {
    (void)state;
    struct build b = build_start("trn2");
    uint32_t t = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 2, 2);
    uint32_t large = build_hbm(&b, DTYPE_FLOAT32, 8192, 262144);
    RUN(&b, MEMSET, tile(build_all(&b, t)), number(9));
    build_copy(&b, build_part(&b, large, 0, 2, 0, 2), build_all(&b, t));
    build_store(&b, t);
    take_the_memory();
    assert_false(build_run(&b));
    assert_int_equal(b.err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(b.err.text, "this machine has no 8589934592 bytes of memory left"));
    build_end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_others_have_is_not_the_kernels_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
