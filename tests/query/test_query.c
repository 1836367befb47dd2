/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: what the tables hold against the profile that they are of, indices against reading all
 * rows, what a question may not do, its limits, what its errors say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "query/small.h"

struct asked {
    struct small small;
    struct query *query;
    struct err err;
    struct buf text; /* the answer: a line for each row, with | between values */
    size_t rows, most;
};

static int start(void **state) {
    struct asked *asked = mem_alloc(1, sizeof *asked);
    assert_true(small_make(&asked->small, small_source));
    asked->query = query_open(small_load, &asked->small, &asked->err);
    assert_non_null(asked->query);
    *state = asked;
    return 0;
}

static int end(void **state) {
    struct asked *asked = *state;
    query_close(asked->query);
    small_free(&asked->small);
    buf_free(&asked->text);
    free(asked);
    return 0;
}

static bool on_row(void *data, const struct query_answer *row) {
    struct asked *asked = data;
    if (!row->values)
        return true;
    for (size_t i = 0; i < row->count; i++) {
        const struct query_value *value = &row->values[i];
        if (i)
            buf_putc(&asked->text, '|');
        if (value->type == QUERY_INT)
            buf_printf(&asked->text, "%lld", (long long)value->integer);
        else if (value->type == QUERY_REAL)
            buf_printf(&asked->text, "%.12g", value->real);
        else if (value->type == QUERY_TEXT)
            buf_puts(&asked->text, value->text);
    }
    buf_putc(&asked->text, '\n');
    asked->rows++;
    return !asked->most || asked->rows < asked->most;
}

static bool ask_within(struct asked *asked, const char *sql, const struct query_limits *limits) {
    buf_clear(&asked->text);
    buf_puts(&asked->text, "");
    asked->rows = 0;
    asked->err = (struct err){0};
    return query_run(asked->query, sql, limits, on_row, asked, &asked->err);
}

static const char *answer(struct asked *asked, const char *sql) {
    bool ok = ask_within(asked, sql, NULL);
    if (!ok)
        print_message("%s\n%s\n", sql, asked->err.text);
    assert_true(ok);
    return asked->text.at;
}

static double number(struct asked *asked, const char *sql) {
    double value = NAN;
    assert_true(str_to_double(str_trim(str_of(answer(asked, sql))), &value));
    return value;
}

#define assert_refused(asked, sql, part)                                     \
    do {                                                                     \
        if (ask_within(asked, sql, NULL))                                    \
            fail_msg("%s is not refused", sql);                              \
        assert_int_equal(asked->err.kind, ERR_USAGE);                        \
        if (!strstr(asked->err.text, part))                                  \
            fail_msg("%s: \"%s\" lacks \"%s\"", sql, asked->err.text, part); \
    } while (0)

/* ---- what is in the tables ------------------------------------------------------------------ */

static void rows_are_those_of_the_profile(void **state) {
    struct asked *asked = *state;
    const struct device_profile *profile = asked->small.profile;
    assert_string_equal(answer(asked, "SELECT nki_op, COUNT(*) FROM Instruction GROUP BY 1"),
                        "dma_copy|18\nnc_matmul|8\ntensor_copy|2\n");
    assert_true(fabs(number(asked, "SELECT latency_us FROM Metadata") - profile->latency_us) <
                1e-6);
    for (size_t i = 0; i < profile->metrics.len; i++) {
        struct buf sql = {0};
        buf_printf(&sql, "SELECT s.%s - m.value FROM Summary s, Metric m WHERE m.name = '%s'",
                   profile->metrics.at[i].name, profile->metrics.at[i].name);
        assert_true(fabs(number(asked, sql.at)) <= 0);
        buf_free(&sql);
    }
    assert_string_equal(answer(asked, "SELECT variable_name, type, size, shape FROM TensorInfo "
                                      "ORDER BY 1"),
                        "a|IN|524288|512x256\nb|IN|1048576|512x512\nout|OUT|524288|256x512\n");
    assert_string_equal(
        answer(asked, "SELECT DISTINCT opcode, tensor_instruction_type, k, m, n, dtype, line, "
                      "bir_debug_info_source_location, adjusted_flops "
                      "FROM Instruction WHERE engine = 'Tensor'"),
        "MATMUL|REGULAR|128|128|512|float32|14|kernel.py:14|67108864\n");
}

