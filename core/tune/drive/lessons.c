/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that learn: an experience out of a gain or a loss, a note out of every attempt. A model
 * that has the role writes the words; hone's own stand in when there is none or it fails. The
 * numbers are always hone's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/drive/private.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

#define OTHERS_TELL_MORE "other candidates of the round tell more"
#define MOVED_AT_ALL 0.005

/* Asks whoever has the role; false: nobody has. */
static bool lesson_ask(struct tune_session *session, int lane, enum tune_work_is work,
                       enum tune_step step) {
    const struct tune_proposer *proposer = session->proposer;
    tune_lesson_fn *ask = work == TUNE_WORK_SUMMARISE ? proposer->summarise : proposer->reflect;
    const struct tune_attempt *attempt = tune_attempt_in(session->state, lane);
    if (!ask || (attempt && attempt->plan.sweep)) /* numbers say it all */
        return false;
    struct tune_reply *reply = tune_request(tune_work_of(session, lane, step), work,
                                            tune_context_lesson(session->state, lane));
    session->asking++;
    bool asked = ask(proposer->self, reply->context, reply);
    session->asking--;
    if (!asked)
        tune_request_end(reply);
    return asked;
}

/* --------------------------------------------------------------------------- which are worth it */

#define MOST_LESSONS 8 /* experiences of a round, at most half of them gains */

static const struct tune_attempt *attempt_in(const struct tune_state *state, int lane) {
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    return attempt && attempt->id > 0 ? attempt : NULL;
}

/* Which rewrite of a plan the lesson is about: the best one if it was a gain, else the worst; one
 * that was never measured when none was. */
static bool tells_most(const struct tune_state *state, int lane) {
    const struct tune_attempt *mine = attempt_in(state, lane);
    double best = 0, worst = INFINITY;
    bool some = false;
    for (int i = 0; i < (int)state->lanes.len; i++) {
        const struct tune_attempt *other = attempt_in(state, i);
        bool same = other && state->lanes.at[i].parent == state->lanes.at[lane].parent &&
                    state->lanes.at[i].draw == state->lanes.at[lane].draw;
        if (!same)
            continue;
        if (isnan(other->vs_parent)) {
            some = some || (i < lane && isnan(mine->vs_parent));
            continue;
        }
        best = fmax(best, other->vs_parent);
        worst = fmin(worst, other->vs_parent);
    }
    double wanted = best >= TUNE_POSITIVE ? best : worst;
    return isinf(worst) ? !some : mine->vs_parent == wanted;
}

/* How many attempts of the round tell more than this one: gains compared with gains, losses with
 * losses. */
static int rank_of(const struct tune_state *state, int lane) {
    const struct tune_attempt *mine = attempt_in(state, lane);
    int rank = 0;
    for (int i = 0; i < (int)state->lanes.len; i++) {
        const struct tune_attempt *other = attempt_in(state, i);
        if (!other || i == lane || isnan(other->vs_parent) || !tells_most(state, i) ||
            (other->vs_parent >= 1) != (mine->vs_parent >= 1))
            continue;
        double more = fabs(log(other->vs_parent)) - fabs(log(mine->vs_parent));
        rank += more > 0 || (more == 0 && i < lane);
    }
    return rank;
}

/* Which lessons of a round are worth writing. */
static bool lesson_wanted(const struct tune_state *state, int lane) {
    const struct tune_attempt *mine = attempt_in(state, lane);
    if (!mine || !tells_most(state, lane))
        return false;
    if (isnan(mine->vs_parent) || state->step != TUNE_STEP_SUMMARISE)
        return true;
    return rank_of(state, lane) < MOST_LESSONS / 2;
}

/* ----------------------------------------------------------------------------------- summarise */

/* `slow` and `fast`: sources. */
static void experience_texts(struct tune_experience *item, struct arena *arena, const char *slow,
                             const char *fast) {
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(str_of(slow), str_of(fast), &count);
    struct buf before = {0}, after = {0};
    tune_hunks_print(&before, slow, hunks, count, false);
    tune_hunks_print(&after, fast, hunks, count, true);
    item->slow = before.at ? arena_strdup(arena, before.at) : NULL;
    item->fast = after.at ? arena_strdup(arena, after.at) : NULL;
    buf_free(&before);
    buf_free(&after);
    free(hunks);
}

static void own_summary(const struct tune_state *state, const struct tune_attempt *attempt,
                        const struct tune_attempt *parent, struct buf *text) {
    buf_puts(text, attempt->plan.what ? attempt->plan.what : "");
    tune_sentence_end(text);
    buf_puts(text, text->len ? " " : "");
    buf_puts(text, attempt->vs_parent >= 1 ? "It made the kernel faster: "
                                           : "It made the kernel slower: ");
    tune_latencies_print(text, parent, attempt);
    buf_printf(text, "%s on %s.", tune_attempt_how(attempt), state->device);
    tune_part_tried_print(text, attempt);
}

