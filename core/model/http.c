/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP by libcurl on the event loop: any number of requests at once, their bodies read as they
 * come. It knows what status codes mean for trying again, but does not read the bodies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/private.h"

/* Errors that the user has to correct; all others may pass. */
static const struct {
    CURLcode code;
    const char *advice;
} final_errors[] = {
    {CURLE_URL_MALFORMAT, "the base_url is not a URL"},
    {CURLE_UNSUPPORTED_PROTOCOL, "the base_url must begin with http:// or https://"},
    {CURLE_PEER_FAILED_VERIFICATION,
     "its certificate was not accepted. If a server of yours, or a proxy that inspects traffic, "
     "uses its own certificate authority, set ca_file of the model or the variable SSL_CERT_FILE "
     "to that authority's file (PEM)"},
    {CURLE_SSL_CACERT_BADFILE,
     "the file of certificate authorities (ca_file or SSL_CERT_FILE) cannot be used"},
    {CURLE_SSL_CONNECT_ERROR, "no TLS connection could be made; does the server speak https?"},
};

/* What a status code means; the first row that contains it. */
static const struct {
    int from, to;
    enum model_failed failed;
    const char *advice;
} statuses[] = {
    {300, 399, MODEL_FAILED_REQUEST,
     "the address redirects elsewhere; put the final one into base_url"},
    {401, 401, MODEL_FAILED_KEY, "the key was not accepted"},
    {402, 402, MODEL_FAILED_KEY, "the account has no credit left"},
    {403, 403, MODEL_FAILED_KEY, "the key may not use this model"},
    {404, 404, MODEL_FAILED_REQUEST, "there is no such model or address; see model and base_url"},
    {407, 407, MODEL_FAILED_REQUEST, "the proxy requires a login"},
    {408, 409, MODEL_FAILED_OVERLOAD, ""},
    {413, 413, MODEL_FAILED_REQUEST, "the prompt is too long for it"},
    {424, 425, MODEL_FAILED_OVERLOAD, ""},
    {429, 429, MODEL_FAILED_OVERLOAD, "too many requests or tokens"},
    {400, 499, MODEL_FAILED_REQUEST, ""},
    {529, 529, MODEL_FAILED_OVERLOAD, "the service is overloaded"},
    {500, 599, MODEL_FAILED_OVERLOAD, ""},
    {100, 999, MODEL_FAILED_USELESS, ""},
};

struct model_transfer {
    struct model_call *call;
    CURL *easy;
    struct model_post post;
    struct model_stream stream;
    struct buf other; /* a body that is no stream */
    long status;
    bool looked; /* the kind of body is known */
    bool streams;
    bool stopped;    /* broken off while libcurl ran */
    char proxy[128]; /* "HOST:PORT" it goes by; "" */
    char error[CURL_ERROR_SIZE];
};

void model_post_header(struct model_post *post, const char *format, ...) {
    struct buf line = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&line, format, args);
    va_end(args);
    post->headers = curl_slist_append(post->headers, line.at);
    model_wipe(&line);
}

void model_post_secret(struct model_post *post, const char *name, const char *value) {
    struct buf line;
    model_join_secret(name, value, &line);
    post->headers = curl_slist_append(post->headers, line.at);
    model_wipe(&line);
}

void model_post_free(struct model_post *post) {
    for (struct curl_slist *row = post->headers; row; row = row->next)
        explicit_bzero(row->data, strlen(row->data));
    curl_slist_free_all(post->headers);
    model_wipe(&post->secret);
    buf_free(&post->url);
    buf_free(&post->target);
    buf_free(&post->body);
    *post = (struct model_post){0};
}

/* ----------------------------------------------------------------------------------- the body */

static bool type_is(const char *type, const char *wanted) {
    return type && !strncasecmp(type, wanted, strlen(wanted));
}

/* Some servers stream without saying so; a complete answer, or a page, begins differently. */
static bool looks_like_events(struct str bytes) {
    return str_starts(bytes, "data:") || str_starts(bytes, "event:") || str_starts(bytes, ": ");
}

static void look_at_head(struct model_transfer *transfer, struct str bytes) {
    char *type = NULL;
    transfer->looked = true;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->status);
    curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
    enum model_framing framing = transfer->call->api->framing;
    const char *wanted =
        framing == MODEL_SSE ? "text/event-stream" : "application/vnd.amazon.eventstream";
    bool vague = framing == MODEL_SSE && !type_is(type, "application/json") &&
                 !type_is(type, "text/html") && looks_like_events(bytes);
    transfer->streams = transfer->status == 200 && (type_is(type, wanted) || vague);
}

