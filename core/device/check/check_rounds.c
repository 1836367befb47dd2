/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of nl.affine_range, and programs of a launch, may run in any order and at once (legacy
 * dialect). Two of them that write one place in HBM are refused, as the compiler does. A tile or
 * tensor that one round reads and another has written is warned about: the numbers are what hone's
 * order of rounds gives, and others on the device. Sums may be carried: what an instruction adds to
 * (or multiplies, or takes the larger of) in place.
 *
 * Only rounds that were evaluated are looked at; those that were copied are like them. */
#include "device/check/own.h"

#include <stdlib.h>

#define MOST_DEPTH 64                    /* of loops in each other */
#define MOST_ELEMENTS ((int64_t)1 << 30) /* of a tensor; a larger one is not looked at */
/* Work, in writes that are looked at: so many, and so many more for each instruction. Where that is
 * not enough, what was not looked at is told. */
#define MOST_WORK ((int64_t)1 << 21)
#define MORE_WORK 64
#define ELEMENTS_OF_WORK 256   /* elements that take as long as a write */
#define MOST_LATEST (1u << 20) /* writes that are found by their pattern .. */
#define PROBES 16              /* .. at so many places */

/* A write, and the round that did it. */
struct past {
    const struct nki_ap *ap;
    uint32_t instr, round;
    bool plain; /* it does not read what it overwrites, and has no mask */
};

/* What is known of a storage. */
struct seen {
    VEC(struct past) past;   /* all writes */
    VEC(struct past) writes; /* in HBM: all of the outermost loop .. */
    uint32_t outermost;      /* .. of this number */
    uint8_t *bits;           /* .. what they wrote; NULL: not yet */
    bool told, told_last, told_unseen;
};

struct walk {
    struct device_image *image;
    const struct nki_program *program;
    struct diag_list *diags;
    struct seen **seen; /* by storage; NULL: it was not written yet */
    uint32_t instr, round;
    struct past *latest; /* the last write with a pattern, at its hash .. */
    uint32_t n_latest;   /* .. among so many, a power of 2 */
    int64_t work;        /* that is left */
    bool told_unseen;
};

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Numbers of the rounds that a round is in and its own, outermost first; returns how many. 0: it is
 * in none, or nobody knows. */
static int path_of(const struct nki_program *program, uint32_t round, uint32_t *path) {
    int n = 0;
    if (round == NKI_ROUND_UNKNOWN)
        return 0;
    for (; round && n < MOST_DEPTH; round = program->rounds.at[round - 1].around)
        path[n++] = round - 1;
    for (int i = 0; i < n / 2; i++) {
        uint32_t other = path[i];
        path[i] = path[n - 1 - i];
        path[n - 1 - i] = other;
    }
    return round ? 0 : n;
}

/* Whether the two belong to different rounds of one loop, and which these are. */
static bool are_apart(const struct nki_program *program, uint32_t a, uint32_t b,
                      const struct nki_round *apart[2]) {
    uint32_t one[MOST_DEPTH], other[MOST_DEPTH];
    int n = path_of(program, a, one), m = path_of(program, b, other);
    for (int i = 0; i < MIN_OF(n, m); i++) {
        apart[0] = &program->rounds.at[one[i]];
        apart[1] = &program->rounds.at[other[i]];
        if (one[i] != other[i])
            return apart[0]->loop == apart[1]->loop;
    }
    return false;
}

/* Whether a round is `outer` or in it. */
static bool is_within(const struct nki_program *program, uint32_t round, uint32_t outer) {
    while (round && round != outer)
        round = program->rounds.at[round - 1].around;
    return round == outer;
}

static uint32_t outermost_loop(const struct nki_program *program, uint32_t round) {
    uint32_t path[MOST_DEPTH];
    return path_of(program, round, path) ? program->rounds.at[path[0]].loop : 0;
}

/* "rounds 0 and 1 of the loop in line 8" */
static void print_rounds(const struct nki_program *program, const struct nki_round *const apart[2],
                         struct buf *out) {
    buf_printf(out, "%s %lld and %lld of the %s", apart[0]->is_program ? "programs" : "rounds",
               (long long)apart[0]->item, (long long)apart[1]->item,
               apart[0]->is_program ? "launch" : "loop");
    if (apart[0]->is_program)
        return;
    buf_puts(out, " in ");
    nki_loc_say(program, apart[0]->loc, out);
}

