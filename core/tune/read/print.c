/* SPDX-License-Identifier: Apache-2.0 */
/* The whole state as JSON, so that two states can be compared. It leaves out what belongs to the
 * process and not to the log. */
#include <math.h>
#include <stdlib.h>

#include "tune/state/state.h"
#include "tune/state/inner.h"
#include "tune/read/read.h"
#include "tune/read/testing.h"

static cJSON *array_in(cJSON *object, const char *key) {
    return cJSON_AddArrayToObject(object, key);
}

static cJSON *object_in(cJSON *array) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(array, object);
    return object;
}

static void put_int(cJSON *object, const char *key, double value) {
    cJSON_AddNumberToObject(object, key, value);
}

static void print_head(const struct tune_state *state, cJSON *root) {
    const struct {
        const char *key, *text;
    } texts[] = {
        {"task", state->task},
        {"kernel", state->kernel_path},
        {"reference", state->reference_path},
        {"function", state->function},
        {"source", state->kernel_source},
        {"precision", state->precision},
        {"target", state->target},
        {"nki", state->nki},
        {"release", state->release},
        {"tracing", state->tracing},
        {"device", state->device},
        {"proposer", state->proposer},
        {"search", state->search},
        {"wait", tune_wait_word(state->wait)},
        {"wait_text", state->wait_text},
        {"step", tune_step_word(state->step)},
        {"wait_step", tune_step_word(state->wait_step)},
        {"undo_what", state->undo_what},
        {"redo_what", state->redo_what},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        tune_json_put_text(root, texts[i].key, texts[i].text);
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"tolerance", state->tolerance},
        {"menu_keep", state->menu_keep},
        {"round", state->round},
        {"rounds", state->rounds},
        {"incumbent", state->incumbent},
        {"best", state->best},
        {"plateau", state->plateau},
        {"undo", state->undo_count},
        {"redo", state->redo_count},
        {"started_ms", (double)state->started_ms},
        {"seq", (double)state->seq},
        {"by_hand", state->by_hand},
        {"by_run", state->by_run},
        {"running", state->running},
        {"finished", state->finished},
        {"environment", state->stopped_by_environment},
        {"numbered", state->way->numbered},
        {"from", state->own->from},
        {"revise", state->own->revise},
        {"round_over", state->own->round_over},
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        tune_json_put_number(root, numbers[i].key, numbers[i].value);
    if (state->disturbed)
        put_int(root, "disturbed", state->disturbed);
}

static void print_steps(const struct tune_state *state, cJSON *root) {
    cJSON *list = array_in(root, "steps");
    for (int i = 0; i < TUNE_STEPS; i++) {
        const struct tune_step_view *step = &state->steps[i];
        cJSON *item = object_in(list);
        tune_json_put_text(item, "step", tune_step_word((enum tune_step)i));
        tune_json_put_text(item, "is", tune_step_is_word(step->is));
        tune_json_put_text(item, "gate", tune_gate_word(step->gate));
        put_int(item, "started_ms", (double)step->started_ms);
        put_int(item, "ended_ms", (double)step->ended_ms);
        tune_json_put_text(item, "doing", step->doing);
        tune_json_put_number(item, "done", step->done);
        tune_json_put_number(item, "total", step->total);
        tune_json_put_text(item, "summary", step->summary);
        tune_json_put_text(item, "artefact", step->artefact);
    }
}

static void print_candidate(const struct tune_candidate *candidate, cJSON *root) {
    cJSON *object = cJSON_AddObjectToObject(root, "candidate");
    tune_json_put_bool(object, "exists", candidate->exists);
    if (!candidate->exists)
        return;
    put_int(object, "attempt", candidate->attempt);
    put_int(object, "parent", candidate->parent);
    put_int(object, "repair", candidate->repair);
    tune_json_put_text(object, "proposed", candidate->proposed);
    tune_json_put_text(object, "source", candidate->source);
    tune_json_put_text(object, "author", candidate->author);
    tune_json_put_bool(object, "edited", candidate->edited);
    cJSON *list = array_in(object, "hunks");
    for (size_t i = 0; i < candidate->hunks.len; i++) {
        const struct tune_hunk *hunk = &candidate->hunks.at[i];
        cJSON *item = object_in(list);
        put_int(item, "old_line", hunk->old_line);
        put_int(item, "old_count", hunk->old_count);
        put_int(item, "new_line", hunk->new_line);
        put_int(item, "new_count", hunk->new_count);
        tune_json_put_bool(item, "left", hunk->left);
        tune_json_put_text(item, "why", hunk->why);
    }
}

