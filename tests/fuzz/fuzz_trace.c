/* SPDX-License-Identifier: Apache-2.0 */
/* Any messages in place of those of the Python that traces a kernel: no crash, no hang, and a
 * program or an error. An input is messages, each behind two bytes of length; the seeds are what a
 * small kernel sends. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "nki/nki.h"

struct messages {
    const uint8_t *at, *end;
};

static bool start(void *data, struct str program, struct err *err) {
    (void)data;
    return program.len > 0 || err_set(err, ERR_ENVIRONMENT, "there is no program");
}

static bool exchange(void *data, struct str message, struct str *next, struct err *err) {
    struct messages *messages = data;
    (void)message;
    if (messages->end - messages->at < 2)
        return err_set(err, ERR_KERNEL, "it has ended");
    size_t len = (size_t)messages->at[0] | (size_t)messages->at[1] << 8;
    messages->at += 2;
    len = MIN_OF(len, (size_t)(messages->end - messages->at));
    *next = (struct str){(const char *)messages->at, len};
    messages->at += len;
    return true;
}

static void stop(void *data) {
    (void)data;
}

static const char kernel[] = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
                             "@nki.jit\ndef f(x):\n"
                             "    y = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.shared_hbm)\n"
                             "    nisa.dma_copy(dst=y, src=x)\n    return y\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct diag_list diags = {0};
    struct messages messages = {data, data + size};
    struct nki_tree *tree = nki_parse("fuzz.py", str_of(kernel), &diags);
    struct nki_input input = {.kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {4, 4}}};
    struct nki_tracer tracer = {
        .start = start, .exchange = exchange, .stop = stop, .data = &messages};
    struct nki_specialise_options options = {.function = "f",
                                             .generation = NKI_GEN3,
                                             .inputs = &input,
                                             .n_inputs = 1,
                                             .max_instructions = 2000,
                                             .max_steps = 20000,
                                             .max_bytes = 16 << 20,
                                             .tracer = &tracer};
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    if ((program == NULL) != (diags.errors > 0)) {
        fprintf(stderr, "fuzz_trace: a program, or an error\n");
        abort();
    }
    nki_program_free(program);
    diag_free(&diags);
    nki_tree_free(tree);
    return 0;
}

#ifndef HONE_LIBFUZZER

/* Letters of marshal, and what may stand behind them. */
static const char *const pieces[] = {"N", "T", "F", ".", "(\4", "[\3", "i\5", "u\2", "l\5", "g"};

static void put(struct buf *out, const char *bytes, size_t len) {
    buf_add(out, bytes, len);
}

static void put_i(struct buf *out, int i) {
    const char bytes[] = {'i', (char)i, (char)(i >> 8), (char)(i >> 16), (char)(i >> 24)};
    put(out, bytes, sizeof bytes);
}

static void put_n(struct buf *out, char letter, int n) {
    const char bytes[] = {letter, (char)n, (char)(n >> 8), 0, 0};
    put(out, bytes, sizeof bytes);
}

static void put_u(struct buf *out, const char *text) {
    put_n(out, 'u', (int)strlen(text));
    buf_puts(out, text);
}

static void put_thing(struct buf *out, int handle) {
    put_n(out, '[', 2);
    put_i(out, 0);
    put_i(out, handle);
}

/* The beginning of a message: what is asked, from a place of its own. */
static void put_head(struct buf *out, int op, int place) {
    put_n(out, '(', 4);
    put_i(out, op);
    put_n(out, '(', 1);
    put_i(out, place);
    put_n(out, '(', 1);
    put_n(out, '(', 7);
    put_u(out, "fuzz.py");
    put_u(out, "f");
    put_i(out, 1);
    put_i(out, 6 + place % 2);
    put_i(out, 4);
    put_i(out, 6 + place % 2);
    put_i(out, 20);
}

static void put_plain(struct buf *out, int op) {
    put_n(out, '(', 4);
    put_i(out, op);
    put_n(out, '(', 0);
    put(out, "N", 1);
}

static void close_message(struct buf *all, struct buf *one) {
    const char length[] = {(char)one->len, (char)(one->len >> 8)};
    buf_add(all, length, sizeof length);
    buf_add(all, one->at, one->len);
    buf_clear(one);
}

static void put_return(struct buf *all, struct buf *one, void (*value)(struct buf *out)) {
    put_plain(one, 0);
    put_n(one, '(', 1);
    value(one);
    close_message(all, one);
}

static void version(struct buf *out) {
    put_u(out, "3.11.7");
}

static void nothing(struct buf *out) {
    put(out, "N", 1);
}

static void found(struct buf *out) {
    put_n(out, '(', 3);
    put_n(out, '[', 3);
    put_i(out, 3);
    put_i(out, 2);
    put_u(out, "f");
    put_n(out, '(', 0);
    put(out, "F", 1);
}

static void parameter(struct buf *out) {
    put_thing(out, 0);
}

static void ask_attribute(struct buf *all, struct buf *one, int place, const char *name) {
    put_head(one, 2, place);
    put_n(one, '(', 2);
    put_thing(one, 0);
    put_u(one, name);
    close_message(all, one);
}

/* A module is asked for, then things of it or of the parameter, then it returns. */
static void begin(struct fuzz *fuzz) {
    static const char *const names[] = {"shape", "dtype", "ndarray", "reshape", "nothing"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct buf *all = fuzz_example(fuzz), one = {0};
        put_return(all, &one, version);
        if (i % 2) {
            put_head(&one, 17, 0);
            put_n(&one, '(', 1);
            put_u(&one, "nki.language");
            close_message(all, &one);
        }
        put_return(all, &one, nothing);
        put_return(all, &one, found);
        ask_attribute(all, &one, i % 2 ? 1 : 0, names[i]);
        put_head(&one, 3, i % 2 ? 2 : 1);
        put_n(&one, '(', 2);
        put_thing(&one, 0);
        put_i(&one, 1);
        close_message(all, &one);
        put_return(all, &one, parameter);
        buf_free(&one);
    }
}

int main(int argc, char **argv) {
    static const struct fuzz_target target = {
        .name = "trace", FUZZ_TABLE(piece, pieces), .begin = begin};
    return fuzz_main(&target, argc, argv);
}

#endif
