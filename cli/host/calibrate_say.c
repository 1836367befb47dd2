/* SPDX-License-Identifier: Apache-2.0 */
/* What hone calibrate prints: progress on stderr, what it found on stdout. */
#include "cli/host/calibrate.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOVED 0.005 /* a constant that changed by less counts as unchanged */

/* ---- while it goes on ----------------------------------------------------------------------- */

static bool is_quiet(const struct calibration *c) {
    return cli_has(c->cli, "json");
}

void calibrate_say_next(const struct calibration *c, const char *name) {
    if (is_quiet(c) || !isatty(STDERR_FILENO))
        return;
    if (name)
        fprintf(stderr, "\r\033[K%zu of %zu: %s ...", c->done + 1, c->total, name);
    else
        fputs("\r\033[K", stderr);
}

void calibrate_say_measured(const struct calibration *c, const char *name, double us) {
    struct buf text = {0};
    if (is_quiet(c) || isatty(STDERR_FILENO))
        return;
    clock_print_duration(&text, us * 1e-6);
    cli_say(stderr, "%zu of %zu: %s %s\n", c->done + 1, c->total, name, text.at);
    buf_free(&text);
}

/* Text of a host is made safe to show. */
void calibrate_say_left_out(const struct calibration *c, const char *name, const char *why) {
    struct buf safe = {0};
    text_sanitise(&safe, str_of(why));
    calibrate_say_next(c, NULL);
    if (!is_quiet(c))
        fprintf(stderr, "left out: %s: %s\n", name, safe.at ? safe.at : "");
    buf_free(&safe);
}

/* ---- what was found ------------------------------------------------------------------------- */

static bool has_moved(const struct calibrate_constant *constant) {
    return constant->seen && fabs(constant->is / constant->was - 1) > MOVED;
}

static void print_rows(const struct calibration *c) {
    printf("\n%-24s %10s %9s %9s\n", "kernel", "measured", "before", "after");
    for (size_t i = 0; i < c->rows.len; i++) {
        const struct calibrate_row *row = &c->rows.at[i];
        struct buf text = {0};
        clock_print_duration(&text, row->measured_us * 1e-6);
        cli_say(stdout, "%-24s %*s %+8.1f%% %+8.1f%%\n", row->name,
                10 + (int)text.len - (int)text_columns(buf_str(&text)), text.at,
                100 * (row->before_us / row->measured_us - 1),
                100 * (row->after_us / row->measured_us - 1));
        buf_free(&text);
    }
}

static void print_constants(const struct calibration *c) {
    struct buf same = {0}, unseen = {0};
    printf("\n%-24s %10s %10s   %-22s %s\n", "constant", "old", "new", "between", "unit");
    for (size_t i = 0; i < c->fit.all.len; i++) {
        const struct calibrate_constant *constant = &c->fit.all.at[i];
        struct buf *list = constant->seen ? &same : &unseen;
        char between[48];
        if (!has_moved(constant)) {
            buf_printf(list, "%s%s", list->len ? ", " : "", constant->row->name);
            continue;
        }
        snprintf(between, sizeof between, "%.4g and %.4g", constant->low, constant->high);
        printf("%-24s %10.4g %10.4g   %-22s %s\n", constant->row->name, constant->was, constant->is,
               between, constant->row->unit);
    }
    if (same.len)
        printf("\nunchanged: %s\n", same.at);
    if (unseen.len)
        printf("\nnot seen by these kernels, as they were: %s\n", unseen.at);
    buf_free(&same);
    buf_free(&unseen);
}

static void print_text(const struct calibration *c) {
    const char *release = target_look(c->reach.target)->release;
    cli_say(stdout, "%zu kernel%s measured on %s (%s%s%s), %zu left out\n", c->rows.len,
            PLURAL(c->rows.len), c->host, nki_generation_name(c->generation), *release ? ", " : "",
            release, c->left_out.len);
    printf("the device model is off by %.1f%% before and %.1f%% after (the median)\n",
           100 * c->fit.before, 100 * c->fit.after);
    print_rows(c);
    print_constants(c);
    if (c->path)
        cli_say(stdout, "\nkept in %s; sessions on %s use them from now on\n", c->path, c->host);
    else
        puts("\nnothing was kept (--dry-run)");
}

