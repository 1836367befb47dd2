// SPDX-License-Identifier: Apache-2.0
/* Other agents' files in a session, and exports that are read again, whole or altered. */
#include "task/task.h"
#include "tune/apply/apply.h"
#include "tune/exchange/bundle.h"
#include "tune/fake.h"
#include "tune/foreign/foreign.h"

#include <dirent.h>

static const char EXPERIMENTS[] =
    "{\"round\": 1, \"status\": \"improved\", \"latency_ms\": 1.5, \"plan\": \"Wider tiles\"}\n"
    "{\"round\": 2, \"status\": \"compile_fail\", \"latency_ms\": Infinity, \"plan\": \"Fuse\"}\n"
    "{\"round\": 3, \"status\": \"no_improvement\", \"latency_ms\": 1.6, \"plan\": \"Split\"}\n"
    "{\"round\": 4, \"status\": \"impro\n";

static void import_twice(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    struct tune_import_report report = {0};
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    char *folder = path_join(fake.folder, "old");
    assert_true(file_make_dirs(folder, &err));
    fake_file(folder, "experiments.jsonl", EXPERIMENTS);
    fake_file(folder, "rewrites.json",
              "[{\"title\": \"Reuse the weights\", \"summary\": \"Load w once.\"},\n"
              " {\"title\": \"reuse THE weights!\", \"summary\": \"Load w, once\"}]");
    fake_file(folder, "other.json", "{");
    assert_true(tune_session_import(fake.session, folder, &report, &err));
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(report.files, 2);
    assert_int_equal(state->memory.len, 2);
    assert_true(state->memory.at[1].closed);
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_PROPOSED);
    assert_int_equal(state->memory.at[0].merged, 1);
    assert_non_null(strstr(state->memory.at[0].evidence, "rewrites.json:2"));
    assert_int_equal(state->imports.len, 3);
    assert_non_null(strstr(report.complaints.at, "experiments.jsonl:4: "));
    buf_free(&report.complaints);
    report = (struct tune_import_report){0};
    assert_true(tune_session_import(fake.session, folder, &report, &err));
    assert_int_equal(report.experiences, 0);
    assert_int_equal(report.attempts, 0);
    assert_int_equal(report.known, 6);
    assert_int_equal(state->memory.len, 2);
    assert_int_equal(state->imports.len, 3);
    buf_free(&report.complaints);
    /* The folder of the task has the session in it, which is not another agent's. */
    report = (struct tune_import_report){0};
    fake_file(tune_session_folder(fake.session), "experiments.jsonl", EXPERIMENTS);
    assert_true(tune_session_import(fake.session, fake.folder, &report, &err));
    assert_int_equal(report.files, 2);
    assert_int_equal(report.attempts, 0);
    buf_free(&report.complaints);
    assert_false(tune_session_import(fake.session, "/nowhere/at/all", &report, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    free(folder);
    fake_end(&fake);
}

static const struct fake_plan plans[] = {
    {.key = "one",
     .source = "def kernel(): x = '''\n    # latency 700\n    # hbm 500\n'''\n",
     .size = 0.5},
};

static char *read_in(const char *folder, const char *name) {
    struct err err = {0};
    char *path = path_join(folder, name);
    char *text = file_read(path, 0, NULL, &err);
    if (!text)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

/* No file below the folder has the word. */
static void no_word_of(const char *folder, const char *word) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (*entry->d_name == '.')
            continue;
        char *path = path_join(folder, entry->d_name);
        struct err err = {0};
        if (file_is_dir(path)) {
            no_word_of(path, word);
        } else {
            char *text = file_read(path, 0, NULL, &err);
            assert_non_null(text);
            if (strstr(text, word))
                fail_msg("%s has %s:\n%s", path, word, text);
            free(text);
        }
        free(path);
    }
    closedir(dir);
}

