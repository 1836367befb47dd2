/* SPDX-License-Identifier: Apache-2.0 */
/* The causes in words, short enough for a prompt. */
#include "device/causes/inner.h"
#include "device/causes/private.h"

#include <math.h>

#define SEGMENTS 6
#define STALLS 3
#define LANES 6
#define TILES 3
#define ROOMS 2
#define LEAST_SHARE 0.01   /* of the latency: less is not worth a word */
#define LEAST_CHANGE 0.005 /* of the latency: a timed change of less brings nothing */
#define MOST_UNTOLD 0.25   /* of what repeats: where more is not told one by one, sums are */

/* How much is told one by one, at most. The critical path comes before the rest: what is not told
 * of it one by one is told in sums. */
struct detail {
    size_t least_segments;
    size_t legs, spots; /* legs: of those that repeat together */
    size_t taken, what_ifs;
};
/* The first that fits is taken, with as many segments as fit. */
static const struct detail details[] = {{2, 6, 5, 4, 6}, {1, 6, 5, 2, 4}, {1, 6, 3, 1, 3},
                                        {1, 6, 2, 1, 3}, {1, 4, 5, 1, 3}, {0, 2, 6, 1, 3},
                                        {0, 2, 4, 0, 2}};
struct telling {
    const struct device_causes *causes;
    const struct detail *detail;
    size_t segments;
};

/* With so many digits, and never with an exponent. */
static void us_print(struct buf *out, double us, int digits) {
    if (fabs(us) < pow(10, digits) - 0.5 || !isfinite(us))
        buf_printf(out, "%.*g", digits, us);
    else
        buf_printf(out, "%.0f", us);
}

/* ---- legs ----------------------------------------------------------------------------------- */

/* "line 12 activation" */
static void op_print(const struct device_spot *spot, struct buf *out) {
    if (spot->line) {
        device_spot_line(spot, out);
        buf_putc(out, ' ');
    }
    buf_puts(out, spot->op);
}

static void spot_print(const struct device_spot *spot, struct buf *out) {
    if (!spot->op[0]) {
        buf_puts(out, "earlier");
        return;
    }
    op_print(spot, out);
    buf_printf(out, " %s", spot->lane);
}

/* On one line: "32 x (line 12 activation Scalar 3.9 -> line 13 tensor_scalar Vector 2.9)". */
static void leg_print(const struct telling *telling, const struct device_leg *leg, struct buf *out);

static double leg_us(const struct device_leg *leg) {
    return leg->us * leg->times;
}

/* Whether fewer than are told of those that come one after the other take more than this one. */
static bool is_told(const struct telling *telling, const struct device_leg *leg, uint32_t at) {
    const struct device_leg *parts = &telling->causes->legs.at[leg->first];
    size_t larger = 0;
    for (uint32_t i = 0; i < leg->count; i++)
        larger += leg_us(&parts[i]) > leg_us(&parts[at]) ||
                  (leg_us(&parts[i]) == leg_us(&parts[at]) && i < at);
    return larger < telling->detail->legs;
}

/* "line 43 nc_matmul Tensor 24.5, line 43 nc_transpose Tensor 7.2, 3 more 2.3" */
static void sums_print(const struct telling *telling, const causes_sum_list *sums,
                       struct buf *out) {
    double rest = 0;
    for (size_t i = 0; i < sums->len; i++) {
        if (i >= telling->detail->spots) {
            rest += sums->at[i].us;
            continue;
        }
        buf_puts(out, i ? ", " : "");
        spot_print(&sums->at[i].spot, out);
        buf_putc(out, ' ');
        us_print(out, sums->at[i].us, 4);
    }
    if (sums->len > telling->detail->spots) {
        buf_printf(out, ", %zu more ", sums->len - telling->detail->spots);
        us_print(out, rest, 4);
    }
}

/* What is not told of the parts of a leg one by one. */
static double untold_us(const struct telling *telling, const struct device_leg *leg) {
    double rest = 0;
    for (uint32_t i = 0; i < leg->count; i++)
        rest += is_told(telling, leg, i) ? 0 : leg_us(&telling->causes->legs.at[leg->first + i]);
    return rest;
}

