/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of model share: a call and its tries, the interfaces as rows. Private to model. */
#ifndef HONE_MODEL_PRIVATE_H
#define HONE_MODEL_PRIVATE_H

#include <cjson/cJSON.h>

#include "base/libcurl.h"
#include "model/frames/frames.h"
#include "model/model.h"
#include "model/keys/keys.h"

#define MODEL_MAX_ANSWER ((size_t)32 << 20) /* bytes of an answer */
#define MODEL_MAX_ERROR ((size_t)64 << 10)  /* of what comes instead of one */
#define MODEL_MAX_TRIES 20
#define MODEL_EFFORTS (MODEL_EFFORT_MAX + 2) /* and a number of tokens */
#define MODEL_MOST_COUNTED 1e9               /* tokens of one question; more is no count */

/* An endpoint and a conversation with copies of all their texts. */
struct model_kept {
    struct arena *arena;
    struct model_endpoint endpoint;
    struct model_request request;
};

/* kept.c: makes the copies; arena_free of the arena frees them. */
void model_keep(struct model_kept *kept, const struct model_request *request);

/* An HTTP request being put together. */
struct model_post {
    struct buf url, body;
    struct curl_slist *headers;
    struct buf secret; /* "user:password" for signing; wiped */
    char signing[64];  /* CURLOPT_AWS_SIGV4; "": none */
    struct buf target; /* CURLOPT_REQUEST_TARGET; empty: the URL's path */
};
void model_post_header(struct model_post *post, const char *format, ...) CC_PRINTF(2, 3);
/* A header whose value is secret; `name` is "x-api-key: ". */
void model_post_secret(struct model_post *post, const char *name, const char *value);
void model_post_free(struct model_post *post); /* wipes what is secret */

/* How an interface frames its stream. */
enum model_framing { MODEL_SSE, MODEL_FRAMES };

/* An interface. `start` begins a try and `stop` breaks it off; the rest is for those over HTTP. */
struct model_api {
    const char *name;
    bool is_service; /* over HTTP; a model must be named */
    const char *key_variable, *address;
    enum model_framing framing;
    /* Puts the request together; `key` is "" where none is needed. */
    bool (*prepare)(struct model_call *call, const char *key, struct model_post *post,
                    struct err *err);
    /* One event of the stream. Calls model_call_text and so on. */
    void (*event)(struct model_call *call, const char *name, struct str data);
    /* An answer that came whole though a stream was asked for; false: it is none. */
    bool (*whole)(struct model_call *call, const cJSON *object);
    void (*start)(struct model_call *call);
    void (*stop)(struct model_call *call);
};
const struct model_api *model_api_find(const char *name);
extern const struct model_api model_api_anthropic, model_api_openai, model_api_responses,
    model_api_bedrock, model_api_command, model_api_human;

/* The easy handle of a try and what reads its body. */
struct model_transfer;

struct model_call {
    struct model_client *client;
    const struct model_api *api;
    struct model_kept kept;
    struct model_callbacks callbacks;
    struct model_call *next; /* in client->calls */
    /* the try that runs */
    struct model_transfer *transfer;
    void *own;                /* of an interface without HTTP */
    struct loop_timer *timer; /* watches the limits, or waits for the next try */
    uint64_t begun_ns, asked_ns, heard_ns, first_ns; /* of the call; the try; its last byte */
    uint64_t told_ns; /* the last of the answer, a model's thinking included; 0 */
    bool finished;    /* the service said that this was all */
    bool settled;     /* on_done is under way or was */
    bool waiting;     /* for the next try */
    bool cancelled;
    double retry_after_s;        /* what the service asks for; NAN */
    struct err wrong;            /* of this try; kind none: nothing yet */
    enum model_failed failed;    /* the same, sorted */
    bool may_pass;               /* trying again may help */
    bool learnt;                 /* it is tried again at once, otherwise */
    unsigned without;            /* MODEL_WITHOUT_ of this try */
    int effort_row, effort_step; /* what it said of thinking, if it did */
    bool effort_sent;
    bool keyless; /* no key went out with this try */
    struct buf text;
    struct buf tail;      /* bytes of a character that is not whole yet */
    struct buf declined;  /* what a model says instead of an answer */
    struct redact redact; /* secrets of this try */
    struct model_reply reply;
};

/* What a service was found not to take; one for each interface, address and model. */
struct model_learnt {
    char key[300];
    unsigned without;         /* MODEL_WITHOUT_ */
    int steps[MODEL_EFFORTS]; /* forms of each effort that were refused */
    int most_tokens;          /* of an answer; 0: not known */
};

struct model_client {
    struct loop *loop;
    VEC(struct model_learnt) learnt;
    CURLM *multi;
    struct loop_timer *timer;
    struct model_call *calls;
    bool inside; /* libcurl runs: nothing may be removed */
    bool stops;  /* meanwhile a transfer was broken off */
};

/* call.c: what a try tells. */
void model_call_text(struct model_call *call, struct str piece);
/* Something of the answer came that is not shown. */
void model_call_lives(struct model_call *call);
/* The same, and it was the model's thinking. */
void model_call_thinks(struct model_call *call);
/* The service names the model that answers; NULL: it does not. */
void model_call_answers(struct model_call *call, const char *name);
/* Takes a count; one that cannot be counts as not reported. */
void model_call_usage(double *field, const cJSON *object, const char *name);
void model_call_finish(struct model_call *call, enum model_stop stop);
/* The model declines; its words, in pieces. */
void model_call_declines(struct model_call *call, struct str piece);
/* A service's words may hold anything, the key too: without secrets, safe to show, and cut where a
 * character ends. */
void model_call_words(const struct model_call *call, const char *words, char *to, size_t most);