static void print_logs(const struct tune_state *state, cJSON *root) {
    cJSON *list = array_in(root, "logs");
    for (size_t i = 0; i < state->logs.len; i++) {
        const struct tune_log *log = &state->logs.at[i];
        cJSON *item = object_in(list);
        put_int(item, "wall_ms", (double)log->wall_ms);
        tune_json_put_text(item, "level", tune_level_word(log->level));
        tune_json_put_text(item, "phase", log->phase);
        tune_json_put_text(item, "text", log->text);
        put_int(item, "line", log->line);
        put_int(item, "attempt", log->attempt);
        put_int(item, "diagnostic", log->diagnostic);
    }
}

static void print_lessons(const struct tune_state *state, cJSON *root) {
    cJSON *list = array_in(root, "notes");
    for (size_t i = 0; i < state->notes.len; i++) {
        const struct tune_note *note = &state->notes.at[i];
        cJSON *item = object_in(list);
        put_int(item, "round", note->round);
        put_int(item, "attempt", note->attempt);
        tune_json_put_text(item, "lesson", note->lesson);
        tune_json_put_text(item, "evidence", note->evidence);
        tune_json_put_text(item, "category", tune_category_word(note->category));
        tune_json_put_text(item, "held", tune_answer_word(note->held));
        tune_json_put_text(item, "diagnosis", tune_answer_word(note->diagnosis));
        tune_json_put_text(item, "author", note->author);
        put_int(item, "marks", note->pinned + 2 * note->dropped + 4 * note->edited);
        put_int(item, "entered", note->entered);
    }
    list = array_in(root, "memory");
    for (size_t i = 0; i < state->memory.len; i++) {
        const struct tune_experience *memory = &state->memory.at[i];
        cJSON *item = object_in(list);
        put_int(item, "attempt", memory->attempt);
        put_int(item, "against", memory->against);
        tune_json_put_text(item, "title", memory->title);
        tune_json_put_text(item, "summary", memory->summary);
        tune_json_put_text(item, "is", tune_experience_word(memory->is));
        tune_json_put_number(item, "speedup", memory->speedup);
        put_int(item, "marks", memory->edited + 2 * memory->imported + 4 * memory->closed);
        put_int(item, "entered", memory->entered);
        put_int(item, "merged", memory->merged);
        tune_json_put_text(item, "family", memory->family);
        tune_json_put_text(item, "generation", memory->generation);
        tune_json_put_text(item, "dialect", memory->dialect);
        tune_json_put_text(item, "source", memory->source);
        tune_json_put_text(item, "evidence", memory->evidence);
        tune_json_put_text(item, "expired", memory->expired);
    }
    list = array_in(root, "imports");
    for (size_t i = 0; i < state->imports.len; i++) {
        const struct tune_import *row = &state->imports.at[i];
        cJSON *item = object_in(list);
        tune_json_put_text(item, "agent", row->agent);
        tune_json_put_text(item, "source", row->source);
        tune_json_put_text(item, "name", row->name);
        tune_json_put_text(item, "status", row->status);
        tune_json_put_number(item, "latency_us", row->latency_us);
        tune_json_put_number(item, "speedup", row->speedup);
    }
    list = array_in(root, "rejections");
    for (size_t i = 0; i < state->rejections.len; i++) {
        const struct tune_rejection *rejection = &state->rejections.at[i];
        cJSON *item = object_in(list);
        put_int(item, "round", rejection->round);
        put_int(item, "attempt", rejection->attempt);
        tune_json_put_text(item, "step", tune_step_word(rejection->step));
        tune_json_put_text(item, "title", rejection->title);
        tune_json_put_text(item, "key", rejection->key);
        tune_json_put_text(item, "reason", rejection->reason);
        tune_json_put_text(item, "hunk", rejection->hunk);
    }
}

