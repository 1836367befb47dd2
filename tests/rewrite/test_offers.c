/* SPDX-License-Identifier: Apache-2.0 */
/* Ranking: what the device model says about the menu's edits decides what is offered, and in which
 * order. */
#include "rewrite_help.h"

#include <math.h>

#include "rewrite/private.h"
#include "rewrite/testing.h"

static const char kernel[] =
    LEGACY "def kernel(x):\n"
           "    T = 128\n"
           "    y = nl.ndarray((256, 2048), dtype=x.dtype, buffer=nl.shared_hbm)\n"
           "    for m in nl.affine_range(2):\n"
           "        for n in nl.affine_range(2048 // T):\n"
           "            t = nl.load(x[m * 128:(m + 1) * 128, n * T:(n + 1) * T])\n"
           "            a = nl.multiply(t, -1.0)\n"
           "            b = nl.exp(a)\n"
           "            c = nl.add(b, 1.0)\n"
           "            d = nl.reciprocal(c)\n"
           "            r = nl.multiply(t, d)\n"
           "            nl.store(y[m * 128:(m + 1) * 128, n * T:(n + 1) * T], value=r)\n"
           "    return y\n";

static bool is_key(const void *data, const char *key) {
    return strcmp(data, key) == 0;
}

static void make_for(const struct rewrite_screen *screen, bool only_certain,
                     struct rewrite_offers *offers) {
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 2048);
    struct rewrite_request request = help_request(kernel, &inputs);
    request.only_certain = only_certain;
    struct err err = {0};
    offers->arena = arena_new();
    if (!rewrite_offers_make(&request, screen, offers, &err))
        fail_msg("%s", err.text);
}

static void make(const struct rewrite_screen *screen, struct rewrite_offers *offers) {
    make_for(screen, false, offers);
}

static void unmake(struct rewrite_offers *offers) {
    vec_free(&offers->all);
    vec_free(&offers->declined);
    vec_free(&offers->lost);
    arena_free(offers->arena);
}

static void the_fastest_edit_comes_first(void **state) {
    (void)state;
    struct rewrite_offers offers = {0};
    make(&(struct rewrite_screen){.budget = 1e9}, &offers);
    assert_true(offers.modelled);
    assert_true(offers.all.len >= 3);
    assert_true(offers.looked_at > offers.all.len);
    for (size_t i = 0; i < offers.all.len; i++) {
        const struct rewrite_offer *offer = &offers.all.at[i];
        assert_true(offer->modelled && offer->latency < 0 && offer->size > 0);
        assert_true(i == 0 || offer[-1].latency <= offer->latency);
        assert_true(offer->first_line > 0 && offer->last_line >= offer->first_line);
        assert_true(*offer->title && *offer->what && *offer->why && *offer->metric);
    }
    unmake(&offers);
}

static bool has_offer(const struct rewrite_offers *offers, const char *title) {
    for (size_t i = 0; i < offers->all.len; i++)
        if (strcmp(offers->all.at[i].title, title) == 0)
            return true;
    return false;
}

/* A round with such an edit could only end as inconclusive. */
static void gains_inside_the_error_are_told_and_not_offered(void **state) {
    (void)state;
    struct rewrite_screen screen = {.budget = 1e9};
    struct rewrite_offers every = {0}, certain = {0};
    size_t inside = 0;
    make(&screen, &every);
    make_for(&screen, true, &certain);
    for (size_t i = 0; i < certain.lost.len; i++) {
        const struct rewrite_lost *lost = &certain.lost.at[i];
        if (!(lost->latency < -0.004))
            continue;
        inside++;
        assert_true(lost->latency > -0.5);
        assert_true(has_offer(&every, lost->title));
        assert_false(has_offer(&certain, lost->title));
    }
    assert_true(inside > 0);
    assert_true(certain.all.len > 0);
    assert_int_equal(certain.all.len + inside, every.all.len);
    unmake(&every);
    unmake(&certain);
}

static void a_closed_direction_is_not_offered_again(void **state) {
    (void)state;
    struct rewrite_offers offers = {0}, others = {0};
    make(&(struct rewrite_screen){.budget = 1e9}, &offers);
    const char *first = offers.all.at[0].key;
    make(&(struct rewrite_screen){.budget = 1e9, .is_closed = is_key, .data = first}, &others);
    assert_true(others.all.len + 1 == offers.all.len);
    for (size_t i = 0; i < others.all.len; i++)
        assert_string_not_equal(others.all.at[i].key, first);
    unmake(&offers);
    unmake(&others);
}

static void a_cancelled_ranking_ends_early(void **state) {
    (void)state;
    struct rewrite_offers offers = {0};
    const volatile int cancel = 1;
    make(&(struct rewrite_screen){.budget = 1e9, .cancel = &cancel}, &offers);
    assert_int_equal(offers.all.len, 0);
    unmake(&offers);
}

/* The estimate is the model's own answer. For a source that the model cannot take, it says why. */
static void an_estimate_knows_why_not(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 2048);
    struct rewrite_request request = help_request(kernel, &inputs);
    struct arena *arena = arena_new();
    struct rewrite_estimate good, bad;
    rewrite_estimate(&request, request.source, arena, NULL, &good);
    assert_true(good.latency_us > 0);
    assert_true(rewrite_estimate_metric(&good, "hbm_read_bytes") > 0);
    assert_true(isnan(rewrite_estimate_metric(&good, "no_such_metric")));
    rewrite_estimate(&request, STR(LEGACY "def kernel(x):\n    return nowhere\n"), arena, NULL,
                     &bad);
    assert_true(bad.latency_us == 0);
    assert_true(*bad.why != 0);
    arena_free(arena);
}

/* A budget is in instructions: it ends at the same edit each time. */
static void a_budget_ends_and_says_so(void **state) {
    (void)state;
    struct rewrite_offers all = {0}, some = {0}, again = {0};
    make(&(struct rewrite_screen){.budget = 1e9}, &all);
    make(&(struct rewrite_screen){.budget = 3000}, &some);
    make(&(struct rewrite_screen){.budget = 3000}, &again);
    assert_false(all.ended);
    assert_true(some.ended && some.looked_at > 0 && some.looked_at < all.looked_at);
    assert_int_equal(some.looked_at, again.looked_at);
    assert_int_equal(some.all.len, again.all.len);
    unmake(&all);
    unmake(&some);
    unmake(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_ends_and_says_so),
        cmocka_unit_test(the_fastest_edit_comes_first),
        cmocka_unit_test(gains_inside_the_error_are_told_and_not_offered),
        cmocka_unit_test(a_closed_direction_is_not_offered_again),
        cmocka_unit_test(a_cancelled_ranking_ends_early),
        cmocka_unit_test(an_estimate_knows_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
