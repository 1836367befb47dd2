/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that questions to profiles need and SQLite does not have. */
#include "query/private.h"

#include <math.h>
#include <stdlib.h>

/* The numbers of a group. Its memory counts as SQLite's, so that it has SQLite's limit. */
struct numbers {
    double *at;
    size_t len, cap;
};

static void add_number(sqlite3_context *context, int argc, sqlite3_value **argv) {
    struct numbers *numbers = sqlite3_aggregate_context(context, sizeof *numbers);
    (void)argc;
    if (!numbers || sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    if (numbers->len == numbers->cap) {
        size_t cap = numbers->cap ? 2 * numbers->cap : 64;
        double *grown = sqlite3_realloc64(numbers->at, cap * sizeof *grown);
        if (!grown) {
            sqlite3_result_error_nomem(context);
            return;
        }
        numbers->at = grown;
        numbers->cap = cap;
    }
    numbers->at[numbers->len++] = sqlite3_value_double(argv[0]);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void end_median(sqlite3_context *context) {
    struct numbers *numbers = sqlite3_aggregate_context(context, 0);
    if (!numbers || !numbers->len) {
        sqlite3_result_null(context);
        return;
    }
    size_t half = numbers->len / 2;
    qsort(numbers->at, numbers->len, sizeof *numbers->at, by_value);
    sqlite3_result_double(context, numbers->len % 2
                                       ? numbers->at[half]
                                       : (numbers->at[half - 1] + numbers->at[half]) / 2);
    sqlite3_free(numbers->at);
    *numbers = (struct numbers){0};
}

static void end_deviation(sqlite3_context *context) {
    struct numbers *numbers = sqlite3_aggregate_context(context, 0);
    double sum = 0, squares = 0;
    if (!numbers || numbers->len < 2) {
        sqlite3_result_null(context);
        if (numbers)
            sqlite3_free(numbers->at);
        return;
    }
    for (size_t i = 0; i < numbers->len; i++)
        sum += numbers->at[i];
    double mean = sum / (double)numbers->len;
    for (size_t i = 0; i < numbers->len; i++)
        squares += (numbers->at[i] - mean) * (numbers->at[i] - mean);
    sqlite3_result_double(context, sqrt(squares / (double)(numbers->len - 1)));
    sqlite3_free(numbers->at);
    *numbers = (struct numbers){0};
}

bool functions_register(sqlite3 *db, struct err *err) {
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    bool ok =
        !sqlite3_create_function(db, "median", 1, flags, NULL, NULL, add_number, end_median) &&
        !sqlite3_create_function(db, "stdev", 1, flags, NULL, NULL, add_number, end_deviation);
    return ok ||
           err_set(err, ERR_ENVIRONMENT, "cannot prepare the functions: %s", sqlite3_errmsg(db));
}
