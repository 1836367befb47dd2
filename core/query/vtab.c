/* SPDX-License-Identifier: Apache-2.0 */
/* The tables as SQLite's virtual tables, so that nothing is copied. A comparison with a column of
 * numbers or names is answered by an index, which is made when one is first asked for; an id is the
 * number of its row. SQLite compares again, so an index only must not leave out a row. Where rows
 * are grouped by such columns they come in groups, so that SQLite does not sort a million of them.
 */
#include "query/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKS_EVERY 4096 /* rows, between two looks at the clock */
#define MOST_ORDERS 8    /* of a table that are kept from one question to the next */

/* The rows of a column by a hash of their values: chains in the order of the rows. A chain may have
 * all rows of the table, as that of an engine's name. */
#define NO_ROW UINT32_MAX
struct index {
    uint32_t *first, *last; /* per slot; a power of two of them */
    uint32_t *next;         /* per row */
    size_t slots;           /* 0: not made yet */
};
/* Rows in the order of some columns. */
struct ordered {
    struct group group;
    uint32_t *rows;
};
/* What SQLite knows a table by. */
struct source {
    struct query *query;
    enum table_id id;
    const struct query_table *table;
    struct index *indices; /* one for each column */
    VEC(struct ordered) orders;
};
struct table {
    sqlite3_vtab base;
    struct source *source;
};
struct cursor {
    sqlite3_vtab_cursor base;
    size_t row, rows;
    const struct index *index; /* NULL: all rows from `row` on, before `rows` */
    size_t place;              /* in `order` */
    const uint32_t *order;     /* the rows as they come; NULL: as they are */
    bool ended;
};

