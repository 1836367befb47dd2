/* SPDX-License-Identifier: Apache-2.0 */
/* Devices whose constants were changed in secret. The suite and the fit find which were, and by how
 * much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/calibrate.h"

#define MOST_ROWS 48
#define MOST_SECRETS 4

/* The suite as a device would run it. */
struct suite {
    struct calibrate_made made[MOST_ROWS];
    struct calibrate_row rows[MOST_ROWS];
    size_t count;
};

static struct suite *suite_of(enum nki_dialect dialect, enum nki_generation generation) {
    struct suite *suite = mem_alloc(1, sizeof *suite);
    const struct calibrate_kernel *kernel;
    for (size_t i = 0; (kernel = calibrate_kernel_at(i)); i++) {
        struct err err = {0};
        if (kernel->current_only && dialect == NKI_DIALECT_LEGACY)
            continue;
        if (!calibrate_make(kernel, dialect, generation, &suite->made[suite->count], &err))
            fail_msg("%s", err.text);
        suite->rows[suite->count].name = kernel->name;
        suite->rows[suite->count].image = suite->made[suite->count].image;
        suite->count++;
    }
    return suite;
}

static void suite_free(struct suite *suite) {
    for (size_t i = 0; i < suite->count; i++)
        calibrate_unmake(&suite->made[i]);
    free(suite);
}

/* A number from 0 to 1, which for a seed is the same on every machine. */
static double draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / (double)(1u << 31);
}

static void run_on(struct suite *suite, const struct device_constants *secret, uint64_t *seed) {
    for (size_t i = 0; i < suite->count; i++)
        suite->rows[i].measured_us =
            device_latency(suite->rows[i].image, secret) * (1 + 0.005 * (draw(seed) - 0.5));
}

/* Constants that the suite sees: those about which a fit of an unchanged device says something. */
static void find_seen(struct suite *suite, enum nki_generation generation,
                      const struct device_constant **seen, size_t *n) {
    struct calibrate_fit fit;
    uint64_t seed = 1;
    run_on(suite, device_constants_of(generation), &seed);
    assert_true(calibrate_fit(suite->rows, suite->count, generation, NULL, &fit));
    assert_true(fit.before < 0.005 && fit.after < 0.005);
    for (size_t i = 0; i < fit.all.len; i++) {
        const struct calibrate_constant *c = &fit.all.at[i];
        if (c->was > 0 && fabs(c->is / c->was - 1) > 0.05)
            fail_msg("%s: %.4g became %.4g", c->row->name, c->was, c->is);
        if (c->seen)
            seen[(*n)++] = c->row;
        else if (getenv("HONE_SHOW"))
            printf("not seen: %s\n", c->row->name);
    }
    calibrate_fit_free(&fit);
}

/* Whether a row takes another time when the constant is `value`. A constant that is hidden behind
 * another one, which is the slower of the two, cannot be found. */
static bool is_visible(const struct suite *suite, const struct device_constants *secret,
                       const struct device_constant *row, double value, double least) {
    struct device_constants other = *secret;
    *device_constant_in(&other, row) = value;
    for (size_t i = 0; i < suite->count; i++)
        if (fabs(device_latency(suite->rows[i].image, &other) /
                     device_latency(suite->rows[i].image, secret) -
                 1) > least)
            return true;
    return false;
}

static void check_found(const struct suite *suite, const struct calibrate_fit *fit,
                        const struct device_constants *secret) {
    for (size_t i = 0; i < fit->all.len; i++) {
        const struct calibrate_constant *c = &fit->all.at[i];
        double truth = device_constant_value(secret, c->row);
        double off = truth > 0 ? c->is / truth - 1 : 0;
        if (getenv("HONE_SHOW") && (truth != c->was || fabs(off) > 0.01))
            printf("%-24s %8.4g -> %8.4g, found %8.4g [%.4g, %.4g] %+.1f %%\n", c->row->name,
                   c->was, truth, c->is, c->low, c->high, 100 * off);
        if (fabs(off) > 0.05 && is_visible(suite, secret, c->row, c->is, 0.005))
            fail_msg("%s: %.4g was changed to %.4g, found %.4g", c->row->name, c->was, truth,
                     c->is);
    }
}

static void find_secrets(enum nki_dialect dialect, enum nki_generation generation, uint64_t seeds) {
    struct suite *suite = suite_of(dialect, generation);
    const struct device_constant *seen[64];
    size_t n = 0;
    find_seen(suite, generation, seen, &n);
    assert_true(n >= 20);
    for (uint64_t s = 1; s <= seeds; s++) {
        uint64_t seed = s * 7919;
        struct device_constants secret = *device_constants_of(generation);
        for (int k = 0; k < MOST_SECRETS; k++) {
            double by = 0.15 + 0.35 * draw(&seed);
            const struct device_constant *row = seen[(size_t)(draw(&seed) * (double)n)];
            double was = device_constant_value(device_constants_of(generation), row);
            *device_constant_in(&secret, row) = was * (draw(&seed) < 0.5 ? 1 + by : 1 / (1 + by));
            if (!is_visible(suite, &secret, row, was, 0.02))
                *device_constant_in(&secret, row) = was;
        }
        run_on(suite, &secret, &seed);
        struct calibrate_fit fit;
        assert_true(calibrate_fit(suite->rows, suite->count, generation, NULL, &fit));
        if (getenv("HONE_SHOW"))
            printf("seed %d: %.1f %% -> %.2f %%\n", (int)s, 100 * fit.before, 100 * fit.after);
        check_found(suite, &fit, &secret);
        calibrate_fit_free(&fit);
    }
    suite_free(suite);
}

static void secret_constants_of_trn2_are_found(void **state) {
    (void)state;
    find_secrets(NKI_DIALECT_CURRENT, NKI_GEN3, 2);
}

static void secret_constants_of_trn1_are_found(void **state) {
    (void)state;
    find_secrets(NKI_DIALECT_LEGACY, NKI_GEN2, 1);
}

static void a_fit_can_be_cancelled(void **state) {
    (void)state;
    struct suite *suite = suite_of(NKI_DIALECT_CURRENT, NKI_GEN3);
    volatile int cancel = 1;
    struct calibrate_fit fit;
    uint64_t seed = 1;
    run_on(suite, device_constants_of(NKI_GEN3), &seed);
    assert_false(calibrate_fit(suite->rows, suite->count, NKI_GEN3, &cancel, &fit));
    calibrate_fit_free(&fit);
    suite_free(suite);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_constants_of_trn2_are_found),
        cmocka_unit_test(secret_constants_of_trn1_are_found),
        cmocka_unit_test(a_fit_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
