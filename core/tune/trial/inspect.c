/* SPDX-License-Identifier: Apache-2.0 */
/* What a candidate is checked for before a compile, a device or a minute is spent on it: cheating,
 * narrower types where the policy is "keep", and what the release or the generation does not have.
 * A finding closes the turn like a compiler's complaint. Anything else that may be wrong with a
 * kernel is for the runner to find. Programs are specialised on a worker thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "nki/nki.h"
#include "task/task.h"
#include "runner/runner.h"
#include "tune/exchange/inner.h"
#include "tune/session/inner.h"
#include "tune/sums/sums.h"
#include "tune/trial/trial.h"

/* A kernel that needs more is left to the runner. */
#define MAX_INSTRUCTIONS 1000000
#define MAX_BYTES ((size_t)1 << 30)
#define MAX_FINDINGS 20

struct inspection {
    struct tune_inspection base; /* its session NULL: nobody waits for it any more */
    struct arena *arena;
    const char *path, *reference, *function, *source, *original;
    const char *device, *release; /* release: NKI on the target; NULL */
    int lnc;                      /* physical cores of a launch; 0: as the file does */
    int cores;                    /* of the candidate's launch; 0: not known */
    enum nki_precision precision;
    enum tune_precision is; /* what the program shows; with is_known */
    bool is_known;
    bool allows_original, any_dialect;
    bool is_here;               /* the device model runs it: its errors are the target's */
    struct task_inputs *values; /* shapes; NULL: not known */
    struct nki_input *inputs;
    size_t n_inputs;
    struct nki_facts *facts; /* of the original; made by the first inspection */
    struct diag_list diags;
    struct runner_turn *turn; /* NULL: the sources alone are looked at */
    uint64_t bytes;           /* of the largest program */
    bool works;               /* a thread has it */
    volatile int cancelled;
};

/* ---- on the worker thread ------------------------------------------------------------------- */

/* NULL: there is an error. `found` has all that are independent; NULL: nobody wants to know. */
static struct nki_program *specialise(struct inspection *own, const struct nki_tree *tree,
                                      const struct device_generation *generation,
                                      struct diag_list *found) {
    struct nki_specialise_options options = {.function = own->function,
                                             .generation = generation->generation,
                                             .release = own->release,
                                             .grid = {own->lnc},
                                             .inputs = own->inputs,
                                             .n_inputs = own->n_inputs,
                                             .max_instructions = MAX_INSTRUCTIONS,
                                             .max_bytes = MAX_BYTES,
                                             .cancel = &own->cancelled,
                                             .every_error = found != NULL};
    struct diag_list ignored = {0};
    struct nki_program *program =
        tree->errors ? NULL : nki_specialise(tree, &options, found ? found : &ignored);
    diag_free(&ignored);
    if (program)
        own->bytes = MAX_OF(own->bytes, (uint64_t)arena_bytes(program->arena));
    return program;
}

/* Finds what the generation does not have. Other limits are for the runner to tell. */
static void check_generation(struct inspection *own, const struct nki_program *program,
                             const struct device_generation *generation) {
    struct diag_list found = {0};
    device_unload(device_load(program, generation, &found));
    for (size_t i = 0; i < found.all.len; i++) {
        const struct diag *diag = &found.all.at[i];
        bool late = !strcmp(diag->code, "hone-generation") || !strcmp(diag->code, "NCC_ESPP047");
        if (late && diag->severity == DIAG_ERROR)
            diag_add(&own->diags, DIAG_ERROR, diag->code, diag->file, diag->line, diag->column,
                     "%s", diag->message);
    }
    diag_free(&found);
}

static bool has_finding(const struct diag_list *found, const char *code) {
    for (size_t i = 0; i < found->all.len; i++)
        if (!strcmp(found->all.at[i].code, code))
            return true;
    return false;
}

/* Whether the policy would take the kernel as far as numbers go. */
static bool keeps_to(const struct inspection *own, const struct nki_facts *facts,
                     enum nki_precision policy) {
    struct diag_list found = {0};
    nki_facts_compare(facts, own->facts, policy, own->path, &found);
    if (policy == NKI_PRECISION_SPLIT && own->values->work.known)
        nki_facts_check_split(facts, own->values->work.fp32, own->path, &found);
    bool keeps = !has_finding(&found, "hone-candidate-precision");
    diag_free(&found);
    return keeps;
}

static void classify(struct inspection *own, const struct nki_facts *facts) {
    own->is_known = true;
    own->is = keeps_to(own, facts, NKI_PRECISION_KEEP)    ? TUNE_PRECISION_KEEP
              : keeps_to(own, facts, NKI_PRECISION_SPLIT) ? TUNE_PRECISION_SPLIT
                                                          : TUNE_PRECISION_ANY;
}

