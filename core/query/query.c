/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: a database that has nothing but our tables, what a question may do, its limits, and
 * what its errors say. */
#include "query/private.h"

#include <stdlib.h>
#include <strings.h>

#define STEPS_BETWEEN 2000   /* of SQLite's machine, between two looks at the clock */
#define MOST_TEXT (16 << 20) /* bytes of a value */
#define MOST_SQL (256 << 10) /* bytes of a question */
#define MOST_COLUMNS 512     /* of an answer */

/* ---- rows ----------------------------------------------------------------------------------- */

size_t table_rows(const struct query *query, enum table_id table) {
    if (query_table_at(table)->part != QUERY_PROFILE)
        return query->kept[table].rows;
    return query->measured ? measured_rows(query->measured, table)
                           : query_rows_count(&query->rows, table);
}

void table_cell(struct query *query, enum table_id id, size_t row, int column,
                struct query_value *value) {
    const struct query_table *table = query_table_at(id);
    if (table->part == QUERY_PROFILE && query->measured)
        measured_cell(query->measured, id, row, column, value);
    else if (table->part == QUERY_PROFILE)
        query_rows_cell(&query->rows, id, row, column, value);
    else
        *value = query->kept[id].cells.at[row * table->count + (size_t)column];
}

static void profile_is_there(struct query *query) {
    const struct query_table *table;
    for (size_t id = 0; (table = query_table_at(id)); id++)
        query->loaded[id] |= table->part == QUERY_PROFILE;
}

void query_give_profile(struct query *query, const struct query_profile *profile) {
    vtab_forget(query, QUERY_PROFILE);
    query_rows_free(&query->rows);
    query_rows_take(&query->rows, profile);
    profile_is_there(query);
}

static bool give(struct query *query, struct measured *measured) {
    if (!measured)
        return false;
    vtab_forget(query, QUERY_PROFILE);
    measured_free(query->measured);
    query->measured = measured;
    profile_is_there(query);
    return true;
}

bool query_give_measured(struct query *query, struct str json, struct err *err) {
    return give(query, measured_read(json, err));
}

bool query_give_tables(struct query *query, const char *folder, struct err *err) {
    return give(query, measured_tables(folder, err));
}

static void keep_value(struct query *query, enum query_type type, const char *text,
                       struct query_value *value) {
    long long integer;
    *value = (struct query_value){.type = QUERY_NULL};
    if (!text)
        return;
    if (type == QUERY_INT && str_to_int(str_of(text), &integer)) {
        value->type = QUERY_INT;
        value->integer = integer;
    } else if (type != QUERY_TEXT && str_to_double(str_of(text), &value->real)) {
        value->type = QUERY_REAL;
    } else {
        value->type = QUERY_TEXT;
        value->text = text_pool_keep(query->texts, str_of(text));
        value->lasts = true;
    }
}

static size_t id_of(const struct query_table *table) {
    size_t id = 0;
    while (query_table_at(id) != table)
        id++;
    return id;
}

bool query_wants(const struct query *query, const struct query_table *table) {
    size_t id = id_of(table);
    return query->wanted[id] && !query->loaded[id];
}

bool query_give_row(struct query *query, const struct query_table *table,
                    const char *const *values) {
    struct kept *kept = &query->kept[id_of(table)];
    if (!query_wants(query, table))
        return true;
    if (kept->rows == QUERY_MOST_ROWS)
        return false;
    for (size_t i = 0; i < table->count; i++)
        keep_value(query, table->columns[i].type, values[i], vec_push(&kept->cells));
    kept->rows++;
    return true;
}

/* Has the wanted tables of a part loaded. Of a part that failed nothing is there. */
static bool load_part(struct query *query, enum query_part part, struct err *err) {
    const struct query_table *table;
    bool any = false, ok = true;
    for (size_t id = 0; (table = query_table_at(id)); id++)
        any |= table->part == part && query_wants(query, table);
    ok = !any || query->load(query->data, query, part, err);
    for (size_t id = 0; any && (table = query_table_at(id)); id++)
        if (table->part == part && query_wants(query, table)) {
            query->loaded[id] = ok;
            query->kept[id].rows = ok ? query->kept[id].rows : 0;
            query->kept[id].cells.len = ok ? query->kept[id].cells.len : 0;
        }
    if (any && ok)
        vtab_forget(query, part);
    return ok;
}

