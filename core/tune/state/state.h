/* SPDX-License-Identifier: Apache-2.0 */
/* Everything a screen shows: a pure function of the event log. Texts belong to the state and stay
 * valid until it is freed; lists move when an event arrives, so nobody keeps pointers into them
 * across a turn of the event loop. A text that is not known is NULL, a number that is not known is
 * NAN (times: 0). Text that came from outside is stored as it came: whoever shows it makes control
 * characters visible. */
#ifndef HONE_TUNE_STATE_H
#define HONE_TUNE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "target/target.h"
#include "tune/events/events.h"

struct tune_step_view {
    enum tune_step_is is;
    enum tune_gate gate;          /* stands after the step */
    int64_t started_ms, ended_ms; /* wall clock; ended 0 while it runs */
    const char *doing;            /* "seed 21", "pass walrus_driver"; NULL */
    double done, total;           /* progress; NAN where the amount is not known */
    const char *summary;          /* one line: what it produced or why it failed */
    const char *artefact;         /* content hash in artifacts/; NULL */
};

/* One run of changed lines. Line numbers begin at 1; a count of 0 means an insertion or a
 * deletion. */
struct tune_hunk {
    int old_line, old_count, new_line, new_count;
    bool left;       /* the person leaves this one out */
    const char *why; /* and the reason that was given; NULL */
};

struct tune_candidate {
    bool exists;
    int attempt;          /* the attempt it is, or will become */
    int parent;           /* attempt id */
    int64_t left_seq;     /* the event that its texts are left in while the log is read; 0 */
    const char *proposed; /* as it was proposed or edited */
    const char *source;   /* with the hunks that were left out put back */
    const char *author;
    int repair; /* 0; 1 to 3 for repair turns */
    bool edited;
    VEC(struct tune_hunk) hunks; /* from the parent's source to `proposed` */
};

/* One direction of a round. A round begins with one; a beam search or a sweep opens it into many,
 * which all do the same step before the next one begins. */
struct tune_lane {
    int parent;       /* attempt it starts from; -1: the incumbent, whichever that is */
    int draw, sample; /* which plan of the parent, which rewrite of the plan; from 0 */
    int plan;         /* index into plans, -1 */
    int attempt;      /* id; -1 until it is verified */
    struct tune_candidate candidate;
    enum tune_step step; /* it does or did last; PROFILE: nothing yet */
    enum tune_step_is is;
    enum tune_step next;         /* what it does now or next */
    const char *doing, *summary; /* of that step; NULL */
    double done, total;          /* progress; NAN */
    int64_t started_ms;          /* of that step; 0 while it waits */
    const char *closed;          /* why it is not followed any further; NULL */
    bool dropped; /* closed by a person, or for want of a plan: nothing more is shown of it */
};

/* A plan that was proposed, kept when the round is over. */
struct tune_stocked {
    struct tune_plan plan;
    int parent;       /* the attempt that it was proposed for */
    int round, again; /* when it was proposed first, and last */
    bool tried;       /* an attempt carried it out */
};

/* A kernel that an agent handed in with its plan, or a plan alone. What became of it:
 * tune_submission_look. */
struct tune_submission {
    struct tune_plan plan; /* its key is "submission:" and its number, from 1 */
    const char *source;    /* NULL: the proposer carries the plan out */
    int64_t wall_ms;
};

/* How a round goes. Every round consists of lanes, one or many; these are the differences between
 * rounds. */
struct tune_way {
    bool opens;    /* it may still be opened into lanes */
    bool numbered; /* its lanes have numbers, and events, records and people name them by these */
    /* a step tells how many lanes are through; else it tells what its only lane does */
    bool counts;
    /* offers are divided among the lanes once all have answered; else the first is taken at once,
     * and a person may choose another */
    bool divides;
    /* what is kept becomes the incumbent; else it lives on in a beam with others, once all are
     * decided */
    bool keeps_at_once;
    /* what came to nothing is proposed anew, and the search ends when nothing is left to propose;
     * else the lane is closed and the others go on */
    bool tries_again;
    /* a new kernel joins the others: a person's own gets a lane, and what another lane brought
     * before is not tried again; else it takes their place */
    bool joins;
};

struct tune_verdict {
    enum tune_answer compiles, correct, credible, faster;
    const char *compiles_why, *correct_why, *credible_why, *faster_why;
};

struct tune_seed {
    int64_t seed;
    double rel_l2, max_abs;
    enum tune_answer passed;
};

