/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program in a pseudo-terminal and keeps its screen with libvterm. It waits for what is
 * shown, never for a time. */
#include "session/terminal.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include "base/base.h"

#define LIMIT_MS 60000

struct terminal {
    pid_t pid;
    int fd, status;
    bool ended, alternate, cursor;
    VTerm *vterm;
    VTermScreen *screen;
    struct buf text;
    struct buf title; /* the window's title, as last set */
    int escaping;     /* 1: after an escape, 2: in a title, 3: after an escape in it */
    int bells;
};

/* Titles (OSC 2) and bells. The library's own call for titles differs between its versions. */
static void listen(struct terminal *terminal, const char *bytes, size_t len) {
    static const char begin[] = "2;";
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        if (terminal->escaping == 0)
            terminal->bells += c == '\a';
        if (terminal->escaping == 2 && c != '\033')
            buf_putc(&terminal->title, c);
        if (terminal->escaping == 1 && c == ']')
            buf_clear(&terminal->title);
        terminal->escaping = terminal->escaping == 3               ? 0
                             : c == '\033'                         ? terminal->escaping ? 3 : 1
                             : terminal->escaping == 1 && c == ']' ? 2
                             : terminal->escaping == 2             ? 2
                                                                   : 0;
    }
    if (terminal->escaping == 0 && terminal->title.len &&
        str_starts(buf_str(&terminal->title), begin)) {
        char *name = mem_strdup(terminal->title.at + strlen(begin));
        buf_clear(&terminal->title);
        buf_puts(&terminal->title, name);
        free(name);
    }
}

static int on_property(VTermProp prop, VTermValue *value, void *data) {
    struct terminal *terminal = data;
    if (prop == VTERM_PROP_ALTSCREEN)
        terminal->alternate = value->boolean;
    if (prop == VTERM_PROP_CURSORVISIBLE)
        terminal->cursor = value->boolean;
    return 1;
}

static void on_output(const char *bytes, size_t len, void *data) {
    struct terminal *terminal = data;
    if (terminal->fd >= 0 && write(terminal->fd, bytes, len) < 0)
        terminal->ended = terminal->ended || errno == EIO;
}

