// SPDX-License-Identifier: Apache-2.0
// The session on disk: events that survive, one writer, versions, a full disk, derived tables.
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/scratch.h"
#include "store/store.h"

static bool count_one(void *data, const struct store_event *event) {
    int *count = data;
    ++*count;
    char text[40];
    snprintf(text, sizeof text, "{\"n\":%d}", *count);
    assert_string_equal(event->payload, text);
    assert_int_equal(event->seq, *count);
    return true;
}

static void append_numbered(struct store *store, int from, int to) {
    for (int i = from; i <= to; i++) {
        char text[40];
        snprintf(text, sizeof text, "{\"n\":%d}", i);
        struct err err = {0};
        int64_t seq = 0;
        if (!store_append(store, 1000 + i, "test", text, &seq, &err))
            fail_msg("event %d: %s", i, err.text);
        assert_int_equal(seq, i);
    }
}

static bool note_seq(void *data, const struct store_event *event) {
    *(int64_t *)data = event->seq;
    return true;
}

static int64_t last_seq(struct store *store) {
    int64_t seq = 0;
    struct err err = {0};
    assert_true(store_replay(store, 0, note_seq, &seq, &err));
    return seq;
}

static void events_come_back_in_order(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    assert_false(store_is_read_only(store));
    append_numbered(store, 1, 50);
    store_close(store);
    store = open_ok(folder);
    append_numbered(store, 51, 60);
    int count = 0;
    struct err err = {0};
    assert_true(store_replay(store, 0, count_one, &count, &err));
    assert_int_equal(count, 60);
    assert_int_equal(last_seq(store), 60);
    store_close(store);
    scratch_end(folder);
}

static void a_second_process_reads_only(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    append_numbered(store, 1, 3);
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        struct store *second = store_open(folder, false, &err);
        char expected[40];
        snprintf(expected, sizeof expected, "process %ld on ", (long)getppid());
        int count = 0;
        bool ok = second && store_is_read_only(second) && store_holder(second) &&
                  str_starts(str_of(store_holder(second)), expected) &&
                  store_replay(second, 0, count_one, &count, &err) && count == 3 &&
                  !store_append(second, 1, "test", "{}", NULL, &err) && strstr(err.text, expected);
        store_close(second);
        _exit(ok ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    append_numbered(store, 4, 4);
    store_close(store);
    scratch_end(folder);
}

static void a_killed_process_leaves_no_lock_and_loses_nothing(void **unused) {
    (void)unused;
    char *folder = scratch();
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        struct store *store = store_open(folder, false, &err);
        for (int i = 1; store; i++) {
            char text[40];
            snprintf(text, sizeof text, "{\"n\":%d}", i);
            if (!store_append(store, i, "test", text, NULL, &err))
                _exit(1);
            if (write(told[1], &i, sizeof i) != sizeof i)
                _exit(2);
        }
        _exit(3);
    }
    int last = 0, seen;
    close(told[1]);
    while (last < 200 && read(told[0], &seen, sizeof seen) == sizeof seen)
        last = seen;
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(told[0], &seen, sizeof seen) == sizeof seen)
        last = seen;
    close(told[0]);
    struct store *store = open_ok(folder);
    assert_false(store_is_read_only(store));
    int count = 0;
    struct err err = {0};
    assert_true(store_replay(store, 0, count_one, &count, &err));
    assert_in_range(count, last, last + 1);
    append_numbered(store, count + 1, count + 5);
    store_close(store);
    scratch_end(folder);
}

static void a_newer_version_is_refused(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    append_numbered(store, 1, 3);
    store_close(store);
    scratch_sql(folder, "PRAGMA user_version=99");
    struct err err = {0};
    assert_null(store_open(folder, false, &err));
    assert_non_null(strstr(err.text, "newer hone"));
    assert_non_null(strstr(err.text, "99"));
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    scratch_sql(folder, "PRAGMA user_version=2");
    store = open_ok(folder);
    assert_int_equal(last_seq(store), 3);
    store_close(store);
    scratch_end(folder);
}

