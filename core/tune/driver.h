/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a session share: the work under way and the steps. Private to tune. */
#ifndef HONE_TUNE_DRIVER_H
#define HONE_TUNE_DRIVER_H

#include "store/store.h"
#include "tune/place.h"
#include "tune/private.h"

#define TUNE_PLATEAU 5 /* rounds in a row without a gain */
#define TUNE_MAX_PARENTS 64
#define TUNE_MIN_GAIN 0.002 /* a gain below this share of the latency is no reason to keep */
#define TUNE_POSITIVE 1.04  /* speedups that become experiences */
#define TUNE_NEGATIVE (1 / 1.15)
#define TUNE_MAX_REPLANS 8 /* plans in a round that the proposer could not carry out */

enum tune_work_is {
    TUNE_WORK_NONE,
    TUNE_WORK_PLAN,
    TUNE_WORK_REWRITE,
    TUNE_WORK_EVALUATE,
    TUNE_WORK_SUMMARISE,
    TUNE_WORK_REFLECT
};

/* Whom a piece of work is for. It is wanted as long as that step runs, in that lane. */
struct tune_work {
    struct tune_session *session;
    int lane; /* -1: the round has none */
    int round;
    enum tune_step step;
};

/* A request to the proposer that is under way. */
struct tune_reply {
    struct tune_work work;
    struct tune_reply *next; /* in session->replies */
    enum tune_work_is is;
    bool done; /* answered or given up; freed when nobody is inside it */
    struct tune_context *context;
    struct tune_plan plan; /* its texts live in the state */
    char author[80];       /* "": the proposer's name */
    bool learnt;           /* a lesson came, which waits for those of the lanes before it */
    struct arena *lesson_arena;
    struct tune_lesson *lesson; /* NULL: hone writes it */
};

/* An evaluation under way: what it is for, and what came so far. */
struct tune_evaluation {
    struct tune_work work;
    struct tune_evaluation *next; /* in session->evaluations */
    void *run;
    int attempt;
    uint64_t began_ns, left_ns;       /* left: when it was given up */
    bool given_up;                    /* what still comes is ignored */
    bool held;                        /* not begun: the device model is asked first; run is NULL */
    bool rest;                        /* the remaining seeds of a candidate that is faster; of a
                                       * benchmark: the second one, which confirms the first */
    int64_t count, known;             /* events of it so far; so many are in the log already */
    int64_t heard;                    /* number of the one that is told now; 0: none, or not the
                                       * runner's own */
    struct runner_result result;      /* of one that waits for the device model; run is NULL then */
    size_t seeds, lines, diagnostics; /* seeds asked for; log lines and diagnostics stored */
    char *folder;                     /* where the profile goes */
};

struct tune_session {
    struct loop *loop;
    struct store *store;
    struct tune_state *state;
    const struct config *config; /* that it was opened with; NULL: none */
    struct tune_place place;
    struct tune_place_view place_view;
    struct tune_proposer *proposer;
    int lane;      /* whose work is done right now, -1: no lane's; see tune_enter */
    int questions; /* requests to the proposer at once, at most */
    double prune;  /* times its parent's modelled time; slower is not measured */
    struct tune_reply *replies;
    int asking; /* calls of the proposer's functions that have not returned */
    struct tune_evaluation *evaluations;
    struct loop_timer *follow;   /* read-only: looks for new events */
    struct tune_ingest *ingests; /* profiles being put away */
    bool advancing, halted, closing;
    struct tune_inspection *inspections; /* of candidates, that are under way */
    struct nki_facts *original;          /* of the seed kernel's program; NULL: not known */
    struct tune_beside *beside;          /* the device model beside a measured place */
    struct tune_opinion *opinion;        /* the compiler's own prediction, asked apart */
    int failures;                        /* evaluations in a row that the target could not do */
    int jobs;                            /* numbers the profile folders */
    struct loop_timer *deadline;         /* gives up what runs before a limit is passed; */
    enum tune_budget deadline_of;        /* the limit */
    char *trouble, *task_path;
    char *model; /* state->model with the secrets, which are not in the log; NULL */
    void (*changed)(void *);
    void *changed_context;
    void (*on_event)(void *, int64_t, const char *, const char *);
    void *event_context;
};

/* Stores one event, applies it and tells who listens. Takes the payload. False when it could not be
 * stored: then nothing changed and the session is halted until the person starts it again. */
