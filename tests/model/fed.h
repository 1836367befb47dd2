/* SPDX-License-Identifier: Apache-2.0 */
/* A call that is fed the bytes of a stream by hand. */
#ifndef HONE_TESTS_MODEL_FED_H
#define HONE_TESTS_MODEL_FED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/frame.h"
#include "model/private.h"

struct fed {
    struct model_call call;
    struct model_stream stream;
    struct buf streamed;
    bool expects_failure;
};

static void on_text(void *data, struct str piece) {
    struct fed *fed = data;
    buf_add(&fed->streamed, piece.at, piece.len);
}

static void fed_begin(struct fed *fed, const char *api) {
    *fed = (struct fed){.call = {.api = model_api_find(api),
                                 .kept.endpoint = {.model = "test", .max_tokens = 4096},
                                 .callbacks = {.on_text = on_text, .data = fed},
                                 .reply = {.usage = {NAN, NAN, NAN, NAN}, .thinking = NAN}}};
}

static void fed_end(struct fed *fed) {
    model_stream_free(&fed->stream);
    buf_free(&fed->call.text);
    buf_free(&fed->call.tail);
    buf_free(&fed->call.declined);
    buf_free(&fed->streamed);
}

static bool feed(struct fed *fed, struct str bytes) {
    bool fine = model_stream_feed(&fed->stream, &fed->call, bytes);
    if (!fine && !fed->expects_failure)
        print_error("%s\n", fed->call.wrong.text);
    return fine;
}

static void same_number(double is, double wanted) {
    assert_true(isnan(wanted) ? isnan(is) : is == wanted);
}

#endif
