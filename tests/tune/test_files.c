// SPDX-License-Identifier: Apache-2.0
/* The files of a task: what is kept of them, what is noticed when they change, and who decides. */
#include <sqlite3.h>

#include "task/cache.h"
#include "tune/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define SOURCE(latency, more) \
    "import helper\ndef kernel(): x = '''\n    # latency " latency "\n    # " more "\n'''\n"
#define KERNEL SOURCE("1000", "seed")

/* As an older hone wrote it, which knew neither of files nor of damage. */
#define OLDER                                                                         \
    "DELETE FROM events WHERE type = 'closure'; ALTER TABLE events DROP COLUMN hash;" \
    "DROP TABLE chain; PRAGMA user_version = 1"

static const struct fake_plan plans[] = {{"better", SOURCE("800", "one"), 0.4, NULL},
                                         {"best", SOURCE("500", "two"), 0.9, NULL}};

static void begin(struct fake *fake) {
    fake_begin(fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", KERNEL);
    fake_file(fake->folder, "helper.py", "A = 1\nB = 2\n");
    fake_file(fake->folder, "reference.py", "import maths\ndef get_inputs(): pass\n");
    fake_file(fake->folder, "maths.py", "");
    fake_file(fake->folder, "unrelated.py", "");
    fake->options.fresh = true;
    fake_open(fake);
    fake->options.fresh = false;
}

static void again(struct fake *fake) {
    tune_session_close(fake->session);
    fake_open(fake);
}

static void start(struct fake *fake) {
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
}

static void a_session_keeps_all_that_its_task_is_made_of(void **unused) {
    (void)unused;
    static const char *const names[] = {"kernel.py", "reference.py", "helper.py", "maths.py"};
    static const char *const of[] = {"kernel", "reference", "kernel imports", "reference imports"};
    struct fake fake;
    begin(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->files.len, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_string_equal(state->files.at[i].name, names[i]);
        assert_string_equal(state->files.at[i].of, of[i]);
        struct err err = {0};
        char *kept = tune_session_artefact(fake.session, state->files.at[i].hash, &err);
        char *own = path_join(fake.folder, names[i]), *text = file_read(own, 0, NULL, NULL);
        assert_string_equal(kept, text);
        free(text);
        free(own);
        free(kept);
    }
    fake_file(fake.folder, "unrelated.py", "x = 1\n");
    start(&fake);
    assert_true(state->finished);
    fake_end(&fake);
}

static void a_change_is_noticed_and_asked_about(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake_file(fake.folder, "helper.py", "A = 1\nB = 3\n");
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_false(state->running);
    assert_int_equal(state->attempts.len, 0); /* nothing was measured with it */
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].name, "helper.py");
    assert_string_equal(state->changed.at[0].diff, "@@ -2,1 +2,1 @@\n-B = 2\n+B = 3\n");
    assert_non_null(strstr(state->wait_text, "helper.py changed on disk"));
    assert_false(fake_try(&fake, (struct tune_action){.kind = TUNE_ACT_START}));
    again(&fake);
    state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    fake_file(fake.folder, "helper.py", "A = 1\nB = 2\n"); /* it was put back */
    start(&fake);
    assert_int_equal(state->changed.len, 0);
    assert_true(state->finished && state->attempts.len == 3);
    fake_end(&fake);
}

static void what_is_gone_or_new_is_a_change(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    char *path = path_join(fake.folder, "maths.py");
    assert_int_equal(unlink(path), 0);
    free(path);
    again(&fake); /* it is seen when the session is opened too */
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_null(state->changed.at[0].now);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES});
    assert_int_equal(state->files.len, 3);
    fake_file(fake.folder, "maths.py", "C = 1\n");
    again(&fake);
    state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_null(state->changed.at[0].was);
    assert_string_equal(state->changed.at[0].diff, "@@ -0,0 +1,1 @@\n+C = 1\n");
    fake_end(&fake);
}