/* The trace has a schedule of its own: it is the one that the profile is made of. */
static void the_trace_is_the_profiles_timeline(void **state) {
    struct asked *asked = *state;
    const struct device_profile *profile = asked->small.profile;
    const struct device_trace *trace = asked->small.trace;
    assert_int_equal(trace->events.len, profile->spans.len);
    for (size_t i = 0; i < profile->spans.len; i++) {
        const struct device_span *span = &profile->spans.at[i];
        size_t same = 0;
        for (size_t k = 0; k < trace->events.len; k++)
            same += trace->events.at[k].instr == span->instr &&
                    trace->events.at[k].queue == span->queue &&
                    fabs(trace->events.at[k].start_ns - span->start_ns) <= 0 &&
                    fabs(trace->events.at[k].end_ns - span->end_ns) <= 0;
        assert_int_equal(same, 1);
    }
    assert_true(trace->edges.len > 20);
    for (size_t i = 0; i < trace->edges.len; i++)
        assert_true(trace->edges.at[i].producer < trace->edges.at[i].consumer);
}

static void sums_agree_between_tables(void **state) {
    struct asked *asked = *state;
    double moved = number(asked, "SELECT SUM(transfer_bytes) FROM DmaPacketAggregated");
    assert_true(fabs(moved - number(asked, "SELECT dma_transfer_total_bytes FROM Summary")) < 1);
    assert_true(fabs(moved - (2 * 524288 + 4 * 2 * 128 * 512 * 4 + 0)) < 1);
    assert_true(fabs(number(asked, "SELECT SUM(hbm_read_bytes) FROM Instruction") -
                     number(asked, "SELECT hbm_read_bytes FROM Summary")) < 1);
    /* launch and end belong to no line */
    struct device_causes *causes = device_causes_of(asked->small.image, NULL, false);
    assert_non_null(causes);
    double launch = causes->launch_us, latency = causes->latency_us;
    assert_true(launch > 0);
    assert_true(fabs(number(asked, "SELECT SUM(us) FROM Line") + launch - latency) < 1e-6);
    assert_true(fabs(number(asked, "SELECT SUM(share) FROM Line") - 1 + launch / latency) < 1e-9);
    device_causes_free(causes);
    assert_true(fabs(number(asked, "SELECT SUM(duration_ns) FROM ActiveTime WHERE engine = 'DMA'") -
                     1e9 * number(asked, "SELECT dma_active_time FROM Summary")) < 1);
    assert_true(fabs(number(asked, "SELECT SUM(times) FROM Call") -
                     number(asked, "SELECT COUNT(*) FROM Instruction")) < 1);
    assert_true(number(asked, "SELECT MIN(slack_ns) FROM Dependence WHERE kind = 'memory'") >
                -1e-6);
    assert_string_equal(answer(asked, "SELECT COUNT(*) FROM Flow f JOIN Instruction i ON "
                                      "i.id = f.in_id JOIN DmaPacketAggregated a ON "
                                      "a.id = f.out_id WHERE i.start_ts = a.start_ts "
                                      "AND a.instruction = i.id"),
                        "18\n");
}

