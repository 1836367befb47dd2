/* SPDX-License-Identifier: Apache-2.0 */
/* Pages are found by name and by words, say what releases have, and have no figure left open. What
 * their examples compute is in examples.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "docs/docs.h"

static const struct docs_page *only(const struct docs *docs, const char *name) {
    const struct docs_page *found[4];
    if (docs_find(docs, str_of(name), found, COUNT_OF(found)) != 1)
        fail_msg("%s: not one page", name);
    return found[0];
}

static void names_are_found_in_every_spelling(void **unused) {
    (void)unused;
    struct docs *docs = docs_open();
    const struct docs_page *page = only(docs, "nisa.activation"), *found[8];
    assert_ptr_equal(only(docs, "activation"), page);
    assert_ptr_equal(only(docs, "nki.isa.activation"), page);
    assert_ptr_equal(only(docs, " neuronxcc.nki.isa.activation "), page);
    assert_string_equal(docs_name(only(docs, "nki.language.load")), "nl.load");
    assert_string_equal(docs_name(only(docs, "nki.collectives.rank_id")), "nccl.rank_id");
    assert_true(docs_is_guide(only(docs, "tiling")));
    assert_string_equal(docs_name(only(docs, "nki.isa.engine.vector")), "nisa.engine");
    assert_string_equal(docs_name(only(docs, "nl.fp32.min")), "nl.fp32");
    assert_int_equal(docs_find(docs, STR("nisa.engine.vect"), found, 8), 0);
    assert_int_equal(docs_find(docs, STR("engine."), found, 8), 0);
    assert_int_equal(docs_find(docs, STR("reciprocal"), found, 8), 2); /* of nl and of nisa */
    assert_int_equal(docs_find(docs, STR("reciprocal"), found, 1), 1);
    assert_int_equal(docs_find(docs, STR("activaton"), found, 8), 0);
    assert_int_equal(docs_find(docs, STR(""), found, 8), 0);
    assert_string_equal(docs_nearest(docs, "activaton"), "activation");
    assert_null(docs_nearest(docs, "something else altogether"));
    docs_close(docs);
}

static void releases_have_their_names(void **unused) {
    (void)unused;
    struct docs *docs = docs_open();
    int old = docs_release_find("2.26"), first = docs_release_find("0.1");
    int third = docs_release_find("2.29.1"), last = docs_release_find("0.7.0");
    assert_true(old < first && first < third && third < last);
    assert_string_equal(docs_release_sdk(third), "2.29");
    assert_string_equal(docs_release_nki(third), "0.3");
    assert_null(docs_release_nki(old));
    assert_int_equal(docs_release_find("2.2"), -1);
    assert_int_equal(docs_release_find("9.9"), -1);
    const struct docs_page *load = only(docs, "nl.load"), *mgrid = only(docs, "nl.mgrid");
    assert_true(docs_has(load, old) && !docs_has(load, first) && docs_has(load, third));
    assert_true(docs_has(mgrid, old) && !docs_has(mgrid, third));
    assert_true(docs_has(only(docs, "nl.dynamic_range"), last - 1));
    assert_false(docs_has(only(docs, "nl.dynamic_range"), last));
    assert_true(docs_has(only(docs, "nisa.scalar_load"), last));
    docs_close(docs);
}

/* What a release documents, kernels for it may name: releases.def refuses nothing of it, but for
 * two names that the documentation had one release before the notes said that they came. */
static void documented_names_resolve(void **unused) {
    (void)unused;
    static const struct {
        const char *name, *nki;
    } early[] = {{"nl.private_hbm", "0.1"}, {"nl.tile_size.psum_num_banks", "0.4"}};
    struct docs *docs = docs_open();
    const struct docs_page *page;
    for (size_t i = 0; (page = docs_at(docs, i)); i++)
        for (int release = 0; docs_release_sdk(release); release++) {
            const char *nki = docs_release_nki(release), *name = docs_name(page);
            bool known = !nki || docs_is_guide(page) || !docs_has(page, release);
            for (size_t k = 0; !known && k < COUNT_OF(early); k++)
                known = !strcmp(early[k].name, name) && !strcmp(early[k].nki, nki);
            if (!known && !nki_release_has(NKI_DIALECT_CURRENT, nki, str_of(name)))
                fail_msg("NKI %s documents %s, and releases.def has it not", nki, name);
        }
    docs_close(docs);
}

