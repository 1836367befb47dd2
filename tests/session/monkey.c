/* SPDX-License-Identifier: Apache-2.0 */
/* Random keys, resizes, signals and kills in every screen of the workbench while rounds run. After
 * each handful, Esc must close all that is open, the command line must answer and an idle program
 * must not use the processor. The seed is printed; HONE_MONKEY_SEED repeats its keys,
 * HONE_MONKEY_SECONDS goes on for longer, HONE_MONKEY_LOG keeps what was typed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "session/expect.h"
#include "session/small.h"

struct monkey {
    struct place *place;
    struct terminal *terminal;
    uint64_t seed, state;
    FILE *log;
    int handfuls, starts;
};

static uint64_t roll(struct monkey *monkey, uint64_t n) {
    uint64_t x = monkey->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % n;
}

/* What a person types most, doubled where it leads to more. */
static const char *const keys[] = {
    "s",
    "s",
    "a",
    "a",
    "a",
    "r",
    "n",
    "P",
    "R",
    "u",
    "U",
    "y",
    "y",
    "h",
    "d",
    "z",
    "e",
    "w",
    "t",
    "f",
    "F",
    "K",
    "/",
    "?",
    ":",
    "g",
    "G",
    "l",
    "m",
    "o",
    "x",
    "p",
    "c",
    " ",
    "\r",
    "\r",
    "\t",
    "\033[Z",
    "\033[A",
    "\033[B",
    "\033[B",
    "\033[C",
    "\033[D",
    "\033[5~",
    "\033[6~",
    "\033[H",
    "\033[F",
    "\x04",
    "\x15",
    "\x0c",
    "\x7f",
    "{",
    "}",
    ".",
    "<",
    ">",
    "+",
    "-",
    "N",
    "i",
    "j",
    "k",
    "b",
    "3",
    "12",
    "0",
    "1",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "\033OP",
    "\033x",
    "\xff",
    "\xe2\x80\xae",
    "\x01",
    "q",
    "\033",
    "\033",
    "v",
    "M",
    "D",
    "E",
    "S",
    "L",
    "\033[M !!",
    "\033[<0;20;10M",
    "\033[<0;20;10m",
    "\033[<64;90;30M",
    "\033[200~pasted q\r\033[201~",
    "\033[",
    "\033]0;t\007",
    "\033P1$r\033\\",
};

static const char *const lines[] = {
    "gate all auto",
    "gate all ask",
    "gate plan auto-green",
    "budget rounds 3",
    "budget rounds 50",
    "undo",
    "redo",
    "revert 0",
    "revert 1",
    "filter a",
    "filter (",
    "filter",
    "explain MFU",
    "explain",
    "sweep",
    "sweep TILE=1,2",
    "search greedy",
    "search beam:2,2",
    "tolerance 1e-3",
    "tolerance x",
    "precision any",
    "precision keep",
    "measure",
    "compare 0 1",
    "scores",
    "rewrites",
    "parent 0",
    "calls",
    "settings",
    "allow x",
    "take-files",
    "keep-files",
    "overrule",
    "hold",
    "why",
    "summary",
    "lanes",
    "repaint",
    "leave",
    "send",
    "answer-here",
    "retry",
    "another",
    "order latency",
};

static const int sizes[][2] = {{120, 40}, {80, 24}, {1, 1},    {20, 5},   {300, 100},
                               {79, 24},  {80, 23}, {200, 60}, {119, 39}, {81, 25}};

static void note(struct monkey *monkey, const char *what, const char *bytes) {
    if (!monkey->log)
        return;
    fprintf(monkey->log, "%s ", what);
    for (; *bytes; bytes++)
        fprintf(monkey->log, isprint((unsigned char)*bytes) ? "%c" : "\\x%02x",
                (unsigned char)*bytes);
    fputc('\n', monkey->log);
    fflush(monkey->log);
}

