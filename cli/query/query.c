/* SPDX-License-Identifier: Apache-2.0 */
/* hone query: questions to profiles and sessions in SQL. */
#include "cli/query/query.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/query/private.h"

#define MOST_SQL (256 << 10)
#define ROWS_AS_TEXT 1000
#define GRACE_S 2.0 /* after the limit SQLite itself ends a question between two steps */

/* ---- what there is -------------------------------------------------------------------------- */

static const char *type_word(enum query_type type) {
    return type == QUERY_INT ? "integer" : type == QUERY_REAL ? "real" : "text";
}

static bool is_named(const struct cli *cli, const char *name) {
    for (size_t i = 0; i < cli->args.len; i++)
        if (query_table_find(cli->args.at[i]) == query_table_find(name))
            return true;
    return false;
}

static void print_columns(const struct query_table *table) {
    for (size_t i = 0; i < table->count; i++)
        printf("    %-32s %-8s %s\n", table->columns[i].name, type_word(table->columns[i].type),
               table->columns[i].what);
}

/* The questions that are ready: whoever asks what can be asked wants them, too. */
static void recipes_put(cJSON *all) {
    const struct query_recipe *recipe;
    cJSON *list = cJSON_AddArrayToObject(all, "recipes");
    for (size_t i = 0; (recipe = query_recipe_at(i)); i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", recipe->name);
        cJSON_AddStringToObject(row, "what", recipe->what);
        cJSON_AddItemToArray(list, row);
    }
}

static void tables_json(const struct cli *cli) {
    const struct query_table *table;
    cJSON *all = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(all, "tables");
    for (size_t t = 0; (table = query_table_at(t)); t++) {
        if (cli->args.len && !is_named(cli, table->name))
            continue;
        cJSON *row = cJSON_CreateObject(), *columns;
        cJSON_AddStringToObject(row, "name", table->name);
        cJSON_AddStringToObject(row, "of", table->part == QUERY_PROFILE ? "profile" : "session");
        cJSON_AddStringToObject(row, "what", table->what);
        columns = cJSON_AddArrayToObject(row, "columns");
        for (size_t i = 0; i < table->count; i++) {
            cJSON *column = cJSON_CreateObject();
            cJSON_AddStringToObject(column, "name", table->columns[i].name);
            cJSON_AddStringToObject(column, "type", type_word(table->columns[i].type));
            cJSON_AddStringToObject(column, "what", table->columns[i].what);
            cJSON_AddItemToArray(columns, column);
        }
        cJSON_AddItemToArray(list, row);
    }
    if (!cli->args.len)
        recipes_put(all);
    cli_json_print(all);
}

static int print_tables(const struct cli *cli) {
    const struct query_table *table;
    for (size_t i = 0; i < cli->args.len; i++)
        if (!query_table_find(cli->args.at[i]))
            return cli_wrong_usage(cli, "there is no table %s", cli->args.at[i]);
    if (cli_has(cli, "json")) {
        tables_json(cli);
        return CLI_OK;
    }
    for (size_t t = 0; (table = query_table_at(t)); t++) {
        if (cli->args.len && !is_named(cli, table->name))
            continue;
        printf("%-20s %-8s %s\n", table->name, table->part == QUERY_PROFILE ? "profile" : "session",
               table->what);
        if (cli->args.len)
            print_columns(table);
    }
    return CLI_OK;
}

