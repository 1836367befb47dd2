/* SPDX-License-Identifier: Apache-2.0 */
/* Shows canvases through curses. Keys are read from the descriptor itself, because curses would
 * wait for the rest of an escape sequence, and a frame never waits. tui/keys/keys.c decodes them.
 * What changed, and what a role looks like, is decided here. */
#include "tui/term/term.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "tui/term/rescue.h"

/* The mouse (presses and wheel, in SGR form), and paste in brackets. */
#define REPORTS_ON "\033[?1000h\033[?1006h\033[?2004h"
#define REPORTS_OFF "\033[?2004l\033[?1006l\033[?1000l"
/* The window's name: kept, restored (XTWINOPS), and set. */
#define TITLE_KEEP "\033[22;2t"
#define TITLE_BACK "\033[23;2t"
#define TITLE_SET "\033]2;"
#define TITLE_END "\033\\"

#define MOST_ROWS 1000
#define MOST_COLUMNS 2000

struct tui_term {
    struct tui_canvas *canvas, *shown;
    struct tui_decoder *decoder;
    SCREEN *screen;
    int input;
    FILE *out;
    enum tui_palette palette;
    bool headless, no_mouse, lost, released, settled, redraw;
    bool titles; /* the terminal takes names for its window */
    int saved_stderr;
    char *log_path;
    struct buf title; /* as last set; empty: never */
};

static void send(const struct tui_term *term, const char *bytes) {
    size_t len = strlen(bytes);
    while (len > 0) {
        ssize_t sent = write(STDOUT_FILENO, bytes, len);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        bytes += sent;
        len -= (size_t)sent;
    }
    (void)term;
}

static void send_reports(const struct tui_term *term, bool on) {
    const char *bytes = on ? REPORTS_ON : REPORTS_OFF;
    const char *name = getenv("TERM");
    if (!name || strcmp(name, "dumb") == 0 || strncmp(name, "vt", 2) == 0)
        return;
    send(term, on && term->no_mouse ? "\033[?2004h" : bytes);
}

/* Terminals of these families take a name, and ignore what they do not know. */
static bool takes_titles(void) {
    static const char *const families[] = {"xterm", "screen",    "tmux",    "rxvt",    "foot",
                                           "kitty", "alacritty", "wezterm", "ghostty", "st-",
                                           "vte",   "gnome",     "konsole", "putty",   "contour"};
    const char *name = getenv("TERM");
    for (size_t i = 0; name && i < COUNT_OF(families); i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

static void send_title(const struct tui_term *term) {
    struct str rest = buf_str(&term->title);
    struct text_piece piece;
    struct buf out = {0};
    buf_puts(&out, TITLE_SET);
    while (text_next(&rest, &piece))
        buf_puts(&out, term->canvas->ascii && (unsigned char)piece.at[0] >= 0x80 ? "?" : piece.at);
    buf_puts(&out, TITLE_END);
    send(term, out.at);
    buf_free(&out);
}

void tui_term_title(struct tui_term *term, const char *title) {
    bool first = term->title.len == 0, same = !first && strcmp(term->title.at, title) == 0;
    if (!term->titles || term->released || term->lost || same)
        return;
    if (first)
        send(term, TITLE_KEEP);
    buf_clear(&term->title);
    buf_puts(&term->title, title);
    send_title(term);
}

void tui_term_bell(struct tui_term *term) {
    if (!term->headless && !term->released && !term->lost)
        send(term, "\a");
}

/* Messages of libraries must not get onto the screen. */
static void redirect_stderr(struct tui_term *term) {
    fflush(stderr);
    term->saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    const char *path = term->log_path ? term->log_path : "/dev/null";
    int log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log < 0)
        log = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (log >= 0) {
        dup2(log, STDERR_FILENO);
        close(log);
    }
}

static void restore_stderr(struct tui_term *term) {
    if (term->saved_stderr < 0)
        return;
    fflush(stderr);
    dup2(term->saved_stderr, STDERR_FILENO);
    close(term->saved_stderr);
    term->saved_stderr = -1;
}

/* Whether the user's locale takes only ASCII. Afterwards the locale is a UTF-8 one in any case,
 * because wcwidth and curses know characters in no other. */
static bool choose_locale(void) {
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    bool ascii = tui_ascii_from_environment();
    if (MB_CUR_MAX <= 1 && !setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "en_US.UTF-8");
    return ascii;
}

/* The type that TERM names, or one that nearly every terminal understands. */
static const char *terminal_type(void) {
    const char *name = getenv("TERM");
    return name && *name ? name : "xterm";
}

static bool is_usable(struct err *err) {
    const char *name = terminal_type();
    int status = 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_USAGE,
                       "the workbench needs a terminal; without one use: hone run TASK, hone sim "
                       "KERNEL, hone check KERNEL (--help shows how)");
    if (setupterm(name, STDOUT_FILENO, &status) != OK)
        return err_set(err, ERR_USAGE,
                       "the terminal '%s' (TERM) is not known here; set TERM, for example to xterm",
                       name);
    bool places = cursor_address != NULL;
    del_curterm(cur_term); /* newterm makes its own */
    if (!places)
        return err_set(err, ERR_USAGE,
                       "a terminal of type '%s' (TERM) cannot place the cursor; use another "
                       "terminal, or hone run TASK",
                       name);
    return true;
}

