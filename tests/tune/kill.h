/* SPDX-License-Identifier: Apache-2.0 */
/* A session in a child that is killed at some moment, and what it had shown by then. */
#ifndef HONE_TESTS_TUNE_KILL_H
#define HONE_TESTS_TUNE_KILL_H

#include <signal.h>
#include <sys/wait.h>

#include "tune/apply/apply.h"
#include "tune/session/inner.h"
#include "loop/testing.h"
#include "tune/fake.h"

/* What is on the screen, sent to the parent after every change: the state as text, by its hash, and
 * whose question is open. */
struct told {
    int64_t seq;
    struct hash hash;
    char asked[16];
};
struct teller {
    struct fake *fake;
    int to, left; /* how many changes until it stands still, to be killed there; 0: never */
};

static void tell(void *data) {
    struct teller *teller = data;
    const struct tune_state *state = fake_state(teller->fake);
    struct buf text = {0};
    tune_state_print(state, &text);
    struct told told = {state->seq, hash_content(text.at, text.len), ""};
    buf_free(&text);
    const struct tune_call *last = state->calls.len ? &state->calls.at[state->calls.len - 1] : NULL;
    if (last && !last->ended_ms)
        snprintf(told.asked, sizeof told.asked, "%s", last->role ? last->role : "");
    if (write(teller->to, &told, sizeof told) != sizeof told)
        _exit(4);
    while (teller->left == 1)
        pause();
    teller->left--;
}

static void child_run(struct fake *fake, struct teller teller) {
    tune_session_on_change(fake->session, tell, &teller);
    struct tune_action start = {.kind = TUNE_ACT_START};
    struct err err = {0};
    if (!tune_session_act(fake->session, &start, &err))
        _exit(5);
    loop_run_until_idle(fake->loop, 20000);
    _exit(0);
}

struct replay {
    struct tune_state *state;
    const struct told *told;
};

static bool replay_to(void *data, const struct store_event *event) {
    struct replay *replay = data;
    if (event->seq > replay->told->seq)
        return false;
    tune_state_apply(replay->state, event->seq, event->wall_ms, event->type, event->payload);
    return true;
}

/* Runs the session in a child, from a state in which it is closed. Kills it after exactly this many
 * changes, or while the role is asked (NULL: any role). Returns what it last reported; *changes
 * counts the changes. */
static struct told kill_run(struct fake *fake, int after, const char *role, int *changes) {
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(pipe_ends[0]);
        fake->loop = fake->place.loop = loop_new();
        fake_open(fake);
        child_run(fake, (struct teller){fake, pipe_ends[1], after});
    }
    close(pipe_ends[1]);
    struct told told = {0}, last = {0};
    int seen = 0;
    bool now = false;
    while (!now && read(pipe_ends[0], &told, sizeof told) == sizeof told) {
        last = told;
        seen++;
        now = role ? !strcmp(told.asked, role) : seen >= after;
    }
    assert_true(!role || now);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(pipe_ends[0], &told, sizeof told) == sizeof told) {
        last = told;
        seen++;
    }
    close(pipe_ends[0]);
    if (changes)
        *changes = seen;
    return last;
}

/* Opens the session here, and checks that all that was shown is in it. */
static void kill_reopen(struct fake *fake, struct told last) {
    fake->loop = fake->place.loop = loop_new();
    fake_open(fake);
    assert_false(fake_state(fake)->read_only);
    assert_true(fake_state(fake)->seq >= last.seq);
    struct replay replay = {tune_state_new(), &last};
    struct err err = {0};
    assert_true(store_replay(fake->session->store, 0, replay_to, &replay, &err));
    struct buf text = {0};
    tune_state_print(replay.state, &text);
    assert_string_equal(hash_content(text.at, text.len).hex, last.hash.hex);
    buf_free(&text);
    tune_state_free(replay.state);
}

#endif