static void type(struct monkey *monkey, const char *bytes) {
    note(monkey, "type", bytes);
    terminal_type(monkey->terminal, bytes);
}

static void start(struct monkey *monkey) {
    const char *program = getenv("HONE_PROGRAM");
    const char *const argv[] = {program ? program : HONE_BINARY_DIR "/hone", "small",
                                roll(monkey, 4) ? NULL : "--search", "beam:2,2", NULL};
    note(monkey, "start", "");
    monkey->starts++;
    monkey->terminal = terminal_start(argv, monkey->place->env, 120, 40);
}

static void read_proc(int pid, const char *name, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "r");
    size_t len = file ? fread(text, 1, size - 1, file) : 0;
    text[len] = 0;
    if (file)
        fclose(file);
}

/* A child of the program, as somebody's kill or the system's lack of memory takes one away. The
 * leak sanitizer's tracer, at the end, looks like the program and is spared. */
static void kill_a_child(struct monkey *monkey) {
    int pid = (int)terminal_pid(monkey->terminal), child;
    char name[64], all[512], own[512], other[512];
    snprintf(name, sizeof name, "task/%d/children", pid);
    read_proc(pid, name, all, sizeof all);
    if ((child = atoi(all)) <= 1)
        return;
    read_proc(pid, "cmdline", own, sizeof own);
    read_proc(child, "cmdline", other, sizeof other);
    if (strcmp(own, other) == 0 && strcmp(own + strlen(own) + 1, other + strlen(other) + 1) == 0)
        return;
    note(monkey, "kill child", "");
    kill(child, SIGKILL);
}

static void resize(struct monkey *monkey) {
    const int *size = sizes[roll(monkey, COUNT_OF(sizes))];
    char text[32];
    snprintf(text, sizeof text, "%dx%d", size[0], size[1]);
    note(monkey, "resize", text);
    terminal_resize(monkey->terminal, size[0], size[1]);
}

static void type_line(struct monkey *monkey) {
    type(monkey, ":");
    type(monkey, lines[roll(monkey, COUNT_OF(lines))]);
    type(monkey, roll(monkey, 8) ? "\r" : "\t");
}

static void act(struct monkey *monkey) {
    uint64_t kind = roll(monkey, 100);
    if (kind < 4)
        resize(monkey);
    else if (kind < 10)
        type_line(monkey);
    else if (kind < 11)
        kill_a_child(monkey);
    else if (kind < 12)
        kill(-terminal_pid(monkey->terminal), SIGCONT);
    else
        type(monkey, keys[roll(monkey, COUNT_OF(keys))]);
    if (roll(monkey, 3) == 0)
        terminal_read(monkey->terminal, (int)roll(monkey, 40));
}

static void fail_with(struct monkey *monkey, const char *what) {
    fprintf(stderr, "seed %llu, handful %d: %s\n%s\n", (unsigned long long)monkey->seed,
            monkey->handfuls, what, terminal_screen(monkey->terminal));
    fail();
}

/* True when it left, as `q` and `y` may make it; starts it again. */
static bool left(struct monkey *monkey) {
    int status;
    if (!terminal_ended(monkey->terminal, &status))
        return false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_with(monkey, "it ended badly");
    note(monkey, "left", "");
    terminal_free(monkey->terminal);
    start(monkey);
    return true;
}

/* Esc until all is closed. On a loaded machine Esc and the next key may come as one, Alt-key, so
 * the pauses are long and what follows is tried more than once. */
static bool close_all(struct monkey *monkey) {
    for (int i = 0; i < 20; i++) {
        type(monkey, "\033");
        terminal_read(monkey->terminal, 60 + 20 * i);
        if (i > 2 && strstr(terminal_screen(monkey->terminal), "nothing is open; q leaves hone"))
            return true;
    }
    return false;
}

/* The editor may be open, an answer half typed, the program stopped: from all of that, Esc and the
 * command line lead back. */
