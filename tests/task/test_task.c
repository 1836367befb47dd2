/* SPDX-License-Identifier: Apache-2.0 */
#include "task/workbench.h"

#include <math.h>
#include <sys/stat.h>

#include "task/task.h"

/* ------------------------------------------------------------------------------------- opening */

static void a_folder_opens_with_its_reference(void **state) {
    free(put(state, "mine/kernel.py", "kernel\n"));
    free(put(state, "mine/reference.py", "reference\n"));
    char *folder = path_join(*state, "mine");
    struct err err = {0};
    struct task *task = task_open(folder, NULL, &err);
    assert_non_null(task);
    assert_string_equal(task->name, "mine");
    assert_string_equal(task->kernel_text, "kernel\n");
    assert_true(str_ends(str_of(task->reference_path), "/mine/reference.py"));
    assert_true(str_ends(str_of(task->folder), "/mine"));
    assert_false(task->is_builtin);
    task_free(task);
    free(folder);
}

static void a_kernel_file_opens_with_a_given_reference_or_without(void **state) {
    char *kernel = put(state, "files/fast_silu.py", "kernel\n");
    char *reference = put(state, "files/other.py", "reference\n");
    struct task *task = task_open(kernel, NULL, NULL);
    assert_non_null(task);
    assert_string_equal(task->name, "fast_silu");
    assert_null(task->reference_path);
    task_free(task);
    task = task_open(kernel, reference, NULL);
    assert_string_equal(task->reference_path, reference);
    task_free(task);
    struct err err = {0};
    assert_null(task_open(kernel, "/no/such/file.py", &err));
    assert_int_equal(err.kind, ERR_USAGE);
    free(kernel);
    free(reference);
}

static void a_built_in_seed_opens_by_name(void **state) {
    (void)state;
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir("/"), 0);
    struct str first = task_seed_name(0);
    assert_non_null(first.at);
    const char *names[] = {"silu", "seeds/silu", "seeds/silu/"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct err err = {0};
        struct task *task = task_open(names[i], NULL, &err);
        assert_non_null(task);
        assert_true(task->is_builtin);
        assert_string_equal(task->name, "silu");
        assert_string_equal(task->kernel_path, "seeds/silu/kernel.py");
        char *text = file_read(task->reference_path, 0, NULL, NULL);
        assert_non_null(strstr(text, "def forward"));
        free(text);
        task_free(task);
    }
    assert_int_equal(chdir(here), 0);
    free(here);
}

static void the_configuration_folder_wins_over_the_binary(void **state) {
    free(put(state, "config/hone/seeds/silu/kernel.py", "mine\n"));
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir("/"), 0);
    struct task *task = task_open("silu", NULL, NULL);
    assert_non_null(task);
    assert_false(task->is_builtin);
    assert_string_equal(task->kernel_text, "mine\n");
    task_free(task);
    assert_int_equal(chdir(here), 0);
    free(here);
    char *folder = path_join(*state, "config");
    assert_true(file_remove_tree(folder, NULL));
    free(folder);
}

static void what_is_not_there_is_named(void **state) {
    (void)state;
    struct err err = {0};
    assert_null(task_open("no_such_seed", NULL, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "softmax"));
    assert_null(task_open("/tmp", NULL, &err));
    assert_non_null(strstr(err.text, "no kernel.py"));
}

/* ------------------------------------------------------------------------------------- verdict */

static struct task_comparison exact(int64_t seed, double rel_l2) {
    struct task_comparison row = {.seed = seed, .count = 1, .rel_l2 = rel_l2};
    row.outputs[0] = (struct task_match){.rel_l2 = rel_l2, .finite = true};
    return row;
}