static void check_program(struct inspection *own, const struct nki_tree *tree,
                          const struct nki_tree *original) {
    const struct device_generation *generation = device_generation_find(own->device);
    struct nki_program *program = generation ? specialise(own, tree, generation, NULL) : NULL;
    struct nki_program *before =
        program && !own->facts ? specialise(own, original, generation, NULL) : NULL;
    if (before) {
        own->facts = mem_alloc(1, sizeof *own->facts);
        nki_facts_find(before, own->facts);
    }
    own->cores = program ? program->cores : 0;
    if (program && own->facts) {
        struct nki_facts *facts = mem_alloc(1, sizeof *facts);
        nki_facts_find(program, facts);
        nki_facts_compare(facts, own->facts, own->precision, own->path, &own->diags);
        if (own->precision == NKI_PRECISION_SPLIT && own->values->work.known)
            nki_facts_check_split(facts, own->values->work.fp32, own->path, &own->diags);
        classify(own, facts);
        free(facts);
    }
    if (program)
        check_generation(own, program, generation);
    nki_program_free(before);
    nki_program_free(program);
}

static bool has_line(const struct diag_list *found, size_t count, const struct diag *diag) {
    for (size_t i = 0; i < count; i++)
        if (found->all.at[i].line == diag->line && !strcmp(found->all.at[i].file, diag->file))
            return true;
    return false;
}

/* A kernel that is refused is not run: what else would stop it is told in the same turn. */
static void find_further(struct inspection *own, const struct nki_tree *tree) {
    const struct device_generation *generation = device_generation_find(own->device);
    struct diag_list found = {0};
    size_t count = own->diags.all.len;
    if (generation)
        nki_program_free(specialise(own, tree, generation, &found));
    for (size_t i = 0; i < found.all.len; i++)
        if (found.all.at[i].severity == DIAG_ERROR &&
            !has_line(&own->diags, count, &found.all.at[i]))
            diag_copy(&own->diags, &found.all.at[i]);
    nki_sort_findings(&own->diags, 0);
    diag_free(&found);
}

static void work(void *data) {
    struct inspection *own = data;
    struct diag_list ignored = {0};
    struct nki_tree *original = nki_parse(own->path, str_of(own->original), &ignored);
    /* The list holds even when the seed kernel does not parse: code that the parser does not take
     * cannot be looked at, so it is not run. */
    struct nki_tree *tree = nki_parse(own->path, str_of(own->source), &own->diags);
    struct nki_candidate_options options = {
        .original = original,
        .allows_original = own->allows_original,
        .any_dialect = own->any_dialect,
        .release = own->release,
        .generation = own->device ? nki_generation_find(own->device) : 0,
        .looks_for_types = own->precision == NKI_PRECISION_KEEP && !own->values,
        .path = own->path,
        .reference = own->reference};
    nki_lint_candidate(tree, &options, &own->diags);
    if (own->values && !own->diags.errors && !original->errors)
        check_program(own, tree, original);
    else if (own->values && own->is_here && !tree->errors)
        find_further(own, tree);
    nki_tree_free(original);
    nki_tree_free(tree);
    diag_free(&ignored);
}

/* ---- what comes of it ----------------------------------------------------------------------- */

static const char *help_of(const char *code) {
    size_t count = 0;
    const struct nki_lint_rule *rules = nki_lint_rules(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rules[i].code, code))
            return rules[i].help;
    return NULL;
}

static void tell(const struct tune_work *work, int attempt, const struct diag_list *diags,
                 struct buf *why) {
    size_t told = 0;
    for (size_t i = 0; i < diags->all.len && told < MAX_FINDINGS; i++) {
        struct diag diag = diags->all.at[i];
        const char *help = help_of(diag.code);
        struct buf text = {0};
        bool asks = str_ends(str_of(diag.message), "?");
        buf_printf(&text, "%s%s%s", diag.message, !help ? "" : asks ? " " : ". ", help ? help : "");
        if (diag.severity == DIAG_ERROR && !why->len)
            buf_printf(why, "refused before it was run: line %d: %s", diag.line, diag.message);
        diag.message = text.at;
        tune_diagnostic_emit(work, attempt, &diag, 0);
        buf_free(&text);
        told++;
    }
}

/* An attempt counts as what its session allows, until its program shows that it is more exact. */
static bool tell_class(struct tune_session *session, const struct inspection *own) {
    int lane = own->base.work.lane, id = tune_lane_attempt(session->state, lane);
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    return !own->is_known || !attempt || attempt->precision == own->is ||
           tune_emit(session, lane,
                     TUNE_EVENT(PRECISION, precision, .attempt = id, .precision = own->is));
}