static struct seen *seen_of(struct walk *w, uint32_t storage) {
    if (!w->seen[storage])
        w->seen[storage] = mem_alloc(1, sizeof *w->seen[storage]);
    return w->seen[storage];
}

static int64_t work_of(int64_t elements) {
    return 1 + elements / ELEMENTS_OF_WORK;
}

static void tell_unseen(const struct walk *w, uint32_t storage, const char *why) {
    device_report(w->program, w->diags, DIAG_WARNING, w->program->instrs.at[w->instr].loc,
                  "hone-rounds-unseen",
                  "from here on hone has not looked whether rounds that may run in any order meet "
                  "in `%s`%s",
                  w->program->storages.at[storage]->name, why);
}

/* Whether the work may be done. That work is left out is told once. */
static bool may_look(struct walk *w, uint32_t storage, int64_t work) {
    w->work -= work;
    if (w->work < 0 && !w->told_unseen)
        tell_unseen(w, storage, " and in other tensors: they are written too often");
    w->told_unseen |= w->work < 0;
    return w->work >= 0;
}

/* ---- two rounds that write one place --------------------------------------------------------- */

static struct check_elements elements_of(const struct walk *w, uint32_t storage, uint8_t *bits) {
    const struct nki_storage *s = w->program->storages.at[storage];
    size_t size = MAX_OF(dtype_bytes(s->dtype), 1u);
    return (struct check_elements){bits, (int64_t)(s->bytes / size), size};
}

/* False after an error: the access writes what another round wrote. */
static bool look_back(struct walk *w, struct seen *seen, const struct nki_ap *ap) {
    struct check_elements own = elements_of(w, ap->storage, NULL);
    const struct nki_round *apart[2];
    own.bits = mem_alloc((size_t)own.n / 8 + 1, 1);
    check_elements_add(&own, ap);
    int64_t found = -1;
    for (size_t i = seen->writes.len; found < 0 && i-- > 0;)
        if (are_apart(w->program, seen->writes.at[i].round, w->round, apart))
            found = check_elements_find(&own, seen->writes.at[i].ap);
    free(own.bits);
    if (found < 0)
        return true;
    struct buf text = {0};
    print_rounds(w->program, apart, &text);
    buf_puts(&text, " both write ");
    check_print_element(w->program->storages.at[ap->storage], found, &text);
    buf_printf(&text, ", and %s may run in any order: write to another place in each%s",
               apart[0]->is_program ? "programs" : "rounds of nl.affine_range",
               apart[0]->is_program ? "" : ", or use nl.sequential_range");
    device_report(w->program, w->diags, DIAG_ERROR, w->program->instrs.at[w->instr].loc,
                  "err_unexpected_output_dependencies", "%s", text.at);
    buf_free(&text);
    return false;
}

/* A plain store to HBM. False after an error. */
static bool note_store(struct walk *w, const struct nki_ap *ap) {
    struct seen *seen = seen_of(w, ap->storage);
    uint32_t outermost = outermost_loop(w->program, w->round);
    struct check_elements all = elements_of(w, ap->storage, seen->bits);
    if (outermost && all.n > MOST_ELEMENTS && !seen->told_unseen) {
        tell_unseen(w, ap->storage, ": it is too large");
        seen->told_unseen = true;
    }
    if (!outermost || all.n > MOST_ELEMENTS)
        return true;
    if (!seen->bits)
        seen->bits = all.bits = mem_alloc((size_t)all.n / 8 + 1, 1);
    else if (seen->outermost != outermost)
        memset(seen->bits, 0, (size_t)all.n / 8 + 1);
    if (seen->outermost != outermost)
        seen->writes.len = 0;
    seen->outermost = outermost;
    if (check_elements_find(&all, ap) >= 0 &&
        may_look(w, ap->storage, work_of(all.n / 8) + (int64_t)seen->writes.len) &&
        !look_back(w, seen, ap))
        return false;
    check_elements_add(&all, ap);
    *vec_push(&seen->writes) = (struct past){ap, w->instr, w->round, true};
    return true;
}

/* ---- what is carried --------------------------------------------------------------------------
 */

static bool same_pattern(const struct nki_ap *a, const struct nki_ap *b) {
    return a == b || (a->storage == b->storage && a->partition == b->partition &&
                      a->offset == b->offset && a->dtype == b->dtype && a->n_dims == b->n_dims &&
                      !memcmp(a->step, b->step, a->n_dims * sizeof *a->step) &&
                      !memcmp(a->count, b->count, a->n_dims * sizeof *a->count));
}

