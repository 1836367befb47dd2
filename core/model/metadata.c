/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the metadata service of the instance or container hone runs on for its role's credentials:
 * IMDSv2 ("Use the Instance Metadata Service", Amazon EC2 user guide) and the container
 * endpoints of ECS and EKS. On a worker thread: three short requests with short limits. */
#include "model/metadata.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "model/private.h"

#define INSTANCE "http://169.254.169.254"
#define CONTAINER "http://169.254.170.2"
#define ROLES "/latest/meta-data/iam/security-credentials/"
#define LIMIT_MS 2000L
#define MAX_ANSWER 65536

struct metadata {
    struct credentials found;
    metadata_fn *fn;
    void *data;
    bool forgotten;
};

static size_t on_body(char *bytes, size_t one, size_t count, void *data) {
    struct buf *body = data;
    if (body->len + one * count > MAX_ANSWER)
        return 0;
    buf_add(body, bytes, one * count);
    return one * count;
}

/* One request; `header` may be NULL. False when it did not answer 200. */
static bool fetch(const char *method, const char *url, const char *header, struct buf *body) {
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

static bool from_container(struct credentials *found) {
    const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct buf url = {0}, header = {0}, body = {0};
    if (relative)
        buf_printf(&url, "%s%s", CONTAINER, relative);
    else if (full)
        buf_puts(&url, full);
    if (token)
        buf_printf(&header, "Authorization: %s", token);
    bool ok = url.len && fetch("GET", url.at, header.at, &body) &&
              credentials_parse(buf_str(&body), found);
    buf_free(&url);
    model_wipe(&header);
    model_wipe(&body);
    return ok;
}

static bool from_instance(struct credentials *found) {
    const char *off = variable("AWS_EC2_METADATA_DISABLED");
    const char *base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct buf url = {0}, token = {0}, role = {0}, body = {0}, header = {0};
    if (off && !strcasecmp(off, "true"))
        return false;
    base = base ? base : INSTANCE;
    buf_printf(&url, "%s/latest/api/token", base);
    bool ok = fetch("PUT", url.at, "X-aws-ec2-metadata-token-ttl-seconds: 300", &token);
    buf_printf(&header, "X-aws-ec2-metadata-token: %s", token.at ? token.at : "");
    buf_clear(&url);
    buf_printf(&url, "%s" ROLES, base);
    ok = ok && fetch("GET", url.at, header.at, &role);
    struct str name = str_trim(buf_str(&role));
    buf_add(&url, name.at ? name.at : "", name.len);
    ok = ok && name.len && fetch("GET", url.at, header.at, &body) &&
         credentials_parse(buf_str(&body), found);
    buf_free(&url);
    buf_free(&role);
    model_wipe(&token);
    model_wipe(&header);
    model_wipe(&body);
    return ok;
}

static void work(void *data) {
    struct metadata *metadata = data;
    if (!from_container(&metadata->found))
        from_instance(&metadata->found);
}

static void done(void *data) {
    struct metadata *metadata = data;
    if (!metadata->forgotten)
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
    metadata->forgotten = true;
}