static void spills_are_told(void **state) {
    static const char source[] =
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n@nki.jit\n"
        "def kernel(a, b):\n"
        "    out = nl.ndarray((24, 128, 4096), dtype=a.dtype, buffer=nl.shared_hbm)\n"
        "    t = nl.ndarray((24, nl.par_dim(128), 4096), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    x = nl.load(a[0:128, 0:256])\n"
        "    for i in nl.affine_range(24):\n"
        "        t[i] = nl.multiply(x[:, 0:1], nl.ones((128, 4096), dtype=nl.float32))\n"
        "    for i in nl.affine_range(24):\n"
        "        nl.store(out[i], t[i])\n"
        "    return out\n";
    struct asked *asked = *state, other = {0};
    assert_true(small_make(&other.small, source));
    other.query = query_open(small_load, &other.small, &other.err);
    double saved = number(&other, "SELECT spill_save_bytes FROM Summary");
    if (saved > 0) /* the device's tests see to it that there are spills at all */
        assert_true(fabs(saved - number(&other, "SELECT SUM(transfer_bytes) FROM "
                                                "DmaPacketAggregated WHERE dest = 'VIRTUAL'")) < 1);
    assert_true(fabs(number(&other, "SELECT COUNT(*) FROM Instruction WHERE opcode LIKE 'SPILL%'") -
                     number(&other, "SELECT COUNT(*) FROM DmaPacketAggregated WHERE 'VIRTUAL' IN "
                                    "(source, dest)")) < 1);
    query_close(other.query);
    small_free(&other.small);
    buf_free(&other.text);
    (void)asked;
}

static void a_part_is_loaded_when_it_is_asked_for(void **state) {
    struct asked *asked = *state;
    answer(asked, "SELECT 1");
    assert_int_equal(asked->small.loads[QUERY_PROFILE], 0);
    answer(asked, "SELECT COUNT(*) FROM attempts");
    assert_string_equal(asked->text.at, "3\n");
    assert_int_equal(asked->small.loads[QUERY_PROFILE], 0);
    answer(asked, "SELECT COUNT(*) FROM (SELECT engine FROM instruction)");
    assert_string_equal(asked->text.at, "28\n");
    answer(asked, "SELECT COUNT(*) FROM Line, attempts");
    assert_int_equal(asked->small.loads[QUERY_PROFILE], 1);
    assert_int_equal(asked->small.loads[QUERY_SESSION], 1);
    answer(asked, "SELECT COUNT(*) FROM seeds, attempts"); /* tables of a session are read apart */
    assert_int_equal(asked->small.loads[QUERY_SESSION], 2);
    answer(asked, "SELECT COUNT(*) FROM seeds, attempts");
    assert_int_equal(asked->small.loads[QUERY_SESSION], 2);
}

static void what_cannot_be_loaded_is_told(void **state) {
    struct asked *asked = *state;
    err_set(&asked->small.refuses, ERR_KERNEL, "it does not compile");
    assert_false(ask_within(asked, "SELECT * FROM Line", NULL));
    assert_int_equal(asked->err.kind, ERR_KERNEL);
    assert_string_equal(asked->err.text, "it does not compile");
    asked->small.refuses = (struct err){0};
    assert_true(ask_within(asked, "SELECT * FROM Line", NULL));
    assert_true(asked->rows > 0);
}

static void null_is_null_and_numbers_are_numbers(void **state) {
    struct asked *asked = *state;
    assert_string_equal(answer(asked, "SELECT typeof(attempt), typeof(latency_us), typeof(plan), "
                                      "typeof(credible) FROM attempts ORDER BY attempt"),
                        "integer|real|text|text\ninteger|real|text|text\ninteger|null|text|null\n");
    assert_string_equal(answer(asked, "SELECT attempt FROM attempts WHERE plan = 'a ''plan'''"),
                        "1\n");
    assert_string_equal(answer(asked, "WITH v(x) AS (VALUES (1), (4), (NULL), (2), (9)) "
                                      "SELECT median(x), round(stdev(x), 6) FROM v"),
                        "3|3.559026\n");
}

/* ---- indices -------------------------------------------------------------------------------- */

static void compare(struct asked *asked, const struct query_table *table, const char *column,
                    const char *value) {
    struct buf sql = {0}, by_index = {0};
    buf_printf(&sql,
               "WITH one(v) AS MATERIALIZED (VALUES (%s)) "
               "SELECT t.rowid FROM one CROSS JOIN %s AS t WHERE t.\"%s\" = v",
               value, table->name, column);
    buf_puts(&by_index, answer(asked, sql.at));
    buf_clear(&sql);
    buf_printf(&sql, "SELECT rowid FROM %s WHERE NOT (%s <> %s)", table->name, column, value);
    if (strcmp(by_index.at, answer(asked, sql.at)) != 0)
        fail_msg("%s: %s, not %s", sql.at, by_index.at, asked->text.at);
    buf_free(&sql);
    buf_free(&by_index);
}

