/* SPDX-License-Identifier: Apache-2.0 */
/* References that try what they should not, behind each wall that this machine can have. The result
 * of a try comes back as its error: "got in" or "kept out". */
#include "task/workbench.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>

#include "task/task.h"

#define LIMIT_S 60

struct place {
    char *home, *outside, *secret;
    int listener, port;
};

struct answer {
    struct err err;
    bool done;
};

static void on_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct answer *answer = data;
    task_inputs_free(inputs);
    answer->done = true;
    if (err)
        answer->err = *err;
}

/* Runs a reference behind a wall. Returns what it raised, or "" when all was well. */
static struct err run_reference(const char *path, const char *wall, const char *shown,
                                double limit_s) {
    struct loop *loop = loop_new();
    struct answer answer = {0};
    const struct task_walling walling = {wall, shown};
    struct task_reference_limits limits = {
        .seed_s = limit_s, .wall = &walling, .memory_bytes = (uint64_t)4 << 30};
    struct task_reference *reference = task_reference_open(loop, path, &limits, &answer.err);
    assert_non_null(reference);
    task_reference_prepare(reference, 0, on_inputs, &answer);
    assert_true(loop_run_until(loop, &answer.done, LIMIT_S * 1000));
    task_reference_free(reference);
    loop_free(loop);
    return answer.err;
}

/* ----------------------------------------------------------------------------------- the place */

static void open_place(void **state, struct place *place) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char *key = put(state, "home/.ssh/id_x", "geheim");
    place->home = path_join(*state, "home");
    place->outside = path_join(*state, "outside");
    place->secret = key;
    assert_true(file_make_dirs(place->outside, NULL));
    place->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(place->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(place->listener, 8), 0);
    assert_int_equal(getsockname(place->listener, (struct sockaddr *)&address, &size), 0);
    place->port = ntohs(address.sin_port);
    setenv("HOME", place->home, 1);
}

static void close_place(struct place *place) {
    close(place->listener);
    free(place->home);
    free(place->outside);
    free(place->secret);
}

#define HEAD                                             \
    "import os, socket, sys, time\n"                     \
    "import numpy as np\n"                               \
    "def forward(x):\n    return x\n"                    \
    "def get_inputs():\n"                                \
    "    try:\n"                                         \
    "        attempt()\n"                                \
    "    except OSError as problem:\n"                   \
    "        raise ValueError(f'kept out: {problem}')\n" \
    "    raise ValueError('got in')\n"

/* A reference whose attempt() is `body`, with the facts of the place as constants. */
static char *write_attempt(void **state, const struct place *place, const char *body) {
    struct buf text = {0};
    buf_printf(&text,
               "%sHOME, OUTSIDE, SECRET = '%s', '%s', '%s'\nPORT, HONE = %d, %d\n"
               "def attempt():\n%s",
               HEAD, place->home, place->outside, place->secret, place->port, (int)getpid(), body);
    char *path = put(state, "task/reference.py", text.at);
    buf_free(&text);
    return path;
}

static const char *const walls[] = {"limits", "landlock", "namespaces", "bubblewrap"};

static bool has_wall(const char *name) {
    struct wall *wall = wall_new();
    struct err err = {0};
    bool there = wall_choose(wall, name, &err);
    wall_free(wall);
    if (!there)
        print_message("no wall \"%s\" here: %s\n", name, err.text);
    return there;
}

/* ------------------------------------------------------------------------------------ attempts */

