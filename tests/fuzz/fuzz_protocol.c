/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes into both sides of the runner protocol. Built with -DHONE_LIBFUZZER it is an entry
 * point for libFuzzer; as a program it mutates its own examples for a fixed number of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "runner/runner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_event(void *data, const struct runner_event *event) {
    size_t *bytes = data;
    if (event->text)
        *bytes += strlen(event->text);
    if (event->name)
        *bytes += strlen(event->name);
    if (event->diag)
        *bytes += strlen(event->diag->message) + strlen(event->diag->file);
}

static void feed_job(struct str text) {
    struct arena *arena = arena_new();
    struct runner_job job;
    struct err err = {0};
    if (runner_job_parse(text, arena, &job, &err)) {
        struct buf printed = {0};
        struct runner_job again;
        runner_job_print(&job, &printed);
        if (!runner_job_parse(buf_str(&printed), arena, &again, &err))
            HONE_BUG("a job that was read cannot be written and read again");
        buf_free(&printed);
    } else if (err.kind != ERR_USAGE) {
        HONE_BUG("a job was refused without a reason");
    }
    arena_free(arena);
}

static void feed_events(struct str text) {
    size_t bytes = 0;
    struct runner_reader *reader = runner_reader_new(on_event, &bytes);
    struct str line;
    while (str_next(&text, '\n', &line))
        runner_reader_line(reader, line);
    struct loop_exit result = {.end = LOOP_EXITED, .status = (int)(bytes % 3)};
    runner_reader_finish(reader, &result);
    runner_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text = {(const char *)data, size};
    feed_job(text);
    feed_events(text);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "{\"protocol\":1,\"kernel_path\":\"k.py\",\"kernel_text\":\"x\\n\",\"seeds\":[0,21],"
    "\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[128,4096]},"
    "{\"name\":\"eps\",\"value\":1e-5}],\"tolerance\":2e-5,\"strict\":true,\"device\":\"trn2\"}",
    "@hone {\"event\":\"phase\",\"name\":\"parse\",\"seconds\":0.5}\nnoise\n"
    "@hone {\"event\":\"log\",\"severity\":\"note\",\"text\":\"hello\"}\n"
    "@hone {\"event\":\"sample\",\"us\":12.5,\"of\":\"kernel\",\"modelled\":true}\n",
    "@hone {\"event\":\"diagnostic\",\"severity\":\"warning\",\"code\":\"E1\",\"file\":\"k.py\","
    "\"line\":3,\"column\":7,\"message\":\"odd\"}\n"
    "@hone {\"event\":\"correctness\",\"seed\":21,\"rel_l2\":null,\"passed\":false}\n"
    "@hone {\"event\":\"metric\",\"name\":\"total_time\",\"value\":1e-3,\"unit\":\"s\"}\n"
    "@hone {\"event\":\"artifact\",\"name\":\"profile\",\"path\":\"/p\"}\n",
    "@hone {\"event\":\"result\",\"latency_us\":12.5,\"verdict\":{\"compiles\":{\"answer\":\"yes\","
    "\"reason\":\"\"},\"correct\":{\"answer\":\"no\"}},\"lines\":[{\"line\":4,\"us\":3}],"
    "\"bounds\":[{\"name\":\"DMA\",\"busy_us\":9}],\"failure\":{\"kind\":\"usage\",\"text\":\"t\"}}"
    "\n",
};
static const char *const pieces[] = {"@hone ",  "{",       "}",    "[",     "]",
                                     "\"",      "null",    "-1",   "1e999", "\n",
                                     "\\u0000", "\x1b[2J", "\xff", ":",     "99999999999999999999"};

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void mutate(struct buf *text, uint64_t *state) {
    size_t at = text->len ? next(state) % text->len : 0;
    const char *piece = pieces[next(state) % COUNT_OF(pieces)];
    struct buf changed = {0};
    size_t skip = 0, count = next(state) % 60;
    buf_add(&changed, text->at, at);
    switch (next(state) % 4) {
    case 0: buf_puts(&changed, piece); break;
    case 1: skip = MIN_OF(count, text->len - at); break;
    case 2:
        buf_putc(&changed, (char)next(state));
        skip = text->len > at;
        break;
    default: buf_add(&changed, text->at + at / 2, MIN_OF(count, text->len - at / 2)); break;
    }
    buf_add(&changed, text->at + at + skip, text->len - at - skip);
    buf_free(text);
    *text = changed;
}

int main(int argc, char **argv) {
    long long rounds = 12000;
    if (argc > 1 && !str_to_int(str_of(argv[1]), &rounds))
        return 2;
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (long long round = 0; round < rounds; round++) {
        struct buf text = {0};
        buf_puts(&text, examples[next(&state) % COUNT_OF(examples)]);
        for (uint64_t i = next(&state) % 12; i > 0; i--)
            mutate(&text, &state);
        LLVMFuzzerTestOneInput((const uint8_t *)text.at, text.len);
        buf_free(&text);
    }
    printf("%lld inputs\n", rounds);
    return 0;
}
#endif