static void print_calls(const struct tune_state *state, cJSON *root) {
    cJSON *list = array_in(root, "calls");
    for (size_t i = 0; i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        cJSON *item = object_in(list);
        tune_json_put_text(item, "role", call->role);
        tune_json_put_text(item, "model", call->model);
        tune_json_put_text(item, "prompt", call->prompt);
        tune_json_put_text(item, "answer", call->answer);
        tune_json_put_text(item, "failure", call->failure);
        put_int(item, "asked_ms", (double)call->asked_ms);
        put_int(item, "ended_ms", (double)call->ended_ms);
        tune_json_put_number(item, "output", call->output);
        tune_json_put_number(item, "dollars", call->dollars);
        tune_json_put_bool(item, "waits", call->waits);
        tune_json_put_bool(item, "held", call->held);
        tune_json_put_text(item, "unread", call->unread);
        put_int(item, "mends", call->mends);
        put_int(item, "repeats", call->repeats);
        tune_json_put_text(item, "failed", call->failed);
        tune_json_put_bool(item, "lost", call->lost);
    }
    list = array_in(root, "parts");
    for (size_t i = 0; i < state->parts.len; i++) {
        const struct tune_part_change *change = &state->parts.at[i];
        cJSON *item = object_in(list);
        tune_json_put_text(item, "role", tune_role_word(change->role));
        tune_json_put_text(item, "part", change->part);
        tune_json_put_text(item, "text", change->text);
        tune_json_put_bool(item, "off", change->off);
    }
}

static void print_lanes(const struct tune_state *state, cJSON *root) {
    cJSON *list = array_in(root, "lanes");
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        cJSON *item = object_in(list);
        put_int(item, "parent", lane->parent);
        put_int(item, "draw", lane->draw);
        put_int(item, "sample", lane->sample);
        put_int(item, "attempt", tune_lane_attempt(state, (int)i));
        tune_json_put_text(item, "step", tune_step_word(lane->step));
        tune_json_put_text(item, "is", tune_step_is_word(lane->is));
        put_int(item, "next", (double)lane->next);
        tune_json_put_text(item, "summary", lane->summary);
        tune_json_put_text(item, "closed", lane->closed);
        put_int(item, "plan", lane->plan);
        print_candidate(&lane->candidate, item);
    }
    list = array_in(root, "beam");
    for (size_t i = 0; i < state->beam.len; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(state->beam.at[i]));
}

void tune_state_print(const struct tune_state *state, struct buf *out) {
    cJSON *root = cJSON_CreateObject();
    print_head(state, root);
    print_steps(state, root);
    cJSON *list = array_in(root, "plans");
    for (size_t i = 0; i < state->plans.len; i++)
        cJSON_AddItemToArray(list, tune_plan_write(&state->plans.at[i]));
    print_lanes(state, root);
    list = array_in(root, "attempts");
    for (size_t i = 0; i < state->attempts.len; i++)
        cJSON_AddItemToArray(
            list, tune_attempt_write(state, &state->attempts.at[i], TUNE_ATTEMPT_INSIDE, NULL));
    print_logs(state, root);
    list = array_in(root, "diagnostics");
    for (size_t i = 0; i < state->diagnostics.len; i++) {
        cJSON *item = object_in(list);
        put_int(item, "attempt", state->diagnostics.at[i].attempt);
        put_int(item, "line", state->diagnostics.at[i].line);
        tune_json_put_text(item, "message", state->diagnostics.at[i].message);
        tune_json_put_text(item, "class", state->diagnostics.at[i].cause);
    }
    print_lessons(state, root);
    print_calls(state, root);
    list = array_in(root, "budgets");
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        cJSON *item = object_in(list);
        tune_json_put_number(item, "limit", state->budgets[i].limit);
        tune_json_put_number(item, "spent", state->budgets[i].spent);
    }
    char *text = cJSON_Print(root);
    if (text)
        buf_puts(out, text);
    free(text);
    cJSON_Delete(root);
}