static void what_is_no_session_is_left_alone(void **unused) {
    (void)unused;
    char *folder = scratch();
    scratch_sql(folder, "CREATE TABLE other(a); PRAGMA application_id=5");
    struct err err = {0};
    assert_null(store_open(folder, false, &err));
    assert_non_null(strstr(err.text, "not a session of hone"));
    char *path = path_join(folder, "session.db");
    assert_true(file_write(path, "this is no database at all, just some text", 42, &err));
    assert_null(store_open(folder, false, &err));
    assert_non_null(strstr(err.text, "cannot be read"));
    free(path);
    scratch_end(folder);
}

/* A limit on file sizes stands for a full disk: the write fails, and what is there stays. */
static void a_full_disk_loses_nothing(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    append_numbered(store, 1, 10);
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 400 * 1024;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    char *big = mem_alloc(300001, 1);
    memset(big, 'x', 300000);
    struct err err = {0};
    bool first = store_append(store, 1, "big", big, NULL, &err);
    bool second = store_append(store, 1, "big", big, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    free(big);
    assert_false(first && second);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "Nothing that you saw is lost"));
    int64_t last = last_seq(store);
    assert_int_equal(last, first ? 11 : 10);
    assert_true(store_append(store, 1, "test", "{}", NULL, &err));
    store_close(store);
    store = open_ok(folder);
    assert_int_equal(last_seq(store), last + 1);
    store_close(store);
    scratch_end(folder);
}

/* Nothing can be written beside the session: it is there to be looked at, and says why. */
static void a_session_on_a_full_disk_can_be_looked_at(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    append_numbered(store, 1, 20);
    store_close(store);
    struct rlimit before, none;
    getrlimit(RLIMIT_FSIZE, &before);
    none = before;
    none.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    store = open_ok(folder);
    assert_true(store_is_read_only(store));
    assert_non_null(strstr(store_why_read_only(store), "nothing can be written beside"));
    assert_int_equal(last_seq(store), 20);
    store_close(store);
    setrlimit(RLIMIT_FSIZE, &before);
    store = open_ok(folder);
    assert_false(store_is_read_only(store));
    append_numbered(store, 21, 22);
    store_close(store);
    scratch_end(folder);
}

static bool first_value(void *data, size_t count, const char *const *names,
                        const char *const *values) {
    assert_true(count >= 1 && names[0]);
    snprintf(data, 100, "%s", values[0] ? values[0] : "null");
    return true;
}

static void derived_tables_answer_queries(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    struct err err = {0};
    for (int turn = 0; turn < 2; turn++) {
        assert_true(store_attempt_begin(store, 3, &err));
        struct store_cell cells[] = {{.is = STORE_INT, .integer = 3},
                                     {.is = STORE_TEXT, .text = "hbm_read_bytes"},
                                     {.is = STORE_REAL, .real = turn ? NAN : 42.5},
                                     {.is = STORE_TEXT, .text = "bytes"}};
        assert_true(store_table_row(store, "metrics", cells, COUNT_OF(cells), &err));
        assert_true(store_attempt_end(store, 7 + turn, &err));
        char value[100] = "";
        assert_true(store_query(store, "SELECT value FROM metrics WHERE attempt = 3", first_value,
                                value, &err));
        assert_string_equal(value, turn ? "null" : "42.5");
    }
    assert_int_equal(store_derived_seq(store), 8);
    char value[100];
    assert_false(store_query(store, "DELETE FROM metrics", first_value, value, &err));
    assert_false(store_query(store, "SELECT 1; DROP TABLE events", first_value, value, &err));
    assert_false(store_query(store, "SELEKT", first_value, value, &err));
    assert_non_null(strstr(err.text, "does not parse"));
    store_close(store);
    scratch_end(folder);
}

static void artefacts_lie_under_their_hash(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    struct err err = {0};
    struct hash hash, again;
    assert_true(store_artefact_put(store, "abc", 3, &hash, &err));
    assert_true(store_artefact_put(store, "abc", 3, &again, &err));
    assert_string_equal(hash.hex, again.hex);
    char *path = store_artefact_path(store, hash.hex);
    size_t size = 0;
    char *data = file_read(path, 0, &size, &err);
    assert_non_null(data);
    assert_int_equal(size, 3);
    free(data);
    free(path);
    assert_null(store_artefact_path(store, "../../etc/passwd"));
    assert_null(store_artefact_path(store, NULL));
    store_close(store);
    scratch_end(folder);
}

