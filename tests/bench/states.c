/* SPDX-License-Identifier: Apache-2.0 */
/* The state after every event of sessions, as one hash for each session:
 *
 *     bench_states FOLDER...
 *
 * A change of how logs are read must not change it: build it before and after, run both over the
 * same sessions, and compare what they print. Of long sessions 300 states are looked at. */
#include <stdio.h>

#include "store/store.h"
#include "tune/apply/apply.h"
#include "tune/read/testing.h"
#include "tune/state/inner.h"

#define ALL_OF 3000 /* events of a session whose states are all looked at */
#define SOME 300

struct chain {
    struct tune_state *state;
    struct hash hash;
    int64_t every, events, states;
};

static void look(struct chain *chain) {
    struct buf text = {0};
    buf_puts(&text, chain->hash.hex);
    tune_state_print(chain->state, &text);
    chain->hash = hash_content(text.at, text.len);
    chain->states++;
    buf_free(&text);
}

static bool event_apply(void *data, const struct store_event *event) {
    struct chain *chain = data;
    tune_state_apply(chain->state, event->seq, event->wall_ms, event->type, event->payload);
    if (++chain->events % chain->every == 0)
        look(chain);
    return true;
}

static bool session_print(const char *folder) {
    struct err err = {0};
    struct store *store = store_open(folder, true, &err);
    if (!store) {
        printf("%s: %s\n", folder, err.text);
        return false;
    }
    struct chain chain = {.state = tune_state_new()};
    int64_t last = store_last_seq(store);
    chain.every = last <= ALL_OF ? 1 : last / SOME;
    bool ok = store_replay(store, 0, event_apply, &chain, &err);
    look(&chain);
    printf("%s: %lld events, %lld states, %s%s%s\n", folder, (long long)chain.events,
           (long long)chain.states, chain.hash.hex, ok ? "" : ": ", ok ? "" : err.text);
    tune_state_free(chain.state);
    store_close(store);
    return ok;
}

int main(int argc, char **argv) {
    bool ok = argc > 1;
    for (int i = 1; i < argc; i++)
        ok = session_print(argv[i]) && ok;
    if (argc < 2)
        fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
    return ok ? 0 : 1;
}
