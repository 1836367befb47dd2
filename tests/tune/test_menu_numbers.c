/* SPDX-License-Identifier: Apache-2.0 */
/* Every number in the menu of strategies, in digits or in words, has a row here that says how the
 * tables, the checks or the clock have it, and it holds for all generations that the entry is shown
 * for. A number without a row fails, and so does a row without its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/cost/inner.h"
#include "device/device.h"
#include "tune/ask/menu.h"

/* A generation, and the number that is said of it. */
struct about {
    const struct device_generation *row;
    const struct device_constants *t;
    double value;
};

/* ---- asked of the model --------------------------------------------------------------------- */

#define HEAD                                                                        \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n" \
    "def kernel(x):\n    y = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.shared_hbm)\n"

/* The program of a kernel; NULL: it is refused, by the compiler or by the device. */
static struct nki_program *compiled(const struct about *about, const char *body,
                                    struct nki_tree **tree) {
    struct diag_list diags = {0};
    struct buf text = {0};
    buf_printf(&text, "%s%s    nisa.dma_copy(dst=y, src=x)\n    return y\n", HEAD, body);
    *tree = nki_parse("kernel.py", buf_str(&text), &diags);
    float *zeros = mem_alloc(128 * 128, sizeof *zeros);
    struct nki_input input = {
        .kind = NKI_INPUT_ARRAY,
        .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {128, 128}, .data = zeros}};
    struct nki_specialise_options options = {
        .generation = about->row->generation, .inputs = &input, .n_inputs = 1};
    struct nki_program *program = (*tree)->errors ? NULL : nki_specialise(*tree, &options, &diags);
    struct device_image *image = program ? device_load(program, about->row, &diags) : NULL;
    if (program && !image) {
        nki_program_free(program);
        program = NULL;
    }
    device_unload(image);
    diag_free(&diags);
    buf_free(&text);
    free(zeros);
    return program;
}

static bool accepts(const struct about *about, const char *body) {
    struct nki_tree *tree;
    struct nki_program *program = compiled(about, body, &tree);
    nki_program_free(program);
    nki_tree_free(tree);
    return program != NULL;
}

/* How long the Scalar engine is busy with the first activation. */
static double activation_ns(const struct about *about, const char *body) {
    struct nki_tree *tree;
    struct nki_program *program = compiled(about, body, &tree);
    struct cost_place place = {.engine = NKI_ENGINE_SCALAR};
    double ns = NAN;
    assert_non_null(program);
    for (size_t i = 0; i < program->instrs.len && isnan(ns); i++)
        if (program->instrs.at[i].op == NKI_OP_ACTIVATION)
            ns = cost_of(program, i, place, about->t).interval_ns;
    nki_program_free(program);
    nki_tree_free(tree);
    return ns;
}

