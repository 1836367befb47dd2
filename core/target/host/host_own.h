/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files of the host: its fields, and the steps that prepare it. */
#ifndef HONE_TARGET_HOST_OWN_H
#define HONE_TARGET_HOST_OWN_H

#include "target/host/host.h"

enum host_phase {
    HOST_CLOSED,    /* waits for its next try, or failed */
    HOST_OPENING,   /* the transport connects */
    HOST_PREPARING, /* Python is looked for, the runner is put there, the host probed */
    HOST_READY,
};

struct host {
    struct loop *loop;
    struct target_board *board;
    struct host_spec spec; /* its strings live in the arena */
    struct arena *arena;
    struct transport *transport;
    enum host_phase phase;
    struct err failure; /* it does not try again by itself; kind NONE: it does */
    bool was_ready;     /* what goes wrong now is a connection lost */
    int64_t lost_ms;    /* wall clock; since when there is no connection */
    int tries;          /* in a row that did not end in HOST_READY */
    uint64_t since_ns;  /* the first of them; a person's answer begins anew */
    struct loop_timer *retry, *refresh, *breaking;
    struct err breaking_why;
    struct host_prepare *prepare; /* while PREPARING */
    struct host_call *looking, *sweeping, *ending;
    VEC(struct host_call *) calls;
    VEC(struct host_copy *) copies;
    VEC(struct host_put *) puts;
    VEC(struct host_job *) jobs;
    VEC(char *) ends; /* folders of jobs to be cancelled once ready */
    VEC(struct runner_setting) settings;
    char *python, *runner; /* there; kept over connections, found anew with each */
    char *settings_json;
    int64_t asked_ms; /* when it was asked for its `host` event */
    double skew_s;    /* its clock minus ours; 0: about the same */
    char note[300];   /* what is worth saying while all is well: "no Neuron SDK" */
};

/* Gives up until somebody changes something; takes effect on the next turn too. */
void host_fail(struct host *host, const struct err *why);
/* Everything is in place. */
void host_be_ready(struct host *host);

/* host_call.c: what is under way ends as lost. */
void host_calls_lose(struct host *host);
void host_calls_free(struct host *host);
/* host_put.c */
void host_puts_free(struct host *host);

/* host_prepare.c */
void host_prepare_start(struct host *host);
void host_prepare_free(struct host *host);

/* host_look.c: reads a `host` event; asks for one. */
void host_look_read(struct host *host, const cJSON *event, int64_t asked_ms);
void host_look_start(struct host *host);
/* "connected", with what is worth knowing. */
void host_look_show(struct host *host);

/* host_job.c */
void host_ends_run(struct host *host);

/* Text of a JSON member; "" when it has none. */
const char *host_text(const cJSON *object, const char *name);
double host_amount(const cJSON *object, const char *name, double otherwise);

#endif