static void correct_needs_every_seed(void **state) {
    (void)state;
    struct task_comparison rows[] = {exact(0, 1e-6), exact(21, 3e-5)};
    struct task_verdict verdict = {0};
    task_judge_numbers(&verdict, rows, 1, 2e-5);
    assert_int_equal(verdict.correct.answer, TASK_YES);
    assert_int_equal(verdict.credible.answer, TASK_YES);
    task_judge_numbers(&verdict, rows, 2, 2e-5);
    assert_int_equal(verdict.correct.answer, TASK_NO);
    assert_non_null(strstr(verdict.correct.reason, "seed 21"));
    rows[1] = exact(21, NAN);
    task_judge_numbers(&verdict, rows, 2, 2e-5);
    assert_int_equal(verdict.correct.answer, TASK_NO);
}

static void odd_outputs_are_not_credible(void **state) {
    (void)state;
    struct task_match odd[] = {
        {.finite = false}, {.finite = true, .zero = true}, {.finite = true, .is_input = true}};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct task_comparison row = exact(7, 0);
        row.outputs[0] = odd[i];
        struct task_verdict verdict = {0};
        task_judge_numbers(&verdict, &row, 1, 2e-5);
        assert_int_equal(verdict.credible.answer, TASK_NO);
        assert_false(task_verdict_is_green(&verdict));
    }
    struct task_comparison row = exact(7, 0);
    row.outputs[0] = (struct task_match){.finite = true, .zero = true, .reference_zero = true};
    struct task_verdict verdict = {0};
    task_judge_numbers(&verdict, &row, 1, 2e-5);
    assert_int_equal(verdict.credible.answer, TASK_YES);
}

static void faster_than_the_floor_is_not_credible(void **state) {
    (void)state;
    struct task_verdict verdict = {0};
    task_judge_latency(&verdict, 10, 9);
    assert_int_equal(verdict.credible.answer, TASK_NOT_ASKED);
    task_judge_latency(&verdict, 8, 9);
    assert_int_equal(verdict.credible.answer, TASK_NO);
    struct task_comparison row = exact(0, 0);
    task_judge_numbers(&verdict, &row, 1, 2e-5);
    assert_int_equal(verdict.credible.answer, TASK_NO);
}

static enum task_answer judge(struct task_samples a, struct task_samples b) {
    struct task_verdict verdict = {0};
    task_judge_speed(&verdict, a, b);
    return verdict.faster.answer;
}

static void speed_is_yes_no_or_inconclusive(void **state) {
    (void)state;
    const double slow[] = {100, 101, 102, 99, 100, 103, 100, 101, 100, 100};
    const double fast[] = {80, 81, 82, 79, 80, 81, 80, 80, 83, 80};
    const double noisy[] = {80, 130, 95, 101, 70, 120, 99, 100, 85, 118};
    struct task_samples a = {slow, COUNT_OF(slow), false, 1}, b = {fast, COUNT_OF(fast), false, 1};
    struct task_samples c = {noisy, COUNT_OF(noisy), false, 1};
    assert_int_equal(judge(a, b), TASK_YES);
    assert_int_equal(judge(b, a), TASK_NO);
    assert_int_equal(judge(a, c), TASK_INCONCLUSIVE);
    assert_int_equal(judge((struct task_samples){slow, 2, false, 1}, b), TASK_INCONCLUSIVE);
    struct task_samples one = {slow, 1, true, 1}, other = {fast, 1, true, 1};
    assert_int_equal(judge(one, other), TASK_YES);
    assert_int_equal(judge(one, one), TASK_NO);
    assert_int_equal(judge((struct task_samples){0}, other), TASK_NOT_ASKED);
}

/* Times on other numbers of cores are never compared without a word. */
static void cores_are_told(void **state) {
    (void)state;
    const double slow = 100, fast = 80;
    for (int was = 1; was <= 2; was++)
        for (int is = 1; is <= 2; is++) {
            struct task_samples one = {&slow, 1, true, was}, other = {&fast, 1, true, is};
            struct task_verdict verdict = {0};
            task_judge_speed(&verdict, one, other);
            const char *reason = verdict.faster.reason;
            assert_true(!strstr(reason, "(modelled, two cores)") == (was + is < 4));
            assert_true(!strstr(reason, "on two cores after 100 µs on one") == (is <= was));
            assert_true(!strstr(reason, "on one core after 100 µs on two") == (is >= was));
        }
}

