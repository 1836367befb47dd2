/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes. They are started with limits and in a group of their own, fed and read through
 * pipes, and killed as a group. hone forks itself, because libuv's spawn has no place for limits
 * and the parent-death signal between fork and exec. What the output means is the caller's
 * business. */
#include "loop/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_MAX_LINE ((size_t)1 << 20)
#define LINES_AT_ONCE 4096 /* bytes of lines read before the loop goes round */
#define MOST_LINGERS 20
#define LINGER_MS 300 /* how long outputs may stay open after the child ended */

extern char **environ;

struct output {
    uv_pipe_t *pipe; /* NULL when it is closed or was never open */
    enum loop_output mode;
    struct buf line;
    bool paused; /* lines are not read until the loop has gone round */
};

struct loop_child {
    struct loop *loop;
    struct loop_child_spec spec; /* only its plain values and callbacks */
    pid_t pid;
    uv_pipe_t *input;
    struct output outputs[2];
    struct loop_timer *limit, *grace, *linger, *resume;
    int lingered;
    uint64_t started_ns;
    size_t writes;
    uint64_t heard; /* bytes that its outputs gave */
    enum wall_level wall;
    bool reaped, killed, timed_out, flooded, forgotten, close_input;
    int wait_status;
    double elapsed_s;
};

/* What the forked process needs. All of it is made before the fork. */
struct plan {
    char *const *argv;
    char **env;
    const struct loop_child_spec *spec;
    struct os_filter *filter; /* of the wall; NULL: none */
    int filter_fd;            /* the same for bubblewrap; -1: none */
    int fds[3];
    int report; /* where a failed exec writes its errno */
    pid_t parent;
};

/* -------------------------------------------------------------------------- in the new process */

static CC_NORETURN void give_up(const struct plan *plan) {
    int code = errno;
    (void)!write(plan->report, &code, sizeof code);
    _exit(127);
}

