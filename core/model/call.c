/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a request: tries, limits, waiting between tries, what it cost. http.c knows how bytes
 * travel; the interfaces know each service's names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/private.h"

#define LONGEST_WAIT_S 60.0
#define LONGEST_ASKED_S 900.0 /* a service that asks for more is not waited for */
#define FINISH_S 1.0          /* for token counts and the end, when all was said */

static const struct model_api *const apis[] = {
    &model_api_anthropic, &model_api_openai,  &model_api_responses,
    &model_api_bedrock,   &model_api_command, &model_api_human,
};

const struct model_api *model_api_find(const char *name) {
    for (size_t i = 0; name && i < COUNT_OF(apis); i++)
        if (!strcmp(apis[i]->name, name))
            return apis[i];
    return NULL;
}

const char *model_call_name(const struct model_call *call) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    return endpoint->model ? endpoint->model : endpoint->api;
}

struct str model_call_base(const struct model_call *call, const char *usual) {
    struct str base = str_of(call->kept.endpoint.base_url ? call->kept.endpoint.base_url : usual);
    while (base.len && base.at[base.len - 1] == '/')
        base.len--;
    return base;
}

/* ---------------------------------------------------------------------------- what a try tells */

static void watch_limits(struct model_call *call, double in_s);

static void forget_try(struct model_call *call) {
    buf_clear(&call->text);
    buf_clear(&call->tail);
    call->reply.stop = MODEL_STOP_END;
    call->finished = call->may_pass = call->learnt = false;
    call->retry_after_s = NAN;
    call->wrong = (struct err){0};
    call->failed = MODEL_FAILED_NOT;
    call->reply.thought = false;
    call->reply.thinking = NAN;
    buf_clear(&call->declined);
    call->first_ns = call->told_ns = 0;
    redact_forget(&call->redact);
}

/* Makes the text whole, valid characters; bytes that are not UTF-8, and zero bytes, become U+FFFD.
 * A character that is cut at the end waits in `tail` for the rest. */
static void add_valid(struct buf *out, struct buf *tail, struct str piece) {
    buf_add(tail, piece.at, piece.len);
    struct str rest = buf_str(tail);
    while (rest.len) {
        uint32_t code;
        size_t size = text_decode(rest, &code);
        static const unsigned char needs[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4};
        unsigned char lead = (unsigned char)*rest.at;
        if (code == TEXT_INVALID && lead >= 0xc2 && lead < 0xf5 &&
            rest.len < (lead < 0xe0 ? 2 : needs[lead >> 4]))
            break;
        if (code == TEXT_INVALID || code == 0)
            buf_puts(out, "\xef\xbf\xbd");
        else
            buf_add(out, rest.at, size);
        rest.at += size;
        rest.len -= size;
    }
    memmove(tail->at, rest.at, rest.len);
    tail->len = rest.len;
}

/* `last`: text that was held back, because it might have been the beginning of a secret, is given
 * out, too. */
static void take_text(struct model_call *call, struct str piece, bool last) {
    struct buf clean = {0};
    size_t before = call->text.len;
    redact_stream(&call->redact, piece, last, &clean);
    add_valid(&call->text, &call->tail, buf_str(&clean));
    buf_free(&clean);
    if (call->text.len == before || !call->callbacks.on_text || call->cancelled)
        return;
    struct str fresh = {call->text.at + before, call->text.len - before};
    call->callbacks.on_text(call->callbacks.data, fresh);
}

void model_call_text(struct model_call *call, struct str piece) {
    if (call->wrong.kind != ERR_NONE || !piece.len)
        return;
    if (call->text.len + piece.len > MODEL_MAX_ANSWER) {
        model_call_fail(call, MODEL_FAILED_USELESS,
                        "%s went on for over 32 MiB; the answer was cut off",
                        model_call_name(call));
        return;
    }
    model_call_lives(call);
    if (!call->first_ns)
        call->first_ns = call->told_ns;
    take_text(call, piece, false);
}

void model_call_lives(struct model_call *call) {
    call->told_ns = clock_monotonic_ns();
}

void model_call_thinks(struct model_call *call) {
    call->reply.thought = true;
    model_call_lives(call);
}

