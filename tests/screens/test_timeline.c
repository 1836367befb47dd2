/* SPDX-License-Identifier: Apache-2.0 */
/* The engine timeline: where it opens, what it says of the instruction under the cursor, and the
 * way along the critical path. Also profiles that nobody can have written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "screens/acts.h"

static void the_path_is_followed(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct views *views = make_views(state);
    assert_true(shows(views, "5 t", "▸ Tensor")); /* busy longest */
    assert_true(shows(views, "", "nc_matmul  instruction 3"));
    assert_true(shows(views, "", "critical  waited for the result of tensor_tensor, line 36 "));
    assert_true(shows(views, "n", "tensor_copy  instruction 5"));
    assert_true(shows(views, "", "▸ Vector"));
    assert_true(shows(views, "n", "nc_matmul  instruction 6"));
    assert_true(shows(views, "", "waited 0.200 µs for its tile, in use by tensor_copy, line 44"));
    assert_true(shows(views, "n", "no instruction of the critical path is behind here"));
    assert_true(shows(views, "N N N", "tensor_tensor  instruction 4"));
    assert_true(shows(views, "N", "dma_copy  instruction 1"));
    assert_true(shows(views, "N", "no instruction of the critical path is before here"));
    assert_true(shows(views, "Right", "dma_copy  instruction 2"));
    assert_true(shows(views, "n", "tensor_tensor  instruction 4"));
    assert_true(shows(views, "", "critical  waited for the result of dma_copy, line 23 (DMA in)"));
    views_free(views);
    tune_state_free(state);
}

static char *longer_text(void *context, const char *hash) {
    return strcmp(hash, "before") != 0
               ? timeline_text(context, hash)
               : mem_strdup("{\"lanes\": [\"Tensor\", \"DMA in\"],\n\"spans\": ["
                            "[0,0,\"nc_matmul\",4,0.0,800.0],[1,1,\"dma_copy\",5,0.0,1600.0]]}");
}

/* On one axis with the attempt that it is compared with, which took longer. */
static void two_attempts_are_beside_each_other(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct views *views = make_views(state);
    views_set_model(views, &(struct views_model){.state = state, .artefact = longer_text});
    assert_true(shows(views, "5 t", "0.800 µs  busy")); /* what it is compared with has none */
    state->attempts.at[1].timeline = "before";
    assert_true(shows(views, "", "beside #1"));
    assert_true(shows(views, "", "1.60 µs  busy"));
    assert_true(shows(views, "", "100 %")); /* DMA in, all the time */
    assert_true(shows(views, "", "50 %"));  /* and Tensor for half of it */
    assert_true(shows(views, "+", "zoom 2x"));
    views_free(views);
    tune_state_free(state);
}

/* A launch on two cores: what the first waited for is where the other one came late. */
static char *cores_text(void *context, const char *hash) {
    (void)context;
    (void)hash;
    return mem_strdup("{\"lanes\": [\"0 DMA in\", \"1 Vector\", \"1 DMA in\"],\n\"spans\": ["
                      "[0,0,\"sendrecv\",6,900.0,1900.0],[1,1,\"tensor_scalar\",5,0.0,800.0],"
                      "[2,2,\"sendrecv\",6,900.0,1500.0]],\n\"waits\": ["
                      "[\"peer\",6,\"sendrecv\",\"1 DMA in\"],[\"nothing\",0,\"\",\"\"],"
                      "[\"operand\",5,\"tensor_scalar\",\"1 Vector\"]],\n"
                      "\"reasons\": [[0,2,600.0,1],[1,-1,0.0,1],[2,1,0.0,1]]}");
}

static void a_wait_for_the_other_core_is_told(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct views *views = make_views(state);
    views_set_model(views, &(struct views_model){.state = state, .artefact = cores_text});
    assert_true(shows(views, "5 t", "▸ 0 DMA in"));
    assert_true(shows(views, "",
                      "critical  waited 0.600 µs for the other core to come to sendrecv, "
                      "line 6 (1 DMA in)"));
    assert_true(shows(views, "n", "▸ 1 DMA in"));
    assert_true(shows(views, "", "waited for the result of tensor_scalar, line 5 (1 Vector)"));
    assert_true(shows(views, "N N", "▸ 1 Vector"));
    views_free(views);
    tune_state_free(state);
}

#define QUEUES "{\"lanes\": [\"Tensor\", \"DMA in\"],\n\"spans\": ["
#define SPANS "[0,0,\"nc_matmul\",4,0.0,5.0],[1,1,\"dma_copy\",5,1.0,9.0]]"
static const char *const odd[] = {
    QUEUES SPANS "}",
    QUEUES SPANS ",\"waits\": [],\"reasons\": []}",
    QUEUES SPANS ",\"waits\": [[\"operand\",4,\"x\"],\"reasons\": [[0,0,0,1]]}",
    QUEUES SPANS ",\"waits\": [[\"operand\",4,\"x\",\"DMA\"]],\"reasons\": [[7,-1,1e9,1]]}",
    QUEUES SPANS
    ",\"waits\": [[\"o\",4,\"x\",\"y\"]],\"reasons\": [[0,1,2,1],[0,1,2,1],[0,1,2,1]]}",
    QUEUES SPANS ",\"reasons\": [[0,1,2,1]],\"waits\": [[\"o\",4,\"x\",\"y\"]]}",
    QUEUES SPANS ",\"waits\": [[\"\x1b[31m\",99999999999,\"x\",\"y\"]],\"reasons\": [[0",
    QUEUES "[0,9,\"x\",4,0.0,5.0]],\"waits\": [[\"o\",4,\"x\",\"y\"]],\"reasons\": [[0,1,2,1]]}",
};
static size_t asked;

static char *odd_text(void *context, const char *hash) {
    (void)context;
    (void)hash;
    return mem_strdup(odd[asked]);
}

static void odd_profiles_are_borne(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    for (asked = 0; asked < COUNT_OF(odd); asked++) {
        struct views *views = make_views(state);
        views_set_model(views, &(struct views_model){.state = state, .artefact = odd_text});
        assert_true(shows(views, "5 t", "engine timeline"));
        assert_true(shows(views, "n N Down n N + n", "engine timeline"));
        views_free(views);
    }
    tune_state_free(state);
}

/* A device may not report a timeline. What was modelled met none. */
static void only_a_device_leaves_out_a_timeline(void **unused) {
    (void)unused;
    int64_t now_ms = 0;
    struct tune_state *state = replay_until("kept", &now_ms);
    struct tune_attempt *attempt = &state->attempts.at[3];
    attempt->timeline = NULL;
    struct views *views = make_views(state);
    attempt->modelled = false;
    assert_true(shows(views, "5 t", "this attempt has no timeline: its device reported none"));
    attempt->modelled = true;
    assert_true(shows(views, "", "this attempt has no timeline "));
    views_free(views);
    tune_state_free(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_device_leaves_out_a_timeline),
        cmocka_unit_test(the_path_is_followed),
        cmocka_unit_test(two_attempts_are_beside_each_other),
        cmocka_unit_test(a_wait_for_the_other_core_is_told),
        cmocka_unit_test(odd_profiles_are_borne),
    };
    acts_begin();
    cmocka_set_test_filter(getenv("HONE_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
