/* SPDX-License-Identifier: Apache-2.0 */
/* One vocabulary: words and names lead to one row, and no two rows share one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/base.h"

static void words_and_names_lead_to_one_row(void **state) {
    (void)state;
    const struct glossary_entry *read = glossary_find(STR("HBM read"));
    assert_non_null(read);
    assert_ptr_equal(read, glossary_find(STR("hbm_read_bytes")));
    assert_ptr_equal(read, glossary_find(STR("hbm-READ")));
    assert_string_equal(glossary_find(STR("gpsimd_engine_active_time"))->word, "engine time");
    assert_string_equal(glossary_find(STR("throttle_active_nc12_time_ns"))->word, "throttling");
    assert_null(glossary_find(STR("throttle_active_nc_time_ns")));
    assert_null(glossary_find(STR("hbm_read_byte")));
    assert_null(glossary_find(STR("")));
}

static void panels_and_plans_name_the_same(void **state) {
    (void)state;
    assert_string_equal(glossary_word("hbm_read_bytes"), "HBM read");
    assert_string_equal(glossary_word("dma_active_time_percent"), "DMA");
    assert_string_equal(glossary_word("latency"), "latency");
    assert_string_equal(glossary_word("of_tomorrow_count"), "of_tomorrow_count");
    assert_true(str_is(glossary_metric(STR("hbm read")), "hbm_read_bytes"));
    assert_true(str_is(glossary_metric(STR("MFU")), "mfu_estimated_percent"));
    assert_int_equal(glossary_metric(STR("latency")).len, 0);
    assert_int_equal(glossary_metric(STR("engine time")).len, 0);
}

/* Names with a wildcard stand for themselves here: no other row has them. */
static void no_two_rows_share_a_name(void **state) {
    (void)state;
    const struct glossary_entry *entry;
    for (size_t i = 0; (entry = glossary_at(i)); i++) {
        struct str rest = str_of(entry->names), name;
        assert_ptr_equal(glossary_find(str_of(entry->word)), entry);
        while (str_next(&rest, ',', &name)) {
            name = str_trim(name);
            if (name.len && !memchr(name.at, '{', name.len))
                assert_ptr_equal(glossary_find(name), entry);
        }
        assert_int_equal(entry->meaning[strlen(entry->meaning) - 1], '.');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_names_lead_to_one_row),
        cmocka_unit_test(panels_and_plans_name_the_same),
        cmocka_unit_test(no_two_rows_share_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
