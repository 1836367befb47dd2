/* SPDX-License-Identifier: Apache-2.0 */
/* Any kernel through all of the embedded device in one process: parse, lint, specialise, load,
 * time, execute, as the runner does. Seeds are the four seed tasks and the golden kernels of
 * tests/nki/api, with small shapes. They are changed by tokens, arguments and lines, so that most
 * of them still parse and many still run. An input is a golden case: "### title | dialect | inputs"
 * and the kernel's lines. The numbers are not checked here. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "device/image/testing.h"
#include "fuzz/fuzz.h"
#include "nki/nki.h"
#include "nki/program/testing.h"

#define MAX_INPUTS 8
#define MAX_ELEMENTS (1 << 19)

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_kernel: %s\n", what);
        abort();
    }
}

/* ---- one input ------------------------------------------------------------------------------ */

static const char legacy[] = "import neuronxcc.nki as nki, numpy as np\n"
                             "import neuronxcc.nki.language as nl, neuronxcc.nki.isa as nisa\n";
static const char current[] = "import nki\nimport nki.language as nl, nki.isa as nisa\n";

struct inputs {
    struct nki_input at[MAX_INPUTS];
    struct array arrays[MAX_INPUTS];
    size_t n;
    struct arena *arena;
};

static bool read_array(struct str text, struct array *array) {
    struct str dtype, size;
    int64_t elements = 1;
    if (!str_next(&text, ':', &dtype) || (array->dtype = dtype_find(dtype)) == DTYPE_NONE)
        return false;
    while (str_next(&text, ',', &size)) {
        long long number;
        if (!str_to_int(str_trim(size), &number) || number < 0 || number > MAX_ELEMENTS ||
            array->ndim == ARRAY_MAX_DIMS)
            return false;
        array->shape[array->ndim++] = number;
        if ((elements *= number) > MAX_ELEMENTS)
            return false;
    }
    return true;
}

/* Small whole numbers, which are legal as indices and as floats. */
static void fill(struct inputs *inputs, struct array *array) {
    size_t count = (size_t)array_count(array);
    float *numbers = ARENA_ARRAY(inputs->arena, float, count + 1);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)(i * 7 % 5);
    array->data = arena_alloc(inputs->arena, array_bytes(array) + 1, 1);
    device_from_float(array->dtype, numbers, array->data, count);
}

static bool read_input(struct inputs *inputs, struct str word) {
    const char *mark = memchr(word.at, '=', word.len);
    bool is_number = mark != NULL;
    if (!mark && !(mark = memchr(word.at, ':', word.len)))
        return false;
    struct nki_input *input = &inputs->at[inputs->n];
    struct str value = {mark + 1, word.len - (size_t)(mark - word.at) - 1};
    long long number = 0;
    input->name = arena_strndup(inputs->arena, word.at, (size_t)(mark - word.at));
    if (!is_number) {
        input->kind = NKI_INPUT_ARRAY;
        if (!read_array(value, &input->array))
            return false;
        inputs->arrays[inputs->n] = input->array;
        fill(inputs, &inputs->arrays[inputs->n]);
    } else if (str_to_int(value, &number)) {
        input->kind = NKI_INPUT_INT;
        input->i = number;
    } else {
        input->kind = NKI_INPUT_FLOAT;
        if (!str_to_double(value, &input->f))
            return false;
    }
    inputs->n++;
    return true;
}

static bool read_inputs(struct inputs *inputs, struct str text) {
    struct str word;
    while (str_next(&text, ' ', &word))
        if (word.len && (inputs->n == MAX_INPUTS || !read_input(inputs, word)))
            return false;
    return true;
}

/* A finding has a message. Printed, it is fit for a terminal. */
static void check_diags(const struct diag_list *diags) {
    for (size_t i = 0; i < diags->all.len; i++)
        require(diags->all.at[i].message && diags->all.at[i].message[0], "a finding says what");
}

