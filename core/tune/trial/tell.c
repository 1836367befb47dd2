/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of an evaluation as events: the attempt itself, its verdict in the words of the log,
 * its times and profile, what it cost, and what was decided. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nki/nki.h"
#include "tune/exchange/inner.h"
#include "tune/read/read.h"
#include "tune/state/inner.h"
#include "tune/sums/sums.h"
#include "tune/trial/private.h"

#define TURN_LINES 16 /* of either side of what a turn changed */

static void side_print(struct buf *out, const char *source, int first, int count, char mark) {
    struct str rest = str_of(source), line;
    for (int number = 1; str_next(&rest, '\n', &line); number++)
        if (number >= first && number < first + MIN_OF(count, TURN_LINES))
            buf_printf(out, "    %c " STR_FMT "\n", mark, STR_ARG(line));
    if (count > TURN_LINES)
        buf_printf(out, "    %c [... %d lines left out ...]\n", mark, count - TURN_LINES);
}

/* What a repair turn had to repair, and what it changed, for the turns after it. */
static void turn_print(const struct tune_state *state, const struct tune_attempt *attempt,
                       const char *source, struct buf *out) {
    const char *before = tune_source(state, attempt), *why = NULL;
    const struct tune_diagnostic *diag;
    size_t at = 0, count = 0;
    while (!why && (diag = tune_diagnostic_next(state, attempt->id, &at)))
        why = diag->severity == DIAG_ERROR ? diag->message : NULL;
    why = why                             ? why
          : attempt->verdict.compiles_why ? attempt->verdict.compiles_why
                                          : attempt->verdict.correct_why;
    struct tune_hunk *hunks = tune_hunks(str_of(before), str_of(source), &count);
    buf_printf(out, "it failed with \"%s\"; this was changed:\n", why ? why : "no reason told");
    for (size_t i = 0; i < count && i < TURN_LINES; i++) {
        side_print(out, before, hunks[i].old_line, hunks[i].old_count, '-');
        side_print(out, source, hunks[i].new_line, hunks[i].new_count, '+');
    }
    free(hunks);
}

/* The source of attempt `id` of a lane is to be tried: a new one, or the next turn of it. */
bool tune_attempt_emit(struct tune_session *session, int lane, int id,
                       const struct tune_candidate *candidate) {
    const struct tune_state *state = session->state;
    const char *source = candidate->source;
    struct hash hash = hash_content(source, strlen(source));
    struct hash normal = nki_source_hash(str_of(source));
    char path[80];
    snprintf(path, sizeof path, "checkpoints/attempt_%03d_%.8s.py", id, hash.hex);
    const struct tune_plan *plan = id ? tune_lane_plan(state, lane) : NULL;
    struct tune_plan bare = plan ? *plan : (struct tune_plan){0};
    bare.source = NULL; /* the attempt has its own */
    struct buf turn = {0};
    if (id > 0 && candidate->repair > 0 && tune_state_attempt(state, id))
        turn_print(state, tune_state_attempt(state, id), source, &turn);
    int left_out = 0;
    for (size_t i = 0; i < candidate->hunks.len; i++)
        left_out += candidate->hunks.at[i].left;
    struct err err = {0};
    if (!store_file_write(session->store, path, str_of(source), &err))
        tune_emit_log(session, lane, TUNE_LEVEL_WARNING, "store", "%s", err.text);
    bool ok = tune_emit(session, lane,
                        TUNE_EVENT(ATTEMPT, attempt, .attempt = id, .parent = candidate->parent,
                                   .round = id ? state->round : 0, .repairs = candidate->repair,
                                   .source = source, .author = candidate->author, .path = path,
                                   .plan = plan ? &bare : NULL, .normal = normal.hex,
                                   .turn = turn.len ? turn.at : NULL, .left_out = left_out,
                                   .hunks = left_out ? (int)candidate->hunks.len : 0));
    buf_free(&turn);
    return ok;
}

static const struct {
    enum task_answer from;
    enum tune_answer to;
} answers[] = {{TASK_YES, TUNE_ANSWER_YES},
               {TASK_NO, TUNE_ANSWER_NO},
               {TASK_INCONCLUSIVE, TUNE_ANSWER_INCONCLUSIVE}};

static void judgement_tell(const struct task_judgement *judgement, enum tune_answer *answer,
                           const char **why) {
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i].from == judgement->answer)
            *answer = answers[i].to;
    if (judgement->answer != TASK_NOT_ASKED)
        *why = *judgement->reason ? judgement->reason : NULL;
}

void tune_verdict_emit(struct tune_session *session, int lane, int attempt,
                       const struct task_verdict *verdict) {
    struct tune_event event = tune_event_empty(TUNE_EVENT_VERDICT);
    struct tune_event_verdict *said = &event.verdict;
    said->attempt = attempt;
    judgement_tell(&verdict->compiles, &said->compiles, &said->compiles_why);
    judgement_tell(&verdict->correct, &said->correct, &said->correct_why);
    judgement_tell(&verdict->credible, &said->credible, &said->credible_why);
    judgement_tell(&verdict->faster, &said->faster, &said->faster_why);
    bool wrong = verdict->compiles.answer == TASK_NO || verdict->correct.answer == TASK_NO ||
                 verdict->credible.answer == TASK_NO;
    said->kind = wrong ? err_kind_name(ERR_KERNEL) : NULL;
    tune_emit(session, lane, &event);
}