/* The wall from which on it is kept out. */
static const struct {
    const char *name, *body, *from;
} attempts[] = {
    {"a key in the home folder", "    open(SECRET).read()\n", "landlock"},
    {"the list of the home folder", "    os.listdir(HOME + '/.ssh')\n", "landlock"},
    {"a connection to this machine", "    socket.create_connection(('127.0.0.1', PORT), 5)\n",
     "landlock"},
    {"a file elsewhere", "    open(OUTSIDE + '/file', 'w').write('x')\n", "landlock"},
    {"a file beside itself", "    open(os.path.dirname(__file__) + '/more.py', 'w').write('x')\n",
     "landlock"},
    {"a file in /usr",
     "    open('/usr/hone-was-here', 'w').close()\n    os.unlink('/usr/hone-was-here')\n",
     "landlock"},
    {"a file of more than there is room for",
     "    with open(os.environ['TMPDIR'] + '/big', 'wb') as f:\n"
     "        f.truncate(100 << 30)\n",
     "limits"},
    {"the end of hone", "    os.kill(HONE, 9)\n", "landlock"},
    {"the environment of hone", "    open(f'/proc/{HONE}/environ', 'rb').read()\n", "landlock"},
    {"the memory of hone", "    open(f'/proc/{HONE}/mem', 'rb')\n", "landlock"},
    {"a mount",
     "    import ctypes\n    libc = ctypes.CDLL(None, use_errno=True)\n"
     "    if libc.mount(b'x', b'/tmp', b'tmpfs', 0, None) != 0:\n"
     "        raise OSError(ctypes.get_errno(), 'mount')\n",
     "limits"},
    {"a core file",
     "    import resource\n"
     "    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:\n        raise OSError('no core')\n",
     "limits"},
    {"a new user namespace",
     "    import ctypes\n    libc = ctypes.CDLL(None, use_errno=True)\n"
     "    if libc.unshare(0x10000000) != 0:\n        raise OSError(ctypes.get_errno(), "
     "'unshare')\n",
     "landlock"},
    {"the session beside the task",
     "    open(os.path.dirname(__file__) + '/.hone/session.db').read()\n", "namespaces"},
};

static size_t rank_of(const char *wall) {
    for (size_t i = 0; i < COUNT_OF(walls); i++)
        if (wall && strcmp(walls[i], wall) == 0)
            return i;
    return COUNT_OF(walls);
}

static void what_a_wall_is_for_is_kept_out(void **state) {
    struct place place = {0};
    open_place(state, &place);
    free(put(state, "task/.hone/session.db", "prompts"));
    for (size_t w = 0; w < COUNT_OF(walls); w++) {
        if (!has_wall(walls[w]))
            continue;
        for (size_t i = 0; i < COUNT_OF(attempts); i++) {
            if (w < rank_of(attempts[i].from))
                continue;
            char *path = write_attempt(state, &place, attempts[i].body);
            struct err err = run_reference(path, walls[w], NULL, 30);
            if (!strstr(err.text, "kept out"))
                fail_msg("%s, behind %s: %s", attempts[i].name, walls[w], err.text);
            free(path);
        }
    }
    close_place(&place);
}

/* Whether a process runs that has the word among its arguments. */
static bool is_running(const char *word) {
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    bool found = false;
    while (dir && !found && (entry = readdir(dir))) {
        char path[300], text[256] = "";
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            (void)fclose(file);
        found = n && memmem(text, n, word, strlen(word));
    }
    if (dir)
        closedir(dir);
    return found;
}

static void nothing_outlives_an_evaluation(void **state) {
    struct place place = {0};
    open_place(state, &place);
    for (size_t w = 0; w < COUNT_OF(walls); w++) {
        if (!has_wall(walls[w]))
            continue;
        char word[40], body[600];
        snprintf(word, sizeof word, "%d.%zu", 70000 + (int)getpid() % 9999, w + 11);
        snprintf(body, sizeof body,
                 "    if os.fork() == 0:\n"
                 "        try:\n            os.setsid()\n"
                 "        except OSError:\n            pass\n"
                 "        if os.fork() == 0:\n"
                 "            os.execvp('sleep', ['sleep', '%s'])\n"
                 "        os._exit(0)\n"
                 "    os.wait()\n    time.sleep(0.3)\n",
                 word);
        char *path = write_attempt(state, &place, body);
        struct err err = run_reference(path, walls[w], NULL, 30);
        assert_non_null(strstr(err.text, "got in"));
        for (int i = 0; i < 100 && is_running(word); i++)
            usleep(50000);
        if (is_running(word))
            fail_msg("behind %s: sleep %s still runs", walls[w], word);
        free(path);
    }
    close_place(&place);
}

static void a_flood_is_stopped(void **state) {
    struct place place = {0};
    open_place(state, &place);
    for (size_t w = 0; w < COUNT_OF(walls); w++) {
        if (!has_wall(walls[w]))
            continue;
        char *path =
            write_attempt(state, &place, "    while True:\n        print('x' * 1000000)\n");
        struct err err = run_reference(path, walls[w], NULL, 50);
        if (!strstr(err.text, "printed without end"))
            fail_msg("behind %s: %s", walls[w], err.text);
        free(path);
    }
    close_place(&place);
}

