/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kit/testing.h"
#include "base/base.h"

static void arena_memory_is_zeroed_and_aligned(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        unsigned char *memory = arena_alloc(arena, 1, size);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xff, size);
    }
    arena_reset(arena);
    assert_int_equal(arena_bytes(arena), 0);
    assert_int_equal(*(unsigned char *)arena_alloc(arena, 1, 1), 0);
    arena_free(arena);
}

static void a_map_finds_what_was_put_and_keeps_the_order(void **state) {
    (void)state;
    struct map map = {0};
    char key[16];
    for (intptr_t i = 0; i < 1000; i++) {
        int len = snprintf(key, sizeof key, "key%d", (int)i);
        map_put(&map, (struct str){key, (size_t)len})->value = (void *)(i + 1);
    }
    assert_int_equal(map.len, 1000);
    assert_int_equal((intptr_t)map_get(&map, STR("key777")), 778);
    assert_null(map_get(&map, STR("key1000")));
    assert_string_equal(map.entries[5].key, "key5");
    map_free(&map);
}

static void equal_texts_are_kept_once(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct text_pool *pool = text_pool_new(arena);
    const char *kept[3000];
    char text[9000];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 3000; i++) { /* short ones, and some longer than an arena's piece */
            int len = snprintf(text, sizeof text, "text %d %*s", i, i % 500 ? 1 : 8000, "x");
            const char *now = text_pool_keep(pool, (struct str){text, (size_t)len});
            assert_string_equal(now, text);
            if (turn)
                assert_ptr_equal(now, kept[i]);
            kept[i] = now;
        }
    assert_ptr_equal(text_pool_keep(pool, STR("")), text_pool_keep(pool, STR("")));
    assert_int_equal(text_pool_count(pool), 3001);
    text_pool_free(pool);
    arena_free(arena);
}

static void rows_are_found_by_their_hash_in_order(void **state) {
    (void)state;
    struct by_hash index = {0};
    size_t at = 0, row = 0;
    assert_false(by_hash_next(&index, 5, &at, &row));
    for (size_t i = 0; i < 1000; i++)
        by_hash_put(&index, i % 250, i);
    for (uint64_t hash = 0; hash < 250; hash++) {
        at = 0;
        for (size_t i = 0; i < 4; i++) {
            assert_true(by_hash_next(&index, hash, &at, &row));
            assert_int_equal(row, hash + i * 250);
        }
        assert_false(by_hash_next(&index, hash, &at, &row));
    }
    at = 0;
    assert_false(by_hash_next(&index, 250, &at, &row));
    by_hash_free(&index);
}

static void a_reply_is_yes_or_no_or_unclear(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum str_reply reply;
    } rows[] = {{"yes", STR_YES},        {" Y\n", STR_YES},     {"YES", STR_YES},
                {"no", STR_NO},          {"N", STR_NO},         {"", STR_UNCLEAR},
                {"maybe", STR_UNCLEAR},  {"yess", STR_UNCLEAR}, {"nope", STR_UNCLEAR},
                {"yes no", STR_UNCLEAR}, {"ye", STR_UNCLEAR}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(str_reply(str_of(rows[i].text)), rows[i].reply);
}

static void numbers_are_whole_texts(void **state) {
    (void)state;
    long long value;
    assert_true(str_to_int(STR("-12"), &value));
    assert_int_equal(value, -12);
    assert_false(str_to_int(STR("12x"), &value));
    assert_false(str_to_int(STR(""), &value));
    assert_false(str_to_int(STR("99999999999999999999"), &value));
    double number;
    assert_true(str_to_double(STR("2e-5"), &number));
    assert_false(str_to_double(STR("two"), &number));
}