static void default_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    for (int signum = 1; signum < NSIG; signum++)
        signal(signum, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static CC_NORETURN void become_child(struct plan *plan) {
    const struct loop_child_spec *spec = plan->spec;
    if (spec->own_session || spec->wall)
        setsid();
    else if (!spec->interactive)
        setpgid(0, 0);
    default_signals();
    if (!os_die_with_parent(plan->parent))
        _exit(127);
    for (int i = 0; i < 3; i++) {
        if (plan->fds[i] >= 0 && dup2(plan->fds[i], i) < 0)
            give_up(plan);
    }
    os_close_at_exec(3);
    if (spec->cwd && chdir(spec->cwd) != 0)
        give_up(plan);
    if (!os_limit_memory(spec->memory_limit) || !os_limit_cpu(spec->cpu_limit_s))
        give_up(plan);
    if (spec->wall && !os_wall_enter(spec->wall, plan->filter))
        give_up(plan);
    if (plan->filter_fd >= 0)
        fcntl(plan->filter_fd, F_SETFD, 0);
    environ = plan->env;
    execvp(plan->argv[0], plan->argv);
    give_up(plan);
}

/* ------------------------------------------------------------------------------------ starting */

static bool make_pipe(int ends[2]) {
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Opens what the child gets as descriptor `which`. *ours is hone's end of a pipe, or -1. */
static bool open_end(int which, bool piped, bool inherited, int *theirs, int *ours) {
    *theirs = *ours = -1;
    if (inherited)
        return true;
    if (!piped) {
        *theirs = open("/dev/null", (which ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        return *theirs >= 0;
    }
    int ends[2];
    if (!make_pipe(ends))
        return false;
    *theirs = ends[which ? 1 : 0];
    *ours = ends[which ? 0 : 1];
    return true;
}

static bool open_ends(const struct loop_child_spec *spec, int theirs[3], int ours[3]) {
    bool wants_input = spec->keep_input || spec->input_len;
    return open_end(0, wants_input, spec->interactive, &theirs[0], &ours[0]) &&
           open_end(1, spec->out == LOOP_LINES || spec->out == LOOP_RAW,
                    spec->out == LOOP_INHERIT || spec->interactive, &theirs[1], &ours[1]) &&
           open_end(2, spec->err == LOOP_LINES || spec->err == LOOP_RAW,
                    spec->err == LOOP_INHERIT || spec->interactive, &theirs[2], &ours[2]);
}

/* Forks, and waits until the program runs or says why it does not. Returns the pid, or -1 with
 * errno. */
static pid_t launch(struct plan *plan) {
    int report[2];
    if (!make_pipe(report))
        return -1;
    plan->report = report[1];
    plan->parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_child(plan);
    int failed = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        if (!plan->spec->interactive && !plan->spec->own_session && !plan->spec->wall)
            setpgid(pid, pid); /* here as well, because a kill may come before the child did it */
        ssize_t n;
        do
            n = read(report[0], &failed, sizeof failed);
        while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof failed)
            failed = 0;
        if (failed)
            waitpid(pid, NULL, 0);
    }
    close(report[0]);
    errno = failed;
    return failed ? -1 : pid;
}

static pid_t launch_behind(const struct loop_child_spec *spec, struct plan *plan) {
    struct wall_command command = {0};
    if (spec->wall)
        plan->filter = os_wall_filter(spec->wall->level, getpid());
    if (spec->wall && spec->wall->level == WALL_BUBBLEWRAP) {
        plan->filter_fd = os_filter_open(plan->filter);
        wall_command_make(spec->wall, plan->argv, plan->filter_fd, &command);
        plan->argv = command.argv.at;
    }
    pid_t pid = launch(plan);
    int code = errno;
    close_fd(&plan->filter_fd);
    free(plan->filter);
    wall_command_free(&command);
    errno = code;
    return pid;
}

static pid_t launch_spec(const struct loop_child_spec *spec, int theirs[3]) {
    union {
        const char *const *in;
        char *const *out;
    } argv = {spec->argv};
    struct plan plan = {
        .argv = argv.out, .spec = spec, .env = loop_make_environment(spec), .filter_fd = -1};
    for (int i = 0; i < 3; i++)
        plan.fds[i] = theirs[i];
    pid_t pid = launch_behind(spec, &plan);
    int code = errno;
    free(plan.env);
    errno = code;
    return pid;
}

/* ------------------------------------------------------------------------------------- reading */

static void deliver(struct loop_child *child, int which, struct str text, bool whole) {
    if (child->spec.on_output && !child->forgotten)
        child->spec.on_output(child->spec.data, which ? LOOP_STDERR : LOOP_STDOUT, text, whole);
}

static void split_lines(struct loop_child *child, int which, struct str rest) {
    struct buf *line = &child->outputs[which].line;
    size_t most = child->spec.max_line;
    while (rest.len) {
        const char *end = memchr(rest.at, '\n', rest.len);
        size_t take = end ? (size_t)(end - rest.at) : rest.len;
        bool whole = end != NULL;
        if (line->len + take > most) {
            take = most - line->len;
            whole = false;
        }
        if (whole && !line->len) {
            deliver(child, which, (struct str){rest.at, take}, true);
        } else {
            buf_add(line, rest.at, take);
            if (whole || line->len == most) {
                deliver(child, which, buf_str(line), whole);
                buf_clear(line);
            }
        }
        take += whole;
        rest.at += take;
        rest.len -= take;
    }
}

static void finish_if_over(struct loop_child *child);

static void close_output(struct loop_child *child, int which) {
    struct output *output = &child->outputs[which];
    if (!output->pipe)
        return;
    output->paused = false;
    loop_close_handle(output->pipe);
    output->pipe = NULL;
    if (output->line.len)
        deliver(child, which, buf_str(&output->line), true);
    buf_clear(&output->line);
}

static int which_output(const struct loop_child *child, const void *stream) {
    return stream == child->outputs[1].pipe;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    const struct loop_child *child = handle->data;
    bool lines = child->outputs[which_output(child, handle)].mode != LOOP_RAW;
    size_t size = lines ? MIN_OF(suggested, (size_t)LINES_AT_ONCE) : suggested;
    *buf = uv_buf_init(mem_alloc(1, size), (unsigned)size);
}

static void on_resume(void *data);

/* A child may print faster than its lines are dealt with. So that keys and frames need not wait,
 * the loop goes round once after each piece. */
static void pause_reading(struct loop_child *child, int which) {
    struct output *output = &child->outputs[which];
    uv_read_stop((uv_stream_t *)output->pipe);
    output->paused = true;
    if (!child->resume)
        child->resume = loop_timer_start(child->loop, 0, 0, on_resume, child);
}

static void end_group(struct loop_child *child, uint64_t grace_ms);

static void count_output(struct loop_child *child, uint64_t bytes) {
    child->heard += bytes;
    if (!child->spec.output_limit || child->heard <= child->spec.output_limit || child->flooded)
        return;
    child->flooded = true;
    if (!child->reaped)
        end_group(child, 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct loop_child *child = stream->data;
    int which = which_output(child, stream);
    bool raw = child->outputs[which].mode == LOOP_RAW;
    if (n > 0)
        count_output(child, (uint64_t)n);
    if (n > 0 && !raw)
        pause_reading(child, which);
    if (n > 0 && raw)
        deliver(child, which, (struct str){buf->base, (size_t)n}, true);
    else if (n > 0)
        split_lines(child, which, (struct str){buf->base, (size_t)n});
    if (n > 0 && child->spec.secret)
        explicit_bzero(buf->base, (size_t)n);
    free(buf->base);
    if (n < 0) {
        close_output(child, which);
        finish_if_over(child);
    }
}

static void on_resume(void *data) {
    struct loop_child *child = data;
    child->resume = NULL;
    for (int i = 0; i < 2; i++) {
        struct output *output = &child->outputs[i];
        if (output->paused)
            uv_read_start((uv_stream_t *)output->pipe, on_alloc, on_read);
        output->paused = false;
    }
}

/* ------------------------------------------------------------------------------------- writing */

struct write_request {
    uv_write_t uv;
    struct loop_child *child;
    size_t size;
    char bytes[];
};

static void close_input_now(struct loop_child *child) {
    loop_close_handle(child->input);
    child->input = NULL;
}

static void on_written(uv_write_t *uv, int status) {
    struct write_request *request = (struct write_request *)uv;
    struct loop_child *child = request->child;
    free(request);
    if (status == UV_ECANCELED)
        return; /* the pipe is gone, and perhaps the child too */
    child->writes--;
    if (child->input && (status < 0 || (child->close_input && !child->writes)))
        close_input_now(child);
}

bool loop_child_write(struct loop_child *child, const void *data, size_t size) {
    if (!child->input || child->close_input)
        return false;
    struct write_request *request = mem_alloc(1, sizeof *request + size);
    request->child = child;
    request->size = size;
    if (size)
        memcpy(request->bytes, data, size);
    uv_buf_t buf = uv_buf_init(request->bytes, (unsigned)size);
    if (uv_write(&request->uv, (uv_stream_t *)child->input, &buf, 1, on_written) != 0) {
        free(request);
        return false;
    }
    child->writes++;
    return true;
}

void loop_child_close_input(struct loop_child *child) {
    child->close_input = true;
    if (child->input && !child->writes)
        close_input_now(child);
}

/* ----------------------------------------------------------------------------- ending, killing */

static void signal_group(struct loop_child *child, int signum) {
    if (child->spec.interactive) {
        if (!child->reaped)
            kill(child->pid, signum);
        return;
    }
    /* Without namespaces, what left the group can be found only while its parents live. */
    bool by_hand = child->wall && child->wall < WALL_NAMESPACES;
    if (by_hand && !child->reaped && signum == SIGKILL)
        os_end_descendants(child->pid);
    /* A child behind a wall of ours may not have made a group. */
    if (kill(-child->pid, signum) != 0 && errno == ESRCH && !child->reaped)
        kill(child->pid, signum);
}

static void fill_exit(const struct loop_child *child, struct loop_exit *result) {
    *result = (struct loop_exit){.elapsed_s = child->elapsed_s};
    /* Between hone and what is in namespaces there is a process that reports signals as shells
     * do. */
    int status = WEXITSTATUS(child->wait_status);
    bool told = child->wall >= WALL_NAMESPACES && status > 128 && status < 128 + NSIG;
    if (WIFSIGNALED(child->wait_status) || told) {
        result->end = LOOP_SIGNALLED;
        result->signum = told ? status - 128 : WTERMSIG(child->wait_status);
    } else {
        result->status = status;
    }
    if (child->timed_out)
        result->end = LOOP_TIMED_OUT;
    else if (child->flooded)
        result->end = LOOP_FLOODED;
    else if (child->killed)
        result->end = LOOP_KILLED;
}

static void remove_child(struct loop_child *child) {
    struct loop *loop = child->loop;
    for (size_t i = 0; i < loop->children.len; i++)
        if (loop->children.at[i] == child)
            loop->children.at[i--] = loop->children.at[--loop->children.len];
    loop->under_way--;
    loop_timer_stop(child->limit);
    loop_timer_stop(child->grace);
    loop_timer_stop(child->linger);
    loop_timer_stop(child->resume);
    if (child->input)
        close_input_now(child);
    for (int i = 0; i < 2; i++)
        buf_free(&child->outputs[i].line);
}

static void finish_if_over(struct loop_child *child) {
    if (!child->reaped || child->outputs[0].pipe || child->outputs[1].pipe)
        return;
    struct loop_exit result;
    fill_exit(child, &result);
    remove_child(child);
    if (child->spec.on_exit && !child->forgotten)
        child->spec.on_exit(child->spec.data, &result);
    free(child);
}

static void on_linger(void *data) {
    struct loop_child *child = data;
    child->linger = NULL;
    bool more = child->outputs[0].paused || child->outputs[1].paused;
    if (more && child->lingered++ < MOST_LINGERS) { /* what it printed is still coming in */
        child->linger = loop_timer_start(child->loop, LINGER_MS, 0, on_linger, child);
        return;
    }
    close_output(child, 0);
    close_output(child, 1);
    finish_if_over(child);
}

static void after_reaping(struct loop_child *child) {
    child->reaped = true;
    child->elapsed_s = (double)(clock_monotonic_ns() - child->started_ns) * 1e-9;
    if (!child->spec.interactive)
        signal_group(child, SIGKILL); /* what it left behind in its group */
    if (child->outputs[0].pipe || child->outputs[1].pipe)
        child->linger = loop_timer_start(child->loop, LINGER_MS, 0, on_linger, child);
    finish_if_over(child);
}

void loop_reap_children(struct loop *loop) {
    /* Callbacks may start and end children, so begin again after each one. */
    for (size_t i = 0; i < loop->children.len; i++) {
        struct loop_child *child = loop->children.at[i];
        if (child->reaped || waitpid(child->pid, &child->wait_status, WNOHANG) != child->pid)
            continue;
        after_reaping(child);
        i = (size_t)-1;
    }
}

void loop_drop_children(struct loop *loop) {
    while (loop->children.len) {
        struct loop_child *child = loop->children.at[0];
        child->forgotten = true;
        if (!child->reaped) {
            signal_group(child, SIGKILL);
            waitpid(child->pid, &child->wait_status, 0);
        }
        for (int i = 0; i < 2; i++)
            close_output(child, i);
        remove_child(child);
        free(child);
    }
}

static void on_grace_over(void *data) {
    struct loop_child *child = data;
    child->grace = NULL;
    signal_group(child, SIGKILL);
}

static void end_group(struct loop_child *child, uint64_t grace_ms) {
    if (!grace_ms) {
        signal_group(child, SIGKILL);
    } else if (!child->grace) {
        signal_group(child, SIGTERM);
        child->grace = loop_timer_start(child->loop, grace_ms, 0, on_grace_over, child);
    }
}

void loop_child_kill(struct loop_child *child, uint64_t grace_ms) {
    if (!child || child->reaped)
        return;
    child->killed = true;
    end_group(child, grace_ms);
}

static void on_time_limit(void *data) {
    struct loop_child *child = data;
    child->limit = NULL;
    if (child->reaped)
        return;
    child->timed_out = true;
    end_group(child, 0);
}

/* ---------------------------------------------------------------------------------- the handle */

static uv_pipe_t *open_pipe(struct loop_child *child, int fd) {
    if (fd < 0)
        return NULL;
    uv_pipe_t *handle = mem_alloc(1, sizeof *handle);
    uv_pipe_init(&child->loop->uv, handle, 0);
    handle->data = child;
    uv_pipe_open(handle, fd);
    return handle;
}

static void attach(struct loop_child *child, const int ours[3]) {
    child->input = open_pipe(child, ours[0]);
    for (int i = 0; i < 2; i++) {
        struct output *output = &child->outputs[i];
        output->mode = i ? child->spec.err : child->spec.out;
        output->pipe = open_pipe(child, ours[i + 1]);
        if (output->pipe)
            uv_read_start((uv_stream_t *)output->pipe, on_alloc, on_read);
    }
}

static struct loop_child *new_child(struct loop *loop, const struct loop_child_spec *spec,
                                    pid_t pid) {
    struct loop_child *child = mem_alloc(1, sizeof *child);
    child->loop = loop;
    child->spec = *spec;
    child->spec.argv = child->spec.env = child->spec.pass = NULL;
    child->spec.cwd = NULL;
    child->spec.wall = NULL;
    child->wall = spec->wall ? spec->wall->level : WALL_NONE;
    child->spec.input = NULL;
    if (!child->spec.max_line)
        child->spec.max_line = DEFAULT_MAX_LINE;
    child->pid = pid;
    child->started_ns = clock_monotonic_ns();
    *vec_push(&loop->children) = child;
    loop->under_way++;
    return child;
}

struct loop_child *loop_child_start(struct loop *loop, const struct loop_child_spec *spec,
                                    struct err *err) {
    int theirs[3] = {-1, -1, -1}, ours[3] = {-1, -1, -1};
    pid_t pid = open_ends(spec, theirs, ours) ? launch_spec(spec, theirs) : -1;
    int code = errno;
    for (int i = 0; i < 3; i++)
        close_fd(&theirs[i]);
    if (pid < 0) {
        for (int i = 0; i < 3; i++)
            close_fd(&ours[i]);
        err_set(err, ERR_ENVIRONMENT, "cannot start %s%s%s%s%s: %s", spec->argv[0],
                spec->cwd ? " in " : "", spec->cwd ? spec->cwd : "",
                spec->wall ? " behind the wall " : "",
                spec->wall ? wall_name(spec->wall->level) : "", strerror(code));
        return NULL;
    }
    struct loop_child *child = new_child(loop, spec, pid);
    attach(child, ours);
    if (spec->input_len)
        loop_child_write(child, spec->input, spec->input_len);
    if (!spec->keep_input)
        loop_child_close_input(child);
    if (spec->time_limit_s > 0)
        child->limit = loop_timer_start(loop, (uint64_t)(spec->time_limit_s * 1000) + 1, 0,
                                        on_time_limit, child);
    return child;
}

void loop_child_forget(struct loop_child *child) {
    child->forgotten = true;
}

int loop_child_pid(const struct loop_child *child) {
    return (int)child->pid;
}

void loop_exit_print(const struct loop_exit *result, struct buf *out) {
    switch (result->end) {
    case LOOP_EXITED: buf_printf(out, "exit status %d", result->status); break;
    case LOOP_SIGNALLED:
        buf_printf(out, "killed by signal %d (%s)", result->signum, strsignal(result->signum));
        break;
    case LOOP_TIMED_OUT: buf_printf(out, "still running after %.3g s", result->elapsed_s); break;
    case LOOP_FLOODED: buf_puts(out, "stopped because it printed without end"); break;
    case LOOP_KILLED: buf_puts(out, "cancelled"); break;
    }
}