/* failed.c: the try failed; the first reason stays. What it was says whose fault it is and whether
 * another try may do better. */
void model_call_fail(struct model_call *call, enum model_failed failed, const char *format, ...)
    CC_PRINTF(3, 4);
/* The words of a refusal are whole: what of them may be shown. Before the try's secrets are
 * forgotten. */
void model_call_end_declined(struct model_call *call);
/* Fills `failed` and `reason` of the reply that goes out, answers that are none included. */
void model_call_conclude(struct model_call *call);
void model_call_note(struct model_call *call, const char *format, ...) CC_PRINTF(2, 3);
/* The try ended; another one, or on_done, follows from the loop. */
void model_call_end_try(struct model_call *call);
/* What stands for the model's name in messages. */
const char *model_call_name(const struct model_call *call);
/* The address it is asked at, without a slash at the end; `usual` where none is set. */
struct str model_call_base(const struct model_call *call, const char *usual);

/* stream.c: bytes of a body, cut anywhere, for the call's interface. False when the call has
 * failed. */
struct model_stream {
    struct sse sse;
    struct frames frames;
};
bool model_stream_feed(struct model_stream *stream, struct model_call *call, struct str bytes);
void model_stream_free(struct model_stream *stream);

/* http.c */
void model_http_start(struct model_call *call, struct model_post *post); /* takes the post */
void model_http_stop(struct model_call *call);
void model_http_close(struct model_client *client);

/* trust.c: which key goes to an address. */
enum model_trust {
    MODEL_TRUST_NOTHING, /* none: it is asked without */
    MODEL_TRUST_NAMED,   /* the one that the endpoint names */
    MODEL_TRUST_USUAL,   /* what the service's own address gets */
};
/* False and *err (usage) where the endpoint names a key that must not go there. */
bool model_trust_find(const struct model_endpoint *endpoint, enum model_trust *trust,
                      struct err *err);

/* memory.c: gives libcurl memory that is wiped when it is freed; before any other use of
 * libcurl. */
void model_memory_begin(void);

/* proxy.c: which proxy a transfer goes by, as the endpoint and the environment say. `shown` becomes
 * its host and port, "" for none that is known. */
void model_proxy_set(CURL *easy, const struct model_endpoint *endpoint, const char *url,
                     char shown[128]);
/* Fails the try when it was the proxy that did; `detail` is libcurl's. False when it was not. */
bool model_proxy_judge(struct model_call *call, CURL *easy, CURLcode code, const char *shown,
                       const char *detail);
/* libcurl's words without "user:password@" of an address in them. */
void model_proxy_hide_login(const char *words, struct buf *out);

/* options.c: parts of a request that some servers refuse. */
enum {
    MODEL_WITHOUT_USAGE = 1,     /* "stream_options" of Chat Completions */
    MODEL_WITHOUT_CACHE = 2,     /* marks of what is to be cached */
    MODEL_WITHOUT_OLD_LIMIT = 4, /* "max_tokens": it wants "max_completion_tokens" */
    MODEL_WITHOUT_TEMPERATURE = 8,
};
struct model_learnt *model_learnt_of(struct model_call *call);
/* A try begins: with what is known by now. */
void model_learnt_apply(struct model_call *call);
bool model_goes_without(const struct model_call *call, unsigned part);
/* Whether a temperature is set and taken. */
bool model_takes_temperature(const struct model_call *call);
/* Looks at a refusal; true when the same request without a part may do better. */
bool model_learn(struct model_call *call, long status, struct str body);

/* effort.c: the word that OpenAI's interfaces get; NULL: nothing is said of it. */
const char *model_effort_ask(struct model_call *call);
/* Puts what Claude gets into a request, or into its additional fields. True: it will think, and
 * wants no temperature. */
bool model_effort_add(struct model_call *call, cJSON *to);
bool model_effort_add_bedrock(struct model_call *call, cJSON *to);
/* Amazon Nova 2 takes no limit of its answer where it thinks the most. */
bool model_effort_is_unlimited(const cJSON *fields);
/* A refusal may be of that: true when another form, or none, may do better. */
bool model_effort_refused(struct model_call *call, struct str body);

/* keyed.c: which key goes out with this try; false when the try failed for that. */
bool model_call_trusts(struct model_call *call, enum model_trust *trust);
/* `start` and `stop` of interfaces that need at most one key. */
void model_keyed_start(struct model_call *call);
void model_keyed_stop(struct model_call *call);
/* The rest of an interface over HTTP whose functions have these names and whose only key is the
 * one of `key_variable`. */
#define MODEL_API_KEYED                                                                           \
    .is_service = true, .framing = MODEL_SSE, .prepare = prepare, .event = event, .whole = whole, \
    .start = model_keyed_start, .stop = model_keyed_stop

/* json.c: bits the interfaces share. */
const char *model_json_text(const cJSON *object, const char *name); /* NULL: not there */
void model_json_take(cJSON *object, struct buf *out);               /* prints and frees */
bool model_json_is_empty(const cJSON *item);                        /* not there, or null */
/* {"error": {"message"}}, {"error": "..."}, {"message"}: the service's own words. */
const char *model_json_error(const cJSON *object);

/* openai.c: what both of OpenAI's interfaces have in common. Tokens: the names of the two counts;
 * those of the cache are contained in the first. */
void model_openai_usage(struct model_call *call, const cJSON *usage, const char *input,
                        const char *output);
/* Whether an error's code says that a filter declined; what it says then counts as a refusal. */
bool model_openai_declines(struct model_call *call, const cJSON *object);
/* Fails the try with the object's error; its code says whether trying again may help. */
void model_openai_fail(struct model_call *call, const cJSON *object);

#endif