static void execute(const struct device_image *image, const struct inputs *inputs) {
    const struct nki_program *program = device_image_program(image);
    size_t n = program->outputs.len;
    struct array *outputs = mem_alloc(n + 1, sizeof *outputs);
    struct device_limits limits = {.memory_bytes = 256 << 20};
    struct err err = {0};
    if (!device_execute(image, inputs->arrays, inputs->n, outputs, &limits, &err))
        require(err.kind != ERR_NONE && err.text[0], "a failed execution says why");
    for (size_t i = 0; i < n; i++)
        free(outputs[i].data);
    free(outputs);
}

/* Rounds that may run in any order, the last one first: as many instructions, which can run. */
static void run_turned(const struct nki_program *program, const struct device_generation *device,
                       const struct inputs *inputs) {
    struct arena *arena = arena_new();
    struct nki_program turned;
    struct diag_list diags = {0};
    if (nki_program_turn(program, arena, &turned)) {
        require(turned.instrs.len == program->instrs.len, "each instruction once");
        struct device_image *image = device_load(&turned, device, &diags);
        if (image)
            execute(image, inputs);
        device_unload(image);
    }
    diag_free(&diags);
    arena_free(arena);
}

static void run_program(const struct nki_program *program, const struct device_generation *device,
                        const struct inputs *inputs) {
    struct diag_list diags = {0};
    struct buf printed = {0};
    nki_program_print(program, &printed);
    struct device_image *image = device_load(program, device, &diags);
    require((image == NULL) == (diags.errors > 0), "an image, or an error");
    check_diags(&diags);
    if (image) {
        struct device_profile *profile = device_time(image);
        require(isfinite(profile->latency_us) && profile->latency_us >= 0, "a latency");
        device_profile_free(profile);
        execute(image, inputs);
        run_turned(program, device, inputs);
    }
    device_unload(image);
    buf_free(&printed);
    diag_free(&diags);
}

/* One of the generations, by the kernel's length, so that the input says everything. */
static const struct device_generation *generation_of(struct str kernel) {
    size_t rows = 0;
    while (device_generation_at(rows))
        rows++;
    return device_generation_at(kernel.len % rows);
}

static void run_kernel(struct str source, const struct inputs *inputs) {
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("fuzz.py", source, &diags);
    const struct device_generation *device = generation_of(source);
    nki_lint(tree, &(struct nki_lint_options){.strict = source.len % 2 == 0}, &diags);
    struct diag_list found = {0};
    bool asks = memmem(source.at, source.len, "program_id(", strlen("program_id(")) != NULL;
    struct nki_specialise_options options = {.generation = device->generation,
                                             .inputs = inputs->at,
                                             .n_inputs = inputs->n,
                                             .grid = {asks ? 2 : 0},
                                             .max_instructions = 3000,
                                             .max_steps = 100000,
                                             .max_bytes = 32 << 20,
                                             .partial = source.len % 5 == 0,
                                             .every_error = source.len % 3 == 0};
    struct nki_program *program = tree->errors ? NULL : nki_specialise(tree, &options, &found);
    require(tree->errors || program || found.errors, "a program, or an error");
    check_diags(&diags);
    check_diags(&found);
    if (program)
        run_program(program, device, inputs);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    diag_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str rest = {(const char *)data, size}, header, title, dialect;
    if (!str_next(&rest, '\n', &header) || !str_next(&header, '|', &title) ||
        !str_next(&header, '|', &dialect))
        return 0;
    struct inputs inputs = {.arena = arena_new()};
    struct buf source = {0};
    dialect = str_trim(dialect);
    buf_puts(&source, str_is(dialect, "legacy")    ? legacy
                      : str_is(dialect, "current") ? current
                                                   : "");
    buf_add(&source, rest.at, rest.len);
    if (read_inputs(&inputs, header))
        run_kernel(buf_str(&source), &inputs);
    buf_free(&source);
    arena_free(inputs.arena);
    return 0;
}

