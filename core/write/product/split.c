/* SPDX-License-Identifier: Apache-2.0 */
/* Products of fp32 by products of bf16, which the Tensor engine makes four times as fast. A number
 * is the sum of a high half, its nearest bf16, and a low half, the bf16 nearest to what is missing;
 * of the four products of halves the one of both low halves is left out.
 * Where what is summed over takes at most half of the partitions, halves lie above each other, and
 * one product sums over both: rows [high, low] by [high, high] and by [low, low] are all four in
 * two; where it takes a quarter, [high, low, high, low] by [high, high, low, low] are in one. */
#include "write/product/product.h"

#include <math.h>

#include "write/fast/fast.h"

#define UNIT 0x1p-8 /* roundoff of bf16: the largest relative error of rounding to 8 bits */
#define SPREAD \
    0.541 /* mean of 1 / m^2 over mantissas m that are spread as logarithms: 3 / 8 ln 2 */
#define LOW_PART                                                                               \
    7            /* units of low halves, squared: 1 / 4 of 1 / 2 + 1 / 16 of 1 / 4 ... = 1 / 7 \
                  */
#define MARGIN 2 /* an error is to be so many times smaller than the tolerance */
#define TOLERANCE 2e-5 /* of a task that names none (task/verdict) */

enum numbers { NUMBERS_KEPT = 0, NUMBERS_NARROW = 1, NUMBERS_PACKED = 2, NUMBERS_HALVES = 3 };

/* The relative L2 error of a sum of products whose terms err independently. Rounding errs by at
 * most u in each number, and evenly, so by u^2 / 3 in the mean square at a mantissa of 1 (Higham,
 * Accuracy and Stability of Numerical Algorithms, 2.2 and 2.8), and by SPREAD of that over all
 * mantissas, which are spread as logarithms (Hamming, On the Distribution of Numbers). That is the
 * mean square h of a low half, too. Of halves, what is left of each operand is h u^2 / LOW_PART,
 * and the product of the low halves h^2. Accumulation is in fp32 as before. Random numbers of
 * normal distribution err by 4.4e-6 in halves, which is what comes out of this. */
static double error_of(enum numbers numbers) {
    double high = SPREAD * UNIT * UNIT / 3, rest = high * UNIT * UNIT / LOW_PART;
    switch (numbers) {
    case NUMBERS_NARROW: return sqrt(2 * high);
    case NUMBERS_PACKED: return sqrt(2 * rest);
    case NUMBERS_HALVES: return sqrt(2 * rest + high * high);
    default: return 0;
    }
}

static double tolerance_of(const struct product *p) {
    double tolerance = p->writer->spec->tolerance;
    return tolerance > 0 ? tolerance : TOLERANCE;
}

static bool is_precise_enough(const struct product *p, enum numbers numbers) {
    return error_of(numbers) * MARGIN <= tolerance_of(p);
}

/* Whether halves are the best guess. Three short products take longer than one of fp32: their
 * weights load for 95 ns each, as long as 228 columns take. The Tensor engine's clock is halved
 * where too few of its rows work (pe_window_share). */
static bool halves_pay(const struct product *p) {
    return p->main[COLUMN].n >= 2 * PARTITIONS && p->main[SUMMED].n > PARTITIONS / 2;
}

static bool packed_pay(const struct product *p) {
    return p->main[COLUMN].n >= 2 * PARTITIONS && p->main[SUMMED].n > PARTITIONS / 8;
}

/* Partitions that one of the copies takes: engines begin at multiples of 32. 0: it is too many, or
 * an operand lies nowhere, and is made once. */
static int64_t packed_depth(const struct product *p) {
    int64_t n = p->main[SUMMED].n;
    for (enum which i = LEFT; i <= RIGHT; i++)
        if (product_is_made(p, i))
            return 0;
    return n <= PARTITIONS / 4 ? PARTITIONS / 4 : n <= PARTITIONS / 2 ? PARTITIONS / 2 : 0;
}

/* The ways to make the product, the best guess first; returns how many. */
static int list_numbers(const struct product *p, int64_t *values) {
    bool any = p->writer->spec->precision == WRITE_ANY;
    bool narrow = any && is_precise_enough(p, NUMBERS_NARROW);
    bool halves = is_precise_enough(p, NUMBERS_HALVES);
    bool packed = packed_depth(p) && is_precise_enough(p, NUMBERS_PACKED);
    bool kept = !narrow && !(packed ? packed_pay(p) : halves_pay(p));
    int count = 0;
    if (narrow)
        values[count++] = NUMBERS_NARROW;
    if (kept)
        values[count++] = NUMBERS_KEPT;
    if (packed)
        values[count++] = NUMBERS_PACKED;
    if (halves)
        values[count++] = NUMBERS_HALVES;
    if (count && !kept)
        values[count++] = NUMBERS_KEPT;
    return count - (kept && count == 1);
}

static void choose_halves(struct product *p) {
    int64_t values[4];
    if (p->writer->spec->precision == WRITE_KEEP || strcmp(p->dtype, "float32"))
        return;
    int count = list_numbers(p, values);
    if (!count)
        return;
    int64_t how = write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), "numbers",
                               "products of fp32: as they are (0), as three of bf16 halves (3), as "
                               "few of halves above each other (2), as one of bf16 (1)",
                               values, count);
    p->halves = how == NUMBERS_HALVES;
    p->packed = how == NUMBERS_PACKED ? packed_depth(p) : 0;
    p->narrow = how == NUMBERS_NARROW;
}

void product_choose_numbers(struct product *p) {
    choose_halves(p);
    product_choose_beside(p);
}

