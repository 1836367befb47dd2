/* SPDX-License-Identifier: Apache-2.0 */
/* Strassen's products: their table multiplies, their error is within what is promised, and a kernel
 * is offered them only where sizes, types and the tolerance allow it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "write/fast/fast.h"
#include "write/write.h"

#define SIDE 64 /* of a block */

/* ---- the table ------------------------------------------------------------------------------- */

static int sum_of(const struct fast_product *product, enum fast_array array, const int *blocks) {
    int sum = 0;
    for (int i = 0; i < product->counts[array]; i++) {
        const struct fast_term *term = &product->terms[array][i];
        sum += term->sign * blocks[term->row * 2 + term->column];
    }
    return sum;
}

static void the_table_multiplies(void **state) {
    (void)state;
    static const int a[] = {3, -7, 11, 2}, b[] = {5, 13, -4, 9};
    int c[4] = {0};
    for (int i = 0; i < FAST_PRODUCTS; i++) {
        const struct fast_product *product = &fast_products()[i];
        int made = sum_of(product, FAST_LEFT, a) * sum_of(product, FAST_RIGHT, b);
        for (int k = 0; k < product->counts[FAST_RESULT]; k++) {
            const struct fast_term *to = &product->terms[FAST_RESULT][k];
            c[to->row * 2 + to->column] += to->sign * made;
        }
    }
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++)
            assert_int_equal(c[row * 2 + column],
                             a[row * 2] * b[column] + a[row * 2 + 1] * b[2 + column]);
}

/* A kernel copies the first product of a block, loads the first block of a sum as it is, and stores
 * a block after its last product. */
static void sums_begin_with_a_plus_and_blocks_end_once(void **state) {
    (void)state;
    int first[4] = {0}, last[4] = {0};
    for (int i = 0; i < FAST_PRODUCTS; i++) {
        const struct fast_product *product = &fast_products()[i];
        assert_int_equal(product->terms[FAST_LEFT][0].sign, 1);
        assert_int_equal(product->terms[FAST_RIGHT][0].sign, 1);
        for (int k = 0; k < product->counts[FAST_RESULT]; k++) {
            const struct fast_term *to = &product->terms[FAST_RESULT][k];
            assert_true(!fast_is_first(i, to) || to->sign == 1);
            assert_true(!last[to->row * 2 + to->column]);
            first[to->row * 2 + to->column] += fast_is_first(i, to);
            last[to->row * 2 + to->column] += fast_is_last(i, to);
        }
    }
    for (int i = 0; i < 4; i++)
        assert_true(first[i] == 1 && last[i] == 1);
}

/* ---- the error ------------------------------------------------------------------------------- */

static float *random_array(void) {
    float *array = mem_alloc(4 * SIDE * SIDE, sizeof *array);
    static uint64_t seed = 7;
    for (int i = 0; i < 4 * SIDE * SIDE; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(seed >> 11) * 0x1p-53;
        }
        array[i] = (float)sum;
    }
    return array;
}

static float sum_at(const struct fast_product *product, enum fast_array which, const float *array,
                    int row, int column) {
    float sum = 0;
    for (int i = 0; i < product->counts[which]; i++) {
        const struct fast_term *term = &product->terms[which][i];
        sum += (float)term->sign *
               array[(term->row * SIDE + row) * 2 * SIDE + term->column * SIDE + column];
    }
    return sum;
}

/* Adds one of the products, in fp32, to the result. */
static void add_product(const struct fast_product *product, const float *a, const float *b,
                        float *c) {
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            float made = 0;
            for (int k = 0; k < SIDE; k++)
                made += sum_at(product, FAST_LEFT, a, row, k) *
                        sum_at(product, FAST_RIGHT, b, k, column);
            for (int i = 0; i < product->counts[FAST_RESULT]; i++) {
                const struct fast_term *to = &product->terms[FAST_RESULT][i];
                c[(to->row * SIDE + row) * 2 * SIDE + to->column * SIDE + column] +=
                    (float)to->sign * made;
            }
        }
}

