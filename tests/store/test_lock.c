// SPDX-License-Identifier: Apache-2.0
/* A file system that knows no locks is told apart from a session that somebody has. The linker puts
 * the flock below in place of the system's (tests/store/tests.cmake). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

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
    will_return_count(__wrap_flock, EWOULDBLOCK, 3);
    struct store *second = store_open(folder, false, &err);
    assert_non_null(second);
    assert_true(store_is_read_only(second));
    assert_non_null(strstr(store_why_read_only(second), "open in process"));
    char *holder = NULL;
    will_return(__wrap_flock, EWOULDBLOCK);
    assert_false(store_is_free(second, &holder));
    assert_string_equal(holder, store_holder(second));
    free(holder);
    will_return(__wrap_flock, ENOLCK);
    assert_false(store_is_free(second, &holder));
    assert_null(holder);
    will_return(__wrap_flock, 0);
    assert_true(store_is_free(second, &holder));
    assert_null(holder);
    store_close(second);
    store_close(store);
    assert_true(file_remove_tree(folder, &err));
}

static char unlockable[32];

static int no_fcntl(int fd, int command, ...) {
    char link[64], path[256] = "";
    va_list list;
    va_start(list, command);
    void *more = va_arg(list, void *);
    va_end(list);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bool ours = readlink(link, path, sizeof path - 1) > 0 && strstr(path, unlockable);
    if (ours && (command == F_GETLK || command == F_SETLK || command == F_SETLKW)) {
        errno = ENOLCK;
        return -1;
    }
    return fcntl(fd, command, more);
}

/* Where SQLite gets no locks either, a session can still be looked at, as the message above says
 * it can: whether hone closed it or was killed. */
static void without_locks_it_is_looked_at(void **unused) {
    (void)unused;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    for (int killed = 0; killed < 2; killed++) {
        char folder[] = "/tmp/hone_lock_XXXXXX";
        struct err err = {0};
        assert_non_null(mkdtemp(folder));
        snprintf(unlockable, sizeof unlockable, "%s", folder);
        pid_t child = fork();
        if (!child) {
            will_return(__wrap_flock, 0);
            struct store *store = store_open(folder, false, &err);
            bool ok = store && store_append(store, 1, "test", "{}", NULL, &err);
            if (!killed)
                store_close(store);
            _exit(!ok);
        }
        int status = 1;
        assert_true(waitpid(child, &status, 0) == child && status == 0);
        assert_int_equal(vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)no_fcntl),
                         SQLITE_OK);
        struct store *store = store_open(folder, true, &err);
        assert_string_equal(err.text, "");
        assert_non_null(store);
        assert_int_equal(store_last_seq(store), 1);
        store_close(store);
        assert_int_equal(vfs->xSetSystemCall(vfs, "fcntl", NULL), SQLITE_OK);
        assert_true(file_remove_tree(folder, &err));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lock_that_cannot_be_had_is_told),
                                       cmocka_unit_test(without_locks_it_is_looked_at)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
