/* SPDX-License-Identifier: Apache-2.0 */
/* The service of this folder a second time, with TLS. The plain one is a proxy, which leads any
 * host's name to it. */
#ifndef HONE_TESTS_MODEL_SECURE_H
#define HONE_TESTS_MODEL_SECURE_H

#include "model/serve.h"

/* A server with TLS beside the plain one. Its certificate is its own authority's, in `file`. */
struct secure {
    struct bench bench; /* of the plain one, which is the proxy */
    char folder[32], file[64];
    int port;
    bool made;
};

/* Makes a certificate for the names that the tests use. False where there is no openssl. */
static bool make_certificate(struct secure *secure) {
    char command[900];
    snprintf(secure->folder, sizeof secure->folder, "/tmp/hone-tls-XXXXXX");
    assert_non_null(mkdtemp(secure->folder));
    snprintf(secure->file, sizeof secure->file, "%s/ca.pem", secure->folder);
    snprintf(
        command, sizeof command,
        "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=hone -addext subjectAltName=DNS:models.test,DNS:gateway.test,DNS:login.test,"
        "DNS:refused.test,DNS:api.anthropic.com,DNS:*.anthropic.com.evil.test,"
        "DNS:api.openai.com,DNS:*.api.openai.com,DNS:*.api.openai.com.evil.test,"
        "DNS:bedrock-runtime.us-west-2.amazonaws.com,DNS:*.s3.amazonaws.com,IP:127.0.0.1 "
        "-keyout key.pem -out ca.pem >/dev/null 2>&1 && "
        "cat ca.pem key.pem >both.pem",
        secure->folder);
    return system(command) == 0;
}

static int start_secure(void **state) {
    char both[64];
    struct secure *secure = mem_alloc(1, sizeof *secure);
    void *plain;
    start(&plain);
    secure->bench = *(struct bench *)plain;
    free(plain);
    secure->made = make_certificate(secure);
    int proxy = secure->bench.port;
    snprintf(both, sizeof both, "%s/both.pem", secure->folder);
    if (secure->made)
        secure->port = serve(&secure->bench, both);
    secure->bench.port = proxy;
    *state = secure;
    return 0;
}

static int end_secure(void **state) {
    struct secure *secure = *state;
    char command[80];
    void *plain = mem_dup(&secure->bench, sizeof secure->bench);
    snprintf(command, sizeof command, "rm -rf %s", secure->folder);
    assert_int_equal(system(command), 0);
    free(secure);
    return end(&plain);
}

static void need_openssl(struct secure *secure) {
    if (secure->made)
        return;
    print_message("skipped: no openssl that makes a certificate\n");
    skip();
}

#endif