static size_t on_body(char *bytes, size_t one, size_t count, void *data) {
    struct model_transfer *transfer = data;
    size_t size = one * count;
    transfer->call->heard_ns = clock_monotonic_ns();
    if (!transfer->looked)
        look_at_head(transfer, (struct str){bytes, size});
    if (transfer->streams)
        return model_stream_feed(&transfer->stream, transfer->call, (struct str){bytes, size})
                   ? size
                   : 0;
    size_t limit = transfer->status == 200 ? MODEL_MAX_ANSWER : MODEL_MAX_ERROR;
    if (transfer->other.len >= limit && transfer->status == 200)
        model_call_fail(transfer->call, MODEL_FAILED_USELESS,
                        "%s went on for over 32 MiB; the answer was cut off",
                        model_call_name(transfer->call));
    if (transfer->other.len >= limit)
        return transfer->status == 200 ? 0 : size;
    buf_add(&transfer->other, bytes, MIN_OF(size, limit - transfer->other.len));
    return size;
}

/* Retry-After in seconds or as a date (RFC 9110, 10.2.3), and the finer header some services
 * have. */
static size_t on_header(char *bytes, size_t one, size_t count, void *data) {
    struct model_transfer *transfer = data;
    struct str line = str_trim((struct str){bytes, one * count}), name;
    double number;
    if (str_starts(line, "HTTP/"))
        transfer->call->retry_after_s = NAN;
    if (!str_next(&line, ':', &name))
        return one * count;
    struct str value = str_trim(line);
    bool millis = name.len == 14 && !strncasecmp(name.at, "retry-after-ms", 14);
    bool whole = name.len == 11 && !strncasecmp(name.at, "retry-after", 11);
    char text[64];
    snprintf(text, sizeof text, STR_FMT, STR_ARG(value));
    if ((millis || whole) && str_to_double(value, &number) && number >= 0)
        transfer->call->retry_after_s = millis ? number / 1000 : number;
    else if (whole && curl_getdate(text, NULL) > 0)
        transfer->call->retry_after_s = MAX_OF(difftime(curl_getdate(text, NULL), time(NULL)), 0);
    return one * count;
}

/* -------------------------------------------------------------------------------- how it ended */

/* OpenAI answers so with the status for too many requests. */
static bool is_out_of_money(const cJSON *object) {
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(object, "error");
    const char *code = model_json_text(error, "code"), *type = model_json_text(error, "type");
    return (code && !strcmp(code, "insufficient_quota")) ||
           (type && !strcmp(type, "insufficient_quota"));
}

static void judge_status(struct model_transfer *transfer) {
    struct model_call *call = transfer->call;
    size_t row = 0;
    while (row + 1 < COUNT_OF(statuses) &&
           (transfer->status < statuses[row].from || transfer->status > statuses[row].to))
        row++;
    cJSON *object =
        cJSON_ParseWithLength(transfer->other.at ? transfer->other.at : "", transfer->other.len);
    if (model_openai_declines(call, object)) {
        cJSON_Delete(object);
        return;
    }
    const char *words = model_json_error(object);
    struct buf plain = {0};
    if (!words) {
        buf_add(&plain, transfer->other.at ? transfer->other.at : "",
                MIN_OF(transfer->other.len, 200));
        words = plain.at ? plain.at : "";
    }
    bool paid = !is_out_of_money(object);
    const char *advice = !paid ? "the account has no credit left"
                         : transfer->status == 401 && call->keyless
                             ? "it requires a key, and no key is set for this address; see "
                               "key_env, key_command and key_keyring"
                             : statuses[row].advice;
    model_call_fail(call, paid ? statuses[row].failed : MODEL_FAILED_KEY,
                    "%s answered %ld%s%s%s%.250s", model_call_name(call), transfer->status,
                    *advice ? ", " : "", advice, *words ? ": " : "", words);
    call->learnt = model_learn(call, transfer->status, buf_str(&transfer->other));
    buf_free(&plain);
    cJSON_Delete(object);
}

/* 200, but no stream: some servers answer whole. */
static void read_whole(struct model_transfer *transfer) {
    struct model_call *call = transfer->call;
    char *type = NULL;
    curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
    cJSON *object =
        cJSON_ParseWithLength(transfer->other.at ? transfer->other.at : "", transfer->other.len);
    if (!object || !call->api->whole || !call->api->whole(call, object)) {
        const char *words = model_json_error(object);
        model_call_fail(
            call, MODEL_FAILED_REQUEST,
            "%s answered with %.60s instead of a stream; is base_url the address of its "
            "interface? It said: %.200s",
            model_call_name(call), type ? type : "something without a type",
            words                ? words
            : transfer->other.at ? transfer->other.at
                                 : "");
    }
    cJSON_Delete(object);
}

