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
#include <string.h>

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

/* x @ w + (x @ a) @ b: one product of the sum is worth more as a stage of its own, but only with
 * the choices that it has there. */
static const char sum_graph[] =
    "{\"graph\":{\"nodes\":["
    "{\"op\":\"input\",\"in\":[],\"shape\":[1024,1024]," FLOATS "3,\"argument\":0},"
    "{\"op\":\"input\",\"in\":[],\"shape\":[1024,2048]," FLOATS "3,\"argument\":1},"
    "{\"op\":\"input\",\"in\":[],\"shape\":[1024,128]," FLOATS "3,\"argument\":2},"
    "{\"op\":\"input\",\"in\":[],\"shape\":[128,2048]," FLOATS "3,\"argument\":3},"
    "{\"op\":\"contract\",\"in\":[0,1],\"shape\":[1024,2048]," FLOATS "4," PRODUCT
    "{\"op\":\"contract\",\"in\":[0,2],\"shape\":[1024,128]," FLOATS "5," PRODUCT
    "{\"op\":\"contract\",\"in\":[5,3],\"shape\":[1024,2048]," FLOATS "5," PRODUCT
    "{\"op\":\"add\",\"in\":[4,6],\"shape\":[1024,2048]," FLOATS "6}"
    "],\"arguments\":[{\"node\":0,\"dtype\":\"float32\",\"name\":\"x\"},"
    "{\"node\":1,\"dtype\":\"float32\",\"name\":\"w\"},"
    "{\"node\":2,\"dtype\":\"float32\",\"name\":\"a\"},"
    "{\"node\":3,\"dtype\":\"float32\",\"name\":\"b\"}],"
    "\"outputs\":[7],\"result\":\"one\"}}";

static const struct nki_input sum_inputs[] = {
    {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {1024, 1024}}},
    {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {1024, 2048}}},
    {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {1024, 128}}},
    {.array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {128, 2048}}}};

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

static struct schedule_request sum_request(void) {
    struct schedule_request request = request_of(sum_graph);
    request.inputs = sum_inputs;
    request.n_inputs = 4;
    request.budget = 100;
    return request;
}

static struct schedule *search(const struct schedule_request *request) {
    struct err err = {0};
    struct schedule *found = schedule_search(request, &err);
    if (!found)
        fail_msg("%s", err.text);
    return found;
}

/* The latency with these settings, by a search that has no choice left but the budget of one; 0
 * where the device refuses it. */