/* What the compiler that comes with an SDK predicts without a device (predicted.c). */
struct tune_utilisation {
    const char *engine;
    double percent;
};
struct tune_prediction {
    double us;             /* 0: there is none */
    const char *by;        /* "nki 0.6.0" */
    const char *optimised; /* "on", "off": the back end's optimisations; NULL: not known */
    const struct tune_utilisation *engines;
    size_t engine_count;
    double macs, hbm_bytes; /* NAN: not told */
};

/* Who says that a candidate is not worth measuring. */
enum tune_prune_by { TUNE_PRUNE_MODEL, TUNE_PRUNE_COMPILER, TUNE_PRUNE_BOTH };
/* Whether plan and kernel are asked for in one question: where that goes well, always, never. */
enum tune_asks { TUNE_ASKS_AUTO, TUNE_ASKS_ONCE, TUNE_ASKS_TWICE };

struct tune_diagnostic {
    int attempt;
    enum diag_severity severity;
    const char *code, *file, *message;
    const char *cause; /* "user", "internal", "crash", "trace", "memory", "run" */
    int line, column;
};

/* The metrics of a profile, in the order they were told: tune_metric_at. Attempts whose profiles
 * have the same ones share the names. In the state's arena. */
struct tune_metrics {
    const struct tune_metric_name { const char *name, *unit; } * names;
    double *values;
    size_t len;
};

struct tune_attempt {
    int id, parent, round; /* 0 is the seed kernel, its parent is -1 */
    int64_t started_ms, ended_ms;
    const char *source_kept; /* NULL: it is left in the log; tune_source has it in either case */
    int64_t source_seq;      /* the event that has it */
    const char *causes_kept; /* why it takes that long, by the device model; as source_kept, .. */
    int64_t causes_seq;      /* .. and 0: nobody said it */
    const char *author;
    const char *path; /* checkpoint, relative to the session folder */
    char hash[33];
    char normal[33];       /* of the source but for its looks; "": see tune_normal_next */
    struct tune_plan plan; /* empty for the seed */
    struct tune_verdict verdict;
    enum tune_status status;
    enum tune_precision precision; /* how exact it computes; the seed kernel: as it does */
    int64_t decided_seq;           /* the event that decided it last; 0: none did */
    const char *reason;            /* of the status */
    bool modelled;                 /* times come from the device model: the same each time */
    bool floor_modelled;           /* it was measured, but its floor is the model's */
    bool profile_modelled;         /* the same for metrics, lines, bounds and timeline */
    int repairs;
    const char *turns; /* what its repair turns changed, and what they had to repair; NULL */
    int left_out;      /* hunks of its proposal that a person left out, .. */
    int hunks;         /* .. of so many; both 0: all of the plan was tried */
    int lnc;           /* physical cores it was measured on; 0: not told */
    const char *wall;  /* behind which it and its reference ran; NULL: not told */
    double latency_us, floor_us;
    double floor_split_us, floor_any_us; /* in other precisions; see device_profile */
    double low_us, high_us; /* of a modelled latency: where hardware lay for most such kernels */
    double modelled_us;     /* of a measured one: what the device model says; NAN */
    struct tune_prediction prediction;
    double speedup, vs_parent;   /* against the seed; against the parent */
    struct {                     /* of pairs of samples, as the last verdict has it; NAN: none */
        double ratio, low, high; /* times faster than the parent, its 95 % interval */
        double seen;             /* the smallest difference that would have been seen, a share */
    } interval;
    bool confirmed; /* faster in a second evaluation, too, in a process of its own */
    bool outdated;  /* measured with other files of the task than those that count now */
    int64_t instructions;
    const char *bound_by;
    const char *timeline;       /* hash of the profile's artefact; NULL */
    VEC(double) samples;        /* µs */
    VEC(double) parent_samples; /* of the incumbent, interleaved with the above */
    VEC(struct tune_seed) seeds;
    struct tune_metrics metrics;
    VEC(struct tune_line_cost) lines_kept; /* tune_lines has them, also where they are .. */
    int64_t lines_seq;                     /* .. left in this event of the log; 0: they are not */
    VEC(struct tune_bound) bounds;
    VEC(int) notes; /* indices into state.notes */
    int evaluated;  /* evaluations at a measured place that ended or were given up */
    int occasion;   /* the last one begun; */
    int64_t heard;  /* events of it that are in the log */
};

