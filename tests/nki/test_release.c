/* SPDX-License-Identifier: Apache-2.0 */
/* The table of releases: numbers of the package nki and of the SDK, and which rules hold when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nki/nki.h"

static void a_release_has_two_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text, *nki;
    } rows[] = {
        {"0.1", "0.1"},   {"0.7", "0.7"},       {"2.27", "0.1"}, {"2.33", "0.7"}, {"2.33.1", "0.7"},
        {"0.6.0", "0.6"}, {"0.5.0+286", "0.5"}, {"0.7b1", NULL}, {"2.26", NULL},  {"0.8", NULL},
        {"", NULL},       {"0", NULL},          {"0.70", NULL},  {"2.3", NULL},   {"newest", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *found = nki_release_find(rows[i].text);
        if (!rows[i].nki)
            assert_null(found);
        else
            assert_string_equal(found, rows[i].nki);
    }
    assert_string_equal(nki_release_newest(), "0.7");
}

static void rules_begin_and_end(void **state) {
    (void)state;
    static const struct {
        enum nki_rule rule;
        const char *first, *last; /* last NULL: it holds still */
    } rows[] = {
        {NKI_RULE_SUBSET, "0.1", "0.6"},        {NKI_RULE_SIGNATURE, "0.3", "0.6"},
        {NKI_RULE_IDENTITY, "0.3", "0.6"},      {NKI_RULE_SHARED_OUTPUTS, "0.3", NULL},
        {NKI_RULE_LEGACY_IMPORT, "0.4", NULL},  {NKI_RULE_RESHAPE_COUNT, "0.5", NULL},
        {NKI_RULE_LOOP_FUNCTIONS, "0.6", NULL}, {NKI_RULE_LOOPS_BY_FUNCTION, "0.7", NULL},
    };
    static const char *const releases[] = {"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t r = 0; r < COUNT_OF(releases); r++)
            assert_int_equal(
                nki_rule_holds(nki_rules_of(releases[r]), rows[i].rule),
                nki_release_compare(releases[r], rows[i].first) >= 0 &&
                    (!rows[i].last || nki_release_compare(releases[r], rows[i].last) <= 0));
    assert_int_equal(nki_rules_of(NULL), nki_rules_of(nki_release_newest()));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_has_two_numbers),
        cmocka_unit_test(rules_begin_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
