/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as text in columns, as CSV, as JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/private.h"

#define WIDEST 100 /* columns of a value in text */

/* ---- values --------------------------------------------------------------------------------- */

/* Texts lose what could act on a terminal; as text also their line ends. */
static void add_text(struct buf *out, const char *text, bool one_line) {
    struct str rest = str_of(text);
    struct text_piece piece;
    if (!one_line) {
        text_sanitise(out, rest);
        return;
    }
    while (text_next(&rest, &piece))
        buf_add(out, piece.at, piece.len);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void add_csv_text(struct buf *out, const char *text) {
    struct buf clean = {0};
    add_text(&clean, text, false);
    const char *at = clean.at ? clean.at : "";
    if (*at && !strpbrk(at, ",\"\r\n")) {
        buf_puts(out, at);
    } else {
        buf_putc(out, '"'); /* an empty text is not the same as null */
        for (; *at; at++) {
            if (*at == '"')
                buf_putc(out, '"');
            buf_putc(out, *at);
        }
        buf_putc(out, '"');
    }
    buf_free(&clean);
}

static void add_csv(struct buf *out, const struct query_value *value) {
    switch (value->type) {
    case QUERY_NULL: break;
    case QUERY_INT:
    case QUERY_REAL: query_json_value(out, value); break; /* numbers look the same */
    case QUERY_TEXT: add_csv_text(out, value->text); break;
    }
}

static void csv_row(struct printer *printer, const struct query_answer *row) {
    for (size_t i = 0; i < row->count; i++) {
        if (i)
            buf_putc(&printer->line, ',');
        if (row->values)
            add_csv(&printer->line, &row->values[i]);
        else
            add_csv_text(&printer->line, row->names[i]);
    }
    buf_puts(&printer->line, "\r\n");
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static void json_row(struct printer *printer, const struct query_answer *row) {
    struct buf *out = &printer->line;
    buf_puts(out, !row->values ? "{\"columns\": [" : printer->rows ? ",\n  [" : "\n  [");
    for (size_t i = 0; i < row->count; i++) {
        if (i)
            buf_puts(out, ", ");
        if (row->values)
            query_json_value(out, &row->values[i]);
        else
            query_json_value(out, &(struct query_value){.type = QUERY_TEXT, .text = row->names[i]});
    }
    buf_puts(out, row->values ? "]" : "],\n \"rows\": [");
}

/* ---- text ----------------------------------------------------------------------------------- */

static void keep_text(struct printer *printer, const char *text) {
    struct buf out = {0};
    add_text(&out, text, true);
    *vec_push(&printer->cells) = buf_take(&out);
}

static void keep_row(struct printer *printer, const struct query_answer *row) {
    char digits[40];
    for (size_t i = 0; i < row->count; i++) {
        if (!row->values) {
            keep_text(printer, row->names[i]);
            *vec_push(&printer->numbers) = true;
            continue;
        }
        const struct query_value *value = &row->values[i];
        printer->numbers.at[i] &= value->type != QUERY_TEXT;
        if (value->type == QUERY_INT)
            snprintf(digits, sizeof digits, "%lld", (long long)value->integer);
        else if (value->type == QUERY_REAL && fabs(value->real) >= 1e6 && fabs(value->real) < 1e15)
            snprintf(digits, sizeof digits, "%.0f", value->real);
        else if (value->type == QUERY_REAL)
            snprintf(digits, sizeof digits, "%.6g", value->real);
        keep_text(printer, value->type == QUERY_TEXT   ? value->text
                           : value->type == QUERY_NULL ? ""
                                                       : digits);
    }
}

/* Cuts a text to WIDEST columns. */
static void fit(char **text) {
    struct str rest = str_of(*text);
    struct text_piece piece;
    struct buf out = {0};
    size_t columns = 0;
    if (text_columns(rest) <= WIDEST)
        return;
    while (text_next(&rest, &piece) && columns + piece.width < WIDEST) {
        buf_add(&out, piece.at, piece.len);
        columns += piece.width;
    }
    buf_puts(&out, "…");
    free(*text);
    *text = buf_take(&out);
}

static void text_line(struct printer *printer, char *const *cells, const size_t *widths) {
    for (size_t i = 0; i < printer->columns; i++) {
        size_t blanks = widths[i] - text_columns(str_of(cells[i]));
        bool right = printer->numbers.at[i];
        bool last = i + 1 == printer->columns;
        for (size_t k = 0; right && k < blanks; k++)
            buf_putc(&printer->line, ' ');
        buf_puts(&printer->line, cells[i]);
        for (size_t k = 0; !right && !last && k < blanks; k++)
            buf_putc(&printer->line, ' ');
        buf_puts(&printer->line, last ? "\n" : "  ");
    }
}

static void print_text(struct printer *printer) {
    size_t *widths = mem_alloc(printer->columns + 1, sizeof *widths);
    for (size_t i = 0; i < printer->cells.len; i++) {
        size_t *width = &widths[i % printer->columns];
        fit(&printer->cells.at[i]);
        *width = MAX_OF(*width, text_columns(str_of(printer->cells.at[i])));
    }
    for (size_t i = 0; i < printer->cells.len; i += printer->columns)
        text_line(printer, &printer->cells.at[i], widths);
    free(widths);
    if (!printer->rows)
        buf_puts(&printer->line, "(no rows)\n");
    if (printer->cut)
        buf_printf(&printer->line, "(only the first %zu rows; --rows N prints more)\n",
                   printer->rows);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void flush_line(struct printer *printer) {
    if (printer->line.len)
        fwrite(printer->line.at, 1, printer->line.len, printer->to);
    buf_clear(&printer->line);
}

bool printer_row(void *data, const struct query_answer *row) {
    struct printer *printer = data;
    if (row->values && printer->most && printer->rows == printer->most) {
        printer->cut = true;
        return false;
    }
    printer->columns = row->count;
    if (printer->how == PRINT_CSV)
        csv_row(printer, row);
    else if (printer->how == PRINT_JSON)
        json_row(printer, row);
    else
        keep_row(printer, row);
    flush_line(printer);
    printer->rows += row->values ? 1 : 0;
    return !ferror(printer->to);
}

bool printer_end(struct printer *printer, struct err *err) {
    if (printer->columns && printer->how == PRINT_TEXT)
        print_text(printer);
    else if (printer->columns && printer->how == PRINT_JSON)
        buf_printf(&printer->line, "%s],\n \"cut\": %s}\n", printer->rows ? "\n " : "",
                   printer->cut ? "true" : "false");
    flush_line(printer);
    bool ok = fflush(printer->to) == 0 && !ferror(printer->to);
    for (size_t i = 0; i < printer->cells.len; i++)
        free(printer->cells.at[i]);
    vec_free(&printer->cells);
    vec_free(&printer->numbers);
    buf_free(&printer->line);
    return ok ||
           err_set(err, ERR_ENVIRONMENT, "the answer could not be written: %s", strerror(errno));
}