static void add_rows(const struct calibration *c, cJSON *object) {
    cJSON *kernels = cJSON_AddArrayToObject(object, "kernels");
    for (size_t i = 0; i < c->rows.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", c->rows.at[i].name);
        cJSON_AddNumberToObject(row, "measured_us", c->rows.at[i].measured_us);
        cJSON_AddNumberToObject(row, "before_us", c->rows.at[i].before_us);
        cJSON_AddNumberToObject(row, "after_us", c->rows.at[i].after_us);
        cJSON_AddItemToArray(kernels, row);
    }
    cJSON *left_out = cJSON_AddArrayToObject(object, "left_out");
    for (size_t i = 0; i < c->left_out.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", c->left_out.at[i].name);
        cJSON_AddStringToObject(row, "why", c->left_out.at[i].why);
        cJSON_AddItemToArray(left_out, row);
    }
}

static void add_constants(const struct calibration *c, cJSON *object) {
    cJSON *constants = cJSON_AddArrayToObject(object, "constants");
    for (size_t i = 0; i < c->fit.all.len; i++) {
        const struct calibrate_constant *constant = &c->fit.all.at[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", constant->row->name);
        cJSON_AddStringToObject(row, "unit", constant->row->unit);
        cJSON_AddBoolToObject(row, "seen", constant->seen);
        cJSON_AddNumberToObject(row, "was", constant->was);
        cJSON_AddNumberToObject(row, "is", constant->is);
        cJSON_AddNumberToObject(row, "low", constant->low);
        cJSON_AddNumberToObject(row, "high", constant->high);
        cJSON_AddItemToArray(constants, row);
    }
}

static void print_json(const struct calibration *c) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "host", c->host);
    cJSON_AddStringToObject(object, "device", nki_generation_name(c->generation));
    cJSON_AddStringToObject(object, "release", target_look(c->reach.target)->release);
    cJSON_AddStringToObject(object, "dialect", nki_dialect_name(c->dialect));
    cJSON_AddNumberToObject(object, "error_before", c->fit.before);
    cJSON_AddNumberToObject(object, "error_after", c->fit.after);
    add_rows(c, object);
    add_constants(c, object);
    if (c->path)
        cJSON_AddStringToObject(object, "file", c->path);
    else
        cJSON_AddNullToObject(object, "file");
    cli_json_print(object);
}

void calibrate_say_all(const struct calibration *c) {
    if (is_quiet(c))
        print_json(c);
    else
        print_text(c);
}

/* ---- which hosts have them ------------------------------------------------------------------ */

static void print_host(const char *file, struct buf *out) {
    struct calibrate_record record;
    if (!calibrate_load(file, &record, NULL))
        return;
    double days = (double)(clock_wall_ms() - record.when_ms) / 86400e3;
    buf_printf(out, "%s has constants of its own (%s%s%s), %.0f days old\n", record.host,
               record.device, *record.release ? ", " : "", record.release, fmax(0, days));
    calibrate_record_free(&record);
}

void calibrate_print_hosts(struct buf *out) {
    char *folder = path_state("calibrated");
    struct dirent **found = NULL;
    int n = scandir(folder, &found, NULL, alphasort);
    size_t before = out->len;
    for (int i = 0; i < n; i++) {
        char *path = path_join(folder, found[i]->d_name);
        if (str_ends(str_of(path), ".json"))
            print_host(path, out);
        free(path);
        free(found[i]);
    }
    free(found);
    if (out->len > before)
        buf_printf(out, "%s holds them; hone calibrate HOST --forget deletes those of a host\n",
                   folder);
    free(folder);
}