static double expected_error(const struct product *p, int levels) {
    enum numbers numbers = p->halves   ? NUMBERS_HALVES
                           : p->packed ? NUMBERS_PACKED
                           : p->narrow ? NUMBERS_NARROW
                                       : NUMBERS_KEPT;
    double sums = fast_sum_error(p->main[SUMMED].n >> levels);
    return fast_error(hypot(error_of(numbers), sums), levels);
}

/* Errors of several products are independent: a task has at least all of them. */
double product_error(const struct product *p, int levels, double *allowed) {
    const struct writer *w = p->writer;
    double square = pow(expected_error(p, levels), 2);
    for (int i = 0; i < w->graph->count; i++)
        if (&w->graph->nodes[i] != p->node)
            square += pow(w->values[i].error, 2);
    *allowed = tolerance_of(p);
    return MARGIN * sqrt(square);
}

void product_note_error(const struct product *p, int levels) {
    p->writer->values[p->node - p->writer->graph->nodes].error = expected_error(p, levels);
}

const char *product_dtype(const struct product *p) {
    return p->halves || p->packed || p->narrow ? "bfloat16" : p->dtype;
}

bool product_has_low(const struct product *p, enum which which) {
    return p->halves || (p->packed == PARTITIONS / 2 && which == RIGHT);
}

const char *product_depth(const struct product *p, const struct span *k) {
    return product_copy(p) ? arena_printf(p->writer->arena, "%d", PARTITIONS) : k->size;
}

const char *product_open_copies(struct product *p, const char *raw) {
    struct writer *w = p->writer;
    long long n = p->main[SUMMED].n, each = product_copy(p);
    if (n < each && p->packed)
        write_line(w, "nisa.memset(dst=%s, value=0.0)", raw);
    write_line(w, "for h in range(0, %d, %lld):", PARTITIONS, each);
    w->indent++;
    return arena_printf(w->arena, "h:h + %lld", n);
}

void product_declare_operand(struct product *p, enum which which, const char *name,
                             const char *shape) {
    product_declare(p, name, shape, product_dtype(p), "sbuf");
    if (product_has_low(p, which))
        product_declare(p, arena_printf(p->writer->arena, "%s_low", name), shape, "bfloat16",
                        "sbuf");
}

/* High halves of what lies in SBUF are best made by GpSimd, which nobody else waits for here. */
static void take_high(struct product *p, const char *to, const char *from, bool in_psum) {
    static const int64_t values[] = {2, 0, 1}, of_psum[] = {0, 1};
    struct writer *w = p->writer;
    int node = (int)(p->node - w->graph->nodes);
    int64_t how =
        in_psum ? write_choose(w, node, "turned_high_by",
                               "high halves of turned pieces: made by Scalar (0), by Vector (1)",
                               of_psum, 2)
                : write_choose(w, node, "high_by",
                               "high halves: made by Scalar (0), by Vector (1), by GpSimd (2)",
                               values, 3);
    if (how == 0)
        write_line(w, "nisa.activation(dst=%s, op=nl.copy, data=%s)", to, from);
    else
        write_line(w, "nisa.tensor_copy(dst=%s, src=%s%s)", to, from,
                   how == 2 ? ", engine=nisa.gpsimd_engine" : "");
}

/* "name[0:128, 0:512]" */
static const char *part_of(const struct product *p, const char *name, const char *index,
                           const char *partitions) {
    return index ? arena_printf(p->writer->arena, "%s[%s%s", name, partitions, index) : name;
}

/* Low halves of some partitions, which `low` gets. */
static void take_low(struct product *p, const struct product_piece *piece, const char *low,
                     const char *partitions) {
    write_line(p->writer, "nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.subtract)",
               part_of(p, low, piece->index, partitions),
               part_of(p, piece->from, piece->from_index, partitions),
               part_of(p, piece->name, piece->index, partitions));
}

/* Low halves take the place of some of the copies. */
static void take_packed(struct product *p, const struct product_piece *piece) {
    struct arena *arena = p->writer->arena;
    long long each = p->packed, group = piece->which == LEFT ? each : 2 * each;
    for (long long low = group; low < PARTITIONS; low += 2 * group)
        take_low(p, piece, piece->name, arena_printf(arena, "%lld:%lld", low, low + group));
}

void product_take(struct product *p, const struct product_piece *piece) {
    struct writer *w = p->writer;
    const char *all = arena_printf(w->arena, "0:%s", piece->depth);
    const char *to = part_of(p, piece->name, piece->index, all);
    const char *from = part_of(p, piece->from, piece->from_index, all);
    if (!p->halves && !p->packed) {
        write_line(w, "nisa.tensor_copy(dst=%s, src=%s)", to, from);
        return;
    }
    take_high(p, to, from, piece->in_psum);
    if (product_has_low(p, piece->which))
        take_low(p, piece, arena_printf(w->arena, "%s_low", piece->name), all);
    else
        take_packed(p, piece);
}

void product_multiply_tiles(struct product *p, const char *sums, const char *left_part,
                            const char *right_part, const char *turn) {
    /* The stationary operand is the same in the first two. */
    static const char *const halves[][2] = {{"", ""}, {"", "_low"}, {"_low", ""}};
    size_t count = p->halves ? 3 : product_has_low(p, RIGHT) ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        const char *left =
            arena_printf(p->writer->arena, "%sleft%s%s%s", p->left_early ? "now_" : "", p->name,
                         halves[i][0], left_part);
        const char *right =
            arena_printf(p->writer->arena, "right%s%s%s", p->name, halves[i][1], right_part);
        const char *stationary = p->over ? right : left, *moving = p->over ? left : right;
        if (p->beside)
            product_multiply_beside(p, sums, stationary, moving, turn);
        else
            write_line(p->writer, "nisa.nc_matmul(dst=%s, stationary=%s, moving=%s)", sums,
                       stationary, moving);
    }
}
