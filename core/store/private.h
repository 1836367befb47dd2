/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of store share. */
#ifndef HONE_STORE_PRIVATE_H
#define HONE_STORE_PRIVATE_H

#include <sqlite3.h>

#include "store/store.h"

struct store {
    char *folder;
    sqlite3 *db;
    sqlite3_stmt *append;
    int lock;           /* descriptor of the lock file; -1 when read-only */
    int log;            /* descriptor of hone.log; -1 */
    int64_t rows_bytes; /* of experiments.jsonl that are true; -1: it has to be made anew */
    int rows_anew;      /* descriptor of the file beside that will take its place; -1 */
    int64_t anew_bytes; /* in that one */
    bool read_only;
    char *holder;
};

/* Makes the schema of a new file. */
bool store_schema_make(struct store *store, struct err *err) CC_MUST_USE;
/* Fills *err from the connection's last failure: what was tried, why, what to do. */
bool store_sql_failed(struct store *store, const char *what, struct err *err);
bool store_exec(struct store *store, const char *sql, const char *what,
                struct err *err) CC_MUST_USE;
/* The number a statement answers with; `missing` on failure. */
int64_t store_number(struct store *store, const char *sql, int64_t missing);

/* Takes the lock of a folder: true and *descriptor, or true with *descriptor -1 and *holder (a new
 * string) when somebody has it. The system frees the lock of a process that dies. */
bool store_lock_take(const char *folder, int *descriptor, char **holder,
                     struct err *err) CC_MUST_USE;

#endif