static void legs_print(const struct telling *telling, const struct device_leg *leg,
                       struct buf *out) {
    const char *between = "";
    for (uint32_t i = 0; i < leg->count; i++) {
        if (!is_told(telling, leg, i))
            continue;
        buf_puts(out, between);
        leg_print(telling, &telling->causes->legs.at[leg->first + i], out);
        between = " -> ";
    }
    if (leg->count > telling->detail->legs) {
        buf_printf(out, " and %zu more ", leg->count - telling->detail->legs);
        us_print(out, untold_us(telling, leg), 3);
    }
}

/* Of many legs, none of which takes much, what their spots take says more than six of them. */
static void many_print(const struct telling *telling, const struct device_leg *leg,
                       struct buf *out) {
    causes_sum_list sums = {0};
    causes_leg_sums(telling->causes, leg, &sums);
    buf_printf(out, "%u legs, in all: ", leg->count);
    sums_print(telling, &sums, out);
    vec_free(&sums);
}

static void leg_print(const struct telling *telling, const struct device_leg *leg,
                      struct buf *out) {
    if (!leg->count) {
        spot_print(&leg->spot, out);
        buf_putc(out, ' ');
        us_print(out, leg->us, 3);
        return;
    }
    buf_printf(out, leg->times < 100 ? "%.3g x (" : "%.0f x (", leg->times);
    if (untold_us(telling, leg) > MOST_UNTOLD * leg->us)
        many_print(telling, leg, out);
    else
        legs_print(telling, leg, out);
    buf_putc(out, ')');
}

/* ---- the path ------------------------------------------------------------------------------- */

static void segment_begin(const struct device_causes *causes, double us, struct buf *out) {
    buf_puts(out, "  ");
    us_print(out, us, 4);
    buf_printf(out, " us (%.0f %%): ", 100 * us / causes->latency_us);
}

static void segment_print(const struct telling *telling, const struct device_segment *segment,
                          struct buf *out) {
    const struct device_leg *leg = &telling->causes->legs.at[segment->leg];
    segment_begin(telling->causes, segment->us, out);
    if (segment->times > 1)
        buf_printf(out, "%llu times ", (unsigned long long)segment->times);
    leg_print(telling, leg, out);
    buf_putc(out, '\n');
}

/* What the segments from `first` on have of each spot, in all: they may be many. */
static void others_print(const struct telling *telling, size_t first, struct buf *out) {
    size_t count = telling->causes->segments.len - first;
    causes_sum_list sums = {0};
    double us = 0;
    causes_sums(telling->causes, first, true, &sums);
    for (size_t i = 0; i < sums.len; i++)
        us += sums.at[i].us;
    segment_begin(telling->causes, us, out);
    if (!first)
        buf_puts(out, "by line: ");
    else
        buf_printf(out, count > 1 ? "%zu others, in all: " : "%zu other: ", count);
    sums_print(telling, &sums, out);
    buf_putc(out, '\n');
    vec_free(&sums);
}

static void path_print(const struct telling *telling, struct buf *out) {
    const struct device_causes *causes = telling->causes;
    size_t told = 0;
    buf_puts(out, "critical path of ");
    us_print(out, causes->latency_us, 4);
    buf_puts(out, " us, in us each:\n");
    for (; told < causes->segments.len && told < telling->segments; told++) {
        const struct device_segment *segment = &causes->segments.at[told];
        if (told && segment->us < LEAST_SHARE * causes->latency_us)
            break;
        segment_print(telling, segment, out);
    }
    if (told < causes->segments.len)
        others_print(telling, told, out);
    buf_puts(out, "  ");
    us_print(out, causes->launch_us, 4);
    buf_puts(out, " us: launch and end\n");
}

/* ---- queues --------------------------------------------------------------------------------- */

static void share_print(const struct device_causes *causes, double us, const char *what,
                        struct buf *out) {
    double share = us / causes->latency_us;
    if (share >= LEAST_SHARE)
        buf_printf(out, ", %.0f %% %s", 100 * share, what);
}

static void lane_print(const struct device_causes *causes, const struct device_lane *lane,
                       struct buf *out) {
    buf_printf(out, "  %s: busy %.0f %%", lane->name, 100 * lane->busy_us / causes->latency_us);
    for (enum device_wait wait = DEVICE_WAIT_NOTHING; wait < DEVICE_WAITS; wait++)
        share_print(causes, lane->idle_us[wait], device_wait_word(wait), out);
    share_print(causes, lane->lead_us, "before its first", out);
    share_print(causes, lane->tail_us, "after its last", out);
    buf_putc(out, '\n');
}

