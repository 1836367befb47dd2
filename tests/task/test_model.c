/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of the kind "model": what model.ini becomes, and what is said about a wrong one. */
#include "task/workbench.h"

#include "task/task.h"

static const char whole[] = "# the contest's own program\n"
                            "[model]\n"
                            "argv = python3 main.py --mode evaluate_single --qwen {kernel_module}\n"
                            "    --compiled-model-path \"{cache}/traced model\"\n"
                            "prepare = true\n"
                            "cwd = ~/nki-moe\n"
                            "runs = 3\n"
                            "accuracy_min = 0.9\n"
                            "[env]\n"
                            "NEURON_CC_FLAGS = --model-type=transformer ; not a comment\n"
                            "[patterns]\n"
                            "latency_ms = ^\\s*Latency: ([0-9.e+-]+)\n"
                            "accuracy = Accuracy: (\\w+)\n"
                            "[scale]\n"
                            "latency_ms = 1000\n"
                            "[reference]\n"
                            "latency_ms = 650.5\n";

static void a_description_becomes_what_a_job_takes(void **state) {
    free(put(state, "moe/model.ini", whole));
    free(put(state, "moe/kernel.py", "def kernel(): pass\n"));
    char *folder = path_join(*state, "moe");
    struct err err = {0};
    struct task *task = task_open(folder, NULL, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_string_equal(
        task->model,
        "{\"argv\":[\"python3\",\"main.py\",\"--mode\",\"evaluate_single\",\"--qwen\","
        "\"{kernel_module}\",\"--compiled-model-path\",\"{cache}/traced model\"],"
        "\"prepare\":[\"true\"],\"cwd\":\"~/nki-moe\",\"runs\":3,\"accuracy_min\":0.9,"
        "\"env\":{\"NEURON_CC_FLAGS\":\"--model-type=transformer ; not a comment\"},"
        "\"patterns\":{\"latency_ms\":{\"pattern\":\"^\\\\s*Latency: "
        "([0-9.e+-]+)\",\"scale\":1000},"
        "\"accuracy\":{\"pattern\":\"Accuracy: (\\\\w+)\"}},\"reference\":{\"latency_ms\":650.5}}");
    task_free(task);
    free(folder);
}

static void what_is_wrong_is_named(void **state) {
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"[model]\nargv =\n[patterns]\nttft_ms = (1)\n", "argv is missing"},
        {"[model]\nargv = a\n", "ttft_ms is needed"},
        {"[model]\nargv = a\nspeed = 1\n", "speed is not known"},
        {"[model]\nargv = \"a\n", "a quote that is not closed"},
        {"[model]\nruns = many\n", "runs must be a number"},
        {"[model]\ncwd = a\ncwd = b\n", "cwd is given twice"},
        {"[tea]\nmilk = 1\n", "[tea] milk stands in no section"},
        {"argv = a\n", "stands in no section"},
        {"[model]\nargv = a\n[patterns]\nttft_ms = (1)\n[scale]\naccuracy = 2\n",
         "no pattern of that name"},
        {"[reference]\nttft_ms = -1\n", "must be a number over 0"},
        {"what is this\n", ":1: this is neither a [section]"},
        {"[model]\n\nargv = a\n  b\nspeed = 1\n", "wrong.ini:5: [model] speed is not known"},
        {"[patterns]\n\nttft_ms = a(b\n",
         "wrong.ini:3: [patterns] ttft_ms is not a pattern: at character 4: missing closing paren"},
        {"[patterns]\nttft_ms = \xc2\xb5[z-a](.)\n", "wrong.ini:2: [patterns] ttft_ms is not "
                                                     "a pattern: at character 5: range out of"},
        {"[patterns]\nttft_ms = Latency\n", "exactly one group, (...), and has 0"},
        {"[patterns]\nttft_ms = (a)(b)\n", "exactly one group, (...), and has 2"},
        {"[patterns]\nttft_ms =\n", "exactly one group, (...), and has 0"},
        {"[patterns]\nttft_ms = ms \\K(.)\n", "at character 4: Python does not know this escape"},
        {"[patterns]\nttft_ms = (?<ms>.)\n", "at character 1: Python writes (?P<name>...)"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *path = put(state, "wrong.ini", rows[i].text);
        struct err err = {0};
        assert_null(task_model_read(path, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        if (!strstr(err.text, rows[i].says) || !strstr(err.text, "wrong.ini"))
            fail_msg("it says: %s", err.text);
        free(path);
    }
}

/* What only Python knows, the host has to judge. */
static void patterns_that_python_takes_are_left_as_they_are(void **state) {
    static const char *const patterns[] = {
        "\\u00b5s: (.)",  "(?a)(\\w+)", "(?P<ms>[\\d.]+) ms", "(?im)^latency[:=]\\s*([\\d.]+)$",
        "(?:a|(b))(?#c)",
    };
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct buf text = {0};
        struct err err = {0};
        buf_printf(&text, "[model]\nargv = a\n[patterns]\nttft_ms = %s\n", patterns[i]);
        char *path = put(state, "right.ini", text.at), *json = task_model_read(path, &err);
        if (!json)
            fail_msg("%s: %s", patterns[i], err.text);
        free(json);
        free(path);
        buf_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_becomes_what_a_job_takes),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(patterns_that_python_takes_are_left_as_they_are),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