/* events.jsonl is the whole session. Replayed, it is the same, except for where it was. */
static void events_give_the_same(const struct fake *fake, const char *folder) {
    struct tune_state *state = tune_state_new();
    char *events = read_in(folder, "events.jsonl");
    struct str rest = str_of(events), line;
    while (str_next(&rest, '\n', &line) && line.len) {
        cJSON *event = cJSON_ParseWithLength(line.at, line.len);
        assert_non_null(event);
        char *payload = cJSON_PrintUnformatted(cJSON_GetObjectItem(event, "is"));
        tune_state_apply(state, (int64_t)cJSON_GetObjectItem(event, "seq")->valuedouble,
                         (int64_t)cJSON_GetObjectItem(event, "wall_ms")->valuedouble,
                         cJSON_GetObjectItem(event, "event")->valuestring, payload);
        cJSON_free(payload);
        cJSON_Delete(event);
    }
    struct buf live = {0}, again = {0}, moved = {0};
    tune_state_print(fake_state(fake), &live);
    tune_state_print(state, &again);
    const char *from = live.at, *at;
    for (; (at = strstr(from, fake->folder)); from = at + strlen(fake->folder)) {
        buf_add(&moved, from, (size_t)(at - from));
        buf_putc(&moved, '.');
    }
    buf_puts(&moved, from);
    assert_string_equal(again.at, moved.at);
    buf_free(&live);
    buf_free(&again);
    buf_free(&moved);
    tune_state_free(state);
    free(events);
}