/* A machine that gets slower while it measures. What drifts is in both of a pair. */
static void pairs_see_what_drift_hides(void **state) {
    (void)state;
    double was[10], is[10];
    for (size_t i = 0; i < COUNT_OF(was); i++) {
        was[i] = 100 + 5 * (double)i + (i % 2 ? 0.1 : -0.1);
        is[i] = (100 + 5 * (double)i) / 1.02;
    }
    struct task_samples a = {was, COUNT_OF(was), false, 1}, b = {is, COUNT_OF(is), false, 1};
    struct task_ratio ratio = task_ratio_of(a, b);
    assert_int_equal(judge(a, b), TASK_YES);
    assert_float_equal(ratio.ratio, 1.02, 1e-3);
    assert_true(ratio.low < 1.02 && ratio.high > 1.02 && ratio.seen < 0.002);
    assert_int_equal(judge(a, a), TASK_NO);
}

/* Against the t table by hand: logs 0.0, 0.1, 0.2, mean 0.1, deviation 0.1, t(2) = 4.303. */
static void the_interval_is_students(void **state) {
    (void)state;
    const double was[] = {1, exp(0.1), exp(0.2)}, is[] = {1, 1, 1};
    struct task_ratio ratio = task_ratio_of((struct task_samples){was, 3, false, 1},
                                            (struct task_samples){is, 3, false, 1});
    double reach = 4.303 * 0.1 / sqrt(3);
    assert_float_equal(ratio.ratio, exp(0.1), 1e-9);
    assert_float_equal(ratio.low, exp(0.1 - reach), 1e-9);
    assert_float_equal(ratio.high, exp(0.1 + reach), 1e-9);
    const double zero[] = {0, 1, 1};
    assert_true(isnan(task_ratio_of((struct task_samples){zero, 3, false, 1},
                                    (struct task_samples){is, 3, false, 1})
                          .ratio));
}

static void a_cache_limit_is_read_as_people_write_it(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } rows[] = {{"500M", 500ull << 20},
                {"60MB", 60ull << 20},
                {"2G", 2ull << 30},
                {"4096", 4096},
                {"MB", 0},
                {"B", 0},
                {"-2G", 0},
                {"2 GB", 0},
                {"99999999999G", 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t bytes = 0;
        bool ok = task_cache_limit_read(rows[i].text, &bytes);
        assert_int_equal(ok, rows[i].bytes > 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

/* A person may well be in a folder that nobody can name any more. */
static void a_path_that_the_system_does_not_take_is_refused(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-test-XXXXXX", name[201] = "";
    memset(name, 'd', sizeof name - 1);
    char *here = getcwd(NULL, 0);
    assert_true(here && mkdtemp(folder) && chdir(folder) == 0);
    for (int i = 0; i < 21; i++)
        assert_true(mkdir(name, 0700) == 0 && chdir(name) == 0);
    assert_true(file_write("kernel.py", "x = 1\n", 6, NULL));
    struct err err = {0};
    assert_null(task_open(".", NULL, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "4095 are possible"));
    assert_int_equal(unlink("kernel.py"), 0);
    for (int i = 0; i < 21; i++)
        assert_true(chdir("..") == 0 && rmdir(name) == 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(chdir(here), 0);
    free(here);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_limit_is_read_as_people_write_it),
        cmocka_unit_test(a_folder_opens_with_its_reference),
        cmocka_unit_test(a_kernel_file_opens_with_a_given_reference_or_without),
        cmocka_unit_test(a_built_in_seed_opens_by_name),
        cmocka_unit_test(a_path_that_the_system_does_not_take_is_refused),
        cmocka_unit_test(the_configuration_folder_wins_over_the_binary),
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(correct_needs_every_seed),
        cmocka_unit_test(odd_outputs_are_not_credible),
        cmocka_unit_test(faster_than_the_floor_is_not_credible),
        cmocka_unit_test(cores_are_told),
        cmocka_unit_test(speed_is_yes_no_or_inconclusive),
        cmocka_unit_test(pairs_see_what_drift_hides),
        cmocka_unit_test(the_interval_is_students),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
