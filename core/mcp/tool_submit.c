/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that hand a kernel or a plan in and wait for what becomes of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

#define WAIT_S 50 /* clients give up after a minute, as a rule */
#define MOST_WAIT_S 3600

struct waiting {
    struct mcp_call *call;
    struct loop_timer *deadline;
    int number;
};

static void waiting_free(struct waiting *own) {
    loop_timer_stop(own->deadline);
    free(own);
}

static void cancel(struct mcp_call *call) {
    waiting_free(call->work);
}

static void answer(struct waiting *own) {
    struct mcp_call *call = own->call;
    struct tune_submission_view view;
    int number = own->number;
    char uri[64];
    bool is_attempt = tune_submission_look(mcp_state(call), number, &view) && view.attempt >= 0;
    snprintf(uri, sizeof uri, "hone://attempt/%d/kernel.py", view.attempt);
    waiting_free(own);
    mcp_call_done(call, mcp_submission_write(call, number), is_attempt ? uri : NULL);
}

static void on_deadline(void *data) {
    struct waiting *own = data;
    own->deadline = NULL;
    answer(own);
}

/* Whether nothing comes of it until a person does more than to start the loop. A loop that is
 * paused or was never started is waited for: who is told to call wait would ask without end. */
bool mcp_loop_stands(const struct mcp_server *server) {
    const struct tune_state *state = tune_session_state(server->options.session);
    return !server->soon && !tune_session_is_busy(server->options.session) &&
           (state->trouble || state->read_only || state->changed.len ||
            state->wait == TUNE_WAIT_STOPPED);
}

static void look(struct mcp_call *call) {
    struct waiting *own = call->work;
    const struct tune_state *state = mcp_state(call);
    struct tune_submission_view view;
    bool known = tune_submission_look(state, own->number, &view);
    bool wanted = tune_session_wants_kernel(call->client->server->options.session) == own->number;
    if (!known || view.is == TUNE_SUBMISSION_ENDED || wanted ||
        mcp_loop_stands(call->client->server))
        answer(own);
    else
        mcp_call_stands(call, view.is == TUNE_SUBMISSION_QUEUED ? "queued behind " : "");
}

static bool wait_read(struct mcp_call *call, double *seconds) {
    double given = mcp_number(call, "wait_s");
    *seconds = isnan(given) ? WAIT_S : given;
    if (*seconds >= 0 && *seconds <= MOST_WAIT_S)
        return true;
    mcp_call_failed(call, "\"wait_s\" must be from 0 to %d seconds, not %g", MOST_WAIT_S, given);
    return false;
}

static void wait_for(struct mcp_call *call, int number, double seconds) {
    struct mcp_server *server = call->client->server;
    struct waiting *own = mem_alloc(1, sizeof *own);
    *own = (struct waiting){.call = call, .number = number};
    own->deadline =
        loop_timer_start(server->options.loop, (uint64_t)(seconds * 1000), 0, on_deadline, own);
    call->work = own;
    call->cancel = cancel;
    call->look = look;
    mcp_server_changed(server);
}

void mcp_tool_wait(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    int number = mcp_int(call, "submission", (int)state->submissions.len);
    struct tune_submission_view view;
    double seconds = 0;
    if (!wait_read(call, &seconds))
        return;
    if (tune_submission_look(state, number, &view))
        wait_for(call, number, seconds);
    else if (!state->submissions.len)
        mcp_call_failed(call, "nothing was handed in yet: submit does");
    else
        mcp_call_failed(call, "there is no submission %d; they are 1 to %zu", number,
                        state->submissions.len);
}

static struct tune_plan plan_of(const struct mcp_call *call, const char *author) {
    const char *direction = mcp_text(call, "direction");
    return (struct tune_plan){.title = mcp_text(call, "title"),
                              .what = mcp_text(call, "what"),
                              .why = mcp_text(call, "why"),
                              .strategy = mcp_text(call, "strategy"),
                              .metric = mcp_text(call, "metric"),
                              .direction = direction && !strcmp(direction, "up")
                                               ? TUNE_DIRECTION_UP
                                               : TUNE_DIRECTION_DOWN,
                              .author = author,
                              .size = mcp_number(call, "size"),
                              .latency = NAN,
                              .lane = -1};
}

/* Who hands in another kernel than that of the plan which the loop waits for has left the plan. */
static void own_plan_end(struct mcp_call *call, const char *author, int number) {
    struct mcp_server *server = call->client->server;
    int wanted = tune_session_wants_kernel(server->options.session);
    struct buf why = {0};
    if (!wanted || mcp_owner_of(server, wanted) != call->client)
        return;
    buf_printf(&why, "%s handed in another kernel in its place, submission %d", author, number);
    (void)tune_session_give_up(server->options.session, wanted, why.at);
    buf_free(&why);
}

/* `source` NULL: a plan alone. *err may be set already. */
static void hand_in(struct mcp_call *call, const char *source, double seconds, struct err *err) {
    struct tune_session *session = call->client->server->options.session;
    struct buf author = {0};
    mcp_author_print(call->client, &author);
    struct tune_plan plan = plan_of(call, author.at);
    int of = mcp_int(call, "plan", 0), number = 0;
    if (err->kind == ERR_NONE && of)
        number = tune_session_carry_out(session, of, author.at, source, err) ? of : 0;
    else if (err->kind == ERR_NONE)
        number = tune_session_submit(session, &plan, source, err);
    if (number)
        mcp_owner_set(call->client, number);
    if (number && source && !of)
        own_plan_end(call, author.at, number);
    buf_free(&author);
    if (number)
        wait_for(call, number, seconds);
    else
        mcp_call_failed(call, "%s", err->text);
}

void mcp_tool_propose(struct mcp_call *call) {
    double seconds = 0;
    if (wait_read(call, &seconds))
        hand_in(call, NULL, seconds, &(struct err){0});
}

void mcp_tool_submit(struct mcp_call *call) {
    struct err err = {0};
    double seconds = 0;
    char name[64], *source = NULL;
    if (!wait_read(call, &seconds))
        return;
    if (!mcp_text(call, "title") && !mcp_int(call, "plan", 0))
        err_set(&err, ERR_USAGE,
                "submit needs \"title\", the plan in one line, or \"plan\", the "
                "number of a plan that was handed in before");
    else if (mcp_text(call, "kernel") || mcp_text(call, "file"))
        source = mcp_kernel_of(call, name, &err);
    else
        err_set(&err, ERR_USAGE, "submit needs \"kernel\", the whole source, or \"file\"");
    hand_in(call, source, seconds, &err);
    free(source);
}
