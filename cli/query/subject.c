/* SPDX-License-Identifier: Apache-2.0 */
/* What a question is about: a kernel as it is, or an attempt of a session. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/private.h"
#include "store/store.h"
#include "tune/tune.h"

#define MOST_FILE ((size_t)256 << 20) /* bytes of a profile */
#define MOST_COLUMNS 32

/* ---- the name ------------------------------------------------------------------------------- */

static bool read_attempt(struct subject *subject, struct err *err) {
    const char *text = cli_value(subject->cli, "attempt");
    long long number;
    if (!text)
        return true;
    if (!str_to_int(str_of(text), &number) || number < 0 || number > INT32_MAX)
        return err_set(err, ERR_USAGE, "--attempt must be the number of an attempt, not '%.40s'",
                       text);
    subject->attempt = (int)number;
    return true;
}

/* A table in Parquet stands for the folder that it is in. */
static bool tables_look(struct subject *subject, struct err *err) {
    struct str name = str_of(subject->name);
    struct buf inside = {0};
    buf_printf(&inside, "%s/kernel.py", subject->name);
    if (str_ends(name, ".parquet") && !file_is_dir(subject->name) && file_exists(subject->name)) {
        subject->tables = path_folder(subject->name);
        subject->is_tables = query_has_tables(subject->tables);
        if (!subject->is_tables)
            err_set(err, ERR_USAGE,
                    "there is no Instruction.parquet or Summary.parquet beside %.200s, and a "
                    "profile is not told without one",
                    subject->name);
    } else if (file_is_dir(subject->name) && !file_exists(inside.at) &&
               query_has_tables(subject->name)) {
        subject->tables = mem_strdup(subject->name);
        subject->is_tables = true;
    }
    buf_free(&inside);
    return err->kind == ERR_NONE;
}

/* What a device's tools write, by the ending of its name. What cannot be read here, their own tools
 * turn into what can. */
static bool file_look(struct subject *subject, struct err *err) {
    static const char *const foreign[] = {".ntff", ".neff", ".pftrace"};
    struct str name = str_of(subject->name);
    for (size_t i = 0; i < COUNT_OF(foreign); i++)
        if (str_ends(name, foreign[i]))
            return err_set(err, ERR_USAGE,
                           "%.200s is read by the tools of its host: neuron-explorer view -n NEFF "
                           "-s NTFF --output-format summary-json (or parquet), and ask what that "
                           "writes; a target of kind ssh does all of it",
                           subject->name);
    subject->is_file = str_ends(name, ".json") && file_exists(subject->name);
    return true;
}

bool subject_open(struct subject *subject, const struct cli *cli, const char *text,
                  struct err *err) {
    struct err none = {0};
    *subject = (struct subject){.cli = cli, .name = mem_strdup(text)};
    subject->attempt = cli_attempt_split(subject->name);
    if (!read_attempt(subject, err) || !file_look(subject, err))
        return false;
    subject->session = cli_session_of(subject->name, &none);
    if (!subject->session && subject->attempt < 0 && !tables_look(subject, err))
        return false;
    if (!subject->session && subject->attempt >= 0)
        return err_set(err, ERR_USAGE, "%.200s has no session, so it has no attempt %d",
                       subject->name, subject->attempt);
    return true;
}

void subject_close(struct subject *subject) {
    runner_timed_free(&subject->timed);
    tune_session_kernel_free(&subject->kernel);
    free(subject->source);
    free(subject->session);
    free(subject->tables);
    free(subject->name);
}

/* ---- the profile ---------------------------------------------------------------------------- */

/* The command line as if the kernel had been given on it. The caller frees args and given. */
static struct cli line_for(const struct cli *cli, const char *kernel, const char *reference) {
    struct cli line = {.command = cli->command};
    *vec_push(&line.args) = kernel;
    for (size_t i = 0; i < cli->given.len; i++)
        *vec_push(&line.given) = cli->given.at[i];
    for (const struct cli_option *option = cli->command->options; option->name; option++)
        if (reference && !strcmp(option->name, "reference") && !cli_value(cli, "reference"))
            *vec_push(&line.given) = (struct cli_given){option, reference};
    return line;
}

static bool time_job(struct subject *subject, struct cli_job *job, struct err *err) {
    subject->source = mem_strdup(job->job.kernel_text);
    cli_job_prepare(&job->job, false, err);
    return err->kind == ERR_NONE && runner_time(&job->job, &subject->timed, err);
}

/* Opens the job. Its messages are on stderr already; *err stays without a text then. */
static bool open_job(const struct cli *line, struct cli_job *job, struct err *err) {
    int status = cli_job_open(line, job);
    if (status == CLI_OK)
        return true;
    err->kind = status == CLI_WRONG_USAGE ? ERR_USAGE : ERR_ENVIRONMENT;
    err->text[0] = 0;
    return false;
}

static bool time_kernel(struct subject *subject, struct err *err) {
    struct cli line = line_for(subject->cli, subject->name, NULL);
    struct cli_job job = {0};
    bool ok = open_job(&line, &job, err) && time_job(subject, &job, err);
    cli_job_close(&job);
    vec_free(&line.args);
    vec_free(&line.given);
    return ok;
}

static bool find_kernel(struct subject *subject, struct err *err) {
    return subject->kernel.source ||
           tune_session_kernel(subject->session, subject->attempt, &subject->kernel, err);
}