void model_call_words(const struct model_call *call, const char *words, char *to, size_t most) {
    struct buf clean = {0}, safe = {0};
    redact_text(&call->redact, str_of(words), &clean);
    text_sanitise(&safe, buf_str(&clean));
    size_t size = MIN_OF(safe.len, most - 1);
    while (size && size < safe.len && ((unsigned char)safe.at[size] & 0xc0) == 0x80)
        size--;
    snprintf(to, most, "%.*s", (int)size, safe.at ? safe.at : "");
    buf_free(&clean);
    buf_free(&safe);
}

void model_call_answers(struct model_call *call, const char *name) {
    if (name)
        model_call_words(call, name, call->reply.model, sizeof call->reply.model);
}

void model_call_usage(double *field, const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        return;
    double count = item->valuedouble;
    bool possible = count >= 0 && count <= MODEL_MOST_COUNTED && count == floor(count);
    *field = possible ? count : (double)NAN;
}

void model_call_finish(struct model_call *call, enum model_stop stop) {
    call->finished = true;
    call->reply.stop = stop;
    /* A server that keeps the connection open must not hold up an answer that is whole. */
    if (call->transfer)
        watch_limits(call, FINISH_S);
}

void model_call_note(struct model_call *call, const char *format, ...) {
    if (!call->callbacks.on_note || call->cancelled)
        return;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    call->callbacks.on_note(call->callbacks.data, text.at);
    buf_free(&text);
}

/* ----------------------------------------------------------------------------------- the tries */

static void try_begin(struct model_call *call);

static void call_unlink(struct model_call *call) {
    struct model_call **place = &call->client->calls;
    while (*place && *place != call)
        place = &(*place)->next;
    if (*place)
        *place = call->next;
}

static void call_free(struct model_call *call) {
    loop_timer_stop(call->timer);
    buf_free(&call->text);
    buf_free(&call->tail);
    buf_free(&call->declined);
    redact_forget(&call->redact);
    arena_free(call->kept.arena);
    free(call);
}

void model_so_far(const struct model_call *call, struct model_reply *reply) {
    uint64_t now = clock_monotonic_ns();
    *reply = call->reply;
    reply->text = (struct str){call->text.at ? call->text.at : "", call->text.len};
    reply->elapsed_s = (double)(now - call->begun_ns) * 1e-9;
    reply->first_s =
        call->first_ns ? (double)(call->first_ns - call->begun_ns) * 1e-9 : (double)NAN;
    reply->dollars = model_price_of(&call->kept.endpoint.price, &reply->usage);
}

static void settle(void *data) {
    struct model_call *call = data;
    struct model_reply *reply = &call->reply, last;
    call->timer = NULL;
    if (call->tail.len)
        buf_puts(&call->text, "\xef\xbf\xbd");
    model_so_far(call, &last);
    *reply = last;
    reply->failure = call->wrong;
    model_call_conclude(call);
    call_unlink(call);
    call->callbacks.on_done(call->callbacks.data, reply);
    call_free(call);
}

/* on_done is called from the loop, never from within the call that found out that the request
 * ended. */
static void settle_soon(struct model_call *call) {
    if (call->settled)
        return;
    call->settled = true;
    loop_timer_stop(call->timer);
    call->timer = loop_timer_start(call->client->loop, 0, 0, settle, call);
}

static void try_again(void *data) {
    struct model_call *call = data;
    call->timer = NULL;
    call->waiting = false;
    if (call->callbacks.on_again)
        call->callbacks.on_again(call->callbacks.data);
    if (!call->settled) /* cancelled by the one who was told */
        try_begin(call);
}

/* Waits double, with up to a quarter more or less, so that many clients do not come back at the
 * same moment; a wait that the service asks for wins. */
static double next_wait(const struct model_call *call) {
    if (call->learnt)
        return 0;
    if (!isnan(call->retry_after_s))
        return call->retry_after_s;
    double wait = call->kept.endpoint.retry_wait_s;
    for (int i = 1; i < call->reply.tries && wait < LONGEST_WAIT_S; i++)
        wait *= 2;
    double jitter = (double)(clock_monotonic_ns() / 1000 % 1000) / 2000.0 - 0.25;
    return MIN_OF(wait, LONGEST_WAIT_S) * (1 + jitter);
}

