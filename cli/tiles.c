/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of a line of a kernel, for the workbench. */
#include "cli/tiles.h"

#include <stdio.h>
#include <stdlib.h>

#include "runner/runner.h"

struct tiles {
    struct views *views;
    struct runner *runner;
    struct buf text;
    char *source;
    int64_t seed;
    int line;
    void (*changed)(void *data);
    void *data;
};

static void on_event(void *data, const struct runner_event *event) {
    struct tiles *tiles = data;
    if (event->kind == RUNNER_LOG && event->name)
        buf_printf(&tiles->text, "%s\n", event->text);
}

static const char *first_error(const struct runner_result *result) {
    for (size_t i = 0; i < result->diagnostics.all.len; i++)
        if (result->diagnostics.all.at[i].severity == DIAG_ERROR)
            return result->diagnostics.all.at[i].message;
    return result->verdict.correct.reason[0] ? result->verdict.correct.reason
                                             : "the kernel was not executed";
}

static void on_done(void *data, struct runner_result *result) {
    struct tiles *tiles = data;
    char title[48];
    tiles->runner = NULL;
    snprintf(title, sizeof title, "tiles of line %d, seed %lld", tiles->line,
             (long long)tiles->seed);
    if (tiles->text.len)
        views_show_text(tiles->views, title, tiles->text.at);
    else
        views_say(tiles->views, true, "%s",
                  result->failure.kind != ERR_NONE ? result->failure.text : first_error(result));
    tiles->changed(tiles->data);
}

struct tiles *tiles_start(struct loop *loop, struct views *views,
                          const struct tiles_wanted *wanted) {
    const struct tune_state *state = wanted->state;
    static const int64_t usual[] = TASK_SEEDS;
    struct tiles *tiles = mem_alloc(1, sizeof *tiles);
    *tiles = (struct tiles){.views = views,
                            .source = mem_strdup(wanted->source),
                            .seed = state->seeds.len ? state->seeds.at[0] : usual[0],
                            .line = wanted->line,
                            .changed = wanted->changed,
                            .data = wanted->data};
    struct runner_job job = {
        .kernel_path = tune_kernel_file(state),
        .kernel_text = tiles->source,
        .kernel_name = state->function,
        .reference_path = tune_reference_file(state),
        .device = state->device,
        .release = tune_release(state),
        .lnc = state->lnc,
        .tolerance = state->tolerance > 0 ? state->tolerance : 0,
        .seeds = &tiles->seed,
        .seed_count = 1,
        .no_time = true,
        .takes_turns = true,
        .break_line = wanted->line,
        .break_round = wanted->round,
        .wall = {.level = config_get(wanted->config, "wall", "level", NULL),
                 .shown = config_get(wanted->config, "wall", "read", NULL)},
    };
    struct runner_callbacks callbacks = {on_event, on_done, tiles};
    struct err err = {0};
    tiles->runner = runner_start(loop, &job, &callbacks, &err);
    if (tiles->runner)
        return tiles;
    views_say(views, true, "%s", err.text);
    tiles_drop(tiles);
    return NULL;
}

void tiles_drop(struct tiles *tiles) {
    if (!tiles)
        return;
    runner_drop(tiles->runner);
    buf_free(&tiles->text);
    free(tiles->source);
    free(tiles);
}