static bool time_attempt(struct subject *subject, struct err *err) {
    const struct tune_session_kernel *found = &subject->kernel;
    struct cli_job job = {0};
    struct cli line = {0};
    bool ok = find_kernel(subject, err);
    if (ok) {
        /* The reference of a seed in the binary is in the cache, where it may be gone. */
        bool has = file_exists(found->kernel) || file_exists(found->reference);
        line = line_for(subject->cli, found->kernel, has ? found->reference : NULL);
        ok = open_job(&line, &job, err);
    }
    if (ok) {
        subject->attempt = found->attempt;
        job.job.kernel_text = found->source;
        const char *asked = cli_value(subject->cli, "kernel-name");
        job.job.kernel_name = asked ? asked : found->function;
        job.job.device = job.job.device ? job.job.device : found->device;
        job.job.release = job.job.release ? job.job.release : found->release;
        job.job.lnc = job.job.lnc ? job.job.lnc : found->lnc;
        job.job.pessimistic = job.job.pessimistic || found->is_pessimistic;
        ok = time_job(subject, &job, err);
    }
    cli_job_close(&job);
    vec_free(&line.args);
    vec_free(&line.given);
    return ok;
}

static bool is_of_session(const struct subject *subject) {
    return subject->session && (subject->attempt >= 0 || store_exists(subject->name));
}

bool subject_time(struct subject *subject, struct err *err) {
    if (subject->timed.trace)
        return true;
    return is_of_session(subject) ? time_attempt(subject, err) : time_kernel(subject, err);
}

void subject_print(const struct subject *subject, struct buf *out) {
    if (subject->attempt >= 0)
        buf_printf(out, "attempt %d of ", subject->attempt);
    buf_puts(out, subject->name);
}

static bool give_measured(struct subject *subject, struct query *query, struct str text,
                          struct err *err) {
    struct err why = {0};
    return query_give_measured(query, text, &why) ||
           err_set(err, why.kind, "%.200s: %s", subject->name, why.text);
}

static bool load_file(struct subject *subject, struct query *query, struct err *err) {
    size_t size = 0;
    char *text = file_read(subject->name, MOST_FILE, &size, err);
    bool ok = text && give_measured(subject, query, (struct str){text, size}, err);
    free(text);
    return ok;
}

/* The profile that a device gave of an attempt. *is false: there is none, and the model times it.
 */
static bool load_attempt(struct subject *subject, struct query *query, bool *is, struct err *err) {
    size_t size = 0;
    bool ok = find_kernel(subject, err);
    *is = ok && subject->kernel.measured;
    if (!*is)
        return ok;
    struct store *store = store_open(subject->session, true, err);
    char *text = store ? store_artefact_read(store, subject->kernel.measured, &size, err) : NULL;
    ok = text && give_measured(subject, query, (struct str){text, size}, err);
    free(text);
    store_close(store);
    return ok;
}

static bool load_profile(struct subject *subject, struct query *query, struct err *err) {
    bool is = subject->is_file;
    if (subject->is_tables)
        return query_give_tables(query, subject->tables, err);
    bool ok = !is || load_file(subject, query, err);
    if (!is && is_of_session(subject))
        ok = load_attempt(subject, query, &is, err);
    if (!ok || is)
        return ok;
    if (!subject_time(subject, err))
        return false;
    const struct runner_timed *timed = &subject->timed;
    query_give_profile(query, &(struct query_profile){timed->program, timed->image, timed->profile,
                                                      timed->trace, timed->generation});
    return true;
}

/* ---- the session ---------------------------------------------------------------------------- */

static const char *cell_text(const struct store_cell *cell, char *room, size_t size) {
    if (cell->is == STORE_TEXT)
        return cell->text;
    if (cell->is == STORE_INT)
        snprintf(room, size, "%lld", (long long)cell->integer);
    else if (cell->is == STORE_REAL && isfinite(cell->real))
        snprintf(room, size, "%.17g", cell->real);
    else
        return NULL;
    return room;
}

static bool on_row(void *data, const char *name, const struct store_cell *cells, size_t count,
                   struct err *err) {
    const struct query_table *table = query_table_find(name);
    const char *values[MOST_COLUMNS];
    char room[MOST_COLUMNS][32];
    if (!table || table->count != count || count > MOST_COLUMNS)
        return err_set(err, ERR_UNKNOWN, "the columns of %s are not those of tables.def", name);
    for (size_t i = 0; i < count; i++)
        values[i] = cell_text(&cells[i], room[i], sizeof room[i]);
    return query_give_row(data, table, values) ||
           err_set(err, ERR_USAGE,
                   "%s of this session has more than %zu rows; hone export writes it for other "
                   "tools",
                   name, QUERY_MOST_ROWS);
}

static bool is_wanted(void *data, const char *name) {
    const struct query_table *table = query_table_find(name);
    return table && query_wants(data, table);
}

static bool load_session(struct subject *subject, struct query *query, struct err *err) {
    if (!subject->session)
        return err_set(err, ERR_USAGE, "%.200s has no session, so it has no attempts to ask about",
                       subject->name);
    return tune_session_rows(subject->session, is_wanted, on_row, query, err);
}

bool subject_load(void *data, struct query *query, enum query_part part, struct err *err) {
    struct subject *subject = data;
    return part == QUERY_PROFILE ? load_profile(subject, query, err)
                                 : load_session(subject, query, err);
}
