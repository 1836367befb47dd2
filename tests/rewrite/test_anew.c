/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that is written anew from the reference: an offer among the edits, whose key gives the
 * same kernel again. */
#include "rewrite_help.h"

#define FLOATS "\"dtype\":\"float32\",\"line\":"

/* x @ w */
static const char graph[] =
    "{\"graph\":{\"nodes\":["
    "{\"op\":\"input\",\"in\":[],\"shape\":[256,128]," FLOATS "3,\"argument\":0},"
    "{\"op\":\"input\",\"in\":[],\"shape\":[128,256]," FLOATS "3,\"argument\":1},"
    "{\"op\":\"contract\",\"in\":[0,1],\"shape\":[256,256]," FLOATS "4,"
    "\"terms\":[[0,1],[1,2]],\"out\":[0,2]}"
    "],\"arguments\":[{\"node\":0,\"dtype\":\"float32\",\"name\":\"x\"},"
    "{\"node\":1,\"dtype\":\"float32\",\"name\":\"w\"}],"
    "\"outputs\":[2],\"result\":\"one\"}}";

/* The same, loading both tiles for each of 256 small products. */
static const char slow[] =
    LEGACY "def slow_matmul(x, w):\n"
           "    out = nl.ndarray((256, 256), dtype=x.dtype, buffer=nl.shared_hbm)\n"
           "    for m in nl.affine_range(8):\n"
           "        for n in nl.affine_range(8):\n"
           "            acc = nl.zeros((nl.par_dim(32), 32), nl.float32, buffer=nl.psum)\n"
           "            for k in nl.affine_range(4):\n"
           "                a = nl.load(x[m * 32:m * 32 + 32, k * 32:k * 32 + 32])\n"
           "                b = nl.load(w[k * 32:k * 32 + 32, n * 32:n * 32 + 32])\n"
           "                acc += nl.matmul(a, b)\n"
           "            done = nl.copy(acc, dtype=x.dtype)\n"
           "            nl.store(out[m * 32:m * 32 + 32, n * 32:n * 32 + 32], done)\n"
           "    return out\n";

struct setting {
    struct help_inputs inputs;
    struct rewrite_request request;
    struct rewrite_anew anew;
    struct schedule *found;
};

static void begin(struct setting *setting) {
    struct err err = {0};
    *setting = (struct setting){.anew = {.graph = str_of(graph), .task = "product"}};
    help_array(&setting->inputs, 256, 128);
    help_array(&setting->inputs, 128, 256);
    setting->request = help_request(slow, &setting->inputs);
    setting->request.anew = &setting->anew;
    setting->found =
        rewrite_anew_search(&setting->request, &(struct rewrite_effort){.budget = 20}, &err);
    if (!setting->found)
        fail_msg("%s", err.text);
    setting->anew.found = setting->found;
}

static bool is_anew(const void *data, const char *key) {
    (void)data;
    return strncmp(key, REWRITE_ANEW, strlen(REWRITE_ANEW)) == 0;
}

