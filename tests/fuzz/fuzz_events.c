/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged logs: events by the table with foreign bytes in them, read, written again and applied to
 * a state. The first byte says which event it is. Built with -DHONE_LIBFUZZER it is an entry point
 * for libFuzzer; as a program it mutates an example of each event for a number of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/state/inner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tune_state *state; /* grows for a while, so that events meet what others made */
static int applied;

static void apply(const char *type, const char *json) {
    if (applied++ % 200 == 0) {
        tune_state_free(state);
        state = tune_state_new();
    }
    tune_state_apply(state, applied, 1000 * (int64_t)applied, type, json);
}

/* What was read and written once is the same when that is read. */
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
    char *json = mem_alloc(size, 1); /* its own end, for the sanitiser */
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

static uint32_t random_next(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void mutate(struct buf *text, uint32_t *seed) {
    struct buf out = {0};
    size_t at = text->len > 1 ? 1 + random_next(seed) % (text->len - 1) : text->len;
    size_t gone = random_next(seed) % 4 ? 0 : random_next(seed) % 12;
    gone = MIN_OF(gone, text->len - at);
    buf_add(&out, text->at, at);
    if (random_next(seed) % 3)
        buf_puts(&out, pieces[random_next(seed) % COUNT_OF(pieces)]);
    else
        buf_putc(&out, (char)(random_next(seed) & 0xff));
    buf_add(&out, text->at + at + gone, text->len - at - gone);
    buf_free(text);
    *text = out;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    uint32_t seed = 1;
    for (long i = 0; i < rounds; i++) {
        struct buf text = {0};
        int is = (int)(random_next(&seed) % TUNE_EVENTS);
        buf_putc(&text, (char)is);
        tune_event_example((enum tune_event_is)is, &text);
        for (uint32_t times = random_next(&seed) % 4; times > 0; times--)
            mutate(&text, &seed);
        LLVMFuzzerTestOneInput((const uint8_t *)text.at, text.len);
        buf_free(&text);
    }
    tune_state_free(state);
    printf("fuzz_events: %ld inputs\n", rounds);
    return 0;
}

#endif
