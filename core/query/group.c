/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table in the order of some columns, so that SQLite need not sort them: columns that
 * are grouped by have few different values, and numbering these is a fraction of the work. The
 * order is that of SQLite: null, then numbers, or texts by their bytes. */
#include "query/private.h"

#include <stdlib.h>

#define LOOKS_EVERY 4096 /* rows, between two looks at the clock */

bool group_may(const struct query_table *table, int column) {
    enum query_type type = column < 0 ? QUERY_NULL : table->columns[column].type;
    return table->part == QUERY_PROFILE && (type == QUERY_INT || type == QUERY_TEXT);
}

/* ---- the different values of a column ------------------------------------------------------- */

struct values {
    VEC(struct query_value) list; /* texts that do not last are in the arena */
    struct by_hash index;
    struct arena *arena;
    uint32_t last; /* what was found last */
};

static bool same(const struct query_value *a, const struct query_value *b) {
    if (a->type != b->type)
        return false;
    return a->type == QUERY_TEXT ? a->text == b->text || !strcmp(a->text, b->text)
                                 : a->type == QUERY_NULL || a->integer == b->integer;
}

static uint64_t hash_of(const struct query_value *value) {
    return value->type == QUERY_TEXT  ? hash_quick(value->text, strlen(value->text))
           : value->type == QUERY_INT ? hash_quick(&value->integer, sizeof value->integer)
                                      : 0;
}

/* The number of a value, in the order in which they came. */
static uint32_t number_of(struct values *values, const struct query_value *value) {
    size_t at = 0, row;
    if (values->list.len && same(&values->list.at[values->last], value))
        return values->last;
    uint64_t hash = hash_of(value);
    while (by_hash_next(&values->index, hash, &at, &row))
        if (same(&values->list.at[row], value))
            return values->last = (uint32_t)row;
    by_hash_put(&values->index, hash, values->list.len);
    struct query_value *kept = vec_push(&values->list);
    *kept = *value;
    if (value->type == QUERY_TEXT && !value->lasts)
        kept->text = arena_printf(values->arena, "%s", value->text);
    return values->last = (uint32_t)(values->list.len - 1);
}

static int by_value(const void *a, const void *b) {
    const struct query_value *x = *(const struct query_value *const *)a;
    const struct query_value *y = *(const struct query_value *const *)b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->type == QUERY_TEXT)
        return strcmp(x->text, y->text);
    return (x->integer > y->integer) - (x->integer < y->integer);
}

/* The place of each number in the order of the values. */
static uint32_t *places_of(const struct values *values, bool descends) {
    size_t count = values->list.len;
    const struct query_value **sorted = mem_alloc(count + 1, sizeof *sorted);
    uint32_t *places = mem_alloc(count + 1, sizeof *places);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values->list.at[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    for (size_t i = 0; i < count; i++)
        places[sorted[i] - values->list.at] = (uint32_t)(descends ? count - 1 - i : i);
    free(sorted);
    return places;
}

/* ---- the order of rows ---------------------------------------------------------------------- */

/* Sorts rows by the place of their value, and leaves those of one value as they are. */
static void sort(uint32_t *rows, size_t count, const uint32_t *numbers, const uint32_t *places,
                 size_t values) {
    uint32_t *from = mem_alloc(values + 1, sizeof *from);
    uint32_t *sorted = mem_alloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        from[places[numbers[i]] + 1]++;
    for (size_t i = 1; i <= values; i++)
        from[i] += from[i - 1];
    for (size_t i = 0; i < count; i++)
        sorted[from[places[numbers[rows[i]]]]++] = rows[i];
    memcpy(rows, sorted, count * sizeof *rows);
    free(sorted);
    free(from);
}

/* False when the question's time is over. */
static bool sort_by(struct query *query, enum table_id id, const struct group_column *column,
                    uint32_t *rows, size_t count) {
    struct values values = {.arena = arena_new()};
    uint32_t *numbers = mem_alloc(count + 1, sizeof *numbers);
    bool late = false;
    for (size_t row = 0; row < count && !late; row++) {
        struct query_value value;
        table_cell(query, id, row, column->column, &value);
        numbers[row] = number_of(&values, &value);
        late = row % LOOKS_EVERY == 0 && query_late(query);
    }
    if (!late) {
        uint32_t *places = places_of(&values, column->descends);
        sort(rows, count, numbers, places, values.list.len);
        free(places);
    }
    free(numbers);
    vec_free(&values.list);
    by_hash_free(&values.index);
    arena_free(values.arena);
    return !late;
}

uint32_t *group_rows(struct query *query, enum table_id id, const struct group *group) {
    size_t count = table_rows(query, id);
    uint32_t *rows = mem_alloc(count + 1, sizeof *rows);
    for (size_t row = 0; row < count; row++)
        rows[row] = (uint32_t)row;
    for (size_t i = group->count; i-- > 0;)
        if (!sort_by(query, id, &group->columns[i], rows, count)) {
            free(rows);
            return NULL;
        }
    return rows;
}
