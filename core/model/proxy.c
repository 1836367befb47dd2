/* SPDX-License-Identifier: Apache-2.0 */
/* Proxies: which one a request goes by, and what it means when one fails. libcurl does the talking
 * and reads the environment (https_proxy, all_proxy, no_proxy, in both cases of letters); here is
 * what it leaves out. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "model/private.h"

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* "https_proxy" or "HTTPS_PROXY" and so on. libcurl ignores HTTP_PROXY, because in a CGI program a
 * client could set it; hone is not a CGI program. */
static const char *from_environment(bool secure) {
    const char *names[] = {secure ? "https_proxy" : "http_proxy",
                           secure ? "HTTPS_PROXY" : "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (variable(names[i]))
            return variable(names[i]);
    return NULL;
}

/* "HOST:PORT" of an address; "" when it is none. Never its login. */
static void host_of(const char *address, unsigned flags, char out[128]) {
    char *host = NULL, *port = NULL;
    CURLU *url = curl_url();
    *out = '\0';
    if (url && curl_url_set(url, CURLUPART_URL, address, flags) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK)
        snprintf(out, 128, "%s", host);
    if (*out && curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK)
        snprintf(out + strlen(out), 128 - strlen(out), ":%s", port);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(url);
}

void model_proxy_set(CURL *easy, const struct model_endpoint *endpoint, const char *url,
                     char shown[128]) {
    bool secure = !strncasecmp(url, "https:", 6);
    const char *proxy = endpoint->proxy;
    *shown = '\0';
    if (proxy) /* named for this model: no_proxy says nothing about it */
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    else /* a proxy elsewhere knows nothing of servers here */
        proxy = model_is_this_machine(url) ? "" : from_environment(secure);
    if (proxy)
        curl_easy_setopt(easy, CURLOPT_PROXY, proxy);
    if (proxy && *proxy)
        host_of(proxy, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME, shown);
}

void model_proxy_hide_login(const char *words, struct buf *out) {
    for (const char *at; (at = strstr(words, "//"));) {
        size_t size = strcspn(at + 2, " '\""), login = size;
        while (login && at[1 + login] != '@')
            login--;
        buf_add(out, words, (size_t)(at + 2 - words));
        words = at + 2 + login;
    }
    buf_puts(out, words);
}

/* What it answered to CONNECT. */
static void refused(struct model_call *call, const char *shown, long status) {
    bool passes = status >= 500 || status == 429 || status == 408;
    const char *advice =
        status == 407 ? ": it requires a login, as in http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY"
        : passes      ? ""
                      : "; see the setting proxy, and NO_PROXY of the environment";
    model_call_fail(call, passes ? MODEL_FAILED_OVERLOAD : MODEL_FAILED_REQUEST,
                    "%s: the proxy %s answered %ld when asked for the connection%s",
                    model_call_name(call), shown, status, advice);
}

bool model_proxy_judge(struct model_call *call, CURL *easy, CURLcode code, const char *shown,
                       const char *detail) {
    long status = 0;
    char host[128], *colon;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
    if (status >= 300) {
        refused(call, shown, status);
        return true;
    }
    snprintf(host, sizeof host, "%s", shown);
    if ((colon = strrchr(host, ':')))
        *colon = '\0';
    bool names_it = *host && (strstr(detail, host) || strstr(detail, "roxy"));
    bool failed = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_PROXY ||
                  code == CURLE_PROXY || code == CURLE_UNSUPPORTED_PROTOCOL;
    if (!failed || !(names_it || code == CURLE_COULDNT_RESOLVE_PROXY))
        return false;
    bool passes =
        (code == CURLE_COULDNT_CONNECT || code == CURLE_PROXY) && !strstr(detail, "nsupported");
    model_call_fail(
        call, passes ? MODEL_FAILED_UNREACHED : MODEL_FAILED_REQUEST,
        "%s: the proxy%s%s cannot be reached (%s); see the setting proxy, and HTTPS_PROXY "
        "and NO_PROXY of the environment",
        model_call_name(call), *shown ? " " : "", shown, detail);
    return true;
}
