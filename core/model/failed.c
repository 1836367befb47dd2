/* SPDX-License-Identifier: Apache-2.0 */
/* How a request fails: one table says for each way whose fault it is, whether another try may help,
 * and whether the service did not work. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/private.h"

#define MOST_DECLINED 300   /* bytes of a refusal that are kept */
#define LEAST_THINKING 1024 /* tokens; Anthropic's interface takes no less */

static const struct {
    const char *word;
    enum err_kind kind;
    bool may_pass; /* the same try again may do better */
    bool outage;
} ways[] = {
    [MODEL_FAILED_NOT] = {"", ERR_NONE, false, false},
    [MODEL_FAILED_REQUEST] = {"request", ERR_USAGE, false, false},
    [MODEL_FAILED_KEY] = {"key", ERR_USAGE, false, false},
    [MODEL_FAILED_OVERLOAD] = {"overload", ERR_ENVIRONMENT, true, true},
    [MODEL_FAILED_STALL] = {"stall", ERR_ENVIRONMENT, true, true},
    [MODEL_FAILED_UNREACHED] = {"unreached", ERR_ENVIRONMENT, true, true},
    [MODEL_FAILED_DISCONNECTED] = {"disconnected", ERR_ENVIRONMENT, true, true},
    [MODEL_FAILED_GARBLED] = {"garbled", ERR_ENVIRONMENT, true, true},
    [MODEL_FAILED_USELESS] = {"useless", ERR_ENVIRONMENT, false, false},
    [MODEL_FAILED_TRUNCATED] = {"truncated", ERR_NONE, false, false},
    [MODEL_FAILED_REFUSED] = {"refused", ERR_NONE, false, false},
    [MODEL_FAILED_CANCELLED] = {"cancelled", ERR_CANCELLED, false, false},
};

const char *model_failed_word(enum model_failed failed) {
    return ways[failed].word;
}

bool model_failed_is_outage(enum model_failed failed) {
    return ways[failed].outage;
}

void model_call_fail(struct model_call *call, enum model_failed failed, const char *format, ...) {
    if (call->wrong.kind != ERR_NONE)
        return;
    char text[sizeof call->wrong.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    call->failed = failed;
    call->wrong.kind = ways[failed].kind;
    call->may_pass = ways[failed].may_pass;
    model_call_words(call, text, call->wrong.text, sizeof call->wrong.text);
    explicit_bzero(text, sizeof text);
}

void model_call_declines(struct model_call *call, struct str piece) {
    call->reply.stop = MODEL_STOP_REFUSED;
    if (call->declined.len < MOST_DECLINED)
        buf_add(&call->declined, piece.at, MIN_OF(piece.len, MOST_DECLINED - call->declined.len));
}

void model_call_end_declined(struct model_call *call) {
    char words[MOST_DECLINED + 1];
    if (!call->declined.len)
        return;
    model_call_words(call, call->declined.at, words, sizeof words);
    buf_clear(&call->declined);
    buf_puts(&call->declined, words);
}

/* ----------------------------------------------------------------------- answers that are none */

static void say_cut(struct model_call *call, char *to, size_t size) {
    const struct model_reply *reply = &call->reply;
    const char *name = model_call_name(call);
    int most = call->kept.endpoint.max_tokens;
    bool empty = !str_trim(buf_str(&call->text)).len;
    if (reply->stop == MODEL_STOP_CONTEXT)
        snprintf(to, size, "%.80s: prompt and answer together filled the model's context", name);
    else if (empty)
        snprintf(to, size, "%.80s: thinking used up max_tokens (%d); no part of the answer came",
                 name, most);
    else if (reply->thinking > 0)
        snprintf(to, size,
                 "%.80s: the answer was cut at max_tokens (%d); %.0f of them were thinking", name,
                 most, reply->thinking);
    else
        snprintf(to, size, "%.80s: the answer was cut at max_tokens (%d)", name, most);
}

static void say_declined(struct model_call *call, char *to, size_t size) {
    const char *words = call->declined.len ? call->declined.at : "";
    snprintf(to, size, "%.80s declined to answer%s%s", model_call_name(call), *words ? ": " : "",
             words);
}

void model_call_conclude(struct model_call *call) {
    struct model_reply *reply = &call->reply;
    reply->failed = call->failed;
    reply->again_s = call->retry_after_s;
    if (call->wrong.kind != ERR_NONE) {
        snprintf(reply->reason, sizeof reply->reason, "%s", call->wrong.text);
    } else if (reply->stop == MODEL_STOP_LENGTH || reply->stop == MODEL_STOP_CONTEXT) {
        reply->failed = MODEL_FAILED_TRUNCATED;
        say_cut(call, reply->reason, sizeof reply->reason);
    } else if (reply->stop == MODEL_STOP_REFUSED) {
        reply->failed = MODEL_FAILED_REFUSED;
        say_declined(call, reply->reason, sizeof reply->reason);
    }
}

/* --------------------------------------------------------------------------- the next question */

/* A service that decides by itself is told to think a little. */
static bool think_less(struct model_endpoint *endpoint, struct buf *what) {
    if (endpoint->effort == MODEL_EFFORT_OFF)
        return false;
    if (endpoint->thinking_tokens >= 2 * LEAST_THINKING) {
        endpoint->thinking_tokens /= 2;
        if (what)
            buf_printf(what, "thinking_tokens %d", endpoint->thinking_tokens);
        return true;
    }
    endpoint->effort = endpoint->thinking_tokens                ? MODEL_EFFORT_OFF
                       : endpoint->effort == MODEL_EFFORT_UNSET ? MODEL_EFFORT_LOW
                                                                : endpoint->effort - 1;
    endpoint->thinking_tokens = 0;
    if (what)
        buf_printf(what, "effort %s", model_effort_word(endpoint->effort));
    return true;
}

bool model_endpoint_relax(struct model_endpoint *endpoint, const struct model_reply *reply,
                          int most, struct buf *what) {
    int tokens = endpoint->max_tokens > 0 ? endpoint->max_tokens : MODEL_MAX_TOKENS;
    most = most > 0 ? most : MODEL_MOST_TOKENS;
    /* If the service allows no more tokens than it gave, this would ask the same again. */
    bool limited = reply->max_tokens > 0 && reply->max_tokens < tokens;
    if (reply->stop != MODEL_STOP_CONTEXT && !limited && tokens < most) {
        endpoint->max_tokens = tokens > most / 2 ? most : tokens * 2;
        if (what)
            buf_printf(what, "max_tokens %d", endpoint->max_tokens);
        return true;
    }
    bool thinks = reply->thought || reply->thinking > 0;
    return thinks && think_less(endpoint, what);
}
