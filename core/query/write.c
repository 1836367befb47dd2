/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles for other tools: JSON, a SQLite database. Both are written piece by piece. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "query/private.h"

/* ---- JSON ----------------------------------------------------------------------------------- */

/* With the fewest digits that give the same number again. */
static void add_real(struct buf *out, double real) {
    char digits[40];
    for (int n = 15; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, real);
        if (fabs(strtod(digits, NULL) - real) <= 0)
            break;
    }
    buf_puts(out, digits);
}

/* Printable ASCII without what JSON escapes: nearly all that a profile has. */
static bool is_plain(const char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            return false;
    return true;
}

static void add_text(struct buf *out, const char *text) {
    struct buf clean = {0};
    if (is_plain(text)) {
        buf_putc(out, '"');
        buf_puts(out, text);
        buf_putc(out, '"');
        return;
    }
    text_sanitise(&clean, str_of(text)); /* valid UTF-8 */
    cJSON *item = cJSON_CreateString(clean.at ? clean.at : "");
    char *quoted = cJSON_PrintUnformatted(item);
    buf_puts(out, quoted ? quoted : "\"\"");
    free(quoted);
    cJSON_Delete(item);
    buf_free(&clean);
}

void query_json_value(struct buf *out, const struct query_value *value) {
    if (value->type == QUERY_INT)
        buf_printf(out, "%lld", (long long)value->integer);
    else if (value->type == QUERY_REAL && isfinite(value->real))
        add_real(out, value->real);
    else if (value->type == QUERY_TEXT)
        add_text(out, value->text);
    else
        buf_puts(out, "null");
}

struct json {
    FILE *to;
    struct buf line;
    size_t rows;
};

static bool json_row(void *data, const struct query_answer *row) {
    struct json *json = data;
    struct buf *out = &json->line;
    buf_clear(out);
    buf_puts(out, !row->values ? "{\"columns\": [" : json->rows++ ? ",\n  [" : "\n  [");
    for (size_t i = 0; i < row->count; i++) {
        struct query_value name = {.type = QUERY_TEXT, .text = row->names[i]};
        buf_puts(out, i ? ", " : "");
        query_json_value(out, row->values ? &row->values[i] : &name);
    }
    buf_puts(out, row->values ? "]" : "], \"rows\": [");
    fwrite(out->at, 1, out->len, json->to);
    return !ferror(json->to);
}

static bool is_written(FILE *to, struct err *err) {
    return (fflush(to) == 0 && !ferror(to)) ||
           err_set(err, ERR_ENVIRONMENT, "the profile could not be written: %s", strerror(errno));
}

bool query_write_json(struct query *query, FILE *to, struct err *err) {
    struct json json = {.to = to};
    const struct query_table *table;
    bool ok = true, any = false;
    for (size_t t = 0; ok && (table = query_table_at(t)); t++) {
        if (table->part != QUERY_PROFILE)
            continue;
        if (!query_load(query, QUERY_PROFILE, err)) /* before anything is written */
            return false;
        fprintf(to, "%s\"%s\": ", any ? ",\n" : "{\n", table->name);
        any = true;
        json.rows = 0;
        ok = query_read(query, table, json_row, &json, err);
        fputs("]}", to);
    }
    fputs("}\n", to);
    buf_free(&json.line);
    return ok && is_written(to, err);
}

/* ---- SQLite --------------------------------------------------------------------------------- */

struct saving {
    sqlite3 *db;
    sqlite3_stmt *insert;
    int code; /* SQLITE_DONE while all is well */
};

static void bind_value(sqlite3_stmt *insert, int place, const struct query_value *value) {
    switch (value->type) {
    case QUERY_NULL: sqlite3_bind_null(insert, place); break;
    case QUERY_INT: sqlite3_bind_int64(insert, place, value->integer); break;
    case QUERY_REAL: sqlite3_bind_double(insert, place, value->real); break;
    case QUERY_TEXT: sqlite3_bind_text(insert, place, value->text, -1, SQLITE_STATIC); break;
    }
}

static bool save_row(void *data, const struct query_answer *row) {
    struct saving *saving = data;
    if (!row->values)
        return true;
    for (size_t i = 0; i < row->count; i++)
        bind_value(saving->insert, (int)i + 1, &row->values[i]);
    saving->code = sqlite3_step(saving->insert);
    sqlite3_reset(saving->insert);
    return saving->code == SQLITE_DONE;
}

static void print_schema(const struct query_table *table, struct buf *create, struct buf *insert) {
    buf_printf(create, "CREATE TABLE \"%s\"(", table->name);
    buf_printf(insert, "INSERT INTO \"%s\" VALUES (", table->name);
    for (size_t i = 0; i < table->count; i++) {
        enum query_type type = table->columns[i].type;
        buf_printf(create, "%s\"%s\" %s", i ? ", " : "", table->columns[i].name,
                   type == QUERY_INT    ? "INTEGER"
                   : type == QUERY_REAL ? "REAL"
                                        : "TEXT");
        buf_puts(insert, i ? ", ?" : "?");
    }
    buf_puts(create, ")");
    buf_puts(insert, ")");
}

static bool save_table(struct query *query, struct saving *saving, const struct query_table *table,
                       struct err *err) {
    struct buf create = {0}, insert = {0};
    print_schema(table, &create, &insert);
    saving->code = SQLITE_DONE;
    bool ok = sqlite3_exec(saving->db, create.at, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(saving->db, insert.at, -1, &saving->insert, NULL) == SQLITE_OK;
    bool read = ok && query_read(query, table, save_row, saving, err);
    sqlite3_finalize(saving->insert);
    saving->insert = NULL;
    buf_free(&create);
    buf_free(&insert);
    if (read && saving->code == SQLITE_DONE)
        return true;
    return err->kind != ERR_NONE
               ? false
               : err_set(err, ERR_ENVIRONMENT, "the table %s cannot be written: %s", table->name,
                         sqlite3_errmsg(saving->db));
}

static bool save_all(struct query *query, struct saving *saving, struct err *err) {
    const struct query_table *table;
    struct err none = {0};
    bool has_session = query_load(query, QUERY_SESSION, &none);
    /* A kernel without a session has no tables of one; a damaged session is no such kernel. */
    bool ok = has_session || none.kind == ERR_USAGE || err_set(err, none.kind, "%s", none.text);
    sqlite3_exec(saving->db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN", NULL, NULL,
                 NULL); /* a file that is not whole does not get its name */
    for (size_t t = 0; ok && (table = query_table_at(t)); t++)
        if (table->part == QUERY_PROFILE || has_session)
            ok = save_table(query, saving, table, err);
    return ok && (sqlite3_exec(saving->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ||
                  err_set(err, ERR_ENVIRONMENT, "the database cannot be written: %s",
                          sqlite3_errmsg(saving->db)));
}

bool query_write_sqlite(struct query *query, const char *path, struct err *err) {
    struct saving saving = {0};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (!query_load(query, QUERY_PROFILE, err))
        return false;
    bool ok = sqlite3_open_v2(path, &saving.db, flags, NULL) == SQLITE_OK ||
              err_set(err, ERR_ENVIRONMENT, "cannot make %.200s: %s", path,
                      saving.db ? sqlite3_errmsg(saving.db) : "no memory");
    ok = ok && save_all(query, &saving, err);
    sqlite3_close(saving.db);
    return ok;
}