static bool goes_on(const struct model_call *call) {
    if (call->learnt && !call->cancelled)
        return true;
    return call->wrong.kind != ERR_NONE && call->may_pass && !call->cancelled &&
           call->reply.tries <= call->kept.endpoint.retries &&
           !(call->retry_after_s > LONGEST_ASKED_S);
}

/* Says so when a service asks for a longer pause than hone waits for. */
static void say_when(struct model_call *call) {
    size_t length = strlen(call->wrong.text);
    if (call->wrong.kind != ERR_NONE && call->may_pass && call->retry_after_s > LONGEST_ASKED_S)
        snprintf(call->wrong.text + length, sizeof call->wrong.text - length,
                 " (not before %.0f min from now)", fmin(ceil(call->retry_after_s / 60), 1e6));
}

/* The secrets are no longer needed; text that looked like the beginning of one was not one. */
static void end_text(struct model_call *call) {
    if (call->redact.count)
        take_text(call, (struct str){0}, true);
    model_call_end_declined(call);
    redact_forget(&call->redact);
}

void model_call_end_try(struct model_call *call) {
    if (call->settled || call->waiting)
        return;
    loop_timer_stop(call->timer);
    call->timer = NULL;
    end_text(call);
    if (call->wrong.kind == ERR_NONE && !call->finished)
        model_call_fail(call, MODEL_FAILED_DISCONNECTED,
                        "%s: the answer ended in the middle; the connection was closed",
                        model_call_name(call));
    if (!goes_on(call)) {
        say_when(call);
        settle_soon(call);
        return;
    }
    double wait = next_wait(call);
    call->waiting = true;
    if (call->learnt)
        model_call_note(call, "%s; asking again without it", call->wrong.text);
    else
        model_call_note(call, "%s; try %d of %d in %.0f s", call->wrong.text, call->reply.tries + 1,
                        call->kept.endpoint.retries + 1, ceil(wait));
    if (call->settled) /* cancelled by the one who was told */
        return;
    call->timer = loop_timer_start(call->client->loop, (uint64_t)(wait * 1000), 0, try_again, call);
}

static void try_stop(struct model_call *call) {
    if (call->transfer)
        model_http_stop(call);
    if (call->own && call->api->stop)
        call->api->stop(call);
}

/* ---------------------------------------------------------------------------------- the limits */

static void on_limit(void *data);

static void watch_limits(struct model_call *call, double in_s) {
    loop_timer_stop(call->timer);
    call->timer = loop_timer_start(call->client->loop, (uint64_t)(MAX_OF(in_s, 0.001) * 1000) + 1,
                                   0, on_limit, call);
}

static double since_s(uint64_t then_ns) {
    return (double)(clock_monotonic_ns() - then_ns) * 1e-9;
}

/* A sentence about the limit that has passed; NULL, and the time that is left, when none has.
 * Keep-alive signals alone (pings, empty events) do not keep a request alive for ever. */
static const char *limit_passed(const struct model_call *call, double *limit_s, double *left_s) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    const struct {
        uint64_t since_ns;
        double limit_s;
        const char *words;
    } rows[] = {
        {call->told_ns ? 0 : call->asked_ns, endpoint->first_limit_s, "no answer began within"},
        {call->told_ns ? call->heard_ns : 0, endpoint->stall_limit_s,
         "the answer stopped in the middle: nothing more came for"},
        {call->told_ns, MAX_OF(endpoint->first_limit_s, endpoint->stall_limit_s),
         "the answer stopped in the middle: only keep-alive signals came for"},
    };
    *left_s = LONGEST_ASKED_S;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double quiet_s = rows[i].since_ns ? since_s(rows[i].since_ns) : 0;
        *limit_s = rows[i].limit_s;
        if (quiet_s >= rows[i].limit_s)
            return rows[i].words;
        if (rows[i].since_ns)
            *left_s = MIN_OF(*left_s, rows[i].limit_s - quiet_s);
    }
    return NULL;
}

/* The timer is set for the earliest moment at which a limit can pass, so that arriving pieces need
 * not change it. */