#ifndef HONE_LIBFUZZER

/* ---- seeds ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *header;
} seed_tasks[] = {
    {"seeds/add_rmsnorm_matmul/kernel.py",
     "### seed | own | x:float32:128,128 z:float32:128,128 g:float32:128 w:float32:128,256 "
     "eps=1e-6\n"},
    {"seeds/matmul/kernel.py", "### seed | own | a_t:bfloat16:256,128 b:bfloat16:256,256\n"},
    {"seeds/silu/kernel.py", "### seed | own | x:float32:128,512\n"},
    {"seeds/softmax/kernel.py", "### seed | own | x:float32:128,512\n"},
};

/* Two cores that exchange tiles, and meet behind what both wrote. */
static const char exchange[] =
    "### exchange | current | x:float32:64,32\n"
    "@nki.jit\ndef k(x):\n    me, n = nl.program_id(0), nl.num_programs(0)\n"
    "    y = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    s = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm, name='s')\n"
    "    a = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.sbuf)\n"
    "    b = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.sbuf)\n"
    "    nisa.dma_copy(dst=a, src=x[me * 32:me * 32 + 32, 0:32])\n"
    "    for i in range(3):\n"
    "        if n > 1:\n"
    "            nisa.sendrecv(src=a, dst=b, send_to_rank=1 - me, recv_from_rank=1 - me, "
    "pipe_id=i)\n"
    "        nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)\n"
    "    nisa.dma_copy(dst=s[me * 32:me * 32 + 32, 0:32], src=a)\n"
    "    if n > 1:\n        nisa.core_barrier(s, (0, 1))\n"
    "    nisa.dma_copy(dst=b, src=s[32 - me * 32:64 - me * 32, 0:32])\n"
    "    nisa.sendrecv(src=b[0:32, 0:8], dst=a[0:32, 0:8], send_to_rank=1 - me, "
    "recv_from_rank=1 - me, pipe_id=0, dma_engine=nisa.dma_engine.gpsimd_dma)\n"
    "    nisa.dma_copy(dst=y[me * 32:me * 32 + 32, 0:32], src=b)\n    return y\n";

/* Reads the cases of a golden file, without what they become. */
static void read_golden(struct fuzz *fuzz, const char *path) {
    struct err err = {0};
    size_t size = 0;
    char *text = file_read(path, 1 << 20, &size, &err);
    require(text != NULL, err.text);
    struct str rest = {text, size}, line;
    struct buf *one = NULL;
    while (str_next(&rest, '\n', &line)) {
        if (str_starts(line, "###"))
            one = fuzz_example(fuzz);
        if (str_starts(line, "--->"))
            one = NULL;
        if (one) {
            buf_add(one, line.at, line.len);
            buf_putc(one, '\n');
        }
    }
    free(text);
}

static void begin_cases(struct fuzz *fuzz) {
    for (size_t i = 0; i < COUNT_OF(seed_tasks); i++) {
        struct str text = embed_find(seed_tasks[i].name);
        struct buf *one = fuzz_example(fuzz);
        require(text.at != NULL, seed_tasks[i].name);
        buf_puts(one, seed_tasks[i].header);
        buf_add(one, text.at, text.len);
    }
    buf_puts(fuzz_example(fuzz), exchange);
    read_golden(fuzz, HONE_SOURCE_DIR "/tests/nki/api/current.txt");
    read_golden(fuzz, HONE_SOURCE_DIR "/tests/nki/api/legacy.txt");
    read_golden(fuzz, HONE_SOURCE_DIR "/tests/nki/api/errors.txt");
}

/* ---- changes -------------------------------------------------------------------------------- */

