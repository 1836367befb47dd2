/* SPDX-License-Identifier: Apache-2.0 */
/* What references made is kept for the next time: shared, limited, and made again when it is not
 * whole or when what it was made of changed. */
#include "task/references.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "task/cache.h"

static void inputs_arrive_and_the_second_time_from_the_cache(void **state) {
    char *path = put(state, "good.py", HEAD INPUTS FORWARD "print('noise {\"id\": 1}')\n");
    struct answers first = {0}, second = {0};
    prepare(path, 21, 20, &first);
    assert_non_null(first.inputs);
    assert_false(first.inputs->from_cache);
    assert_int_equal(first.inputs->count, 2);
    assert_int_equal(first.inputs->values[0].array.dtype, DTYPE_FLOAT32);
    assert_int_equal(first.inputs->values[0].array.shape[0], 4);
    assert_int_equal(first.inputs->values[1].kind, TASK_FLOAT);
    assert_true(first.inputs->values[1].number == 1e-5);
    /* numpy.random.seed(21); normal()[0] */
    float first_number = ((float *)first.inputs->values[0].array.data)[0];
    assert_true(first_number > -0.0520f && first_number < -0.0519f);
    setenv("HONE_PYTHON", "/no/python/is/needed/now", 1);
    prepare(path, 21, 20, &second);
    unsetenv("HONE_PYTHON");
    assert_non_null(second.inputs);
    assert_true(second.inputs->from_cache);
    assert_memory_equal(first.inputs->values[0].array.data, second.inputs->values[0].array.data,
                        48);
    struct task_inputs *shapes = task_inputs_cached(path, 84, true);
    assert_non_null(shapes);
    assert_int_equal(shapes->values[0].array.shape[1], 3);
    assert_null(shapes->values[0].array.data);
    task_inputs_free(shapes);
    assert_null(task_inputs_cached(path, 84, false));
    free_answers(&first);
    free_answers(&second);
    free(path);
}

static void a_changed_reference_or_module_beside_it_is_run_again(void **state) {
    char *module = put(state, "dep/sizes.py", "N = 3\n");
    char *path = put(state, "dep/ref.py",
                     HEAD "import sizes\ndef get_inputs():\n"
                          "    return [np.zeros((sizes.N, 2), np.float32)]\n"
                          "def forward(x):\n    return x\n");
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    assert_int_equal(answers.inputs->values[0].array.shape[0], 3);
    free_answers(&answers);
    free(put(state, "dep/sizes.py", "N = 5000\n"));
    prepare(path, 0, 20, &answers);
    assert_false(answers.inputs->from_cache);
    assert_int_equal(answers.inputs->values[0].array.shape[0], 5000);
    free_answers(&answers);
    free(module);
    free(path);
}

static void processes_that_race_for_an_entry_all_get_it(void **state) {
    char *path = put(state, "race.py", HEAD INPUTS FORWARD);
    pid_t children[4];
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        struct answers answers = {0};
        prepare(path, 42, 30, &answers);
        bool ok = answers.inputs && answers.inputs->count == 2;
        free_answers(&answers);
        _exit(ok ? 0 : 1);
    }
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    free(path);
}

static void the_cache_drops_what_was_used_longest_ago(void **state) {
    char *path = put(state, "lru.py",
                     HEAD "def get_inputs():\n    return [np.ones(65536, np.float32)]\n"
                          "def forward(x):\n    return x\n");
    setenv("HONE_CACHE_LIMIT", "700K", 1);
    for (int64_t seed = 0; seed < 3; seed++) {
        struct answers answers = {0};
        prepare(path, seed, 20, &answers);
        assert_non_null(answers.inputs);
        free_answers(&answers);
    }
    unsetenv("HONE_CACHE_LIMIT");
    struct task_inputs *first = task_inputs_cached(path, 0, false);
    struct task_inputs *last = task_inputs_cached(path, 2, false);
    assert_null(first);
    assert_non_null(last);
    task_inputs_free(last);
    free(path);
}