/* Whatever way is taken, words in a name come first. */
static void words_are_found(void **unused) {
    (void)unused;
    struct docs *docs = docs_open();
    const struct docs_page *found[12];
    for (int plain = 0; plain < 2; plain++) {
        size_t n = docs_search(docs, STR("barrier core"), plain, found, COUNT_OF(found));
        assert_true(n > 0);
        assert_string_equal(docs_name(found[0]), "nisa.core_barrier");
        n = docs_search(docs, STR("descriptors contiguous"), plain, found, COUNT_OF(found));
        bool guide = false;
        for (size_t i = 0; i < n; i++)
            guide |= !strcmp(docs_name(found[i]), "dma");
        assert_true(guide);
        assert_int_equal(docs_search(docs, STR("zzyzx"), plain, found, COUNT_OF(found)), 0);
        assert_int_equal(docs_search(docs, STR("\"*(("), plain, found, COUNT_OF(found)), 0);
        assert_int_equal(docs_search(docs, STR("tile"), plain, found, 3), 3);
    }
    docs_close(docs);
}

/* Every name of nl, nisa and nccl that a text mentions. */
static void names_in(const struct docs *docs, const char *text, const char *of) {
    static const char *const modules[] = {"nl.", "nisa.", "nccl."};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    for (size_t m = 0; m < COUNT_OF(modules); m++)
        for (const char *at = text; (at = strstr(at, modules[m])); at++) {
            const struct docs_page *found[2];
            size_t len = strlen(modules[m]) + strspn(at + strlen(modules[m]), letters);
            bool inside = at > text && strchr(letters, at[-1]);
            if (!inside && !docs_find(docs, (struct str){at, len}, found, 2))
                fail_msg("%s names %.*s, which has no page", of, (int)len, at);
        }
}

static void texts_are_whole(void **unused) {
    (void)unused;
    struct docs *docs = docs_open();
    const struct docs_page *page;
    size_t guides = 0, n = 0;
    for (; (page = docs_at(docs, n)); n++) {
        struct buf text = {0}, what = {0};
        docs_print(page, &(struct docs_told){.release = -1}, &text);
        docs_print_what(page, &what);
        assert_true(what.len > 0);
        if (strstr(text.at, "{{") || strstr(text.at, "{name}"))
            fail_msg("%s: a figure is not known", docs_name(page));
        names_in(docs, text.at, docs_name(page));
        guides += docs_is_guide(page);
        buf_free(&text);
        buf_free(&what);
    }
    assert_true(n > 250 && guides >= 7);
    docs_close(docs);
}

static void a_page_is_of_one_release_when_asked(void **unused) {
    (void)unused;
    struct docs *docs = docs_open();
    struct docs_told told = {.release = docs_release_find("0.2"), .generation = NKI_GEN2};
    struct buf text = {0};
    docs_print(only(docs, "activation"), &told, &text);
    assert_null(strstr(text.at, "\nolder"));
    assert_non_null(strstr(text.at, "Not in this release: nl.load, nl.store"));
    assert_non_null(strstr(text.at, "30 ns (trn1, measured"));
    told.release = docs_release_find("2.26");
    buf_clear(&text);
    docs_print(only(docs, "exponential"), &told, &text);
    assert_non_null(strstr(text.at, "SDK 2.26 does not document it"));
    buf_free(&text);
    docs_close(docs);
}

/* What a compiler does of its own differs between the dialects: each question has its own. */
static void a_dialect_has_notes_of_its_own(void **unused) {
    (void)unused;
    static const char older[] = "the older compiler makes a copy of floats an activation";
    static const char current[] = "one of floats out of PSUM goes to whichever";
    struct docs *docs = docs_open();
    const struct docs_page *copy = only(docs, "nisa.tensor_copy");
    struct buf now = {0}, then = {0};
    docs_print_brief(copy, NKI_DIALECT_CURRENT, &now);
    docs_print_brief(copy, NKI_DIALECT_LEGACY, &then);
    assert_non_null(strstr(now.at, current));
    assert_null(strstr(now.at, older));
    assert_non_null(strstr(then.at, older));
    assert_null(strstr(then.at, current));
    buf_free(&now);
    buf_free(&then);
    docs_close(docs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_every_spelling),
        cmocka_unit_test(releases_have_their_names),
        cmocka_unit_test(documented_names_resolve),
        cmocka_unit_test(words_are_found),
        cmocka_unit_test(texts_are_whole),
        cmocka_unit_test(a_page_is_of_one_release_when_asked),
        cmocka_unit_test(a_dialect_has_notes_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