static void is_ended_for_its_processes(void **state, struct place *place, const char *body) {
    for (size_t w = 0; w < COUNT_OF(walls); w++) {
        if (!has_wall(walls[w]))
            continue;
        char *path = write_attempt(state, place, body);
        struct err err = run_reference(path, walls[w], NULL, 50);
        if (!strstr(err.text, "kept out") && !strstr(err.text, "processes; it was ended"))
            fail_msg("behind %s: %s", walls[w], err.text);
        free(path);
    }
}

/* Children that only sleep, as many as exceed the limit. A machine can bear that many. */
static void processes_are_counted(void **state) {
    struct place place = {0};
    char body[400];
    open_place(state, &place);
    snprintf(body, sizeof body,
             "    for i in range(%u):\n"
             "        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n"
             "    time.sleep(20)\n",
             wall_processes() + 50);
    is_ended_for_its_processes(state, &place, body);
    close_place(&place);
}

/* Only a limit of the system itself is fast enough for this one. */
static void processes_without_end_are_ended(void **state) {
    char *groups = os_groups_find();
    bool is_limited = geteuid() != 0 || groups;
    struct place place = {0};
    free(groups);
    if (!is_limited) {
        print_message("root, and no control groups to make here: skipped\n");
        skip();
    }
    open_place(state, &place);
    is_ended_for_its_processes(state, &place, "    while True:\n        os.fork()\n");
    close_place(&place);
}

static void memory_is_limited(void **state) {
    struct place place = {0};
    open_place(state, &place);
    for (size_t w = 0; w < COUNT_OF(walls); w++) {
        if (!has_wall(walls[w]))
            continue;
        char *path = write_attempt(state, &place, "    x = bytearray(8 << 30)\n");
        struct err err = run_reference(path, walls[w], NULL, 50);
        if (!strstr(err.text, "out of memory"))
            fail_msg("behind %s: %s", walls[w], err.text);
        free(path);
    }
    close_place(&place);
}

/* --------------------------------------------------------------------------- what has to go on */

static const char *const honest =
    "import json, os, random, subprocess, sys, tempfile, threading\n"
    "import numpy as np\n"
    "import helper\n"
    "from parts import piece\n"
    "here = os.path.dirname(os.path.abspath(__file__))\n"
    "def get_inputs():\n"
    "    weights = np.load(os.path.join(here, 'data', 'weights.npy'))\n"
    "    more = open(os.environ['XDATA'] if 'XDATA' in os.environ else SHOWN).read()\n"
    "    with tempfile.NamedTemporaryFile('w') as file:\n"
    "        file.write('scratch')\n"
    "    os.makedirs(os.path.expanduser('~/.cache/lib'), exist_ok=True)\n"
    "    open(os.path.expanduser('~/.cache/lib/x'), 'w').write('x')\n"
    "    assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).returncode "
    "== 0\n"
    "    thread = threading.Thread(target=helper.twice, args=(1,))\n"
    "    thread.start(); thread.join()\n"
    "    a = np.random.normal(size=(64, 64)).astype(np.float32)\n"
    "    return [np.linalg.inv(a @ a.T + 64 * np.eye(64, dtype=np.float32)) + weights[0]]\n"
    "def forward(x):\n    return helper.twice(x) + piece.ONE\n";

static void honest_references_work(void **state) {
    struct place place = {0};
    open_place(state, &place);
    struct buf text = {0};
    char *shown = put(state, "shared/more.txt", "more");
    char *given = path_join(*state, "shared");
    buf_printf(&text, "SHOWN = '%s'\n%s", shown, honest);
    for (size_t w = 0; w < COUNT_OF(walls); w++) {
        char again[40];
        snprintf(again, sizeof again, "# %s\n", walls[w]);
        buf_puts(&text, again);
        char *path = put(state, "task/reference.py", text.at);
        free(put(state, "task/helper.py", "def twice(x):\n    return 2 * x\n"));
        free(put(state, "task/parts/piece.py", "ONE = 1\n"));
        char *data = put(state, "task/data/weights.npy", "");
        static const char header[] = "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, "
                                     "'shape': (1,), }";
        char bytes[132];
        memset(bytes, ' ', sizeof bytes);
        memcpy(bytes, header, sizeof header - 1);
        bytes[127] = '\n';
        memset(bytes + 128, 0, 4);
        assert_true(file_write(data, bytes, sizeof bytes, NULL));
        free(data);
        if (has_wall(walls[w])) {
            struct err err = run_reference(path, walls[w], given, 50);
            if (err.kind != ERR_NONE)
                fail_msg("behind %s: %s", walls[w], err.text);
        }
        free(path);
    }
    buf_free(&text);
    free(shown);
    free(given);
    close_place(&place);
}