/* The words of a model, and which part was tried: whoever words a lesson, that is said. */
static void lesson_print(struct buf *out, const struct tune_lesson *lesson,
                         const struct tune_attempt *attempt) {
    buf_puts(out, lesson->text ? lesson->text : "");
    tune_part_tried_print(out, attempt);
}

/* `lesson` NULL: hone's own words. */
static void experience_emit(struct tune_session *session, int lane,
                            const struct tune_lesson *lesson, const char *author) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    bool gain = attempt->vs_parent >= 1;
    const char *planned = attempt->plan.title ? attempt->plan.title : "A change by hand";
    const char *title = lesson ? lesson->title : planned;
    struct buf text = {0};
    if (lesson)
        lesson_print(&text, lesson, attempt);
    else
        own_summary(state, attempt, parent, &text);
    struct arena *arena = arena_new();
    struct tune_event event = tune_event_empty(TUNE_EVENT_EXPERIENCE);
    struct tune_experience *item = &event.experience;
    item->attempt = attempt->id;
    item->against = parent->id;
    item->title = title;
    item->summary = arena_strndup(arena, text.at ? text.at : "", text.len);
    item->key = attempt->left_out ? NULL : attempt->plan.key; /* it says nothing of the whole */
    item->speedup = attempt->vs_parent;
    tune_memory_applies_to(state, arena, item);
    experience_texts(item, arena, tune_source(state, gain ? parent : attempt),
                     tune_source(state, gain ? attempt : parent));
    buf_clear(&text);
    buf_printf(&text, "%s experience proposed%s%s: %s", gain ? "positive" : "negative",
               lesson && *author ? " by " : "", lesson ? author : "", title);
    if (tune_emit(session, lane, &event))
        tune_export_memory(session);
    arena_free(arena);
    tune_step_done(session, lane, TUNE_STEP_SUMMARISE, TUNE_IS_OK, "%s", text.at);
    buf_free(&text);
}

/* The lesson was written already: hone was killed before the end of the step. */
static const struct tune_experience *experience_of(const struct tune_state *state,
                                                   const struct tune_attempt *attempt) {
    for (size_t i = 0; i < state->memory.len; i++)
        if (tune_memory_shows(&state->memory.at[i], attempt->id, attempt->parent) &&
            state->memory.at[i].speedup == attempt->vs_parent)
            return &state->memory.at[i];
    return NULL;
}

void tune_summarise(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    const struct tune_experience *there = experience_of(state, attempt);
    bool worth =
        parent && (attempt->vs_parent >= TUNE_POSITIVE || attempt->vs_parent <= TUNE_NEGATIVE);
    if (!worth)
        tune_step_done(session, lane, TUNE_STEP_SUMMARISE, TUNE_IS_SKIPPED,
                       "%.3fx is between %.2fx and %.2fx: nothing worth remembering",
                       attempt->vs_parent, TUNE_NEGATIVE, TUNE_POSITIVE);
    else if (!lesson_wanted(state, lane))
        tune_step_done(session, lane, TUNE_STEP_SUMMARISE, TUNE_IS_SKIPPED, OTHERS_TELL_MORE);
    else if (there)
        tune_step_done(session, lane, TUNE_STEP_SUMMARISE, TUNE_IS_OK, "%s experience proposed: %s",
                       attempt->vs_parent >= 1 ? "positive" : "negative",
                       there->title ? there->title : "");
    else if (!lesson_ask(session, lane, TUNE_WORK_SUMMARISE, TUNE_STEP_SUMMARISE))
        experience_emit(session, lane, NULL, "");
}

/* ------------------------------------------------------------------------------------- reflect */

static enum tune_category category_of(const struct tune_attempt *attempt) {
    switch (attempt->status) {
    case TUNE_STATUS_KEEP: return TUNE_CATEGORY_IMPROVED;
    case TUNE_STATUS_FAILED:
    case TUNE_STATUS_SUSPECT: return TUNE_CATEGORY_ERROR;
    case TUNE_STATUS_REJECTED: return TUNE_CATEGORY_REJECTED;
    default: break;
    }
    return attempt->vs_parent < 1 - MOVED_AT_ALL ? TUNE_CATEGORY_REGRESSION
                                                 : TUNE_CATEGORY_NO_IMPROVEMENT;
}

/* Whether the plan named the right obstacle: yes when removing it helped, no when it was removed
 * and nothing came of it. Where the prediction did not hold, the numbers do not tell. */
static enum tune_answer own_diagnosis(const struct tune_attempt *attempt) {
    if (isnan(attempt->vs_parent) || attempt->plan.held == TUNE_ANSWER_UNKNOWN || attempt->left_out)
        return TUNE_ANSWER_UNKNOWN;
    if (attempt->plan.held != TUNE_ANSWER_YES)
        return TUNE_ANSWER_INCONCLUSIVE;
    return attempt->vs_parent >= 1 + MOVED_AT_ALL ? TUNE_ANSWER_YES : TUNE_ANSWER_NO;
}

