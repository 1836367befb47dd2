/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign lines into a server for agents. Whatever comes, each line that goes out is a message, on
 * one line, and safe to show. Tools that start children are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "loop/loop.h"
#include "loop/testing.h"
#include "mcp/mcp.h"

static struct bench {
    struct loop *loop;
    struct tune_session *session;
    struct mcp_server *server;
    char folder[40];
} bench;

static void on_send(void *data, struct str line) {
    struct buf text = {0};
    uint32_t code;
    (void)data;
    buf_add(&text, line.at, line.len);
    cJSON *message = cJSON_Parse(text.at);
    if (!cJSON_IsObject(message) || memchr(line.at, '\n', line.len))
        HONE_BUG("what goes out is no message");
    for (size_t len; (len = text_decode(line, &code)); line.at += len, line.len -= len)
        if (code == TEXT_INVALID || text_is_unsafe(code))
            HONE_BUG("what goes out is not safe to show");
    cJSON_Delete(message);
    buf_free(&text);
}

static void end(void) {
    struct err err = {0};
    mcp_server_free(bench.server);
    tune_session_close(bench.session);
    loop_free(bench.loop);
    (void)!file_remove_tree(bench.folder, &err);
}

/* Nothing runs in this session: it has neither a target nor a proposer. */
static void begin(void) {
    struct err err = {0};
    snprintf(bench.folder, sizeof bench.folder, "/tmp/hone-fuzz-mcp.XXXXXX");
    if (!mkdtemp(bench.folder))
        HONE_BUG("no folder for a session");
    setenv("XDG_STATE_HOME", bench.folder, 1);
    struct tune_options options = {.task = "seeds/silu", .session_dir = bench.folder, .idle = true};
    bench.loop = loop_new();
    bench.session = tune_session_open(&options, bench.loop, &err);
    if (!bench.session)
        HONE_BUG("no session for a server");
    const struct mcp_options serving = {
        .loop = bench.loop, .session = bench.session, .version = "1"};
    bench.server = mcp_server_new(&serving);
    atexit(end);
}

static bool starts_children(struct str line) {
    return memmem(line.at, line.len, "evaluate", 8) || memmem(line.at, line.len, "check", 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str rest = {(const char *)data, size}, line;
    if (!bench.server)
        begin();
    struct mcp_client *client = mcp_client_new(bench.server, on_send, NULL);
    while (rest.len && str_next(&rest, '\n', &line))
        if (!starts_children(line))
            mcp_client_line(client, line, true);
    mcp_client_line(client, STR(""), false);
    mcp_client_leave(client, "enough");
    mcp_client_free(client);
    loop_run_until_idle(bench.loop, 1000);
    return 0;
}

#ifndef HONE_LIBFUZZER

#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{},\"progressToken\":7}"
#define ASK(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "," META "}}\n"

static const char *const examples[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n",
    ASK("server/discover", "\"x\":1") ASK("resources/list", "\"cursor\":\"1\""),
    ASK("tools/call", "\"name\":\"submit\",\"arguments\":{\"title\":\"t\",\"kernel\":\"k\","
                      "\"direction\":\"up\",\"size\":0.5,\"wait_s\":9}"),
    ASK("tools/call",
        "\"name\":\"wait\",\"arguments\":{\"submission\":1,\"wait_s\":5}") "{\"jsonrpc\":\"2.0\","
                                                                           "\"method\":"
                                                                           "\"notifications/"
                                                                           "cancelled\",\"params\":"
                                                                           "{\"requestId\":1}}",
    ASK("tools/call", "\"name\":\"status\",\"arguments\":{}"),
    ASK("tools/call", "\"name\":\"profile\",\"arguments\":{\"attempt\":0,\"lines\":3}"),
    ASK("tools/call", "\"name\":\"compare\",\"arguments\":{\"a\":0,\"b\":1}"),
    ASK("tools/call", "\"name\":\"explain\",\"arguments\":{\"what\":\"nc_matmul\"}"),
    ASK("tools/call", "\"name\":\"cost\",\"arguments\":{\"words\":\"dma\"}"),
    ASK("tools/call", "\"name\":\"menu\"") ASK("tools/call", "\"name\":\"history\""),
    ASK("resources/read", "\"uri\":\"hone://attempt/0/kernel.py\""),
    ASK("resources/read", "\"uri\":\"hone://log\""),
    ASK("prompts/get", "\"name\":\"optimise\",\"arguments\":{\"goal\":\"1\"}"),
};
static const char *const pieces[] = {"\"id\":",
                                     "\"method\":",
                                     "\"params\":",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "null",
                                     "-1",
                                     "1e999",
                                     "\n",
                                     "\x1b[2J",
                                     "\xff",
                                     ":",
                                     "true",
                                     "hone://",
                                     "attempt/",
                                     "\xe2\x80\xae",
                                     "\"wait_s\":",
                                     "\"title\":",
                                     "99999999999999999999"};

static const struct fuzz_target target = {
    .name = "mcp", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