static const char *const numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "2",
                                      "3",
                                      "7",
                                      "31",
                                      "32",
                                      "33",
                                      "64",
                                      "127",
                                      "128",
                                      "129",
                                      "256",
                                      "511",
                                      "512",
                                      "513",
                                      "2048",
                                      "4096",
                                      "65536",
                                      "1 << 31",
                                      "2147483647",
                                      "-2147483648",
                                      "4294967296",
                                      "1 << 62",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "10 ** 30",
                                      "0.0",
                                      "-0.5",
                                      "1e-45",
                                      "3.4e38",
                                      "1e308",
                                      "1e999",
                                      "-1e999",
                                      "float('nan')",
                                      "None",
                                      "True",
                                      "'a'",
                                      "()",
                                      "(1, 2)",
                                      "[128, 4]"};
static const char *const dtypes[] = {
    "float32",  "bfloat16",      "float16",        "int32",           "uint32",      "int16",
    "uint16",   "int8",          "uint8",          "float8_e4m3",     "float8_e5m2", "bool_",
    "tfloat32", "float8_e4m3fn", "float8_e5m2_x4", "float4_e2m1fn_x4"};
static const char *const scraps[] = {"nl.program_id(0)",
                                     "1 - me",
                                     "nisa.core_barrier(y, (0, 1))",
                                     "nl.sbuf",
                                     "nl.psum",
                                     "nl.hbm",
                                     "nl.shared_hbm",
                                     "nl.private_hbm",
                                     "nisa.scalar_engine",
                                     "nisa.vector_engine",
                                     "nisa.gpsimd_engine",
                                     "nisa.tensor_engine",
                                     "nisa.dma_engine",
                                     "engine=nisa.gpsimd_engine",
                                     "nl.par_dim(128)",
                                     "nl.par_dim(4)",
                                     "nl.ds(0, 64)",
                                     "nl.arange(128)",
                                     "nl.arange(128)[:, None]",
                                     "nl.arange(64)[None, :]",
                                     "0:128",
                                     ":",
                                     "...",
                                     "None",
                                     "::2",
                                     "::-1",
                                     "-1",
                                     "nl.maximum",
                                     "nl.add",
                                     "nl.exp",
                                     "nl.tile_size.pmax",
                                     "x",
                                     "y",
                                     "t",
                                     "x.shape",
                                     "i",
                                     "mask=(nl.arange(128)[:, None] < 3)",
                                     "dtype=nl.int32",
                                     "axis=0",
                                     "axis=[1]",
                                     "keepdims=True",
                                     "accumulate=True",
                                     "transpose=True",
                                     "address=(0, 0)",
                                     "name='n'",
                                     "nl.program_id(0)",
                                     "nl.affine_range(4)",
                                     "nl.sequential_range(2)",
                                     "range(9)",
                                     "reverse0=True",
                                     "x.reshape((64, -1))",
                                     "x.ap([[1, 128], [1, 4]])"};

/* What a token is: a word with dots, a number, blanks, or one other byte. */
static size_t token_length(struct str rest) {
    const unsigned char *at = (const unsigned char *)rest.at;
    size_t n = 1;
    bool word = isalnum(at[0]) || at[0] == '_';
    bool number = isdigit(at[0]);
    while (word && n < rest.len && (isalnum(at[n]) || at[n] == '_' || (number && at[n] == '.')))
        n++;
    while (at[0] == ' ' && n < rest.len && at[n] == ' ')
        n++;
    return n;
}

static struct str token_at(struct str text, size_t offset) {
    size_t at = 0;
    while (at < text.len) {
        size_t n = token_length((struct str){text.at + at, text.len - at});
        if (at + n > offset)
            return (struct str){text.at + at, n};
        at += n;
    }
    return (struct str){text.at + text.len, 0};
}

/* The kernel without the case's header, which does not change. */
static struct str body_of(const struct buf *text) {
    struct str rest = buf_str(text), header;
    str_next(&rest, '\n', &header);
    return rest;
}

