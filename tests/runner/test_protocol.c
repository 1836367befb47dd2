/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and events as text, and a client against runners that misbehave in every way. */
#include "task/workbench.h"

#include <math.h>

#include "loop/testing.h"
#include "runner/runner.h"

#define PATIENCE_MS 90000

/* ---------------------------------------------------------------------------------------- jobs */

static void a_job_survives_the_way_there(void **state) {
    (void)state;
    const int64_t seeds[] = {7, 4294967295};
    const struct runner_input inputs[] = {
        {.name = "x", .dtype = DTYPE_BFLOAT16, .ndim = 2, .shape = {4096, 1024}},
        {.name = "eps", .value = 1e-5},
        {.name = "z", .file = "z.npy"},
        {.name = "w", .file = "/tmp/w \"1\".bin", .dtype = DTYPE_FLOAT32, .ndim = 1, .shape = {7}}};
    struct runner_job job = {.kernel_path = "k \"x\".py",
                             .kernel_text = "a\n\tb\xc3\xa9",
                             .kernel_name = "fn",
                             .device = "trn3",
                             .reference_path = "/r.py",
                             .inputs = inputs,
                             .input_count = 4,
                             .seeds = seeds,
                             .seed_count = 2,
                             .tolerance = 2.5e-5,
                             .strict = true,
                             .all_seeds = true,
                             .output_folder = "/out",
                             .memory_limit = (uint64_t)1 << 40,
                             .instruction_limit = 12345,
                             .step_limit = 678,
                             .value_limit = 90};
    struct buf text = {0};
    runner_job_print(&job, &text);
    assert_null(strchr(text.at, '\n'));
    struct arena *arena = arena_new();
    struct runner_job back;
    struct err err = {0};
    assert_true(runner_job_parse(buf_str(&text), arena, &back, &err));
    assert_string_equal(back.kernel_path, job.kernel_path);
    assert_string_equal(back.kernel_text, job.kernel_text);
    assert_string_equal(back.kernel_name, "fn");
    assert_string_equal(back.device, "trn3");
    assert_int_equal(back.input_count, 4);
    assert_string_equal(back.output_folder, "/out");
    assert_string_equal(back.inputs[2].file, "z.npy");
    assert_int_equal(back.inputs[2].dtype, DTYPE_NONE);
    assert_string_equal(back.inputs[3].file, inputs[3].file);
    assert_int_equal(back.inputs[3].shape[0], 7);
    assert_int_equal(back.inputs[0].dtype, DTYPE_BFLOAT16);
    assert_int_equal(back.inputs[0].shape[1], 1024);
    assert_int_equal(back.inputs[1].dtype, DTYPE_NONE);
    assert_true(back.inputs[1].value == 1e-5);
    assert_int_equal(back.seed_count, 2);
    assert_true(back.seeds[1] == 4294967295);
    assert_true(back.tolerance == 2.5e-5);
    assert_true(back.strict && back.all_seeds && !back.no_time && !back.check_only);
    assert_true(back.memory_limit == (uint64_t)1 << 40);
    assert_int_equal(back.step_limit, 678);
    assert_int_equal(back.value_limit, 90);
    arena_free(arena);
    buf_free(&text);
}

static void a_job_without_seeds_gets_the_usual_ones(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct runner_job job;
    assert_true(runner_job_parse(STR("{\"protocol\":1,\"kernel_path\":\"k\"}"), arena, &job, NULL));
    assert_int_equal(job.seed_count, 5);
    assert_int_equal(job.seeds[4], 84);
    arena_free(arena);
}

