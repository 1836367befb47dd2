/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

static void the_program_knows_where_it_is(void **state) {
    (void)state;
    char *path = os_executable_path();
    assert_non_null(path);
    assert_true(str_ends(str_of(path), "test_base_os"));
    assert_int_equal(access(path, X_OK), 0);
    free(path);
}

static void the_machine_has_cores_and_memory(void **state) {
    (void)state;
    assert_true(os_cpu_count() >= 1);
#ifdef __linux__
    assert_true(os_available_memory() > (1 << 20));
#endif
}

/* Limits hold for the process that sets them, so a child tries them. */
static int in_child(bool (*try)(void)) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(try() ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool limit_and_look(void) {
    struct rlimit cpu, memory;
    return os_limit_cpu(2.5) && os_limit_memory((uint64_t)1 << 45) &&
           getrlimit(RLIMIT_CPU, &cpu) == 0 && cpu.rlim_cur == 3 &&
           getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur == (rlim_t)1 << 45 &&
           os_limit_cpu(0) && os_limit_memory(0) && getrlimit(RLIMIT_CPU, &cpu) == 0 &&
           cpu.rlim_cur == 3;
}

static bool descriptors_close(void) {
    int fd = open("/dev/null", O_RDONLY);
    os_close_at_exec(3);
    return fd >= 3 && fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static bool orphan_notices(void) {
    return os_die_with_parent(getppid()) && !os_die_with_parent(getpid());
}

/* What was held while work went on goes back at its end. */
static bool memory_comes_and_goes(void) {
    enum { BLOCKS = 32 };
    const size_t megabyte = 1 << 20, size = 5 * megabyte;
    void *blocks[BLOCKS];
    uint64_t before = os_process_memory(getpid());
    os_hold_memory();
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(size), i, size);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    uint64_t held = os_process_memory(getpid());
    os_return_memory();
    uint64_t after = os_process_memory(getpid());
    return held > before + BLOCKS / 2 * size && after < before + 4 * size;
}

static void limits_descriptors_and_parents(void **state) {
    (void)state;
    assert_int_equal(in_child(limit_and_look), 0);
    assert_int_equal(in_child(descriptors_close), 0);
#ifdef __linux__
    assert_int_equal(in_child(orphan_notices), 0);
#endif
}

static void memory_is_held_and_returned(void **state) {
    (void)state;
#if defined __linux__ && defined __GLIBC__ && !defined __SANITIZE_ADDRESS__
    assert_int_equal(in_child(memory_comes_and_goes), 0);
#else
    (void)memory_comes_and_goes; /* another allocator */
#endif
}

/* As this system names them; a library that is not there, or without the function, is none. */
static void libraries_that_may_be_missing_are_found_by_name(void **unused) {
    (void)unused;
    static const char *const functions[] = {"zlibVersion", NULL}, *const none[] = {"no_such"};
    void *found[2] = {NULL, NULL};
    assert_true(os_library_try("z", 1, functions, 2, found));
    assert_non_null(found[0]);
    assert_null(found[1]);
    assert_false(os_library_try("z", 1, none, 1, found));
    assert_false(os_library_try("no-such-library", 1, functions, 2, found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_knows_where_it_is),
        cmocka_unit_test(the_machine_has_cores_and_memory),
        cmocka_unit_test(libraries_that_may_be_missing_are_found_by_name),
        cmocka_unit_test(limits_descriptors_and_parents),
        cmocka_unit_test(memory_is_held_and_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
