/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis of programs whose fault is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "diagnose/diagnose.h"

#define ROWS 128
#define COLUMNS 64

/* A kernel of one input, executed. */
struct bench {
    struct diag_list diags;
    struct nki_tree *tree;
    struct nki_program *program;
    struct device_image *image;
    float *x, *middle, *y;
    struct array input, output, right;
    struct diagnose_array known[3];
    struct diagnose_question question;
};

static struct array array_of(float *data) {
    return (struct array){
        .dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {ROWS, COLUMNS}, .data = data};
}

static const char head[] = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
                           "@nki.jit\ndef kernel(x):\n"
                           "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
                           "    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)\n"
                           "    b = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)\n"
                           "    c = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)\n"
                           "    nisa.dma_copy(dst=a, src=x)\n"; /* line 12 */

/* y should be exp(x) * 0.5 + 1; `body` says what it is, from line 13 on, and c is stored where it
 * does not return itself. */
static void bench_start(struct bench *b, const char *body) {
    *b = (struct bench){0};
    struct buf text = {0};
    buf_printf(&text, "%s%s%s", head, body,
               strstr(body, "return") ? "" : "    nisa.dma_copy(dst=y, src=c)\n    return y\n");
    b->tree = nki_parse("kernel.py", buf_str(&text), &b->diags);
    buf_free(&text);
    b->x = mem_alloc(ROWS * COLUMNS, sizeof(float));
    b->middle = mem_alloc(ROWS * COLUMNS, sizeof(float));
    b->y = mem_alloc(ROWS * COLUMNS, sizeof(float));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        b->x[i] = (float)sin(i * 0.7315 + 1e-4 * i * i);
        b->middle[i] = expf(b->x[i]);
        b->y[i] = b->middle[i] * 0.5F + 1;
    }
    b->input = array_of(b->x);
    b->right = array_of(b->y);
    struct nki_input input = {.kind = NKI_INPUT_ARRAY, .array = b->input};
    struct nki_specialise_options options = {
        .generation = NKI_GENERATION_DEFAULT, .inputs = &input, .n_inputs = 1};
    b->program = nki_specialise(b->tree, &options, &b->diags);
    assert_non_null(b->program);
    b->image = device_load(b->program, device_generation_of(b->program->generation), &b->diags);
    assert_non_null(b->image);
    struct err err = {0};
    assert_true(device_execute(b->image, &b->input, 1, &b->output, NULL, &err));
    b->known[0] = (struct diagnose_array){"input x", 0, array_of(b->x)};
    b->known[1] = (struct diagnose_array){"exp", 3, array_of(b->middle)};
    b->known[2] = (struct diagnose_array){"output", 0, array_of(b->y)};
    b->question = (struct diagnose_question){.image = b->image,
                                             .inputs = &b->input,
                                             .input_count = 1,
                                             .outputs = &b->output,
                                             .known = b->known,
                                             .known_count = 3,
                                             .right = &b->right,
                                             .tolerance = 1e-5,
                                             .seconds = 60};
}

static void bench_end(struct bench *b) {
    free(b->output.data);
    free(b->x);
    free(b->middle);
    free(b->y);
    device_unload(b->image);
    nki_program_free(b->program);
    nki_tree_free(b->tree);
    diag_free(&b->diags);
}

/* The first finding of a code; NULL. */
static const struct diag *first_of(const struct bench *b, const char *code) {
    for (size_t i = 0; i < b->diags.all.len; i++)
        if (strcmp(b->diags.all.at[i].code, code) == 0)
            return &b->diags.all.at[i];
    return NULL;
}

static const struct diag *suspect_of(struct bench *b, const char *body) {
    bench_start(b, body);
    diagnose(&b->question, &b->diags);
    return first_of(b, "hone-suspect");
}

static void a_wrong_number_is_found_and_tried_out(void **state) {
    (void)state;
    struct bench b;
    const struct diag *found =
        suspect_of(&b, "    nisa.activation(dst=b, op=nl.exp, data=a)\n"
                       "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=0.25,\n"
                       "                       op1=nl.add, operand1=1.0)\n");
    assert_non_null(found);
    assert_int_equal(found->line, 14);
    assert_non_null(strstr(found->message, "operand0=0.5"));
    bench_end(&b);
}

static void what_departs_is_found_without_the_outputs_order(void **state) {
    (void)state;
    struct bench b;
    bench_start(&b, "    nisa.activation(dst=b, op=nl.sigmoid, data=a)\n"
                    "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=0.5,\n"
                    "                       op1=nl.add, operand1=1.0)\n");
    b.question.right = NULL;
    diagnose(&b.question, &b.diags);
    const struct diag *found = first_of(&b, "hone-suspect");
    assert_non_null(found);
    assert_int_equal(found->line, 13);
    assert_non_null(strstr(found->message, "input x, which is right"));
    assert_null(first_of(&b, "hone-wrong-numbers"));
    bench_end(&b);
}