static void a_job_that_is_wrong_is_refused_with_the_field(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "not a JSON object"},
        {"[1]", "not a JSON object"},
        {"{\"protocol\":2,\"kernel_path\":\"k\"}", "\"protocol\""},
        {"{\"protocol\":1}", "\"kernel_path\" is missing"},
        {"{\"protocol\":1,\"kernel_path\":5}", "\"kernel_path\" must be a string"},
        {"{\"protocol\":1,\"kernel_path\":\"k\",\"seeds\":[-1]}", "\"seeds\""},
        {"{\"protocol\":1,\"kernel_path\":\"k\",\"seeds\":7}", "\"seeds\""},
        {"{\"protocol\":1,\"kernel_path\":\"k\",\"strict\":1}", "\"strict\""},
        {"{\"protocol\":1,\"kernel_path\":\"k\",\"tolerance\":-1}", "\"tolerance\""},
        {"{\"protocol\":1,\"kernel_path\":\"k\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"f99\"}]}",
         "dtype"},
        {"{\"protocol\":1,\"kernel_path\":\"k\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\","
         "\"shape\":[1e9,1e9]}]}",
         "dimension"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena *arena = arena_new();
        struct runner_job job;
        struct err err = {0};
        assert_false(runner_job_parse(str_of(rows[i].text), arena, &job, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        if (!strstr(err.text, rows[i].part))
            fail_msg("'%s' is not in '%s'", rows[i].part, err.text);
        arena_free(arena);
    }
}

/* -------------------------------------------------------------------------------------- events */

struct heard {
    int counts[RUNNER_TIMED + 1];
    struct buf logs;
    char timed[200];
};

static void on_event(void *data, const struct runner_event *event) {
    struct heard *heard = data;
    const struct runner_result *so_far = event->result;
    heard->counts[event->kind]++;
    if (event->kind == RUNNER_TIMED)
        snprintf(heard->timed, sizeof heard->timed, "%g us, %d instructions, %s, %s, %d lines, %s",
                 so_far->latency_us, (int)so_far->instructions, so_far->bound, so_far->causes_text,
                 (int)so_far->lines.len, so_far->wall);
    if (event->kind == RUNNER_LOG) {
        buf_puts(&heard->logs, event->text);
        buf_putc(&heard->logs, '|');
    }
}

static void events_are_gathered_and_noise_is_log(void **state) {
    (void)state;
    static const char *const lines[] = {
        "compiler: hello \x1b[31mred",
        "@hone {\"event\":\"phase\",\"name\":\"parse\",\"seconds\":0.5}",
        "@hone {\"event\":\"phase\",\"name\":\"execute\",\"seconds\":null}",
        "noise @hone {\"event\":\"sample\",\"us\":1}",
        "@hone {\"event\":\"sample\",\"us\":-1}",
        "@hone {\"event\":\"sample\",\"us\":12.5,\"of\":\"kernel\",\"modelled\":true}",
        "@hone {\"event\":\"sample\",\"us\":13.5,\"of\":\"incumbent\",\"modelled\":true}",
        "@hone {\"event\":\"metric\",\"name\":\"total_time\",\"value\":1e-3,\"unit\":\"s\"}",
        "@hone {\"event\":\"metric\",\"value\":1}",
        "@hone {\"event\":\"correctness\",\"seed\":21,\"rel_l2\":null,\"passed\":false}",
        "@hone "
        "{\"event\":\"diagnostic\",\"severity\":\"warning\",\"code\":\"E1\",\"file\":\"k.py\","
        "\"line\":3,\"column\":7,\"class\":\"internal\",\"message\":\"odd\\u001b thing\"}",
        "@hone {\"event\":\"artifact\",\"name\":\"profile\",\"path\":\"/p\"}",
        "@hone {\"event\":\"unheard_of\"}",
        "@hone {broken",
        "@hone {\"event\":\"result\",\"kernel_name\":\"k\",\"device\":\"trn2\",\"latency_us\":12.5,"
        "\"floor_us\":5,\"lnc\":2,\"instructions\":99,\"verdict\":{\"compiles\":{\"answer\":"
        "\"yes\"},"
        "\"correct\":{\"answer\":\"no\",\"reason\":\"seed "
        "21\"},\"credible\":{\"answer\":\"maybe\"}},"
        "\"lines\":[{\"line\":4,\"us\":3,\"share\":0.25,\"engine\":\"Vector\"}],"
        "\"bounds\":[{\"name\":\"DMA\",\"busy_us\":9}]}",
        "@hone {\"event\":\"result\",\"latency_us\":1}",
    };
    struct heard heard = {0};
    struct runner_reader *reader = runner_reader_new(on_event, &heard);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        runner_reader_line(reader, str_of(lines[i]));
    struct loop_exit exited = {.end = LOOP_EXITED, .elapsed_s = 1.5};
    struct runner_result *result = runner_reader_finish(reader, &exited);
    assert_int_equal(result->failure.kind, ERR_NONE);
    assert_int_equal(heard.counts[RUNNER_SAMPLE], 2);
    assert_int_equal(heard.counts[RUNNER_RESULT], 1);
    assert_int_equal(heard.counts[RUNNER_LOG], 4);
    assert_null(strchr(heard.logs.at, '\x1b'));
    assert_int_equal(result->samples_us.len, 1);
    assert_int_equal(result->incumbent_us.len, 1);
    assert_true(result->modelled);
    assert_int_equal(result->metrics.len, 1);
    assert_string_equal(result->metrics.at[0].name, "total_time");
    assert_true(result->metrics.at[0].value == 1e-3);
    assert_int_equal(result->lnc, 2);
    assert_true(isnan(result->seeds.at[0].rel_l2));
    assert_int_equal(result->diagnostics.warnings, 1);
    assert_null(strchr(result->diagnostics.all.at[0].message, '\x1b'));
    assert_string_equal(result->diagnostics.all.at[0].cause, "internal");
    assert_int_equal(result->verdict.compiles.answer, TASK_YES);
    assert_int_equal(result->verdict.correct.answer, TASK_NO);
    assert_string_equal(result->verdict.correct.reason, "seed 21");
    assert_int_equal(result->verdict.credible.answer, TASK_NOT_ASKED);
    assert_true(result->latency_us == 12.5);
    assert_int_equal(result->lines.len, 1);
    assert_string_equal(result->bounds.at[0].name, "DMA");
    assert_int_equal(result->phases.len, 1);
    runner_reader_free(reader);
    buf_free(&heard.logs);
}

/* What a runner says of causes is shown, so it is made safe; what is no object, or too much, is
 * left out as a whole. */
static void causes_are_made_safe(void **state) {
    (void)state;
    struct buf huge = {0};
    buf_puts(&huge, "{\"text\":\"");
    for (int i = 0; i < 300000; i++)
        buf_putc(&huge, 'x');
    buf_puts(&huge, "\"}");
    const struct {
        const char *causes, *text;
        bool kept;
    } rows[] = {{"{\"text\":\"a \\u001b[31mred\\nb\",\"segments\":[]}", "a [31mred\nb", true},
                {"{\"segments\":[{\"us\":1}]}", NULL, true},
                {"\"text\"", NULL, false},
                {"[1]", NULL, false},
                {huge.at, NULL, false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf line = {0};
        struct runner_reader *reader = runner_reader_new(NULL, NULL);
        struct loop_exit exited = {.end = LOOP_EXITED};
        buf_printf(&line, "@hone {\"event\":\"result\",\"latency_us\":1,\"causes\":%s}",
                   rows[i].causes);
        runner_reader_line(reader, buf_str(&line));
        struct runner_result *result = runner_reader_finish(reader, &exited);
        assert_true((result->causes != NULL) == rows[i].kept);
        assert_true((result->causes_text != NULL) == (rows[i].text != NULL));
        if (result->causes)
            assert_null(strchr(result->causes, '\x1b'));
        if (rows[i].text) {
            assert_null(strchr(result->causes_text, '\x1b'));
            assert_non_null(strstr(result->causes_text, "red\nb"));
        }
        runner_reader_free(reader);
        buf_free(&line);
    }
    buf_free(&huge);
}

/* -------------------------------------------------------------------------------------- client */

struct outcome {
    struct err failure;
    struct task_verdict verdict;
    struct heard heard;
    double latency_us;
    int done;
    struct runner *runner;
};

static void on_done(void *data, struct runner_result *result) {
    struct outcome *outcome = data;
    outcome->failure = result->failure;
    outcome->verdict = result->verdict;
    outcome->latency_us = result->latency_us;
    outcome->done++;
}

static void on_outcome_event(void *data, const struct runner_event *event) {
    on_event(&((struct outcome *)data)->heard, event);
}

/* Runs a shell script as the runner of a job. */
static struct outcome run(const char *script, double limit_s) {
    struct loop *loop = loop_new();
    const char *command[] = {"/bin/sh", "-c", script, NULL};
    struct runner_job job = {
        .kernel_path = "k.py", .kernel_text = "text", .command = command, .time_limit_s = limit_s};
    struct outcome outcome = {0};
    struct runner_callbacks callbacks = {on_outcome_event, on_done, &outcome};
    struct err err = {0};
    outcome.runner = runner_start(loop, &job, &callbacks, &err);
    assert_non_null(outcome.runner);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(outcome.done, 1);
    loop_free(loop);
    buf_free(&outcome.heard.logs);
    return outcome;
}

static void standard_error_is_never_an_event(void **state) {
    (void)state;
    struct outcome outcome =
        run("cat >/dev/null; echo '@hone {\"event\":\"result\",\"latency_us\":9}' >&2;"
            "echo '@hone {\"event\":\"result\",\"latency_us\":3.5}'",
            0);
    assert_true(outcome.latency_us == 3.5);
    assert_int_equal(outcome.heard.counts[RUNNER_RESULT], 1);
    assert_int_equal(outcome.heard.counts[RUNNER_LOG], 1);
}

#define PHASE(name) "echo '@hone {\"event\":\"phase\",\"name\":\"" name "\"}';"

static void a_runner_gets_the_job_and_its_result_comes_back(void **state) {
    (void)state;
    struct outcome outcome =
        run("grep -q '\"kernel_text\":\"text\"' && echo noise && "
            "echo '@hone {\"event\":\"result\",\"latency_us\":3.5,\"verdict\":{}}'",
            0);
    assert_int_equal(outcome.failure.kind, ERR_NONE);
    assert_true(outcome.latency_us == 3.5);
    assert_int_equal(outcome.heard.counts[RUNNER_LOG], 1);
}

static void a_crash_is_a_clear_failure(void **state) {
    (void)state;
    struct outcome outcome = run("cat >/dev/null;" PHASE("specialise") "kill -SEGV $$", 0);
    assert_int_equal(outcome.failure.kind, ERR_UNKNOWN);
    assert_non_null(strstr(outcome.failure.text, "\"specialise\""));
    assert_non_null(strstr(outcome.failure.text, "signal 11"));
    assert_int_equal(outcome.verdict.compiles.answer, TASK_NOT_ASKED);
}

/* Whoever ends it says nothing about the kernel. The processor limit is hone's own. */
static void signals_are_told_apart(void **state) {
    (void)state;
    static const struct {
        const char *script;
        enum err_kind kind;
    } rows[] = {
        {"cat >/dev/null;" PHASE("specialise") "kill -KILL $$", ERR_ENVIRONMENT},
        {"cat >/dev/null;" PHASE("execute") "kill -TERM $$", ERR_ENVIRONMENT},
        {"cat >/dev/null;" PHASE("execute") "kill -HUP $$", ERR_ENVIRONMENT},
        {"cat >/dev/null;" PHASE("execute") "kill -BUS $$", ERR_UNKNOWN},
        {"cat >/dev/null;" PHASE("execute") "exit 3", ERR_UNKNOWN},
        {"cat >/dev/null;" PHASE("execute") "kill -XCPU $$", ERR_KERNEL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct outcome outcome = run(rows[i].script, 0);
        assert_int_equal(outcome.failure.kind, rows[i].kind);
        assert_int_equal(outcome.verdict.correct.answer,
                         rows[i].kind == ERR_KERNEL ? TASK_NO : TASK_NOT_ASKED);
        assert_int_equal(err_may_pass(&outcome.failure), rows[i].kind != ERR_KERNEL);
    }
}

static void running_out_of_memory_is_the_kernels_fault(void **state) {
    (void)state;
    struct outcome outcome =
        run("cat >/dev/null;" PHASE("execute") "echo 'hone: out of memory' >&2; kill -ABRT $$", 0);
    assert_int_equal(outcome.failure.kind, ERR_KERNEL);
    assert_int_equal(outcome.verdict.compiles.answer, TASK_YES);
    assert_int_equal(outcome.verdict.correct.answer, TASK_NO);
}

static void a_time_out_is_the_kernels_fault(void **state) {
    (void)state;
    struct outcome outcome = run("cat >/dev/null;" PHASE("execute") "sleep 600", 0.3);
    assert_int_equal(outcome.failure.kind, ERR_KERNEL);
    assert_non_null(strstr(outcome.failure.text, "did not end within"));
    assert_int_equal(outcome.verdict.correct.answer, TASK_NO);
}

static void a_time_out_on_a_host_is_laid_to_its_phase(void **state) {
    (void)state;
    struct outcome outcome = run("cat >/dev/null;" PHASE("verify") "sleep 600", 0.3);
    assert_int_equal(outcome.verdict.compiles.answer, TASK_YES);
    assert_int_equal(outcome.verdict.correct.answer, TASK_NO);
    outcome = run("cat >/dev/null;" PHASE("wait") "sleep 600", 0.3);
    assert_int_equal(outcome.failure.kind, ERR_ENVIRONMENT);
    assert_int_equal(outcome.verdict.compiles.answer, TASK_NOT_ASKED);
}

static void garbage_is_a_clear_failure(void **state) {
    (void)state;
    struct outcome outcome = run("cat >/dev/null; head -c 200000 /dev/urandom", 0);
    assert_int_equal(outcome.failure.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(outcome.failure.text, "nothing that hone understands (exit status 0)"));
    outcome = run("cat >/dev/null; yes '' | head -c 40000000 | tr '\\n' x", 0);
    assert_int_equal(outcome.failure.kind, ERR_ENVIRONMENT);
}

static void cancel_now(void *data) {
    runner_cancel(((struct outcome *)data)->runner);
}

static void a_run_can_be_cancelled_and_several_run_at_once(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    const char *sleeping[] = {"sleep", "600", NULL};
    const char *quick[] = {"/bin/sh", "-c", "cat >/dev/null; echo '@hone {\"event\":\"result\"}'",
                           NULL};
    struct outcome outcomes[3];
    memset(outcomes, 0, sizeof outcomes);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        struct runner_job job = {.kernel_path = "k", .command = i ? quick : sleeping};
        struct runner_callbacks callbacks = {NULL, on_done, &outcomes[i]};
        outcomes[i].runner = runner_start(loop, &job, &callbacks, NULL);
        assert_non_null(outcomes[i].runner);
    }
    loop_timer_start(loop, 100, 0, cancel_now, &outcomes[0]);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(outcomes[0].failure.kind, ERR_CANCELLED);
    assert_int_equal(outcomes[1].failure.kind, ERR_NONE);
    assert_int_equal(outcomes[2].done, 1);
    loop_free(loop);
}

/* The first time, it says that it needs more than was put aside for it. */
static void a_runner_that_needs_more_begins_anew_with_it(void **state) {
    (void)state;
    static const char script[] = "cat >/dev/null; test $HONE_ASIDE -ge 1080000000 &&"
                                 " echo '@hone {\"event\":\"result\",\"latency_us\":7}' ||"
                                 " echo '@hone {\"event\":\"result\",\"needs_bytes\":1080000000,"
                                 "\"failure\":{\"kind\":\"environment\",\"text\":\"needs more\"}}'";
    char folder[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *before = mem_strdup(getenv("XDG_STATE_HOME"));
    setenv("XDG_STATE_HOME", folder, 1);
    struct loop *loop = loop_new();
    const char *command[] = {"/bin/sh", "-c", script, NULL};
    struct runner_job job = {.kernel_path = "k.py", .command = command, .takes_turns = true};
    struct outcome outcome = {0};
    struct runner_callbacks callbacks = {on_outcome_event, on_done, &outcome};
    assert_non_null(runner_start(loop, &job, &callbacks, NULL));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(outcome.done, 1);
    assert_int_equal(outcome.failure.kind, ERR_NONE);
    assert_true(outcome.latency_us == 7);
    assert_int_equal(outcome.heard.counts[RUNNER_RESTART], 1);
    loop_free(loop);
    before ? setenv("XDG_STATE_HOME", before, 1) : unsetenv("XDG_STATE_HOME");
    free(before);
    assert_true(file_remove_tree(folder, NULL));
    buf_free(&outcome.heard.logs);
}

static void a_dropped_run_is_silent(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    const char *command[] = {"sleep", "600", NULL};
    struct runner_job job = {.kernel_path = "k", .command = command};
    struct outcome outcome = {0};
    struct runner_callbacks callbacks = {on_outcome_event, on_done, &outcome};
    runner_drop(runner_start(loop, &job, &callbacks, NULL));
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(outcome.done, 0);
    loop_free(loop);
}

static void times_are_known_before_the_result_and_it_counts(void **state) {
    (void)state;
    static const char *const lines[] = {
        "@hone {\"event\":\"timed\",\"latency_us\":12.5,\"bound\":\"DMA\",\"instructions\":7,"
        "\"lines\":[{\"line\":3,\"us\":9},{\"line\":4,\"us\":3}],"
        "\"bounds\":[{\"name\":\"DMA\",\"busy_us\":12}],\"causes\":{\"text\":\"so\"}}",
        "@hone {\"event\":\"result\",\"latency_us\":13,\"lines\":[{\"line\":5,\"us\":13}],"
        "\"verdict\":{\"compiles\":{\"answer\":\"yes\"}}}",
        "@hone {\"event\":\"timed\",\"latency_us\":1}",
    };
    struct heard heard = {0};
    struct runner_reader *reader = runner_reader_new(on_event, &heard);
    struct loop_exit exited = {.end = LOOP_EXITED};
    runner_reader_wall(reader, "landlock");
    runner_reader_line(reader, str_of(lines[0]));
    assert_false(runner_reader_ended(reader));
    assert_int_equal(heard.counts[RUNNER_TIMED], 1);
    assert_string_equal(heard.timed, "12.5 us, 7 instructions, DMA, so, 2 lines, landlock");
    runner_reader_line(reader, str_of(lines[1]));
    runner_reader_line(reader, str_of(lines[2]));
    assert_int_equal(heard.counts[RUNNER_TIMED], 1);
    struct runner_result *result = runner_reader_finish(reader, &exited);
    assert_true(result->latency_us == 13);
    assert_int_equal(result->lines.len, 1);
    assert_int_equal(result->lines.at[0].line, 5);
    assert_int_equal(result->bounds.len, 0);
    assert_null(result->causes);
    runner_reader_free(reader);
    buf_free(&heard.logs);
}

static void a_prediction_is_an_opinion_and_the_last_one_counts(void **state) {
    (void)state;
    static const char *const lines[] = {
        "@hone {\"event\":\"prediction\",\"us\":0,\"by\":\"nki 0.6.0\"}",
        "@hone {\"event\":\"prediction\",\"us\":\"7\"}",
        "@hone {\"event\":\"prediction\",\"us\":9}",
        "@hone {\"event\":\"prediction\",\"us\":12.5,\"by\":\"nki\\u001b "
        "0.6.0\",\"optimised\":false,"
        "\"utilisation\":{\"pe\":40,\"act\":\"x\",\"pool\":-1,\"dve\":7.5},\"macs\":5,"
        "\"hbm_bytes\":null}",
        "@hone {\"event\":\"result\",\"verdict\":{\"compiles\":{\"answer\":\"yes\"}}}",
    };
    struct heard heard = {0};
    struct runner_reader *reader = runner_reader_new(on_event, &heard);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        runner_reader_line(reader, str_of(lines[i]));
    struct loop_exit exited = {.end = LOOP_EXITED};
    struct runner_result *result = runner_reader_finish(reader, &exited);
    const struct runner_prediction *found = &result->prediction;
    assert_int_equal(heard.counts[RUNNER_PREDICTION], 2);
    assert_true(found->us == 12.5 && found->macs == 5 && isnan(found->hbm_bytes));
    assert_int_equal(found->optimised, RUNNER_NOT_OPTIMISED);
    assert_string_equal(found->by, "nki? 0.6.0");
    assert_int_equal(found->engine_count, 2);
    assert_string_equal(found->engines[1].engine, "dve");
    assert_true(found->engines[1].percent == 7.5);
    assert_int_equal(result->samples_us.len + result->metrics.len, 0);
    assert_true(result->latency_us == 0 && !result->modelled);
    runner_reader_free(reader);
    buf_free(&heard.logs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_survives_the_way_there),
        cmocka_unit_test(a_job_without_seeds_gets_the_usual_ones),
        cmocka_unit_test(a_job_that_is_wrong_is_refused_with_the_field),
        cmocka_unit_test(times_are_known_before_the_result_and_it_counts),
        cmocka_unit_test(a_prediction_is_an_opinion_and_the_last_one_counts),
        cmocka_unit_test(events_are_gathered_and_noise_is_log),
        cmocka_unit_test(causes_are_made_safe),
        cmocka_unit_test(a_runner_gets_the_job_and_its_result_comes_back),
        cmocka_unit_test(standard_error_is_never_an_event),
        cmocka_unit_test(a_crash_is_a_clear_failure),
        cmocka_unit_test(signals_are_told_apart),
        cmocka_unit_test(running_out_of_memory_is_the_kernels_fault),
        cmocka_unit_test(a_time_out_is_the_kernels_fault),
        cmocka_unit_test(a_time_out_on_a_host_is_laid_to_its_phase),
        cmocka_unit_test(garbage_is_a_clear_failure),
        cmocka_unit_test(a_run_can_be_cancelled_and_several_run_at_once),
        cmocka_unit_test(a_runner_that_needs_more_begins_anew_with_it),
        cmocka_unit_test(a_dropped_run_is_silent),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
