/* SPDX-License-Identifier: Apache-2.0 */
/* What a person can do: every action is an event in the log before anything is shown. */
#ifndef HONE_TUNE_ACT_H
#define HONE_TUNE_ACT_H

#include "base/base.h"
#include "tune/events/events.h"
#include "tune/state/state.h"

/* X(ID, "name", fields it reads): `lane`, `step`, `attempt`, `index`, `text`, `number`, `gate`,
 * `role`, `part`. */
#define TUNE_ACTION_TABLE(X)                                                                      \
    X(START, "start", "")              /* also: go on after pause or rejection */                 \
    X(PAUSE, "pause", "")              /* after the step that runs; a question                    \
                                        * to a model is given up at once */                       \
    X(APPROVE, "approve", "")          /* what waits at the gate */                               \
    X(REJECT, "reject", "lane text")   /* with the reason; pauses */                              \
    X(ANOTHER, "another", "lane text") /* drop the proposal, ask for a new one */                 \
    X(CHOOSE_PLAN, "choose-plan", "lane index")                                                   \
    X(TAKE_PLAN, "take-plan", "lane index")       /* index: of the stock */                       \
    X(EDIT_PLAN, "edit-plan", "lane text")        /* first line title, rest what */               \
    X(EDIT_KERNEL, "edit-kernel", "lane text")    /* the candidate's whole source */              \
    X(WRITE_KERNEL, "write-kernel", "text")       /* own candidate instead of a proposal */       \
    X(SWEEP, "sweep", "text")                     /* values of constants, one attempt each:       \
                                                   * "TILE_N=128,256" */                          \
    X(LEAVE_HUNK, "leave-hunk", "lane index why") /* toggles taken and left; text: why */         \
    X(REVERT, "revert", "attempt")                /* makes it the incumbent */                    \
    X(OVERRULE, "overrule", "lane attempt text")  /* "keep", "revert", "inconclusive" or          \
                                                   * "suspect"; attempt 0: the lane's */          \
    X(MEASURE, "measure", "lane")                 /* measure the candidate once more */           \
    X(UNDO, "undo", "")              /* a person's last decision, with all that the loop decided  \
                                      * since: as older sessions have it */                       \
    X(REDO, "redo", "")              /* of that */                                                \
    X(TAKE_BACK, "take-back", "")    /* the last decision alone, of a person or the loop */       \
    X(DO_AGAIN, "do-again", "")      /* of that */                                                \
    X(SET_GATE, "gate", "step gate") /* step TUNE_STEPS: all of them */                           \
    X(SET_BUDGET, "budget", "index number") /* index: enum tune_budget; NAN none */               \
    X(SET_TOLERANCE, "tolerance", "number")                                                       \
    X(SET_PRECISION, "precision", "text")                                                         \
    X(EDIT_NOTE, "edit-note", "index text")                                                       \
    X(PIN_NOTE, "pin-note", "index")   /* toggles */                                              \
    X(DROP_NOTE, "drop-note", "index") /* toggles */                                              \
    X(APPROVE_MEMORY, "approve-memory", "index")                                                  \
    X(EDIT_MEMORY, "edit-memory", "index text") /* first line title, rest summary */              \
    X(EXPIRE_MEMORY, "expire-memory", "index")  /* toggles */                                     \
    X(DELETE_MEMORY, "delete-memory", "index")                                                    \
    X(SWITCH_PART, "switch-part", "role part")   /* off, or on again */                           \
    X(EDIT_PART, "edit-part", "role part text")  /* for the next call of that role */             \
    X(RESTORE_PART, "restore-part", "role part") /* the template's words again */                 \
    X(ANSWER, "answer", "index text")            /* a person's, to a call that waits */           \
    X(HOLD, "hold", "")                          /* questions wait to be sent, or not: toggles */ \
    X(SEND, "send", "index")                     /* a call that is held */                        \
    X(ALLOW, "allow", "")                        /* candidates what the seed kernel uses          \
                                                  * beyond the list of the guard */               \
    X(TAKE_FILES, "take-files", "") /* those of the task that changed on disk count from now on;  \
                                     * all is measured anew */                                    \
    X(KEEP_FILES, "keep-files", "") /* the session's count, whatever is on disk */

#define X(id, name, fields) TUNE_ACT_##id,
enum tune_action_kind { TUNE_ACTION_TABLE(X) TUNE_ACTIONS };
#undef X

/* Instead of a lane: the first one that the action makes sense for. */
#define TUNE_ANY_LANE (-1)

struct tune_action {
    enum tune_action_kind kind;
    int lane; /* that it is about, from 0, for those that read it */
    enum tune_step step;
    enum tune_gate gate;
    int attempt, index;
    double number;
    enum tune_role role;
    const char *part, *text; /* copied */
};

/* Whether the action makes sense in this state, for that lane where it is about one. The key line
 * and the help ask. */
bool tune_can(const struct tune_state *state, int lane, enum tune_action_kind kind);
/* The lane that the action is about: the one it names, or for TUNE_ANY_LANE the first one for which
 * it makes sense; where there is none, the first that is open. */
int tune_act_lane(const struct tune_state *state, const struct tune_action *action);
/* Whether it makes sense with these arguments. If not, *err says why, and what would. */
bool tune_act_check(const struct tune_state *state, const struct tune_action *action,
                    struct err *err) CC_MUST_USE;
const char *tune_action_name(enum tune_action_kind kind);

/* What TAKE_BACK takes back. */
struct tune_back {
    const char *what; /* "approve (plan, round 2)", "#5 keep (round 3)" */
    int lane;         /* that it was about; -1: of no lane */
    bool by_loop;     /* what the loop decided; else what a person did */
    bool flow;        /* the loop goes back to where it stood; else a setting or a note does */
    enum tune_step step;
    int round;     /* where it will stand then */
    int decisions; /* decisions of the loop that go with it */
    int index; /* how many steps can be taken back; another number means another one is on top */
};
/* False: there is nothing. */
bool tune_back_of(const struct tune_state *state, struct tune_back *back);

#endif