static void a_kernel_that_is_gone_is_asked_about_too(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    char *path = path_join(fake.folder, "kernel.py");
    assert_int_equal(unlink(path), 0);
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].name, "kernel.py");
    assert_null(state->changed.at[0].now);
    /* There is none to take. */
    assert_false(fake_try(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES}));
    assert_false(state->running);
    assert_non_null(strstr(state->wait_text, "is gone"));
    start(&fake);
    assert_int_equal(state->changed.len, 1);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_KEEP_FILES});
    start(&fake);
    assert_true(state->finished && state->attempts.len == 3);
    free(path);
    fake_end(&fake);
}

/* What strings name is often binary. */
static void data_that_is_read_is_kept_as_it_is(void **unused) {
    (void)unused;
    static const char data[] = "\x93NUMPY\0\1 data";
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    char *path = path_join(fake.folder, "weights.npy");
    assert_true(file_write(path, data, sizeof data, NULL));
    fake_file(fake.folder, "reference.py", "W = np.load('weights.npy')\n");
    fake.options.fresh = true;
    fake_open(&fake);
    fake.options.fresh = false;
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->files.len, 4);
    assert_string_equal(state->files.at[3].of, "reference reads");
    assert_true(file_write(path, data, sizeof data - 2, NULL));
    start(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_non_null(strstr(state->changed.at[0].diff, "no text"));
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_KEEP_FILES});
    char *kept = path_join(tune_session_folder(fake.session), "task/weights.npy");
    size_t size = 0;
    char *text = file_read(kept, 0, &size, NULL);
    assert_int_equal(size, sizeof data);
    assert_memory_equal(text, data, sizeof data);
    free(text);
    free(kept);
    free(path);
    fake_end(&fake);
}

static void what_is_taken_in_is_measured_anew(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->best, 2);
    fake_file(fake.folder, "helper.py", "A = 7\n");
    fake_file(fake.folder, "kernel.py", SOURCE("900", "another seed"));
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 100});
    start(&fake);
    assert_int_equal(state->changed.len, 2);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES});
    assert_true(state->attempts.at[1].outdated && !state->attempts.at[0].outdated);
    assert_float_equal(state->attempts.at[0].latency_us, 900, 1e-9);
    assert_true(state->best == 0 || !state->attempts.at[state->best].outdated);
    assert_true(state->attempts.len > 3); /* the same plans count as not tried */
    assert_int_equal(state->undo_count, 0);
    fake_end(&fake);
}

/* What was under way is not left open for good, and the history says why. */
static void what_was_under_way_is_given_up(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_BENCHMARK,
                                         .gate = TUNE_GATE_ASK});
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.len, 2);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_OPEN);
    fake_file(fake.folder, "helper.py", "A = 7\n");
    again(&fake);
    state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES});
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_REVERT);
    assert_string_equal(state->attempts.at[1].reason,
                        "given up: files of the task changed meanwhile");
    assert_int_equal(state->attempts.at[0].status, TUNE_STATUS_KEEP);
    again(&fake);
    assert_int_equal(fake_state(&fake)->attempts.at[1].status, TUNE_STATUS_REVERT);
    fake_end(&fake);
}

static void the_sessions_own_can_be_kept(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake_file(fake.folder, "helper.py", "A = broken(\n");
    start(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_KEEP_FILES});
    for (int i = 0; i < 2; i++) {
        const struct tune_state *state = fake_state(&fake);
        assert_true(state->keeps_files && !state->changed.len && state->attempts.len == 3);
        char *own = path_join(tune_session_folder(fake.session), "task/kernel.py");
        assert_string_equal(tune_kernel_file(state), own);
        char *folder = path_folder(own), *helper = path_join(folder, "helper.py");
        char *text = file_read(helper, 0, NULL, NULL);
        assert_string_equal(text, "A = 1\nB = 2\n");
        free(text);
        free(helper);
        free(folder);
        free(own);
        again(&fake);
    }
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES}); /* later, all the same */
    assert_false(fake_state(&fake)->keeps_files);
    assert_non_null(tune_kernel_file(fake_state(&fake)));
    assert_null(strstr(tune_kernel_file(fake_state(&fake)), ".hone"));
    fake_end(&fake);
}