static double latency_of(struct schedule_request request, const struct write_setting *settings,
                         size_t count) {
    request.spec.settings = settings;
    request.spec.setting_count = count;
    request.budget = 1;
    struct schedule *found = schedule_search(&request, NULL);
    double us = found ? found->start_us : 0;
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

/* Every other value of every choice of what was found, as long as the budget did not end it. */
static void check_steps(const struct schedule_request *request) {
    struct schedule *found = search(request);
    assert_true(found->ended);
    struct write_spec spec = request->spec;
    spec.settings = found->settings.at;
    spec.setting_count = found->settings.len;
    struct written *best = write_kernel(&spec, NULL);
    assert_non_null(best);
    for (size_t i = 0; i < best->choices.len; i++) {
        const struct write_choice *choice = &best->choices.at[i];
        for (int v = 0; v < choice->count; v++) {
            struct write_setting with[64] = {{choice->key, choice->values[v]}};
            size_t count = 1;
            for (size_t k = 0; k < found->settings.len; k++)
                if (strcmp(found->settings.at[k].key, choice->key) != 0)
                    with[count++] = found->settings.at[k];
            double us = latency_of(*request, with, count);
            assert_true(us <= 0 || us >= found->latency_us * (1 - 5e-4));
        }
    }
    written_free(best);
    schedule_free(found);
}

static void no_single_step_is_better_once_it_ended(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    request.budget = 3000;
    check_steps(&request);
    request.spec.precision = WRITE_SPLIT;
    check_steps(&request);
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

/* The kernel that goes past the budget is the last one; the first one is always judged. */
static void text_is_counted_too(void **state) {
    (void)state;
    struct schedule_request request = request_of(graph);
    struct schedule *free_search = search(&request);
    size_t length = strlen(free_search->text), before = 0;
    assert_true(free_search->judged > 8);
    for (size_t kernels = 1; kernels <= 6; kernels += 5) {
        request.text = kernels * length;
        request.threads = 1;
        struct schedule *one = search(&request);
        assert_true(one->judged > before && one->judged < free_search->judged);
        assert_true(one->judged <= 3 * kernels + 1); /* none is shorter than a third of that one */
        assert_false(one->ended);
        request.threads = 3;
        struct schedule *three = search(&request);
        assert_string_equal(one->text, three->text);
        assert_int_equal(one->judged, three->judged);
        before = one->judged;
        schedule_free(one);
        schedule_free(three);
    }
    request.text = 1;
    struct schedule *first = search(&request);
    assert_int_equal(first->judged, 1);
    assert_true(first->latency_us == first->start_us && !first->ended);
    schedule_free(first);
    schedule_free(free_search);
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

static const struct write_choice *find_choice(const struct written *written, const char *key) {
    for (size_t i = 0; i < written->choices.len; i++)
        if (strcmp(written->choices.at[i].key, key) == 0)
            return &written->choices.at[i];
    return NULL;
}

static struct written *written_with(const struct schedule_request *request,
                                    const struct write_setting *setting) {
    struct write_spec spec = request->spec;
    spec.settings = setting;
    spec.setting_count = 1;
    struct written *written = write_kernel(&spec, NULL);
    assert_non_null(written);
    return written;
}

/* What a value comes to with one value of a choice that only it brings. */
static size_t check_brought(const struct schedule_request *request, const struct schedule *found,
                            const struct written *start, const struct write_setting *value) {
    struct written *with = written_with(request, value);
    size_t checked = 0;
    for (size_t i = 0; i < with->choices.len; i++) {
        const struct write_choice *choice = &with->choices.at[i];
        for (int k = 1; !find_choice(start, choice->key) && k < choice->count; k++) {
            const struct write_setting both[] = {*value, {choice->key, choice->values[k]}};
            double us = latency_of(*request, both, 2);
            assert_true(us <= 0 || us >= found->latency_us * 0.999);
            checked++;
        }
    }
    written_free(with);
    return checked;
}

static void a_value_is_worth_what_the_choices_make_of_it_that_it_brings(void **state) {
    (void)state;
    struct schedule_request request = sum_request();
    struct schedule *found = search(&request);
    struct written *start = write_kernel(&request.spec, NULL);
    assert_non_null(start);
    size_t checked = 0;
    for (size_t i = 0; i < start->choices.len; i++)
        for (int k = 1; k < start->choices.at[i].count; k++)
            checked += check_brought(
                &request, found, start,
                &(struct write_setting){start->choices.at[i].key, start->choices.at[i].values[k]});
    assert_true(checked > 10);
    written_free(start);
    schedule_free(found);
}

/* A product of the sum that goes through HBM is slower by itself; by Strassen it is the best. */
static void a_slower_value_is_gone_on_from(void **state) {
    (void)state;
    struct schedule_request request = sum_request();
    struct schedule *found = search(&request);
    double start_us = latency_of(request, NULL, 0);
    const struct write_setting linked[] = {{"contract_4.made_in_place", 0},
                                           {"contract_4.strassen", 1}};
    double first_us = latency_of(request, linked, 1), both_us = latency_of(request, linked, 2);
    assert_true(first_us > start_us && both_us < start_us);
    assert_true(found->latency_us <= both_us * 1.0005);
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
        cmocka_unit_test(text_is_counted_too),
        cmocka_unit_test(steps_add_up),
        cmocka_unit_test(a_value_is_worth_what_the_choices_make_of_it_that_it_brings),
        cmocka_unit_test(a_slower_value_is_gone_on_from),
        cmocka_unit_test(a_persons_choice_stays),
        cmocka_unit_test(what_cannot_be_searched_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