static void own_lesson(struct buf *out, const struct tune_attempt *attempt,
                       const struct tune_attempt *parent) {
    static const char *const heads[] = {[TUNE_CATEGORY_IMPROVED] = "worked",
                                        [TUNE_CATEGORY_NO_IMPROVEMENT] = "brought nothing",
                                        [TUNE_CATEGORY_REGRESSION] = "was a step back",
                                        [TUNE_CATEGORY_ERROR] = "failed",
                                        [TUNE_CATEGORY_REJECTED] = "was rejected"};
    buf_printf(out, "\"%s\" %s: %s", attempt->plan.title ? attempt->plan.title : "The change",
               heads[category_of(attempt)], attempt->reason ? attempt->reason : "no reason given");
    tune_sentence_end(out);
    tune_part_tried_print(out, attempt);
    tune_prediction_print(out, attempt);
    struct buf from = {0}, to = {0};
    if (parent)
        tune_limited_print(parent, &from);
    tune_limited_print(attempt, &to);
    if (from.len && to.len && strcmp(from.at, to.at) != 0)
        buf_printf(out, " It was limited by %s, and is by %s.", from.at, to.at);
    buf_free(&from);
    buf_free(&to);
}

/* `lesson` NULL: hone's own words. Whether the prediction held is measured, whoever writes the
 * note. */
static void note_emit(struct tune_session *session, int lane, const struct tune_lesson *lesson,
                      const char *author) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    struct buf text = {0};
    if (lesson)
        lesson_print(&text, lesson, attempt);
    else
        own_lesson(&text, attempt, tune_state_attempt(state, attempt->parent));
    enum tune_answer diagnosis = lesson && lesson->diagnosis != TUNE_ANSWER_UNKNOWN
                                     ? lesson->diagnosis
                                     : own_diagnosis(attempt);
    char evidence[80];
    snprintf(evidence, sizeof evidence, "attempt %d against %d", attempt->id, attempt->parent);
    bool ok = tune_emit(session, lane,
                        TUNE_EVENT(NOTE, note, .round = state->round, .attempt = attempt->id,
                                   .lesson = text.at, .plan = attempt->plan.title,
                                   .category = category_of(attempt), .held = attempt->plan.held,
                                   .diagnosis = diagnosis, .author = lesson ? author : NULL,
                                   .evidence = evidence));
    buf_free(&text);
    const struct tune_note *note =
        ok && state->notes.len ? &state->notes.at[state->notes.len - 1] : NULL;
    tune_step_done(session, lane, TUNE_STEP_REFLECT, TUNE_IS_OK, "%s",
                   note && note->lesson ? note->lesson : "noted");
}

/* As experience_of. An attempt that was decided differently since then gets another note. */
static const struct tune_note *note_of(const struct tune_state *state,
                                       const struct tune_attempt *attempt) {
    for (size_t i = 0; i < state->notes.len; i++) {
        const struct tune_note *note = &state->notes.at[i];
        if (note->attempt == attempt->id && note->round == state->round && !note->dropped &&
            note->category == category_of(attempt))
            return note;
    }
    return NULL;
}

void tune_reflect(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    bool some = attempt && attempt->id != 0;
    const struct tune_note *there = some ? note_of(state, attempt) : NULL;
    if (!some)
        tune_step_done(session, lane, TUNE_STEP_REFLECT, TUNE_IS_SKIPPED, "there was no attempt");
    else if (there)
        tune_step_done(session, lane, TUNE_STEP_REFLECT, TUNE_IS_OK, "%s",
                       there->lesson ? there->lesson : "noted");
    else if (!lesson_wanted(state, lane))
        tune_step_done(session, lane, TUNE_STEP_REFLECT, TUNE_IS_SKIPPED, OTHERS_TELL_MORE);
    else if (!lesson_ask(session, lane, TUNE_WORK_REFLECT, TUNE_STEP_REFLECT))
        note_emit(session, lane, NULL, "");
}

/* ------------------------------------------------------------------------------------- answers */

static void lesson_write(struct tune_reply *reply) {
    struct tune_session *session = reply->work.session;
    tune_request_end(reply);
    if (reply->is == TUNE_WORK_SUMMARISE)
        experience_emit(session, reply->work.lane, reply->lesson, reply->author);
    else
        note_emit(session, reply->work.lane, reply->lesson, reply->author);
}

/* Whether a lane before this one still has its part of the step to do. */
static bool waits_for_others(const struct tune_reply *reply) {
    const struct tune_state *state = reply->work.session->state;
    for (int i = 0; i < reply->work.lane; i++)
        if (tune_lane_next(state, i) == reply->work.step)
            return true;
    return false;
}

void tune_lessons_settle(struct tune_session *session) {
    struct tune_reply *reply = session->replies;
    while (reply) {
        bool due = reply->learnt && !reply->done && !waits_for_others(reply) && !session->halted;
        if (due)
            lesson_write(reply);
        reply = due ? session->replies : reply->next;
    }
}