static void setting_aside_keeps_the_old_session(void **unused) {
    (void)unused;
    char *top = scratch(), *folder = path_join(top, "silu");
    struct err err = {0};
    assert_true(store_set_aside(folder, &err));
    struct store *store = open_ok(folder);
    append_numbered(store, 1, 2);
    store_close(store);
    assert_true(store_set_aside(folder, &err));
    assert_false(store_exists(folder));
    char *aside = path_join(top, "silu.1");
    store = open_ok(aside);
    assert_int_equal(last_seq(store), 2);
    store_close(store);
    free(aside);
    free(folder);
    scratch_end(top);
}

static pid_t ended_process(void) {
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* Of what stands beside the files of a session only that of processes that are gone goes. */
static void what_killed_hones_left_goes(void **unused) {
    (void)unused;
    const long dead = ended_process(), alive = getppid();
    const unsigned here = file_machine(), there = here + 1;
    const struct {
        const char *name;
        unsigned machine;
        long process;
        bool goes;
    } all[] = {{"experiments.jsonl", here, dead, true},
               {"artifacts/0123", here, dead, true},
               {"checkpoints/attempt_000.py", here, dead, true},
               {"optimization_memory/rewrites.json", here, dead, true},
               {"hone.log", here, alive, false},
               {"session.db-head", there, dead, false}};
    char *folder = scratch(), *paths[COUNT_OF(all)];
    struct err err = {0};
    store_close(open_ok(folder));
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct buf name = {0};
        buf_printf(&name, "%s/%s.hone-%08x-%ld-AbCdEf", folder, all[i].name, all[i].machine,
                   all[i].process);
        paths[i] = buf_take(&name);
        char *above = path_folder(paths[i]);
        assert_true(file_make_dirs(above, &err) && file_append(paths[i], "x", 1, &err));
        free(above);
    }
    struct store *store = open_ok(folder);
    assert_true(store_settle(store, &err));
    store_close(store);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (file_exists(paths[i]) == all[i].goes)
            fail_msg("%s is %sthere", paths[i], all[i].goes ? "still " : "not ");
        free(paths[i]);
    }
    scratch_end(folder);
}

/* Everything below a folder is open to its owner only. */
static void assert_private(const char *path) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    if (!S_ISLNK(st.st_mode) && st.st_mode & 077)
        fail_msg("%s has mode %o", path, (unsigned)st.st_mode & 07777);
    DIR *dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *inner = path_join(path, entry->d_name);
        assert_private(inner);
        free(inner);
    }
    if (dir)
        closedir(dir);
}

static void fill(const char *folder) {
    struct store *store = open_ok(folder);
    struct err err = {0};
    struct hash hash;
    append_numbered(store, 1, 2);
    assert_true(store_artefact_put(store, "a prompt", 8, &hash, &err));
    assert_true(store_file_write(store, "checkpoints/attempt_001.py", STR("x = 1\n"), &err));
    assert_true(store_file_write(store, "experiments.jsonl", STR("{}\n"), &err));
    store_log(store, "info", "hello");
    assert_private(folder); /* with the files that SQLite has while it is open */
    store_close(store);
}

static void a_session_is_its_owners_alone(void **unused) {
    (void)unused;
    char *top = scratch(), *folder = path_join(top, "deep/silu");
    mode_t before = umask(0);
    fill(folder);
    assert_private(folder);
    umask(before);
    free(folder);
    scratch_end(top);
}

static mode_t mode_of(const char *folder, const char *name) {
    struct stat st;
    char *path = path_join(folder, name);
    assert_int_equal(stat(path, &st), 0);
    free(path);
    return st.st_mode & 07777;
}

/* As older hones made them. What a link points to belongs to somebody else. */
static void an_old_session_is_closed_when_it_is_opened(void **unused) {
    (void)unused;
    char *top = scratch(), *folder = path_join(top, "silu"), *other = path_join(top, "other"),
         *link = path_join(top, "silu/artifacts/link");
    struct err err = {0};
    char command[200];
    fill(folder);
    assert_true(file_write(other, "x", 1, &err));
    assert_int_equal(chmod(other, 0644), 0);
    assert_int_equal(symlink(other, link), 0);
    snprintf(command, sizeof command, "chmod -R a+rX %s/silu", top);
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(other, 0644), 0);
    assert_int_equal(mode_of(top, "silu") & 077, 055);
    struct store *store = store_open(folder, true, &err); /* whoever only looks changes nothing */
    assert_int_equal(mode_of(top, "silu") & 077, 055);
    store_close(store);
    store_close(open_ok(folder));
    assert_private(folder);
    assert_int_equal(mode_of(top, "other"), 0644);
    free(link);
    free(other);
    free(folder);
    scratch_end(top);
}

