// SPDX-License-Identifier: Apache-2.0
/* A file system that knows no locks is told apart from a session that somebody has. The linker puts
 * the flock below in place of the system's (tests/store/tests.cmake). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"

int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
    (void)fd, (void)operation;
    errno = (int)mock();
    return errno ? -1 : 0;
}

static void a_lock_that_cannot_be_had_is_told(void **unused) {
    (void)unused;
    static const int codes[] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    char folder[] = "/tmp/hone_lock_XXXXXX";
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        will_return(__wrap_flock, codes[i]);
        assert_null(store_open(folder, false, &err));
        assert_int_equal(err.kind, ERR_ENVIRONMENT);
        assert_non_null(strstr(err.text, "cannot lock"));
        assert_non_null(strstr(err.text, strerror(codes[i])));
        assert_non_null(strstr(err.text, "--read-only"));
    }
    will_return(__wrap_flock, 0);
    struct store *store = store_open(folder, false, &err);
    assert_non_null(store);
    assert_true(store_append(store, 1, "test", "{}", NULL, &err));
    will_return(__wrap_flock, EWOULDBLOCK);
    struct store *second = store_open(folder, false, &err);
    assert_non_null(second);
    assert_true(store_is_read_only(second));
    assert_non_null(strstr(store_why_read_only(second), "open in process"));
    store_close(second);
    store_close(store);
    assert_true(file_remove_tree(folder, &err));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lock_that_cannot_be_had_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