static void folders_of_this_machine_stay_here(void **unused) {
    (void)unused;
    char task[] = "/home/me/work/k", home[] = "/home/me";
    struct bundle_places places = {{{task, task, "."}, {home, home, "~"}, {NULL, NULL, "session"}}};
    static const struct {
        const char *text, *clean;
    } all[] = {
        {"/home/me/work/k/kernel.py", "./kernel.py"},
        {"in /home/me/work/k, at /home/me/work/k2", "in ., at ~/work/k2"},
        {"\"/home/me\" /home/me2 /home/me.d x/home/me", "\"~\" /home/me2 /home/me.d x/home/me"},
        {"/home/me/home/me", "~/home/me"},
        {"/", "/"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct buf out = {0};
        bundle_places_clean(&places, str_of(all[i].text), true, &out);
        assert_string_equal(out.at ? out.at : "", all[i].clean);
        buf_free(&out);
    }
}

static const char MODEL_INI[] =
    "[model]\nargv = python3 main.py --mode 'evaluate all' --qwen {kernel_module}\n"
    "  --platform-target trn2 it\"'\"s\ncwd = ~/nki-moe\nruns = 5\n"
    "[env]\nNEURON_RT_LOG_LEVEL = WARNING\nHF_TOKEN = hf_not_yours\n"
    "[patterns]\nlatency_ms = ^\\s*Latency: ([0-9.e+-]+) ; or so\n[scale]\nlatency_ms = 1000\n"
    "[reference]\nlatency_ms = 650\n";

/* A kernel inside a model is a task with model.ini, in the bundle too. What is secret stays
 * here. */
static void a_task_inside_a_model_is_exported(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_measured = true;
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    fake_measured = false;
    tune_session_close(fake.session);
    fake_file(fake.folder, "model.ini", MODEL_INI);
    fake.options.fresh = true;
    fake.place = (struct fake_place){.loop = fake.loop, .measured = true};
    fake_open(&fake);
    const char *model = fake_state(&fake)->model;
    assert_non_null(model);
    char *folder = path_join(fake.folder, "given"), *ini = path_join(folder, "model.ini");
    assert_true(tune_bundle_write(tune_session_folder(fake.session), folder, NULL, NULL, &err));
    no_word_of(folder, "hf_not_yours");
    char *readme = read_in(folder, "README.md"), *given = task_model_read(ini, &err);
    assert_non_null(strstr(readme, "hone run . --target HOST"));
    if (!given)
        fail_msg("%s", err.text);
    char *kept = task_model_without_secrets(model);
    assert_null(strstr(kept, "HF_TOKEN"));
    assert_string_equal(given, kept);
    free(kept);
    free(given);
    free(readme);
    free(ini);
    free(folder);
    fake_end(&fake);
}

static void export_and_read_it_again(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const char *session = tune_session_folder(fake.session);
    char *folder = path_join(fake.folder, "given");
    assert_true(tune_bundle_write(session, folder, NULL, NULL, &err));
    static const struct {
        const char *name, *has;
    } files[] = {{"kernel.py", "# latency 700"},
                 {"reference.py", "def get_inputs()"},
                 {"attempts/000.py", "# latency 1000"},
                 {"attempts/001.py", "# latency 700"},
                 {"attempts/001.json", "\"decision\":\t\"keep\""},
                 {"README.md", "hone sim . "},
                 {"README.md", " --device trn2"},
                 {"events.jsonl", "\"event\":\"decided\""},
                 {"experiments.jsonl", "\"status\":\"improved\""},
                 {"optimization_memory/rewrites.json", "\"title\":\t\"one\""},
                 {"session.json", "\"seeds\""}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *text = read_in(folder, files[i].name);
        if (!strstr(text, files[i].has))
            fail_msg("%s lacks %s:\n%s", files[i].name, files[i].has, text);
        free(text);
    }
    no_word_of(folder, fake.folder);
    events_give_the_same(&fake, folder);
    assert_false(tune_bundle_write(session, folder, NULL, NULL, &err));
    assert_false(tune_bundle_write(fake.folder, "/tmp/hone_never_made", NULL, NULL, &err));
    struct tune_foreign foreign = {0};
    assert_true(tune_foreign_read(folder, &foreign, &err));
    assert_int_equal(foreign.attempts.len, 2);
    assert_string_equal(foreign.attempts.at[1].agent, "hone");
    assert_string_equal(foreign.attempts.at[1].parent, "#0");
    assert_int_equal(foreign.experiences.len, 1);
    assert_string_equal(foreign.experiences.at[0].generation, "trn2");
    assert_string_equal(foreign.experiences.at[0].evidence, "attempt 1 against 0 there");
    assert_true(fabs(foreign.attempts.at[1].speedup - 1000.0 / 700) < 1e-9);
    assert_int_equal(foreign.complaints.len, 0);
    tune_foreign_free(&foreign);
    free(folder);
    fake_end(&fake);
}

/* ---- what became of an export since ---------------------------------------------------------- */

struct files {
    VEC(char *) all;
};

static void files_in(const char *folder, struct files *files) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *path = path_join(folder, entry->d_name);
        if (file_is_dir(path)) {
            files_in(path, files);
            free(path);
        } else {
            *vec_push(&files->all) = path;
        }
    }
    closedir(dir);
}

