/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a question in SQL: whatever it is, it ends within its limits, it changes
 * nothing, and an error says something. */
#include "fuzz/fuzz.h"
#include "query/small.h"

struct fixed {
    struct small small;
    struct query *query;
};

static bool on_row(void *data, const struct query_answer *row) {
    size_t *rows = data;
    for (size_t i = 0; row->values && i < row->count; i++)
        if (row->values[i].type == QUERY_TEXT && !row->values[i].text)
            HONE_BUG("a text without a text");
    for (size_t i = 0; i < row->count; i++)
        if (!row->names[i])
            HONE_BUG("a column without a name");
    return ++*rows < 1000;
}

static bool one_number(void *data, const struct query_answer *row) {
    if (row->values)
        *(int64_t *)data = row->values[0].integer;
    return true;
}

/* What no question may change. */
static void look(struct query *query) {
    struct err err = {0};
    int64_t count = 0;
    const char *sql = "SELECT (SELECT COUNT(*) FROM Instruction) * 1000 + COUNT(*) "
                      "+ (SELECT COUNT(*) FROM sqlite_schema) * 1000000 FROM attempts";
    if (!query_run(query, sql, NULL, one_number, &count, &err) || count != 28003)
        HONE_BUG("a question has changed the tables");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct fixed fixed; /* making it takes longer than asking */
    struct query_limits limits = {.seconds = 0.1, .bytes = 16 << 20};
    struct err err = {0};
    struct buf sql = {0};
    size_t rows = 0;
    if (!fixed.query) {
        if (!small_make(&fixed.small, small_source))
            HONE_BUG("the kernel does not compile");
        fixed.query = query_open(small_load, &fixed.small, &err);
    }
    buf_add(&sql, (const char *)data, size);
    buf_puts(&sql, "");
    uint64_t before = clock_monotonic_ns();
    bool ok = query_run(fixed.query, sql.at, &limits, on_row, &rows, &err);
    if (!ok && !err.text[0])
        HONE_BUG("a question was refused without a word");
    if (clock_monotonic_ns() - before > (uint64_t)20e9)
        HONE_BUG("a question did not end");
    look(fixed.query);
    buf_free(&sql);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "SELECT engine, opcode, COUNT(*), SUM(duration_ns) FROM Instruction GROUP BY 1, 2",
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 50) SELECT median(x) "
    "FROM r",
    "SELECT a.id FROM Instruction a JOIN Instruction b ON a.line = b.line AND b.id = a.cause",
    "SELECT attempt, plan, printf('%-20s|%g', status, latency_us) FROM attempts WHERE plan LIKE "
    "'%a%' ORDER BY 1 DESC LIMIT 2 OFFSET 1",
    "SELECT MAX(end_ts) OVER (ORDER BY start_ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) "
    "FROM DmaPacket",
    "SELECT * FROM json_each('[1, [2, 3]]'), Metric WHERE name GLOB '*' || value || '*'",
    "ATTACH 'x' AS y; PRAGMA user_version = 3; INSERT INTO attempts VALUES (1)",
    "SELECT stdev(slack_ns), group_concat(kind) FROM Dependence GROUP BY consumer HAVING 1 = 1",
};
static const char *const pieces[] = {
    "SELECT ",
    " FROM ",
    " WHERE ",
    " GROUP BY ",
    " ORDER BY ",
    " UNION ALL ",
    " JOIN ",
    "(",
    ")",
    "Instruction",
    "attempts",
    "Flow",
    "*",
    ",",
    "'",
    "\"",
    ";",
    "--",
    "/*",
    " = ",
    " IN ",
    "NULL",
    "-9223372036854775808",
    "1e308",
    "x'00'",
    "zeroblob(99999999)",
    "randomblob(9)",
    "load_extension('x')",
    "CREATE TABLE t(x)",
    "PRAGMA ",
    "ATTACH ",
    "EXPLAIN ",
    "VALUES (1)",
    "rowid",
    "sqlite_schema",
    "pragma_table_info('t')",
    "?1",
    ":x",
    "CAST(",
    "median(",
};

static const struct fuzz_target target = {
    .name = "query", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
