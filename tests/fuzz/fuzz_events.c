/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged logs: events of the table with foreign bytes in them, which are read, written again and
 * applied to a state. The first byte says which event it is. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "tune/apply/apply.h"
#include "tune/state/inner.h"
#include "tune/events/testing.h"

static struct tune_state *state; /* it grows for a while, so that events meet what others made */
static int applied;

static void apply(const char *type, const char *json) {
    if (applied++ % 200 == 0) {
        tune_state_free(state);
        state = tune_state_new();
    }
    tune_state_apply(state, applied, 1000 * (int64_t)applied, type, json);
}

/* What was read and written once must read as the same again. */
static void check_write(struct arena *arena, const char *type, const char *json) {
    struct tune_event event, again;
    struct buf one = {0}, two = {0};
    if (tune_event_read(arena, type, json, &event)) {
        tune_event_write(&event, event.lane, &one);
        if (!tune_event_read(arena, type, one.at, &again))
            HONE_BUG("an event that cannot be read again");
        tune_event_write(&again, again.lane, &two);
        if (strcmp(one.at, two.at) != 0)
            HONE_BUG("an event that changes when it is read again");
    }
    buf_free(&one);
    buf_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    const char *type = tune_event_type((enum tune_event_is)(data[0] % TUNE_EVENTS));
    char *json = mem_alloc(size, 1); /* its own block, for the sanitiser */
    memcpy(json, data + 1, size - 1);
    struct arena *arena = arena_new();
    check_write(arena, type, json);
    arena_free(arena);
    apply(type, json);
    free(json);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const pieces[] = {
    "{",  "}",     "[",           "]",       "\"",      ",",  ":",           "null", "true",
    "-1", "1e999", "99999999999", "\\u0000", "\\ud800", "\\", "\"lane\":0,", "{}",   "[[]]"};

/* One of each event, after the byte that says which it is. */
static void begin_events(struct fuzz *fuzz) {
    for (int is = 0; is < TUNE_EVENTS; is++) {
        struct buf *example = fuzz_example(fuzz);
        buf_putc(example, (char)is);
        tune_event_example((enum tune_event_is)is, example);
    }
}

static const struct fuzz_target target = {
    .name = "events", .most = 4, .begin = begin_events, FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}

#endif