struct tune_log {
    int64_t wall_ms;
    enum tune_level level;
    const char *phase; /* "compile", "verify"; never NULL */
    const char *text;
    int line;       /* of the kernel; 0 when it refers to none */
    int attempt;    /* -1 when it belongs to none */
    int lane;       /* -1: of a round without lanes, or of all of them */
    int diagnostic; /* index into state.diagnostics, or -1 */
    int64_t turn;   /* the attempt's source_seq then: another turn has another one */
};

/* An experience went out to the planner of a round, in the calls from `call` on. */
struct tune_entry {
    int experience, round, call;
};

struct tune_rejection {
    int round, attempt; /* attempt -1: a plan that never became one */
    int lane;           /* -1: of a round without lanes */
    enum tune_step step;
    const char *title, *key, *reason;
    bool by_loop;     /* the proposer could not do it; else a person said no */
    const char *hunk; /* the lines, when a candidate was taken without them; NULL */
};

/* What a person changed about a part of a role's prompt. */
struct tune_part_change {
    enum tune_role role;
    const char *part; /* its heading */
    const char *text; /* for the next call, instead of the template's; NULL: as it is */
    bool off;         /* does not go out until it is switched on again */
};

/* One question to a language model. Prompt and answer are artefacts, by content hash. */
struct tune_call {
    const char *role, *model;    /* "planner"; as the user names it */
    const char *prompt, *answer; /* hashes; answer NULL while it runs, and when none came */
    const char *failure;         /* why none came; NULL */
    int round, attempt;          /* attempt: the candidate it is about, -1 */
    int lane;                    /* -1: of a round without lanes */
    int64_t asked_ms, ended_ms;  /* wall clock; ended 0 while it runs */
    double estimate;             /* tokens of the prompt, before anybody counted */
    double input, output, cache_read, cache_write; /* tokens as reported; NAN */
    double dollars, first_s, elapsed_s;            /* NAN: not reported */
    double hold_tokens, hold_dollars;   /* the most it may come to, set when it was asked; NAN */
    double guess_answer, guess_dollars; /* tokens of its text, where nobody counted; NAN */
    int tries;
    bool waits;         /* for a person's answer */
    bool held;          /* for a person who looks at it before it goes out */
    bool once;          /* asks for a plan and its kernel at once */
    int mends;          /* the call whose answer could not be used, -1 */
    int repeats;        /* the call that came to nothing, whose question this is again; -1 */
    const char *failed; /* how it failed: model_failed_word; NULL */
    bool lost;          /* the answer was cut or declined, and is not sent back to be mended */
    const char *unread, *said; /* why the answer could not be used; what of it goes back; NULL */
    /* texts that went out with it instead of the template's */
    const struct tune_part_change *edits;
    size_t n_edits;
    struct buf live; /* what has come so far, while it runs; not from the log */
};

/* A model whose service was out of order when it was asked last. */
struct tune_outage {
    const char *model;
    const char *kind, *text;   /* model_failed_word; the last failure in words */
    int64_t since_ms, last_ms; /* wall clock: of the first and the last failure in a row */
    int64_t next_ms;           /* until then it is not asked where there is another model */
    int tries;                 /* that failed in a row */
};
/* A question that waits because no model of its role can be asked. */
struct tune_waiting {
    const char *role, *model, *text; /* the model that is tried next */
    enum tune_step step;
    int64_t since_ms, next_ms; /* wall clock; since 0: nothing waits; next 0: it is tried now */
};

/* A model that answers for a role. */
struct tune_role_model {
    const char *name, *asked;         /* as the user names it; "anthropic, claude-sonnet-4-5" */
    const char *origin;               /* where it was named */
    double price_input, price_output; /* dollars a million tokens; NAN unknown */
    double price_cache_read, price_cache_write;
    double price_up_to; /* tokens of a prompt these prices are for; 0: any */
    double most;        /* tokens that a prompt may have; 0: any number */
    bool person;        /* a person answers, which costs neither */
};
struct tune_role_view {
    const struct tune_role_model *models;
    size_t count; /* 0: no model is asked for this role */
    /* of several models, the one that gained the most for its cost is next; else they take turns */
    bool by_gain;
};

struct tune_budget_view {
    double limit; /* NAN: none */
    double spent; /* NAN: not reported */
};

/* The place where kernels are evaluated, as it is now, in target's words (target/target.h). */
struct tune_place_view {
    const struct target_info *info;
    const struct target_status *status;
    const struct target_question *asks; /* waits for tune_session_answer; NULL: nothing */
};

