/* SPDX-License-Identifier: Apache-2.0 */
/* Small references, and questions to them that wait for their answers. */
#ifndef HONE_TESTS_TASK_REFERENCES_H
#define HONE_TESTS_TASK_REFERENCES_H

#include "task/workbench.h"

#include "task/task.h"

#define HEAD "import numpy as np\n"
#define INPUTS \
    "def get_inputs():\n    return [np.random.normal(size=(4, 3)).astype(np.float32), 1e-5]\n"
#define FORWARD "def forward(x, eps):\n    return x * 2 + eps\n"

/* The answers to the requests of one test. */
struct answers {
    struct task_inputs *inputs;
    struct task_comparison comparison;
    bool compared;
    struct err err;
    int count;
};

static inline void on_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct answers *answers = data;
    task_inputs_free(answers->inputs);
    answers->inputs = inputs;
    answers->count++;
    if (err)
        answers->err = *err;
}

static inline void on_compared(void *data, const struct task_comparison *comparison,
                               const struct err *err) {
    struct answers *answers = data;
    answers->count++;
    answers->compared = comparison != NULL;
    if (comparison)
        answers->comparison = *comparison;
    if (err)
        answers->err = *err;
}

static inline void free_answers(struct answers *answers) {
    task_inputs_free(answers->inputs);
    *answers = (struct answers){0};
}

static inline void prepare(const char *path, int64_t seed, double limit_s,
                           struct answers *answers) {
    struct loop *loop = loop_new();
    struct task_reference_limits limits = {.seed_s = limit_s};
    struct task_reference *reference = task_reference_open(loop, path, &limits, NULL);
    assert_non_null(reference);
    task_reference_prepare(reference, seed, on_inputs, answers);
    const bool never = false;
    for (int i = 0; i < 600 && !answers->count; i++)
        loop_run_until(loop, &never, 100);
    assert_int_equal(answers->count, 1);
    task_reference_free(reference);
    loop_free(loop);
}

static inline void find_shapes(const char *path, int64_t seed, struct answers *answers) {
    struct loop *loop = loop_new();
    struct task_reference *reference = task_reference_open(loop, path, NULL, NULL);
    assert_non_null(reference);
    task_reference_shapes(reference, seed, on_inputs, answers);
    const bool never = false;
    for (int i = 0; i < 600 && !answers->count; i++)
        loop_run_until(loop, &never, 100);
    assert_int_equal(answers->count, 1);
    task_reference_free(reference);
    loop_free(loop);
}

static inline void compare(const char *path, const struct array *outputs, size_t count,
                           struct answers *answers) {
    struct loop *loop = loop_new();
    struct task_reference *reference = task_reference_open(loop, path, NULL, NULL);
    assert_non_null(reference);
    task_reference_prepare(reference, 0, on_inputs, answers);
    task_reference_forward(reference, 0);
    task_reference_compare(reference, 0, outputs, count, on_compared, answers);
    const bool never = false;
    for (int i = 0; i < 600 && answers->count < 2; i++)
        loop_run_until(loop, &never, 100);
    assert_int_equal(answers->count, 2);
    task_reference_free(reference);
    loop_free(loop);
}

/* Prepares a reference that fails and checks what is said about it. */
static inline void expect_failure(void **state, const char *text, enum err_kind kind,
                                  const char *part) {
    char *path = put(state, "bad.py", text);
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    assert_null(answers.inputs);
    assert_int_equal(answers.err.kind, kind);
    if (!strstr(answers.err.text, part))
        fail_msg("'%s' is not in '%s'", part, answers.err.text);
    free_answers(&answers);
    free(path);
}

/* The same for forward, whose failure shows when outputs are compared. */
static inline void expect_forward_failure(void **state, const char *text, enum err_kind kind,
                                          const char *part) {
    char *path = put(state, "bad.py", text);
    struct answers answers = {0};
    float data[12] = {0};
    struct array output = {DTYPE_FLOAT32, 2, {4, 3}, data};
    compare(path, &output, 1, &answers);
    assert_false(answers.compared);
    assert_int_equal(answers.err.kind, kind);
    if (!strstr(answers.err.text, part))
        fail_msg("'%s' is not in '%s'", part, answers.err.text);
    free_answers(&answers);
    free(path);
}

#endif
