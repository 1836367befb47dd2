/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for a test of the store, with a session in it that opens. Include cmocka before it. */
#ifndef HONE_TESTS_STORE_SCRATCH_H
#define HONE_TESTS_STORE_SCRATCH_H

#include <sqlite3.h>
#include <stdlib.h>

#include "store/store.h"

/* A new folder; scratch_end removes it and frees its path. */
static inline char *scratch(void) {
    char *path = mem_strdup("/tmp/hone_store_XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void scratch_end(char *path) {
    struct err err = {0};
    assert_true(file_remove_tree(path, &err));
    free(path);
}

static inline struct store *open_ok(const char *folder) {
    struct err err = {0};
    struct store *store = store_open(folder, false, &err);
    if (!store)
        fail_msg("%s", err.text);
    return store;
}

/* Changes a session's database behind its back. */
static inline void scratch_sql(const char *folder, const char *sql) {
    char *path = path_join(folder, "session.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(path);
}

#endif
