/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/config/testing.h"

/* A home of its own: $HOME/.config/hone/config.ini and a task's folder beside it. */
struct home {
    char folder[64], task[96], file[128], task_file[128];
};

static int home_new(void **state) {
    struct home *home = mem_alloc(1, sizeof *home);
    struct err err;
    snprintf(home->folder, sizeof home->folder, "/tmp/hone-config-XXXXXX");
    assert_non_null(mkdtemp(home->folder));
    snprintf(home->task, sizeof home->task, "%s/task", home->folder);
    snprintf(home->file, sizeof home->file, "%s/.config/hone/config.ini", home->folder);
    snprintf(home->task_file, sizeof home->task_file, "%s/.hone/config.ini", home->task);
    char *folders[] = {path_folder(home->file), path_folder(home->task_file)};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        assert_true(file_make_dirs(folders[i], &err));
        free(folders[i]);
    }
    setenv("HOME", home->folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    *state = home;
    return 0;
}

static int home_end(void **state) {
    struct home *home = *state;
    struct err err;
    assert_true(file_remove_tree(home->folder, &err));
    free(home);
    return 0;
}

static void put(const char *path, const char *text) {
    struct err err;
    assert_true(file_write(path, text, strlen(text), &err));
}

static struct config *load(const struct home *home) {
    struct err err = {0};
    struct config *config = config_load(home->task, &err);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

static void assert_origin(const struct config *config, const char *section, const char *key,
                          const char *value, const char *where) {
    struct config_origin origin;
    struct buf text = {0};
    const char *got = config_get(config, section, key, &origin);
    if (value)
        assert_string_equal(got, value);
    else
        assert_null(got);
    config_origin_print(&origin, &text);
    assert_string_equal(text.at, where);
    buf_free(&text);
}

static void without_files_everything_is_the_default(void **state) {
    struct config *config = load(*state);
    assert_origin(config, "host trn2", "port", NULL, "default");
    assert_origin(config, "host trn2", "parallel", "2", "default");
    assert_origin(NULL, "defaults", "target", "sim", "default");
    assert_true(config_number(config, "host x", "compile_limit_s") == 1800);
    assert_true(config_flag(config, "screen", "mouse"));
    assert_null(config_name(config, "host", 0));
    assert_false(config_has(config, "host trn2"));
    config_free(config);
}

static void the_last_giver_wins_and_is_named(void **state) {
    struct home *home = *state;
    struct err err;
    put(home->file, "# mine\n[defaults]\ndevice = trn1\nrounds = 7\n\n[host trn2]\nport = 2200\n"
                    "identity = ~/keys/one\n");
    put(home->task_file, "[defaults]\nrounds = 9\n");
    setenv("HONE_HOST_TRN2_USER", "ubuntu", 1);
    setenv("HONE_HOST_TRN2_PORT", "2201", 1);
    struct config *config = load(home);
    struct buf where = {0};
    config_print_path(home->task_file, &where);
    buf_puts(&where, ":2");
    assert_origin(config, "defaults", "device", "trn1", "~/.config/hone/config.ini:3");
    assert_origin(config, "defaults", "rounds", "9", where.at);
    assert_origin(config, "host trn2", "user", "ubuntu", "HONE_HOST_TRN2_USER");
    assert_origin(config, "host trn2", "port", "2201", "HONE_HOST_TRN2_PORT");
    assert_true(config_set(config, "host trn2", "port", "2202", &err));
    assert_origin(config, "host trn2", "port", "2202", "command line");
    buf_clear(&where);
    buf_printf(&where, "%s/keys/one", home->folder);
    assert_string_equal(config_get(config, "host trn2", "identity", NULL), where.at);
    buf_free(&where);
    config_free(config);
    unsetenv("HONE_HOST_TRN2_USER");
    unsetenv("HONE_HOST_TRN2_PORT");
}

static void names_come_in_the_order_they_were_given(void **state) {
    struct home *home = *state;
    put(home->file, "[host b]\n[cluster hpc]\nhead = b\n[host  a]\nport=22\n[host b]\nuser=x\n");
    struct config *config = load(home);
    assert_string_equal(config_name(config, "host", 0), "b");
    assert_string_equal(config_name(config, "host", 1), "a");
    assert_null(config_name(config, "host", 2));
    assert_string_equal(config_name(config, "cluster", 0), "hpc");
    assert_true(config_has(config, "host b"));
    assert_string_equal(config_get(config, "host b", "user", NULL), "x");
    config_free(config);
}

static void what_editors_leave_in_a_file_is_read(void **state) {
    struct home *home = *state;
    put(home->file, "\xef\xbb\xbf; a comment\r\n[host trn2]\r\n  port = 2200   ; the bastion's\r\n"
                    "\t# indented\r\n\r\n  options_are_no = 1\r\n");
    struct err err = {0};
    assert_null(config_load(NULL, &err));
    assert_string_equal(
        err.text,
        "~/.config/hone/config.ini:6: [host trn2] has no setting "
        "'options_are_no'; it has: address, user, port, identity, client, "
        "device, environment, python, tools, cores, release, lnc, lock, wall, wall_network, "
        "wall_read, parallel, samples, warmup_s, compile_limit_s, run_limit_s, "
        "compile_flags, reach_limit_s, keep_days");
    put(home->file, "\xef\xbb\xbf[host trn2]\r\n  port = 2200   ; the bastion's\r\n"
                    "    user = me\r\n[cluster c]\r\noptions=--a=b --c:d\r\ntime = 01:00:00");
    struct config *config = load(home);
    assert_string_equal(config_get(config, "host trn2", "port", NULL), "2200");
    assert_string_equal(config_get(config, "host trn2", "user", NULL), "me");
    assert_string_equal(config_get(config, "cluster c", "options", NULL), "--a=b --c:d");
    assert_string_equal(config_get(config, "cluster c", "time", NULL), "01:00:00");
    config_free(config);
}

static void a_wrong_line_is_named_with_what_is_allowed(void **state) {
    static const struct {
        const char *text, *line, *said;
    } rows[] = {
        {"[host a]\nprot = 22\n", ":2:", "did you mean 'port'?"},
        {"[hosts a]\n", ":1:", "did you mean [host]?"},
        {"[host a]\nport = 70000\n", ":2:", "port must be a whole number from 1 to 65535"},
        {"[host a]\nport = 22.5\n", ":2:", "a whole number"},
        {"[host a]\nport = 22 # ssh\n", ":2:", "not '22 # ssh'"},
        {"[host a]\nport =\n", ":2:", "port is empty"},
        {"[host a]\nclient = putty\n", ":2:", "must be auto, libssh2 or ssh, not 'putty'"},
        {"[screen]\nmouse = maybe\n", ":2:", "yes or no"},
        {"[defaults]\ntolerance = 2\n", ":2:", "a number from 1e-12 to 0.999"},
        {"[defaults]\ntolerance = nan\n", ":2:", "a number from"},
        {"port = 22\n", ":1:", "before the first [section]"},
        {"[host a]\n\n\nnonsense\n", ":4:", "nor a setting (key = value)"},
        {"[host a\nport = 22\n", ":1:", "no ']'"},
        {"[host a] port = 22\n", ":1:", "on a line of its own"},
        {"[host]\n", ":1:", "needs a name"},
        {"[host a b]\n", ":1:", "needs a name of letters"},
        {"[host sim]\n", ":1:", "another name"},
        {"[screen x]\n", ":1:", "takes no name"},
        {"[host a]\nport = 22\nuser = me\nport = 23\n", ":4:", "was already set on line 2"},
        {"[host a]\nuser = \x1b[2J\n", ":2:", "not text"},
        {"[host a]\nuser = caf\xe9\n", ":2:", "not UTF-8"},
        {"\xff\xfe[\0h\0", ":1:", "not text"},
        {"[host aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", ":1:", "48 bytes"},
        {"[host a]\n[cluster a]\n", ":2:", "the same name"},
    };
    struct home *home = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = {0};
        put(home->file, rows[i].text);
        struct config *config = config_load(NULL, &err);
        if (config || !strstr(err.text, rows[i].said) || !strstr(err.text, rows[i].line) ||
            err.kind != ERR_USAGE)
            fail_msg("row %zu said: %s", i, err.text);
        assert_true(str_starts(str_of(err.text), "~/.config/hone/config.ini:"));
    }
}

