/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a host, and the steps that prepare it. Private to this folder. */
#ifndef HONE_TARGET_HOST_OWN_H
#define HONE_TARGET_HOST_OWN_H

#include "target/host/host.h"

enum host_phase {
    HOST_CLOSED,    /* waits for its next try, or failed */
    HOST_OPENING,   /* the transport connects */
    HOST_PREPARING, /* looks for Python, puts the runner there, probes the host */
    HOST_READY,
};

struct host {
    struct loop *loop;
    struct target_board *board;
    struct host_spec spec; /* its strings live in the arena */
    struct arena *arena;
    struct transport *transport;
    enum host_phase phase;
    struct err failure; /* why it does not try again on its own; kind NONE: it does */
    bool was_ready;     /* so a failure now is a lost connection */
    int64_t lost_ms;    /* wall clock: since when there is no connection */
    int tries;          /* how many in a row did not end in HOST_READY */
    uint64_t since_ns;  /* when the first of them was; a person's answer resets it */
    struct loop_timer *retry, *refresh, *breaking;
    struct err breaking_why;
    struct host_prepare *prepare; /* while PREPARING */
    struct host_call *looking, *sweeping, *ending;
    VEC(struct host_call *) calls;
    VEC(struct host_copy *) copies;
    VEC(struct host_put *) puts;
    VEC(struct host_job *) jobs;
    VEC(char *) ends; /* folders of jobs to cancel when it is ready */
    VEC(struct runner_setting) settings;
    char *python, *runner; /* paths there; found anew with each connection */
    char *settings_json;
    int64_t asked_ms; /* when it was asked for its `host` event */
    double skew_s;    /* its clock minus ours; 0: about the same */
    char note[300];   /* what is worth saying while all is well: "no Neuron SDK" */
};

/* Gives up until somebody changes something. It takes effect on the next turn. */
void host_fail(struct host *host, const struct err *why);
/* Everything is in place, so the host is ready. */
void host_be_ready(struct host *host);

/* host_call.c: everything under way ends as lost. */
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
/* Shows "connected", with what is worth knowing. */
void host_look_show(struct host *host);

/* host_job.c */
void host_ends_run(struct host *host);

/* The text of a JSON member; "" when there is none. */
const char *host_text(const cJSON *object, const char *name);
double host_amount(const cJSON *object, const char *name, double otherwise);

#endif
