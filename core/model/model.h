/* SPDX-License-Identifier: Apache-2.0 */
/* Language models: a conversation goes out, an answer streams back. Over HTTP (Anthropic, OpenAI
 * and what is compatible with it, Amazon Bedrock), through a command, or from a person. */
#ifndef HONE_MODEL_MODEL_H
#define HONE_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "loop/loop.h"
#include "model/keys/keys.h"

/* -------------------------------------------------------------------------------- which model */

/* A million tokens in dollars; NAN where nobody knows. Prompts of more than `up_to` tokens cost
 * something else, which is not known; 0: all cost the same. */
struct model_price {
    double input, output, cache_read, cache_write;
    double up_to;
};

#define MODEL_MAX_TOKENS 16384  /* of an answer, where nothing else is said */
#define MODEL_MOST_TOKENS 65536 /* of an answer that was cut before, where nothing else is said */

/* How much a model thinks before it answers. Unset: nothing is said of it, the service decides. */
enum model_effort {
    MODEL_EFFORT_UNSET,
    MODEL_EFFORT_OFF,
    MODEL_EFFORT_LOW,
    MODEL_EFFORT_MEDIUM,
    MODEL_EFFORT_HIGH,
    MODEL_EFFORT_MAX,
};
/* "off", "low", ...; "" for unset. */
const char *model_effort_word(enum model_effort effort);
/* False for a word that is none of them. */
bool model_effort_find(const char *word, enum model_effort *effort);

/* A model as it is asked. Strings are copied by model_ask. NULL and 0 take the service's
 * default. */
struct model_endpoint {
    const char *api;      /* "anthropic", "openai", "responses", "bedrock", "command", "human" */
    const char *base_url; /* "http://localhost:8000/v1" */
    const char *model;    /* as the service calls it */
    struct model_key_source key;
    const char *region, *profile; /* bedrock */
    const char *const *command;   /* argv of the api "command" */
    const char *const *env;       /* names of variables that it sees ("NAME*": all that begin so) */
    const char *ca_file, *proxy;  /* proxy NULL: the environment's; "": none */
    int max_tokens;               /* of the answer, thinking included; 0: MODEL_MAX_TOKENS */
    enum model_effort effort;
    int thinking_tokens;    /* most tokens of thinking, where a service takes that; 0: unset */
    double temperature;     /* NAN: the service's */
    double connect_limit_s; /* 0: 20 */
    double first_limit_s;   /* until the first piece of the answer; 0: 300 */
    double stall_limit_s;   /* between pieces; 0: 120 */
    double retry_wait_s;    /* before the second try, then twice as long; 0: 1 */
    int retries;            /* of a failure that may pass; -1: none, 0: 4 */
    struct model_price price;
};

/* A service by its usual name ("anthropic", "openai", "bedrock", "ollama", "vllm", "llama.cpp",
 * "litellm"): fills api, base_url and key of *endpoint, which keep pointing at constants. False for
 * a name nobody knows. */
bool model_service_find(const char *name, struct model_endpoint *endpoint);

/* What is known of a model's price: "claude-opus-4-5", also as
 * "us.anthropic.claude-opus-4-5-20251101-v1:0" and "anthropic/claude-opus-4-5", but never by
 * another model's price. The table is built in; a file prices.ini in the configuration folder comes
 * first. Every price NAN when the model is not in it. */
struct model_prices;
struct model_prices *model_prices_load(struct err *err) CC_MUST_USE;
void model_prices_free(struct model_prices *prices);
struct model_price model_prices_find(const struct model_prices *prices, const char *model);

/* --------------------------------------------------------------------------------- one request */

enum model_speaker { MODEL_USER, MODEL_ASSISTANT };
struct model_message {
    enum model_speaker speaker;
    struct str text;
    bool cache; /* what stands up to here will be sent again */
};
struct model_request {
    const struct model_endpoint *endpoint;
    struct str system;
    bool cache_system;
    const struct model_message *messages;
    size_t count;
    /* Nothing is sent: the key is fetched and the connection made, or the program looked for, and
     * the reply has no text. */
    bool only_connects;
    const char *folder; /* that a `command` runs in; NULL: hone's own */
};

/* Tokens as the service reports them; NAN: not reported. `input` counts what was neither read from
 * nor written to its cache. */
struct model_usage {
    double input, output, cache_read, cache_write;
};
enum model_stop {
    MODEL_STOP_END,     /* it had said all */
    MODEL_STOP_LENGTH,  /* cut at max_tokens */
    MODEL_STOP_CONTEXT, /* cut where prompt and answer filled the model's context */
    MODEL_STOP_REFUSED, /* a filter or the model itself declined */
    MODEL_STOP_OTHER,
};
/* Why there is no whole answer. All but `request`, `key` and `cancelled` say something about the
 * service at that moment, or about the limits it was asked with, and nothing about what was
 * asked. */