static struct source *source_of(const sqlite3_vtab_cursor *cursor) {
    return ((struct table *)cursor->pVtab)->source;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const char *type_name(enum query_type type) {
    return type == QUERY_INT ? "INTEGER" : type == QUERY_REAL ? "REAL" : "TEXT";
}

static int connect(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **error) {
    struct source *source = data;
    struct buf sql = {0};
    (void)argc, (void)argv, (void)error;
    buf_puts(&sql, "CREATE TABLE x(");
    for (size_t i = 0; i < source->table->count; i++)
        buf_printf(&sql, "%s\"%s\" %s", i ? "," : "", source->table->columns[i].name,
                   type_name(source->table->columns[i].type));
    buf_putc(&sql, ')');
    int code = sqlite3_declare_vtab(db, sql.at);
    buf_free(&sql);
    if (code != SQLITE_OK)
        return code;
    struct table *table = mem_alloc(1, sizeof *table);
    table->source = source;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table) {
    free(table);
    return SQLITE_OK;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static bool is_row_number(const struct source *source, int column) {
    return column == 0 && (source->id == TABLE_INSTRUCTION || source->id == TABLE_TRANSFER ||
                           source->id == TABLE_PACKET);
}

static bool may_index(const struct source *source, int column) {
    enum query_type type = column < 0 ? QUERY_NULL : source->table->columns[column].type;
    return type == QUERY_INT || type == QUERY_TEXT;
}

/* Names have fewer different values than numbers, so an index of them leaves more rows. */
static double rows_left(const struct source *source, int column, double rows) {
    if (is_row_number(source, column))
        return 1;
    return source->table->columns[column].type == QUERY_INT ? 4 + sqrt(rows) / 16 : 4 + rows / 16;
}

/* A value that is the same for the whole question: reading all rows once is cheaper than an index
 * of them. */
static bool is_literal(sqlite3_index_info *info, int constraint) {
    sqlite3_value *value = NULL;
    return sqlite3_vtab_rhs_value(info, constraint, &value) == SQLITE_OK && value;
}

/* The columns that rows are grouped by, as text for `filter`: "2 16d". An order that is asked for
 * alone is left to SQLite, which needs no more than the first rows of it where there is a LIMIT. */
static void take_order(const struct source *source, sqlite3_index_info *info) {
    bool all = info->nOrderBy > 0 && info->nOrderBy <= GROUP_MOST && sqlite3_vtab_distinct(info);
    for (int i = 0; all && i < info->nOrderBy; i++)
        all = group_may(source->table, info->aOrderBy[i].iColumn);
    if (!all)
        return;
    struct buf text = {0};
    for (int i = 0; i < info->nOrderBy; i++)
        buf_printf(&text, "%s%d%s", i ? " " : "", info->aOrderBy[i].iColumn,
                   info->aOrderBy[i].desc ? "d" : "");
    info->idxStr = sqlite3_mprintf("%s", text.at);
    info->needToFreeIdxStr = info->idxStr != NULL;
    info->orderByConsumed = info->idxStr != NULL;
    buf_free(&text);
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    struct source *source = ((struct table *)vtab)->source;
    double rows = (double)MAX_OF(table_rows(source->query, source->id), (size_t)1), least = rows;
    int chosen = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *one = &info->aConstraint[i];
        if (!one->usable || one->op != SQLITE_INDEX_CONSTRAINT_EQ ||
            !may_index(source, one->iColumn) ||
            (is_literal(info, i) && !is_row_number(source, one->iColumn)) ||
            sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        double left = rows_left(source, one->iColumn, rows);
        if (left < least || chosen < 0) {
            least = MIN_OF(left, least);
            chosen = i;
        }
    }
    info->idxNum = chosen < 0 ? -1 : info->aConstraint[chosen].iColumn;
    if (chosen >= 0)
        info->aConstraintUsage[chosen].argvIndex = 1;
    else
        take_order(source, info);
    info->estimatedCost = chosen < 0 ? rows * 4 : least * 4 + 1;
    info->estimatedRows = (sqlite3_int64)least;
    return SQLITE_OK;
}

/* ---- indices -------------------------------------------------------------------------------- */

static uint64_t hash_int(int64_t value) {
    return hash_quick(&value, sizeof value);
}

static uint64_t hash_text(const char *text, size_t len) {
    return hash_quick(text, len);
}

static void index_free(struct index *index) {
    free(index->first);
    free(index->last);
    free(index->next);
    *index = (struct index){0};
}

static void index_begin(struct index *index, size_t rows) {
    index->slots = 64;
    while (index->slots < rows)
        index->slots *= 2;
    index->first = mem_alloc(index->slots, sizeof *index->first);
    index->last = mem_alloc(index->slots, sizeof *index->last);
    index->next = mem_alloc(rows + 1, sizeof *index->next);
    memset(index->first, 0xff, index->slots * sizeof *index->first);
}

static void index_put(struct index *index, uint64_t hash, uint32_t row) {
    size_t slot = hash & (index->slots - 1);
    if (index->first[slot] == NO_ROW)
        index->first[slot] = row;
    else
        index->next[index->last[slot]] = row;
    index->last[slot] = row;
    index->next[row] = NO_ROW;
}

/* False when the question's time is over. */
static bool make_index(struct source *source, int column) {
    size_t rows = table_rows(source->query, source->id);
    struct index *index = &source->indices[column];
    index_begin(index, rows);
    for (size_t row = 0; row < rows; row++) {
        struct query_value value;
        if (row % LOOKS_EVERY == 0 && query_late(source->query)) {
            index_free(index);
            return false;
        }
        table_cell(source->query, source->id, row, column, &value);
        if (value.type == QUERY_INT)
            index_put(index, hash_int(value.integer), (uint32_t)row);
        else if (value.type == QUERY_TEXT)
            index_put(index, hash_text(value.text, strlen(value.text)), (uint32_t)row);
    }
    return true;
}

/* ---- orders --------------------------------------------------------------------------------- */

static bool is_same(const struct group *a, const struct group *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->columns[i].column == b->columns[i].column &&
               a->columns[i].descends == b->columns[i].descends;
    return same;
}

static struct group group_read(const char *text) {
    struct group group = {0};
    while (*text && group.count < GROUP_MOST) {
        char *end;
        int column = (int)strtol(text, &end, 10);
        group.columns[group.count++] = (struct group_column){column, *end == 'd'};
        text = end + (*end == 'd');
        text += *text == ' ';
    }
    return group;
}

/* NULL when the question's time is over. */
static const uint32_t *rows_ordered(struct source *source, const char *columns) {
    struct group group = group_read(columns);
    for (size_t i = 0; i < source->orders.len; i++)
        if (is_same(&source->orders.at[i].group, &group))
            return source->orders.at[i].rows;
    uint32_t *rows = group_rows(source->query, source->id, &group);
    if (rows)
        *vec_push(&source->orders) = (struct ordered){group, rows};
    return rows;
}

static void forget_orders(struct source *source) {
    for (size_t i = 0; i < source->orders.len; i++)
        free(source->orders.at[i].rows);
    source->orders.len = 0;
}

static void forget(struct source *source) {
    for (size_t i = 0; i < source->table->count; i++)
        index_free(&source->indices[i]);
    forget_orders(source);
}

void vtab_trim(struct query *query) {
    for (size_t t = 0; t < TABLE_COUNT; t++)
        if (query->sources[t]->orders.len > MOST_ORDERS)
            forget_orders(query->sources[t]);
}

void vtab_forget(struct query *query, enum query_part part) {
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        struct source *source = query->sources[t];
        if (!source || source->table->part != part)
            continue;
        forget(source);
    }
}

/* ---- cursors -------------------------------------------------------------------------------- */

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    (void)vtab;
    struct cursor *cursor = mem_alloc(1, sizeof *cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor) {
    free(cursor);
    return SQLITE_OK;
}

static bool whole_number(sqlite3_value *value, int64_t *number) {
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        *number = sqlite3_value_int64(value);
        return true;
    }
    double real = sqlite3_value_double(value);
    *number = fabs(real) < 9e15 ? (int64_t)real : INT64_MAX;
    return sqlite3_value_type(value) == SQLITE_FLOAT;
}

/* The hash of what a column is compared with. False: the index has no answer, or no row is
 * alike (`none`). */
