/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of transports need: a lab with a server, a connection over one of the three ways, and
 * what it reported. They wait for what happens, with a limit that only a hang reaches. */
#ifndef HONE_TESTS_TRANSPORT_SCENE_H
#define HONE_TESTS_TRANSPORT_SCENE_H

#include "hosts/lab.h"
#include "transport/transport.h"

#define SCENE_PATIENCE_MS 120000
#define SCENE_HOST "trn"

struct scene {
    const char *way; /* "libssh2", "ssh", "local" */
    struct lab *lab;
    struct sshd *sshd; /* NULL for local */
    char *home;        /* where its commands start */
    struct loop *loop;
    struct transport *transport;
    /* What was reported. */
    bool ready, closed;
    struct err why;
    struct buf notes; /* each on a line */
    int asked;
    enum transport_ask last_ask;
    struct buf questions;   /* each on a line */
    const char *answers[4]; /* given in turn; NULL declines */
};

/* How a command or copy ended, and what it printed. */
struct outcome {
    struct transport_exit exit;
    struct buf out, err;
    size_t lines, pieces;
    bool done;
    struct transport_command *command;
};

/* A lab with a server that has these options (without one for "local"), and no connection yet. */
void scene_begin(struct scene *scene, const char *way, const struct sshd_options *options);
void scene_end(struct scene *scene);
/* Connects to the server, with what `host` sets (it may be NULL; its name NULL: SCENE_HOST). Waits
 * until the connection is ready or closed. True: ready. */
bool scene_connect(struct scene *scene, const struct transport_host *host);
/* Closes the connection and forgets what was reported. */
void scene_disconnect(struct scene *scene);

/* A spec that fills the outcome: lines joined by '|' in text, or raw bytes. */
struct transport_command_spec scene_spec(struct outcome *outcome, const char *const *argv,
                                         enum loop_output output);
/* Starts it, which must work. Wait for it with scene_wait. */
void scene_start(struct scene *scene, struct outcome *outcome,
                 const struct transport_command_spec *spec);
void scene_wait(struct scene *scene, const bool *done);
/* Runs sh -c SCRIPT to its end, by lines. */
void scene_shell(struct scene *scene, struct outcome *outcome, const char *script);
void outcome_free(struct outcome *outcome);
/* Makes a copy and waits for its end. */
void scene_copy(struct scene *scene, const struct transport_copy_spec *spec, struct err *why);
/* The path of a file in the machine's home. Free it. */
char *scene_home_path(const struct scene *scene, const char *name);
/* Names in a folder that begin with `prefix`. */
size_t count_names(const char *folder, const char *prefix);

#endif