static void an_index_finds_what_reading_finds(void **state) {
    static const char *const values[] = {"0",
                                         "7",
                                         "7.0",
                                         "7.5",
                                         "-1",
                                         "'7'",
                                         "'Tensor'",
                                         "'DMA'",
                                         "'yes'",
                                         "NULL",
                                         "1e30",
                                         "'tensor'",
                                         "'keep'",
                                         "128",
                                         "14",
                                         "x'37'",
                                         "9223372036854775807",
                                         "''"};
    struct asked *asked = *state;
    const struct query_table *table;
    for (size_t t = 0; (table = query_table_at(t)); t++)
        for (size_t c = 0; c < table->count; c++)
            for (size_t v = 0; v < COUNT_OF(values); v++)
                compare(asked, table, table->columns[c].name, values[v]);
    assert_string_equal(answer(asked, "SELECT COUNT(*) FROM Instruction WHERE engine = 'tensor' "
                                      "COLLATE NOCASE"),
                        "8\n");
    assert_string_equal(answer(asked, "SELECT COUNT(*) FROM Instruction a JOIN Instruction b ON "
                                      "a.line = b.line WHERE a.nki_op = 'nc_matmul'"),
                        "64\n");
}

/* ---- groups --------------------------------------------------------------------------------- */

/* The same question twice: about columns, whose rows come in groups, and about what SQLite computes
 * of them, which it sorts itself. `sql` has @ before each, and names the table and two of its
 * columns by $t, $a and $b. */
static void same_of(struct asked *asked, const char *sql, const char *const names[3]) {
    struct buf texts[2] = {{0}, {0}}, grouped = {0};
    for (int computed = 0; computed < 2; computed++)
        for (const char *at = sql; *at; at++) {
            const char *name = *at == '$' ? strchr("t a b", at[1]) : NULL;
            if (name)
                buf_printf(&texts[computed], "\"%s\"", names[(name - "t a b") / 2]);
            else if (*at != '@')
                buf_putc(&texts[computed], *at);
            else if (computed)
                buf_putc(&texts[computed], '+');
            at += name ? 1 : 0;
        }
    buf_puts(&grouped, answer(asked, texts[0].at));
    if (strcmp(grouped.at, answer(asked, texts[1].at)) != 0)
        fail_msg("%s: %s, not %s", texts[0].at, grouped.at, asked->text.at);
    buf_free(&texts[0]);
    buf_free(&texts[1]);
    buf_free(&grouped);
}

static void same(struct asked *asked, const char *sql) {
    static const char *const names[3] = {"Instruction", "engine", "line"};
    same_of(asked, sql, names);
}

static void pairs_are_the_same(struct asked *asked, const struct query_table *table) {
    static const char *const forms[] = {
        "SELECT $a, $b, COUNT(*), MIN(rowid), MAX(rowid) FROM $t GROUP BY @$a, @$b",
        "SELECT $b, $a, COUNT(*) FROM $t GROUP BY @$a, @$b ORDER BY @$a DESC, @$b",
        "SELECT DISTINCT @$a, @$b FROM $t ORDER BY @$a, @$b DESC",
        "SELECT COUNT(*) FROM (SELECT DISTINCT @$b, @$a FROM $t)"};
    for (size_t c = 0; c < table->count; c++)
        for (size_t i = 0; i < COUNT_OF(forms); i++) {
            const char *const names[3] = {table->name, table->columns[c].name,
                                          table->columns[(c + 3) % table->count].name};
            same_of(asked, forms[i], names);
        }
}

