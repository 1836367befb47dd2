/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of `follow JOB OFFSET`, as lines that are counted so that none is lost or delivered
 * twice, over any number of connections. A line counts when its end was seen. The command's own
 * words (follow, alive, end, gone), and what a login shell writes before them, do not count
 * (REMOTE.md). */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "target/host/host_own.h"

/* Longer lines are counted and left out. No event is as long. */
#define MAX_LINE ((size_t)16 << 20)

enum own_line { NOT_OWN, OWN_FOLLOW, OWN_ALIVE, OWN_END, OWN_GONE };

static enum own_line find_own(const char *name) {
    static const char *const names[] = {"", "follow", "alive", "end", "gone"};
    for (size_t i = 1; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum own_line)i;
    return NOT_OWN;
}

/* The command's own lines are short. So for nearly every line a look at its length is enough. */
#define LONGEST_OWN 4096

static void gone_read(struct follow *follow, const cJSON *event) {
    const char *why = host_text(event, "why");
    if (!*why)
        why = host_text(event, "text");
    struct buf safe = {0};
    text_sanitise(&safe, str_of(why));
    snprintf(follow->gone, sizeof follow->gone, "%s",
             safe.len ? safe.at : "its process ended without a result");
    buf_free(&safe);
}

/* Counting goes on in the file in which it began. Another file is delivered from its start, and
 * what the first one said does not count. It is another one when the folder was lost there, and the
 * job was put and begun again. */
static void file_read_id(struct follow *follow, const char *id, double offset) {
    bool other = follow->file[0] && *id && strcmp(follow->file, id) != 0;
    if (other || (offset >= 0 && offset < (double)follow->offset)) {
        follow->offset = offset >= 0 ? (uint64_t)offset : 0;
        follow->fn(follow->data, STR(RUNNER_SENTINEL "{\"event\":\"restart\",\"fresh\":true}"));
    }
    if (*id)
        snprintf(follow->file, sizeof follow->file, "%s", id);
}

static bool own_read(struct follow *follow, struct str line) {
    size_t skip = strlen(RUNNER_SENTINEL);
    if (!str_starts(line, RUNNER_SENTINEL) || line.len > LONGEST_OWN)
        return false;
    cJSON *event = cJSON_ParseWithLength(line.at + skip, line.len - skip);
    enum own_line own = find_own(host_text(event, "event"));
    double offset = host_amount(event, "offset", -1);
    if (own == OWN_FOLLOW && !follow->begun) {
        follow->begun = true;
        file_read_id(follow, host_text(event, "file"), offset);
    }
    follow->fresh = follow->fresh || own == OWN_ALIVE || own == OWN_END || own == OWN_GONE;
    follow->ended = follow->ended || own == OWN_END;
    if (own == OWN_GONE)
        gone_read(follow, event);
    cJSON_Delete(event);
    return own != NOT_OWN;
}

static void line_read(struct follow *follow, struct str line, size_t bytes) {
    if (follow->ended || follow->gone[0])
        return;
    if (!follow->too_long && own_read(follow, line))
        return;
    if (!follow->begun)
        return;
    follow->offset += bytes;
    follow->lines++;
    if (!follow->too_long)
        follow->fn(follow->data, line);
}

void follow_begin(struct follow *follow) {
    buf_clear(&follow->partial);
    follow->begun = follow->fresh = follow->ended = follow->too_long = false;
    follow->gone[0] = 0;
}

/* Keeps the part of a line that is not whole yet. When it is too long to keep, `skipped` goes on
 * counting. */
static void partial_add(struct follow *follow, struct str part) {
    if (!follow->too_long)
        buf_add(&follow->partial, part.at, part.len);
    if (follow->too_long || follow->partial.len > MAX_LINE) {
        follow->skipped += follow->too_long ? part.len : follow->partial.len;
        follow->too_long = true;
        buf_clear(&follow->partial);
    }
}

void follow_bytes(struct follow *follow, struct str bytes) {
    while (bytes.len) {
        const char *end = memchr(bytes.at, '\n', bytes.len);
        if (!end) {
            partial_add(follow, bytes);
            return;
        }
        struct str line = {bytes.at, (size_t)(end - bytes.at)};
        bytes = (struct str){end + 1, bytes.len - line.len - 1};
        if (follow->partial.len || follow->too_long) {
            partial_add(follow, line);
            line = buf_str(&follow->partial);
        }
        size_t size = follow->too_long ? follow->skipped + 1 : line.len + 1;
        line_read(follow, line, size);
        follow->too_long = false;
        follow->skipped = 0;
        buf_clear(&follow->partial);
    }
}

void follow_free(struct follow *follow) {
    buf_free(&follow->partial);
}