struct terminal *terminal_start(const char *const *argv, const char *const *env, int cols,
                                int rows) {
    static const VTermScreenCallbacks callbacks = {.settermprop = on_property};
    struct terminal *terminal = mem_alloc(1, sizeof *terminal);
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    terminal->cursor = true;
    terminal->vterm = vterm_new(rows, cols);
    vterm_set_utf8(terminal->vterm, 1);
    vterm_output_set_callback(terminal->vterm, on_output, terminal);
    terminal->screen = vterm_obtain_screen(terminal->vterm);
    vterm_screen_enable_altscreen(terminal->screen, 1);
    vterm_screen_set_callbacks(terminal->screen, &callbacks, terminal);
    vterm_screen_reset(terminal->screen, 1);
    terminal->pid = forkpty(&terminal->fd, NULL, NULL, &size);
    if (terminal->pid == 0) {
        for (size_t i = 0; env && env[i]; i++)
            putenv(mem_strdup(env[i]));
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return terminal;
}

/* Takes what comes within wait_ms. False when nothing did. */
static bool pump(struct terminal *terminal, int wait_ms) {
    char bytes[65536];
    struct pollfd ready = {.fd = terminal->fd, .events = POLLIN};
    if (terminal->fd < 0 || poll(&ready, 1, wait_ms) <= 0)
        return false;
    ssize_t got = read(terminal->fd, bytes, sizeof bytes);
    if (got <= 0) {
        usleep(10000); /* the program closed its side, so poll no longer waits */
        return false;
    }
    listen(terminal, bytes, (size_t)got);
    vterm_input_write(terminal->vterm, bytes, (size_t)got);
    vterm_screen_flush_damage(terminal->screen);
    return true;
}

void terminal_read(struct terminal *terminal, int for_ms) {
    uint64_t end = clock_monotonic_ns() + (uint64_t)for_ms * 1000000, now;
    while ((now = clock_monotonic_ns()) < end && terminal->fd >= 0)
        pump(terminal, (int)((end - now) / 1000000) + 1);
}

void terminal_free(struct terminal *terminal) {
    if (!terminal->ended) {
        kill(-terminal->pid, SIGKILL);
        kill(terminal->pid, SIGKILL);
        waitpid(terminal->pid, NULL, 0);
    }
    if (terminal->fd >= 0)
        close(terminal->fd);
    vterm_free(terminal->vterm);
    buf_free(&terminal->text);
    buf_free(&terminal->title);
    free(terminal);
}

void terminal_type(struct terminal *terminal, const char *bytes) {
    for (size_t len = strlen(bytes); len > 0;) {
        ssize_t sent = write(terminal->fd, bytes, len);
        if (sent < 0)
            return;
        bytes += sent;
        len -= (size_t)sent;
    }
}

void terminal_resize(struct terminal *terminal, int cols, int rows) {
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    vterm_set_size(terminal->vterm, rows, cols);
    ioctl(terminal->fd, TIOCSWINSZ, &size);
}

const char *terminal_screen(struct terminal *terminal) {
    int rows, cols;
    vterm_get_size(terminal->vterm, &rows, &cols);
    buf_clear(&terminal->text);
    for (int row = 0; row < rows; row++) {
        size_t end = terminal->text.len;
        for (int col = 0; col < cols; col++) {
            VTermScreenCell cell;
            char bytes[4];
            if (!vterm_screen_get_cell(terminal->screen, (VTermPos){row, col}, &cell))
                continue;
            for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i]; i++)
                buf_add(&terminal->text, bytes, text_encode(cell.chars[i], bytes));
            if (!cell.chars[0])
                buf_putc(&terminal->text, ' ');
            else if (cell.chars[0] != ' ')
                end = terminal->text.len;
            col += cell.width > 1 ? cell.width - 1 : 0;
        }
        terminal->text.len = end;
        buf_putc(&terminal->text, '\n');
    }
    return terminal->text.at;
}

bool terminal_wait(struct terminal *terminal, const char *text, bool there) {
    uint64_t start = clock_monotonic_ns();
    while ((strstr(terminal_screen(terminal), text) != NULL) != there) {
        if ((clock_monotonic_ns() - start) / 1000000 > LIMIT_MS)
            return false;
        pump(terminal, 50);
    }
    return true;
}

bool terminal_is_alternate(const struct terminal *terminal) {
    return terminal->alternate;
}

bool terminal_has_cursor(const struct terminal *terminal) {
    return terminal->cursor;
}

pid_t terminal_pid(const struct terminal *terminal) {
    return terminal->pid;
}

int terminal_wait_exit(struct terminal *terminal, bool stopped) {
    uint64_t start = clock_monotonic_ns();
    for (;;) {
        int status;
        pid_t got = waitpid(terminal->pid, &status, WNOHANG | (stopped ? WUNTRACED : 0));
        if (got == terminal->pid) {
            terminal->ended = !WIFSTOPPED(status);
            while (pump(terminal, 50))
                continue;
            return status;
        }
        if ((clock_monotonic_ns() - start) / 1000000 > LIMIT_MS)
            return -1;
        pump(terminal, 20);
    }
}

bool terminal_ended(struct terminal *terminal, int *status) {
    if (waitpid(terminal->pid, status, WNOHANG) != terminal->pid)
        return false;
    terminal->ended = true;
    terminal_read(terminal, 50);
    return true;
}

void terminal_hang_up(struct terminal *terminal) {
    close(terminal->fd);
    terminal->fd = -1;
}

bool terminal_wait_title(struct terminal *terminal, const char *title) {
    for (int waited = 0; waited < LIMIT_MS; waited += 10) {
        if (terminal->title.at && strcmp(terminal->title.at, title) == 0)
            return true;
        pump(terminal, 10);
    }
    return false;
}

int terminal_bells(const struct terminal *terminal) {
    return terminal->bells;
}