/* Of what a DMA engine moves at best, with descriptors of so many bytes. */
static double dma_share(const struct about *about, double bytes) {
    double least = fmax(about->t->dma_byte_ns, about->t->dma_sustained_byte_ns);
    double one = fmax(about->t->dma_descriptor_ns + bytes * about->t->dma_byte_ns,
                      bytes * about->t->dma_sustained_byte_ns);
    return bytes * least / one;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool is_partitions(const struct about *about) {
    return about->value == NKI_PARTITIONS;
}
static bool is_pe_rows(const struct about *about) {
    return about->value == DEVICE_PE_ROWS;
}
static bool is_full_rate(const struct about *about) {
    return dma_share(about, about->value * 1024) > 0.95;
}
static bool loses_a_quarter(const struct about *about) {
    return dma_share(about, about->value - 1) <= 0.75;
}
static bool loses_half(const struct about *about) {
    return dma_share(about, about->value - 1) < 0.5;
}
static bool is_moving(const struct about *about) {
    return about->row->pe_columns_fp32 >= about->value;
}
static bool is_row_tile(const struct about *about) {
    char body[900];
    snprintf(body, sizeof body,
             "    a = nl.ndarray((%.0f, 128), dtype=nl.float32, buffer=nl.sbuf)\n"
             "    nisa.memset(dst=a, value=1.0)\n"
             "    p = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)\n"
             "    nisa.nc_matmul(dst=p, stationary=a, moving=a, tile_position=(0, 0),\n"
             "                   tile_size=(%.0f, 128))\n",
             about->value, about->value);
    return accepts(about, body);
}
static bool is_fixed_at_least(const struct about *about) {
    const enum nki_engine v = NKI_ENGINE_VECTOR, s = NKI_ENGINE_SCALAR;
    return about->t->vector_fixed_ns * about->row->clock_ghz[v] >= about->value &&
           about->t->scalar_fixed_ns * about->row->clock_ghz[s] >= about->value;
}
static bool is_fixed_at_most(const struct about *about) {
    const enum nki_engine v = NKI_ENGINE_VECTOR, s = NKI_ENGINE_SCALAR;
    return about->t->vector_fixed_ns * about->row->clock_ghz[v] <= about->value &&
           about->t->scalar_fixed_ns * about->row->clock_ghz[s] <= about->value;
}
static bool is_fixed_on_gpsimd(const struct about *about) {
    double clock = about->row->clock_ghz[NKI_ENGINE_GPSIMD];
    return fabs(about->t->gpsimd_fixed_ns * clock - about->value) < 1;
}
static bool is_a_quarter(const struct about *about) {
    double fixed = about->t->vector_fixed_ns * about->row->clock_ghz[NKI_ENGINE_VECTOR];
    return fixed / (fixed + about->value) > 0.245;
}
static bool halves_16_bits(const struct about *about) {
    bool is_half = about->t->vector_fast_16bit_part * 2 == about->t->vector_fast_16bit;
    return is_half || about->row->generation == NKI_GEN2; /* which the sentence leaves out */
}
static bool is_a_16_bit_type(const struct about *about) {
    return about->t->vector_fast_16bit > 1 || about->row->generation == NKI_GEN2;
}
static bool is_second_result(const struct about *about) {
#define TILES                                                            \
    "    a = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)\n" \
    "    nisa.memset(dst=a, value=1.0)\n"                                \
    "    r = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
    double with = activation_ns(about, TILES "    nisa.activation(dst=a, op=nl.exp, data=a, "
                                             "reduce_op=nl.add, reduce_res=r)\n");
    double without = activation_ns(about, TILES "    nisa.activation(dst=a, op=nl.exp, data=a)\n");
    return fabs((with - without) / about->t->scalar_element_ns - about->value) < 1;
}
static bool is_pair(const struct about *about) {
    double slower = about->t->vector_pair * about->t->vector_fast_fp32;
    return slower > 1.5 && slower < 2.5;
}
static bool is_bn_width(const struct about *about) {
    char body[2][600];
    for (int more = 0; more < 2; more++)
        snprintf(body[more], sizeof body[more],
                 "    a = nl.ndarray((128, %d), dtype=nl.float32, buffer=nl.sbuf)\n"
                 "    nisa.memset(dst=a, value=1.0)\n"
                 "    s = nl.ndarray((128, 6), dtype=nl.float32, buffer=nl.sbuf)\n"
                 "    nisa.bn_stats(dst=s, data=a)\n",
                 (int)about->value + more);
    return accepts(about, body[0]) && !accepts(about, body[1]);
}
static bool is_half_of_the_bytes(const struct about *about) {
    (void)about;
    return dtype_bytes(DTYPE_BFLOAT16) * 2 == dtype_bytes(DTYPE_FLOAT32);
}
static bool is_fp32_ratio(const struct about *about) {
    return fabs(about->row->pe_tflops_bf16 / about->row->pe_tflops_fp32 - about->value) < 0.02;
}
static bool is_a_fraction(const struct about *about) {
    return about->value * about->row->pe_tflops_fp32 < about->row->pe_tflops_bf16;
}
static bool is_fp8_depth(const struct about *about) {
    return about->value == 2 * DEVICE_PE_ROWS &&
           fabs(about->row->pe_tflops_fp8 / about->row->pe_tflops_bf16 - 2) < 0.02;
}
/* Four numbers in each element, and as many passes as bf16. */
static bool is_packed(const struct about *about) {
    const struct nki_instr mx = {.op = NKI_OP_NC_MATMUL_MX};
    return dtype_bytes(DTYPE_FLOAT8_E4M3FN_X4) == about->value &&
           cost_pe_passes(NULL, &mx, about->t) == 1;
}
static bool is_topk_length(const struct about *about) {
    char body[2][900];
    for (int more = 0; more < 2; more++)
        snprintf(body[more], sizeof body[more],
                 "    a = nl.ndarray((16, 8192), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                 "    nisa.memset(dst=a, value=1.0)\n"
                 "    v = nl.ndarray((16, 8), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
                 "    i = nl.ndarray((16, 8), dtype=nl.uint32, buffer=nl.sbuf)\n"
                 "    nisa.topk(val_dst=v, idx_dst=i, src=a, n=%d)\n",
                 (int)about->value + more);
    return about->row->generation == NKI_GEN2 ||
           (accepts(about, body[0]) && !accepts(about, body[1]));
}

/* NULL: a count of things in the advice itself, or what was measured, which the entry says. */
static struct row {
    const char *entry, *number;
    bool (*holds)(const struct about *about);
    bool seen;
} rows[] = {
    {"merge", "128", is_partitions, false},
    {"merge", "4", is_full_rate, false},
    {"merge", "512", loses_a_quarter, false},
    {"merge", "quarter", NULL, false}, /* with the one before */
    {"merge", "128", loses_half, false},
    {"merge", "half", NULL, false},
    {"scope", "twice", NULL, false}, /* out and back */
    {"full_tiles", "128", is_pe_rows, false},
    {"full_tiles", "128", is_pe_rows, false},
    {"full_tiles", "512", is_moving, false},
    {"row_tiles", "64", is_row_tile, false},
    {"row_tiles", "32", is_row_tile, false},
    {"partitions", "128", is_partitions, false},
    {"wide", "40", is_fixed_at_least, false},
    {"wide", "70", is_fixed_at_most, false},
    {"wide", "150", is_fixed_on_gpsimd, false},
    {"wide", "quarter", NULL, false},
    {"wide", "128", is_a_quarter, false},
    {"contiguous", "halve", halves_16_bits, false},
    {"contiguous", "16", is_a_16_bit_type, false},
    {"fold_reduction", "64", is_second_result, false},
    {"engine", "twice", is_pair, false},
    {"statistics", "512", is_bn_width, false},
    {"narrow", "half", is_half_of_the_bytes, false},
    {"narrow", "four", is_fp32_ratio, false},
    {"split_precision", "three", is_a_fraction, false},
    {"fp8", "256", is_fp8_depth, false},
    {"fp8", "128", is_pe_rows, false},
    {"microscaling", "four", is_packed, false},
    {"topk", "65535", is_topk_length, false},
    {"simplify", "0", NULL, false}, /* of which operations do nothing */
    {"simplify", "1", NULL, false},
    {"avoid_batch_blocks", "28", NULL, false},
    {"avoid_batch_blocks", "43", NULL, false},
    {"avoid_vector_transposes", "2", NULL, false},
    {"avoid_busy_dma", "99", NULL, false},
};

static const struct word {
    const char *word, *before; /* counts only in front of that */
    double value;
} words[] = {{"half", "", 0.5},        {"halve", "", 0.5},    {"halves", "", 0.5},
             {"twice", "", 2},         {"quarter", "", 0.25}, {"four", " times", 4},
             {"three", " bfloat16", 3}};

/* ---- numbers of a text ---------------------------------------------------------------------- */

static bool is_of_a_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The next number that is no part of a name: in digits, or one of the words. */
static bool next_number(const char **at, char out[24], double *value) {
    for (; **at; ++*at) {
        size_t len = 0;
        while (is_of_a_name((*at)[len]))
            len++;
        if (!len)
            continue;
        snprintf(out, 24, "%.*s", (int)len, *at);
        const char *here = *at;
        *at += len - 1;
        if (strspn(out, "0123456789") == strlen(out)) {
            *value = atof(out);
            ++*at;
            return true;
        }
        for (size_t i = 0; i < COUNT_OF(words); i++) {
            if (strcmp(words[i].word, out) != 0 ||
                strncmp(here + len, words[i].before, strlen(words[i].before)) != 0)
                continue;
            *value = words[i].value;
            ++*at;
            return true;
        }
    }
    return false;
}

static struct row *row_of(const char *entry, const char *number) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!rows[i].seen && !strcmp(rows[i].entry, entry) && !strcmp(rows[i].number, number))
            return &rows[i];
    fail_msg("%s says %s: in no row here", entry, number);
    return NULL;
}