static double error_against(const float *a, const float *b, const float *c) {
    double wrong = 0, all = 0;
    for (int row = 0; row < 2 * SIDE; row++)
        for (int column = 0; column < 2 * SIDE; column++) {
            double exact = 0;
            for (int k = 0; k < 2 * SIDE; k++)
                exact += (double)a[row * 2 * SIDE + k] * (double)b[k * 2 * SIDE + column];
            wrong += pow((double)c[row * 2 * SIDE + column] - exact, 2);
            all += exact * exact;
        }
    return sqrt(wrong / all);
}

static void the_error_is_within_its_bound_and_near_it(void **state) {
    (void)state;
    float *a = random_array(), *b = random_array(), *c = mem_alloc(4 * SIDE * SIDE, sizeof *c);
    for (int i = 0; i < FAST_PRODUCTS; i++)
        add_product(&fast_products()[i], a, b, c);
    double measured = error_against(a, b, c), told = fast_error(fast_sum_error(SIDE), 1);
    assert_true(measured > 0 && measured <= 1.5 * told && measured >= told / 4);
    free(a), free(b), free(c);
}

static void each_level_doubles_the_error(void **state) {
    (void)state;
    assert_true(fast_error(4.4e-6, 0) == 4.4e-6);
    assert_true(fabs(fast_error(4.4e-6, 1) / 8.8e-6 - 1) < 0.01);
    assert_true(fabs(fast_error(4.4e-6, 2) / 17.6e-6 - 1) < 0.01);
    assert_true(fast_error(0, 1) > 0); /* sums are rounded, too */
}

/* ---- what is offered ------------------------------------------------------------------------- */

struct sizes {
    int rows, summed, columns;
};

/* The offered levels as a number of digits: 12 for one and two, 0 for none. */
static int offered(struct sizes of, const char *dtype, struct write_spec spec) {
    char text[1200];
    snprintf(text, sizeof text,
             "{\"graph\":{\"nodes\":["
             "{\"op\":\"input\",\"in\":[],\"shape\":[%d,%d],\"dtype\":\"%s\",\"line\":1,"
             "\"argument\":0},"
             "{\"op\":\"input\",\"in\":[],\"shape\":[%d,%d],\"dtype\":\"%s\",\"line\":1,"
             "\"argument\":1},"
             "{\"op\":\"contract\",\"in\":[0,1],\"shape\":[%d,%d],\"dtype\":\"%s\",\"line\":2,"
             "\"terms\":[[0,1],[1,2]],\"out\":[0,2]}],"
             "\"arguments\":[{\"node\":0,\"dtype\":\"%s\",\"name\":\"x\"},"
             "{\"node\":1,\"dtype\":\"%s\",\"name\":\"w\"}],\"outputs\":[2],\"result\":\"one\"}}",
             of.rows, of.summed, dtype, of.summed, of.columns, dtype, of.rows, of.columns, dtype,
             dtype, dtype);
    spec.graph = str_of(text);
    spec.name = "test";
    spec.sbuf_bytes = 192 * 1024;
    struct written *written = write_kernel(&spec, NULL);
    assert_non_null(written);
    int levels = 0;
    for (size_t i = 0; i < written->choices.len; i++) {
        const struct write_choice *choice = &written->choices.at[i];
        if (strcmp(choice->key, "contract_2.strassen") != 0)
            continue;
        assert_int_equal(choice->values[0], 0); /* as it is, unless somebody chooses */
        for (int k = 1; k < choice->count; k++)
            levels = levels * 10 + (int)choice->values[k];
    }
    written_free(written);
    return levels;
}

