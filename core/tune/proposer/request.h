/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a language model, until it is answered: several turns, and where services are out
 * of order or answers useless, several models. Private to tune. */
#ifndef HONE_TUNE_REQUEST_H
#define HONE_TUNE_REQUEST_H

#include "tune/proposer/inner.h"
#include "tune/proposer/models.h"

/* What an answer can be sent back for, once each: it cannot be read, or it is an old one again. */
enum tune_trouble { TUNE_UNREADABLE, TUNE_REPEATED, TUNE_TROUBLES };

struct models_proposer {
    struct tune_proposer proposer;
    struct loop *loop;
    struct model_client *client;
    struct tune_models *models;
    char *name;
    struct request *requests; /* under way */
    double wait_s, limit_s;   /* before the second try of a service; the longest wait */
    struct loop_timer *timer; /* the next try of what waits */
};

/* What was asked for. */
struct request {
    struct models_proposer *owner;
    struct request *next;
    const struct tune_context *context;
    struct tune_reply *reply;
    enum tune_role role;
    size_t which; /* of the role's models */
    struct model_call *call;
    int number;                    /* of the call, in state->calls; -1 */
    int mends;                     /* the call whose answer could not be used, -1 */
    int repeats;                   /* the call that came to nothing, -1 */
    bool open;                     /* the call is written down, its answer is not */
    bool speaks;                   /* a piece of the answer came */
    bool seen;                     /* a person looked at the question and sent it */
    bool waits;                    /* for a service; nothing is under way */
    bool *out;                     /* models of the role that cannot answer it, whenever */
    struct model_endpoint changed; /* after a cut answer; api NULL: as the settings say */
    struct model_reply cut;        /* how that was: only what says how it was cut */
    int taken;                     /* max_tokens that the service took then */
    struct {
        int max_tokens, thinking_tokens;
        enum model_effort effort;
    } asked;                   /* last */
    enum tune_trouble trouble; /* of the answer that was read last */
    bool sent_back[TUNE_TROUBLES];
    struct tune_prompt_messages texts;
};

/* request.c: writes the question down and sends it, unless the person wants to see it first.
 * `held`: the person did, and sends it now. */
void tune_request_ask(struct request *self, bool held);
/* How it is asked: as the settings say, or changed after an answer that was cut. */
const struct model_endpoint *tune_request_endpoint(const struct request *self);
const char *tune_request_model(const struct request *self);
/* Takes it off the list and frees it; nothing of it may be used then. */
void tune_request_forget(struct request *self);
/* Whether somebody still waits for it: not when the session was halted meanwhile. */
bool tune_request_is_under_way(const struct models_proposer *owner, const struct request *request);
/* It cannot be done: what was asked for has failed, the question or its service has not. */
void tune_request_fail(struct request *self, const char *text);

/* request_read.c: an answer that came. Passes it on, has it mended, or sees it as none. */
void tune_request_read(struct request *self, const struct model_reply *answer);

/* request_again.c: asks the first model, or the next that may answer; waits where none may now. */
void tune_request_begin(struct request *self, size_t first);
/* No answer came, or none that counts: the question goes out again, otherwise, to another model, or
 * later; where no model can answer it the loop pauses with `text`. */
void tune_request_lost(struct request *self, const struct model_reply *answer);
void tune_request_unanswerable(struct request *self, const char *text);
/* The answer was cut: once more with more room for it, never the same. */
void tune_request_cut(struct request *self, const struct model_reply *answer);
/* A service speaks again: what waits is asked. Also when a person says so. */
void tune_requests_wake(struct models_proposer *owner);
void tune_requests_wake_soon(struct models_proposer *owner);
/* Sets the timer of the next try; called when something began to wait or was given up. */
void tune_requests_watch(struct models_proposer *owner);

#endif