/* Where a value of the session came from: "--target", "~/.config/hone/config.ini:3", "default". */
struct tune_origin {
    const char *name, *text; /* name: "target", "gate", as on the command line */
};

/* A file of the task, and one that differs on disk (the events "closure" and "changed"). */
struct tune_task_file {
    const char *name, *hash; /* below the task's folder; in artifacts/ */
    const char *of;          /* "kernel", "reference imports", as in the event */
    int64_t left_bytes;      /* of a file too large to be kept: only its hash is; 0 */
};
struct tune_file_change {
    const char *name, *was, *now, *diff; /* hashes; was NULL: new, now NULL: gone */
};

#define TUNE_LOG_MAX 20000 /* older lines leave the state; the log file keeps them */

struct tune_private;

enum tune_by_hand {
    TUNE_BY_HAND_TOLERANCE = 1,
    TUNE_BY_HAND_PRECISION = 2,
    TUNE_BY_HAND_BUDGET = 4, /* of the first budget; the next ones follow */
    TUNE_BY_HAND_GATE = TUNE_BY_HAND_BUDGET << TUNE_BUDGETS, /* of the first step, likewise */
    TUNE_BY_HAND_GATES = TUNE_BY_HAND_GATE * ((1 << TUNE_STEPS) - 1), /* of all steps */
    TUNE_BY_RUN = TUNE_BY_HAND_GATE << TUNE_STEPS, /* a run goes on, whatever it sets */
};

struct tune_state {
    /* what is tuned, where */
    const char *id; /* of the session: 32 digits */
    const char *task, *kernel_path, *reference_path, *function, *kernel_source;
    const char *reference_source;         /* for prompts; NULL */
    VEC(struct tune_task_file) files;     /* that the task is made of; empty: not known */
    VEC(struct tune_file_change) changed; /* that differ on disk; a person says which ones count */
    bool keeps_files;                     /* the session's own count, whatever is on disk */
    const char *python, *numpy;           /* versions that made the inputs; NULL: not told */
    const char *sizes;                    /* "x float32 (4096, 4096)"; NULL: not told */
    const char *model; /* JSON: the kernel is timed inside a model; NULL: on its own */
    const char *precision, *target, *device, *proposer, *search;
    const char *nki;     /* release of NKI on the target, "0.3.0"; NULL: not known, or sim */
    const char *release; /* that kernels are for, "0.6", where it was said; else NULL: see
                          * tune_release */
    const char *tracing; /* who evaluates kernels for the device model, "python3"; NULL: hone */
    bool is_pessimistic; /* the model's fitted and guessed constants at their unfavourable end */
    int lnc;             /* physical cores of the model's launches; 0: as the kernel's file does */
    bool allows_seed;    /* candidates may also use what the seed kernel uses beyond the list */
    double offer_us[TUNE_PRECISIONS]; /* a kernel written anew, by the device model; NAN: unknown */
    double tolerance;
    double menu_keep; /* share of the strategies that a planner is shown */
    VEC(int64_t) seeds;
    VEC(struct tune_origin) origins;
    unsigned by_hand; /* bits of enum tune_by_hand: changed within this session */
    unsigned by_run;  /* likewise: set for a run that goes on, not for the session */

    /* where the loop stands */
    bool running;                /* goes on by itself as far as the gates let it */
    bool finished;               /* stopped by itself: see wait_text */
    bool stopped_by_environment; /* the target, python or the disk failed, not the kernel */
    int round, rounds;
    enum tune_step step; /* current one */
    struct tune_step_view steps[TUNE_STEPS];
    enum tune_wait wait;
    enum tune_step wait_step;
    const char *wait_text; /* a sentence: what it waits for or why it stopped */
    VEC(struct tune_plan) plans;
    VEC(struct tune_stocked) stock; /* every plan of all rounds, once: see tune_stock_list */
    int incumbent, best;            /* attempt ids; -1 before the baseline is measured */
    VEC(struct tune_lane) lanes;    /* of the round; at least one */
    const struct tune_way *way;     /* how it goes; never NULL */
    int64_t lanes_seq;       /* of the event that they came with: other lanes, another number */
    VEC(int) beam;           /* attempts the next round of a beam search starts from */
    struct tune_width width; /* of a beam search */
    int plateau;             /* rounds in a row without a gain */
    int disturbed;           /* evaluations that ended through no fault of their kernel */

