/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes into both sides of the runner protocol. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "runner/runner.h"

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

static const struct fuzz_target target = {
    .name = "protocol", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