static void on_limit(void *data) {
    struct model_call *call = data;
    double limit_s, left_s;
    call->timer = NULL;
    const char *words = call->finished ? NULL : limit_passed(call, &limit_s, &left_s);
    if (!call->finished && !words) {
        watch_limits(call, left_s);
        return;
    }
    if (words)
        model_call_fail(call, MODEL_FAILED_STALL, "%s: %s %.0f s", model_call_name(call), words,
                        limit_s);
    try_stop(call);
    model_call_end_try(call);
}

static void try_begin(struct model_call *call) {
    forget_try(call);
    call->reply.tries++;
    model_learnt_apply(call);
    call->reply.max_tokens = call->kept.endpoint.max_tokens;
    call->asked_ns = call->heard_ns = clock_monotonic_ns();
    if (call->api != &model_api_human)
        watch_limits(call,
                     MIN_OF(call->kept.endpoint.first_limit_s, call->kept.endpoint.stall_limit_s));
    call->api->start(call);
}

static void first_try(void *data) {
    struct model_call *call = data;
    call->timer = NULL;
    try_begin(call);
}

/* "https://user:password@host". */
static bool has_login(const char *url) {
    const char *host = url ? strstr(url, "://") : NULL;
    size_t size = host ? strcspn(host + 3, "/?#") : 0;
    return size && memchr(host + 3, '@', size);
}

static bool endpoint_is_whole(const struct model_endpoint *endpoint, struct err *err) {
    const struct model_api *api = model_api_find(endpoint->api);
    if (!api)
        return err_set(err, ERR_USAGE,
                       "there is no interface \"%.40s\" to language models; there are: anthropic, "
                       "openai, responses, bedrock, command, human",
                       endpoint->api ? endpoint->api : "");
    if (api->is_service && !(endpoint->model && *endpoint->model))
        return err_set(err, ERR_USAGE, "no model is named for the interface %s", api->name);
    if (has_login(endpoint->base_url))
        return err_set(
            err, ERR_USAGE,
            "base_url holds a user and password, which would stand in "
            "settings and messages; give the key by key_env, key_command or key_keyring");
    if (!strcmp(api->name, "command") && !(endpoint->command && endpoint->command[0]))
        return err_set(err, ERR_USAGE, "no command is given for the interface command");
    return true;
}

struct model_call *model_ask(struct model_client *client, const struct model_request *request,
                             const struct model_callbacks *callbacks, struct err *err) {
    if (!endpoint_is_whole(request->endpoint, err))
        return NULL;
    struct model_call *call = mem_alloc(1, sizeof *call);
    call->client = client;
    call->api = model_api_find(request->endpoint->api);
    call->callbacks = *callbacks;
    model_keep(&call->kept, request);
    call->reply.usage = (struct model_usage){NAN, NAN, NAN, NAN};
    call->reply.thinking = call->reply.again_s = call->retry_after_s = NAN;
    call->begun_ns = clock_monotonic_ns();
    call->next = client->calls;
    client->calls = call;
    call->timer = loop_timer_start(client->loop, 0, 0, first_try, call);
    return call;
}

void model_redirect(struct model_call *call, const struct model_callbacks *callbacks) {
    if (call)
        call->callbacks = *callbacks;
}

void model_cancel(struct model_call *call) {
    if (!call || call->settled)
        return;
    call->cancelled = true;
    call->wrong = (struct err){0};
    call->failed = MODEL_FAILED_NOT;
    model_call_fail(call, MODEL_FAILED_CANCELLED, "the request was cancelled");
    try_stop(call);
    settle_soon(call);
}

/* ---------------------------------------------------------------------------------- the client */

struct model_client *model_client_new(struct loop *loop) {
    struct model_client *client = mem_alloc(1, sizeof *client);
    client->loop = loop;
    model_memory_begin();
    return client;
}

void model_client_free(struct model_client *client) {
    if (!client)
        return;
    while (client->calls) {
        struct model_call *call = client->calls;
        client->calls = call->next;
        call->cancelled = true;
        try_stop(call);
        call_free(call);
    }
    model_http_close(client);
    vec_free(&client->learnt);
    free(client);
}