static void enter_modes(void) {
    raw();
    noecho();
    nonl();
    curs_set(0);
    leaveok(stdscr, FALSE);
    scrollok(stdscr, FALSE);
}

/* Curses catches signals only where nobody else does. The event loop handles them instead. */
static SCREEN *start_curses(FILE *out) {
    static const int ours[] = {SIGWINCH, SIGTSTP, SIGINT, SIGTERM};
    struct sigaction old[COUNT_OF(ours)], none = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        sigaction(ours[i], &none, &old[i]);
    SCREEN *screen = newterm(terminal_type(), out, stdin);
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        sigaction(ours[i], &old[i], NULL);
    return screen;
}

/* Keys are read from a description of the terminal that is hone's alone. An event loop makes what
 * it watches non-blocking, and the editor, the shell and curses' output would share that. */
static int open_input(void) {
    char name[256];
    int fd = -1;
    if (ttyname_r(STDIN_FILENO, name, sizeof name) == 0)
        fd = open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
}

/* curses counts in short numbers; and nobody reads more than that. */
static int held_to(int size, int most) {
    return size < most ? size : most;
}

static bool open_terminal(struct tui_term *term, struct err *err) {
    bool ascii = choose_locale();
    if (!is_usable(err))
        return false;
    rescue_arm();
    term->input = open_input();
    term->out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), "w");
    term->screen = term->out ? start_curses(term->out) : NULL;
    if (!term->screen)
        return err_set(err, ERR_ENVIRONMENT, "the terminal could not be opened: %s",
                       strerror(errno));
    enter_modes();
    if (has_colors() && start_color() == OK)
        use_default_colors();
    term->palette = tui_palette_from_environment(has_colors() ? COLORS : 0);
    redirect_stderr(term);
    send_reports(term, true);
    term->titles = term->titles && takes_titles();
    int rows, cols;
    getmaxyx(stdscr, rows, cols);
    rows = held_to(rows, MOST_ROWS);
    cols = held_to(cols, MOST_COLUMNS);
    resizeterm(rows, cols);
    term->canvas = tui_canvas_new(rows, cols, ascii);
    return true;
}

struct tui_term *tui_term_new(const struct tui_term_options *options, struct err *err) {
    struct tui_term *term = mem_alloc(1, sizeof *term);
    term->headless = options->headless;
    term->no_mouse = options->no_mouse;
    term->titles = !options->no_title && !options->headless;
    term->log_path = mem_strdup(options->log_path);
    term->saved_stderr = -1;
    term->input = -1;
    term->redraw = true;
    if (options->headless) {
        term->canvas = tui_canvas_new(options->rows, options->cols, options->ascii);
    } else if (!open_terminal(term, err)) {
        tui_term_free(term);
        return NULL;
    }
    term->shown = tui_canvas_new(term->canvas->rows, term->canvas->cols, term->canvas->ascii);
    term->decoder = tui_decoder_new();
    return term;
}

void tui_term_free(struct tui_term *term) {
    if (!term)
        return;
    if (term->screen) {
        tui_term_release(term);
        delscreen(term->screen);
    }
    if (term->out)
        fclose(term->out);
    if (term->input >= 0)
        close(term->input);
    rescue_disarm();
    tui_canvas_free(term->canvas);
    tui_canvas_free(term->shown);
    tui_decoder_free(term->decoder);
    free(term->log_path);
    buf_free(&term->title);
    free(term);
}

struct tui_canvas *tui_term_canvas(struct tui_term *term) {
    return term->canvas;
}

static attr_t attributes_of(unsigned attributes) {
    return (attributes & TUI_BOLD ? A_BOLD : 0) | (attributes & TUI_UNDERLINE ? A_UNDERLINE : 0) |
           (attributes & TUI_REVERSE ? A_REVERSE : 0);
}

/* A colour above the terminal's range becomes the ordinary one in bold. Grey has no ordinary one
 * and becomes the terminal's own colour, dimmed. */
static short color_of(short color, attr_t *attributes) {
    if (color < COLORS)
        return color;
    if (color == 8) {
        *attributes |= A_DIM;
        return -1;
    }
    if (color > 8 && color < 16) {
        *attributes |= A_BOLD;
        return (short)(color - 8);
    }
    return -1;
}