static void rows_come_in_the_groups_that_sorting_makes(void **state) {
    struct asked *asked = *state;
    const struct query_table *table;
    for (size_t t = 0; (table = query_table_at(t)); t++)
        pairs_are_the_same(asked, table);
    same(asked, "SELECT engine, COUNT(*) FROM $t WHERE cause IS NULL GROUP BY @engine");
    same(asked, "SELECT upper(engine), COUNT(*) FROM $t GROUP BY @engine COLLATE NOCASE");
    same(asked, "SELECT a.line, (SELECT group_concat(n) FROM (SELECT COUNT(*) AS n FROM $t AS b "
                "WHERE b.start_ts < a.start_ts GROUP BY @b.engine)) FROM $t AS a ORDER BY a.id");
    same(asked, "SELECT a.engine, b.line, COUNT(*) FROM $t AS a JOIN $t AS b ON b.id > a.id "
                "GROUP BY @a.engine, @b.line");
    same(asked, "SELECT a.engine, COUNT(*) FROM $t AS a JOIN $t AS b ON b.line = a.line "
                "GROUP BY @a.engine");
    table = query_table_find("Instruction"); /* more orders than are kept */
    for (size_t c = 0; c < table->count; c++) {
        const char *const names[3] = {table->name, table->columns[c].name, "engine"};
        same_of(asked, "SELECT COUNT(line) FROM $t GROUP BY @$a", names);
    }
}

static void the_cause_of_a_row_is_told_beside_it(void **state) {
    struct asked *asked = *state;
    assert_string_equal(answer(asked, "SELECT COUNT(*) FROM Instruction AS i LEFT JOIN Instruction "
                                      "AS c ON c.id = i.cause WHERE i.cause_line IS NOT c.line OR "
                                      "i.cause_engine IS NOT c.engine"),
                        "0\n");
    assert_true(number(asked, "SELECT COUNT(cause_engine) FROM Instruction") > 10);
}

/* ---- what a question may not do ------------------------------------------------------------- */

static void nothing_is_written(void **state) {
    static const char *const wrong[] = {
        "CREATE TABLE t(x)",
        "CREATE TEMP TABLE t(x)",
        "CREATE VIEW v AS SELECT 1",
        "INSERT INTO attempts(attempt) VALUES (9)",
        "UPDATE Instruction SET line = 1",
        "DELETE FROM Instruction",
        "DROP TABLE attempts",
        "ATTACH '/tmp/hone-query-attached.db' AS other",
        "ATTACH ':memory:' AS other",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA table_info(attempts)",
        "SELECT * FROM pragma_database_list",
        "VACUUM INTO '/tmp/hone-query-vacuum.db'",
        "SELECT load_extension('/tmp/x.so')",
        "BEGIN",
        "REINDEX",
        "ANALYZE",
        "EXPLAIN SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM attempts",
        "SELECT 1; SELECT 2",
        "CREATE VIRTUAL TABLE t USING Instruction",
        "SELECT writefile('/tmp/hone-query-file', 'x')",
        "SELECT readfile('/etc/passwd')",
    };
    struct asked *asked = *state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_refused(asked, wrong[i], "");
    assert_string_equal(answer(asked, "SELECT COUNT(*) FROM attempts"), "3\n");
    assert_string_equal(answer(asked, "SELECT 1 ; -- and a remark\n  "), "1\n");
    assert_false(file_exists("/tmp/hone-query-attached.db"));
    assert_false(file_exists("/tmp/hone-query-vacuum.db"));
}

static void errors_name_what_there_is(void **state) {
    struct asked *asked = *state;
    assert_refused(asked, "SELECT * FROM Instructions", "Did you mean Instruction?");
    assert_refused(asked, "SELECT * FROM nothing_like_it", "hone query --tables");
    assert_refused(asked, "SELECT latency FROM attempts", "there is no column latency here");
    assert_refused(asked, "SELECT a.latency_u FROM attempts a",
                   "Metadata, attempts, rounds: latency_us");
    assert_refused(asked, "SELECT opcod FROM Instruction", "Instruction: opcode");
    assert_refused(asked, "SELECT 1 FROM attempts WHERE status = \"keep\"", "single quotes");
    assert_refused(asked, "SELEKT 1", "syntax error");
    assert_refused(asked, "", "there is no question");
    assert_refused(asked, "-- nothing", "there is no question");
}