static void export_made(struct fake *fake, char **folder) {
    struct err err = {0};
    fake_begin(fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
    *folder = path_join(fake->folder, "given");
    assert_true(tune_bundle_write(tune_session_folder(fake->session), *folder, NULL, NULL, &err));
}

static size_t altered_in(const char *folder, struct tune_foreign *foreign) {
    struct err err = {0};
    *foreign = (struct tune_foreign){0};
    (void)!tune_foreign_read(folder, foreign, &err);
    return foreign->altered;
}

/* A flip, a cut or an addition at a random place of a random file. */
static char *alter(char *text, size_t *size, size_t how, uint64_t random) {
    size_t at = (size_t)(random >> 16) % *size;
    if (how % 4 == 1)
        *size = at;
    else if (how % 4 == 3)
        memmove(text + at, text + at + 1, --*size - at);
    else
        text[at] = (char)(text[at] ^ 1 << (random & 7));
    return text;
}

static void alterations_of_an_export_are_noticed(void **unused) {
    (void)unused;
    struct fake fake;
    struct files files = {0};
    struct tune_foreign foreign;
    char *folder;
    export_made(&fake, &folder);
    files_in(folder, &files);
    assert_int_equal(altered_in(folder, &foreign), 0);
    assert_int_equal(foreign.complaints.len, 0);
    tune_foreign_free(&foreign);
    uint64_t seed = (uint64_t)clock_monotonic_ns();
    for (size_t i = 0; i < 80; i++) {
        struct err err = {0};
        uint64_t random = hash_quick(&(uint64_t[2]){seed, i}, 16);
        const char *path = files.all.at[random % files.all.len];
        size_t size = 0;
        char *was = file_read(path, 0, &size, &err), *text = mem_alloc(size + 1, 1);
        assert_true(was && size);
        memcpy(text, was, size);
        size_t changed = size;
        alter(text, &changed, i, random);
        assert_true(file_write(path, text, changed, &err));
        if (!altered_in(folder, &foreign) || !foreign.complaints.len)
            fail_msg("seed %llu, change %zu of %s was not noticed", (unsigned long long)seed, i,
                     path);
        for (size_t k = 0; k < foreign.attempts.len; k++)
            assert_non_null(strstr(foreign.attempts.at[k].source, " (altered)"));
        for (size_t k = 0; k < foreign.experiences.len;
             k++) /* it may read as another agent's now */
            if (!strstr(foreign.experiences.at[k].source, " (altered), "))
                fail_msg("seed %llu, change %zu of %s: an experience is from %s",
                         (unsigned long long)seed, i, path, foreign.experiences.at[k].source);
        tune_foreign_free(&foreign);
        assert_true(file_write(path, was, size, &err));
        free(text);
        free(was);
    }
    for (size_t i = 0; i < files.all.len; i++)
        free(files.all.at[i]);
    vec_free(&files.all);
    free(folder);
    fake_end(&fake);
}

/* One that is gone, one that joined, and a list that is gone. A list may name anything. */
static void files_of_an_export_come_and_go(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    struct tune_foreign foreign;
    char *folder;
    export_made(&fake, &folder);
    char *readme = path_join(folder, "README.md"), *list = path_join(folder, "SHA256SUMS");
    fake_file(folder, "candidates.jsonl", "{\"candidate\": \"v1\", \"passed\": true}\n");
    assert_int_equal(altered_in(folder, &foreign), 1);
    assert_non_null(strstr(foreign.complaints.at[0], "not part of the export"));
    tune_foreign_free(&foreign);
    assert_int_equal(unlink(readme), 0);
    assert_int_equal(altered_in(folder, &foreign), 1);
    assert_non_null(strstr(foreign.complaints.at[0], "changed since the export: README.md."));
    tune_foreign_free(&foreign);
    static const char outside[] = "# 2 files of an export by hone. To check them: sha256sum -c "
                                  "SHA256SUMS\n"
                                  "0123456789012345678901234567890123456789012345678901234567890123"
                                  "  ../kernel.py\n"
                                  "0123456789012345678901234567890123456789012345678901234567890123"
                                  "  /dev/zero\n";
    assert_true(file_write(list, outside, sizeof outside - 1, &err));
    assert_int_equal(altered_in(folder, &foreign), 2);
    assert_non_null(strstr(foreign.complaints.at[0], "SHA256SUMS, SHA256SUMS. What"));
    tune_foreign_free(&foreign);
    assert_int_equal(unlink(list), 0);
    assert_int_equal(altered_in(folder, &foreign), 0);
    assert_non_null(strstr(foreign.complaints.at[0], "has no SHA256SUMS"));
    tune_foreign_free(&foreign);
    free(list);
    free(readme);
    free(folder);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_twice),
        cmocka_unit_test(export_and_read_it_again),
        cmocka_unit_test(folders_of_this_machine_stay_here),
        cmocka_unit_test(a_task_inside_a_model_is_exported),
        cmocka_unit_test(alterations_of_an_export_are_noticed),
        cmocka_unit_test(files_of_an_export_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