/* The answer was about one content of each file. */
static void what_changes_further_is_asked_about_again(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake_file(fake.folder, "helper.py", "A = broken(\n");
    start(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_KEEP_FILES});
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished && state->keeps_files && !state->changed.len);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 100});
    fake_file(fake.folder, "helper.py", "A = other(\n");
    start(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].diff,
                        "@@ -1,2 +1,1 @@\n-A = 1\n-B = 2\n+A = other(\n");
    assert_false(state->running);
    char *own = path_join(tune_session_folder(fake.session), "task/kernel.py");
    assert_string_equal(tune_kernel_file(state), own); /* until somebody says otherwise */
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_KEEP_FILES});
    static const char *const answered[] = {"A = broken(\n", "A = 1\nB = 2\n", "A = other(\n"};
    for (size_t i = 0; i < COUNT_OF(answered); i++) {
        fake_file(fake.folder, "helper.py", answered[i]);
        again(&fake);
        state = fake_state(&fake);
        assert_true(state->keeps_files && !state->changed.len);
    }
    fake_file(fake.folder, "maths.py", "C = 1\n"); /* all that would be taken in is shown */
    again(&fake);
    state = fake_state(&fake);
    assert_int_equal(state->changed.len, 2);
    fake_file(fake.folder, "maths.py", "");
    again(&fake); /* nothing is left of it */
    state = fake_state(&fake);
    assert_true(state->keeps_files && !state->changed.len);
    fake_file(fake.folder, "helper.py", "A = 3\n");
    again(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES});
    state = fake_state(&fake);
    assert_true(!state->keeps_files && !state->changed.len);
    fake_file(fake.folder, "helper.py", "A = broken(\n"); /* that answer was about other files */
    again(&fake);
    assert_int_equal(fake_state(&fake)->changed.len, 1);
    free(own);
    fake_end(&fake);
}

/* What the cache of references has after the reference ran: found for any reference by its own
 * hash. */
static void has_read(struct fake *fake, const char *name, const char *text) {
    char *reference = path_join(fake->folder, "reference.py");
    setenv("XDG_CACHE_HOME", fake->folder, 1);
    struct sha256 sum;
    char hex[65];
    sha256_begin(&sum);
    sha256_add(&sum, text, strlen(text));
    sha256_end(&sum, hex);
    char *of = task_cache_of(reference, NULL);
    char *seed = task_cache_seed(of, fake_state(fake)->seeds.at[0]);
    char *folder = path_join(seed, "outputs"), *meta = path_join(folder, "meta.json");
    struct buf json = {0};
    buf_printf(&json, "{\"depends\":[[\"%s\",%zu,\"%s\"],[\"../x\",1,\"\"],[7]]}", name,
               strlen(text), hex);
    assert_true(file_make_dirs(folder, NULL));
    assert_true(file_write(meta, json.at, json.len, NULL));
    buf_free(&json);
    free(meta);
    free(folder);
    free(seed);
    free(of);
    free(reference);
}

static const struct tune_task_file *file_named(const struct tune_state *state, const char *name) {
    for (size_t i = 0; i < state->files.len; i++)
        if (!strcmp(state->files.at[i].name, name))
            return &state->files.at[i];
    return NULL;
}

/* A name that is put together at run time shows when the reference runs. */
static void what_the_reference_was_seen_to_read_is_kept(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake_file(fake.folder, "weights_7.txt", "1 2 3\n");
    has_read(&fake, "weights_7.txt", "1 2 3\n");
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished && state->best == 2);
    assert_int_equal(state->files.len, 5);
    assert_non_null(file_named(state, "weights_7.txt"));
    assert_string_equal(file_named(state, "weights_7.txt")->of, "reference reads");
    fake_file(fake.folder, "weights_7.txt", "1 2 4\n");
    again(&fake);
    state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].diff, "@@ -1,1 +1,1 @@\n-1 2 3\n+1 2 4\n");
    fake_end(&fake);
}

