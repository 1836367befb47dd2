/* SPDX-License-Identifier: Apache-2.0 */
/* What operations cost: one by itself, with what else could do it; and the numbers that such prices
 * rest on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "mcp/private.h"

#define MOST_CONSTANTS 20

static const char *const hows[] = {[DEVICE_DOCUMENTED] = "documented",
                                   [DEVICE_MEASURED] = "measured",
                                   [DEVICE_FITTED] = "fitted",
                                   [DEVICE_GUESSED] = "guessed"};
static const char *const spaces[] = {[NKI_HBM] = "hbm", [NKI_SBUF] = "sbuf", [NKI_PSUM] = "psum"};

/* ------------------------------------------------------------------------------- an operation */

/* An instruction by its name, or an operator as the instruction that is made for it. */
static bool op_read(const struct mcp_call *call, struct device_ask *ask, struct err *err) {
    const char *name = mcp_text(call, "op"), *func = mcp_text(call, "func");
    struct str bare = str_of(name);
    if (str_starts(bare, "nl."))
        bare = (struct str){bare.at + 3, bare.len - 3};
    ask->op = nki_op_find(str_of(name));
    ask->func = func ? nki_func_find(str_of(func)) : NKI_FUNC_NONE;
    if (func && ask->func == NKI_FUNC_NONE)
        return err_set(err, ERR_USAGE, "there is no operator %.40s; as exp, add, maximum", func);
    if (ask->op == NKI_OP_COUNT && (ask->func = nki_func_find(bare)) != NKI_FUNC_NONE)
        ask->op = nki_func_has(ask->func, 'b') ? NKI_OP_TENSOR_TENSOR : NKI_OP_ACTIVATION;
    if (ask->op == NKI_OP_COUNT)
        return err_set(err, ERR_USAGE,
                       "there is no instruction or operator %.60s; as tensor_tensor, activation, "
                       "nc_matmul, dma_copy, exp. docs finds names",
                       name);
    return true;
}

/* "128x512", of a product "128x128x512": K, M and N. */
static bool shape_read(const struct mcp_call *call, struct device_ask *ask, struct err *err) {
    const char *text = mcp_text(call, "shape");
    unsigned a = 128, b = ask->op == NKI_OP_NC_TRANSPOSE ? 128 : 512, c = 0;
    char end;
    int got = text ? sscanf(text, "%5ux%9ux%9u%c", &a, &b, &c, &end) : 2;
    bool product = ask->op == NKI_OP_NC_MATMUL;
    if (got != 2 && !(product && got == 3))
        return err_set(err, ERR_USAGE, "\"shape\" is %s, not %.40s",
                       product ? "KxMxN as 128x128x512, or KxN" : "PARTITIONSxELEMENTS as 128x512",
                       text);
    ask->partitions = a;
    ask->columns = got == 3 ? b : 128;
    ask->free = got == 3 ? c : b;
    return true;
}

static enum nki_space space_read(const struct mcp_call *call, bool transfer) {
    const char *text = mcp_text(call, "memory");
    for (size_t i = 0; text && i < COUNT_OF(spaces); i++)
        if (!strcmp(text, spaces[i]))
            return (enum nki_space)i;
    return transfer ? NKI_HBM : NKI_SBUF;
}

static enum nki_engine engine_read(const struct mcp_call *call) {
    const char *text = mcp_text(call, "engine");
    for (enum nki_engine e = NKI_ENGINE_TENSOR; text && e < NKI_ENGINE_COUNT; e++)
        if (!strcmp(text, nki_engine_name(e)))
            return e;
    return NKI_ENGINE_UNKNOWN;
}

static bool ask_read(const struct mcp_call *call, struct device_ask *ask, struct err *err) {
    const char *dtype = mcp_text(call, "dtype");
    if (!op_read(call, ask, err) || !shape_read(call, ask, err))
        return false;
    ask->dtype = dtype_find(str_of(dtype ? dtype : "float32"));
    ask->engine = engine_read(call);
    if (ask->engine == NKI_ENGINE_UNKNOWN)
        ask->engine = device_price_engine(ask->op, 0);
    ask->from = space_read(call, ask->engine == NKI_ENGINE_DMA);
    if (ask->dtype == DTYPE_NONE)
        return err_set(err, ERR_USAGE, "there is no dtype %.40s; as float32, bfloat16", dtype);
    if ((ask->from == NKI_HBM) != (ask->engine == NKI_ENGINE_DMA) &&
        !(ask->engine == NKI_ENGINE_DMA && ask->from == NKI_SBUF))
        return err_set(err, ERR_USAGE,
                       "%s takes nothing from %s; dma_copy does from hbm and sbuf, "
                       "engines do from sbuf and psum",
                       nki_op_name(ask->op), spaces[ask->from]);
    return true;
}

static void price_put(cJSON *row, const struct device_ask *ask, const struct device_price *price) {
    cJSON_AddStringToObject(row, "engine", nki_engine_name(ask->engine));
    cJSON_AddStringToObject(row, "dtype", dtype_name(ask->dtype));
    cJSON_AddStringToObject(row, "memory", spaces[ask->from]);
    mcp_put_number(row, "ns", price->interval_ns);
    mcp_put_number(row, "until_usable_ns", price->latency_ns);
}

static void parts_put(cJSON *object, const struct device_price *price) {
    cJSON_AddStringToObject(object, "known", hows[price->how]);
    mcp_put_number(object, "off_by_percent", price->percent);
    cJSON *rows = cJSON_AddArrayToObject(object, "because_of");
    for (size_t i = 0; i < price->parts_count; i++) {
        const struct device_price_part *part = &price->parts[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "number", part->row->name);
        cJSON_AddStringToObject(row, "what", part->row->what);
        mcp_put_number(row, "ns", part->ns);
        mcp_put_text(row, "source", part->row->source);
        cJSON_AddItemToArray(rows, row);
    }
}