static void send_cell(const struct tui_term *term, int row, int col, const struct tui_cell *cell) {
    wchar_t wide[8];
    char text[sizeof cell->text + 1];
    memcpy(text, cell->text, cell->len);
    text[cell->len] = 0;
    size_t count = mbstowcs(wide, text, COUNT_OF(wide) - 1);
    if (count == (size_t)-1 || count == 0) {
        wide[0] = L'?';
        count = 1;
    }
    wide[MIN_OF(count, (size_t)CCHARW_MAX)] = 0;
    struct tui_look look = tui_look_of(cell->style, term->palette);
    attr_t attributes = attributes_of(look.attributes);
    int pair = 0;
    if (term->palette != TUI_MONO && (look.foreground >= 0 || look.background >= 0)) {
        short front = color_of(look.foreground, &attributes);
        short ground = color_of(look.background, &(attr_t){0});
        pair = alloc_pair(front, ground);
    }
    cchar_t out;
    setcchar(&out, wide, attributes, 0, &pair);
    mvadd_wch(row, col, &out);
}

static bool same_cell(const struct tui_cell *a, const struct tui_cell *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static void send_changes(struct tui_term *term) {
    const struct tui_canvas *canvas = term->canvas;
    for (int row = 0; row < canvas->rows; row++)
        for (int col = 0; col < canvas->cols; col++) {
            size_t at = (size_t)row * (size_t)canvas->cols + (size_t)col;
            const struct tui_cell *cell = &canvas->cells[at];
            if (cell->width == 0 ||
                (!term->redraw && same_cell(cell, &term->shown->cells[at]) &&
                 (cell->width < 2 || same_cell(cell + 1, &term->shown->cells[at + 1]))))
                continue;
            send_cell(term, row, col, cell);
        }
}

void tui_term_show(struct tui_term *term) {
    if (term->released || term->lost)
        return;
    const struct tui_canvas *canvas = term->canvas;
    if (!term->headless) {
        send_changes(term);
        if (term->redraw)
            clearok(stdscr, TRUE);
        if (canvas->cursor_row >= 0)
            move(canvas->cursor_row, canvas->cursor_col);
        curs_set(canvas->cursor_row >= 0);
        refresh();
    }
    term->redraw = false;
    memcpy(term->shown->cells, canvas->cells,
           (size_t)canvas->rows * (size_t)canvas->cols * sizeof *canvas->cells);
}

bool tui_term_resize(struct tui_term *term) {
    struct winsize size;
    if (term->headless || term->released || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return false;
    if (size.ws_row == 0 || size.ws_col == 0)
        return false;
    int rows = held_to(size.ws_row, MOST_ROWS), cols = held_to(size.ws_col, MOST_COLUMNS);
    if (rows == term->canvas->rows && cols == term->canvas->cols)
        return false;
    resizeterm(rows, cols);
    tui_canvas_resize(term->canvas, rows, cols);
    tui_canvas_resize(term->shown, rows, cols);
    term->redraw = true;
    return true;
}

int tui_term_fd(const struct tui_term *term) {
    return term->headless ? -1 : term->input;
}

/* Reads what is there. False when there is nothing. */
static bool read_more(struct tui_term *term) {
    char bytes[4096];
    struct pollfd ready = {.fd = term->input, .events = POLLIN};
    if (term->headless || term->lost || term->released || poll(&ready, 1, 0) <= 0)
        return false;
    ssize_t got = read(term->input, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (got <= 0) {
        term->lost = true;
        return false;
    }
    tui_decoder_feed(term->decoder, bytes, (size_t)got);
    explicit_bzero(bytes, (size_t)got);
    term->settled = false;
    return true;
}

bool tui_term_next(struct tui_term *term, struct tui_event *event) {
    for (;;) {
        if (tui_decoder_next(term->decoder, term->settled, event))
            return true;
        if (!read_more(term))
            return false;
    }
}

bool tui_term_waits(const struct tui_term *term) {
    return !term->settled && tui_decoder_waits(term->decoder);
}

void tui_term_settle(struct tui_term *term) {
    term->settled = true;
}

bool tui_term_is_lost(const struct tui_term *term) {
    return term->lost;
}

void tui_term_release(struct tui_term *term) {
    if (term->headless || term->released)
        return;
    send_reports(term, false);
    if (term->title.len)
        send(term, TITLE_BACK);
    curs_set(1);
    def_prog_mode();
    endwin();
    restore_stderr(term);
    term->released = true;
}

void tui_term_reclaim(struct tui_term *term) {
    if (term->headless || !term->released)
        return;
    redirect_stderr(term);
    reset_prog_mode();
    term->released = false;
    term->redraw = true;
    send_reports(term, true);
    if (term->title.len) {
        send(term, TITLE_KEEP);
        send_title(term);
    }
    refresh();
    tui_term_resize(term);
}

bool tui_term_is_released(const struct tui_term *term) {
    return term->released;
}

void tui_term_suspend(struct tui_term *term) {
    if (term->headless)
        return;
    tui_term_release(term);
    kill(0, SIGSTOP);
    tui_term_reclaim(term);
}
