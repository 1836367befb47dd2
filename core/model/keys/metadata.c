/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the metadata service of the instance or container hone runs on for its role's credentials:
 * IMDSv2 ("Use the Instance Metadata Service", Amazon EC2 user guide) and the container
 * endpoints of ECS and EKS. On a worker thread: three short requests with short limits. */
#include "base/libcurl.h"
#include "model/keys/metadata.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "model/keys/keys.h"

#define INSTANCE "http://169.254.169.254"
#define CONTAINER "http://169.254.170.2"
#define ROLES "/latest/meta-data/iam/security-credentials/"
#define LIMIT_MS 2000L
#define MAX_ANSWER 65536

struct metadata {
    struct credentials found;
    metadata_fn *fn;
    void *data;
    atomic_bool forgotten;
};

/* libcurl checks this once a second, so the program can end without waiting for an answer that
 * nobody needs. */
static int on_progress(void *data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    struct metadata *metadata = data;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&metadata->forgotten);
}

static size_t on_body(char *bytes, size_t one, size_t count, void *data) {
    struct buf *body = data;
    if (body->len + one * count > MAX_ANSWER)
        return 0;
    buf_add(body, bytes, one * count);
    return one * count;
}

/* One request: method, URL, a header or NULL. False when it did not answer 200. */
static bool fetch(struct metadata *metadata, const char *const request[3], struct buf *body) {
    const char *method = request[0], *url = request[1], *header = request[2];
    long status = 0;
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = header ? curl_slist_append(NULL, header) : NULL;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, LIMIT_MS);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, metadata);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
    CURLcode code = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    for (struct curl_slist *row = headers; row; row = row->next)
        explicit_bzero(row->data, strlen(row->data));
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
    return code == CURLE_OK && status == 200;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* The hosts that AWS's own tools ask ("Container credential provider", AWS SDKs reference guide):
 * the answer is a secret, and a token goes out with the question. */
static bool may_have_token(const char *url) {
    static const char *const starts[] = {CONTAINER "/", "http://169.254.170.23/",
                                         "http://[fd00:ec2::23]/", "https://"};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (str_starts(str_of(url), starts[i]))
            return true;
    return model_is_this_machine(url);
}

static bool from_container(struct metadata *metadata) {
    const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct buf url = {0}, header = {0}, body = {0};
    if (relative)
        buf_printf(&url, "%s%s", CONTAINER, relative);
    else if (full && may_have_token(full))
        buf_puts(&url, full);
    if (token)
        model_join_secret("Authorization: ", token, &header);
    bool ok = url.len && fetch(metadata, (const char *[]){"GET", url.at, header.at}, &body) &&
              credentials_parse(buf_str(&body), &metadata->found);
    buf_free(&url);
    model_wipe(&header);
    model_wipe(&body);
    return ok;
}

static bool from_instance(struct metadata *metadata) {
    const char *off = variable("AWS_EC2_METADATA_DISABLED");
    const char *base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct buf url = {0}, token = {0}, role = {0}, body = {0}, header = {0};
    if (off && !strcasecmp(off, "true"))
        return false;
    base = base ? base : INSTANCE;
    buf_printf(&url, "%s/latest/api/token", base);
    bool ok =
        fetch(metadata,
              (const char *[]){"PUT", url.at, "X-aws-ec2-metadata-token-ttl-seconds: 300"}, &token);
    model_join_secret("X-aws-ec2-metadata-token: ", token.at ? token.at : "", &header);
    buf_clear(&url);
    buf_printf(&url, "%s" ROLES, base);
    ok = ok && fetch(metadata, (const char *[]){"GET", url.at, header.at}, &role);
    struct str name = str_trim(buf_str(&role));
    buf_add(&url, name.at ? name.at : "", name.len);
    ok = ok && name.len && fetch(metadata, (const char *[]){"GET", url.at, header.at}, &body) &&
         credentials_parse(buf_str(&body), &metadata->found);
    buf_free(&url);
    buf_free(&role);
    model_wipe(&token);
    model_wipe(&header);
    model_wipe(&body);
    return ok;
}

static void work(void *data) {
    struct metadata *metadata = data;
    if (!from_container(metadata))
        from_instance(metadata);
}

static void done(void *data) {
    struct metadata *metadata = data;
    if (!atomic_load(&metadata->forgotten))
        metadata->fn(metadata->data, &metadata->found);
    credentials_wipe(&metadata->found);
    free(metadata);
}

struct metadata *metadata_ask(struct loop *loop, metadata_fn *fn, void *data) {
    struct metadata *metadata = mem_alloc(1, sizeof *metadata);
    metadata->fn = fn;
    metadata->data = data;
    loop_job_start_owned(loop, work, done, metadata);
    return metadata;
}

void metadata_forget(struct metadata *metadata) {
    atomic_store(&metadata->forgotten, true);
}