    /* what happened */
    VEC(struct tune_attempt) attempts; /* index = id */
    VEC(struct tune_log) logs;
    int64_t logs_gone; /* older lines that left the list */
    VEC(struct tune_diagnostic) diagnostics;
    VEC(struct tune_note) notes;
    VEC(struct tune_experience) memory;
    VEC(struct tune_entry) entries; /* of the memory into prompts */
    VEC(struct tune_import) imports;
    VEC(struct tune_rejection) rejections;
    VEC(struct tune_submission) submissions; /* in the order in which they came */
    VEC(struct tune_call) calls;
    VEC(struct tune_outage) outages;    /* of models that have not answered since */
    struct tune_waiting waiting;        /* see tune_state_waits */
    VEC(struct tune_part_change) parts; /* of prompts, that are off or edited */
    bool holds;                         /* questions to models wait until a person sends them */
    struct tune_budget_view budgets[TUNE_BUDGETS];
    int64_t started_ms;
    int64_t seq; /* of the last event applied */

    /* undo */
    int undo_count, redo_count;
    const char *undo_what, *redo_what; /* "approve plan"; NULL */

    /* about this process, not from the log */
    const char *kernel_file, *reference_file; /* where they are read now; NULL: as their paths */
    bool opening;  /* the log is still being read: nothing here is as it will be */
    double opened; /* so much of it, from 0 to 1 */
    bool read_only;
    const char *why_read_only;           /* "it is held by ...", "... cannot be written"; NULL */
    bool is_lost;                        /* its files are gone: what is known is only in memory */
    const char *held_by;                 /* "process 4711 on host", when read-only */
    bool holder_left;                    /* nobody holds it now: it can be taken over */
    const struct tune_place_view *place; /* NULL: none was opened (a read-only session) */
    const struct tune_role_view *roles;  /* by enum tune_role; NULL: no models are asked */
    int questions;                       /* to models at once, at most */
    double prune; /* times its parent's modelled time; slower is not measured. NAN */
    const char *questions_from, *prune_from; /* where that was set */
    enum tune_prune_by prune_by;
    enum tune_asks asks;    /* plan and kernel in one question or in two */
    bool keeps_inside;      /* keeps what the model calls faster by less than the model's error */
    const char *nki_python; /* here, for predictions; NULL: not to be asked */
    const char *streaming;  /* what a model has answered so far; NULL */
    const char *trouble;    /* the disk is full, the target does not answer; NULL */
    const char *looks_at;   /* files that a disk does not show yet, in words; NULL */

    struct arena *arena;      /* private */
    struct tune_private *own; /* private */
};

/* Whether a name of the task's files stays below the folder that it is put in: "common/tiles.py"
 * does, "../x" and "/x" do not. A log may come from anywhere. */
bool tune_file_name_is_safe(const char *name);
/* Its text as the session keeps it, a new string; NULL where it is not kept. Nothing of the task's
 * own folder is read: its disk may not answer. */
char *tune_task_file_text(const struct tune_state *state,
                          const struct tune_task_file *file) CC_MUST_USE;
/* The files that kernel and reference are read from; the latter is NULL when there is none. */
const char *tune_kernel_file(const struct tune_state *state);
const char *tune_reference_file(const struct tune_state *state);
/* The release of the package nki that kernels are for: what was said, else that of the target;
 * NULL: the newest. */
const char *tune_release(const struct tune_state *state);
/* What the session allows: its precision. Attempts of other classes stay, and do not count. */
enum tune_precision tune_precision_allowed(const struct tune_state *state);
/* Physical cores that a kernel of the session may launch on: what the person said (--lnc), else
 * what the first kernel was measured on. A faster kernel on more of them is no gain that anybody
 * asked for. 0: not known, the first kernel has not been measured. */
int tune_cores_allowed(const struct tune_state *state);
/* Says in *why that a launch on so many is more than that; false: it is not. 0 cores are one. */
bool tune_cores_exceed(const struct tune_state *state, int cores, struct buf *why);
/* The fastest attempt of exactly that class that was kept and is not outdated; -1: there is none.
 */
int tune_best_in(const struct tune_state *state, enum tune_precision precision);
/* The floor of its class, in µs; where only one floor is known, that. */
double tune_floor_in(const struct tune_attempt *attempt, enum tune_precision precision);
/* Attempt by id; NULL when there is none. */
const struct tune_attempt *tune_state_attempt(const struct tune_state *state, int id);
/* Where the value of that name came from: its origin, or, when `bit` is among by_hand, "changed in
 * this session"; NULL when it was not written down (a session of an older version). */