static bool in_seed(const char *seed, const char *name) {
    char *path = path_join(seed, name);
    bool is = file_is_dir(path);
    free(path);
    return is;
}

static void make_in(const char *seed, const char *name, int age_s) {
    char *path = path_join(seed, name);
    assert_true(file_make_dirs(path, NULL));
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(path);
}

static void half_entries_of_dead_processes_go_at_the_next_start(void **state) {
    char *path = put(state, "half.py", HEAD INPUTS FORWARD);
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    free_answers(&answers);
    char *of = task_cache_of(path, NULL), *seed = task_cache_seed(of, 0);
    make_in(seed, "inputs.dead.part", 60);
    make_in(seed, "inputs.held.part", 60);
    make_in(seed, "inputs.new.part", 0);
    make_in(seed, "inputs.77.tmp", 60);
    char *held = path_join(seed, "inputs.held.part");
    int fd = open(held, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    task_cache_tidy();
    assert_false(in_seed(seed, "inputs.dead.part"));
    assert_true(in_seed(seed, "inputs.held.part"));
    assert_true(in_seed(seed, "inputs.new.part"));
    assert_true(in_seed(seed, "inputs.77.tmp"));
    close(fd);
    task_cache_tidy();
    assert_false(in_seed(seed, "inputs.held.part"));
    struct task_inputs *inputs = task_inputs_cached(path, 0, false);
    assert_non_null(inputs);
    task_inputs_free(inputs);
    free(held);
    free(seed);
    free(of);
    free(path);
}

/* Seen from inside, by what replaces numpy's function that writes an array. */
static void the_harness_holds_what_it_writes(void **state) {
    char *path = put(state, "holds.py",
                     HEAD "import fcntl, os\n"
                          "class Spy:\n"
                          "    def tofile(self, file):\n"
                          "        fd = os.open(os.path.dirname(file.name), os.O_RDONLY)\n"
                          "        try:\n"
                          "            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
                          "        except BlockingIOError:\n"
                          "            return file.write(bytes(8))\n"
                          "        raise ValueError('nobody holds it')\n"
                          "def get_inputs():\n"
                          "    np.ascontiguousarray = lambda value: Spy()\n"
                          "    return [np.ones(2, np.float32)]\n"
                          "def forward(x):\n    return x\n");
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    assert_string_equal(answers.err.text, "");
    assert_non_null(answers.inputs);
    free_answers(&answers);
    free(path);
}

static void a_broken_cache_entry_is_made_again(void **state) {
    char *path = put(state, "broken.py", HEAD INPUTS FORWARD);
    struct answers answers = {0};
    prepare(path, 0, 20, &answers);
    free_answers(&answers);
    char *cache = getenv("XDG_CACHE_HOME");
    struct buf command = {0};
    buf_printf(&command, "for f in %s/hone/references/*/0/inputs/data.bin; do : > $f; done", cache);
    assert_int_equal(system(command.at), 0);
    buf_free(&command);
    prepare(path, 0, 20, &answers);
    assert_non_null(answers.inputs);
    assert_false(answers.inputs->from_cache);
    free_answers(&answers);
    free(path);
}

static size_t references_in_cache(void) {
    char *folder = path_cache("references");
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    free(folder);
    return count;
}

static void folders_with_the_same_reference_share_what_it_made(void **state) {
    static const char text[] = HEAD "import sizes\ndef get_inputs():\n"
                                    "    return [np.zeros((sizes.N, 3), np.float32)]\n" FORWARD;
    static const char *const folders[] = {"share1", "share2", "share3"};
    size_t before = references_in_cache();
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        char name[40];
        snprintf(name, sizeof name, "%s/sizes.py", folders[i]);
        free(put(state, name, i == 2 ? "N = 6\n" : "N = 4\n"));
        snprintf(name, sizeof name, "%s/unrelated%zu.py", folders[i], i);
        free(put(state, name, "x = 1\n"));
        snprintf(name, sizeof name, "%s/reference.py", folders[i]);
        char *path = put(state, name, text);
        struct answers answers = {0};
        prepare(path, 0, 20, &answers);
        assert_int_equal(answers.inputs->from_cache, i == 1);
        assert_int_equal(answers.inputs->values[0].array.shape[0], i == 2 ? 6 : 4);
        assert_true(answers.inputs->python[0] == '3' && answers.inputs->numpy[0]);
        free_answers(&answers);
        free(path);
    }
    assert_int_equal(references_in_cache(), before + 2);
}