/* The numbers behind the answer "faster" go with it. */
void tune_speed_emit(const struct tune_work *work, int attempt, const struct task_verdict *verdict,
                     struct task_ratio ratio, bool confirmed) {
    struct tune_event event = tune_event_empty(TUNE_EVENT_VERDICT);
    struct tune_event_verdict *said = &event.verdict;
    said->attempt = attempt;
    judgement_tell(&verdict->faster, &said->faster, &said->faster_why);
    said->ratio = ratio.ratio;
    said->low = ratio.low;
    said->high = ratio.high;
    said->seen = ratio.seen;
    said->confirmed = confirmed;
    tune_emit(work->session, work->lane, &event);
}

struct tune_profile tune_result_profile(struct arena *arena, const struct runner_result *result) {
    struct tune_profile profile = {
        .metrics = ARENA_ARRAY(arena, struct tune_metric, result->metrics.len),
        .lines = ARENA_ARRAY(arena, struct tune_line_cost, result->lines.len),
        .bounds = ARENA_ARRAY(arena, struct tune_bound, result->bounds.len)};
    for (size_t i = 0; i < result->metrics.len; i++)
        profile.metrics[i] = (struct tune_metric){
            result->metrics.at[i].name, result->metrics.at[i].unit, result->metrics.at[i].value};
    for (size_t i = 0; i < result->lines.len; i++)
        profile.lines[i] = (struct tune_line_cost){
            result->lines.at[i].line,   result->lines.at[i].us,    result->lines.at[i].share,
            result->lines.at[i].engine, result->lines.at[i].calls, result->lines.at[i].busy_us};
    for (size_t i = 0; i < result->bounds.len; i++)
        profile.bounds[i] =
            (struct tune_bound){result->bounds.at[i].name, result->bounds.at[i].busy_us,
                                result->bounds.at[i].without_us};
    return profile;
}

static double known(double us) {
    return us > 0 ? us : (double)NAN;
}

void tune_measured_emit(struct tune_evaluation *evaluation, const struct runner_result *result) {
    struct arena *arena = arena_new();
    struct tune_profile profile = tune_result_profile(arena, result);
    tune_emit(
        evaluation->work.session, evaluation->work.lane,
        TUNE_EVENT(
            MEASURED, measured, .attempt = evaluation->attempt,
            .latency_us = known(result->latency_us), .floor_us = known(result->floor_us),
            .low_us = result->modelled ? known(result->low_us) : (double)NAN,
            .high_us = result->modelled ? known(result->high_us) : (double)NAN,
            .floor_split_us = known(result->floor_split_us),
            .floor_any_us = known(result->floor_any_us), .instructions = result->instructions,
            .modelled = result->modelled, .bound_by = *result->bound ? result->bound : NULL,
            .wall = *result->wall ? result->wall : NULL, .nki = *result->nki ? result->nki : NULL,
            .lnc = result->lnc > 1 ? result->lnc : 0,
            .metrics = {profile.metrics, result->metrics.len, true},
            .lines = {profile.lines, result->lines.len, true},
            .bounds = {profile.bounds, result->bounds.len, true}, .causes = result->causes_text));
    arena_free(arena);
    for (size_t i = 0; i < result->artifacts.len; i++)
        if (!strcmp(result->artifacts.at[i].name, "profile"))
            tune_ingest_start(evaluation->work.session, evaluation->attempt,
                              result->artifacts.at[i].path);
}

/* An evaluation that was given up may be told of when its lane is gone. */
void tune_device_time_emit(struct tune_evaluation *evaluation, const struct runner_result *result) {
    int lane = evaluation->given_up ? TUNE_ALL_LANES : evaluation->work.lane;
    double seconds = result->device_s > 0 ? result->device_s : result->elapsed_s;
    if (evaluation->given_up && evaluation->work.session->place.modelled)
        seconds = fmin(seconds, (double)(evaluation->left_ns - evaluation->began_ns) * 1e-9);
    tune_emit(evaluation->work.session, lane,
              TUNE_EVENT_AS(SPENT, SPENT_DEVICE, spent, .step = evaluation->work.step,
                            .rest = evaluation->rest, .device = seconds));
}

void tune_decided_emit(const struct tune_work *work, int attempt, enum tune_status status,
                       const char *reason) {
    if (tune_emit(
            work->session, work->lane,
            TUNE_EVENT(DECIDED, decided, .attempt = attempt, .status = status, .reason = reason)))
        tune_export(work->session, attempt);
}

const char *tune_why_wrong(const struct tune_attempt *attempt) {
    const struct tune_verdict *verdict = &attempt->verdict;
    if (verdict->compiles != TUNE_ANSWER_YES)
        return verdict->compiles_why ? verdict->compiles_why : "it does not compile";
    if (verdict->correct == TUNE_ANSWER_NO)
        return verdict->correct_why ? verdict->correct_why : "it is not correct";
    if (verdict->credible == TUNE_ANSWER_NO)
        return verdict->credible_why ? verdict->credible_why : "its result is not credible";
    return NULL;
}