static void come_back(struct monkey *monkey) {
    char line[32], answer[64];
    kill(-terminal_pid(monkey->terminal), SIGCONT);
    note(monkey, "calm", "");
    terminal_resize(monkey->terminal, 120, 40);
    bool closed = false;
    for (int again = 0; again < 5; again++) {
        closed = close_all(monkey);
        if (left(monkey))
            return;
        terminal_read(monkey->terminal, 100 << again);
        snprintf(line, sizeof line, ":zz%d%c\r", monkey->handfuls, 'a' + again);
        snprintf(answer, sizeof answer, "no command is called 'zz%d%c'", monkey->handfuls,
                 'a' + again);
        type(monkey, line);
        terminal_read(monkey->terminal, 100 << again);
        if (closed && strstr(terminal_screen(monkey->terminal), answer))
            return;
    }
    if (!left(monkey))
        fail_with(monkey, closed ? "it does not answer" : "Esc does not close what is open");
}

/* Processor time so far, in ticks. */
static long ticks(const struct monkey *monkey) {
    char text[1024];
    long user = 0, kernel = 0;
    read_proc((int)terminal_pid(monkey->terminal), "stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    if (at)
        sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &kernel);
    return user + kernel;
}

/* Paused and with nothing open, it must rest: in one of some looks it uses less than half a
 * processor. */
static void it_rests(struct monkey *monkey) {
    terminal_type(monkey->terminal, ":gate all ask\r");
    for (int look = 0; look < 100; look++) {
        long before = ticks(monkey);
        terminal_read(monkey->terminal, 200);
        if ((ticks(monkey) - before) * 1000 / sysconf(_SC_CLK_TCK) < 100)
            return;
    }
    fail_with(monkey, "it does not rest");
}

/* An editor that changes the file each time in another way, and sometimes fails. */
static void make_editor(struct monkey *monkey) {
    static const char script[] =
        "#!/bin/sh\nn=$(wc -c <\"$0.n\" 2>/dev/null || echo 0)\necho >>\"$0.n\"\n"
        "case $((n % 5)) in\n0) sed -i \"1s/^/# $n by hand\\n/\" \"$1\" ;;\n"
        "1) exit 1 ;;\n2) sed -i 's/TILE_N = .*/TILE_N = 128/' \"$1\" ;;\n"
        "3) printf 'x\\033[31m \\000\\377(' >>\"$1\" ;;\nesac\n";
    struct err err;
    struct place *place = monkey->place;
    assert_true(file_write("editor", script, strlen(script), &err));
    assert_int_equal(chmod("editor", 0700), 0);
    snprintf(place->editor_env, sizeof place->editor_env, "EDITOR=%s/editor", place->home);
}

static void keys_at_random(void **state) {
    const char *seed = getenv("HONE_MONKEY_SEED"), *seconds = getenv("HONE_MONKEY_SECONDS");
    const char *log = getenv("HONE_MONKEY_LOG");
    struct monkey monkey = {.place = *state, .log = log ? fopen(log, "w") : NULL};
    uint64_t end = clock_monotonic_ns() + (seconds ? strtoull(seconds, NULL, 10) : 12) * 1000000000;
    monkey.seed = monkey.state = seed ? strtoull(seed, NULL, 10) : clock_monotonic_ns();
    fprintf(stderr, "HONE_MONKEY_SEED=%llu\n", (unsigned long long)monkey.seed);
    make_small_task();
    make_editor(&monkey);
    start(&monkey);
    expect(monkey.terminal, "? keys");
    while (clock_monotonic_ns() < end) {
        for (uint64_t left_over = 5 + roll(&monkey, 60); left_over > 0; left_over--)
            act(&monkey);
        if (!left(&monkey))
            come_back(&monkey);
        monkey.handfuls++;
    }
    it_rests(&monkey);
    fprintf(stderr, "%d handfuls, started %d times\n", monkey.handfuls, monkey.starts);
    terminal_free(monkey.terminal);
    if (monkey.log)
        fclose(monkey.log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_at_random, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
