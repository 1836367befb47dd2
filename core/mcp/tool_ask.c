/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that ask the profile of any kernel: in SQL, why a line or an instruction takes its time,
 * what a change would bring. hone query and hone profile answer. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

#define MOST_ROWS 1000

/* ------------------------------------------------------------------------------------- query */

static void rows_answer(struct mcp_call *call, cJSON *answer) {
    mcp_call_done(call, answer, NULL);
}

static bool rows_add(struct mcp_command *command, const struct mcp_call *call, struct err *err) {
    char text[16];
    int rows = mcp_int(call, "rows", 100);
    snprintf(text, sizeof text, "%d", rows);
    mcp_command_add(command, "--json", NULL);
    mcp_command_add(command, "--rows", text);
    mcp_command_add(command, "--time-limit", "20");
    return (rows >= 1 && rows <= MOST_ROWS) ||
           err_set(err, ERR_USAGE, "\"rows\" must be from 1 to %d, not %d", MOST_ROWS, rows);
}

/* Which tables there are, and which questions are ready. */
static void tables_ask(struct mcp_call *call) {
    struct mcp_command *command = mcp_command_new(call, "query", rows_answer);
    mcp_command_add(command, "--tables", "--json");
    mcp_command_run(command, &(struct err){0});
}

void mcp_tool_query(struct mcp_call *call) {
    const char *sql = mcp_text(call, "sql"), *recipe = mcp_text(call, "recipe");
    struct err err = {0};
    if (!sql && !recipe) {
        tables_ask(call);
        return;
    }
    struct mcp_command *command = mcp_command_new(call, "query", rows_answer);
    if (sql && recipe)
        err_set(&err, ERR_USAGE, "give sql or recipe, not both");
    else if (rows_add(command, call, &err) && mcp_command_kernel(command, &err))
        mcp_command_add(command, recipe ? "--recipe" : "--", recipe ? recipe : sql);
    mcp_command_run(command, &err);
}

/* --------------------------------------------------------------------------------------- why */

/* The one cell of the answer is an object of its own. */
static void cell_answer(struct mcp_call *call, cJSON *answer) {
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(answer, "rows"), 0);
    const cJSON *cell = cJSON_GetArrayItem(row, 0);
    cJSON *object = cJSON_IsString(cell) ? cJSON_Parse(cell->valuestring) : NULL;
    cJSON_Delete(answer);
    if (object)
        mcp_call_done(call, object, NULL);
    else
        mcp_call_failed(call, "nothing runs there: the tool profile lists lines with their cost, "
                              "and the table Instruction of the tool query has every id");
}

static const char why_line[] =
    "WITH own AS MATERIALIZED (SELECT * FROM Instruction WHERE line = %d),\n"
    "  behind AS (SELECT c.engine, c.line, c.nki_op, COUNT(*) AS times,\n"
    "      SUM(own.evt_wait_time_ns) AS ns FROM own JOIN Instruction AS c ON c.id = own.cause\n"
    "    WHERE own.evt_wait_time_ns > 0 GROUP BY 1, 2, 3 ORDER BY ns DESC LIMIT 6),\n"
    "  after AS (SELECT w.engine, w.line, w.nki_op, COUNT(*) AS times,\n"
    "      SUM(w.evt_wait_time_ns) AS ns FROM own JOIN Instruction AS w ON w.cause = own.id\n"
    "    WHERE w.evt_wait_time_ns > 0 GROUP BY 1, 2, 3 ORDER BY ns DESC LIMIT 6),\n"
    "  does AS (SELECT engine, nki_op, dtype, COUNT(*) AS times, SUM(duration_ns) AS busy,\n"
    "      SUM(evt_wait_time_ns) AS waits, MIN(operands) AS operands, MIN(id) AS id\n"
    "    FROM own GROUP BY 1, 2, 3 ORDER BY busy DESC LIMIT 8),\n"
    "  moves AS (SELECT variable, COUNT(*) AS n, SUM(transfer_bytes) AS bytes,\n"
    "      1.0 * SUM(transfer_bytes) / SUM(descriptors) AS piece, MAX(dma_engines) AS engines\n"
    "    FROM DmaPacketAggregated WHERE line = %d GROUP BY 1 ORDER BY bytes DESC LIMIT 4)\n"
    "SELECT json_object('line', %d, 'latency_us', (SELECT latency_us FROM Metadata),\n"
    "  'on_critical_path_us', (SELECT us FROM Line WHERE line = %d AND us > 0 LIMIT 1),\n"
    "  'share', (SELECT share FROM Line WHERE line = %d AND share > 0 LIMIT 1),\n"
    "  'instructions', (SELECT json_group_array(json_object('engine', engine, 'op', nki_op,\n"
    "     'dtype', dtype, 'times', times, 'busy_us', busy / 1000, 'idle_before_us', waits / 1000,\n"
    "     'first_id', id, 'operands', operands)) FROM does),\n"
    "  'moves', (SELECT json_group_array(json_object('tensor', variable, 'transfers', n,\n"
    "     'bytes', bytes, 'bytes_per_piece', piece, 'dma_engines', engines)) FROM moves),\n"
    "  'waits_for', (SELECT json_group_array(json_object('line', line, 'engine', engine,\n"
    "     'op', nki_op, 'times', times, 'us', ns / 1000)) FROM behind),\n"
    "  'waited_for_by', (SELECT json_group_array(json_object('line', line, 'engine', engine,\n"
    "     'op', nki_op, 'times', times, 'us', ns / 1000)) FROM after)) FROM own LIMIT 1";

