/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON, in the form of the events, for what is given away; the kernel that came with it;
 * which plans are of one direction. It does not judge plans. */
#include <ctype.h>

#include "tune/events/events.h"
#include "tune/state/inner.h"

cJSON *tune_plan_write(const struct tune_plan *plan) {
    struct buf text = {0};
    struct tune_plan bare = *plan;
    bare.source = NULL; /* the candidate's and the attempt's */
    tune_part_write(TUNE_PART_PLAN, &bare, &text);
    cJSON *object = cJSON_Parse(text.at);
    buf_free(&text);
    return object;
}

const char *tune_lane_kernel(const struct tune_state *state, int lane) {
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    const struct tune_attempt *open = tune_attempt_in(state, lane);
    bool repairs = open && open->id > 0 && open->status == TUNE_STATUS_OPEN;
    return plan && !plan->edited && !plan->sweep && !repairs ? plan->source : NULL;
}

/* The next letter or digit, without its case; 0: there is none. Bytes of other scripts are letters.
 */
static int next_letter(const char **at) {
    while (**at && !isalnum((unsigned char)**at) && (unsigned char)**at < 0x80)
        ++*at;
    return **at ? tolower((unsigned char)*(*at)++) : 0;
}

static bool same_title(const char *a, const char *b) {
    int one = 0, other = 0;
    bool some = false;
    while (a && b && (one = next_letter(&a)) == (other = next_letter(&b)) && one)
        some = true;
    return some && one == other;
}

/* Keys and titles of its own the rewriter and sweeps make anew each time. */
static bool is_in_words(const struct tune_plan *plan) {
    return !plan->sweep && !(plan->author && !strcmp(plan->author, "rewriter"));
}

bool tune_same_direction(const struct tune_plan *a, const struct tune_plan *b) {
    if (a->key && *a->key && b->key && !strcmp(a->key, b->key))
        return true;
    return is_in_words(a) && is_in_words(b) && same_title(a->title, b->title);
}
