/* SPDX-License-Identifier: Apache-2.0 */
/* The search over schedules: what it finds is the best of what is there, the same with any number
 * of threads, and says what each step saved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "schedule/schedule.h"

#define FLOATS "\"dtype\":\"float32\",\"line\":"
#define PRODUCT "\"terms\":[[0,1],[1,2]],\"out\":[0,2]},"

/* exp((x @ w) @ w.T): two products and a stage of rows. */
static const char graph[] =
    "{\"graph\":{\"nodes\":["
    "{\"op\":\"input\",\"in\":[],\"shape\":[1536,384]," FLOATS "3,\"argument\":0},"
    "{\"op\":\"input\",\"in\":[],\"shape\":[384,640]," FLOATS "3,\"argument\":1},"
    "{\"op\":\"contract\",\"in\":[0,1],\"shape\":[1536,640]," FLOATS "4," PRODUCT
    "{\"op\":\"transpose\",\"in\":[1],\"shape\":[640,384]," FLOATS "5,\"order\":[1,0]},"
    "{\"op\":\"contract\",\"in\":[2,3],\"shape\":[1536,384]," FLOATS "5," PRODUCT
    "{\"op\":\"exp\",\"in\":[4],\"shape\":[1536,384]," FLOATS "6}"
    "],\"arguments\":[{\"node\":0,\"dtype\":\"float32\",\"name\":\"x\"},"
    "{\"node\":1,\"dtype\":\"float32\",\"name\":\"w\"}],"
    "\"outputs\":[5],\"result\":\"one\"}}";

static const struct nki_input inputs[] = {
    {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {1536, 384}}},
    {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {384, 640}}}};

static struct schedule_request request_of(const char *text) {
    return (struct schedule_request){
        .spec = {.graph = str_of(text), .name = "test", .sbuf_bytes = 192 * 1024},
        .generation = NKI_GEN3,
        .inputs = inputs,
        .n_inputs = 2,
        .budget = 60,
        .threads = 1};
}

static struct schedule *search(const struct schedule_request *request) {
    struct err err = {0};
    struct schedule *found = schedule_search(request, &err);
    if (!found)
        fail_msg("%s", err.text);
    return found;
}

/* The latency with these settings, by a search that has no choice left but the budget of one. */
static double latency_with(const struct write_setting *settings, size_t count) {
    struct schedule_request request = request_of(graph);
    request.spec.settings = settings;
    request.spec.setting_count = count;
    request.budget = 1;
    struct schedule *found = search(&request);
    double us = found->start_us;
    schedule_free(found);
    return us;
}

static void what_is_found_is_no_slower_and_can_be_made_again(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    struct schedule *found = search(&request);
    assert_true(found->start_us > 0 && found->latency_us <= found->start_us);
    assert_true(found->judged > 1);
    struct write_spec spec = request.spec;
    spec.settings = found->settings.at;
    spec.setting_count = found->settings.len;
    struct written *again = write_kernel(&spec, NULL);
    assert_non_null(again);
    assert_string_equal(again->text, found->text);
    written_free(again);
    schedule_free(found);
}

static void no_single_step_is_better_once_it_ended(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    request.budget = 3000;
    struct schedule *found = search(&request);
    assert_true(found->ended);
    struct write_spec spec = request.spec;
    spec.settings = found->settings.at;
    spec.setting_count = found->settings.len;
    struct written *best = write_kernel(&spec, NULL);
    for (size_t i = 0; i < best->choices.len; i++) {
        const struct write_choice *choice = &best->choices.at[i];
        struct write_setting with[64] = {{choice->key, choice->values[choice->count - 1]}};
        size_t count = 1;
        for (size_t k = 0; k < found->settings.len; k++)
            if (strcmp(found->settings.at[k].key, choice->key) != 0)
                with[count++] = found->settings.at[k];
        double us = latency_with(with, count);
        assert_true(us <= 0 || us >= found->latency_us * 0.999);
    }
    written_free(best);
    schedule_free(found);
}

static void threads_find_the_same(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    struct schedule *one = search(&request);
    request.threads = 3;
    struct schedule *three = search(&request);
    assert_string_equal(one->text, three->text);
    assert_int_equal(one->judged, three->judged);
    assert_int_equal(one->refused, three->refused);
    schedule_free(one);
    schedule_free(three);
}

static void steps_add_up(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    struct schedule *found = search(&request);
    double saved = 0;
    for (size_t i = 0; i < found->steps.len; i++) {
        assert_true(found->steps.at[i].from != found->steps.at[i].to);
        assert_non_null(found->steps.at[i].title);
        saved += found->steps.at[i].saved_us;
    }
    assert_true(fabs(found->start_us - found->latency_us - saved) < 1e-6);
    schedule_free(found);
}

static void a_persons_choice_stays(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    struct written *written = write_kernel(&request.spec, NULL);
    assert_non_null(written);
    const struct write_choice *choice = NULL;
    for (size_t i = 0; i < written->choices.len && !choice; i++)
        if (written->choices.at[i].count > 1)
            choice = &written->choices.at[i];
    assert_non_null(choice);
    struct write_setting own = {choice->key, choice->values[choice->count - 1]};
    request.spec.settings = &own;
    request.spec.setting_count = 1;
    struct schedule *found = search(&request);
    assert_true(found->settings.len >= 1);
    assert_string_equal(found->settings.at[0].key, own.key);
    assert_int_equal(found->settings.at[0].value, own.value);
    for (size_t i = 0; i < found->steps.len; i++)
        assert_string_not_equal(found->steps.at[i].key, own.key);
    schedule_free(found);
    written_free(written);
}

static void what_cannot_be_searched_is_said(void **state) {
    (void)state;
    struct err err = {0};
    struct schedule_request request = request_of(
        "{\"graph\":{\"nodes\":["
        "{\"op\":\"input\",\"in\":[],\"shape\":[4,6],\"dtype\":\"float32\",\"line\":3,"
        "\"argument\":0},{\"op\":\"sort\",\"in\":[0],\"shape\":[4,6],\"dtype\":\"float32\","
        "\"line\":4,\"axes\":[1]}],\"arguments\":[{\"node\":0,\"dtype\":\"float32\","
        "\"name\":\"x\"}],\"outputs\":[1],\"result\":\"one\"}}");
    assert_null(schedule_search(&request, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "sort (line 4"));
    request = request_of(graph);
    request.n_inputs = 1; /* no kernel of two arguments is legal then */
    assert_null(schedule_search(&request, &err));
    assert_int_equal(err.kind, ERR_KERNEL);
    volatile int cancelled = 1;
    request = request_of(graph);
    request.cancel = &cancelled;
    assert_null(schedule_search(&request, &err));
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_is_no_slower_and_can_be_made_again),
        cmocka_unit_test(no_single_step_is_better_once_it_ended),
        cmocka_unit_test(threads_find_the_same),
        cmocka_unit_test(steps_add_up),
        cmocka_unit_test(a_persons_choice_stays),
        cmocka_unit_test(what_cannot_be_searched_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