/* One that was changed since is not what was read: the reference runs again and tells. */
static void what_changed_since_it_was_read_is_not_taken_for_it(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake_file(fake.folder, "weights_7.txt", "1 2 5\n");
    has_read(&fake, "weights_7.txt", "1 2 3\n");
    start(&fake);
    assert_null(file_named(fake_state(&fake), "weights_7.txt"));
    fake_end(&fake);
}

/* Of a file that is too large to be kept there is the hash: a change shows, and who keeps the
 * session's files needs the one that was. */
static void a_change_of_a_large_file_is_noticed(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    char *large = path_join(fake.folder, "large.bin");
    fake_file(fake.folder, "large.bin", "x");
    assert_int_equal(truncate(large, (off_t)17 << 20), 0);
    fake_file(fake.folder, "reference.py", "W = np.fromfile('large.bin')\n");
    fake.options.fresh = true;
    fake_open(&fake);
    fake.options.fresh = false;
    assert_true(loop_run_until_idle(fake.loop, 60000));
    const struct tune_state *state = fake_state(&fake);
    assert_non_null(file_named(state, "large.bin"));
    assert_int_equal(file_named(state, "large.bin")->left_bytes, 17 << 20);
    start(&fake);
    assert_true(state->finished && !state->changed.len);
    FILE *file = fopen(large, "r+b");
    assert_true(file && fputc('y', file) == 'y' && fclose(file) == 0);
    again(&fake);
    assert_true(loop_run_until_idle(fake.loop, 60000));
    state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].name, "large.bin");
    struct tune_action keep = {.kind = TUNE_ACT_KEEP_FILES};
    struct err err = {0};
    assert_false(tune_session_act(fake.session, &keep, &err));
    assert_non_null(strstr(err.text, "put it back"));
    assert_true(state->changed.len == 1 && !state->keeps_files);
    file = fopen(large, "r+b");
    assert_true(file && fputc('x', file) == 'x' && fclose(file) == 0);
    fake_file(fake.folder, "helper.py", "A = broken(\n");
    fake_act(&fake, keep); /* now it can be copied, which takes a while; who starts meanwhile .. */
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_true(loop_run_until_idle(fake.loop, 60000)); /* .. has both */
    assert_true(state->keeps_files && !state->changed.len && !state->trouble);
    char *kept = path_join(tune_session_folder(fake.session), "task/large.bin");
    int64_t size = 0;
    struct hash hash;
    assert_true(task_file_sum(kept, NULL, &size, &hash));
    assert_string_equal(hash.hex, file_named(state, "large.bin")->hash);
    free(kept);
    free(large);
    fake_end(&fake);
}

/* Who changes a byte and puts the times back, as some tools for copying do. */
static void a_change_that_leaves_size_and_times_is_noticed(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    char *data = path_join(fake.folder, "weights.bin");
    fake_file(fake.folder, "weights.bin", "one");
    fake_file(fake.folder, "reference.py", "W = np.fromfile('weights.bin')\n");
    struct timespec old[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    assert_int_equal(utimensat(AT_FDCWD, data, old, 0), 0);
    fake.options.fresh = true;
    fake_open(&fake);
    fake.options.fresh = false;
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished && !state->changed.len && file_named(state, "weights.bin"));
    FILE *file = fopen(data, "r+b");
    assert_true(file && fputs("two", file) >= 0 && fclose(file) == 0);
    assert_int_equal(utimensat(AT_FDCWD, data, old, 0), 0);
    start(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].name, "weights.bin");
    free(data);
    fake_end(&fake);
}

/* Waits until a further change of the file would show in its times. */
static void settle(const char *path) {
    struct stat st;
    for (int i = 0; i < 600; i++) {
        assert_int_equal(stat(path, &st), 0);
        if (task_file_is_settled(&st))
            return;
        usleep(100000);
    }
    fail();
}

/* The loop would wait for the disk each time. (helper.py is opened by the thread that inspects
 * candidates.) */
