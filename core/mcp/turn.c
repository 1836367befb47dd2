/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is: children of one kind that are at work at once are few, since the machine has
 * few processors, and each is started in a turn of the loop of its own, so that cheap questions
 * are answered in between. */
#include <stdlib.h>

#include "mcp/private.h"

static void start_soon(struct mcp_turns *turns);

static struct mcp_turn **place_of(struct mcp_turn **list, const struct mcp_turn *turn) {
    while (*list && *list != turn)
        list = &(*list)->next;
    return list;
}

/* How many of that client are at work. */
static int at_work(const struct mcp_turns *turns, const struct mcp_client *client) {
    int count = 0;
    for (const struct mcp_turn *at = turns->working; at; at = at->next)
        count += at->client == client;
    return count;
}

/* The oldest of the client that has the fewest at work, so that none waits for all of another. */
static struct mcp_turn **next_of(struct mcp_turns *turns) {
    struct mcp_turn **chosen = NULL;
    int least = 0;
    for (struct mcp_turn **at = &turns->waiting; *at; at = &(*at)->next) {
        int count = at_work(turns, (*at)->client);
        if (!chosen || count < least) {
            chosen = at;
            least = count;
        }
    }
    return chosen;
}

static void start(void *data) {
    struct mcp_turns *turns = data;
    turns->soon = NULL;
    struct mcp_turn **place = next_of(turns), *turn = place ? *place : NULL;
    if (!turn)
        return;
    *place = turn->next;
    turn->next = turns->working;
    turns->working = turn;
    turns->count++;
    start_soon(turns);
    turn->go(turn->data); /* may end the turn, and others */
}

static void start_soon(struct mcp_turns *turns) {
    if (turns->waiting && !turns->soon && turns->count < MAX_OF(os_cpu_count(), 2))
        turns->soon = loop_timer_start(turns->loop, 0, 0, start, turns);
}

void mcp_turn_ask(struct mcp_turns *turns, struct mcp_turn *turn) {
    struct mcp_turn **last = place_of(&turns->waiting, NULL);
    turn->turns = turns;
    turn->next = NULL;
    *last = turn;
    start_soon(turns);
}

void mcp_turn_end(struct mcp_turn *turn) {
    struct mcp_turns *turns = turn->turns;
    if (!turns)
        return;
    struct mcp_turn **waiting = place_of(&turns->waiting, turn);
    struct mcp_turn **working = place_of(&turns->working, turn);
    if (*working)
        turns->count--;
    *(*working ? working : waiting) = turn->next;
    turn->turns = NULL;
    start_soon(turns);
}

void mcp_turns_stop(struct mcp_turns *turns) {
    loop_timer_stop(turns->soon);
    turns->soon = NULL;
}
