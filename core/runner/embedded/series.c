/* SPDX-License-Identifier: Apache-2.0 */
/* A runner that checks one kernel after the other: a job on each line of stdin, and for each its
 * findings and a result. */
#include "runner/embedded/private.h"

#include <stdio.h>
#include <stdlib.h>

static void check(struct str line) {
    struct runner_job job = {0};
    struct runner_result result = {0};
    struct err err = {0};
    struct arena *arena = arena_new();
    if (runner_job_parse(line, arena, &job, &err) && runner_check(&job, &result, &err))
        for (size_t i = 0; i < result.diagnostics.all.len; i++)
            events_write(&(struct runner_event){.kind = RUNNER_DIAGNOSTIC,
                                                .diag = &result.diagnostics.all.at[i]});
    result.failure = err;
    events_result(&result);
    runner_result_free(&result);
    arena_free(arena);
}

void evaluation_series(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t got;
    while ((got = getline(&line, &room, stdin)) > 0)
        check((struct str){line, (size_t)got});
    free(line);
}