static void unwritten_memory_is_named_with_its_line(void **state) {
    (void)state;
    struct bench b;
    const struct diag *found =
        suspect_of(&b, "    nisa.activation(dst=b[0:128, 0:60], op=nl.exp, data=a[0:128, 0:60])\n"
                       "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=0.5,\n"
                       "                       op1=nl.add, operand1=1.0)\n");
    const struct diag *unwritten = first_of(&b, "hone-unwritten");
    assert_non_null(found);
    assert_non_null(unwritten);
    assert_int_equal(unwritten->line, 14);
    assert_non_null(strstr(unwritten->message, "`b`"));
    assert_non_null(strstr(first_of(&b, "hone-wrong-numbers")->message, "columns 60 to 63 of 64"));
    bench_end(&b);
}

static void the_first_number_that_is_none_is_named(void **state) {
    (void)state;
    struct bench b;
    const struct diag *found = suspect_of(&b, "    nisa.activation(dst=b, op=nl.log, data=a)\n"
                                              "    nisa.tensor_copy(dst=c, src=b)\n");
    assert_non_null(found);
    assert_int_equal(first_of(&b, "hone-not-a-number")->line, 13);
    bench_end(&b);
}

static void a_factor_is_told(void **state) {
    (void)state;
    struct bench b;
    (void)suspect_of(&b, "    nisa.activation(dst=b, op=nl.exp, data=a)\n"
                         "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=1.5,\n"
                         "                       op1=nl.add, operand1=3.0)\n");
    const struct diag *numbers = first_of(&b, "hone-wrong-numbers");
    assert_non_null(numbers);
    assert_non_null(strstr(numbers->message, "they are 3 times what they should be"));
    bench_end(&b);
}

static void right_outputs_of_another_order_are_not_used(void **state) {
    (void)state;
    struct bench b;
    bench_start(&b, "    nisa.activation(dst=b, op=nl.exp, data=a)\n"
                    "    nisa.tensor_copy(dst=c, src=b)\n");
    b.question.expected = 123; /* what the comparison found is not what these outputs give */
    diagnose(&b.question, &b.diags);
    assert_null(first_of(&b, "hone-wrong-numbers"));
    for (size_t i = 0; i < b.diags.all.len; i++)
        assert_null(strstr(b.diags.all.at[i].message, "tried out"));
    bench_end(&b);
}

static void a_kernel_that_is_right_shows_where_another_departs(void **state) {
    (void)state;
    struct bench right, b;
    bench_start(&right, "    nisa.activation(dst=c, op=nl.exp, data=a)\n"
                        "    nisa.tensor_scalar(dst=b, data=c, op0=nl.add, operand0=2.0)\n"
                        "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=0.5)\n");
    bench_start(&b, "    nisa.activation(dst=b, op=nl.exp, data=a)\n"
                    "    nisa.tensor_scalar(dst=c, data=b, op0=nl.add, operand0=3.0)\n"
                    "    nisa.tensor_scalar(dst=c, data=c, op0=nl.multiply, operand0=0.5)\n");
    b.question.parent = right.image;
    b.question.known_count = 0;
    b.question.right = NULL;
    diagnose(&b.question, &b.diags);
    const struct diag *found = first_of(&b, "hone-suspect");
    assert_non_null(found);
    assert_int_equal(found->line, 14);
    assert_non_null(strstr(found->message, "what line 13 of the right kernel writes"));
    bench_end(&b);
    bench_end(&right);
}

static void a_parent_that_is_wrong_is_not_believed(void **state) {
    (void)state;
    struct bench wrong, b;
    static const char body[] = "    nisa.activation(dst=b, op=nl.sigmoid, data=a)\n"
                               "    nisa.tensor_copy(dst=c, src=b)\n";
    bench_start(&wrong, body);
    bench_start(&b, body);
    b.question.parent = wrong.image;
    diagnose(&b.question, &b.diags);
    assert_int_equal(first_of(&b, "hone-suspect")->line, 13);
    bench_end(&b);
    bench_end(&wrong);
}

#define EXP "    nisa.activation(dst=b, op=nl.exp, data=a)\n"
#define HALF                                                                 \
    "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=0.5,\n" \
    "                       op1=nl.add, operand1=1.0)\n"