static void a_question_ends_at_its_limits(void **state) {
    struct asked *asked = *state;
    struct query_limits limits = {.seconds = 0.05};
    uint64_t before = clock_monotonic_ns();
    assert_false(ask_within(asked,
                            "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
                            "SELECT SUM(x) FROM r",
                            &limits));
    assert_non_null(strstr(asked->err.text, "more than 0.05 s"));
    assert_false(ask_within(asked,
                            "SELECT COUNT(*) FROM Instruction a, Instruction b, Instruction c, "
                            "Instruction d, Instruction e, Instruction f",
                            &limits));
    assert_non_null(strstr(asked->err.text, "more than 0.05 s"));
    assert_true(clock_monotonic_ns() - before < (uint64_t)5e9);
    limits = (struct query_limits){.bytes = 4 << 20};
    assert_false(ask_within(asked,
                            "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r "
                            "LIMIT 3000000) SELECT median(x) FROM r",
                            &limits));
    assert_non_null(strstr(asked->err.text, "more memory"));
    assert_false(ask_within(asked, "SELECT length(zeroblob(1000000000))", NULL));
    assert_string_equal(answer(asked, "SELECT COUNT(*) FROM Instruction"), "28\n");
}

static void who_asks_may_stop(void **state) {
    struct asked *asked = *state;
    asked->most = 2;
    answer(asked, "SELECT id FROM Instruction");
    assert_int_equal(asked->rows, 2);
}

/* ---- recipes -------------------------------------------------------------------------------- */

static void every_recipe_runs(void **state) {
    struct asked *asked = *state;
    const struct query_recipe *recipe;
    size_t with_rows = 0, i = 0;
    for (; (recipe = query_recipe_at(i)); i++) {
        answer(asked, recipe->sql);
        with_rows += asked->rows > 0;
        assert_ptr_equal(query_recipe_find(recipe->name), recipe);
    }
    assert_true(i >= 18);
    assert_true(with_rows >= i - 2); /* no spills, no transposes */
    answer(asked, query_recipe_find("covered")->sql);
    double covered = number(asked, query_recipe_find("covered")->sql);
    assert_true(fabs(covered - 1e9 * number(asked, "SELECT dma_active_time FROM Summary")) < 1);
    assert_null(query_recipe_find("nothing"));
}

static void a_table_is_read_without_sql(void **state) {
    struct asked *asked = *state;
    struct buf by_sql = {0};
    const struct query_table *table;
    for (size_t t = 0; (table = query_table_at(t)); t++) {
        struct buf sql = {0};
        buf_printf(&sql, "SELECT * FROM %s", table->name);
        buf_clear(&by_sql);
        buf_puts(&by_sql, answer(asked, sql.at));
        buf_clear(&asked->text);
        buf_puts(&asked->text, "");
        assert_true(query_read(asked->query, table, on_row, asked, &asked->err));
        assert_string_equal(asked->text.at, by_sql.at);
        buf_free(&sql);
    }
    buf_free(&by_sql);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(rows_are_those_of_the_profile),
                                       TEST(the_trace_is_the_profiles_timeline),
                                       TEST(sums_agree_between_tables),
                                       TEST(spills_are_told),
                                       TEST(a_part_is_loaded_when_it_is_asked_for),
                                       TEST(what_cannot_be_loaded_is_told),
                                       TEST(null_is_null_and_numbers_are_numbers),
                                       TEST(an_index_finds_what_reading_finds),
                                       TEST(rows_come_in_the_groups_that_sorting_makes),
                                       TEST(the_cause_of_a_row_is_told_beside_it),
                                       TEST(nothing_is_written),
                                       TEST(errors_name_what_there_is),
                                       TEST(a_question_ends_at_its_limits),
                                       TEST(who_asks_may_stop),
                                       TEST(every_recipe_runs),
                                       TEST(a_table_is_read_without_sql)};
    const char *only = getenv("HONE_TEST");
    if (only)
        cmocka_set_test_filter(only);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
