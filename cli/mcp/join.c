/* SPDX-License-Identifier: Apache-2.0 */
/* A session that another process of hone holds: lines go to its socket and come from there. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/mcp/private.h"

static const char gone[] = "who held the session is gone; nothing that was handed in is lost: ask "
                           "again";

static void id_forget(struct serving *serving, const cJSON *id) {
    for (size_t i = 0; id && i < serving->under_way.len; i++) {
        if (!mcp_id_same(serving->under_way.at[i], id))
            continue;
        cJSON_Delete(serving->under_way.at[i]);
        serving->under_way.at[i] = serving->under_way.at[--serving->under_way.len];
        return;
    }
}

static void on_line(void *data, struct str line, bool whole) {
    struct serving *serving = data;
    struct mcp_message message;
    enum mcp_error code;
    const char *why;
    bool swallowed = serving->swallows;
    serving->swallows = false;
    if (!whole || swallowed)
        return;
    if (mcp_message_read(line, &message, &code, &why) && message.is == MCP_OTHER)
        id_forget(serving, message.id);
    mcp_message_free(&message);
    mcp_stream_send(serving->stream, line);
}

static void on_ended(void *data) {
    struct serving *serving = data;
    for (size_t i = 0; i < serving->under_way.len; i++) {
        struct buf line = {0};
        mcp_error_print(serving->under_way.at[i], MCP_INTERNAL_ERROR, gone, NULL, &line);
        mcp_stream_send(serving->stream, buf_str(&line));
        buf_free(&line);
    }
    serving_part(serving);
    serving_look_again(serving);
}

void serving_join(struct serving *serving, int fd) {
    const struct mcp_stream_hooks hooks = {on_line, on_ended, serving};
    serving->fd = fd;
    serving->other = mcp_stream_new(serving->loop, fd, fd, &hooks);
    serving->swallows = serving->first.len > 0;
    if (serving->swallows)
        mcp_stream_send(serving->other, buf_str(&serving->first));
}

void serving_pass(struct serving *serving, struct str line) {
    struct mcp_message message;
    enum mcp_error code;
    const char *why;
    if (mcp_message_read(line, &message, &code, &why) && message.is == MCP_REQUEST)
        *vec_push(&serving->under_way) = cJSON_Duplicate(message.id, false);
    mcp_message_free(&message);
    mcp_stream_send(serving->other, line);
}

void serving_part(struct serving *serving) {
    for (size_t i = 0; i < serving->under_way.len; i++)
        cJSON_Delete(serving->under_way.at[i]);
    vec_free(&serving->under_way);
    if (!serving->other)
        return;
    mcp_stream_free(serving->other);
    close(serving->fd);
    serving->other = NULL;
}
