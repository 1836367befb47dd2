/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of cells, and the few ways to put text on it. Text from outside becomes safe here, piece
 * by piece, whoever draws it. It knows no terminal: tui/term shows a canvas, and tests print it. */
#include "tui/cells/canvas.h"
#include "tui/cells/testing.h"

static void tui_canvas_clear(struct tui_canvas *canvas);

#include <stdio.h>
#include <stdlib.h>

#define MAX_SIDE 1000

/* Characters of one column, hone's own and common ones, and what stands for them in ASCII. */
static const struct {
    uint32_t first, last;
    char ascii;
} stand_ins[] = {
    {0xa0, 0xa0, ' '},      {0xb1, 0xb1, '~'},     {0xb5, 0xb5, 'u'},     {0xb7, 0xb7, '.'},
    {0xd7, 0xd7, 'x'},      {0x3bc, 0x3bc, 'u'},   {0x2010, 0x2015, '-'}, {0x2018, 0x2019, '\''},
    {0x201c, 0x201d, '"'},  {0x2022, 0x2022, '*'}, {0x2026, 0x2026, '~'}, {0x203a, 0x203a, '>'},
    {0x2190, 0x2190, '<'},  {0x2191, 0x2191, '^'}, {0x2192, 0x2192, '>'}, {0x2193, 0x2193, 'v'},
    {0x21b3, 0x21b3, '`'},  {0x2212, 0x2212, '-'}, {0x2264, 0x2264, '<'}, {0x2265, 0x2265, '>'},
    {0x2400, 0x2421, '?'},  {0x2500, 0x2501, '-'}, {0x2502, 0x2503, '|'}, {0x2504, 0x2505, '-'},
    {0x2506, 0x2507, '|'},  {0x250a, 0x250b, '|'}, {0x250c, 0x254b, '+'}, {0x254c, 0x254f, '-'},
    {0x2550, 0x2550, '='},  {0x2551, 0x256c, '+'}, {0x256d, 0x2570, '+'}, {0x2571, 0x2571, '/'},
    {0x2572, 0x2572, '\\'}, {0x2580, 0x2580, '"'}, {0x2581, 0x2582, '_'}, {0x2583, 0x2584, '-'},
    {0x2585, 0x2586, '='},  {0x2587, 0x2588, '#'}, {0x2589, 0x258b, '#'}, {0x258c, 0x258d, '|'},
    {0x258e, 0x258f, '.'},  {0x2590, 0x2590, '#'}, {0x2591, 0x2591, '.'}, {0x2592, 0x2592, ':'},
    {0x2593, 0x2593, '%'},  {0x25a0, 0x25a0, '#'}, {0x25b2, 0x25b2, '^'}, {0x25b6, 0x25b8, '>'},
    {0x25bc, 0x25be, 'v'},  {0x25c6, 0x25c6, '*'}, {0x25cb, 0x25cb, 'o'}, {0x25cf, 0x25cf, '*'},
    {0x2605, 0x2605, '*'},  {0x2713, 0x2714, '+'}, {0x2717, 0x2718, 'x'}, {0x276f, 0x276f, '>'},
};

struct tui_canvas *tui_canvas_new(int rows, int cols, bool ascii) {
    struct tui_canvas *canvas = mem_alloc(1, sizeof *canvas);
    canvas->ascii = ascii;
    tui_canvas_resize(canvas, rows, cols);
    return canvas;
}

void tui_canvas_free(struct tui_canvas *canvas) {
    if (!canvas)
        return;
    free(canvas->cells);
    free(canvas);
}

void tui_canvas_resize(struct tui_canvas *canvas, int rows, int cols) {
    canvas->rows = MIN_OF(MAX_OF(rows, 1), MAX_SIDE);
    canvas->cols = MIN_OF(MAX_OF(cols, 1), MAX_SIDE);
    canvas->cells = mem_resize(canvas->cells, (size_t)canvas->rows * (size_t)canvas->cols,
                               sizeof *canvas->cells);
    tui_canvas_clear(canvas);
}

static void tui_canvas_clear(struct tui_canvas *canvas) {
    const struct tui_cell blank = {.text = " ", .len = 1, .width = 1};
    size_t count = (size_t)canvas->rows * (size_t)canvas->cols;
    for (size_t i = 0; i < count; i++)
        canvas->cells[i] = blank;
    canvas->cursor_row = -1;
}

static struct tui_cell *cell_at(struct tui_canvas *canvas, int row, int col) {
    return &canvas->cells[(size_t)row * (size_t)canvas->cols + (size_t)col];
}