bool tune_emit(struct tune_session *session, const char *type, cJSON *payload);
bool tune_emit_log(struct tune_session *session, enum tune_level level, const char *phase,
                   const char *format, ...) CC_PRINTF(4, 5);
/* Goes on as far as it can without waiting for anything. */
void tune_advance(struct tune_session *session);
/* Gives up what is under way. */
void tune_work_cancel(struct tune_session *session);
/* Gives up what nobody wants any more: its step, or its lane, was left. */
void tune_work_sweep(struct tune_session *session);
/* Whether anything is under way, at all or in a lane. */
bool tune_works(const struct tune_session *session);
bool tune_works_in(const struct tune_session *session, int lane);
/* What is done until tune_leave is about that lane: the state shows it as the one candidate there
 * is, and events say so. Returns what tune_leave takes. -1 is a round without lanes. */
int tune_enter(struct tune_session *session, int lane);
void tune_leave(struct tune_session *session, int before);
struct tune_work tune_work_of(struct tune_session *session, enum tune_step step);

/* The end of the step that runs. */
void tune_step_done(struct tune_session *session, enum tune_step step, enum tune_step_is is,
                    const char *format, ...) CC_PRINTF(4, 5);
void tune_step_progress(struct tune_session *session, enum tune_step step, const char *doing,
                        double done, double total);
void tune_stop(struct tune_session *session, const char *format, ...) CC_PRINTF(2, 3);
/* The target, Python or the disk failed: stops for good, or pauses so that `start` tries again. */
void tune_give_up(struct tune_session *session, const char *type, const char *format, ...)
    CC_PRINTF(3, 4);

/* options.c: the values of a new session with their origins; what the command line changes of one
 * that exists. False with *err for a list of seeds that is none; the check comes before anything is
 * moved or made. */
bool tune_options_begin(cJSON *payload, const struct tune_options *options, struct err *err);
bool tune_options_change(cJSON *payload, const struct tune_state *state,
                         const struct tune_options *options, struct err *err);
bool tune_options_check(const struct tune_options *options, struct err *err);

/* budget.c: asked before a step and before a question. Where what is expected does not fit into a
 * limit the loop is stopped with the reason, and nothing is begun. */
bool tune_budget_stops(struct tune_session *session, const struct tune_expected *expected,
                       const char *what);
/* Says in the log what a round is expected to cost, where there is something to say. */
void tune_budget_tell(struct tune_session *session, const struct tune_expected *expected);
bool tune_budget_stops_step(struct tune_session *session, enum tune_step step);
/* The same without stopping anything: while other lanes are at work, one waits for what they
 * leave. */
bool tune_budget_waits(const struct tune_session *session, enum tune_step step);
/* False: the question must not go out. Then the loop was stopped and reply->done is set, or, for a
 * lesson, *err says why. Else asking->hold is filled, and *max_tokens made smaller where what is
 * left would not pay for a longer answer. */
bool tune_reply_affords(struct tune_reply *reply, struct tune_asking *asking, int *max_tokens,
                        struct err *err);
/* values->guess_...: what nobody counted, by the answer's text; NAN stays where somebody did. */
void tune_budget_guess(const struct tune_state *state, int call, struct str answer,
                       struct tune_call *values);
/* Sets the timer that gives up what runs before time, or the device model's, is over. Called
 * whenever work may have begun or ended. */
void tune_budget_watch(struct tune_session *session);

/* propose.c: the plan and the rewrite step. */
void tune_plan_start(struct tune_session *session);
void tune_rewrite_start(struct tune_session *session);
struct tune_reply *tune_request(struct tune_session *session, enum tune_work_is is,
                                enum tune_step step, struct tune_context *context);
void tune_request_end(struct tune_reply *reply);
void tune_replies_free(struct tune_session *session);

/* lanes.c: rounds that follow several directions at once. Whether the next thing to do is to open
 * them; one step forward; the end of a lane's part of a step, `again` names the step it does
 * then. */
bool tune_lanes_wanted(const struct tune_session *session);
void tune_lanes_begin(struct tune_session *session);
void tune_lanes_go_on(struct tune_session *session);
/* Whether another lane can begin its part of the step that runs, beside those that do. */
bool tune_lanes_can_start(const struct tune_session *session);
void tune_lane_done(struct tune_session *session, enum tune_step step, enum tune_step_is is,
                    const char *text);