static void is_a_link_with(const char *folder, const char *name, const char *there) {
    char *path = path_join(folder, name), *target = path_join(folder, there);
    struct err err = {0};
    struct stat st;
    assert_true(file_write(path, "through", 7, &err));
    assert_true(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    char *text = file_read(target, 0, NULL, &err);
    assert_string_equal(text, "through");
    free(text);
    free(target);
    free(path);
}

/* A file that a person names is written where its links lead, over links of links, and to what does
 * not exist yet. */
static void a_link_stays_a_link(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-base-XXXXXX";
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    char *path = path_join(folder, "own"), *second = path_join(folder, "second");
    char *ring = path_join(folder, "ring"), *missing = path_join(folder, "missing");
    assert_true(file_write(path, "before", 6, &err));
    assert_int_equal(chmod(path, 0640), 0);
    char *first = path_join(folder, "first"), *inside = path_join(folder, "inside");
    assert_int_equal(symlink(path, first), 0);
    assert_int_equal(symlink("first", second), 0);
    assert_int_equal(symlink("not-there-yet", missing), 0);
    assert_int_equal(symlink("ring", ring), 0);
    is_a_link_with(folder, "second", "own");
    is_a_link_with(folder, "missing", "not-there-yet");
    struct stat st;
    assert_true(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    assert_false(file_write(ring, "x", 1, &err));
    /* Nothing leads hone's own files to another place. */
    assert_int_equal(symlink(path, inside), 0);
    assert_true(file_write_private(inside, "kept", 4, &err));
    assert_true(lstat(inside, &st) == 0 && S_ISREG(st.st_mode));
    assert_true(file_remove_tree(folder, &err));
    char *const all[] = {path, second, ring, missing, first, inside};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free(all[i]);
}

static void a_pipe_stays_a_pipe(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = path_join(folder, "pipe"), text[8] = "";
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    struct err err = {0};
    assert_true(file_write(path, "whole", 5, &err));
    assert_int_equal(read(fd, text, sizeof text - 1), 5);
    assert_string_equal(text, "whole");
    struct stat st;
    assert_true(stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    close(fd);
    assert_true(file_remove_tree(folder, &err));
    free(path);
}

/* What a foreign folder has where a file should be. Nobody writes into the pipe. */
static void what_is_no_file_is_refused_without_waiting(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *pipe_path = path_join(folder, "pipe"), *socket_path = path_join(folder, "socket");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(mknod(socket_path, S_IFSOCK | 0600, 0), 0);
    const struct {
        const char *path, *is;
    } all[] = {{pipe_path, "it is a pipe"},
               {socket_path, "it is a socket"},
               {"/dev/zero", "it is a device"},
               {folder, "it is a folder"}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct err err = {0};
        assert_null(file_read(all[i].path, 0, NULL, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_non_null(strstr(err.text, all[i].is));
    }
    struct err err = {0};
    assert_int_equal(file_open(pipe_path, O_WRONLY | O_CREAT, 0600, &err), -1);
    assert_non_null(strstr(err.text, "cannot write"));
    assert_non_null(strstr(err.text, "it is a pipe"));
    assert_true(file_remove_tree(folder, NULL));
    free(pipe_path);
    free(socket_path);
}

/* As in hone check <(...), where who writes may be slow. */
static void what_a_shell_passes_in_is_read(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (!writer) {
        usleep(20000);
        _exit(write(ends[1], "late", 4) == 4 ? 0 : 1);
    }
    close(ends[1]);
    struct buf path = {0};
    buf_printf(&path, "/dev/fd/%d", ends[0]);
    struct err err = {0};
    char *text = file_read(path.at, 0, NULL, &err);
    assert_string_equal(text, "late");
    free(text);
    buf_free(&path);
    close(ends[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    text = file_read("/dev/null", 0, NULL, &err);
    assert_string_equal(text, "");
    free(text);
}

static void a_file_is_replaced_whole(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *deep = path_join(folder, "a/b/c");
    struct err err = {0};
    assert_true(file_make_dirs(deep, &err));
    char *path = path_join(deep, "file");
    assert_true(file_write(path, "first", 5, &err));
    assert_true(file_write(path, "second", 6, &err));
    size_t size;
    char *text = file_read(path, 0, &size, &err);
    assert_string_equal(text, "second");
    assert_int_equal(size, 6);
    free(text);
    assert_null(file_read(path, 3, &size, &err));
    assert_non_null(strstr(err.text, "larger than 3"));
    assert_true(file_remove_tree(folder, &err));
    assert_false(file_exists(folder));
    free(path);
    free(deep);
}

static void a_path_from_here_has_no_dots(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"./kernel.py", "/kernel.py"}, {".//./a/b", "/a/b"}, {".", ""}, {"./", ""},
        {".hone/x", "/.hone/x"},       {"../x", "/../x"}};
    char *here = getcwd(NULL, 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *whole = path_absolute(rows[i][0]);
        assert_int_equal(strncmp(whole, here, strlen(here)), 0);
        assert_string_equal(whole + strlen(here), rows[i][1]);
        free(whole);
    }
    free(here);
}

static void a_diagnostic_prints_like_a_compilers(void **state) {
    (void)state;
    struct diag_list list = {0};
    diag_add(&list, DIAG_ERROR, "err_x", "k.py", 4, 7, "tile has %d partitions", 256);
    struct buf text = {0};
    diag_print(&list.all.at[0], &text);
    assert_string_equal(text.at, "k.py:4:7: error: tile has 256 partitions [err_x]");
    assert_int_equal(list.errors, 1);
    buf_free(&text);
    diag_free(&list);
}

static void durations_have_three_digits(void **state) {
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {
        {8.42e-4, "0.842 ms"}, {1.24e-5, "12.4 µs"}, {1.31, "1.31 s"}, {0.5e-9, "0.500 ns"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0};
        clock_print_duration(&text, rows[i].seconds);
        assert_string_equal(text.at, rows[i].text);
        buf_free(&text);
    }
}

static void durations_are_read_with_their_unit(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double seconds; /* 0: none */
    } rows[] = {{"400us", 4e-4}, {"1.5 ms", 1.5e-3}, {" 12.4 µs ", 1.24e-5},
                {"2s", 2},       {"7ns", 7e-9},      {"400", 0},
                {"0us", 0},      {"-1us", 0},        {"us", 0},
                {"1.2.3us", 0},  {"1 min", 0},       {"", 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double seconds = 0;
        assert_int_equal(clock_read_duration(str_of(rows[i].text), &seconds), rows[i].seconds > 0);
        assert_float_equal(seconds, rows[i].seconds, 1e-12);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_is_yes_or_no_or_unclear),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
        cmocka_unit_test(a_map_finds_what_was_put_and_keeps_the_order),
        cmocka_unit_test(equal_texts_are_kept_once),
        cmocka_unit_test(rows_are_found_by_their_hash_in_order),
        cmocka_unit_test(numbers_are_whole_texts),
        cmocka_unit_test(a_file_is_replaced_whole),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(a_pipe_stays_a_pipe),
        cmocka_unit_test(what_is_no_file_is_refused_without_waiting),
        cmocka_unit_test(what_a_shell_passes_in_is_read),
        cmocka_unit_test(a_path_from_here_has_no_dots),
        cmocka_unit_test(a_diagnostic_prints_like_a_compilers),
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(durations_are_read_with_their_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