static void sizes_have_to_divide_into_blocks_of_tiles(void **state) {
    (void)state;
    const struct write_spec spec = {0};
    static const struct {
        struct sizes of;
        int levels;
    } rows[] = {
        {{512, 512, 512}, 12}, {{256, 512, 512}, 1},   {{512, 256, 512}, 1},  {{384, 512, 512}, 0},
        {{512, 500, 512}, 0},  {{512, 512, 1000}, 12}, {{512, 512, 1018}, 1}, {{512, 512, 511}, 0},
        {{512, 512, 1042}, 0}, {{512, 512, 96}, 0}, /* twice a prime above a bank; too narrow */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (offered(rows[i].of, "float32", spec) != rows[i].levels)
            fail_msg("%d by %d by %d: not %d", rows[i].of.rows, rows[i].of.summed,
                     rows[i].of.columns, rows[i].levels);
}

static void the_tolerance_decides(void **state) {
    (void)state;
    const struct sizes of = {512, 512, 512};
    const struct write_setting whole = {"contract_2.numbers", 0};
    assert_int_equal(offered(of, "float32", (struct write_spec){.tolerance = 1e-3}), 12);
    assert_int_equal(offered(of, "float32", (struct write_spec){.tolerance = 2e-6}), 1);
    assert_int_equal(offered(of, "float32", (struct write_spec){.tolerance = 1e-7}), 0);
    /* Of bf16 halves 4.4e-6 each: one level is within 2e-5, two are not, of fp32 both are. */
    struct write_spec split = {.precision = WRITE_SPLIT};
    assert_int_equal(offered(of, "float32", split), 1);
    split.tolerance = 4e-5;
    assert_int_equal(offered(of, "float32", split), 12);
    split.tolerance = 1.7e-5;
    assert_int_equal(offered(of, "float32", split), 0);
    split.settings = &whole;
    split.setting_count = 1;
    assert_int_equal(offered(of, "float32", split), 12);
}

/* Whoever reads the schedule learns what it does to the error. */
static void a_chosen_level_says_its_bound(void **state) {
    (void)state;
    static const char graph[] =
        "{\"graph\":{\"nodes\":["
        "{\"op\":\"input\",\"in\":[],\"shape\":[512,512],\"dtype\":\"float32\",\"line\":1,"
        "\"argument\":0},"
        "{\"op\":\"contract\",\"in\":[0,0],\"shape\":[512,512],\"dtype\":\"float32\",\"line\":2,"
        "\"terms\":[[0,1],[1,2]],\"out\":[0,2]}],"
        "\"arguments\":[{\"node\":0,\"dtype\":\"float32\",\"name\":\"x\"}],"
        "\"outputs\":[1],\"result\":\"one\"}}";
    struct write_setting chosen = {"contract_1.strassen", 0};
    const struct write_spec spec = {.graph = str_of(graph),
                                    .name = "test",
                                    .sbuf_bytes = 192 * 1024,
                                    .settings = &chosen,
                                    .setting_count = 1};
    for (chosen.value = 0; chosen.value <= 2; chosen.value++) {
        struct written *written = write_kernel(&spec, NULL);
        size_t told = 0;
        for (size_t i = 0; i < written->choices.len; i++) {
            const struct write_choice *choice = &written->choices.at[i];
            if (!*choice->note)
                continue;
            told++;
            assert_string_equal(choice->key, chosen.key);
            assert_non_null(strstr(choice->note, "fp32 throughout"));
            assert_non_null(strstr(choice->note, "of 2.0e-05 allowed"));
            assert_non_null(strstr(written->text, choice->note));
        }
        assert_int_equal(told, chosen.value > 0);
        written_free(written);
    }
}

static void sums_of_narrow_numbers_are_not_offered(void **state) {
    (void)state;
    const struct sizes of = {512, 512, 512};
    assert_int_equal(offered(of, "bfloat16", (struct write_spec){.tolerance = 0.1}), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_multiplies),
        cmocka_unit_test(sums_begin_with_a_plus_and_blocks_end_once),
        cmocka_unit_test(the_error_is_within_its_bound_and_near_it),
        cmocka_unit_test(each_level_doubles_the_error),
        cmocka_unit_test(sizes_have_to_divide_into_blocks_of_tiles),
        cmocka_unit_test(the_tolerance_decides),
        cmocka_unit_test(a_chosen_level_says_its_bound),
        cmocka_unit_test(sums_of_narrow_numbers_are_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