/* How the step goes, of the candidate that is worked on; and which comes after it. */
bool tune_step_wanted(const struct tune_session *session, enum tune_step step,
                      const char **skipped);
void tune_step_run(struct tune_session *session, enum tune_step step);
enum tune_step tune_step_after(const struct tune_session *session, enum tune_step step,
                               enum tune_step_is is);

/* sweep_work.c: the plans that are left of a sweep, in place of asking for some; false: there are
 * none. Once one is chosen, each of them in a lane of its own. A value of a sweep as a candidate.
 * The table of a sweep that ended with this plan, in the log. */
bool tune_sweep_plan(struct tune_session *session);
bool tune_sweep_wants_lanes(const struct tune_session *session);
void tune_sweep_lanes_begin(struct tune_session *session);
void tune_sweep_rewrite(const struct tune_context *context, const struct tune_plan *plan,
                        struct tune_reply *reply);
void tune_sweep_tell(struct tune_session *session, const struct tune_plan *plan);

/* calls.c: what a proposer that asks language models tells of each question. A call is its number,
 * as in state->calls; -1 when it could not be written down, which the others accept. */
struct tune_question {
    enum tune_role role;
    const char *model;
    struct str prompt;                /* as it goes out, system first */
    double estimate;                  /* its tokens */
    double hold_tokens, hold_dollars; /* with the longest answer it may get; NAN */
    bool waits;                       /* for a person's answer */
    bool held;                        /* until a person sends it; the prompt is not made yet */
    int mends;                        /* the call whose answer could not be used, -1 */
    int repeats;                      /* the call that came to nothing, and is asked again; -1 */
};
struct model_reply;
int tune_reply_asked(struct tune_reply *reply, const struct tune_question *question);
/* One that was held goes out. */
void tune_reply_sent(struct tune_reply *reply, int call, const struct tune_question *question);
/* Whether questions are held. */
bool tune_reply_holds(const struct tune_reply *reply);
/* The answer to the call cannot be used, and why. `lost`: nothing of it goes back to be mended. */
void tune_reply_unread(struct tune_reply *reply, int call, struct str text, const char *why,
                       bool lost);
/* The context of the request as the state is now, in place of the one it began with; `call` as in
 * tune_context_question. */
const struct tune_context *tune_reply_context(struct tune_reply *reply, enum tune_role role,
                                              int call);
/* Whether a kernel as this one was tried, or is the one it comes from; *why says which. */
bool tune_reply_repeats(const struct tune_reply *reply, struct str source, const char *before,
                        struct buf *why);
void tune_reply_stream(struct tune_reply *reply, int call, struct str piece, bool again);
void tune_reply_answered(struct tune_reply *reply, int call, const struct model_reply *answer);
/* Which of so many models of a role is to be asked now. */
size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models);

/* outage.c: a model whose service is out of order. What came of a question is told before:
 * nothing. */
struct tune_outage_news {
    enum tune_role role;
    const char *model, *kind, *text;
    int call, tries;
    double pause_s;   /* until that model may be asked again */
    const char *next; /* the model that the question goes to then; */
    double wait_s;    /* 0: at once */
};
void tune_reply_outage(struct tune_reply *reply, const struct tune_outage_news *news);
/* Seconds before try number `tries` + 1: `first`, doubled each time up to sixty times as much, a
 * fifth more or less; no less than the service asks for (NAN: it does not). */
double tune_outage_pause(double first_s, int tries, double asked_s);
/* Nobody can answer before a person did something: the loop pauses, the step begins again with
 * start. Nothing is closed. It is a finishing call. */
void tune_reply_paused(struct tune_reply *reply, const char *text);

/* evaluate.c: the profile (baseline), verify and benchmark steps. */
void tune_baseline_start(struct tune_session *session);
void tune_verify_start(struct tune_session *session);
void tune_benchmark_start(struct tune_session *session);
/* Whether it was faster at first and not in the second evaluation, which has to confirm it. */
bool tune_not_again(const struct tune_attempt *attempt);

/* inspect.c: what is said about a candidate before anything is spent on it: tune_verify_go_on or
 * tune_verify_refuse comes of it, at once or later. The second gives up one that is under way. */