/* The offer to write it anew among all; its key is "" where there is none. */
static struct rewrite_offer offer_of(const struct rewrite_request *request, bool is_closed,
                                     struct arena *arena) {
    struct rewrite_offers offers = {.arena = arena};
    struct rewrite_screen screen = {.is_closed = is_closed ? is_anew : NULL, .budget = 1e9};
    struct rewrite_offer found = {.key = ""};
    struct err err = {0};
    if (!rewrite_offers_make(request, &screen, &offers, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < offers.all.len; i++)
        if (is_anew(NULL, offers.all.at[i].key))
            found = offers.all.at[i];
    vec_free(&offers.all);
    vec_free(&offers.declined);
    vec_free(&offers.lost);
    return found;
}

static void it_is_offered_where_it_is_faster_and_its_key_gives_it_again(void **state) {
    (void)state;
    struct setting setting;
    struct arena *arena = arena_new();
    begin(&setting);
    struct rewrite_offer offer = offer_of(&setting.request, false, arena);
    assert_true(offer.modelled && offer.latency < 0);
    assert_string_equal(rewrite_strategy(offer.key), "anew");
    assert_int_equal(offer.first_line, 1);
    struct buf again = {0};
    struct err err = {0};
    if (!rewrite_apply(&setting.request, offer.key, &again, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(again.at, "def slow_matmul(x, w):")); /* it is called as before */
    assert_string_equal(again.at, setting.found->text);
    /* The new kernel is no faster than itself. */
    struct rewrite_request next = setting.request;
    next.source = buf_str(&again);
    assert_string_equal(offer_of(&next, false, arena).key, "");
    buf_free(&again);
    schedule_free(setting.found);
    arena_free(arena);
}

/* ---- the rest of the file -------------------------------------------------------------------- */

static const char mine[] = "# the person's\n"
                           "import numpy as np\n"
                           "import nki\n"
                           "import nki.language as nl\n"
                           "\n"
                           "SCALE = 2  # of reference\n"
                           "\n"
                           "def reference(x, w):\n"
                           "    return np.matmul(x, w) * SCALE\n"
                           "\n"
                           "# what is tuned\n"
                           "@nki.jit\n"
                           "def slow_matmul(x, w):\n"
                           "    return nl.matmul(x, w)\n"
                           "\n"
                           "def caller(x, w):\n"
                           "    return slow_matmul(x, w)\n";

/* Applies the key to another file, and makes the offer for it. */
static char *apply_to(struct setting *setting, const char *source, struct arena *arena,
                      struct rewrite_offer *offer) {
    struct rewrite_offer first = offer_of(&setting->request, false, arena);
    struct rewrite_request request = setting->request;
    struct buf out = {0};
    struct err err = {0};
    request.source = str_of(source);
    request.function = "slow_matmul";
    if (!rewrite_apply(&request, first.key, &out, &err))
        fail_msg("%s", err.text);
    rewrite_anew_offer(&request, 1e9, arena, offer);
    return buf_take(&out);
}

/* The text with its line feeds as returns and line feeds. */
static char *with_returns(const char *text) {
    struct buf out = {0};
    for (; *text; text++)
        buf_puts(&out, *text == '\n' ? "\r\n" : (char[]){*text, 0});
    return buf_take(&out);
}

static void the_rest_of_the_file_stays(void **state) {
    (void)state;
    struct setting setting;
    struct arena *arena = arena_new();
    struct rewrite_offer offer;
    begin(&setting);
    char *made = apply_to(&setting, mine, arena, &offer);
    struct buf expected = {0};
    const char *kernel = strstr(mine, "@nki.jit"), *after = strstr(mine, "\ndef caller");
    const char *below = strstr(mine, "\nSCALE");
    buf_add(&expected, mine, (size_t)(below - mine));
    buf_puts(&expected, "import nki.isa as nisa\n");
    buf_add(&expected, below, (size_t)(kernel - below));
    buf_puts(&expected, strstr(setting.found->text, "@nki.jit"));
    buf_puts(&expected, after);
    assert_string_equal(made, expected.at);
    assert_non_null(strstr(offer.what, "The rest of the file stays as it is."));
    assert_int_equal(offer.first_line, 12);
    assert_int_equal(offer.last_line, 14);
    char *theirs = with_returns(mine), *ours = with_returns(made);
    char *again = apply_to(&setting, theirs, arena, &offer);
    assert_string_equal(again, ours); /* the file's own line ends */
    free(again);
    free(theirs);
    free(ours);
    free(made);
    buf_free(&expected);
    schedule_free(setting.found);
    arena_free(arena);
}

static const struct {
    const char *source, *said;
} going[] = {
    {LEGACY "def slow_matmul(x, w):\n    return x\n\ndef a():\n    pass\n\nclass B:\n    pass\n",
     "The rest of this file goes with it, and so do a and B: nki means something else there."},
    {CURRENT "def slow_matmul(x, w):\n    return x\n\ndef range(n):\n    return n\n",
     "The rest of this file goes with it, and so does range: range means something else there."},
    {"from nki.language import *\n" CURRENT "def slow_matmul(x, w):\n    return x\nA = 1\n",
     "The rest of this file goes with it: nki means something else there."},
    {"import nki\ndef helper():\n    import nki.language as nl\n    return 1\nnl = 2\n"
     "@nki.jit\ndef slow_matmul(x, w):\n    return x\n",
     "The rest of this file goes with it, and so does helper: nl means something else there."},
};

static void where_a_name_means_two_things_it_is_said_what_goes(void **state) {
    (void)state;
    struct setting setting;
    struct arena *arena = arena_new();
    struct rewrite_offer offer;
    begin(&setting);
    for (size_t i = 0; i < COUNT_OF(going); i++) {
        char *made = apply_to(&setting, going[i].source, arena, &offer);
        assert_string_equal(made, setting.found->text);
        if (!strstr(offer.what, going[i].said))
            fail_msg("%s", offer.what);
        assert_int_equal(offer.first_line, 1);
        free(made);
    }
    schedule_free(setting.found);
    arena_free(arena);
}

static void it_is_not_offered_twice_nor_without_a_search(void **state) {
    (void)state;
    struct setting setting;
    struct arena *arena = arena_new();
    begin(&setting);
    assert_string_equal(offer_of(&setting.request, true, arena).key, "");
    setting.anew.found = NULL;
    assert_string_equal(offer_of(&setting.request, false, arena).key, "");
    setting.request.anew = NULL;
    assert_string_equal(offer_of(&setting.request, false, arena).key, "");
    schedule_free(setting.found);
    arena_free(arena);
}

static void keys_that_name_nothing_are_refused(void **state) {
    (void)state;
    struct setting setting;
    begin(&setting);
    static const char *const keys[] = {"anew:", "anew:keep,no_value",
                                       "anew:keep,a=", "anew:keep,a=1x"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct buf out = {0};
        struct err err = {0};
        assert_false(rewrite_apply(&setting.request, keys[i], &out, &err));
        assert_non_null(strstr(err.text, "names no schedule"));
        buf_free(&out);
    }
    struct buf out = {0};
    struct err err = {0};
    setting.request.anew = NULL;
    assert_false(rewrite_apply(&setting.request, "anew:keep", &out, &err));
    assert_non_null(strstr(err.text, "not recorded"));
    schedule_free(setting.found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_offered_where_it_is_faster_and_its_key_gives_it_again),
        cmocka_unit_test(the_rest_of_the_file_stays),
        cmocka_unit_test(where_a_name_means_two_things_it_is_said_what_goes),
        cmocka_unit_test(it_is_not_offered_twice_nor_without_a_search),
        cmocka_unit_test(keys_that_name_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