/* The user's own server was not started, or the network requires a proxy. */
static void judge_unreached(struct model_transfer *transfer, CURLcode code, const char *detail) {
    struct model_call *call = transfer->call;
    const char *url = transfer->post.url.at, *host = strstr(url, "://");
    host = host ? host + 3 : url;
    int size = (int)(host - url + (ptrdiff_t)strcspn(host, "/?#"));
    bool silent = code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT;
    if (*transfer->proxy || !(silent || code == CURLE_COULDNT_RESOLVE_HOST))
        model_call_fail(call, MODEL_FAILED_UNREACHED, "%s: %s", model_call_name(call), detail);
    else if (model_is_this_machine(url))
        model_call_fail(call, MODEL_FAILED_UNREACHED,
                        "%s: nothing answers at %.*s: is the server running? (%s)",
                        model_call_name(call), size, url, detail);
    else
        model_call_fail(call, MODEL_FAILED_UNREACHED,
                        "%s: %.*s cannot be reached (%s). If this network requires a proxy, set "
                        "HTTPS_PROXY or proxy of the model",
                        model_call_name(call), size, url, detail);
}

static void judge_error(struct model_transfer *transfer, CURLcode code) {
    struct model_call *call = transfer->call;
    struct buf detail = {0};
    model_proxy_hide_login(*transfer->error ? transfer->error : curl_easy_strerror(code), &detail);
    bool judged = model_proxy_judge(call, transfer->easy, code, transfer->proxy, detail.at);
    for (size_t i = 0; !judged && i < COUNT_OF(final_errors); i++)
        if (final_errors[i].code == code)
            model_call_fail(call, MODEL_FAILED_REQUEST, "%s: %s (%s)", model_call_name(call),
                            final_errors[i].advice, detail.at);
    bool midway = call->first_ns != 0;
    double connected_s = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME, &connected_s);
    if (connected_s <= 0)
        judge_unreached(transfer, code, detail.at);
    model_call_fail(call, MODEL_FAILED_DISCONNECTED, "%s: %s%s", model_call_name(call),
                    midway ? "the connection broke in the middle of the answer: " : "", detail.at);
    buf_free(&detail);
}

static void transfer_free(struct model_transfer *transfer) {
    curl_multi_remove_handle(transfer->call->client->multi, transfer->easy);
    curl_easy_cleanup(transfer->easy);
    model_stream_free(&transfer->stream);
    buf_free(&transfer->other);
    model_post_free(&transfer->post);
    free(transfer);
}

static void end_transfer(struct model_transfer *transfer, CURLcode code) {
    struct model_call *call = transfer->call;
    call->transfer = NULL;
    if (!transfer->looked)
        look_at_head(transfer, (struct str){0});
    if (call->wrong.kind != ERR_NONE || call->finished)
        ; /* settled by what the stream said */
    else if (code == CURLE_OK && call->kept.request.only_connects)
        model_call_finish(call, MODEL_STOP_END);
    else if (code != CURLE_OK)
        judge_error(transfer, code);
    else if (transfer->status != 200)
        judge_status(transfer);
    else if (!transfer->streams)
        read_whole(transfer);
    transfer_free(transfer);
    model_call_end_try(call);
}

/* ------------------------------------------------------------------------- libcurl on the loop */

static void look_for_ends(struct model_client *client) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(client->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct model_transfer *transfer = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        end_transfer(transfer, code);
    }
}

/* Takes out requests that were broken off while libcurl ran. */
static void take_stopped(struct model_client *client) {
    client->stops = false;
    for (struct model_call *call = client->calls; call; call = call->next)
        if (call->transfer && call->transfer->stopped)
            model_http_stop(call);
}

static void act(struct model_client *client, curl_socket_t socket, int events) {
    int running;
    client->inside = true;
    curl_multi_socket_action(client->multi, socket, events, &running);
    client->inside = false;
    if (client->stops)
        take_stopped(client);
    look_for_ends(client);
}

/* A socket libcurl wants watched. */
struct watched {
    struct model_client *client;
    curl_socket_t socket;
    struct loop_watch *watch;
};

static void on_socket(void *data, int events) {
    struct watched *watched = data;
    int now = (events & LOOP_READABLE ? CURL_CSELECT_IN : 0) |
              (events & LOOP_WRITABLE ? CURL_CSELECT_OUT : 0);
    act(watched->client, watched->socket, now); /* may free `watched` */
}