/* One that the hardware does not allow is left out. */
static void alternative_put(cJSON *rows, const struct device_ask *ask,
                            const struct device_generation *generation, double than_ns) {
    struct device_price price;
    struct err ignored = {0};
    if (!device_price(ask, generation, &price, &ignored))
        return;
    cJSON *row = cJSON_CreateObject();
    price_put(row, ask, &price);
    if (price.interval_ns > 0)
        mcp_put_number(row, "times_as_fast", than_ns / price.interval_ns);
    cJSON_AddItemToArray(rows, row);
}

static void alternatives_put(cJSON *object, const struct device_ask *ask,
                             const struct device_generation *generation, double ns) {
    cJSON *rows = cJSON_AddArrayToObject(object, "alternatives");
    enum nki_engine engine;
    for (size_t i = 0; (engine = device_price_engine(ask->op, i)) != NKI_ENGINE_UNKNOWN; i++) {
        struct device_ask other = *ask;
        other.engine = engine;
        if (engine != ask->engine)
            alternative_put(rows, &other, generation, ns);
    }
    struct device_ask other = *ask;
    other.dtype = dtype_bytes(ask->dtype) > 2 ? DTYPE_BFLOAT16 : DTYPE_FLOAT32;
    alternative_put(rows, &other, generation, ns);
    other = *ask;
    if (ask->op == NKI_OP_NC_MATMUL)
        return;
    other.from = ask->engine == NKI_ENGINE_DMA ? (ask->from == NKI_HBM ? NKI_SBUF : NKI_HBM)
                 : ask->from == NKI_SBUF       ? NKI_PSUM
                                               : NKI_SBUF;
    alternative_put(rows, &other, generation, ns);
}

static void price_operation(struct mcp_call *call, const struct device_generation *generation) {
    struct device_ask ask = {0};
    struct device_price price;
    struct err err = {0};
    char shape[48];
    if (!ask_read(call, &ask, &err) || !device_price(&ask, generation, &price, &err)) {
        mcp_call_failed(call, "%s", err.text);
        return;
    }
    bool product = ask.op == NKI_OP_NC_MATMUL;
    if (product)
        snprintf(shape, sizeof shape, "%ux%ux%u", ask.partitions, ask.columns, ask.free);
    else
        snprintf(shape, sizeof shape, "%ux%u", ask.partitions, ask.free);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "op", nki_op_name(ask.op));
    if (ask.func)
        cJSON_AddStringToObject(object, "func", nki_func_name(ask.func));
    cJSON_AddStringToObject(object, "shape", shape);
    cJSON_AddStringToObject(object, "device", generation->name);
    price_put(object, &ask, &price);
    if (ask.engine == NKI_ENGINE_DMA && price.interval_ns > 0)
        mcp_put_number(object, "gigabytes_per_s",
                       (double)ask.partitions * ask.free * (double)dtype_bytes(ask.dtype) /
                           price.interval_ns);
    parts_put(object, &price);
    alternatives_put(object, &ask, generation, price.interval_ns);
    mcp_call_done(call, object, NULL);
}

/* ----------------------------------------------------------------------------- single numbers */

static bool has_words(const struct device_constant *constant, const char *words) {
    struct str rest = str_of(words), word;
    while (str_next(&rest, ' ', &word)) {
        struct buf one = {0};
        buf_add(&one, word.at, word.len);
        bool has =
            !one.len || strcasestr(constant->name, one.at) || strcasestr(constant->what, one.at);
        buf_free(&one);
        if (!has)
            return false;
    }
    return true;
}

static cJSON *constant_write(const struct device_constant *constant,
                             const struct device_generation *generation) {
    struct device_known known = device_constant_known(constant, generation->generation);
    const struct device_constants *all = device_constants_of(generation->generation);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", constant->name);
    cJSON_AddStringToObject(row, "what", constant->what);
    mcp_put_number(row, "value", device_constant_value(all, constant));
    mcp_put_text(row, "unit", constant->unit);
    cJSON_AddStringToObject(row, "known", hows[known.how]);
    mcp_put_number(row, "off_by_percent", known.percent);
    mcp_put_text(row, "source", constant->source);
    return row;
}

static void numbers_find(struct mcp_call *call, const struct device_generation *generation) {
    const struct device_constant *constant;
    const char *words = mcp_text(call, "words");
    cJSON *object = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(object, "numbers");
    for (size_t i = 0; (constant = device_constant_at(i)); i++)
        if (has_words(constant, words) && cJSON_GetArraySize(rows) < MOST_CONSTANTS)
            cJSON_AddItemToArray(rows, constant_write(constant, generation));
    if (cJSON_GetArraySize(rows)) {
        mcp_call_done(call, object, NULL);
        return;
    }
    cJSON_Delete(object);
    mcp_call_failed(call,
                    "no number of the device model has all of \"%.80s\"; try one word: tensor, "
                    "vector, scalar, gpsimd, dma, hbm, psum, semaphore",
                    words);
}

void mcp_tool_cost(struct mcp_call *call) {
    const char *device = mcp_state(call)->device;
    const struct device_generation *generation = device_generation_find(device);
    if (!generation)
        mcp_call_failed(call, "no costs are known of %.40s", device ? device : "this device");
    else if (!mcp_text(call, "op") == !mcp_text(call, "words"))
        mcp_call_failed(call, "give op, an operation such as activation, or words that find single "
                              "numbers of the device model");
    else if (mcp_text(call, "op"))
        price_operation(call, generation);
    else
        numbers_find(call, generation);
}