/* At the place where the kernel begins: what launches it may be anywhere. */
static void judge_cores(const struct tune_session *session, struct inspection *own) {
    struct buf why = {0};
    struct diag_list ignored = {0};
    if (tune_cores_exceed(session->state, own->cores, &why)) {
        struct nki_tree *tree = nki_parse(own->path, str_of(own->source), &ignored);
        const struct nki_node *kernel = nki_find_kernel(tree, own->function, &(struct err){0});
        diag_add(&own->diags, DIAG_ERROR, "hone-candidate-cores", own->path,
                 kernel ? nki_place_of(tree, kernel->start).line : 1, 1, "%s", why.at);
        nki_tree_free(tree);
    }
    diag_free(&ignored);
    buf_free(&why);
}

static void settle(struct tune_session *session, struct inspection *own) {
    struct buf why = {0};
    judge_cores(session, own);
    if (own->facts && !session->original) {
        session->original = own->facts;
        own->facts = NULL;
    }
    int lane = own->base.work.lane;
    tell(&own->base.work, tune_lane_attempt(session->state, lane), &own->diags, &why);
    if (session->halted || (!why.len && !tell_class(session, own)))
        ;
    else if (why.len)
        tune_verify_refuse(session, lane, why.at);
    else
        tune_verify_go_on(session, lane);
    buf_free(&why);
}

static void inspection_free(struct inspection *own) {
    free(own->facts);
    task_inputs_free(own->values);
    diag_free(&own->diags);
    arena_free(own->arena);
    free(own);
}

static void unlist(struct inspection *own) {
    struct tune_inspection **place = &own->base.work.session->inspections;
    while (*place && *place != &own->base)
        place = &(*place)->next;
    if (*place)
        *place = own->base.next;
}

static void done(void *data) {
    struct inspection *own = data;
    struct tune_session *session = own->base.work.session;
    /* At the same time there may be two programs and the image of one of them. */
    runner_turn_end(own->turn, own->bytes * 3);
    if (session) {
        unlist(own);
        settle(session, own);
    }
    inspection_free(own);
    if (session)
        tune_advance(session);
}

/* ---- starting it ---------------------------------------------------------------------------- */

static const char *keep(struct inspection *own, const char *text) {
    return text ? arena_strdup(own->arena, text) : NULL;
}

static void inputs_find(struct inspection *own, const struct tune_state *state) {
    if (tune_reference_file(state))
        own->values = task_shapes_copy(tune_look_shapes(own->base.work.session));
    if (!own->values)
        return;
    own->inputs = runner_inputs_of(own->arena, own->values, &own->n_inputs);
}

static void cancel(struct tune_inspection *inspection) {
    struct inspection *own = (struct inspection *)inspection;
    unlist(own);
    inspection->work.session = NULL;
    own->cancelled = 1;
    if (own->works)
        return;
    runner_turn_end(own->turn, 0);
    inspection_free(own);
}

/* A kernel that was written anew from the reference, or by a person, may be in another dialect than
 * the first one, and so may what is made of it. */
static bool takes_any_dialect(const struct tune_state *state, const struct tune_attempt *attempt) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    if (attempt->plan.strategy && strcmp(attempt->plan.strategy, "anew") == 0)
        return true;
    if (attempt->author && strcmp(attempt->author, "you") == 0)
        return true;
    const char *first = tune_memory_dialect(state->kernel_source);
    const char *now = parent ? tune_memory_dialect(tune_source(state, parent)) : NULL;
    return first && now && strcmp(first, now) != 0;
}

static enum nki_precision precision_of(const struct tune_state *state) {
    const char *word = state->precision ? state->precision : "keep";
    return !strcmp(word, "any")     ? NKI_PRECISION_ANY
           : !strcmp(word, "split") ? NKI_PRECISION_SPLIT
                                    : NKI_PRECISION_KEEP;
}

static struct inspection *inspection_new(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_attempt_in(state, lane);
    struct inspection *own = mem_alloc(1, sizeof *own);
    own->base.work = tune_work_of(session, lane, TUNE_STEP_VERIFY);
    own->base.cancel = cancel;
    own->arena = arena_new();
    own->path = keep(own, tune_kernel_file(state) ? tune_kernel_file(state) : "kernel.py");
    own->reference = keep(own, tune_reference_file(state));
    own->function = keep(own, state->function);
    own->source = keep(own, tune_source(state, attempt));
    own->original = keep(own, tune_source(state, &state->attempts.at[0]));
    own->device = keep(own, device_name(state->device));
    own->lnc = state->lnc;
    own->is_here = !state->target || strcmp(state->target, "sim") == 0;
    own->release = keep(own, tune_release(state));
    own->allows_original = state->allows_seed;
    own->any_dialect = takes_any_dialect(state, attempt);
    own->precision = precision_of(state);
    if (session->original)
        own->facts = mem_dup(session->original, sizeof *own->facts);
    inputs_find(own, state);
    return own;
}