static int no_recipe(const struct cli *cli, const char *name) {
    const char *names[100] = {0};
    const struct query_recipe *recipe;
    for (size_t i = 0; i + 1 < COUNT_OF(names) && (recipe = query_recipe_at(i)); i++)
        names[i] = recipe->name;
    const char *near = str_nearest(name, names);
    return cli_wrong_usage(cli, "there is no recipe %s%s%s%s; --recipes lists them", name,
                           near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

static int print_recipes(const struct cli *cli) {
    const struct query_recipe *recipe;
    if (cli->args.len) {
        recipe = query_recipe_find(cli->args.at[0]);
        if (!recipe)
            return no_recipe(cli, cli->args.at[0]);
        puts(recipe->sql);
        return CLI_OK;
    }
    for (size_t i = 0; (recipe = query_recipe_at(i)); i++)
        printf("%-12s %s\n", recipe->name, recipe->what);
    return CLI_OK;
}

/* ---- the question --------------------------------------------------------------------------- */

/* Reads it from standard input: a new string; NULL when it is too long or has a zero byte. */
static char *read_question(void) {
    char *text = mem_alloc(MOST_SQL + 2, 1);
    size_t len = fread(text, 1, MOST_SQL + 1, stdin);
    if (len <= MOST_SQL && strlen(text) == len)
        return text;
    free(text);
    return NULL;
}

/* One call of a function of SQLite can take minutes, and nothing stops it but the end of this
 * process. It computes meanwhile, so the time of the processor is what counts: a reader who does
 * not read, or a machine that is busy, does not bring it about. */
static void on_alarm(int signum) {
    static const char said[] = "hone query: the question took more time than it may and was "
                               "ended; narrow it, or give it more time with --time-limit\n";
    (void)signum;
    (void)!write(STDERR_FILENO, said, sizeof said - 1);
    _exit(CLI_WRONG_USAGE);
}

static void clock_set(double seconds) {
    double after = seconds > 0 ? seconds + GRACE_S : 0;
    const struct itimerval timer = {
        .it_value = {(time_t)after, (suseconds_t)((after - floor(after)) * 1e6)}};
    signal(SIGPROF, on_alarm);
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

static enum print_how how_of(const struct cli *cli) {
    return cli_has(cli, "json") ? PRINT_JSON : cli_has(cli, "csv") ? PRINT_CSV : PRINT_TEXT;
}

static int ask(const struct cli *cli, const char *sql, const struct query_limits *limits,
               size_t most) {
    struct err err = {0}, lost = {0};
    struct subject subject = {0};
    struct printer printer = {.to = stdout, .how = how_of(cli), .most = most};
    bool ok = subject_open(&subject, cli, cli->args.at[0], &err);
    struct query *query = ok ? query_open(subject_load, &subject, &err) : NULL;
    ok = query && query_run(query, sql, limits, printer_row, &printer, &err);
    if (!ok)
        printer.how = PRINT_CSV; /* nothing is missing at its end */
    if (!printer_end(&printer, &lost) && ok) {
        ok = false;
        err = lost;
    }
    query_close(query);
    subject_close(&subject);
    if (!ok && !err.text[0])
        return err_exit_status(&err); /* it has said why */
    return ok ? CLI_OK : cli_fail(cli, &err);
}

static int ask_with_limits(const struct cli *cli, const char *sql) {
    double rows = how_of(cli) == PRINT_TEXT ? ROWS_AS_TEXT : 0;
    struct query_limits limits = {.clock = clock_set};
    if (!cli_number(cli, "rows", 1, 1e9, &rows) ||
        !cli_number(cli, "time-limit", 0.01, 1e6, &limits.seconds))
        return CLI_WRONG_USAGE;
    return ask(cli, sql, &limits, (size_t)rows);
}

int cli_query(const struct cli *cli) {
    const char *name = cli_value(cli, "recipe");
    const struct query_recipe *recipe = name ? query_recipe_find(name) : NULL;
    if (cli_has(cli, "tables"))
        return print_tables(cli);
    if (cli_has(cli, "recipes"))
        return print_recipes(cli);
    if (name && !recipe)
        return no_recipe(cli, name);
    if (cli_has(cli, "json") && cli_has(cli, "csv"))
        return cli_wrong_usage(cli, "either --json or --csv");
    if (cli->args.len != (name ? 1 : 2))
        return cli_wrong_usage(cli, name ? "a recipe needs a kernel, a task or a session, no SQL"
                                         : "give a kernel, a task or a session, and SQL in quotes "
                                           "(or --recipe NAME)");
    if (name)
        return ask_with_limits(cli, recipe->sql);
    if (strcmp(cli->args.at[1], "-") != 0)
        return ask_with_limits(cli, cli->args.at[1]);
    char *sql = read_question();
    int status = sql ? ask_with_limits(cli, sql)
                     : cli_wrong_usage(cli, "the SQL on standard input is too long, or no text");
    free(sql);
    return status;
}