/* Whether another process finds SQLite's shared lock on the file (sqlite3.c: SHARED_FIRST). */
static bool is_locked(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        struct flock look = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
        int fd = open(path, O_RDWR);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &look) == 0 && look.l_type != F_UNLCK ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Otherwise a program that only reads merges and removes the log of SQLite when it ends. */
static void the_locks_of_a_session_stay(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db");
    struct store *store = open_ok(folder);
    struct err err = {0};
    append_numbered(store, 1, 3);
    store_close(store); /* in order: its bytes are compared when it is opened */
    for (int early = 0; early < 2; early++) {
        store = early ? store_open_early(folder, false, &err) : open_ok(folder);
        assert_non_null(store);
        assert_true(store_settle(store, &err));
        append_numbered(store, 4 + early, 4 + early);
        assert_true(is_locked(path));
        struct store *looks = store_open(folder, true, &err); /* as an export does meanwhile */
        assert_non_null(looks);
        store_close(looks);
        assert_true(is_locked(path));
        store_close(store);
    }
    free(path);
    scratch_end(folder);
}

static void cut(const char *folder, const char *name, off_t size) {
    char *path = path_join(folder, name);
    assert_int_equal(truncate(path, size), 0);
    free(path);
}

static void copy(const char *folder, const char *from, const char *to) {
    struct err err = {0};
    size_t size = 0;
    char *source = path_join(folder, from), *target = path_join(folder, to);
    char *bytes = file_read(source, 0, &size, &err);
    assert_non_null(bytes);
    FILE *file = fopen(target, "r+"); /* in place, as cp does */
    file = file ? file : fopen(target, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    free(bytes);
    free(target);
    free(source);
}

/* What another program writes into the files is noticed before the next event is acknowledged. */
static void who_writes_into_the_files_is_noticed(void **unused) {
    (void)unused;
    for (int way = 0; way < 5; way++) {
        char *folder = scratch();
        struct store *store = open_ok(folder);
        struct err err = {0};
        append_numbered(store, 1, 20);
        copy(folder, "session.db", "kept");
        copy(folder, "session.db-wal", "kept-wal");
        append_numbered(store, 21, 40);
        assert_false(store_is_lost(store));
        switch (way) {
        case 0: cut(folder, "session.db-wal", 0); break;
        case 1: scratch_sql(folder, "DELETE FROM events WHERE seq = 3"); break;
        case 2: copy(folder, "kept-wal", "session.db-wal"); break;
        case 3: cut(folder, "session.db", 512); break;
        case 4: scratch_sql(folder, "CREATE TABLE more(x)"); break;
        }
        if (!store_is_lost(store))
            fail_msg("way %d is not noticed", way);
        assert_false(store_append(store, 1, "test", "{}", NULL, &err));
        assert_int_equal(err.kind, ERR_DAMAGED);
        store_close(store);
        scratch_end(folder);
    }
}

/* Its bytes are no part of the session: it is made again. */
static void an_index_that_was_cut_is_made_again(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    struct err err = {0};
    append_numbered(store, 1, 20);
    for (int turn = 0; turn < 3; turn++) {
        cut(folder, "session.db-shm", turn * 100);
        append_numbered(store, 21 + turn * 10, 30 + turn * 10);
        cut(folder, "session.db-shm", 0);
        int count = 0;
        assert_true(store_replay(store, 0, count_one, &count, &err));
        assert_int_equal(count, 30 + turn * 10);
    }
    store_close(store);
    store = open_ok(folder);
    assert_int_equal(store_last_seq(store), 50);
    store_close(store);
    scratch_end(folder);
}

/* Another program makes it long again, or writes into it, and then the log is merged. */
static void an_index_with_other_bytes_is_made_again(void **unused) {
    (void)unused;
    static const long from[] = {0, 16, 100, 136, 148, 200, 16384, 20000};
    for (size_t way = 0; way < 2 * COUNT_OF(from); way++) {
        char *folder = scratch();
        struct store *store = open_ok(folder);
        int count = 0;
        struct err err = {0};
        append_numbered(store, 1, 40);
        char *path = path_join(folder, "session.db-shm");
        FILE *file = fopen(path, "r+");
        assert_true(file && fseek(file, from[way / 2], SEEK_SET) == 0);
        for (long at = from[way / 2]; at < (way % 2 ? from[way / 2] + 1 : 32768); at++)
            fputc(way % 2 ? 'A' : 0, file);
        assert_int_equal(fclose(file), 0);
        if (way % 4 < 2)
            append_numbered(store, 41, 50);
        store_close(store);
        store = open_ok(folder);
        if (store_note(store) || !store_replay(store, 0, count_one, &count, &err) ||
            count != (way % 4 < 2 ? 50 : 40))
            fail_msg("way %zu: %d events, %s; %s", way, count, err.text, store_note(store));
        store_close(store);
        free(path);
        scratch_end(folder);
    }
}

/* What the store writes itself is no such thing: merges of SQLite's log, tables, a long log. */
static void what_the_store_writes_is_its_own(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct store *store = open_ok(folder);
    struct err err = {0};
    char *text = mem_alloc(100001, 1);
    memset(text, ' ', 100000);
    memcpy(text, "{}", 2);
    for (int i = 0; i < 120; i++) {
        assert_true(store_append(store, 1, "test", text, NULL, &err));
        if (i % 10)
            continue;
        struct store_cell cells[] = {{.is = STORE_INT, .integer = i},
                                     {.is = STORE_INT, .integer = 1},
                                     {.is = STORE_REAL, .real = 2},
                                     {.is = STORE_INT, .integer = 0}};
        assert_true(store_attempt_begin(store, i, &err));
        assert_true(store_table_row(store, "samples", cells, 4, &err));
        assert_true(store_attempt_end(store, i, &err));
        assert_false(store_is_lost(store));
        scratch_sql(folder, "SELECT count(*) FROM events");
        assert_false(store_is_lost(store));
    }
    store_close(store);
    store = open_ok(folder);
    assert_int_equal(store_last_seq(store), 120);
    store_close(store);
    free(text);
    scratch_end(folder);
}

/* --session . in a project: its files are not hone's. */
static void a_folder_with_other_things_stays_open(void **unused) {
    (void)unused;
    char *folder = scratch(), *own = path_join(folder, "kernel.py");
    struct err err = {0};
    assert_true(file_write(own, "x", 1, &err));
    assert_true(chmod(folder, 0755) == 0 && chmod(own, 0644) == 0);
    for (int i = 0; i < 2; i++) {
        store_close(open_ok(folder));
        assert_int_equal(mode_of(folder, ""), 0755);
        assert_int_equal(mode_of(folder, "kernel.py"), 0644);
        assert_int_equal(mode_of(folder, "session.db"), 0600);
        assert_int_equal(mode_of(folder, "hone.log"), 0600);
        assert_int_equal(mode_of(folder, "lock"), 0600);
    }
    free(own);
    scratch_end(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back_in_order),
        cmocka_unit_test(a_second_process_reads_only),
        cmocka_unit_test(a_killed_process_leaves_no_lock_and_loses_nothing),
        cmocka_unit_test(a_newer_version_is_refused),
        cmocka_unit_test(what_is_no_session_is_left_alone),
        cmocka_unit_test(a_full_disk_loses_nothing),
        cmocka_unit_test(a_session_on_a_full_disk_can_be_looked_at),
        cmocka_unit_test(derived_tables_answer_queries),
        cmocka_unit_test(artefacts_lie_under_their_hash),
        cmocka_unit_test(a_session_is_its_owners_alone),
        cmocka_unit_test(an_old_session_is_closed_when_it_is_opened),
        cmocka_unit_test(the_locks_of_a_session_stay),
        cmocka_unit_test(who_writes_into_the_files_is_noticed),
        cmocka_unit_test(an_index_that_was_cut_is_made_again),
        cmocka_unit_test(an_index_with_other_bytes_is_made_again),
        cmocka_unit_test(what_the_store_writes_is_its_own),
        cmocka_unit_test(a_folder_with_other_things_stays_open),
        cmocka_unit_test(setting_aside_keeps_the_old_session),
        cmocka_unit_test(what_killed_hones_left_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
