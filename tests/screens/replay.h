/* SPDX-License-Identifier: Apache-2.0 */
/* A session's state from a script of events, for the tests of the screens. */
#ifndef HONE_TESTS_SCREENS_REPLAY_H
#define HONE_TESTS_SCREENS_REPLAY_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/state/inner.h"
#include "tune/tune.h"
#include "views/views.h"

#define REPLAY_FOLDER HONE_SOURCE_DIR "/tests/screens/"
#define REPLAY_START_MS 1767276000000 /* 2026-01-01 14:00 UTC */

static char *replay_file(const char *name) {
    char path[512];
    struct err err;
    snprintf(path, sizeof path, REPLAY_FOLDER "%s", name);
    char *text = file_read(path, 0, NULL, &err);
    if (!text) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return text;
}

/* Replaces "@kernel.py" in quotes by the file's text as a JSON string. */
static void replay_expand(struct str payload, struct buf *out) {
    while (payload.len) {
        if (!str_starts(payload, "\"@")) {
            buf_putc(out, *payload.at);
            payload.at++;
            payload.len--;
            continue;
        }
        const char *end = memchr(payload.at + 2, '"', payload.len - 2);
        char *name = mem_alloc((size_t)(end - payload.at), 1);
        memcpy(name, payload.at + 2, (size_t)(end - payload.at) - 2);
        char *text = replay_file(name);
        cJSON *json = cJSON_CreateString(text);
        char *quoted = cJSON_PrintUnformatted(json);
        buf_puts(out, quoted);
        payload.len -= (size_t)(end + 1 - payload.at);
        payload.at = end + 1;
        cJSON_free(quoted);
        cJSON_Delete(json);
        free(text);
        free(name);
    }
}

/* The state at the line "--- stop" of the file. *now_ms is the time of the last event. */
CC_UNUSED static struct tune_state *replay_of(const char *file, const char *stop, int64_t *now_ms) {
    struct tune_state *state = tune_state_new();
    char *script = replay_file(file);
    struct str rest = str_of(script), line, ms_text, type;
    int64_t seq = 0;
    while (str_next(&rest, '\n', &line)) {
        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (str_starts(line, "--- ")) {
            struct str name = {line.at + 4, line.len - 4};
            if (str_is(name, stop))
                break;
            continue;
        }
        long long ms = 0;
        char name[32];
        struct buf payload = {0};
        if (!str_next(&line, ' ', &ms_text) || !str_next(&line, ' ', &type) ||
            !str_to_int(ms_text, &ms))
            abort();
        snprintf(name, sizeof name, STR_FMT, STR_ARG(type));
        replay_expand(line, &payload);
        *now_ms = REPLAY_START_MS + ms;
        tune_state_apply(state, ++seq, *now_ms, name, payload.at);
        buf_free(&payload);
    }
    free(script);
    return state;
}

CC_UNUSED static struct tune_state *replay_until(const char *stop, int64_t *now_ms) {
    return replay_of("session.events", stop, now_ms);
}

/* Sends keys, given as their names separated by blanks, to the views. */
CC_UNUSED static struct views_request replay_keys(struct views *views, const char *keys) {
    struct str rest = str_of(keys), word;
    struct views_request request = {.wish = VIEWS_NOTHING};
    while (keys && *keys && str_next(&rest, ' ', &word)) {
        struct tui_event event = {.kind = TUI_EVENT_KEY};
        if (!tui_key_parse(word, &event.key))
            abort();
        request = views_event(views, &event);
    }
    return request;
}

#endif
