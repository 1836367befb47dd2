/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a profile of a device: they are refused with a word, or every cell of every
 * table can be read. */
#include <math.h>

#include "fuzz/fuzz.h"
#include "query/query.h"

static bool nothing_to_load(void *data, struct query *query, enum query_part part,
                            struct err *err) {
    (void)data, (void)query, (void)part;
    return err_set(err, ERR_USAGE, "there is nothing else");
}

static bool on_row(void *data, const struct query_answer *row) {
    size_t *rows = data;
    for (size_t i = 0; row->values && i < row->count; i++) {
        if (row->values[i].type == QUERY_TEXT && !row->values[i].text)
            HONE_BUG("a text without a text");
        if (row->values[i].type == QUERY_REAL && !isfinite(row->values[i].real))
            HONE_BUG("a number that is none");
    }
    return ++*rows < 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct err err = {0};
    struct buf text = {0};
    size_t rows = 0;
    const struct query_table *table;
    struct query *query = query_open(nothing_to_load, NULL, &err);
    buf_add(&text, (const char *)data, size);
    bool ok = query && query_give_measured(query, buf_str(&text), &err);
    if (!ok && !err.text[0])
        HONE_BUG("a profile was refused without a word");
    for (size_t i = 0; ok && (table = query_table_at(i)); i++)
        if (table->part == QUERY_PROFILE && !query_read(query, table, on_row, &rows, &err))
            HONE_BUG("a table cannot be read");
    query_close(query);
    buf_free(&text);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "{\"n\": {\"total_time\": 2e-05, \"dma_active_time_percent\": 1.7, \"dma_active_time\": 1e-05, "
    "\"hbm_read_bytes\": NaN, \"spill_save_bytes\": 7}, \"m\": {\"total_time\": 1, "
    "\"event_count\": 3}}",
    "{\"summary\": [{\"total_time\": 4e-06, \"event_count\": 5}], \"instruction\": "
    "[{\"timestamp\": "
    "10261883214, \"duration\": 148, \"label\": \"TensorMatrix\", \"opcode\": \"MATMUL\", "
    "\"nki_source_location\": \"['a.py:4', 'b/k.py:12']\", \"id\": 4, \"evt_wait_time_ns\": 3}]}",
    "{\"format\": \"hone-profile\", \"source\": \"measured\", \"generation\": \"trn2\", "
    "\"latency_us\": 5, \"files\": [\"/t/k.py\"], \"metrics\": [{\"name\": \"total_time\", "
    "\"value\": 5e-06, \"unit\": \"s\"}], \"lines\": [{\"file\": 0, \"line\": 2, \"share\": 1, "
    "\"engine_ns\": {\"DMA\": 3}}], \"bounds\": [{\"name\": \"DMA\", \"busy_ns\": 3, "
    "\"without_ns\": 2}], \"doubts\": [\"x\"], \"spans\": [[0, 4, \"dma\", 2, 0.0, 20.0], [1, 0, "
    "\"MATMUL\", 0, 5, 9]]}",
};
static const char *const pieces[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "NaN",
    "1e308",
    "-1",
    "1e-320",
    "true",
    "\\u0000",
    "\\",
    "\"spans\": ",
    "\"_percent\"",
    "\"total_exec_time\": 1",
    "-Infinity",
    "\"lane\"",
    "\"end_ts\": 1e308",
    "\"start_ts\": -1e308",
    "\"instruction\": []",
    ".py:99999999999",
    "\"engine\": \"sp\"",
};

static const struct fuzz_target target = {
    .name = "measured", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