static void files_that_nobody_changed_are_not_opened_again(void **unused) {
    (void)unused;
    static const char *const names[] = {"kernel.py", "reference.py", "maths.py", "medium.bin"};
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    char *medium = path_join(fake.folder, "medium.bin");
    fake_file(fake.folder, "medium.bin", "x");
    assert_int_equal(truncate(medium, 1 << 20), 0);
    fake_file(fake.folder, "reference.py", "import maths\nW = np.fromfile('medium.bin')\n");
    settle(medium);
    char *reference = path_join(fake.folder, "reference.py");
    settle(reference);
    fake.options.fresh = true;
    fake_open(&fake);
    fake.options.fresh = false;
    assert_true(loop_run_until_idle(fake.loop, 60000));
    int watch = inotify_init1(IN_NONBLOCK);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = path_join(fake.folder, names[i]);
        assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
        free(path);
    }
    start(&fake);
    assert_true(loop_run_until_idle(fake.loop, 60000));
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished && state->attempts.len == 3 && !state->changed.len);
    struct inotify_event event;
    if (read(watch, &event, sizeof event) > 0)
        fail_msg("%s was opened", names[event.wd - 1]);
    close(watch);
    free(reference);
    free(medium);
    fake_end(&fake);
}

/* It is read by a worker; until then no step begins. */
static void a_change_of_a_file_of_some_size_is_noticed(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    char *medium = path_join(fake.folder, "medium.bin");
    fake_file(fake.folder, "medium.bin", "x");
    assert_int_equal(truncate(medium, 1 << 20), 0);
    fake_file(fake.folder, "reference.py", "W = np.fromfile('medium.bin')\n");
    fake.options.fresh = true;
    fake_open(&fake);
    fake.options.fresh = false;
    assert_true(loop_run_until_idle(fake.loop, 60000));
    FILE *file = fopen(medium, "r+b");
    assert_true(file && fputc('y', file) == 'y' && fclose(file) == 0);
    start(&fake);
    assert_true(loop_run_until_idle(fake.loop, 60000));
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.len, 0); /* nothing was measured with it */
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].name, "medium.bin");
    free(medium);
    fake_end(&fake);
}

/* SQLite would say "unable to open database file". */
static void a_path_that_is_too_long_is_refused_with_what_to_do(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    struct buf path = {0};
    buf_printf(&path, "%s", fake.folder);
    for (int i = 0; i < 5; i++)
        buf_printf(&path, "/%0100d", i);
    assert_true(file_make_dirs(path.at, NULL));
    fake.options.session_dir = path.at;
    struct err err = {0};
    fake.session = tune_session_open(&fake.options, fake.loop, &err);
    assert_null(fake.session);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "480 are possible: give a shorter one with --session"));
    fake_end(&fake);
    buf_free(&path);
}

static void note_passed(void *data) {
    *(bool *)data = true;
}

/* Reading it would take minutes. A person can do everything meanwhile, no step begins, and closing
 * the session does not wait for it. */
