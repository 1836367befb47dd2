/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as the recorded graph of a reference, which lies in the cache where others could
 * change it. A kernel, a skeleton or a reason comes back. */
#include "fuzz/fuzz.h"
#include "write/write.h"

#define MOST_SETTINGS 64

/* Once more with the last value of every choice. */
static void write_otherwise(struct write_spec spec, const struct written *before) {
    struct write_setting settings[MOST_SETTINGS];
    for (size_t i = 0; i < before->choices.len && i < MOST_SETTINGS; i++) {
        const struct write_choice *choice = &before->choices.at[i];
        settings[spec.setting_count++] =
            (struct write_setting){choice->key, choice->values[choice->count - 1]};
    }
    spec.settings = settings;
    struct written *written = write_kernel(&spec, NULL);
    if (!written || !strstr(written->text, "def kernel("))
        HONE_BUG("a kernel was written, but not with other choices");
    written_free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct write_spec spec = {
        .graph = {(const char *)data, size}, .name = "fuzz", .sbuf_bytes = 190000};
    struct err err = {0};
    struct written *written = write_kernel(&spec, &err);
    if (!written && (err.kind == ERR_NONE || !*err.text))
        HONE_BUG("nothing was written, and nobody says why");
    if (written && !strstr(written->text, "def kernel("))
        HONE_BUG("what was written is no kernel");
    if (written)
        write_otherwise(spec, written);
    written_free(written);
    return 0;
}

#ifndef HONE_LIBFUZZER

#define ARRAY(op, in, shape)                                    \
    "{\"op\":\"" op "\",\"in\":[" in "],\"shape\":[" shape "]," \
    "\"dtype\":\"float32\",\"line\":3"
#define ENDS(at)                                                           \
    "],\"arguments\":[{\"node\":0,\"dtype\":\"float32\",\"name\":\"x\"}]," \
    "\"outputs\":[" at "],\"result\":\"one\"}}"
#define GRAPH "{\"graph\":{\"nodes\":[" ARRAY("input", "", "64,300") ",\"argument\":0},"

/* Constants. */
#define BAND \
    ARRAY("constant", "", "64,300") ",\"band\":{\"offset\":-3,\"below\":0,\"above\":\"-inf\"}},"
#define SUM ARRAY("add", "0,1", "64,300") "},"
#define PLANE ARRAY("constant", "", "64,300") ",\"plane\":[1,0.5,2]},"
#define LIST ARRAY("constant", "", "2") ",\"values\":[1,true]},"
#define SCALED ARRAY("multiply", "2,3", "64,300") "}"
/* Choosing by index. */
#define BEST ARRAY("argmax", "0", "64,1") ",\"axes\":[1]},"
#define CHOSEN ARRAY("gather_along", "0,1", "64,1") ",\"axes\":[1]},"
#define FLAT ARRAY("reshape", "1", "64") "},"
#define ROWS ARRAY("gather", "0,3", "64,300") ",\"axes\":[0]},"
/* Factors that wait, and one that goes over a product's result. */
#define LEAST ARRAY("sum", "0", "64,1") ",\"axes\":[1]},"
#define SHARE ARRAY("divide", "0,1", "64,300") "},"
#define TURNED ARRAY("transpose", "0", "300,64") ",\"order\":[1,0]},"
#define LATE ARRAY("contract", "2,3", "64,64") ",\"terms\":[[0,1],[1,2]],\"out\":[0,2]}"
#define LESS ARRAY("negative", "0", "64,300") "},"
#define POWER ARRAY("exp", "1", "64,300") "},"
#define ONE ARRAY("constant", "", "") ",\"fill\":1},"
#define MORE ARRAY("add", "3,2", "64,300") "},"
#define GATE ARRAY("divide", "0,4", "64,300") "}"
#define WINDOWS ARRAY("windows", "4", "64,298,3") ",\"axes\":[1]}"

static const char *const examples[] = {
    GRAPH LEAST SHARE TURNED LATE ENDS("4"),
    GRAPH LESS POWER ONE MORE GATE ENDS("5,4,1"),
    GRAPH ARRAY("max", "0", "64,1") ",\"axes\":[1]}," ARRAY("subtract", "0,1", "64,300") "}," ARRAY(
        "exp", "2", "64,300") "}," ARRAY("cumsum", "3", "64,300") ",\"axes\":[1]}" ENDS("4"),
    GRAPH ARRAY("transpose", "0", "300,64") ",\"order\":[1,0]}," ARRAY(
        "contract", "0,1", "64,64") ",\"terms\":[[0,1],[1,2]],\"out\":[0,2]}" ENDS("2"),
    GRAPH ARRAY("reshape", "0", "64,3,100") "}," ARRAY(
        "slice", "1", "64,2,100") ",\"part\":[[0,64,1],[1,2,1],[0,100,1]]}"
                                  "," ARRAY("constant", "", "") ",\"fill\":2.5}," ARRAY(
                                      "multipl"
                                      "y",
                                      "2,3",
                                      "64,2,"
                                      "100") "}"
                                             "," ARRAY("concatenate", "4,4",
                                                       "64,4,100") ",\"axes\":[1]}" ENDS("5"),
    GRAPH ARRAY("greater", "0,0", "64,300") "}," ARRAY("where", "1,0,0", "64,300") "}," ARRAY(
        "update", "2,0",
        "64,300") ",\"part\":[[0,64,1],[0,300,1]]}," ARRAY("sort", "3",
                                                           "64,300") ",\"axes\":[1]}" ENDS("4"),
    GRAPH ARRAY(
        "constant", "",
        "64,300") ",\"band\":{\"offset\":-3,\"below\":0,\"above\":\"-inf\"}}"
                  "," ARRAY("add", "0,1", "64,300") "}," ARRAY(
                      "constant", "",
                      "64,300") ",\"plane\":[1,0.5,2]}," ARRAY("constant", "",
                                                               "2") ",\"values\":[1,true]}"
                                                                    "," ARRAY(
                                                                        "multiply", "2,3",
                                                                        "64,300") "}" ENDS("5"),
    GRAPH BAND SUM PLANE LIST SCALED ENDS("5"),
    GRAPH BEST CHOSEN FLAT ROWS WINDOWS ENDS("2"),
};
static const char *const pieces[] = {"-1",  "1e300",    "99999",   "[]",        "null",
                                     "64",  "300",      "\"inf\"", "broadcast", "reshape",
                                     "sum", "contract", "update"};

static const struct fuzz_target target = {
    .name = "write", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