const char *tune_state_origin(const struct tune_state *state, const char *name, unsigned bit);
/* The source of an attempt. One that is left in the log is read from there and kept. "" when it
 * cannot be read; NULL for no attempt. Copy: a new string, and nothing is kept, for those who go
 * through all attempts. */
const char *tune_source(const struct tune_state *state, const struct tune_attempt *attempt);
char *tune_source_copy(const struct tune_state *state,
                       const struct tune_attempt *attempt) CC_MUST_USE;
/* A kernel that was written from that attempt, with the line ends that the attempt has, where it
 * has one kind: an editor's or a model's are no change. A new string. */
char *tune_source_ended(const struct tune_state *state, int parent, const char *source) CC_MUST_USE;
/* Why it takes that long, by the device model: some lines of text, read as the source is. NULL:
 * nobody said it. */
const char *tune_causes(const struct tune_state *state, const struct tune_attempt *attempt);
/* What each line of an attempt costs, by line, read as the source is; valid until it is
 * measured again. */
struct tune_lines tune_lines(const struct tune_state *state, const struct tune_attempt *attempt);
/* Its metric at that place of its list, from 0. */
struct tune_metric tune_metric_at(const struct tune_attempt *attempt, size_t place);
/* What follows its latency in a sentence: " (modelled)", " (two cores)", both, or nothing. */
const char *tune_attempt_how(const struct tune_attempt *attempt);
/* The metric of an attempt by Neuron's name ("latency" is in µs); NAN when not known. */
double tune_attempt_metric(const struct tune_attempt *attempt, const char *name);
/* The attempts whose sources are the same but for looks (nki_source_hash), one at a time: *at is 0
 * before the first call. -1: there are no more. */
int tune_normal_next(const struct tune_state *state, const char *normal, size_t *at);
/* The diagnostics of an attempt, in the order they came, one at a time: *at is 0 before the first
 * call. NULL: there are no more. */
const struct tune_diagnostic *tune_diagnostic_next(const struct tune_state *state, int attempt,
                                                   size_t *at);
/* A lane by number; where there is none an empty one, in which nothing is planned and nothing made.
 * Valid until the next event. */
const struct tune_lane *tune_lane_of(const struct tune_state *state, int lane);
/* The first lane that is followed still; 0 when all are closed. */
int tune_lane_first(const struct tune_state *state);
/* The attempt that the proposals of a lane start from: its own parent, else the incumbent; -1. */
int tune_lane_parent(const struct tune_state *state, int lane);
/* The step that a lane does next or does now; TUNE_STEPS: it is done, or closed. */
enum tune_step tune_lane_next(const struct tune_state *state, int lane);
/* The attempt of a lane, as its id and itself; -1, NULL: none yet. */
int tune_lane_attempt(const struct tune_state *state, int lane);
const struct tune_attempt *tune_attempt_in(const struct tune_state *state, int lane);
/* Its plan, and its candidate; NULL: none yet, or no such lane. */
const struct tune_plan *tune_lane_plan(const struct tune_state *state, int lane);
/* The kernel that came with the lane's plan and is its next candidate; NULL: it has to be written.
 * It is not where a person changed the plan's text, or where an attempt at it has to be repaired.
 */
const char *tune_lane_kernel(const struct tune_state *state, int lane);
/* Whether two plans follow one direction: of one key, or under one title, whatever else they say:
 * proposers are told to take a direction up again under its title. */
bool tune_same_direction(const struct tune_plan *a, const struct tune_plan *b);
const struct tune_candidate *tune_lane_candidate(const struct tune_state *state, int lane);
/* The lane's number for records, which are read when the round is long over: -1 where the round
 * follows one direction. */
int tune_lane_tag(const struct tune_state *state, int lane);
/* How many lanes are followed still. */
int tune_lanes_open(const struct tune_state *state);
/* What the step that runs waits for: a model whose service is out of order; NULL: for nothing of
 * that kind. */
const struct tune_waiting *tune_state_waits(const struct tune_state *state);

/* The role whose question comes next in a lane, as the loop stands. */
enum tune_role tune_role_next(const struct tune_state *state, int lane);

#include "tune/events/events.h"
#include "tune/state/aim.h"
#include "tune/state/hunks.h"
#include "tune/state/json.h"

#endif