static void want_part(struct query *query, enum query_part part) {
    const struct query_table *table;
    for (size_t id = 0; (table = query_table_at(id)); id++)
        query->wanted[id] |= table->part == part;
}

bool query_load(struct query *query, enum query_part part, struct err *err) {
    want_part(query, part);
    return load_part(query, part, err);
}

/* ---- what a question may do ----------------------------------------------------------------- */

static bool is_name_of(const char *given, const char *name) {
    return given && !strcasecmp(given, name);
}

/* Only reading is allowed: what is not named here is not. */
static int authorise(void *data, int action, const char *one, const char *two, const char *database,
                     const char *trigger) {
    struct query *query = data;
    const struct query_table *table;
    (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_name_of(two, "load_extension") || is_name_of(two, "fts3_tokenizer") ? SQLITE_DENY
                                                                                      : SQLITE_OK;
    case SQLITE_READ:
        table = one ? query_table_find(one) : NULL;
        if (table && table->part == QUERY_PROFILE) /* there is one of it */
            want_part(query, QUERY_PROFILE);
        else if (table)
            query->wanted[id_of(table)] = true;
        return SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

bool query_late(struct query *query) {
    query->is_over |= query->deadline_ns && clock_monotonic_ns() > query->deadline_ns;
    return query->is_over;
}

static int watch(void *data) {
    return query_late(data);
}

static void set_limits(sqlite3 *db) {
    static const struct {
        int limit, most;
    } limits[] = {{SQLITE_LIMIT_LENGTH, MOST_TEXT},         {SQLITE_LIMIT_SQL_LENGTH, MOST_SQL},
                  {SQLITE_LIMIT_COLUMN, MOST_COLUMNS},      {SQLITE_LIMIT_ATTACHED, 0},
                  {SQLITE_LIMIT_EXPR_DEPTH, 200},           {SQLITE_LIMIT_COMPOUND_SELECT, 100},
                  {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}, {SQLITE_LIMIT_VDBE_OP, 250000},
                  {SQLITE_LIMIT_TRIGGER_DEPTH, 1}};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        sqlite3_limit(db, limits[i].limit, limits[i].most);
}

static bool prepare_database(struct query *query, struct err *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(":memory:", &query->db, flags, NULL))
        return err_set(err, ERR_ENVIRONMENT, "cannot prepare questions: %s",
                       query->db ? sqlite3_errmsg(query->db) : "no memory");
    sqlite3_db_config(query->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(query->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(query->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);        /* "x" is a column */
    sqlite3_exec(query->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL); /* writes no file */
    if (!vtab_register(query, err) || !functions_register(query->db, err))
        return false;
    set_limits(query->db);
    sqlite3_set_authorizer(query->db, authorise, query);
    sqlite3_progress_handler(query->db, STEPS_BETWEEN, watch, query);
    return true;
}

struct query *query_open(query_load_fn *load, void *data, struct err *err) {
    struct query *query = mem_alloc(1, sizeof *query);
    query->load = load;
    query->data = data;
    query->arena = arena_new();
    query->texts = text_pool_new(query->arena);
    if (prepare_database(query, err))
        return query;
    query_close(query);
    return NULL;
}

void query_close(struct query *query) {
    if (!query)
        return;
    sqlite3_close(query->db);
    vtab_free(query);
    query_rows_free(&query->rows);
    measured_free(query->measured);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        vec_free(&query->kept[i].cells);
    text_pool_free(query->texts);
    arena_free(query->arena);
    free(query);
}

/* ---- errors --------------------------------------------------------------------------------- */

static const char *nearest_table(const char *name) {
    const char *names[TABLE_COUNT + 1] = {0};
    for (size_t i = 0; i < TABLE_COUNT; i++)
        names[i] = query_table_at(i)->name;
    return str_nearest(name, names);
}

/* A column of that name, or of a similar one; NULL. `tables` gets the tables that have it. */
static const char *nearest_column(const char *name, struct buf *tables) {
    const char *names[600] = {0};
    size_t count = 0;
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (size_t i = 0; i < query_table_at(t)->count && count + 1 < COUNT_OF(names); i++)
            names[count++] = query_table_at(t)->columns[i].name;
    const char *found = str_nearest(name, names);
    for (size_t t = 0; found && t < TABLE_COUNT; t++)
        for (size_t i = 0; i < query_table_at(t)->count; i++)
            if (!strcmp(query_table_at(t)->columns[i].name, found))
                buf_printf(tables, "%s%s", tables->len ? ", " : "", query_table_at(t)->name);
    return found;
}

static bool say_no_table(const char *name, struct err *err) {
    const char *near = nearest_table(name);
    return err_set(err, ERR_USAGE,
                   "there is no table %.60s%s%s%s; hone query --tables lists the tables", name,
                   near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool say_no_column(const char *name, struct err *err) {
    const char *dot = strrchr(name, '.');
    struct buf tables = {0};
    const char *near = nearest_column(dot ? dot + 1 : name, &tables);
    err_set(err, ERR_USAGE,
            "there is no column %.60s here%s%.200s%s%s; hone query --tables lists "
            "the columns. Texts are in single quotes",
            name, near ? ". There is, in " : "", near ? tables.at : "", near ? ": " : "",
            near ? near : "");
    buf_free(&tables);
    return false;
}

static bool say_failed(struct query *query, const struct query_limits *limits, int code,
                       struct err *err) {
    static const char no_table[] = "no such table: ", no_column[] = "no such column: ";
    const char *said = sqlite3_errmsg(query->db);
    double seconds = limits && limits->seconds > 0 ? limits->seconds : QUERY_SECONDS;
    if (query->is_over)
        return err_set(err, ERR_USAGE,
                       "the question took more than %.3g s and was ended; narrow it with WHERE, "
                       "or give it more time with --time-limit",
                       seconds);
    if ((code & 0xff) == SQLITE_NOMEM)
        return err_set(err, ERR_USAGE,
                       "the question needs more memory than it may use; sort or "
                       "join fewer rows");
    if ((code & 0xff) == SQLITE_TOOBIG)
        return err_set(err, ERR_USAGE, "the question, or a value that it makes, is too long");
    if ((code & 0xff) == SQLITE_AUTH || strstr(said, "may not be modified"))
        return err_set(err, ERR_USAGE, "questions only read: one SELECT, or WITH .. SELECT");
    if (!strncmp(said, no_table, sizeof no_table - 1))
        return say_no_table(said + sizeof no_table - 1, err);
    if (!strncmp(said, no_column, sizeof no_column - 1))
        return say_no_column(said + sizeof no_column - 1, err);
    return err_set(err, ERR_USAGE, "the question cannot be answered: %.300s", said);
}

/* ---- answers -------------------------------------------------------------------------------- */

static bool prepare(struct query *query, const char *sql, const struct query_limits *limits,
                    sqlite3_stmt **rows, struct err *err) {
    const char *rest = NULL;
    int code = sqlite3_prepare_v2(query->db, sql, -1, rows, &rest);
    if (code != SQLITE_OK)
        return say_failed(query, limits, code, err);
    if (!*rows)
        return err_set(err, ERR_USAGE, "there is no question; hone query --recipes lists some");
    sqlite3_stmt *other = NULL;
    bool more = sqlite3_prepare_v2(query->db, rest, -1, &other, NULL) != SQLITE_OK || other;
    sqlite3_finalize(other);
    if (more || !sqlite3_stmt_readonly(*rows) || !sqlite3_column_count(*rows))
        return err_set(err, ERR_USAGE, "only one SELECT at a time is allowed");
    return true;
}

static void read_value(sqlite3_stmt *rows, int column, struct query_value *value) {
    switch (sqlite3_column_type(rows, column)) {
    case SQLITE_INTEGER:
        *value =
            (struct query_value){.type = QUERY_INT, .integer = sqlite3_column_int64(rows, column)};
        return;
    case SQLITE_FLOAT:
        *value =
            (struct query_value){.type = QUERY_REAL, .real = sqlite3_column_double(rows, column)};
        return;
    case SQLITE_NULL: *value = (struct query_value){.type = QUERY_NULL}; return;
    default: {
        const char *text = (const char *)sqlite3_column_text(rows, column);
        *value = (struct query_value){.type = text ? QUERY_TEXT : QUERY_NULL, .text = text};
    }
    }
}

static bool read_rows(struct query *query, sqlite3_stmt *rows, const struct query_limits *limits,
                      query_row_fn *row, void *data, struct err *err) {
    const char *names[MOST_COLUMNS];
    struct query_value values[MOST_COLUMNS];
    int count = MIN_OF(sqlite3_column_count(rows), MOST_COLUMNS), code;
    for (int i = 0; i < count; i++)
        names[i] = sqlite3_column_name(rows, i);
    struct query_answer answer = {(size_t)count, names, NULL};
    bool goes_on = row(data, &answer);
    answer.values = values;
    while (goes_on && (code = sqlite3_step(rows)) != SQLITE_DONE) {
        if (code != SQLITE_ROW)
            return say_failed(query, limits, code, err);
        for (int i = 0; i < count; i++)
            read_value(rows, i, &values[i]);
        goes_on = row(data, &answer);
    }
    return true;
}

static void start_clock(struct query *query, const struct query_limits *limits) {
    double seconds = limits && limits->seconds > 0 ? limits->seconds : QUERY_SECONDS;
    query->is_over = false;
    query->deadline_ns = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
    if (limits && limits->clock)
        limits->clock(seconds);
}

static void stop_clock(struct query *query, const struct query_limits *limits) {
    query->deadline_ns = 0;
    if (limits && limits->clock)
        limits->clock(0);
}

static bool load_wanted(struct query *query, bool *any, struct err *err) {
    const struct query_table *table;
    *any = false;
    for (size_t id = 0; (table = query_table_at(id)); id++)
        if (query_wants(query, table)) {
            *any = true;
            if (!load_part(query, table->part, err))
                return false;
        }
    return true;
}

bool query_run(struct query *query, const char *sql, const struct query_limits *limits,
               query_row_fn *row, void *data, struct err *err) {
    sqlite3_stmt *rows = NULL;
    bool loaded = false;
    int64_t bytes = limits && limits->bytes > 0 ? limits->bytes : QUERY_BYTES;
    int64_t before = sqlite3_hard_heap_limit64(-1);
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + bytes);
    memset(query->wanted, 0, sizeof query->wanted);
    vtab_trim(query);
    start_clock(query, limits);
    bool ok = prepare(query, sql, limits, &rows, err);
    stop_clock(query, limits); /* it is for the question */
    ok = ok && load_wanted(query, &loaded, err);
    start_clock(query, limits);
    if (ok && loaded) { /* the plan hangs on how many rows there are */
        sqlite3_finalize(rows);
        rows = NULL;
        ok = prepare(query, sql, limits, &rows, err);
    }
    ok = ok && read_rows(query, rows, limits, row, data, err);
    sqlite3_finalize(rows);
    stop_clock(query, limits);
    sqlite3_hard_heap_limit64(before);
    return ok;
}

bool query_read(struct query *query, const struct query_table *table, query_row_fn *row, void *data,
                struct err *err) {
    const char *names[MOST_COLUMNS];
    size_t id = id_of(table);
    if (!query_load(query, table->part, err))
        return false;
    for (size_t i = 0; i < table->count; i++)
        names[i] = table->columns[i].name;
    struct query_answer answer = {table->count, names, NULL};
    bool goes_on = row(data, &answer);
    size_t rows = table_rows(query, (enum table_id)id);
    for (size_t r = 0; goes_on && r < rows; r++) {
        struct query_value values[MOST_COLUMNS];
        struct buf texts = {0};
        size_t starts[MOST_COLUMNS];
        for (size_t i = 0; i < table->count; i++) { /* a text lives until the next value is read */
            table_cell(query, (enum table_id)id, r, (int)i, &values[i]);
            starts[i] = texts.len;
            if (values[i].type == QUERY_TEXT)
                buf_add(&texts, values[i].text, strlen(values[i].text) + 1);
        }
        for (size_t i = 0; i < table->count; i++)
            if (values[i].type == QUERY_TEXT)
                values[i].text = texts.at + starts[i];
        answer.values = values;
        goes_on = row(data, &answer);
        buf_free(&texts);
    }
    return true;
}