static const char why_instruction[] =
    "WITH RECURSIVE chain(id, depth) AS (SELECT %d, 0 UNION ALL SELECT i.cause, depth + 1\n"
    "    FROM chain JOIN Instruction AS i ON i.id = chain.id\n"
    "    WHERE i.cause IS NOT NULL AND depth < 12),\n"
    "  path AS (SELECT i.*, depth FROM chain JOIN Instruction AS i ON i.id = chain.id\n"
    "    ORDER BY depth)\n"
    "SELECT json_object('instruction', id, 'line', line, 'engine', engine, 'op', nki_op,\n"
    "  'operands', operands, 'starts_us', start_ts / 1000, 'takes_us', duration_ns / 1000,\n"
    "  'idle_before_us', evt_wait_time_ns / 1000,\n"
    "  'because_of', (SELECT json_group_array(json_object('instruction', id, 'line', line,\n"
    "     'engine', engine, 'op', nki_op, 'starts_us', start_ts / 1000,\n"
    "     'ends_us', end_ts / 1000, 'idle_before_us', evt_wait_time_ns / 1000))\n"
    "     FROM path WHERE depth > 0)) FROM path WHERE depth = 0";

void mcp_tool_why(struct mcp_call *call) {
    int line = mcp_int(call, "line", -1), instruction = mcp_int(call, "instruction", -1);
    struct err err = {0};
    struct buf sql = {0};
    struct mcp_command *command = mcp_command_new(call, "query", cell_answer);
    if ((line >= 0) == (instruction >= 0))
        err_set(&err, ERR_USAGE, "give line, or the instruction's id, not %s",
                line >= 0 ? "both" : "neither");
    else if (line >= 0)
        buf_printf(&sql, why_line, line, line, line, line, line);
    else
        buf_printf(&sql, why_instruction, instruction);
    if (err.kind == ERR_NONE && mcp_command_kernel(command, &err)) {
        mcp_command_add(command, sql.at, "--json");
        mcp_command_add(command, "--time-limit", "20");
    }
    buf_free(&sql);
    mcp_command_run(command, &err);
}

/* ----------------------------------------------------------------------------------- what if */

void mcp_tool_what_if(struct mcp_call *call) {
    int line = mcp_int(call, "line", -1);
    const char *to = mcp_text(call, "to");
    struct err err = {0};
    char change[48];
    struct mcp_command *command = mcp_command_new(call, "profile", rows_answer);
    if ((line >= 0) != (to != NULL))
        err_set(&err, ERR_USAGE,
                "line and to belong together: line 12 to vector; without both, "
                "the changes that promise most are timed");
    else if (mcp_command_kernel(command, &err)) {
        snprintf(change, sizeof change, "%d:%s", line, to ? to : "");
        mcp_command_add(command, "--what-if", to ? change : "all");
        mcp_command_add(command, "--format", "json");
    }
    mcp_command_run(command, &err);
}

/* ---------------------------------------------------------------------------------- migrate */

/* Without the name of a file that only the command had, and without what is not known. */
static void migrate_answer(struct mcp_call *call, cJSON *answer) {
    cJSON *next, *diff = cJSON_GetObjectItemCaseSensitive(answer, "diff");
    const char *hunks = cJSON_IsString(diff) ? strstr(diff->valuestring, "\n@@") : NULL;
    if (hunks)
        cJSON_ReplaceItemInObjectCaseSensitive(answer, "diff", cJSON_CreateString(hunks + 1));
    cJSON_DeleteItemFromObjectCaseSensitive(answer, "kernel");
    cJSON *finding;
    cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(answer, "diagnostics")) {
        cJSON_DeleteItemFromObjectCaseSensitive(finding, "file");
    }
    for (cJSON *at = answer->child; at; at = next) {
        next = at->next;
        if (cJSON_IsNull(at))
            cJSON_Delete(cJSON_DetachItemViaPointer(answer, at));
    }
    rows_answer(call, answer);
}

void mcp_tool_migrate(struct mcp_call *call) {
    const char *to = mcp_text(call, "to"), *from = mcp_text(call, "from");
    struct err err = {0};
    struct mcp_command *command = mcp_command_new(call, "migrate", migrate_answer);
    if (mcp_command_source(command, &err)) {
        mcp_command_add(command, "--json", NULL);
        if (to)
            mcp_command_add(command, "--to", to);
        if (from)
            mcp_command_add(command, "--from", from);
    }
    mcp_command_run(command, &err);
}
