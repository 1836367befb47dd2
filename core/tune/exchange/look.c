/* SPDX-License-Identifier: Apache-2.0 */
/* Before the loop's thread touches a file of the task, a worker does the same: where a disk does
 * not answer (a file server that is away), only the worker waits. What it read the session has in
 * memory afterwards (task/seen.h), and what it found in the cache of references here, and in the
 * first kernel, whose lint follows its imports. No step
 * begins, and no evaluation counts, before the look at its files is over. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "loop/loop.h"
#include "nki/nki.h"
#include "task/task.h"
#include "tune/exchange/private.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"

#define AWAIT_MS 100 /* so long what a person does waits for its answer */
#define SLOW_MS 700  /* a look of this length is told */
#define NO_ATTEMPT (-1)

/* A look under way. It owns its data, and outlives the session if need be. */
struct looking {
    struct tune_session *session; /* NULL: nobody waits for it any more */
    struct task_seen *seen;
    struct arena *arena;
    int attempt; /* of the evaluation that ended; NO_ATTEMPT */
    bool data;   /* everything is read, as it is on disk now */
    const char *kernel, *source, *candidate, *reference, *beside, *cached;
    const char **files;
    size_t n_files;
    const int64_t *seeds;
    size_t n_seeds;
    struct task_inputs *shapes; /* what the cache has of the first seed; NULL */
    bool graph;
    VEC(char *) reads; /* what the reference was seen to read */
    bool lints;        /* the first kernel, which has the source */
    struct nki_candidate_options options;
    struct diag_list beyond;
    bool settled; /* the session has taken all that */
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool over;
};
/* What the last look found. */
struct tune_look {
    struct looking *looking; /* NULL: none is under way */
    struct loop_timer *slow;
    struct loop_timer *turn; /* until the loop has gone round, it counts; NULL: it does not */
    bool data;               /* it read everything */
    bool changed;  /* at its end the files are compared once, whether or not a step begins */
    char *telling; /* while it takes long; NULL */
    struct task_inputs *shapes;
    bool graph;
    VEC(char *) reads;
    char *linted; /* NULL: nothing was */
    struct diag_list beyond;
};

/* ------------------------------------------------------------------------------- on the worker
 */

static void closure_touch(const struct looking *looking, const char *text, bool data) {
    struct stat st;
    bool later = !looking->reference && looking->beside &&
                 task_seen_stat(looking->seen, looking->beside, &st);
    struct task_start start = {.kernel_path = looking->kernel,
                               .kernel_text = text,
                               .reference_path = later ? looking->beside : looking->reference,
                               .no_data = !data && !later,
                               .seen = looking->seen};
    task_closure_free(task_closure_find(&start, NULL));
}

static void file_touch(struct task_seen *seen, const char *path) {
    struct stat st;
    size_t size;
    if (task_seen_stat(seen, path, &st) && S_ISREG(st.st_mode) &&
        st.st_size <= (off_t)TASK_MAX_FILE_BYTES)
        free(task_seen_read(seen, path, &size, NULL));
}

static bool wants(void *data, const char *name) {
    (void)data, (void)name;
    return true;
}

static void on_read(void *data, const char *name) {
    struct looking *looking = data;
    char *folder = path_folder(looking->cached), *path = path_join(folder, name);
    char *plain = task_path_plain(path);
    *vec_push(&looking->reads) = mem_strdup(name);
    file_touch(looking->seen, plain);
    free(plain);
    free(path);
    free(folder);
}

static void cache_touch(struct looking *looking) {
    const struct task_reading reading = {looking->cached, looking->seen, wants, on_read, looking};
    looking->shapes = task_shapes_cached(looking->cached, looking->n_seeds ? looking->seeds[0] : 0,
                                         looking->seen);
    looking->graph = task_graph_is_cached(looking->cached, looking->seen);
    for (size_t i = 0; looking->attempt != NO_ATTEMPT && i < looking->n_seeds; i++)
        task_reference_read(&reading, looking->seeds[i]);
}

static void kernel_lint(struct looking *looking) {
    struct diag_list ignored = {0};
    struct nki_tree *tree = nki_parse(looking->options.path, str_of(looking->source), &ignored);
    nki_lint_beyond(tree, &looking->options, &looking->beyond);
    nki_tree_free(tree);
    diag_free(&ignored);
}

static void looking_work(void *data) {
    struct looking *looking = data;
    struct stat st;
    if (looking->kernel)
        (void)!task_seen_stat(looking->seen, looking->kernel, &st);
    for (size_t i = 0; i < looking->n_files; i++)
        file_touch(looking->seen, looking->files[i]);
    closure_touch(looking, looking->source, looking->data);
    if (looking->data)
        closure_touch(looking, NULL, true);
    if (looking->candidate)
        closure_touch(looking, looking->candidate, false);
    if (looking->cached)
        cache_touch(looking);
    if (looking->lints)
        kernel_lint(looking);
    pthread_mutex_lock(&looking->lock);
    looking->over = true;
    pthread_cond_signal(&looking->end);
    pthread_mutex_unlock(&looking->lock);
}