enum model_failed {
    MODEL_FAILED_NOT,          /* an answer came, whole */
    MODEL_FAILED_REQUEST,      /* address, model or settings are wrong, or the prompt is too long */
    MODEL_FAILED_KEY,          /* no key, or it is not accepted, or nobody pays for it */
    MODEL_FAILED_OVERLOAD,     /* too much at once, or the service has trouble of its own */
    MODEL_FAILED_STALL,        /* a limit passed in silence */
    MODEL_FAILED_UNREACHED,    /* no connection came about */
    MODEL_FAILED_DISCONNECTED, /* it broke, or ended, in the middle */
    MODEL_FAILED_GARBLED,      /* what came was no answer; another try may bring one */
    MODEL_FAILED_USELESS,      /* the same, and it would be so again */
    MODEL_FAILED_TRUNCATED,    /* cut: stop is length or context, the failure's kind none */
    MODEL_FAILED_REFUSED,      /* stop is refused, the failure's kind none */
    MODEL_FAILED_CANCELLED,
};
/* "overload", "key", ...: for logs; "" where nothing failed. */
const char *model_failed_word(enum model_failed failed);
/* Whether the same question may well be answered later, or by another model: the service was out of
 * order. */
bool model_failed_is_outage(enum model_failed failed);
struct model_reply {
    struct str text; /* valid UTF-8, safe to show; kept also when it failed midway */
    enum model_stop stop;
    struct model_usage usage;
    double dollars;            /* NAN: not reported, or no price */
    double first_s, elapsed_s; /* until the first piece; whole, with retries */
    int tries;
    char model[96];  /* as the service names what answered; "" */
    double thinking; /* tokens among usage.output that were thought; NAN: not reported */
    int max_tokens;  /* what it was asked with; less than wanted where the service said so */
    bool thought;    /* it thought before, or instead of, answering */
    double again_s;  /* how long the service wants to be left alone; NAN: not said */
    enum model_failed failed;
    char reason[512]; /* that in words, the service's own included; "" when it did not fail */
    /* Kind none: an answer came. Usage: key, model or address are wrong, or the request is too
     * long. Environment: it may work later. Cancelled: by model_cancel. */
    struct err failure;
};

struct model_callbacks {
    void (*on_text)(void *data, struct str piece); /* may be NULL */
    /* A retry begins: what came so far counts no longer. */
    void (*on_again)(void *data);                  /* may be NULL */
    void (*on_note)(void *data, const char *text); /* "429 ...: again in 12 s"; may be NULL */
    void (*on_done)(void *data,
                    const struct model_reply *reply); /* last, never before ask returns */
    void *data;
};

/* All requests of a process share one client. */
struct model_client;
struct model_client *model_client_new(struct loop *loop) CC_MUST_USE;
void model_client_free(struct model_client *client); /* cancels without further callbacks */

struct model_call;
/* NULL and *err (usage) for an endpoint that cannot be asked at all: unknown api, no key. */
struct model_call *model_ask(struct model_client *client, const struct model_request *request,
                             const struct model_callbacks *callbacks, struct err *err) CC_MUST_USE;
/* What comes from now on goes to these callbacks, which are copied. Accepts NULL for the call. */
void model_redirect(struct model_call *call, const struct model_callbacks *callbacks);
/* What is known of a call that runs: its text (until the next piece), tokens, dollars, times. */
void model_so_far(const struct model_call *call, struct model_reply *reply);
/* on_done still comes, cancelled, with the text and tokens so far. Accepts NULL. */
void model_cancel(struct model_call *call);

/* The interface "human": the person's answer. Nothing when the call does not wait for one. */
void model_answer(struct model_call *call, struct str text);
/* Where a key comes from, and where the model is asked, in words without secrets. */
void model_key_print(const struct model_endpoint *endpoint, struct buf *out);
void model_address_print(const struct model_endpoint *endpoint, struct buf *out);

/* After an answer that was cut: changes *endpoint so that the question is not the same again, to
 * twice the tokens of an answer up to `most` (0: MODEL_MOST_TOKENS), else to less thinking. `what`,
 * which may be NULL, becomes "max_tokens 32768" or "effort low". False: there is nothing left to
 * change. */
bool model_endpoint_relax(struct model_endpoint *endpoint, const struct model_reply *reply,
                          int most, struct buf *what);

/* An estimate where no service has counted: bytes divided by what is usual for code and English. */
double model_tokens_estimate(struct str text);
/* Dollars of so many tokens; NAN when one of them that is not 0 has no price. */
double model_price_of(const struct model_price *price, const struct model_usage *usage);

#endif