static bool may_meet(const struct nki_program *program, const struct nki_ap *a,
                     const struct nki_ap *b) {
    int64_t low[2], high[2];
    bool on_chip = program->storages.at[a->storage]->space != NKI_HBM;
    device_ap_span(program, a, &low[0], &high[0]);
    device_ap_span(program, b, &low[1], &high[1]);
    if (on_chip && (a->partition >= b->partition + (uint32_t)b->count[0] ||
                    b->partition >= a->partition + (uint32_t)a->count[0]))
        return false;
    return a->dtype != b->dtype || (low[0] <= high[1] && low[1] <= high[0]);
}

/* Whether the instruction adds to what it writes, or the like. */
static bool is_sum(const struct nki_instr *instr, const struct nki_ap *read) {
    static const enum nki_func sums[] = {NKI_FUNC_ADD,         NKI_FUNC_MULTIPLY,
                                         NKI_FUNC_MAXIMUM,     NKI_FUNC_MINIMUM,
                                         NKI_FUNC_LOGICAL_AND, NKI_FUNC_LOGICAL_OR};
    const struct nki_operand *dst = &instr->operands[NKI_DST];
    if (dst->kind != NKI_OPERAND_AP || !same_pattern(dst->ap, read))
        return false;
    for (size_t k = 0; k < instr->n_operands; k++)
        for (size_t f = 0; instr->operands[k].kind == NKI_OPERAND_FUNC && f < COUNT_OF(sums); f++)
            if (instr->operands[k].i == (int64_t)sums[f])
                return true;
    return false;
}

/* Whether the lint said so of this line. */
static bool is_told(const struct walk *w, uint32_t loc, const char *code) {
    for (size_t i = 0; i < w->diags->all.len; i++)
        if (w->diags->all.at[i].line == (int)w->program->locs.at[loc].line &&
            strcmp(w->diags->all.at[i].code, code) == 0)
            return true;
    return false;
}

static void warn_carried(const struct walk *w, const struct past *past,
                         const struct nki_round *const apart[2]) {
    static const char code[] = "hone-carried-value";
    const struct nki_program *program = w->program;
    uint32_t loc = program->instrs.at[w->instr].loc;
    struct buf text = {0};
    if (is_told(w, loc, code))
        return;
    print_rounds(program, apart, &text);
    buf_printf(&text, ": the second reads here what the first wrote to `%s` in ",
               program->storages.at[past->ap->storage]->name);
    nki_loc_say(program, program->instrs.at[past->instr].loc, &text);
    device_report(program, w->diags, DIAG_WARNING, loc, code,
                  "%s, but they may run in any order, so the value is undefined%s", text.at,
                  apart[0]->is_program ? "" : ": use nl.sequential_range");
    buf_free(&text);
}

/* The part of a pattern that is in one partition, counted from element `low` of it. */
static struct nki_ap row_of(const struct walk *w, const struct nki_ap *ap, int64_t low) {
    struct nki_ap row = *ap;
    if (w->program->storages.at[ap->storage]->space != NKI_HBM) {
        row.step++;
        row.count++;
        row.n_dims--;
    }
    row.offset -= low;
    return row;
}

static bool has_partitions_of(const struct nki_ap *a, const struct nki_ap *b) {
    return a->partition <= b->partition &&
           a->partition + (uint32_t)a->count[0] >= b->partition + (uint32_t)b->count[0];
}

/* The last write of another round that the read sees, past those of its own round. NULL: there is
 * none, or it cannot be told. */
static const struct past *find_carried(struct walk *w, const struct seen *seen,
                                       const struct nki_ap *ap, size_t n,
                                       struct check_elements *rest, int64_t low) {
    bool on_chip = w->program->storages.at[ap->storage]->space != NKI_HBM;
    const struct nki_round *apart[2];
    for (; n > 0; n--) {
        const struct past *past = &seen->past.at[n - 1];
        if (!may_look(w, ap->storage, work_of(nki_ap_free(past->ap))))
            return NULL;
        if (!may_meet(w->program, past->ap, ap))
            continue;
        struct nki_ap row = row_of(w, past->ap, low);
        if (past->round == NKI_ROUND_UNKNOWN || past->ap->dtype != ap->dtype || past->ap->indirect)
            return NULL;
        if (check_elements_find(rest, &row) < 0)
            continue;
        if (are_apart(w->program, past->round, w->round, apart))
            return past;
        check_elements_remove(rest, &row);
        if ((on_chip && !has_partitions_of(past->ap, ap)) || check_elements_none(rest))
            return NULL;
    }
    return NULL;
}