static void print_styles(const struct tui_canvas *canvas, int row, struct buf *out) {
    bool any = false;
    for (int col = 0; col < canvas->cols;) {
        const struct tui_cell *cells = &canvas->cells[(size_t)row * (size_t)canvas->cols];
        struct tui_style style = cells[col].style;
        int end = col + 1;
        while (end < canvas->cols && cells[end].style.ink == style.ink &&
               cells[end].style.paper == style.paper)
            end++;
        if (style.ink != TUI_PLAIN || style.paper != TUI_PLAIN) {
            if (!any)
                buf_printf(out, "%d:", row);
            any = true;
            buf_printf(out, " %d-%d %s", col, end - 1, tui_role_name(style.ink));
            if (style.paper != TUI_PLAIN)
                buf_printf(out, "/%s", tui_role_name(style.paper));
        }
        col = end;
    }
    if (any)
        buf_putc(out, '\n');
}

void tui_canvas_print(const struct tui_canvas *canvas, bool styles, struct buf *out) {
    for (int row = 0; row < canvas->rows; row++) {
        size_t end = out->len;
        for (int col = 0; col < canvas->cols; col++) {
            const struct tui_cell *cell =
                &canvas->cells[(size_t)row * (size_t)canvas->cols + (size_t)col];
            buf_add(out, cell->text, cell->len);
            if (cell->len && !(cell->len == 1 && cell->text[0] == ' '))
                end = out->len;
        }
        out->len = end;
        buf_putc(out, '\n');
    }
    for (int row = 0; styles && row < canvas->rows; row++)
        print_styles(canvas, row, out);
}

struct tui_area tui_area_all(struct tui_canvas *canvas) {
    return (struct tui_area){canvas, 0, 0, canvas->rows, canvas->cols, {0, 0}};
}

struct tui_area tui_area_part(struct tui_area area, struct tui_rect part) {
    int top = MIN_OF(MAX_OF(part.row, 0), area.rows), left = MIN_OF(MAX_OF(part.col, 0), area.cols);
    int bottom = MIN_OF(MAX_OF(part.row + part.rows, top), area.rows);
    int right = MIN_OF(MAX_OF(part.col + part.cols, left), area.cols);
    return (struct tui_area){area.canvas,  area.row + top, area.col + left,
                             bottom - top, right - left,   area.style};
}

struct tui_area tui_ink(struct tui_area area, enum tui_role ink) {
    area.style.ink = (uint8_t)ink;
    return area;
}

struct tui_area tui_paper(struct tui_area area, enum tui_role paper) {
    area.style.paper = (uint8_t)paper;
    return area;
}

static char ascii_for(struct str piece) {
    uint32_t code;
    text_decode(piece, &code);
    for (size_t i = 0; i < COUNT_OF(stand_ins); i++)
        if (code >= stand_ins[i].first && code <= stand_ins[i].last)
            return stand_ins[i].ascii;
    return code >= 0x2800 && code <= 0x28ff ? (code == 0x2800 ? ' ' : '*') : '?';
}

/* Overwriting half of a wide character blanks its other half. */
static void split_wide(struct tui_area area, int row, int col) {
    struct tui_canvas *canvas = area.canvas;
    int r = area.row + row, c = area.col + col;
    struct tui_cell *cell = cell_at(canvas, r, c);
    if (cell->width == 0 && c > 0) {
        struct tui_cell *head = cell_at(canvas, r, c - 1);
        *head = (struct tui_cell){.text = " ", .len = 1, .width = 1, .style = head->style};
    } else if (cell->width == 2 && c + 1 < canvas->cols) {
        struct tui_cell *tail = cell_at(canvas, r, c + 1);
        *tail = (struct tui_cell){.text = " ", .len = 1, .width = 1, .style = tail->style};
    }
}

static void set_cell(struct tui_area area, int row, int col, struct str text, int width) {
    if (row < 0 || col < 0 || row >= area.rows || col >= area.cols)
        return;
    struct tui_cell cell = {.style = area.style, .width = (uint8_t)width};
    bool fits = width < 2 || col + 1 < area.cols;
    if (!fits || text.len == 0 || text.len > sizeof cell.text) {
        text = STR(" ");
        cell.width = 1;
    }
    memcpy(cell.text, text.at, text.len);
    cell.len = (uint8_t)text.len;
    struct tui_cell *at = cell_at(area.canvas, area.row + row, area.col + col);
    if (at->width != 1)
        split_wide(area, row, col);
    *at = cell;
    if (cell.width < 2)
        return;
    if (at[1].width == 2)
        split_wide(area, row, col + 1);
    at[1] = (struct tui_cell){.style = area.style};
}