static bool wanted_hash(enum query_type type, sqlite3_value *value, uint64_t *hash, bool *none) {
    int64_t number;
    *none = sqlite3_value_type(value) == SQLITE_NULL;
    if (*none)
        return false;
    if (type == QUERY_INT && whole_number(value, &number))
        *hash = hash_int(number);
    else if (type == QUERY_TEXT && sqlite3_value_type(value) == SQLITE_TEXT)
        *hash =
            hash_text((const char *)sqlite3_value_text(value), (size_t)sqlite3_value_bytes(value));
    else
        return false;
    return true;
}

static void go_to(struct cursor *cursor, int64_t number) {
    bool there = number >= 0 && (uint64_t)number < cursor->rows;
    cursor->row = there ? (size_t)number : 0;
    cursor->rows = there ? cursor->row + 1 : 0;
    cursor->ended = !there;
}

static bool in_order(struct cursor *cursor, struct source *source, const char *columns) {
    cursor->order = columns ? rows_ordered(source, columns) : NULL;
    if (cursor->order && !cursor->ended)
        cursor->row = cursor->order[0];
    return !columns || cursor->order;
}

static int filter(sqlite3_vtab_cursor *base, int column, const char *columns, int argc,
                  sqlite3_value **argv) {
    struct cursor *cursor = (struct cursor *)base;
    struct source *source = source_of(base);
    bool none = false;
    int64_t number;
    uint64_t hash;
    *cursor = (struct cursor){.base = *base, .rows = table_rows(source->query, source->id)};
    cursor->ended = !cursor->rows;
    if (column < 0 || argc < 1)
        return in_order(cursor, source, columns) ? SQLITE_OK : SQLITE_INTERRUPT;
    if (is_row_number(source, column) && whole_number(argv[0], &number)) {
        go_to(cursor, number);
        return SQLITE_OK;
    }
    if (!wanted_hash(source->table->columns[column].type, argv[0], &hash, &none)) {
        cursor->ended |= none;
        return SQLITE_OK;
    }
    struct index *index = &source->indices[column];
    if (!index->slots && !make_index(source, column))
        return SQLITE_INTERRUPT;
    cursor->index = index;
    cursor->row = index->first[hash & (index->slots - 1)];
    cursor->ended = cursor->row == NO_ROW;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    cursor->place++;
    if (cursor->index)
        cursor->row = cursor->index->next[cursor->row];
    else if (cursor->order)
        cursor->row = cursor->place < cursor->rows ? cursor->order[cursor->place] : cursor->rows;
    else
        cursor->row++;
    cursor->ended = cursor->index ? cursor->row == NO_ROW : cursor->row >= cursor->rows;
    bool late = cursor->place % LOOKS_EVERY == 0 && query_late(source_of(base)->query);
    return late ? SQLITE_INTERRUPT : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base) {
    return ((struct cursor *)base)->ended;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *number) {
    *number = (sqlite3_int64)((struct cursor *)base)->row;
    return SQLITE_OK;
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    struct source *source = source_of(base);
    struct query_value value;
    table_cell(source->query, source->id, ((struct cursor *)base)->row, column, &value);
    switch (value.type) {
    case QUERY_INT: sqlite3_result_int64(context, value.integer); break;
    case QUERY_REAL: sqlite3_result_double(context, value.real); break;
    case QUERY_TEXT:
        sqlite3_result_text(context, value.text, -1,
                            value.lasts ? SQLITE_STATIC : SQLITE_TRANSIENT);
        break;
    case QUERY_NULL: sqlite3_result_null(context); break;
    }
    return SQLITE_OK;
}

/* A table that is there without being made: no schema can be changed. */
static const sqlite3_module module = {.iVersion = 1,
                                      .xConnect = connect,
                                      .xBestIndex = best_index,
                                      .xDisconnect = disconnect,
                                      .xOpen = cursor_open,
                                      .xClose = cursor_close,
                                      .xFilter = filter,
                                      .xNext = next,
                                      .xEof = at_end,
                                      .xColumn = column_value,
                                      .xRowid = row_number};

/* SQLite makes the table when it is first named, which questions may not. */
static bool name_once(sqlite3 *db, const char *table) {
    sqlite3_stmt *rows = NULL;
    struct buf sql = {0};
    buf_printf(&sql, "SELECT 1 FROM \"%s\"", table);
    bool ok = sqlite3_prepare_v2(db, sql.at, -1, &rows, NULL) == SQLITE_OK;
    sqlite3_finalize(rows);
    buf_free(&sql);
    return ok;
}

bool vtab_register(struct query *query, struct err *err) {
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        struct source *source = mem_alloc(1, sizeof *source);
        *source =
            (struct source){.query = query, .id = (enum table_id)t, .table = query_table_at(t)};
        source->indices = mem_alloc(source->table->count, sizeof *source->indices);
        query->sources[t] = source;
        if (sqlite3_create_module_v2(query->db, source->table->name, &module, source, NULL) ||
            !name_once(query->db, source->table->name))
            return err_set(err, ERR_ENVIRONMENT, "cannot prepare the table %s: %s",
                           source->table->name, sqlite3_errmsg(query->db));
    }
    return true;
}

void vtab_free(struct query *query) {
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        struct source *source = query->sources[t];
        if (!source)
            continue;
        forget(source);
        vec_free(&source->orders);
        free(source->indices);
        free(source);
    }
}