static void a_file_of_many_gigabytes_is_read_beside_the_loop(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    tune_session_close(fake.session);
    char *large = path_join(fake.folder, "large.bin");
    fake_file(fake.folder, "large.bin", "x");
    assert_int_equal(truncate(large, (off_t)500 << 30), 0);
    fake_file(fake.folder, "reference.py", "W = np.fromfile('large.bin')\n");
    fake.options.fresh = true;
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_null(file_named(state, "large.bin"));
    assert_true(tune_session_is_busy(fake.session));
    struct err err = {0};
    assert_true(
        tune_session_act(fake.session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    bool passed = false;
    loop_timer_start(fake.loop, 50, 0, note_passed, &passed);
    assert_true(loop_run_until(fake.loop, &passed, 60000));
    assert_true(state->running && !fake.place.started);
    assert_true(
        tune_session_act(fake.session, &(struct tune_action){.kind = TUNE_ACT_PAUSE}, &err));
    assert_false(state->running);
    assert_null(file_named(state, "large.bin"));
    (void)!unlink(large);
    free(large);
    fake_end(&fake);
}

/* Nothing was measured with another one, so nothing is asked. */
static void a_reference_that_comes_later_is_taken(void **unused) {
    (void)unused;
    for (int reopens = 0; reopens < 2; reopens++) {
        struct fake fake;
        fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
        tune_session_close(fake.session);
        char *reference = path_join(fake.folder, "reference.py");
        (void)!unlink(reference);
        fake_file(fake.folder, "kernel.py", KERNEL);
        fake_file(fake.folder, "helper.py", "A = 1\n");
        fake.options.fresh = true;
        fake_open(&fake);
        fake.options.fresh = false;
        assert_null(file_named(fake_state(&fake), "reference.py"));
        assert_null(tune_reference_file(fake_state(&fake)));
        fake_file(fake.folder, "reference.py", "import maths\ndef get_inputs(): pass\n");
        if (reopens)
            again(&fake);
        start(&fake);
        const struct tune_state *state = fake_state(&fake);
        assert_int_equal(state->changed.len, 0);
        assert_non_null(file_named(state, "reference.py"));
        assert_string_equal(tune_reference_file(state), reference);
        assert_non_null(state->reference_source);
        assert_true(state->finished && state->best == 2);
        fake_file(fake.folder, "reference.py", "def get_inputs(): other\n");
        again(&fake); /* another one is asked about */
        assert_int_equal(fake_state(&fake)->changed.len, 1);
        free(reference);
        fake_end(&fake);
    }
}

static void what_only_a_candidate_imports_is_kept(void **unused) {
    (void)unused;
    static const struct fake_plan one[] = {
        {"better", "import tiles\ndef kernel(): x = '''\n    # latency 800\n'''\n", 0.4, NULL}};
    struct fake fake;
    fake_begin(&fake, one, 1, TUNE_GATE_AUTO);
    tune_session_close(fake.session);
    fake_file(fake.folder, "kernel.py", KERNEL);
    fake_file(fake.folder, "helper.py", "A = 1\nB = 2\n");
    fake_file(fake.folder, "tiles.py", "T = 128\n");
    fake.options.fresh = true;
    fake_open(&fake);
    assert_null(file_named(fake_state(&fake), "tiles.py"));
    start(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.len, 2);
    assert_non_null(file_named(state, "tiles.py"));
    assert_string_equal(file_named(state, "tiles.py")->of, "kernel imports");
    fake.options.fresh = false;
    fake_file(fake.folder, "tiles.py", "T = 64\n");
    again(&fake);
    assert_int_equal(fake_state(&fake)->changed.len, 1);
    fake_end(&fake);
}

static void a_change_under_an_evaluation_makes_it_void(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    fake.place.slow = true;
    struct err err = {0};
    assert_true(
        tune_session_act(fake.session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_int_equal(fake.place.started, 1);
    fake_file(fake.folder, "reference.py", "import maths\ndef get_inputs(): fail\n");
    fake.place.slow = false;
    struct fake_run *run = fake.place.runs;
    run->timer = loop_timer_start(fake.loop, 0, 0, fake_finish, run);
    fake_settle(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_int_equal(state->attempts.at[0].status, TUNE_STATUS_OPEN);
    assert_true(isnan(state->attempts.at[0].latency_us));
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_FILES});
    assert_true(state->finished && state->best == 2);
    fake_end(&fake);
}

static void a_session_of_an_older_hone_gets_its_files(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    start(&fake);
    char *db = path_join(tune_session_folder(fake.session), "session.db");
    tune_session_close(fake.session);
    fake.session = NULL;
    sqlite3 *base = NULL;
    assert_int_equal(sqlite3_open(db, &base), SQLITE_OK);
    assert_int_equal(sqlite3_exec(base, OLDER, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(base);
    free(db);
    fake_open(&fake);
    assert_int_equal(fake_state(&fake)->files.len, 4);
    assert_int_equal(fake_state(&fake)->changed.len, 0);
    fake_end(&fake);
}

static void a_kernel_of_the_session_in_the_place_of_the_first_is_no_change(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    start(&fake);
    fake_file(fake.folder, "kernel.py", plans[1].source);
    again(&fake);
    assert_int_equal(fake_state(&fake)->changed.len, 0);
    fake_end(&fake);
}

/* Its session would go beside it: to /dev, for one. */
static void a_device_or_a_pipe_is_no_kernel(void **unused) {
    (void)unused;
    char folder[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *pipe = path_join(folder, "kernel.py");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const char *const tasks[] = {"/dev/null", pipe, folder};
    struct loop *loop = loop_new();
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        struct tune_options options = {.task = tasks[i], .idle = true};
        struct err err = {0};
        assert_null(tune_session_open(&options, loop, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_non_null(strstr(err.text, "is a device or a pipe"));
    }
    loop_free(loop);
    free(pipe);
    assert_true(file_remove_tree(folder, NULL));
}

/* Nobody writes into it: whoever opens it as a file waits for ever. */
static void a_pipe_is_no_reference(void **unused) {
    (void)unused;
    char folder[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    fake_file(folder, "kernel.py", "def kernel(): pass\n");
    char *reference = path_join(folder, "reference.py"), *kernel = path_join(folder, "kernel.py");
    assert_int_equal(mkfifo(reference, 0600), 0);
    struct loop *loop = loop_new();
    const struct tune_options all[] = {{.task = folder, .idle = true},
                                       {.task = kernel, .idle = true, .reference = reference}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct err err = {0};
        assert_null(tune_session_open(&all[i], loop, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_non_null(strstr(err.text, "reference.py: it is a pipe"));
    }
    loop_free(loop);
    free(reference);
    free(kernel);
    assert_true(file_remove_tree(folder, NULL));
}

/* A folder that somebody passed on, with a pipe for each of its files in turn. */
static void a_pipe_in_a_session_s_folder_is_no_file(void **unused) {
    (void)unused;
    static const char *const names[] = {"session.db", "session.db-head",
                                        "lock",       "experiments.jsonl",
                                        "hone.log",   "optimization_memory/rewrites.json"};
    for (size_t i = 0; i < COUNT_OF(names) * 2; i++) {
        struct fake fake;
        begin(&fake);
        start(&fake);
        char *path = path_join(tune_session_folder(fake.session), names[i / 2]);
        tune_session_close(fake.session);
        (void)!unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        fake.options.read_only = i % 2;
        struct err err = {0};
        fake.session = tune_session_open(&fake.options, fake.loop, &err);
        assert_true(fake.session || err.text[0]);
        free(path);
        fake_end(&fake);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_keeps_all_that_its_task_is_made_of),
        cmocka_unit_test(a_change_is_noticed_and_asked_about),
        cmocka_unit_test(what_is_gone_or_new_is_a_change),
        cmocka_unit_test(a_kernel_that_is_gone_is_asked_about_too),
        cmocka_unit_test(data_that_is_read_is_kept_as_it_is),
        cmocka_unit_test(what_is_taken_in_is_measured_anew),
        cmocka_unit_test(what_was_under_way_is_given_up),
        cmocka_unit_test(the_sessions_own_can_be_kept),
        cmocka_unit_test(what_changes_further_is_asked_about_again),
        cmocka_unit_test(what_the_reference_was_seen_to_read_is_kept),
        cmocka_unit_test(what_changed_since_it_was_read_is_not_taken_for_it),
        cmocka_unit_test(a_change_of_a_large_file_is_noticed),
        cmocka_unit_test(a_change_that_leaves_size_and_times_is_noticed),
        cmocka_unit_test(files_that_nobody_changed_are_not_opened_again),
        cmocka_unit_test(a_change_of_a_file_of_some_size_is_noticed),
        cmocka_unit_test(a_path_that_is_too_long_is_refused_with_what_to_do),
        cmocka_unit_test(a_file_of_many_gigabytes_is_read_beside_the_loop),
        cmocka_unit_test(a_reference_that_comes_later_is_taken),
        cmocka_unit_test(what_only_a_candidate_imports_is_kept),
        cmocka_unit_test(a_change_under_an_evaluation_makes_it_void),
        cmocka_unit_test(a_session_of_an_older_hone_gets_its_files),
        cmocka_unit_test(a_kernel_of_the_session_in_the_place_of_the_first_is_no_change),
        cmocka_unit_test(a_device_or_a_pipe_is_no_kernel),
        cmocka_unit_test(a_pipe_is_no_reference),
        cmocka_unit_test(a_pipe_in_a_session_s_folder_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
