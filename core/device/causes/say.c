/* SPDX-License-Identifier: Apache-2.0 */
/* The causes in words, short enough for a prompt. */
#include "device/causes/private.h"

#include <math.h>

#define SEGMENTS 6
#define LEGS 6
#define STALLS 3
#define LANES 6
#define WHAT_IFS 6
#define TILES 3
#define ROOMS 2
#define TAKEN 4
#define LEAST_SHARE 0.01 /* of the latency: less is not worth a word */

/* ---- legs ----------------------------------------------------------------------------------- */

static void spot_print(const struct device_spot *spot, struct buf *out) {
    if (!spot->op[0]) {
        buf_puts(out, "earlier");
        return;
    }
    if (spot->line)
        buf_printf(out, "line %u ", spot->line);
    buf_printf(out, "%s %s", spot->op, spot->lane);
}

/* On one line: "32 x (line 12 activation Scalar 3.9 -> line 13 tensor_scalar Vector 2.9)". */
static void leg_print(const struct device_causes *causes, const struct device_leg *leg,
                      struct buf *out);

static void legs_print(const struct device_causes *causes, const struct device_leg *leg,
                       struct buf *out) {
    for (uint32_t i = 0; i < leg->count && i < LEGS; i++) {
        const struct device_leg *part = &causes->legs.at[leg->first + i];
        buf_puts(out, i ? " -> " : "");
        leg_print(causes, part, out);
    }
    if (leg->count > LEGS)
        buf_printf(out, " -> %u more", leg->count - LEGS);
}

static void leg_print(const struct device_causes *causes, const struct device_leg *leg,
                      struct buf *out) {
    if (!leg->count) {
        spot_print(&leg->spot, out);
        buf_printf(out, " %.3g", leg->us);
        return;
    }
    buf_printf(out, leg->times < 100 ? "%.3g x (" : "%.0f x (", leg->times);
    legs_print(causes, leg, out);
    buf_putc(out, ')');
}

/* ---- the path ------------------------------------------------------------------------------- */

static void segment_print(const struct device_causes *causes, const struct device_segment *segment,
                          struct buf *out) {
    const struct device_leg *leg = &causes->legs.at[segment->leg];
    buf_printf(out, "  %.4g us (%.0f %%): ", segment->us, 100 * segment->us / causes->latency_us);
    if (segment->times > 1)
        buf_printf(out, "%llu times ", (unsigned long long)segment->times);
    leg_print(causes, leg, out);
    buf_putc(out, '\n');
}

static void path_print(const struct device_causes *causes, size_t most, struct buf *out) {
    double rest = causes->latency_us - causes->launch_us;
    size_t told = 0;
    buf_printf(out, "critical path of %.4g us, in us each:\n", causes->latency_us);
    for (; told < causes->segments.len && told < most; told++) {
        const struct device_segment *segment = &causes->segments.at[told];
        if (told && segment->us < LEAST_SHARE * causes->latency_us)
            break;
        segment_print(causes, segment, out);
        rest -= segment->us;
    }
    if (told < causes->segments.len)
        buf_printf(out, "  %.4g us: %zu others\n", fmax(rest, 0), causes->segments.len - told);
    buf_printf(out, "  %.4g us: launch and end\n", causes->launch_us);
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
    buf_printf(out, "  %s %.4g us in %llu: ", stall->spot.lane, stall->us,
               (unsigned long long)stall->times);
    if (stall->spot.line)
        buf_printf(out, "line %u ", stall->spot.line);
    buf_printf(out, "%s for %s", stall->spot.op, device_wait_word(stall->wait));
    if (stall->cause.op[0]) {
        buf_puts(out, ", ");
        spot_print(&stall->cause, out);
    }
    buf_printf(out, " (longest %.3g at %.4g us)", stall->longest_us, stall->longest_at_us);
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
            buf_puts(out, "largest stalls:\n");
        stall_print(stall, out);
    }
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void ifs_print(const struct device_causes *causes, struct buf *out) {
    if (causes->ifs.len)
        buf_puts(out, "timed changes:\n");
    for (size_t i = 0; i < causes->ifs.len && i < WHAT_IFS; i++) {
        const struct device_what_if *what = &causes->ifs.at[i];
        buf_printf(out, "  %s: %.4g us (%+.1f)\n", what->change, what->us,
                   what->us - causes->latency_us);
    }
}

static void tile_print(const struct device_tile *tile, struct buf *out) {
    uint64_t one = MAX_OF(tile->bytes, 1u);
    buf_printf(out, "%s line %u", tile->name, tile->spot.line);
    buf_printf(out, " %llu x %.3g KiB for %.3g us", (unsigned long long)(tile->most_bytes / one),
               (double)tile->bytes / 1024, tile->live_us);
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

/* Where there was no room on chip: of each line, and which one made room at last. */
static void room_print(const struct device_causes *causes, struct buf *out) {
    size_t told = 0;
    for (size_t i = 0; i < causes->stalls.len && told < ROOMS; i++) {
        const struct device_stall *stall = &causes->stalls.at[i];
        if (stall->wait != DEVICE_WAIT_ROOM || stall->us < LEAST_SHARE * causes->latency_us)
            continue;
        told++;
        buf_printf(out, "line %u %s waited %.4g us for room, until ", stall->spot.line,
                   stall->spot.op, stall->us);
        spot_print(&stall->cause, out);
        buf_puts(out, stall->critical ? " was over\n" : " was over; not critical\n");
    }
}

/* What makes instructions that look alike take different times. */
static void taken_print(const struct device_causes *causes, struct buf *out) {
    size_t n = causes->taken.len, told = MIN_OF(n, (size_t)TAKEN);
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
        buf_printf(out, "  and at %zu more\n", n - told);
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

static void all_print(const struct device_causes *causes, size_t segments, struct buf *out) {
    path_print(causes, segments, out);
    lanes_print(causes, out);
    stalls_print(causes, out);
    ifs_print(causes, out);
    taken_print(causes, out);
    memory_print(causes, out);
}

void device_causes_print(const struct device_causes *causes, struct buf *out) {
    for (size_t segments = SEGMENTS; segments > 0; segments--) {
        struct buf text = {0};
        all_print(causes, segments, &text);
        bool fits = text.len < DEVICE_CAUSES_TEXT;
        if (fits || segments == 1)
            buf_add(out, text.at, MIN_OF(text.len, (size_t)DEVICE_CAUSES_TEXT - 1));
        buf_free(&text);
        if (fits)
            return;
    }
}
