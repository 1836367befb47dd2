// SPDX-License-Identifier: Apache-2.0
/* A disk that does not answer, as that of a file server which is away: whoever asks for a file
 * there waits. The loop's thread must not be who waits, and need not be: it serves keys and timers,
 * no step begins, and everything goes on as soon as the disk answers. */
#include "tune/fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define SOURCE(latency, import) import "def kernel(): x = '''\n    # latency " latency "\n'''\n"
#define KERNEL SOURCE("1000", "import helper\n")
#define LIMIT_S 60

/* Files of that name are on the disk that may be away; "*.py": all sources. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t answers;
    pthread_t loop;
    const char *name;
    bool away, of_session; /* of_session: the one in the session's folder */
    int waiting, on_loop;  /* threads that wait now; how often the loop's asked for one */
    char asked[200];       /* the last of these */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .answers = PTHREAD_COND_INITIALIZER};

static void disk_ask(const char *path) {
    struct timespec until;
    pthread_mutex_lock(&disk.lock);
    bool named = disk.name && (disk.name[0] == '*' ? str_ends(str_of(path), ".py")
                                                   : !strcmp(path_base(path), disk.name));
    bool there = named && (strstr(path, ".hone") != NULL) == disk.of_session;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIMIT_S;
    if (there && pthread_equal(pthread_self(), disk.loop)) {
        disk.on_loop++;
        snprintf(disk.asked, sizeof disk.asked, "%s", path);
    } else if (there) {
        disk.waiting++;
        while (disk.away && pthread_cond_timedwait(&disk.answers, &disk.lock, &until) == 0)
            ;
        disk.waiting--;
    }
    pthread_mutex_unlock(&disk.lock);
}

/* In place of the C library's. */
int stat(const char *path, struct stat *st) {
    disk_ask(path);
    return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st) {
    disk_ask(path);
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    disk_ask(path);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void disk_is(const char *name, bool away) {
    pthread_mutex_lock(&disk.lock);
    disk.loop = pthread_self();
    disk.name = name;
    disk.away = away;
    disk.on_loop = 0;
    pthread_mutex_unlock(&disk.lock);
}

static void disk_leaves(const char *name) {
    disk_is(name, true);
}

static void disk_comes_back(void) {
    pthread_mutex_lock(&disk.lock);
    disk.away = false;
    pthread_cond_broadcast(&disk.answers);
    pthread_mutex_unlock(&disk.lock);
}

static bool somebody_waits(const struct fake *fake) {
    (void)fake;
    pthread_mutex_lock(&disk.lock);
    bool waits = disk.waiting > 0;
    pthread_mutex_unlock(&disk.lock);
    return waits;
}

static bool is_told(const struct fake *fake) {
    return fake_state(fake)->looks_at != NULL;
}

static void note(void *data) {
    *(bool *)data = true;
}

/* The loop serves its timers until it is so. */
static void serve_until(struct fake *fake, bool (*is)(const struct fake *fake)) {
    for (int i = 0; i < LIMIT_S * 50 && !is(fake); i++) {
        bool passed = false;
        loop_timer_start(fake->loop, 20, 0, note, &passed);
        assert_true(loop_run_until(fake->loop, &passed, LIMIT_S * 1000));
    }
    assert_true(is(fake));
}

static const struct fake_plan plans[] = {
    {"better", SOURCE("800", "import helper\n"), 0.4, NULL},
    {"with tiles", SOURCE("500", "import tiles\n"), 0.9, NULL}};

static void begin(struct fake *fake, size_t n_plans) {
    fake_begin(fake, plans, n_plans, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", KERNEL);
    fake_file(fake->folder, "helper.py", "A = 1\n");
    fake_file(fake->folder, "tiles.py", "T = 128\n");
    fake->options.fresh = true;
    fake_open(fake);
    fake->options.fresh = false;
}

static void act(struct fake *fake, enum tune_action_kind kind) {
    struct err err = {0};
    if (!tune_session_act(fake->session, &(struct tune_action){.kind = kind}, &err))
        fail_msg("%s", err.text);
}

/* The loop asked for nothing there since it was away. */
static void end(struct fake *fake) {
    disk.name = NULL;
    if (disk.on_loop)
        fail_msg("the loop asked %d times, last for %s", disk.on_loop, disk.asked);
    fake_end(fake);
}

/* A step of a session whose helper changed waits for the disk. */
static void begin_and_wait(struct fake *fake) {
    begin(fake, 1);
    fake_file(fake->folder, "helper.py", "A = 2\n");
    disk_leaves("helper.py");
    act(fake, TUNE_ACT_START);
    serve_until(fake, somebody_waits);
}

/* No step begins before the files are known to be what they were. */
static void a_step_waits_for_the_disk_and_the_person_does_not(void **unused) {
    (void)unused;
    struct fake fake;
    begin_and_wait(&fake);
    serve_until(&fake, is_told);
    const struct tune_state *state = fake_state(&fake);
    assert_non_null(strstr(state->looks_at, "the disk has not answered yet"));
    assert_true(state->running && !fake.place.started && tune_session_is_busy(fake.session));
    act(&fake, TUNE_ACT_PAUSE);
    assert_false(state->running);
    act(&fake, TUNE_ACT_START);
    disk_comes_back();
    fake_settle(&fake);
    assert_null(state->looks_at);
    assert_int_equal(fake.place.started, 0);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].diff, "@@ -1,1 +1,1 @@\n-A = 1\n+A = 2\n");
    end(&fake);
}

