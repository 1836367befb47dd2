/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a language model until it is answered. It may take several turns, and several
 * models where services are out of order or answers are useless. Private to tune. */
#ifndef HONE_TUNE_REQUEST_H
#define HONE_TUNE_REQUEST_H

#include "tune/proposer/inner.h"
#include "tune/proposer/models.h"

/* Why an answer can be sent back, once each: it cannot be read, or it is an old one again. */
enum tune_trouble { TUNE_UNREADABLE, TUNE_REPEATED, TUNE_TROUBLES };

struct models_proposer {
    struct tune_proposer proposer;
    struct loop *loop;
    struct model_client *client;
    struct tune_models *models;
    char *name;
    struct request *requests; /* under way */
    double wait_s,
        limit_s; /* before the second try of a service; the longest that anything waits */
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
    int number;  /* of the call, in state->calls; -1 */
    int mends;   /* the call whose answer could not be used, -1 */
    int repeats; /* the call that came to nothing, -1 */
    bool open;   /* the call is written down, its answer is not */
    bool speaks; /* a piece of the answer came */
    bool seen;   /* a person looked at the question and sent it */
    bool waits;  /* for a service; nothing is under way */
    bool *out;   /* models of the role that cannot answer it now or later */
    struct model_endpoint
        changed;            /* how it is asked after a cut answer; api NULL: as the settings say */
    struct model_reply cut; /* the cut answer: only what says how it was cut */
    int taken;              /* the max_tokens that the service allowed then */
    struct {
        int max_tokens, thinking_tokens;
        enum model_effort effort;
    } asked;                   /* last */
    enum tune_trouble trouble; /* of the answer that was read last */
    bool sent_back[TUNE_TROUBLES];
    struct tune_prompt_messages texts;
    size_t composed_for; /* the model that the texts were made for */
    uint64_t parts;      /* what a person had changed about the prompt when it went out */
};

/* request.c: writes the question down and sends it, unless the person wants to see it first.
 * `held`: the person saw it and sends it now. */
void tune_request_ask(struct request *self, bool held);
/* How it is asked: as the settings say, or changed after an answer that was cut. */
const struct model_endpoint *tune_request_endpoint(const struct request *self);
const char *tune_request_model(const struct request *self);
/* Whether a person answers it. */
bool tune_request_is_human(const struct request *self);
/* Takes it off the list and frees it; nothing of it may be used then. */
void tune_request_forget(struct request *self);
/* Whether somebody still waits for it. Nobody does after the session was halted. */
bool tune_request_is_under_way(const struct models_proposer *owner, const struct request *request);
/* It cannot be done. What was asked for failed; the question and its service did not. */
void tune_request_fail(struct request *self, const char *text);

/* desk.c: the folder, with what the question is about as files, that a program is asked in. Free
 * the path. NULL where it cannot be written. */
char *tune_desk_lay(const struct tune_session *session,
                    const struct tune_context *context) CC_MUST_USE;

/* request_read.c: reads an answer that came. Passes it on, sends it back to be mended, or treats it
 * as none. */
void tune_request_read(struct request *self, const struct model_reply *answer);

/* request_again.c: asks the first model, or the next that may answer; waits where none may now. */
void tune_request_begin(struct request *self, size_t first);
/* No answer came, or none that counts. The question goes out again: asked in another way, to
 * another model, or later. Where no model can answer it, the loop pauses with `text`. */
void tune_request_lost(struct request *self, const struct model_reply *answer);
void tune_request_unanswerable(struct request *self, const char *text);
/* The answer was cut: asks once more with more room for it, never in the same way. */
void tune_request_cut(struct request *self, const struct model_reply *answer);
/* A service answers again: what waits is asked. Also when a person asks for that. */
void tune_requests_wake(struct models_proposer *owner);
void tune_requests_wake_soon(struct models_proposer *owner);
/* Sets the timer of the next try; called when something begins to wait or is given up. */
void tune_requests_watch(struct models_proposer *owner);

#endif