static void entry_holds(const struct tune_strategy *entry) {
    static const char *const devices[] = {"trn1", "trn2", "trn3"};
    const char *at = entry->text;
    char number[24];
    double value;
    while (next_number(&at, number, &value)) {
        struct row *row = row_of(entry->name, number);
        row->seen = true;
        for (size_t i = 0; row->holds && i < COUNT_OF(devices); i++) {
            struct about about = {.row = device_generation_find(devices[i]), .value = value};
            about.t = device_constants_of(about.row->generation);
            if (entry->on && *entry->on && !strstr(entry->on, devices[i]))
                continue;
            if (!row->holds(&about))
                fail_msg("%s says %s, which is not so on %s", entry->name, number, devices[i]);
        }
    }
}

static void every_number_of_the_menu_is_the_tables(void **unused) {
    (void)unused;
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    struct tune_menu *menu = tune_menu_load();
    assert_true(menu->entries.len > 50);
    for (size_t i = 0; i < menu->entries.len; i++)
        if (!menu->entries.at[i].measured || !*menu->entries.at[i].measured ||
            menu->entries.at[i].avoid)
            entry_holds(&menu->entries.at[i]);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!rows[i].seen)
            fail_msg("%s does not say %s", rows[i].entry, rows[i].number);
    tune_menu_free(menu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_number_of_the_menu_is_the_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