struct tune_inspection;
void tune_inspect(struct tune_session *session);
/* Tells in the log what the kernel it all begins with uses beyond what candidates may. */
void tune_beyond_tell(struct tune_session *session);
void tune_inspect_cancel(struct tune_inspection *inspection);
/* Whose work it is, and the next one. */
const struct tune_work *tune_inspection_work(const struct tune_inspection *inspection);
struct tune_inspection *tune_inspection_next(struct tune_inspection *inspection);
void tune_verify_go_on(struct tune_session *session);
/* The candidate is not run: `why` stands where a compiler's complaint would. */
void tune_verify_refuse(struct tune_session *session, const char *why);
void tune_diagnostic_emit(struct tune_session *session, int attempt, const struct diag *diag,
                          int64_t heard);

/* hear.c: a runner_event_fn for a struct tune_evaluation. */
struct runner_event;
void tune_evaluation_hear(void *evaluation, const struct runner_event *event);

/* Metrics, lines and bounds of a result as members of an event. */
void tune_result_put(cJSON *payload, const struct runner_result *result);
/* An evaluation ended or was given up: the next one is another, also for the host. */
void tune_evaluation_settled(struct tune_session *session, int attempt);
void tune_evaluation_give_up(struct tune_evaluation *evaluation);
/* Takes one that waits for the device model off the list. */
void tune_evaluation_drop(struct tune_evaluation *evaluation);
/* The model answered: what waited for it goes on. */
void tune_evaluation_go_on(struct tune_session *session);

/* beside.c: the device model beside a place that measures. It is asked for what a device does not
 * tell: the floor, what the lines cost. */
void tune_beside_ask(struct tune_session *session, const struct tune_attempt *attempt);
/* Whether its answer about the attempt is still to come. */
bool tune_beside_pends(const struct tune_session *session, int attempt);
/* The latency it gives; NAN when there is no answer. */
double tune_beside_latency(const struct tune_session *session, int attempt);
/* Puts its answer, if there is one, where the measured result has nothing. */
void tune_beside_fill(struct tune_session *session, int attempt);
void tune_beside_free(struct tune_session *session);

/* predicted.c: the compiler's prediction of an attempt as an event. */
void tune_predicted_emit(struct tune_session *session, int attempt,
                         const struct runner_prediction *found);
/* How many times its parent's; NAN where one is missing or they are not of the same kind. */
double tune_predicted_ratio(const struct tune_attempt *attempt, const struct tune_attempt *parent);

/* opinion.c: asks for it, where it is wanted before or beside an evaluation. */
void tune_opinion_ask(struct tune_session *session, const struct tune_attempt *attempt);
bool tune_opinion_pends(const struct tune_session *session, int attempt);
void tune_opinion_free(struct tune_session *session);

/* decide.c: the rest. */
void tune_score(struct tune_session *session, int attempt);
void tune_decide(struct tune_session *session);
void tune_latencies_print(struct buf *out, const struct tune_attempt *from,
                          const struct tune_attempt *to);

/* lessons.c: the last two steps. */
void tune_summarise(struct tune_session *session);
void tune_reflect(struct tune_session *session);
/* Which lessons a round of several lanes is worth. */
bool tune_lesson_wanted(const struct tune_state *state, int lane);
/* Lessons that came are written down in the order of the lanes. */
void tune_lessons_settle(struct tune_session *session);

/* export.c: the derived tables and files; all of them when `attempt` is -1. */
void tune_export(struct tune_session *session, int attempt);
void tune_experiments_print(const struct tune_state *state, struct buf *out); /* JSON Lines */

/* remember.c: the optimisation memory as a file, and what the loop does to it. */
void tune_memory_print(const struct tune_state *state, struct buf *out); /* rewrites.json */
void tune_export_memory(struct tune_session *session);
void tune_import_memory(struct tune_session *session);
/* The members that say what an experience of this session applies to. */
void tune_memory_put_applies(const struct tune_state *state, cJSON *payload);
/* Expires what the attempt contradicts. */
void tune_memory_contradict(struct tune_session *session, const struct tune_attempt *attempt);

/* ingest.c: puts a profile among the artefacts, on a worker thread. */
void tune_ingest_start(struct tune_session *session, int attempt, const char *path);
void tune_ingest_forget(struct tune_session *session);

/* recent.c */
void tune_recent_note(const struct tune_session *session);

#endif