static int put_piece(struct tui_area area, int row, int col, const struct text_piece *piece) {
    struct str text = {piece->at, piece->len};
    bool many = piece->len == piece->width || piece->altered; /* ASCII or a visible form */
    if (area.canvas->ascii && (unsigned char)piece->at[0] >= 0x80) {
        char stand_in = ascii_for(text);
        for (int i = 0; i < piece->width; i++)
            set_cell(area, row, col + i, (struct str){&stand_in, 1}, 1);
    } else if (many && piece->len > 1 && (unsigned char)piece->at[0] < 0x80) {
        for (int i = 0; i < piece->width; i++)
            set_cell(area, row, col + i, (struct str){piece->at + i, 1}, 1);
    } else if (col < 0) {
        set_cell(area, row, col + 1, STR(" "), piece->width == 2 ? 1 : 0);
    } else {
        set_cell(area, row, col, text, piece->width);
    }
    return col + piece->width;
}

int tui_put(struct tui_area area, int row, int col, struct str text) {
    int start = col;
    struct text_piece piece;
    if (row < 0 || row >= area.rows)
        return col + (int)MIN_OF(text_columns(text), (size_t)MAX_SIDE);
    while (text.len && col < area.cols) {
        if (text.at[0] == '\t') {
            int stop = start + ((col - start) / 8 + 1) * 8;
            while (col < stop)
                set_cell(area, row, col++, STR(" "), 1);
            text.at++;
            text.len--;
            continue;
        }
        text_next(&text, &piece);
        struct tui_area ink = piece.altered ? tui_ink(area, TUI_WARN) : area;
        col = put_piece(ink, row, col, &piece);
    }
    return col + (text.len > 0);
}

static int say(struct tui_area area, int row, int col, const char *format, va_list args) {
    char stack[512];
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(stack, sizeof stack, format, args);
    if (len >= 0 && (size_t)len < sizeof stack) {
        col = tui_put(area, row, col, (struct str){stack, (size_t)len});
    } else {
        struct buf text = {0};
        buf_vprintf(&text, format, again);
        col = tui_put(area, row, col, buf_str(&text));
        buf_free(&text);
    }
    va_end(again);
    return col;
}

int tui_say(struct tui_area area, int row, int col, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int end = say(area, row, col, format, args);
    va_end(args);
    return end;
}

int tui_say_right(struct tui_area area, int row, int end, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    int col = end - (int)MIN_OF(text_columns(buf_str(&text)), (size_t)MAX_SIDE);
    tui_put(area, row, col, buf_str(&text));
    buf_free(&text);
    return col;
}

int tui_put_short(struct tui_area area, int row, struct tui_rect span, struct str text) {
    struct tui_area part = tui_area_part(area, (struct tui_rect){row, span.col, 1, span.cols});
    int end = tui_put(part, 0, 0, text);
    if (end > part.cols && part.cols > 0) {
        tui_put(tui_ink(part, TUI_DIM), 0, part.cols - 1, STR("…"));
        end = part.cols;
    }
    return span.col + end;
}

size_t tui_line_length(struct str text, int cols) {
    size_t used = 0, space = 0;
    int columns = 0;
    struct str rest = text;
    struct text_piece piece;
    while (rest.len && rest.at[0] != '\n') {
        size_t before = rest.len;
        bool blank = rest.at[0] == ' ' || rest.at[0] == '\t';
        text_next(&rest, &piece);
        if (columns + piece.width > cols && !blank)
            return space ? space : MAX_OF(used, before - rest.len);
        columns += piece.width;
        used = text.len - rest.len;
        if (blank)
            space = used;
    }
    return used;
}

int tui_put_wrapped(struct tui_area area, int skip, struct str text) {
    int row = 0;
    while (text.len && area.cols > 0) {
        size_t len = tui_line_length(text, area.cols);
        struct str line = {text.at, len};
        while (line.len && line.at[line.len - 1] == ' ')
            line.len--;
        if (row >= skip && row - skip < area.rows)
            tui_put(area, row - skip, 0, line);
        row++;
        if (len < text.len && text.at[len] == '\n')
            len++;
        text.at += len;
        text.len -= len;
    }
    return row;
}

int tui_put_lines(struct tui_area area, struct str text) {
    int rows = tui_put_wrapped(area, 0, text);
    if (rows > area.rows && area.rows > 0 && area.cols > 0)
        tui_put(tui_ink(area, TUI_DIM), area.rows - 1, area.cols - 1, STR("…"));
    return MIN_OF(rows, MAX_OF(area.rows, 0));
}