static void a_long_line_and_a_huge_file_are_refused(void **state) {
    struct home *home = *state;
    struct buf text = {0};
    struct err err = {0};
    buf_puts(&text, "[host a]\nuser = ");
    for (int i = 0; i < 3000; i++)
        buf_putc(&text, 'x');
    put(home->file, text.at);
    assert_null(config_load(NULL, &err));
    assert_non_null(strstr(err.text, "config.ini:2: this line is longer"));
    buf_clear(&text);
    for (int i = 0; i < 100000; i++)
        buf_puts(&text, "# nothing here\n");
    put(home->file, text.at);
    assert_null(config_load(NULL, &err));
    assert_non_null(strstr(err.text, "larger than"));
    buf_free(&text);
    assert_int_equal(unlink(home->file), 0);
    assert_int_equal(mkfifo(home->file, 0600), 0);
    assert_null(config_load(NULL, &err));
    assert_non_null(strstr(err.text, "is not a file"));
}

static void a_task_s_file_sets_only_what_harms_nobody(void **state) {
    static const char *const refused[] = {
        "[host trn2]\n",
        "[host trn2]\nidentity = ~/.ssh/id_rsa\n",
        "[cluster c]\noptions = --wrap=evil\n",
        "[defaults]\ntarget = somebody@else.where\n",
        "[defaults]\ngate = auto\n",
        "[defaults]\nproposer = rewriter\n",
        "[screen]\nmouse = no\n",
    };
    struct home *home = *state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct err err = {0};
        put(home->task_file, refused[i]);
        struct config *config = config_load(home->task, &err);
        if (config || !strstr(err.text, "a task's own file may not set"))
            fail_msg("row %zu said: %s", i, err.text);
        assert_non_null(strstr(err.text, "[defaults] rounds"));
        config = config_load(NULL, &err);
        assert_non_null(config);
        config_free(config);
    }
    put(home->task_file, "[defaults]\ndevice=trn3\nrounds=3\ntolerance=1e-3\nseeds=0,1\n");
    struct config *config = load(home);
    assert_string_equal(config_get(config, "defaults", "device", NULL), "trn3");
    config_free(config);
}