static void a_reference_that_reads_a_file_goes_by_it(void **state) {
    static const char text[] =
        HEAD "import os\ndef get_inputs():\n"
             "    with open(os.path.join(os.path.dirname(__file__), 'n.txt')) as file:\n"
             "        return [np.zeros((int(file.read()), 3), np.float32)]\n" FORWARD;
    char *first = put(state, "read1/reference.py", text);
    char *second = put(state, "read2/reference.py", text);
    static const struct {
        const char *name, *n;
        bool second;
        int rows;
    } all[] = {{"read1/n.txt", "4", false, 4},
               {"read2/n.txt", "5", true, 5},
               {"read1/n.txt", "7", false, 7},
               {"read2/n.txt", "5", true, 5}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        free(put(state, all[i].name, all[i].n));
        struct answers answers = {0};
        prepare(all[i].second ? second : first, 0, 20, &answers);
        assert_non_null(answers.inputs);
        assert_int_equal(answers.inputs->values[0].array.shape[0], all[i].rows);
        assert_int_equal(answers.inputs->from_cache, i == 3);
        free_answers(&answers);
    }
    free(first);
    free(second);
}

/* Another process empties the cache all the time. Things take longer and succeed. */
static void nobody_is_harmed_by_one_who_empties_the_cache(void **state) {
    char *path = put(state, "emptied.py", HEAD INPUTS FORWARD);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        while (getppid() == parent) {
            (void)task_cache_empty();
            usleep(1000);
        }
        _exit(0);
    }
    float data[12] = {0};
    struct array output = {DTYPE_FLOAT32, 2, {4, 3}, data};
    for (int i = 0; i < 3; i++) {
        struct answers answers = {0};
        compare(path, &output, 1, &answers);
        if (!answers.inputs || !answers.compared)
            fail_msg("%s", answers.err.text);
        free_answers(&answers);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(task_cache_empty() < UINT64_MAX);
    free(path);
}

/* What is told to be done is a command that there is. */
static void without_a_recording_it_is_said_how_to_make_one(void **state) {
    char *path = put(state, "reference.py", HEAD INPUTS FORWARD);
    struct err err = {0};
    size_t size;
    assert_null(task_graph_read(path, &size, &err));
    assert_non_null(strstr(err.text, "not recorded; hone clean makes room"));
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_recording_it_is_said_how_to_make_one),
        cmocka_unit_test(inputs_arrive_and_the_second_time_from_the_cache),
        cmocka_unit_test(a_changed_reference_or_module_beside_it_is_run_again),
        cmocka_unit_test(processes_that_race_for_an_entry_all_get_it),
        cmocka_unit_test(the_cache_drops_what_was_used_longest_ago),
        cmocka_unit_test(half_entries_of_dead_processes_go_at_the_next_start),
        cmocka_unit_test(the_harness_holds_what_it_writes),
        cmocka_unit_test(a_broken_cache_entry_is_made_again),
        cmocka_unit_test(folders_with_the_same_reference_share_what_it_made),
        cmocka_unit_test(a_reference_that_reads_a_file_goes_by_it),
        cmocka_unit_test(nobody_is_harmed_by_one_who_empties_the_cache),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