/* An environment in a home folder is a shown folder with links that lead out of it. A task may
 * consist of links, too. */
static void links_out_of_what_is_shown_work(void **state) {
    static const char python[] = "/usr/bin/python3";
    struct place place = {0};
    char *before = mem_strdup(getenv("PATH"));
    struct buf search = {0};
    open_place(state, &place);
    char *link = put(state, "home/venv/bin/python3", "");
    char *folder = path_join(place.home, "venv/bin");
    buf_printf(&search, "%s:/usr/bin:/bin", folder);
    unlink(link);
    assert_int_equal(symlink(python, link), 0);
    setenv("PATH", search.at, 1);
    for (size_t w = 0; w < COUNT_OF(walls) && access(python, X_OK) == 0; w++) {
        struct buf text = {0};
        buf_printf(&text,
                   "# %s\nimport numpy as np\ndef get_inputs():\n    return [np.ones(4)]\n"
                   "def forward(x):\n    return x\n",
                   walls[w]);
        char *path = put(state, "links/reference.py", "");
        struct err err = {0};
        unlink(path);
        char *real = put(state, "elsewhere/reference.py", text.at);
        assert_int_equal(symlink(real, path), 0);
        if (has_wall(walls[w]))
            err = run_reference(path, walls[w], NULL, 50);
        if (err.kind != ERR_NONE)
            fail_msg("behind %s: %s", walls[w], err.text);
        buf_free(&text);
        free(path);
        free(real);
    }
    setenv("PATH", before, 1);
    buf_free(&search);
    free(before);
    free(folder);
    free(link);
    close_place(&place);
}

/* The home folder is the task's own. What is in it is seen, except for names with a dot. */
static void a_task_in_the_home_folder_shows_no_keys(void **state) {
    struct place place = {0};
    open_place(state, &place);
    free(put(state, "home/helper.py", "WORD = 'helped'\n"));
    char *written = write_attempt(state, &place,
                                  "    import helper\n    assert helper.WORD == 'helped'\n"
                                  "    open(SECRET).read()\n");
    char *text = file_read(written, 0, NULL, NULL);
    char *path = put(state, "home/reference.py", text);
    for (size_t w = 1; w < COUNT_OF(walls); w++) {
        if (!has_wall(walls[w]))
            continue;
        struct err err = run_reference(path, walls[w], NULL, 30);
        if (!strstr(err.text, "kept out"))
            fail_msg("behind %s: %s", walls[w], err.text);
    }
    free(text);
    free(path);
    free(written);
    close_place(&place);
}

static void a_wall_that_cannot_be_had_is_said(void **state) {
    struct place place = {0};
    char *search = mem_strdup(getenv("PATH"));
    open_place(state, &place);
    setenv("PATH", "/nowhere", 1);
    char *path = write_attempt(state, &place, "    pass\n");
    setenv("HONE_PYTHON", "/usr/bin/python3", 1);
    struct err err = run_reference(path, "bubblewrap", NULL, 30);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "install bubblewrap"));
    err = run_reference(path, "auto", NULL, 30);
    assert_non_null(strstr(err.text, "got in"));
    setenv("PATH", search, 1);
    unsetenv("HONE_PYTHON");
    free(search);
    free(path);
    close_place(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_wall_is_for_is_kept_out),
        cmocka_unit_test(nothing_outlives_an_evaluation),
        cmocka_unit_test(a_flood_is_stopped),
        cmocka_unit_test(processes_are_counted),
        cmocka_unit_test(processes_without_end_are_ended),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(honest_references_work),
        cmocka_unit_test(links_out_of_what_is_shown_work),
        cmocka_unit_test(a_task_in_the_home_folder_shows_no_keys),
        cmocka_unit_test(a_wall_that_cannot_be_had_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
