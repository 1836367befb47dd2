/* SPDX-License-Identifier: Apache-2.0 */
/* views: the screens. They draw a session's state, turn keys into actions, and ask main for what
 * needs a terminal or the event loop. They hold no kernel, run no job and wait for nothing. */
#ifndef HONE_VIEWS_VIEWS_H
#define HONE_VIEWS_VIEWS_H

#include "base/base.h"
#include "tui/tui.h"
#include "tune/tune.h"

/* A question in SQL that can be asked. */
struct views_question {
    const char *name; /* NULL: somebody asked it before */
    const char *text; /* what it is about, or itself */
    const char *sql;
};

/* What the screens look at and how they act on it. With state NULL the start screen shows. */
struct views_model {
    const struct tune_state *state;
    bool (*act)(void *context, const struct tune_action *action, struct err *err);
    /* The text of an artefact by content hash, to be freed; NULL when there is none. May be NULL
     * itself. */
    char *(*artefact)(void *context, const char *hash);
    /* About the place evaluations run at: the answer to its question (NULL declines; the text is
     * wiped after the call), connect again now, somebody looks at it. May be NULL. */
    void (*answer)(void *context, const char *answer);
    void (*retry)(void *context);
    void (*watch)(void *context);
    /* Shows what an instruction of a line of that kernel reads and writes, by views_show_text and
     * later. May be NULL. */
    void (*tiles)(void *context, const char *source, int line, int round);
    /* Asks the profile of that attempt, and the session, in SQL; the answer comes by
     * views_query_answered. `question`: those that can be chosen, the ready ones first; false past
     * the last. `name`: of tables and columns, NULL past the last. May be NULL. */
    void (*query)(void *context, int attempt, const char *sql);
    bool (*question)(void *context, size_t index, struct views_question *question);
    const char *(*name)(void *context, size_t index);
    /* Makes that kernel one for a release of NKI ("0.7"; "": the session's) and hands it in as the
     * person's own, later. May be NULL. */
    void (*migrate)(void *context, const char *source, const char *release);
    /* Writes a session whose files are gone to a folder, where it goes on. May be NULL. */
    bool (*rescue)(void *context, const char *folder, struct err *err);
    void *context;
    const struct tune_recent *recent; /* the rows of the start screen */
    size_t n_recent;
};

/* What the caller is to do after an event. */
enum views_wish {
    VIEWS_NOTHING,
    VIEWS_QUIT,
    VIEWS_SUSPEND,
    VIEWS_REPAINT, /* draw everything anew */
    VIEWS_EDIT,    /* open $EDITOR on `text`, then call views_edited */
    VIEWS_OPEN,    /* open the session `chosen` */
    VIEWS_AGAIN,   /* open the session again, which nobody holds any more */
    VIEWS_LEAVE,   /* close the session and show the start screen */
    VIEWS_NEW,     /* write a kernel for the reference `name` into the folder `task`, and open it */
};
struct views_request {
    enum views_wish wish;
    const struct tune_recent *chosen; /* OPEN: valid until the model changes */
    const char *task; /* NEW: valid until the model changes; NULL: named after `name` */
    const char *name; /* EDIT: a file name, "kernel.py"; NEW: a path */
    const char *text; /* EDIT: valid until views_edited */
    int line;         /* EDIT: where to start; 0: anywhere */
};

struct views;
/* `bindings`: the user's key bindings as text, NULL for none; a wrong line is reported in *err, and
 * NULL is returned. */
struct views *views_new(const char *bindings, const char *bindings_file,
                        struct err *err) CC_MUST_USE;
void views_free(struct views *views); /* accepts NULL */
/* What to look at from now on; the texts stay the caller's. */
void views_set_model(struct views *views, const struct views_model *model);

/* Draws a frame. now_ms is wall time, for clocks and elapsed times. */
void views_draw(struct views *views, struct tui_area area, int64_t now_ms);
/* Whether something on the screen moves by itself: then it is drawn again within 100 ms. */
bool views_is_moving(const struct views *views);
/* Whose turn it is. */
enum views_turn { VIEWS_TURN_UNKNOWN, VIEWS_TURN_LOOP, VIEWS_TURN_PERSON };
/* The title for the terminal itself: "hone: TASK, waits for you: plan". It becomes the person's
 * turn when something waits for them and when the loop has ended: the moments to ring, where that
 * is wanted. */
enum views_turn views_title(const struct views *views, struct buf *out);
/* Handles a key, a click or a paste. */
struct views_request views_event(struct views *views, const struct tui_event *event);
/* The editor's text for a VIEWS_EDIT; NULL when it was given up or nothing changed. False with *err
 * when the text was not accepted: then keep it where the user can find it. */
bool views_edited(struct views *views, const char *text, struct err *err);
/* Asks where to save a session whose files are gone; `folder` stands there. */
void views_ask_rescue(struct views *views, const char *folder);
/* Shows a text over the screen, until it is closed. */
void views_show_text(struct views *views, const char *title, const char *text);
/* The answer to what was asked last: a table as lines of text, its head first; or why there is
 * none. */
void views_query_answered(struct views *views, const char *text, bool failed);
/* Shows a sentence until the next key. */
void views_say(struct views *views, bool bad, const char *format, ...) CC_PRINTF(3, 4);

/* The commands and their keys before a user's own, for the manual page and the tests. They are
 * grouped by where a key runs them, "everywhere" first, then screen by screen. A command that
 * several screens bind themselves comes once for each. False past the last row. Texts are
 * static. */
struct views_key {
    const char *screen;  /* "everywhere", or the name of one */
    const char *command; /* as the command line takes it after ':' */
    const char *help;    /* what it does */
    char keys[48];       /* "k Up"; "" when it has none there */
};
bool views_key_at(size_t index, struct views_key *key);

#endif