static int on_want(CURL *easy, curl_socket_t socket, int what, void *data, void *own) {
    struct model_client *client = data;
    struct watched *watched = own;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        curl_multi_assign(client->multi, socket, NULL);
        if (watched)
            loop_watch_stop(watched->watch);
        free(watched);
        return 0;
    }
    int events =
        (what & CURL_POLL_IN ? LOOP_READABLE : 0) | (what & CURL_POLL_OUT ? LOOP_WRITABLE : 0);
    if (watched) {
        if (watched->watch) /* else the limit for silence ends the request */
            loop_watch_change(watched->watch, events);
        return 0;
    }
    watched = mem_alloc(1, sizeof *watched);
    *watched = (struct watched){.client = client, .socket = socket};
    watched->watch = loop_watch_start(client->loop, socket, events, on_socket, watched);
    curl_multi_assign(client->multi, socket, watched);
    return 0;
}

static void on_timer(void *data) {
    struct model_client *client = data;
    client->timer = NULL;
    act(client, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout(CURLM *multi, long timeout_ms, void *data) {
    struct model_client *client = data;
    (void)multi;
    loop_timer_stop(client->timer);
    client->timer = NULL;
    if (timeout_ms >= 0)
        client->timer = loop_timer_start(client->loop, (uint64_t)timeout_ms, 0, on_timer, client);
    return 0;
}

static bool model_http_open(struct model_client *client) {
    if (client->multi)
        return true;
    client->multi = curl_multi_init();
    if (!client->multi)
        return false;
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_want);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return true;
}

void model_http_close(struct model_client *client) {
    if (client->multi)
        curl_multi_cleanup(client->multi);
    loop_timer_stop(client->timer);
    client->multi = NULL;
    client->timer = NULL;
}

/* -------------------------------------------------------------------------------- one transfer */

/* The file of authorities: of this model, else of the variable that most programs know, else
 * libcurl's own; NULL: it has them elsewhere. */
static const char *authorities(const struct model_endpoint *endpoint) {
    const char *set = getenv("SSL_CERT_FILE");
    const char *usual = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (endpoint->ca_file || (set && *set))
        return endpoint->ca_file ? endpoint->ca_file : set;
    return usual && file_exists(usual) ? usual : NULL;
}

static void set_security(CURL *easy, const struct model_endpoint *endpoint) {
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L); /* a key goes nowhere else */
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    const char *file = authorities(endpoint);
    if (!file)
        return;
    /* libcurl reads a file once and keeps it, if there is no folder beside it: else each connection
     * costs the loop 30 ms. */
    curl_easy_setopt(easy, CURLOPT_CAINFO, file);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}

static void set_request(CURL *easy, struct model_post *post) {
    curl_easy_setopt(easy, CURLOPT_URL, post->url.at);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, post->headers);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post->body.at);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->body.len);
    if (post->target.len)
        curl_easy_setopt(easy, CURLOPT_REQUEST_TARGET, post->target.at);
    if (*post->signing) {
        curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, post->signing);
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE,
                         1L); /* a connection keeps what it signs with */
        curl_easy_setopt(easy, CURLOPT_USERPWD, post->secret.at);
    }
}

static void set_transfer(CURL *easy, struct model_transfer *transfer) {
    const struct model_endpoint *endpoint = &transfer->call->kept.endpoint;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, (char *)transfer);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* A name that is still being looked up must not hold up the end of a request. */
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "hone");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(endpoint->connect_limit_s * 1000));
    /* Each stream has its own connection: with multiplexing, one slow reader would delay the
     * others. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
}

void model_http_start(struct model_call *call, struct model_post *post) {
    if (!model_http_open(call->client)) {
        model_post_free(post);
        model_call_fail(call, MODEL_FAILED_USELESS, "libcurl cannot start");
        model_call_end_try(call);
        return;
    }
    struct model_transfer *transfer = mem_alloc(1, sizeof *transfer);
    transfer->call = call;
    transfer->post = *post;
    transfer->easy = curl_easy_init();
    model_post_header(&transfer->post, "Content-Type: application/json");
    if (!*transfer->post.signing) /* libcurl 7.88 would sign the header that is taken out */
        model_post_header(&transfer->post, "Expect:");
    set_security(transfer->easy, &call->kept.endpoint);
    set_transfer(transfer->easy, transfer);
    set_request(transfer->easy, &transfer->post);
    model_proxy_set(transfer->easy, &call->kept.endpoint, transfer->post.url.at, transfer->proxy);
    if (call->kept.request.only_connects)
        curl_easy_setopt(transfer->easy, CURLOPT_CONNECT_ONLY, 1L);
    call->transfer = transfer;
    curl_multi_add_handle(call->client->multi, transfer->easy);
}

void model_http_stop(struct model_call *call) {
    struct model_transfer *transfer = call->transfer;
    /* No handle may be removed within a callback of libcurl, so this is done soon afterwards. */
    if (call->client->inside) {
        transfer->stopped = call->client->stops = true;
        return;
    }
    call->transfer = NULL;
    transfer_free(transfer);
}