/* ---- the kernel it all begins with ---------------------------------------------------------- */

#define MAX_TOLD 6
#define MAX_LINES 4

static bool same_text(const struct diag_list *found, size_t i, size_t k) {
    return !strcmp(found->all.at[i].message, found->all.at[k].message);
}

static bool is_first(const struct diag_list *found, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (same_text(found, k, i))
            return false;
    return true;
}

/* "lines 3, 7: a candidate may not import 'os'": one thing that it uses, and where. */
static void tell_one(struct tune_session *session, const struct diag_list *found, size_t i) {
    struct buf lines = {0};
    size_t count = 0;
    for (size_t k = i; k < found->all.len; k++)
        if (same_text(found, i, k) && count++ < MAX_LINES)
            buf_printf(&lines, "%s%d", count > 1 ? ", " : "", found->all.at[k].line);
    struct buf text = {0};
    buf_printf(&text, "  line%s %s%s: %s", count > 1 ? "s" : "", lines.at,
               count > MAX_LINES ? " and more" : "", found->all.at[i].message);
    tune_emit(session, TUNE_ALL_LANES,
              TUNE_EVENT(LOG, log, .attempt = -1, .level = TUNE_LEVEL_WARNING, .phase = "guard",
                         .text = text.at, .line = found->all.at[i].line));
    buf_free(&text);
    buf_free(&lines);
}

/* A line for each thing, with a sentence before and one after them. */
static void tell_beyond(struct tune_session *session, const struct diag_list *found) {
    size_t things = 0;
    tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "guard",
                  "the first kernel itself uses what candidates may not:");
    for (size_t i = 0; i < found->all.len; i++)
        if (is_first(found, i) && things++ < MAX_TOLD)
            tell_one(session, found, i);
    if (things > MAX_TOLD)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "guard", "  and %zu more",
                      things - MAX_TOLD);
    tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "guard", "%s",
                  session->state->allows_seed ? "Candidates may use that, too."
                                              : "Unchanged code may keep it; new code only if you "
                                                "allow it (:allow, or seed_names = yes).");
}

/* With the session's own copies no disk is asked that may be away. */
static void own_lint(const struct tune_state *state, struct diag_list *found) {
    struct diag_list ignored = {0};
    const char *path = tune_kernel_file(state) ? tune_kernel_file(state) : "kernel.py";
    struct nki_tree *tree = nki_parse(path, str_of(state->kernel_source), &ignored);
    struct nki_candidate_options options = {
        .release = tune_release(state), .path = path, .reference = tune_reference_file(state)};
    nki_lint_beyond(tree, &options, found);
    nki_tree_free(tree);
    diag_free(&ignored);
}

void tune_beyond_tell(struct tune_session *session) {
    const struct diag_list *looked = tune_look_beyond(session);
    struct diag_list own = {0};
    if (!looked)
        own_lint(session->state, &own);
    const struct diag_list *found = looked ? looked : &own;
    if (found->all.len)
        tell_beyond(session, found);
    diag_free(&own);
}

static void on_turn(void *data) {
    struct inspection *own = data;
    own->works = true;
    loop_job_start_owned(own->base.work.session->loop, work, done, own);
}

static void on_wait(void *data, const char *why, bool first) {
    struct inspection *own = data;
    if (first && !tune_emit_log(own->base.work.session, own->base.work.lane, TUNE_LEVEL_INFO,
                                "machine", "%s", why))
        return;
    tune_step_progress(&own->base.work, why, (double)NAN, (double)NAN);
}

static struct runner_turn *turn_of(struct inspection *own) {
    char occasion[16];
    struct tune_session *session = own->base.work.session;
    snprintf(occasion, sizeof occasion, "%d",
             tune_lane_attempt(session->state, own->base.work.lane));
    struct runner_job job = {.kernel_path = own->path,
                             .reference_path = own->reference,
                             .device = own->device,
                             .occasion = occasion,
                             .check_only = true,
                             .no_time = true,
                             .no_verify = true,
                             .memory_limit = MAX_BYTES * 3};
    if (session->config)
        runner_limits(&job, session->config);
    struct runner_turn_callbacks callbacks = {on_turn, on_wait, own};
    return runner_turn_wait(session->loop, &job, &callbacks);
}

void tune_inspect(struct tune_session *session, int lane) {
    struct inspection *own = inspection_new(session, lane);
    own->base.next = session->inspections;
    session->inspections = &own->base;
    if (own->values)
        own->turn = turn_of(own);
    else /* looking only at sources takes milliseconds, once the disk has answered */
        on_turn(own);
}