/* Of more lanes than one core has, those that do nearly nothing are counted. */
static void lanes_print(const struct device_causes *causes, struct buf *out) {
    size_t others = 0;
    buf_puts(out, "busy, and idle waiting for:\n");
    for (size_t i = 0; i < causes->lanes.len; i++) {
        const struct device_lane *lane = &causes->lanes.at[i];
        bool little = lane->busy_us < LEAST_SHARE * causes->latency_us;
        if (little && causes->lanes.len > LANES)
            others++;
        else
            lane_print(causes, lane, out);
    }
    if (others)
        buf_printf(out, "  %zu others: busy under 1 %%\n", others);
}

static void stall_print(const struct device_stall *stall, struct buf *out) {
    buf_printf(out, "  %s ", stall->spot.lane);
    us_print(out, stall->us, 4);
    buf_printf(out, " us in %llu: ", (unsigned long long)stall->times);
    op_print(&stall->spot, out);
    buf_printf(out, " for %s", device_wait_word(stall->wait));
    if (stall->cause.op[0]) {
        buf_puts(out, ", ");
        spot_print(&stall->cause, out);
    }
    buf_puts(out, " (longest ");
    us_print(out, stall->longest_us, 3);
    buf_puts(out, " at ");
    us_print(out, stall->longest_at_us, 4);
    buf_puts(out, " us)");
    if (!stall->critical)
        buf_puts(out, ", not critical");
    else if (stall->critical < stall->times)
        buf_printf(out, ", %llu critical", (unsigned long long)stall->critical);
    buf_putc(out, '\n');
}

static void stalls_print(const struct device_causes *causes, struct buf *out) {
    size_t told = 0;
    for (size_t i = 0; i < causes->stalls.len && told < STALLS; i++) {
        const struct device_stall *stall = &causes->stalls.at[i];
        if (stall->us < LEAST_SHARE * causes->latency_us)
            continue;
        if (!told++)
            buf_puts(out, "largest stalls, by their part of the critical path:\n");
        stall_print(stall, out);
    }
}

/* ---- the rest ------------------------------------------------------------------------------- */

static bool brings_nothing(const struct device_causes *causes, const struct device_what_if *what) {
    return fabs(what->us - causes->latency_us) < LEAST_CHANGE * causes->latency_us;
}

static void if_print(const struct device_causes *causes, const struct device_what_if *what,
                     struct buf *out) {
    buf_printf(out, "  %s: ", what->change);
    us_print(out, what->us, 4);
    buf_printf(out, " us (%+.1f)\n", what->us - causes->latency_us);
}

/* Changes that bring nothing share a line: that they were timed is worth knowing, no more. */
static void ifs_print(const struct device_causes *causes, size_t most, struct buf *out) {
    size_t idle = 0;
    if (causes->ifs.len)
        buf_puts(out, "timed changes:\n");
    for (size_t i = 0; i < causes->ifs.len && i < most; i++)
        if (!brings_nothing(causes, &causes->ifs.at[i]))
            if_print(causes, &causes->ifs.at[i], out);
    for (size_t i = 0; i < causes->ifs.len && i < most; i++)
        if (brings_nothing(causes, &causes->ifs.at[i]))
            buf_printf(out, "%s%s", idle++ ? "; " : "  no gain: ", causes->ifs.at[i].change);
    buf_puts(out, idle ? "\n" : "");
}

static void tile_print(const struct device_tile *tile, struct buf *out) {
    uint64_t one = MAX_OF(tile->bytes, 1u);
    buf_printf(out, "%s%s", tile->name, tile->name[0] ? " " : "");
    device_spot_line(&tile->spot, out);
    buf_printf(out, " %llu x %.3g KiB for ", (unsigned long long)(tile->most_bytes / one),
               (double)tile->bytes / 1024);
    us_print(out, tile->live_us, 3);
    buf_puts(out, " us");
}

/* Which tiles fill SBUF: they are what is worth making smaller, or letting go earlier. */
static void tiles_print(const struct device_causes *causes, struct buf *out) {
    size_t told = 0;
    for (size_t i = 0; i < causes->tiles.len && told < TILES; i++) {
        const struct device_tile *tile = &causes->tiles.at[i];
        if (tile->psum || !tile->spot.line || tile->most_bytes * 20 < causes->sbuf_flight)
            continue;
        buf_puts(out, told++ ? ", " : "tiles at once, and for how long: ");
        tile_print(tile, out);
    }
    buf_puts(out, told ? "\n" : "");
}