void tui_fill(struct tui_area area, struct tui_rect rect, const char *character) {
    struct tui_area part = tui_area_part(area, rect);
    struct str rest = str_of(character);
    struct text_piece piece;
    if (!text_next(&rest, &piece) || piece.width != 1)
        return;
    for (int row = 0; row < part.rows; row++)
        for (int col = 0; col < part.cols; col++)
            put_piece(part, row, col, &piece);
}

void tui_clear(struct tui_area area) {
    tui_fill(area, (struct tui_rect){0, 0, area.rows, area.cols}, " ");
}

void tui_lay_paper(struct tui_area area, struct tui_rect rect, enum tui_role paper) {
    struct tui_area part = tui_area_part(area, rect);
    for (int row = 0; row < part.rows; row++)
        for (int col = 0; col < part.cols; col++)
            cell_at(part.canvas, part.row + row, part.col + col)->style.paper = (uint8_t)paper;
}

void tui_cursor(struct tui_area area, int row, int col) {
    if (row < 0 || col < 0 || row >= area.rows || col >= area.cols)
        return;
    area.canvas->cursor_row = area.row + row;
    area.canvas->cursor_col = area.col + col;
}

/* Box characters by the sides they reach: up 1, down 2, left 4, right 8. */
static const char *const box[16] = {
    [3] = "│",  [5] = "┘",  [6] = "┐",  [7] = "┤",  [9] = "└",  [10] = "┌",
    [11] = "├", [12] = "─", [13] = "┴", [14] = "┬", [15] = "┼",
};

static unsigned sides_of(const struct tui_cell *cell) {
    for (unsigned sides = 0; cell->len == 3 && sides < COUNT_OF(box); sides++)
        if (box[sides] && memcmp(box[sides], cell->text, 3) == 0)
            return sides;
    return 0;
}

/* Draws a piece of a frame. Where it meets a neighbour's frame, the two join. */
static void put_edge(struct tui_area area, int row, int col, unsigned sides) {
    if (row < 0 || col < 0 || row >= area.rows || col >= area.cols)
        return;
    struct tui_cell *cell = cell_at(area.canvas, area.row + row, area.col + col);
    unsigned joined = sides | sides_of(cell);
    if (area.canvas->ascii)
        joined = cell->len == 1 && (cell->text[0] == '+' || (cell->text[0] == '-' && sides != 12) ||
                                    (cell->text[0] == '|' && sides != 3))
                     ? 15
                     : sides;
    tui_put(area, row, col, str_of(box[joined]));
}

static void draw_edges(struct tui_area area) {
    int right = area.cols - 1, bottom = area.rows - 1;
    for (int col = 1; col < right; col++) {
        put_edge(area, 0, col, 12);
        put_edge(area, bottom, col, 12);
    }
    for (int row = 1; row < bottom; row++) {
        put_edge(area, row, 0, 3);
        put_edge(area, row, right, 3);
    }
    put_edge(area, 0, 0, 10);
    put_edge(area, 0, right, 6);
    put_edge(area, bottom, 0, 9);
    put_edge(area, bottom, right, 5);
}

void tui_frame_edges(struct tui_area area, bool focused) {
    if (area.cols >= 2 && area.rows >= 2)
        draw_edges(tui_ink(area, focused ? TUI_FRAME_FOCUS : TUI_FRAME));
}

struct tui_area tui_frame_title(struct tui_area area, bool focused, const char *title,
                                const char *note) {
    if (area.cols < 2 || area.rows < 2)
        return tui_area_part(area, (struct tui_rect){0, 0, 0, 0});
    struct tui_area top = tui_area_part(area, (struct tui_rect){0, 1, 1, area.cols - 2});
    int end = 0;
    if (title && *title)
        end = tui_say(tui_ink(top, focused ? TUI_TITLE : TUI_STRONG), 0, 1, " %s ", title);
    int room = top.cols - end - 2;
    if (note && *note && room > 8) {
        int cols = MIN_OF(room, (int)text_columns(str_of(note)) + 2);
        int col = top.cols - cols - 1;
        tui_fill(top, (struct tui_rect){0, col, 1, cols}, " ");
        tui_put_short(tui_ink(top, TUI_DIM), 0, (struct tui_rect){0, col + 1, 1, cols - 2},
                      str_of(note));
    }
    return tui_area_part(area, (struct tui_rect){1, 1, area.rows - 2, area.cols - 2});
}

struct tui_area tui_frame(struct tui_area area, bool focused, const char *title, const char *note) {
    tui_frame_edges(area, focused);
    return tui_frame_title(area, focused, title, note);
}