static void files_are_taken_when_the_disk_has_answered(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, 1);
    fake_file(fake.folder, "helper.py", "A = 2\n");
    act(&fake, TUNE_ACT_START);
    fake_settle(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    disk_leaves("helper.py");
    act(&fake, TUNE_ACT_TAKE_FILES);
    assert_int_equal(state->changed.len, 1);
    serve_until(&fake, somebody_waits);
    act(&fake, TUNE_ACT_TAKE_FILES); /* an impatient person */
    disk_comes_back();
    fake_settle(&fake);
    assert_true(!state->changed.len && state->finished && state->best == 1);
    end(&fake);
}

/* As hone run --changed keep does, without waiting in between. */
static void who_decides_about_files_and_starts_has_both(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, 1);
    fake_file(fake.folder, "helper.py", "A = 2\n");
    tune_session_close(fake.session);
    fake_open(&fake);
    fake_settle(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->changed.len == 1 && !state->running);
    disk_leaves("helper.py");
    act(&fake, TUNE_ACT_KEEP_FILES);
    serve_until(&fake, somebody_waits);
    act(&fake, TUNE_ACT_START);
    assert_true(state->changed.len == 1 && !state->running);
    disk_comes_back();
    fake_settle(&fake);
    assert_true(!state->changed.len && state->keeps_files && state->finished);
    end(&fake);
}

/* Neither the session's end nor that of hone asks the disk again. */
static void a_session_is_closed_while_a_disk_is_away(void **unused) {
    (void)unused;
    struct fake fake;
    begin_and_wait(&fake);
    fake_events_check(&fake);
    tune_session_close(fake.session);
    fake.session = NULL;
    disk_comes_back(); /* the loop's end waits for its threads */
    end(&fake);
}

/* What only a candidate imports is read for the first time when its evaluation has ended. */
static void a_new_file_is_read_beside_the_loop(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, COUNT_OF(plans));
    fake.options.rounds = 2;
    disk_leaves("tiles.py");
    act(&fake, TUNE_ACT_START);
    serve_until(&fake, somebody_waits);
    const struct tune_state *state = fake_state(&fake);
    size_t before = state->files.len;
    assert_int_equal(state->attempts.at[state->attempts.len - 1].status, TUNE_STATUS_OPEN);
    disk_comes_back();
    fake_settle(&fake);
    assert_int_equal(state->files.len, before + 1);
    assert_string_equal(state->files.at[before].name, "tiles.py");
    assert_true(state->finished);
    end(&fake);
}

/* The screen is there before the files are compared. */
static void a_session_opens_while_a_disk_is_away(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, 1);
    tune_session_close(fake.session);
    fake_file(fake.folder, "helper.py", "A = 2\n");
    disk_leaves("helper.py");
    fake.options.early = true;
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    serve_until(&fake, somebody_waits);
    assert_int_equal(state->changed.len, 0);
    disk_comes_back();
    fake_settle(&fake);
    assert_int_equal(state->changed.len, 1);
    end(&fake);
}

/* Nor does it while the disk is there: it may leave at any time. */
static void the_loop_asks_for_no_file_of_the_task(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, COUNT_OF(plans));
    fake.options.rounds = 2;
    disk_is("*.py", false);
    act(&fake, TUNE_ACT_START);
    fake_settle(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished && state->best == 2);
    assert_string_equal(state->files.at[state->files.len - 1].name, "tiles.py");
    end(&fake);
}

/* What the holder of a session writes is looked for beside the loop. */
static struct tune_session *reader;

static bool reader_has_it_all(const struct fake *fake) {
    return tune_session_state(reader)->seq == fake_state(fake)->seq;
}

static bool reader_knows_who(const struct fake *fake) {
    (void)fake;
    return tune_session_state(reader)->holder_left;
}

static bool it_is_done(const struct fake *fake) {
    return fake_state(fake)->finished;
}

static void a_session_is_followed_while_its_disk_is_away(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    begin(&fake, 1);
    reader = tune_session_open(&fake.options, fake.loop, &err);
    assert_non_null(reader);
    assert_true(tune_session_state(reader)->read_only && tune_session_state(reader)->held_by);
    serve_until(&fake, reader_has_it_all);
    disk.of_session = true;
    disk_leaves("lock");
    serve_until(&fake, somebody_waits);
    act(&fake, TUNE_ACT_START);
    serve_until(&fake, it_is_done);
    assert_false(reader_has_it_all(&fake));
    disk_comes_back();
    serve_until(&fake, reader_has_it_all);
    assert_true(tune_session_state(reader)->finished);
    disk_leaves("lock"); /* it is closed while it looks */
    serve_until(&fake, somebody_waits);
    tune_session_close(reader);
    disk_comes_back();
    assert_int_equal(disk.on_loop, 0);
    reader = tune_session_open(&fake.options, fake.loop, &err);
    assert_non_null(reader);
    fake_events_check(&fake);
    tune_session_close(fake.session);
    fake.session = NULL;
    serve_until(&fake, reader_knows_who);
    tune_session_close(reader);
    disk.name = NULL;
    disk.of_session = false;
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_waits_for_the_disk_and_the_person_does_not),
        cmocka_unit_test(files_are_taken_when_the_disk_has_answered),
        cmocka_unit_test(who_decides_about_files_and_starts_has_both),
        cmocka_unit_test(a_session_is_closed_while_a_disk_is_away),
        cmocka_unit_test(a_new_file_is_read_beside_the_loop),
        cmocka_unit_test(a_session_opens_while_a_disk_is_away),
        cmocka_unit_test(the_loop_asks_for_no_file_of_the_task),
        cmocka_unit_test(a_session_is_followed_while_its_disk_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