/* What a line waited for room in all; false: another row of it, before, has that. */
static bool room_sum(const struct device_causes *causes, size_t at, struct device_stall *sum) {
    *sum = causes->stalls.at[at];
    for (size_t i = 0; i < causes->stalls.len; i++) {
        const struct device_stall *stall = &causes->stalls.at[i];
        bool same = stall->wait == DEVICE_WAIT_ROOM && stall->spot.file == sum->spot.file &&
                    stall->spot.line == sum->spot.line && stall->spot.op == sum->spot.op;
        if (!same || i == at)
            continue;
        if (i < at)
            return false;
        sum->us += stall->us;
        sum->critical += stall->critical;
    }
    return sum->wait == DEVICE_WAIT_ROOM;
}

/* Where there was no room on chip: of each line, and which one made room, most of the time. */
static void room_print(const struct device_causes *causes, struct buf *out) {
    struct device_stall sum;
    size_t told = 0;
    for (size_t i = 0; i < causes->stalls.len && told < ROOMS; i++) {
        if (!room_sum(causes, i, &sum) || sum.us < LEAST_SHARE * causes->latency_us)
            continue;
        told++;
        op_print(&sum.spot, out);
        buf_puts(out, " waited ");
        us_print(out, sum.us, 4);
        buf_puts(out, " us for room, until ");
        spot_print(&sum.cause, out);
        buf_puts(out, sum.critical ? " was over\n" : " was over; not critical\n");
    }
}

/* What makes instructions that look alike take different times. */
static void taken_print(const struct device_causes *causes, size_t most, struct buf *out) {
    size_t n = causes->taken.len, told = MIN_OF(n, most);
    if (n)
        buf_puts(out, "what the compiler does, by the model:\n");
    for (size_t i = 0; i < told; i++) {
        const struct device_taken *taken = &causes->taken.at[i];
        buf_puts(out, "  ");
        spot_print(&taken->spot, out);
        buf_printf(out, " %s (%s, %llu)\n", taken->word, taken->pass,
                   (unsigned long long)taken->times);
    }
    if (n > told)
        buf_printf(out, told ? "  and at %zu more\n" : "  changes at %zu places\n", n - told);
}

static void memory_print(const struct device_causes *causes, struct buf *out) {
    buf_printf(out,
               "KiB a partition, at most at once (in program order): SBUF %.1f (%.1f) of %.1f, "
               "PSUM %.1f (%.1f) of %.1f\n",
               (double)causes->sbuf_flight / 1024, (double)causes->sbuf_bytes / 1024,
               (double)causes->sbuf_room / 1024, (double)causes->psum_flight / 1024,
               (double)causes->psum_bytes / 1024, (double)causes->psum_room / 1024);
    tiles_print(causes, out);
    room_print(causes, out);
    if (!isnan(causes->fitted))
        buf_printf(out, "rests on fitted rules for %.0f %%, on guessed ones for %.0f %%\n",
                   100 * causes->fitted, 100 * causes->guessed);
}

static void all_print(const struct telling *telling, struct buf *out) {
    path_print(telling, out);
    lanes_print(telling->causes, out);
    stalls_print(telling->causes, out);
    ifs_print(telling->causes, telling->detail->what_ifs, out);
    taken_print(telling->causes, telling->detail->taken, out);
    memory_print(telling->causes, out);
}

/* As many whole lines of the text as there is room for. */
static size_t whole_lines(const struct buf *text) {
    size_t len = MIN_OF(text->len, (size_t)DEVICE_CAUSES_TEXT - 1);
    while (len && text->at[len - 1] != '\n')
        len--;
    return len;
}

void device_causes_print(const struct device_causes *causes, struct buf *out) {
    struct buf text = {0};
    bool fits = false;
    for (size_t d = 0; d < COUNT_OF(details) && !fits; d++)
        for (size_t n = SEGMENTS + 1; n > details[d].least_segments && !fits; n--) {
            const struct telling telling = {causes, &details[d], n - 1};
            buf_clear(&text);
            all_print(&telling, &text);
            fits = text.len < DEVICE_CAUSES_TEXT;
        }
    buf_add(out, text.at, whole_lines(&text));
    buf_free(&text);
}