static struct str any_token(struct fuzz *fuzz, struct str text) {
    struct str token = {0};
    for (int tries = 0; tries < 8; tries++) {
        token = token_at(text, text.len ? fuzz_roll(fuzz, text.len) : 0);
        if (token.len && token.at[0] != ' ' && token.at[0] != '\n')
            break;
    }
    return token;
}

static struct str any_line(struct fuzz *fuzz, struct str text) {
    size_t at = text.len ? fuzz_roll(fuzz, text.len) : 0, end = at;
    while (at > 0 && text.at[at - 1] != '\n')
        at--;
    while (end < text.len && text.at[end] != '\n')
        end++;
    return (struct str){text.at + at, end - at + (end < text.len)};
}

/* An argument with the comma after it: from after a "(", "," or "[" to the next one. */
static struct str any_argument(struct fuzz *fuzz, struct str text) {
    size_t at = text.len ? fuzz_roll(fuzz, text.len) : 0;
    while (at > 0 && !strchr("(,[\n", text.at[at - 1]))
        at--;
    size_t end = at;
    for (int depth = 0; end < text.len && text.at[end] != '\n'; end++) {
        char c = text.at[end];
        depth += c == '(' || c == '[';
        depth -= c == ')' || c == ']';
        if (depth < 0 || (depth == 0 && c == ','))
            break;
    }
    return (struct str){text.at + at, end - at + (end < text.len && text.at[end] == ',')};
}

#define PICK(fuzz, table) str_of((table)[fuzz_roll(fuzz, COUNT_OF(table))])

/* Something of the same sort as the token: a number for a number, a dtype for a dtype. */
static struct str alike(struct fuzz *fuzz, struct str token, struct str text) {
    if (token.len && isdigit((unsigned char)token.at[0]))
        return PICK(fuzz, numbers);
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (str_is(token, dtypes[i]))
            return PICK(fuzz, dtypes);
    if (fuzz_roll(fuzz, 3) == 0)
        return PICK(fuzz, scraps);
    if (fuzz_roll(fuzz, 2))
        text = body_of(&fuzz->examples.at[fuzz_roll(fuzz, fuzz->examples.len)]);
    for (int tries = 0; tries < 30; tries++) {
        struct str other = any_token(fuzz, text);
        if (other.len && token.len &&
            isalpha((unsigned char)other.at[0]) == isalpha((unsigned char)token.at[0]))
            return other;
    }
    return token;
}

static void change(struct fuzz *fuzz, struct buf *text) {
    struct str body = body_of(text), cut = {0}, put[2] = {{0}};
    switch (fuzz_roll(fuzz, 10)) {
    case 0:
        cut = any_line(fuzz, body); /* dropped */
        break;
    case 1:
        cut = put[0] = put[1] = any_line(fuzz, body); /* twice */
        break;
    case 2: cut = any_argument(fuzz, body); break;
    case 3:
        cut = put[0] = any_argument(fuzz, body);
        put[1] = any_argument(fuzz, body);
        break;
    case 4:
        cut = any_argument(fuzz, body);
        put[0] = PICK(fuzz, scraps);
        put[1] = str_ends(cut, ",") ? STR(",") : STR("");
        break;
    case 5:
        cut = any_line(fuzz, body);
        put[0] = any_line(fuzz, body);
        break;
    default:
        cut = any_token(fuzz, body);
        put[0] = alike(fuzz, cut, body);
        break;
    }
    struct buf out = {0};
    if (!cut.at)
        return;
    buf_add(&out, text->at, (size_t)(cut.at - text->at));
    buf_add(&out, put[0].at ? put[0].at : "", put[0].len);
    buf_add(&out, put[1].at ? put[1].at : "", put[1].len);
    buf_puts(&out, cut.at + cut.len);
    buf_free(text);
    *text = out;
}

static const struct fuzz_target target = {
    .name = "kernel", .most = 4, .begin = begin_cases, .mutate = change};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}

#endif
