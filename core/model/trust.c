/* SPDX-License-Identifier: Apache-2.0 */
/* Where a key goes, one rule for all interfaces: to its service's own address over TLS, or where
 * the section names it; never in the open to another machine. libcurl follows no redirect with
 * it. */
#include <stdio.h>
#include <strings.h>

#include "model/private.h"

/* The services' own hosts ("API reference" of Anthropic and OpenAI; "Amazon Bedrock endpoints and
 * quotas", AWS general reference; "Interface VPC endpoints", Amazon Bedrock user guide). Between
 * head and tail stands a region, or, where there is no head, any one label. */
static const struct {
    const char *api, *head, *tail;
} hosts[] = {
    {"anthropic", "api.anthropic.com", NULL},
    {"openai", "api.openai.com", NULL},
    {"openai", "", ".api.openai.com"},
    {"responses", "api.openai.com", NULL},
    {"responses", "", ".api.openai.com"},
    {"bedrock", "bedrock-runtime.", ".amazonaws.com"},
    {"bedrock", "bedrock-runtime.", ".amazonaws.com.cn"},
    {"bedrock", "bedrock-runtime.", ".api.aws"},
    {"bedrock", "bedrock-runtime-fips.", ".amazonaws.com"},
    {"bedrock", "bedrock-runtime-fips.", ".api.aws"},
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "us-west-2", "us-gov-east-1"; not "s3" or "s3-us-west-2", where anybody may have a name. */
static bool is_region(struct str label) {
    size_t letters = 0;
    while (letters < label.len && is_letter(label.at[letters]))
        letters++;
    char last = label.len ? label.at[label.len - 1] : 0;
    return letters == 2 && label.len > 3 && label.at[2] == '-' && last >= '0' && last <= '9' &&
           !memchr(label.at, '.', label.len);
}

static bool fits(const char *host, const char *head, const char *tail) {
    size_t size = strlen(host), from = strlen(head), to = tail ? strlen(tail) : 0;
    if (!tail)
        return !strcasecmp(host, head);
    if (size <= from + to || strncasecmp(host, head, from) || strcasecmp(host + size - to, tail))
        return false;
    struct str label = {host + from, size - from - to};
    return *head ? is_region(label) : !memchr(label.at, '.', label.len);
}

static bool is_own(const char *api, const struct model_place *place) {
    /* "NAME.bedrock-runtime.REGION.vpce.amazonaws.com": an endpoint in somebody's own network. */
    const char *inner = strstr(place->host, ".bedrock-runtime.");
    if (place->secure && inner && !strcmp(api, "bedrock") &&
        fits(inner + 1, "bedrock-runtime.", ".vpce.amazonaws.com"))
        return true;
    for (size_t i = 0; place->secure && i < COUNT_OF(hosts); i++)
        if (!strcmp(hosts[i].api, api) && fits(place->host, hosts[i].head, hosts[i].tail))
            return true;
    return false;
}

/* Whether somebody on the way could read the key: a proxy can read a request without TLS. */
static bool is_open(const struct model_endpoint *endpoint, const struct model_place *place) {
    bool proxied = endpoint->proxy && *endpoint->proxy && !model_is_this_machine(endpoint->proxy);
    return !place->secure && (proxied || !model_place_is_here(place->host));
}

bool model_trust_find(const struct model_endpoint *endpoint, enum model_trust *trust,
                      struct err *err) {
    struct model_place place;
    bool named = model_key_is_named(&endpoint->key) ||
                 (endpoint->profile && !strcmp(endpoint->api, "bedrock"));
    *trust = named ? MODEL_TRUST_NAMED : MODEL_TRUST_USUAL;
    if (!endpoint->base_url)
        return true;
    bool known = model_place_of(endpoint->base_url, &place);
    if (!named && !(known && is_own(endpoint->api, &place)))
        *trust = MODEL_TRUST_NOTHING;
    if (*trust == MODEL_TRUST_NOTHING || (known && !is_open(endpoint, &place)))
        return true;
    if (!known)
        return err_set(err, ERR_USAGE, "the base_url is not a URL");
    return err_set(
        err, ERR_USAGE,
        "hone sends no key to %.100s over plain http, because others could read it on the way. Use "
        "https, or forward the port to this machine (ssh -L) and use localhost; for a server that "
        "needs no key, remove key_env, key_command and key_keyring",
        place.host);
}