/* The same where patterns differ: element by element. */
static const struct past *find_by_element(struct walk *w, const struct seen *seen,
                                          const struct nki_ap *ap, size_t n) {
    int64_t low, high;
    device_ap_span(w->program, ap, &low, &high);
    struct check_elements rest = {.n = high - low + 1, .size = MAX_OF(dtype_bytes(ap->dtype), 1u)};
    if (!may_look(w, ap->storage, work_of(rest.n)))
        return NULL;
    struct nki_ap row = row_of(w, ap, low);
    rest.bits = mem_alloc((size_t)rest.n / 8 + 1, 1);
    check_elements_add(&rest, &row);
    const struct past *found = find_carried(w, seen, ap, n, &rest, low);
    free(rest.bits);
    return found;
}

/* The place of a pattern among the latest writes; of another one where all are taken. */
static struct past *latest_of(const struct walk *w, const struct nki_ap *ap) {
    uint64_t hash = ((uint64_t)ap->storage ^ (uint64_t)ap->offset << 32 ^ ap->partition) *
                    0x9e3779b97f4a7c15ULL;
    for (uint32_t k = 0; k < PROBES; k++) {
        struct past *past = &w->latest[((hash >> 32) + k) & (w->n_latest - 1)];
        if (!past->ap || same_pattern(past->ap, ap))
            return past;
    }
    return &w->latest[(hash >> 32) & (w->n_latest - 1)];
}

/* Whether no other round can have written what is read: the storage was last written before the
 * outermost loop, or all that is read was written in this round, as it mostly is, or in a copy. */
static bool is_settled(const struct walk *w, const struct seen *seen, const struct nki_ap *ap) {
    uint32_t last = seen->past.at[seen->past.len - 1].round;
    const struct past *latest = latest_of(w, ap);
    if (outermost_loop(w->program, last) != outermost_loop(w->program, w->round))
        return true;
    return latest->ap && same_pattern(latest->ap, ap) &&
           (latest->round == NKI_ROUND_UNKNOWN || is_within(w->program, latest->round, w->round));
}

/* Looks from the last write back for the one that the read sees. */
static void note_read(struct walk *w, const struct nki_ap *ap) {
    struct seen *seen = w->seen[ap->storage];
    const struct nki_round *apart[2];
    const struct past *past = NULL;
    if (!seen || seen->told || ap->indirect || !seen->past.len || is_settled(w, seen, ap))
        return;
    for (size_t n = seen->past.len; n > 0 && !past; n--) {
        if (!may_look(w, ap->storage, 1))
            return;
        if (may_meet(w->program, seen->past.at[n - 1].ap, ap))
            past = same_pattern(seen->past.at[n - 1].ap, ap) ? &seen->past.at[n - 1]
                                                             : find_by_element(w, seen, ap, n);
        else
            continue;
        if (!past)
            return;
    }
    if (!past || past->round == NKI_ROUND_UNKNOWN ||
        !are_apart(w->program, past->round, w->round, apart))
        return;
    warn_carried(w, past, apart);
    seen->told = true;
}

/* ---- what the last round leaves -------------------------------------------------------------- */

/* The outermost round around `round` whose loop the reader is not in; NULL: there is none. */
static const struct nki_round *ended_of(const struct walk *w, uint32_t round) {
    uint32_t path[MOST_DEPTH], own[MOST_DEPTH];
    int n = path_of(w->program, round, path), m = path_of(w->program, w->round, own);
    for (int i = 0; i < n; i++) {
        const struct nki_round *one = &w->program->rounds.at[path[i]];
        if (i >= m || one->loop != w->program->rounds.at[own[i]].loop)
            return one;
    }
    return NULL;
}

static bool is_of_loop(const struct walk *w, uint32_t round, uint32_t loop) {
    uint32_t path[MOST_DEPTH];
    for (int n = path_of(w->program, round, path); n > 0; n--)
        if (w->program->rounds.at[path[n - 1]].loop == loop)
            return true;
    return false;
}

static void warn_last(struct walk *w, uint32_t storage, const struct nki_round *const apart[2]) {
    struct buf text = {0};
    print_rounds(w->program, apart, &text);
    device_report(w->program, w->diags, DIAG_WARNING, w->program->instrs.at[w->instr].loc,
                  "hone-last-round",
                  "%s both write `%s`, which is read here, behind the loop; they may run in any "
                  "order, so either may be the last: use nl.sequential_range, or write to another "
                  "place in each",
                  text.at, w->program->storages.at[storage]->name);
    buf_free(&text);
}