/* The first suspect is the statement in that line, and what was tried out is said. */
static void is_mended(const char *body, int line, const char *how) {
    struct bench b;
    const struct diag *found = suspect_of(&b, body);
    assert_non_null(found);
    assert_int_equal(found->line, line);
    if (!strstr(found->message, how))
        fail_msg("no '%s' in '%s'", how, found->message);
    bench_end(&b);
}

/* Each tile is one that the reference has: only where it lies is wrong. */
static void tiles_in_wrong_places_are_found(void **state) {
    (void)state;
    is_mended(EXP HALF "    for n in range(4):\n"
                       "        nisa.dma_copy(dst=y[0:128, (3 - n) * 16:(4 - n) * 16],\n"
                       "                      src=c[0:128, n * 16:(n + 1) * 16])\n"
                       "    return y\n",
              17, "the tiles of dst at elements 0, 16, 32, 48");
    is_mended(EXP HALF "    for n in range(4):\n"
                       "        nisa.dma_copy(dst=y[0:128, n * 16:(n + 1) * 16],\n"
                       "                      src=c[0:128, 0:16])\n"
                       "    return y\n",
              17, "the tiles of src at elements 0, 16, 32, 48");
    is_mended(EXP HALF "    for m in range(2):\n"
                       "        for n in range(4):\n"
                       "            nisa.dma_copy(\n"
                       "                dst=y[(1 - m) * 64:(2 - m) * 64, n * 16:(n + 1) * 16],\n"
                       "                src=c[m * 64:(m + 1) * 64, n * 16:(n + 1) * 16])\n"
                       "    return y\n",
              18, "the tiles of dst at elements 0, 16, 32, 48, ..");
}

static void another_tile_and_another_instruction_are_tried(void **state) {
    (void)state;
    is_mended(EXP "    nisa.tensor_scalar(dst=c, data=a, op0=nl.multiply, operand0=0.5,\n"
                  "                       op1=nl.add, operand1=1.0)\n",
              14, "`b`, which nothing reads, as data in place of `a`");
    is_mended(EXP "    nisa.tensor_scalar(dst=a, data=b, op0=nl.multiply, operand0=0.5)\n"
                  "    nisa.tensor_scalar(dst=c, data=b, op0=nl.add, operand0=1.0)\n",
              15, "`a` as data in place of `b`");
    is_mended("    nisa.reciprocal(dst=b, data=a)\n" HALF, 13, "nl.exp in place of this");
    is_mended("    nisa.tensor_copy(dst=b, src=a)\n" HALF, 13, "nl.exp in place of this");
    is_mended("    nisa.activation(dst=b, op=nl.exp, data=a, scale=-1.0)\n" HALF, 13, "scale=1");
}

static void parts_that_are_never_written_are_told(void **state) {
    (void)state;
    is_mended(EXP HALF "    nisa.dma_copy(dst=y[0:128, 0:60], src=c[0:128, 0:60])\n    return y\n",
              16, "512 of 8192 elements are never written");
}

/* Of outputs that are written twice the first tile says nothing. */
static void outputs_that_are_written_twice_are_judged_at_the_end(void **state) {
    (void)state;
    is_mended("    nisa.dma_copy(dst=y, src=a)\n" EXP
              "    nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=0.25,\n"
              "                       op1=nl.add, operand1=1.0)\n",
              15, "operand0=0.5");
}

static void time_is_kept(void **state) {
    (void)state;
    struct bench b;
    bench_start(&b, "    nisa.tensor_copy(dst=c, src=a)\n");
    volatile int cancel = 1;
    b.question.cancel = &cancel;
    diagnose(&b.question, &b.diags); /* ends, and says no more than it knows */
    for (size_t i = 0; i < b.diags.all.len; i++)
        assert_null(strstr(b.diags.all.at[i].message, "tried out"));
    bench_end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_number_is_found_and_tried_out),
        cmocka_unit_test(what_departs_is_found_without_the_outputs_order),
        cmocka_unit_test(unwritten_memory_is_named_with_its_line),
        cmocka_unit_test(the_first_number_that_is_none_is_named),
        cmocka_unit_test(a_factor_is_told),
        cmocka_unit_test(right_outputs_of_another_order_are_not_used),
        cmocka_unit_test(a_kernel_that_is_right_shows_where_another_departs),
        cmocka_unit_test(a_parent_that_is_wrong_is_not_believed),
        cmocka_unit_test(tiles_in_wrong_places_are_found),
        cmocka_unit_test(another_tile_and_another_instruction_are_tried),
        cmocka_unit_test(parts_that_are_never_written_are_told),
        cmocka_unit_test(outputs_that_are_written_twice_are_judged_at_the_end),
        cmocka_unit_test(time_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
