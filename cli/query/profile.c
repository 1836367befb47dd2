/* SPDX-License-Identifier: Apache-2.0 */
/* hone profile: a kernel's profile for a person, and in the formats of other tools. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/query/private.h"
#include "cli/query/query.h"

/* ---- what is written ------------------------------------------------------------------------ */

struct request {
    const struct cli *cli;
    const struct query_table *table; /* of CSV */
    FILE *to;
    const char *path; /* of what cannot be streamed */
};

static bool print_recipe(struct query *query, const struct query_recipe *recipe, FILE *to,
                         struct err *err) {
    struct printer printer = {.to = to, .most = 20};
    fprintf(to, "%s (%s)\n", recipe->what, recipe->name);
    bool ok = query_run(query, recipe->sql, NULL, printer_row, &printer, err);
    ok = printer_end(&printer, err) && ok;
    fputc('\n', to);
    return ok;
}

/* What a person asks first, as recipes. */
static bool write_text(struct query *query, const struct request *request, struct err *err) {
    static const char *const shown[] = {"latency",  "warnings", "limits",    "engines",
                                        "critical", "waits",    "transfers", "reloads"};
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(shown); i++)
        ok = print_recipe(query, query_recipe_find(shown[i]), request->to, err);
    return ok;
}

static bool write_json(struct query *query, const struct request *request, struct err *err) {
    return query_write_json(query, request->to, err);
}

static bool write_perfetto(struct query *query, const struct request *request, struct err *err) {
    return query_write_perfetto(query, request->to, err);
}

static bool write_sqlite(struct query *query, const struct request *request, struct err *err) {
    return query_write_sqlite(query, request->path, err);
}

static bool write_csv(struct query *query, const struct request *request, struct err *err) {
    struct printer printer = {.to = request->to, .how = PRINT_CSV};
    bool ok = query_read(query, request->table, printer_row, &printer, err);
    return printer_end(&printer, err) && ok;
}

struct format {
    const char *name;
    bool is_file; /* it cannot be streamed */
    bool (*write)(struct query *query, const struct request *request, struct err *err);
};
static const struct format formats[] = {{"text", false, write_text},
                                        {"json", false, write_json},
                                        {"perfetto", false, write_perfetto},
                                        {"sqlite", true, write_sqlite},
                                        {"csv", false, write_csv}};

/* ---- where it is written -------------------------------------------------------------------- */

/* A file beside the one that is asked for, which it becomes when all of it is there. */
static bool open_beside(const char *output, struct buf *beside, FILE **to, struct err *err) {
    buf_printf(beside, "%s.%ld.part", output, (long)getpid());
    int file = file_open(beside->at, O_WRONLY | O_CREAT | O_EXCL, 0666, err);
    *to = file >= 0 ? fdopen(file, "w") : NULL;
    if (file >= 0 && !*to)
        close(file);
    return *to != NULL;
}

static bool take_place(const char *beside, const char *output, struct err *err) {
    char *target = path_target(output);
    bool ok = target && rename(beside, target) == 0;
    free(target);
    return ok || err_set(err, ERR_ENVIRONMENT, "cannot write %.200s: %s", output, strerror(errno));
}

static bool write_file(const struct format *format, struct query *query, struct request *request,
                       const char *output, struct err *err) {
    struct buf beside = {0};
    if (!open_beside(output, &beside, &request->to, err)) {
        buf_free(&beside);
        return false;
    }
    request->path = beside.at;
    bool ok = format->write(query, request, err);
    if (fclose(request->to) != 0 && ok)
        ok = err_set(err, ERR_ENVIRONMENT, "cannot write %.200s: %s", output, strerror(errno));
    ok = ok && take_place(beside.at, output, err);
    if (!ok)
        unlink(beside.at);
    buf_free(&beside);
    return ok;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int write_it(const struct format *format, struct request *request) {
    const struct cli *cli = request->cli;
    const char *output = cli_value(cli, "output");
    struct err err = {0};
    struct subject subject = {0};
    request->to = stdout;
    bool ok = subject_open(&subject, cli, cli->args.at[0], &err);
    struct query *query = ok ? query_open(subject_load, &subject, &err) : NULL;
    ok = query &&
         query_load(query, QUERY_PROFILE, &err); /* no file begins before there is a profile */
    ok = ok && (output ? write_file(format, query, request, output, &err)
                       : format->write(query, request, &err));
    query_close(query);
    subject_close(&subject);
    if (!ok && !err.text[0])
        return err_exit_status(&err); /* it has said why */
    return ok ? CLI_OK : cli_fail(cli, &err);
}

int cli_profile(const struct cli *cli) {
    const char *name = cli_value(cli, "format"), *table = cli_value(cli, "table");
    const struct format *format = &formats[0];
    struct request request = {.cli = cli};
    for (size_t i = 0; name && i < COUNT_OF(formats); i++)
        if (!strcmp(formats[i].name, name))
            format = &formats[i];
    if (table && format->write != write_csv)
        return cli_wrong_usage(cli, "--table is for --format csv");
    if (cli_has(cli, "what-if"))
        return format->write != write_text && format->write != write_json
                   ? cli_wrong_usage(cli, "--what-if is told as text or json")
                   : what_if_print(cli, cli_value(cli, "what-if"), format->write == write_json);
    request.table = query_table_find(table ? table : "Instruction");
    if (!request.table)
        return cli_wrong_usage(cli, "there is no table %s; hone query --tables lists them", table);
    if (format->is_file && !cli_value(cli, "output"))
        return cli_wrong_usage(cli, "--format %s needs --output FILE", format->name);
    return write_it(format, &request);
}