/* A tile is read behind a loop in any order, of which two rounds wrote all that is read. */
static void note_last(struct walk *w, const struct nki_ap *ap) {
    struct seen *seen = w->seen[ap->storage];
    if (!seen || seen->told_last || !seen->past.len || ap->indirect ||
        w->program->storages.at[ap->storage]->space == NKI_HBM)
        return;
    const struct past *last = &seen->past.at[seen->past.len - 1];
    bool known = last->round && last->round != NKI_ROUND_UNKNOWN && last->plain;
    const struct nki_round *ended = known ? ended_of(w, last->round) : NULL;
    if (!ended || ended->is_program || !same_pattern(last->ap, ap))
        return;
    for (size_t i = seen->past.len - 1; i-- > 0;) {
        const struct past *past = &seen->past.at[i];
        const struct nki_round *apart[2];
        if (!may_look(w, ap->storage, 1) || !is_of_loop(w, past->round, ended->loop) ||
            !past->plain || !same_pattern(past->ap, ap))
            return;
        if (!are_apart(w->program, past->round, last->round, apart) ||
            apart[0]->loop != ended->loop)
            continue;
        warn_last(w, ap->storage, apart);
        seen->told_last = true;
        return;
    }
}

static void note_write(struct walk *w, const struct nki_ap *ap, bool plain) {
    struct past past = {ap, w->instr, w->round, plain};
    *vec_push(&seen_of(w, ap->storage)->past) = past;
    *latest_of(w, ap) = past;
}

/* ---- the program ------------------------------------------------------------------------------
 */

/* Whether the instruction reads where it writes: a sum, or another step from the last value. */
static bool reads(const struct device_operand *operands, size_t n, const struct nki_ap *written) {
    for (size_t k = 0; k < n; k++)
        if (operands[k].is_src && operands[k].ap->storage == written->storage)
            return true;
    return false;
}

/* False after an error. */
static bool look_at(struct walk *w) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(w->image, w->instr, operands);
    const struct nki_instr *instr = &w->program->instrs.at[w->instr];
    for (size_t k = 0; k < n; k++)
        if (!operands[k].is_dst && w->round && w->round != NKI_ROUND_UNKNOWN &&
            !is_sum(instr, operands[k].ap))
            note_read(w, operands[k].ap);
    for (size_t k = 0; k < n; k++)
        if (operands[k].is_src && !operands[k].is_dst)
            note_last(w, operands[k].ap);
    for (size_t k = 0; k < n; k++) {
        const struct nki_ap *ap = operands[k].ap;
        bool plain = !operands[k].is_src && !ap->indirect && instr->op == NKI_OP_DMA_COPY;
        if (!operands[k].is_dst)
            continue;
        bool sums = operands[k].is_src || instr->more->mask || reads(operands, n, ap);
        note_write(w, ap, !sums && instr->op != NKI_OP_MEMSET);
        if (plain && w->program->storages.at[ap->storage]->space == NKI_HBM && !note_store(w, ap))
            return false;
    }
    return true;
}

static void free_seen(struct walk *w) {
    for (size_t s = 0; s < w->program->storages.len; s++) {
        if (!w->seen[s])
            continue;
        vec_free(&w->seen[s]->past);
        vec_free(&w->seen[s]->writes);
        free(w->seen[s]->bits);
        free(w->seen[s]);
    }
    free(w->seen);
}

bool check_rounds(struct device_image *image, struct diag_list *diags) {
    const struct nki_program *program = image->program;
    struct walk w = {.image = image, .program = program, .diags = diags};
    bool good = true;
    size_t m = 0;
    if (!program->rounds.len)
        return true;
    for (w.n_latest = 256; w.n_latest < MOST_LATEST && w.n_latest < 2 * program->instrs.len;)
        w.n_latest *= 2;
    w.latest = mem_alloc(w.n_latest, sizeof *w.latest);
    w.work = MOST_WORK + MORE_WORK * (int64_t)program->instrs.len;
    w.seen = mem_alloc(program->storages.len + 1, sizeof *w.seen);
    for (; w.instr < program->instrs.len && good; w.instr++) {
        for (; m < program->round_marks.len && program->round_marks.at[m].first <= w.instr; m++)
            w.round = program->round_marks.at[m].round;
        good = look_at(&w);
    }
    free_seen(&w);
    free(w.latest);
    return good;
}
