/* SPDX-License-Identifier: Apache-2.0 */
/* The one event loop: timers, child processes, worker jobs, file descriptors, signals. All
 * functions except loop_post are called on the thread that runs the loop, and all callbacks come on
 * that thread. */
#ifndef HONE_LOOP_LOOP_H
#define HONE_LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct loop;
struct loop *loop_new(void) CC_MUST_USE;
/* Kills the children that still run, waits for jobs that are at work, and frees every handle. No
 * callbacks come after it. A job that owns its data and does not end within seconds (its disk does
 * not answer) is left alone with it, and the program's end does not wait for it either. Accepts
 * NULL. */
void loop_free(struct loop *loop);
/* Serves events until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Serves events until *done is true. False when that took more than `limit_ms` (0: no limit). */
bool loop_run_until(struct loop *loop, const bool *done, uint64_t limit_ms);
/* Milliseconds since 1970: the wall clock of the moment when the loop was made, and from then on a
 * clock that nobody sets. What is stored and compared takes it, so that a wall clock that is set
 * while hone runs uses up no budget and delays nothing. */
int64_t loop_wall_ms(const struct loop *loop);

typedef void loop_fn(void *data);

/* Calls fn after delay_ms, and then every repeat_ms (0: once). A one-shot timer is gone when its fn
 * was called, so the caller forgets the pointer there. loop_timer_stop stops a timer before
 * (accepts NULL). */
struct loop_timer;
struct loop_timer *loop_timer_start(struct loop *loop, uint64_t delay_ms, uint64_t repeat_ms,
                                    loop_fn *fn, void *data);
void loop_timer_stop(struct loop_timer *timer);

/* Runs fn(data) soon on the loop's thread. It is the only function that other threads may call. */
void loop_post(struct loop *loop, loop_fn *fn, void *data);

/* Runs work(data) on a worker thread, then done(data) on the loop's thread. */
void loop_job_start(struct loop *loop, loop_fn *work, loop_fn *done, void *data);
/* The same for a job that alone owns its data. done, which frees the data, is called in any case,
 * at the latest by loop_free, except when loop_free leaves the job alone. */
void loop_job_start_owned(struct loop *loop, loop_fn *work, loop_fn *done, void *data);

/* A watched descriptor. It stays the caller's, who must stop the watch before closing it. */
enum { LOOP_READABLE = 1, LOOP_WRITABLE = 2 };
typedef void loop_watch_fn(void *data, int events);
struct loop_watch;
/* NULL when the system cannot watch fd (a plain file), or watches it already. */
struct loop_watch *loop_watch_start(struct loop *loop, int fd, int events, loop_watch_fn *fn,
                                    void *data);
void loop_watch_change(struct loop_watch *watch, int events);
void loop_watch_stop(struct loop_watch *watch); /* accepts NULL */

typedef void loop_signal_fn(void *data, int signum);
struct loop_signal;
struct loop_signal *loop_signal_start(struct loop *loop, int signum, loop_signal_fn *fn,
                                      void *data);
void loop_signal_stop(struct loop_signal *signal); /* accepts NULL */

/* What happens to an output of a child. */
enum loop_output {
    LOOP_DISCARD, /* goes to /dev/null */
    LOOP_LINES,   /* on_output for each line, without the line end */
    LOOP_RAW,     /* on_output with bytes as they come */
    LOOP_INHERIT, /* hone's own */
};
enum loop_stream { LOOP_STDOUT, LOOP_STDERR };

enum loop_end {
    LOOP_EXITED,    /* it ended with a status */
    LOOP_SIGNALLED, /* a signal that hone did not send ended it: signum (SIGKILL is mostly the
                     * kernel's out-of-memory killer, SIGXCPU the cpu limit) */
    LOOP_TIMED_OUT, /* over time_limit_s; its group was killed */
    LOOP_FLOODED,   /* over output_limit; its group was killed */
    LOOP_KILLED,    /* loop_child_kill ended it */
};
struct loop_exit {
    enum loop_end end;
    int status, signum;
    double elapsed_s;
};

/* What a child sees of hone's environment. */
enum loop_environment {
    LOOP_LISTED, /* what programs need to run and to compute alike (environment.c), and what `pass`
                  * names; no keys, no agents */
    LOOP_WHOLE,  /* all of it, for programs that the person chose for work with their login */
};

/* A child process to start. Only argv is needed; all strings are copied. */
struct loop_child_spec {
    const char *const *argv; /* ends with NULL; argv[0] is looked up on PATH */
    enum loop_environment environment;
    const char *const *pass; /* further names of hone's environment that the child sees: "NAME", or
                              * "NAME*" for all that begin so; NULL: none */
    const char *const *env;  /* "NAME=value" to set, "NAME" to remove; NULL: no change */
    const char *cwd;
    const void *input; /* written to its stdin, which is then closed */
    size_t input_len;
    bool keep_input;  /* stdin stays open for loop_child_write */
    bool own_session; /* without hone's terminal: the child can neither write nor ask there */
    bool interactive; /* stdin, terminal and process group stay hone's own */
    enum loop_output out, err;
    bool secret;             /* what LOOP_RAW read is wiped after on_output */
    size_t max_line;         /* longer lines come in pieces; 0: 1 MiB */
    uint64_t output_limit;   /* bytes of both outputs together; 0: none */
    const struct wall *wall; /* a wall with its level chosen; NULL: none. Needed until
                              * loop_child_start returns, its folder until on_exit. The child has no
                              * terminal then */
    double time_limit_s;     /* 0: none */
    uint64_t memory_limit;   /* bytes of address space, where the system can; 0: none */
    double cpu_limit_s;      /* 0: none */
    /* `whole` is false for a piece of a line longer than max_line; the rest follows. May be
     * NULL. */
    void (*on_output)(void *data, enum loop_stream stream, struct str text, bool whole);
    /* The last call, after all output was delivered. The handle is gone afterwards. May be NULL. */
    void (*on_exit)(void *data, const struct loop_exit *exit);
    void *data;
};
struct loop_child;
/* Starts a child. NULL and *err when the program cannot be started (not found, no memory). The
 * child runs in a process group of its own, inherits no descriptor but the three, and dies when
 * hone dies. */
struct loop_child *loop_child_start(struct loop *loop, const struct loop_child_spec *spec,
                                    struct err *err) CC_MUST_USE;
/* Queues bytes (copied) for its stdin. False when stdin is closed. */
bool loop_child_write(struct loop_child *child, const void *data, size_t size);
void loop_child_close_input(struct loop_child *child);
/* Asks the whole group to end (SIGTERM). After grace_ms it is made to end (SIGKILL; 0: at once).
 * on_exit still comes. Accepts NULL. */
void loop_child_kill(struct loop_child *child, uint64_t grace_ms);
/* on_output and on_exit come no more. The child runs on until it ends or is killed. */
void loop_child_forget(struct loop_child *child);
int loop_child_pid(const struct loop_child *child);
/* Prints "exit status 3", "killed by signal 11 (Segmentation fault)" or "no answer within 120
 * s". */
void loop_exit_print(const struct loop_exit *exit, struct buf *out);

#endif