/* ---------------------------------------------------------------------------------- its result
 */

static void reads_free(char **names, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static void looking_free(struct looking *looking) {
    task_inputs_free(looking->shapes);
    reads_free(looking->reads.at, looking->reads.len);
    diag_free(&looking->beyond);
    task_seen_free(looking->seen);
    pthread_cond_destroy(&looking->end);
    pthread_mutex_destroy(&looking->lock);
    arena_free(looking->arena);
    free(looking);
}

static void telling_end(struct tune_session *session) {
    struct tune_look *look = session->look;
    loop_timer_stop(look->slow);
    look->slow = NULL;
    session->state->looks_at = NULL;
    free(look->telling);
    look->telling = NULL;
}

static void lint_take(struct tune_look *look, struct looking *looking) {
    if (!looking->lints)
        return;
    diag_free(&look->beyond);
    free(look->linted);
    look->beyond = looking->beyond;
    look->linted = mem_strdup(looking->source);
    looking->beyond = (struct diag_list){0};
}

static void turn_over(void *data) {
    struct tune_session *session = data;
    struct tune_look *look = session->look;
    loop_timer_stop(look->turn);
    look->turn = NULL;
    task_seen_look_over(session->seen);
}

static void on_turn_over(void *data) {
    struct tune_session *session = data;
    session->look->turn = NULL;
    turn_over(session);
}

/* What a look found is the session's from now on. What it learnt of the disk counts for what the
 * loop does at once: afterwards the files may be others. */
static void settle(struct tune_session *session, struct looking *looking) {
    struct tune_look *look = session->look;
    telling_end(session);
    looking->settled = true;
    task_inputs_free(look->shapes);
    reads_free(look->reads.at, look->reads.len);
    look->shapes = looking->shapes;
    look->graph = looking->graph;
    look->reads.at = looking->reads.at;
    look->reads.len = look->reads.cap = looking->reads.len;
    looking->shapes = NULL;
    looking->reads.at = NULL;
    looking->reads.len = looking->reads.cap = 0;
    lint_take(look, looking);
    look->data = looking->data;
    loop_timer_stop(look->turn);
    look->turn = loop_timer_start(session->loop, 0, 0, on_turn_over, session);
    for (struct tune_evaluation *at = session->evaluations; at; at = at->next)
        if (!at->run && at->attempt == looking->attempt)
            at->looked = true;
}

static void looking_done(void *data) {
    struct looking *looking = data;
    struct tune_session *session = looking->session;
    if (session) {
        bool compares = session->look->changed;
        session->look->changed = false;
        if (!looking->settled)
            settle(session, looking);
        session->look->looking = NULL;
        if (compares && !tune_works(session))
            tune_files_check(session, false);
        session->driver->files_looked(session);
        if (session->changed)
            session->changed(session->changed_context);
    }
    looking_free(looking);
}

/* ------------------------------------------------------------------------------------ its start
 */

/* The folder, and since when: a disk that does not answer is no reason to wonder. */
static void on_slow(void *data) {
    struct tune_session *session = data;
    struct tune_look *look = session->look;
    const char *file = session->kernel_now ? session->kernel_now : session->reference_now;
    struct buf text = {0};
    char *folder = path_folder(file ? file : "."), *absolute = path_absolute(folder);
    buf_printf(&text, "the files of the task in %.300s: the disk has not answered yet", absolute);
    look->slow = NULL;
    look->telling = buf_take(&text);
    session->state->looks_at = look->telling;
    if (session->changed)
        session->changed(session->changed_context);
    free(absolute);
    free(folder);
}

static const char *copy(const struct looking *looking, const char *text) {
    return text ? arena_strdup(looking->arena, text) : NULL;
}

static void files_copy(struct looking *looking, const struct tune_session *session) {
    const struct tune_state *state = session->state;
    char *root = state->files.len ? tune_files_root(session) : NULL;
    looking->files = ARENA_ARRAY(looking->arena, const char *, state->files.len + 1);
    for (size_t i = 0; root && i < state->files.len; i++) {
        const struct tune_task_file *file = &state->files.at[i];
        if (!tune_file_name_is_safe(file->name))
            continue;
        char *path = path_join(root, file->name);
        looking->files[looking->n_files++] = copy(looking, path);
        free(path);
    }
    free(root);
}

static void paths_copy(struct looking *looking, const struct tune_session *session) {
    const struct tune_state *state = session->state;
    const char *anchor = session->is_builtin ? session->reference_now : session->kernel_now;
    char *folder = path_folder(anchor ? anchor : "x");
    char *beside = path_join(folder, session->is_builtin ? "kernel.py" : "reference.py");
    looking->kernel = copy(looking, session->is_builtin ? beside : session->kernel_now);
    looking->beside = session->is_builtin ? NULL : copy(looking, beside);
    looking->source = copy(looking, state->kernel_source);
    looking->reference = copy(looking, session->reference_now);
    looking->cached = copy(looking, tune_reference_file(state));
    int64_t *seeds = ARENA_ARRAY(looking->arena, int64_t, state->seeds.len + 1);
    for (size_t i = 0; i < state->seeds.len; i++)
        seeds[i] = state->seeds.at[i];
    looking->seeds = seeds;
    looking->n_seeds = state->seeds.len;
    free(beside);
    free(folder);
}

static bool is_linted(const struct tune_session *session) {
    const struct tune_look *look = session->look;
    const char *source = session->state->kernel_source;
    return !source || (look && look->linted && !strcmp(look->linted, source));
}

/* Before its evaluation the first kernel is told what it uses beyond what candidates may. */
static bool needs_lint(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    return !tune_state_attempt(state, state->incumbent) && !is_linted(session);
}

static void lint_copy(struct looking *looking, const struct tune_session *session) {
    const struct tune_state *state = session->state;
    const char *path = tune_kernel_file(state);
    looking->lints = needs_lint(session);
    looking->options =
        (struct nki_candidate_options){.release = copy(looking, tune_release(state)),
                                       .path = copy(looking, path ? path : "kernel.py"),
                                       .reference = copy(looking, tune_reference_file(state))};
}

static struct tune_look *look_of(struct tune_session *session) {
    if (!session->look)
        session->look = mem_alloc(1, sizeof *session->look);
    return session->look;
}

static void begin(struct tune_session *session, int attempt, bool data) {
    struct tune_look *look = look_of(session);
    const struct tune_attempt *tried = tune_state_attempt(session->state, attempt);
    if (look->looking)
        return;
    loop_timer_stop(look->turn);
    look->turn = NULL;
    struct looking *looking = look->looking = mem_alloc(1, sizeof *looking);
    looking->session = session;
    looking->seen = task_seen_hold(session->seen);
    looking->arena = arena_new();
    looking->attempt = attempt;
    looking->data = data;
    paths_copy(looking, session);
    files_copy(looking, session);
    lint_copy(looking, session);
    looking->candidate = tried ? copy(looking, tune_source(session->state, tried)) : NULL;
    pthread_mutex_init(&looking->lock, NULL);
    pthread_cond_init(&looking->end, NULL);
    task_seen_look(session->seen);
    look->slow = loop_timer_start(session->loop, SLOW_MS, 0, on_slow, session);
    loop_job_start_owned(session->loop, looking_work, looking_done, looking);
}

static bool is_fresh(const struct tune_session *session) {
    const struct tune_look *look = session->look;
    return look && look->turn;
}

bool tune_look_is_over(struct tune_session *session) {
    if (session->state->read_only || (is_fresh(session) && !needs_lint(session)))
        return true;
    begin(session, NO_ATTEMPT, false);
    return false;
}

bool tune_look_is_over_for(struct tune_session *session, const struct tune_evaluation *evaluation) {
    if (evaluation->looked && is_fresh(session))
        return true;
    begin(session, evaluation->attempt, false);
    return false;
}

void tune_look_and_compare(struct tune_session *session) {
    begin(session, NO_ATTEMPT, false);
    session->look->changed = true;
}

/* The disk mostly answers at once, and so does hone then. */
static bool await(struct looking *looking) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += AWAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&looking->lock);
    while (!looking->over && pthread_cond_timedwait(&looking->end, &looking->lock, &until) == 0)
        ;
    bool over = looking->over;
    pthread_mutex_unlock(&looking->lock);
    return over;
}