static void the_environment_is_checked_as_well(void **state) {
    struct home *home = *state;
    static const struct {
        const char *name, *value, *said;
    } rows[] = {
        {"HONE_HOST_TRN2_PROT", "22", "HONE_HOST_TRN2_PROT sets nothing"},
        {"HONE_HOST_PORT", "22", "sets nothing"},
        {"HONE_HOST_TRN2_PORT", "ssh", "HONE_HOST_TRN2_PORT: port must be"},
        {"HONE_DEFAULTS_TARGETS", "x", "sets nothing"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = {0};
        setenv(rows[i].name, rows[i].value, 1);
        struct config *config = config_load(home->task, &err);
        unsetenv(rows[i].name);
        if (config || !strstr(err.text, rows[i].said))
            fail_msg("row %zu said: %s", i, err.text);
    }
    setenv("HONE_DEFAULTS_TARGET", "trn2", 1);
    setenv("HONE_HOST_MY_HOST_COMPILE_FLAGS", "-O1", 1);
    setenv("HONE_HOST_TRN2_LNC", "", 1);          /* an empty one counts as not set */
    setenv("HONE_PYTHON", "/usr/bin/python3", 1); /* not in the table */
    struct config *config = load(home);
    assert_origin(config, "defaults", "target", "trn2", "HONE_DEFAULTS_TARGET");
    assert_string_equal(config_get(config, "host my-host", "compile_flags", NULL), "-O1");
    assert_string_equal(config_get(config, "host trn2", "lnc", NULL), "1");
    config_free(config);
    unsetenv("HONE_DEFAULTS_TARGET");
    unsetenv("HONE_HOST_MY_HOST_COMPILE_FLAGS");
    unsetenv("HONE_HOST_TRN2_LNC");
    unsetenv("HONE_PYTHON");
}

static void a_section_is_added_and_the_rest_stays(void **state) {
    struct home *home = *state;
    struct err err = {0};
    static const char *const lines[] = {"address=10.0.0.5", "port=2200", "identity=~/key", NULL};
    static const char *const none[] = {NULL};
    assert_true(config_add_section("host trn2", lines, &err));
    char *text = file_read(home->file, 0, NULL, &err);
    assert_string_equal(text, "[host trn2]\naddress = 10.0.0.5\nport = 2200\nidentity = ~/key\n");
    free(text);
    put(home->file, "# my hosts\r\n[host a]\r\n  port=1 ; odd\r\n\r\n; end");
    assert_true(config_add_section("host b", none, &err));
    text = file_read(home->file, 0, NULL, &err);
    assert_string_equal(
        text, "# my hosts\r\n[host a]\r\n  port=1 ; odd\r\n\r\n; end\r\n\r\n[host b]\r\n");
    free(text);
    assert_false(config_add_section("host b", none, &err));
    assert_non_null(strstr(err.text, "already"));
}

static void what_would_not_read_back_is_not_written(void **state) {
    struct home *home = *state;
    struct err err = {0};
    static const char *const wrong[][2] = {
        {"port=0", NULL},         {"user=a ;b", NULL}, {"user= a", NULL},
        {"user=a\nport=3", NULL}, {"nothing=1", NULL}, {"user", NULL},
    };
    put(home->file, "[host a]\n");
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(config_add_section("host b", wrong[i], &err));
    assert_false(config_add_section("host b\n[host c]", wrong[0], &err));
    assert_false(config_add_section("host b] x", wrong[0], &err));
    put(home->file, "[host a]\n");
    char *text = file_read(home->file, 0, NULL, &err);
    assert_string_equal(text, "[host a]\n");
    free(text);
    static const char *const none[] = {NULL};
    put(home->file, "[cluster hpc]\n");
    assert_false(config_add_section("host hpc", none, &err));
    assert_non_null(strstr(err.text, "the same name"));
    put(home->file, "[host a]\nbroken\n");
    assert_false(config_add_section("host b", wrong[0], &err));
    assert_non_null(strstr(err.text, "config.ini:2:"));
}

static void a_link_to_the_file_stays_a_link(void **state) {
    struct home *home = *state;
    struct err err = {0};
    static const char *const none[] = {NULL};
    char real[160];
    struct stat st;
    snprintf(real, sizeof real, "%s/dotfiles.ini", home->folder);
    put(real, "[host a]\n");
    assert_int_equal(symlink(real, home->file), 0);
    assert_true(config_add_section("host b", none, &err));
    assert_int_equal(lstat(home->file, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    char *text = file_read(real, 0, NULL, &err);
    assert_string_equal(text, "[host a]\n\n[host b]\n");
    free(text);
}

static void the_table_is_in_order(void **state) {
    (void)state;
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        struct buf allowed = {0};
        config_print_allowed(row, &allowed); /* aborts at a range that it cannot read */
        assert_true(allowed.len > 0);
        buf_free(&allowed);
        assert_true(str_ends(str_of(row->what), "."));
        for (size_t j = 0; j < i; j++) {
            bool same = strcmp(config_rows[j].section, row->section) == 0;
            assert_false(same && strcmp(config_rows[j].key, row->key) == 0);
            assert_false(same && strcmp(config_rows[i - 1].section, row->section) != 0);
        }
    }
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, home_new, home_end)
    const struct CMUnitTest tests[] = {
        ROW(without_files_everything_is_the_default),
        ROW(the_last_giver_wins_and_is_named),
        ROW(names_come_in_the_order_they_were_given),
        ROW(what_editors_leave_in_a_file_is_read),
        ROW(a_wrong_line_is_named_with_what_is_allowed),
        ROW(a_long_line_and_a_huge_file_are_refused),
        ROW(a_task_s_file_sets_only_what_harms_nobody),
        ROW(the_environment_is_checked_as_well),
        ROW(a_section_is_added_and_the_rest_stays),
        ROW(what_would_not_read_back_is_not_written),
        ROW(a_link_to_the_file_stays_a_link),
        ROW(the_table_is_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
