/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what Slurm's commands print. Columns are cut by width, because names and reasons may hold
 * any separator. Numbers are checked, what is too long is cut, and nothing that controls a terminal
 * gets through. */
#include "target/slurm/slurm.h"

#include <stdio.h>
#include <stdlib.h>

void slurm_copy_clean(char *to, size_t size, struct str from) {
    from = str_trim(from);
    size_t len = MIN_OF(from.len, size - 1);
    for (size_t i = 0; i < len; i++)
        to[i] = from.at[i] >= ' ' && from.at[i] < 127 ? from.at[i] : '?';
    to[len] = 0;
}

static int whole(struct str text) {
    long long value;
    return str_to_int(text, &value) && value >= 0 && value <= 1000000000 ? (int)value : 0;
}

/* ---------------------------------------------------------------------------------------- rows */

/* The next `width` columns of a line. */
static struct str column(struct str *line, size_t width) {
    struct str found = {line->at, MIN_OF(line->len, width)};
    line->at += found.len;
    line->len -= found.len;
    return found;
}

bool slurm_job_read(struct str line, struct slurm_job *job) {
    char id[17], restarts[13], exit_code[13];
    const struct {
        char *to;
        size_t size, width;
    } columns[] = {
        /* in the order and with the widths of SLURM_JOB_FORMAT */
        {job->name, sizeof job->name, 48},   {id, sizeof id, 16},
        {job->state, sizeof job->state, 20}, {job->start, sizeof job->start, 24},
        {restarts, sizeof restarts, 12},     {exit_code, sizeof exit_code, 12},
        {job->nodes, sizeof job->nodes, 64}, {job->reason, sizeof job->reason, 96},
    };
    *job = (struct slurm_job){0};
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        slurm_copy_clean(columns[i].to, columns[i].size, column(&line, columns[i].width));
    job->restarts = whole(str_of(restarts));
    job->exit_code = whole(str_of(exit_code));
    return str_to_int(str_of(id), &job->id) && job->id > 0 && job->state[0];
}

bool slurm_node_read(struct str line, struct slurm_node *node) {
    struct str name = {0}, state = {0}, cpus = {0}, count;
    *node = (struct slurm_node){0};
    if (!str_next(&line, '|', &name) || !str_next(&line, '|', &state) ||
        !str_next(&line, '|', &cpus))
        return false;
    slurm_copy_clean(node->name, sizeof node->name, name);
    slurm_copy_clean(node->state, sizeof node->state, state);
    slurm_copy_clean(node->reason, sizeof node->reason, line);
    if (strcmp(node->reason, "none") == 0)
        node->reason[0] = 0;
    int counts[4] = {0}; /* allocated, idle, other, total */
    for (size_t i = 0; i < COUNT_OF(counts) && str_next(&cpus, '/', &count); i++)
        counts[i] = whole(count);
    node->cpus_busy = counts[0];
    node->cpus = counts[3];
    return node->name[0] && node->state[0];
}

bool slurm_member(struct str text, const char *name, char *value, size_t size) {
    struct str part;
    size_t len = strlen(name);
    while (str_next(&text, ' ', &part)) {
        if (part.len > len && part.at[len] == '=' && memcmp(part.at, name, len) == 0) {
            slurm_copy_clean(value, size, (struct str){part.at + len + 1, part.len - len - 1});
            return true;
        }
    }
    return false;
}

void slurm_exit_print(int exit_code, struct buf *out) {
    int signum = exit_code & 0x7f; /* as in wait(): signal below, status above */
    if (exit_code > 0xff && !signum)
        buf_printf(out, "exit status %d", exit_code >> 8);
    else if (signum)
        buf_printf(out, "signal %d (%s)", signum, strsignal(signum));
    else
        buf_puts(out, "exit status 0");
}