bool tune_look_await(struct tune_session *session, bool data) {
    struct tune_look *look = look_of(session);
    if (is_fresh(session) && (look->data || !data))
        return true;
    bool asked = look->looking == NULL;
    begin(session, NO_ATTEMPT, data);
    if (!asked && data && !look->looking->data)
        return false; /* the one under way reads too little */
    struct looking *looking = look->looking;
    if (looking->settled || !await(looking))
        return false;
    settle(session, looking);
    return true;
}

void tune_look_end(struct tune_session *session) {
    if (session->look && session->look->turn)
        turn_over(session);
}

bool tune_look_is_busy(const struct tune_session *session) {
    return session->look && session->look->looking && !session->look->looking->settled;
}

const struct task_inputs *tune_look_shapes(const struct tune_session *session) {
    return session->look ? session->look->shapes : NULL;
}

bool tune_look_graph(const struct tune_session *session) {
    return session->look && session->look->graph;
}

const struct diag_list *tune_look_beyond(const struct tune_session *session) {
    return is_linted(session) && session->look ? &session->look->beyond : NULL;
}

size_t tune_look_reads(const struct tune_session *session, char *const **names) {
    *names = session->look ? session->look->reads.at : NULL;
    return session->look ? session->look->reads.len : 0;
}

void tune_look_forget(struct tune_session *session) {
    struct tune_look *look = session->look;
    if (!look)
        return;
    if (look->looking)
        look->looking->session = NULL;
    telling_end(session);
    loop_timer_stop(look->turn);
    task_inputs_free(look->shapes);
    reads_free(look->reads.at, look->reads.len);
    diag_free(&look->beyond);
    free(look->linted);
    free(look);
    session->look = NULL;
}
