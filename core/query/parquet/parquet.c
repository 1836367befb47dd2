/* SPDX-License-Identifier: Apache-2.0 */
/* A file's rows: the columns that are asked for, side by side. */
#include "query/parquet/parquet.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/parquet/private.h"

struct parquet *parquet_open(const char *path, struct err *err) {
    struct parquet *parquet = mem_alloc(1, sizeof *parquet);
    struct err why = {0};
    parquet->arena = arena_new();
    int fd = file_open(path, O_RDONLY, 0, &why);
    parquet->file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (fd >= 0 && !parquet->file)
        close(fd);
    bool ok = parquet->file && !fseeko(parquet->file, 0, SEEK_END);
    parquet->size = ok ? (int64_t)ftello(parquet->file) : 0;
    if (!ok && why.kind == ERR_NONE)
        err_set(&why, ERR_ENVIRONMENT, "%.200s cannot be read", path);
    else if (ok && !(ok = footer_read(parquet, &why)))
        err_prefix(&why, "%.200s", path);
    if (ok)
        return parquet;
    err_set(err, why.kind, "%s", why.text);
    parquet_close(parquet);
    return NULL;
}

void parquet_close(struct parquet *parquet) {
    if (!parquet)
        return;
    if (parquet->file)
        fclose(parquet->file);
    vec_free(&parquet->leaves);
    vec_free(&parquet->groups);
    vec_free(&parquet->chunks);
    arena_free(parquet->arena);
    free(parquet);
}

bool parquet_bytes(struct parquet *parquet, int64_t offset, void *to, size_t size,
                   struct err *err) {
    bool ok = !fseeko(parquet->file, (off_t)offset, SEEK_SET) &&
              fread(to, 1, size, parquet->file) == size;
    return ok || err_set(err, ERR_DAMAGED, "it ends before byte %lld",
                         (long long)(offset + (int64_t)size));
}

size_t parquet_column_count(const struct parquet *parquet) {
    return parquet->leaves.len;
}

const char *parquet_column_name(const struct parquet *parquet, size_t column) {
    return parquet->leaves.at[column].name;
}

int parquet_column(const struct parquet *parquet, const char *name) {
    for (size_t i = 0; i < parquet->leaves.len; i++)
        if (!strcmp(parquet->leaves.at[i].name, name))
            return (int)i;
    return -1;
}

struct reading {
    struct parquet *parquet;
    const int *columns;
    size_t count;
    struct cursor *cursors;
    struct parquet_value *values;
};

static bool row_read(struct reading *reading, struct err *err) {
    for (size_t i = 0; i < reading->count; i++)
        if (reading->columns[i] >= 0 &&
            !cursor_next(&reading->cursors[i], &reading->values[i], err))
            return err_prefix(err, "column %.80s",
                              reading->parquet->leaves.at[reading->columns[i]].name);
    return true;
}

static bool group_read(struct reading *reading, size_t group, parquet_row_fn *row, void *data,
                       struct err *err) {
    bool ok = true, more = true;
    for (size_t i = 0; i < reading->count; i++)
        if (reading->columns[i] >= 0)
            cursor_open(&reading->cursors[i], reading->parquet, group, reading->columns[i]);
    for (int64_t i = 0; ok && more && i < reading->parquet->groups.at[group].rows; i++) {
        ok = row_read(reading, err);
        more = ok && row(data, reading->values);
    }
    for (size_t i = 0; i < reading->count; i++)
        if (reading->columns[i] >= 0)
            cursor_close(&reading->cursors[i]);
    return more;
}

bool parquet_read(struct parquet *parquet, const int *columns, size_t count, parquet_row_fn *row,
                  void *data, struct err *err) {
    struct reading reading = {parquet, columns, count, NULL, NULL};
    struct err why = {0};
    bool more = true;
    reading.cursors = mem_alloc(count + 1, sizeof *reading.cursors);
    reading.values = mem_alloc(count + 1, sizeof *reading.values);
    for (size_t i = 0; more && i < parquet->groups.len; i++)
        more = group_read(&reading, i, row, data, &why);
    free(reading.cursors);
    free(reading.values);
    return why.kind == ERR_NONE || err_set(err, why.kind, "%s", why.text);
}
