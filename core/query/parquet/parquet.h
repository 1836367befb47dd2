/* SPDX-License-Identifier: Apache-2.0 */
/* query/parquet: the tables of files in Apache's format Parquet (parquet.apache.org, the format's
 * specification and parquet.thrift), row by row. Files come from others: every size in them is
 * held against the file's and against limits, and what is not read is refused with a word. */
#ifndef HONE_QUERY_PARQUET_PARQUET_H
#define HONE_QUERY_PARQUET_PARQUET_H

#include "base/base.h"

enum parquet_type { PARQUET_NULL, PARQUET_INT, PARQUET_REAL, PARQUET_TEXT };

/* A cell. Times are whole ns, dates whole days since 1970, decimals and what is no int64 are real.
 * Of a list it is the last element that is not null. A text is as it stands in the file, and there
 * until the next row. */
struct parquet_value {
    enum parquet_type type;
    union {
        int64_t integer;
        double real;
        struct str text;
    };
};

struct parquet;
/* NULL and *err: the file cannot be read (environment), it is no table in Parquet, it is damaged or
 * encrypted (damaged). */
struct parquet *parquet_open(const char *path, struct err *err) CC_MUST_USE;
void parquet_close(struct parquet *parquet); /* accepts NULL */
/* The number of the column of that name; -1: it has none. A field of a struct is "struct.field". */
int parquet_column(const struct parquet *parquet, const char *name);
size_t parquet_column_count(const struct parquet *parquet);
const char *parquet_column_name(const struct parquet *parquet, size_t column);

/* `values` has one for each of the columns that were asked for. False ends the reading. */
typedef bool parquet_row_fn(void *data, const struct parquet_value *values);
/* Reads these columns of all rows; the values of column -1 are null. Damaged error for a column
 * that is damaged, of a compression or an encoding that is not read. */
bool parquet_read(struct parquet *parquet, const int *columns, size_t count, parquet_row_fn *row,
                  void *data, struct err *err) CC_MUST_USE;

#endif
