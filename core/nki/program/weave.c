/* SPDX-License-Identifier: Apache-2.0 */
/* The two cores of a launch in step. Each was evaluated alone, so their instructions follow each
 * other. Here they are put in an order in which each comes after all that it needs of the other
 * core: stretches of one core between two meetings, and the pairs that meet. Both have to meet in
 * the same order; on the device cores that do not wait for each other until the runtime gives up
 * (NRT_TIMEOUT, LNC guide). */
#include "nki/program/program.h"

#include <stdlib.h>

bool nki_op_meets(enum nki_op op) {
    return op == NKI_OP_SENDRECV || op == NKI_OP_CORE_BARRIER || op == NKI_OP_COLLECTIVE;
}

/* Where the cores meet: numbers of instructions. */
struct meetings {
    VEC(uint32_t) of[2];
};

static const struct nki_instr *meeting(const struct nki_program *program,
                                       const struct meetings *meetings, int core, size_t k) {
    return &program->instrs.at[meetings->of[core].at[k]];
}

/* ---- what does not fit ---------------------------------------------------------------------- */

static void print_place(const struct nki_program *program, uint32_t loc, struct buf *out) {
    if (loc >= program->locs.len)
        return;
    const struct nki_loc *at = &program->locs.at[loc];
    buf_printf(out, " at %s:%u", at->file < program->files.len ? program->files.at[at->file] : "",
               at->line);
}

/* "nisa.core_barrier", "nccl.all_reduce" */
static void print_call(const struct nki_instr *instr, struct buf *out) {
    static const char *const collectives[] = {
        [NKI_COLLECTIVE_REDUCE] = "all_reduce",
        [NKI_COLLECTIVE_GATHER] = "all_gather",
        [NKI_COLLECTIVE_SCATTER] = "reduce_scatter",
        [NKI_COLLECTIVE_SWAP] = "all_to_all",
        [NKI_COLLECTIVE_PASS] = "collective_permute",
        [NKI_COLLECTIVE_COMBINE] = "collective_permute_implicit_reduce",
        [NKI_COLLECTIVE_GATHER_V] = "all_gather_v",
        [NKI_COLLECTIVE_SWAP_V] = "all_to_all_v",
    };
    if (instr->op != NKI_OP_COLLECTIVE) {
        buf_printf(out, "nisa.%s", nki_op_name((enum nki_op)instr->op));
        return;
    }
    int64_t kind = instr->operands[NKI_COLLECTIVE_kind].i;
    bool known = kind >= 0 && kind < (int64_t)COUNT_OF(collectives);
    buf_printf(out, "nccl.%s", known ? collectives[kind] : "collective");
}

/* "nisa.core_barrier(y) of core 1 at kernel.py:12" */
static void print_side(const struct nki_program *program, const struct nki_instr *instr,
                       struct buf *out) {
    const char *name = "";
    if (instr->operands[NKI_DST].kind == NKI_OPERAND_AP)
        name = program->storages.at[instr->operands[NKI_DST].ap->storage]->name;
    print_call(instr, out);
    buf_printf(out, "(%s) of core %u", name, instr->core);
    print_place(program, instr->loc, out);
}

static bool report(const struct nki_program *program, const struct nki_instr *instr,
                   struct diag_list *diags, struct buf *text) {
    const struct nki_loc *at =
        instr->loc < program->locs.len ? &program->locs.at[instr->loc] : NULL;
    diag_add(diags, DIAG_ERROR, "hone-cores-differ", at ? program->files.at[at->file] : "",
             at ? (int)at->line : 0, at ? (int)at->column : 0, "%s", text->at);
    buf_free(text);
    return false;
}

/* One core has one meeting more than the other. */
static bool report_alone(const struct nki_program *program, const struct meetings *meetings,
                         struct diag_list *diags) {
    int more = meetings->of[1].len > meetings->of[0].len;
    size_t common = meetings->of[1 - more].len;
    const struct nki_instr *alone = meeting(program, meetings, more, common);
    struct buf text = {0};
    print_side(program, alone, &text);
    buf_printf(&text, " waits for core %d for ever, which %s", 1 - more,
               common ? "meets it for the last time in " : "never meets it");
    if (common)
        print_side(program, meeting(program, meetings, 1 - more, common - 1), &text);
    buf_printf(&text,
               " (%zu times on core 0, %zu on core 1): both cores have to call it, in the "
               "same order",
               meetings->of[0].len, meetings->of[1].len);
    return report(program, alone, diags, &text);
}

static void print_shape(const struct nki_ap *ap, struct buf *out) {
    for (int d = 0; d < ap->n_dims; d++)
        buf_printf(out, "%s%d", d ? " x " : "", ap->count[d]);
    buf_printf(out, " %s", dtype_name(ap->dtype));
}

static bool report_pair(const struct nki_program *program, const struct nki_instr *const *pair,
                        const char *what, struct diag_list *diags) {
    struct buf text = {0};
    print_side(program, pair[0], &text);
    buf_puts(&text, " meets ");
    print_side(program, pair[1], &text);
    buf_printf(&text, ": %s", what);
    return report(program, pair[1], diags, &text);
}

/* ---- whether a pair fits -------------------------------------------------------------------- */

static bool fits(const struct nki_ap *sent, const struct nki_ap *received) {
    return sent->dtype == received->dtype && sent->count[0] == received->count[0] &&
           nki_ap_count(sent) == nki_ap_count(received);
}

static bool check_exchange(const struct nki_program *program, const struct nki_instr *const *pair,
                           struct diag_list *diags) {
    for (int core = 0; core < 2; core++) {
        const struct nki_ap *sent = pair[core]->operands[NKI_SENDRECV_src].ap;
        const struct nki_ap *received = pair[1 - core]->operands[NKI_SENDRECV_dst].ap;
        struct buf what = {0};
        bool good = fits(sent, received);
        if (!good) {
            buf_printf(&what, "core %d sends ", core);
            print_shape(sent, &what);
            buf_printf(&what, ", core %d receives ", 1 - core);
            print_shape(received, &what);
            report_pair(program, pair, what.at, diags);
        }
        buf_free(&what);
        if (!good)
            return false;
    }
    if (pair[0]->engine != pair[1]->engine)
        return report_pair(program, pair, "one uses dma_engine.dma, the other gpsimd_dma", diags);
    return true;
}

/* Whether both cores name the same elements. */
static bool same_place(const struct nki_operand *a, const struct nki_operand *b) {
    if (a->kind != NKI_OPERAND_AP || b->kind != NKI_OPERAND_AP)
        return a->kind == b->kind;
    return a->ap == b->ap ||
           (a->ap->storage == b->ap->storage && a->ap->partition == b->ap->partition &&
            a->ap->offset == b->ap->offset && a->ap->n_dims == b->ap->n_dims &&
            !memcmp(a->ap->step, b->ap->step, a->ap->n_dims * sizeof(int64_t)) &&
            !memcmp(a->ap->count, b->ap->count, a->ap->n_dims * sizeof(int32_t)));
}

bool nki_collective_is_shared(const struct nki_instr *one, const struct nki_instr *other) {
    return same_place(&one->operands[NKI_COLLECTIVE_dst], &other->operands[NKI_COLLECTIVE_dst]);
}

/* How two calls of a collective differ; NULL: they fit. */
static const char *unlike_collectives(const struct nki_program *program,
                                      const struct nki_instr *const *pair) {
    const struct nki_operand *a = pair[0]->operands, *b = pair[1]->operands;
    for (size_t k = 0; k < pair[0]->n_operands; k++) {
        bool tensors = a[k].kind == NKI_OPERAND_AP && b[k].kind == NKI_OPERAND_AP;
        if (tensors &&
            (!fits(a[k].ap, b[k].ap) || program->storages.at[a[k].ap->storage]->space !=
                                            program->storages.at[b[k].ap->storage]->space))
            return "their tensors have other shapes, types or memories; both cores of a rank do "
                   "the same, each with a part of its own or both with one tensor";
        if (!tensors && (a[k].kind != b[k].kind || a[k].i != b[k].i))
            return "they do not do the same with the same group; both cores of a rank have to";
    }
    if (nki_collective_is_shared(pair[0], pair[1]) &&
        !same_place(&a[NKI_COLLECTIVE_src], &b[NKI_COLLECTIVE_src]))
        return "both write one tensor, and each reads another one";
    return NULL;
}

static bool check_pair(const struct nki_program *program, const struct nki_instr *const *pair,
                       struct diag_list *diags) {
    static const char order[] =
        "each waits for the other one's next call for ever; both cores have "
        "to call the same, in the same order";
    if (pair[0]->op != pair[1]->op)
        return report_pair(program, pair, order, diags);
    if (pair[0]->op == NKI_OP_SENDRECV)
        return pair[0]->operands[NKI_SENDRECV_pipe_id].i !=
                       pair[1]->operands[NKI_SENDRECV_pipe_id].i
                   ? report_pair(program, pair, "their pipe_id differ", diags)
                   : check_exchange(program, pair, diags);
    if (pair[0]->op == NKI_OP_COLLECTIVE) {
        const char *what = unlike_collectives(program, pair);
        return !what || report_pair(program, pair, what, diags);
    }
    const struct nki_ap *data[2] = {pair[0]->operands[NKI_DST].ap, pair[1]->operands[NKI_DST].ap};
    if (data[0]->storage != data[1]->storage &&
        program->storages.at[data[0]->storage]->space == NKI_HBM)
        return report_pair(program, pair,
                           "they name different tensors; a barrier is of one in nl.shared_hbm",
                           diags);
    return true;
}

/* ---- weaving -------------------------------------------------------------------------------- */

/* Appends what the core does before `end`. */
static void take_until(const struct nki_program *program, struct nki_program *woven, uint8_t core,
                       uint32_t *next, uint32_t end) {
    for (; *next < end; ++*next)
        if (program->instrs.at[*next].core == core)
            *vec_push(&woven->instrs) = program->instrs.at[*next];
}

static void take_pair(const struct nki_program *program, struct nki_program *woven,
                      uint32_t *next) {
    for (int core = 0; core < 2; core++) {
        uint32_t number = (uint32_t)woven->instrs.len;
        *vec_push(&woven->instrs) = program->instrs.at[next[core]++];
        struct nki_instr *instr = &woven->instrs.at[number];
        struct nki_more *more = arena_dup(program->arena, instr->more, sizeof *more);
        more->mate = core == 0 ? number + 2 : number;
        instr->more = more;
    }
}

/* ---- loops of the device --------------------------------------------------------------------- */

/* What the cores do at a loop of the device: how often their sequencers branch, each once for each
 * round and once at the end, and whether a register counts the rounds. */
struct loop_use {
    uint32_t branches[2];
    bool counted;
};

static bool is_branch(const struct nki_instr *instr) {
    return instr->op == NKI_OP_LOOP_BRANCH;
}

static struct loop_use *loop_uses(const struct nki_program *program, size_t *first_branch) {
    struct loop_use *uses = mem_alloc(program->locs.len + 1, sizeof *uses);
    *first_branch = program->instrs.len;
    for (size_t i = program->instrs.len; i-- > 0;) {
        const struct nki_instr *instr = &program->instrs.at[i];
        if (!is_branch(instr) || instr->loc >= program->locs.len)
            continue;
        *first_branch = i;
        uses[instr->loc].branches[instr->core & 1]++;
        uses[instr->loc].counted |= instr->operands[NKI_LOOP_BRANCH_dst].kind == NKI_OPERAND_REG;
    }
    return uses;
}

static bool report_loop(const struct nki_program *program, uint32_t loc, struct diag_list *diags,
                        const char *text) {
    const struct nki_loc *at = &program->locs.at[loc];
    diag_add(diags, DIAG_ERROR, "NCC_IXGM002", program->files.at[at->file], (int)at->line,
             (int)at->column, "%s", text);
    return false;
}

#define SEQUENCERS 4 /* each branches at each round */

static bool same_rounds(const struct nki_program *program, uint32_t loc, const struct loop_use *use,
                        struct diag_list *diags) {
    uint32_t one = use->branches[0], other = use->branches[1];
    if (use->counted || one == other || MIN_OF(one, other) <= SEQUENCERS)
        return true;
    struct buf text = {0};
    buf_printf(&text,
               "core 0 branches %u times at this loop and core 1 %u times, once more than there "
               "are rounds; a loop on the device has as many rounds on both cores",
               one / SEQUENCERS, other / SEQUENCERS);
    report_loop(program, loc, diags, text.at);
    buf_free(&text);
    return false;
}

/* Both cores have the same loops on the device, with as many rounds: the program of each has to be
 * the same as for control flow (LNC guide; NCC_IXGM002). A core that has nothing to do runs the
 * loop for no round. Where registers count the rounds, nobody knows how many there are. */
static bool check_loops(const struct nki_program *program, struct diag_list *diags) {
    size_t first = 0, n[2] = {0, 0};
    uint32_t alone[2] = {0, 0};
    struct loop_use *uses = loop_uses(program, &first);
    bool good = true;
    for (uint32_t loc = 0; first < program->instrs.len && loc < program->locs.len; loc++) {
        const struct loop_use *use = &uses[loc];
        for (int core = 0; core < 2; core++) {
            n[core] += use->branches[core] > 0;
            alone[core] = use->branches[core] && !use->branches[1 - core] ? loc : alone[core];
        }
        good = good && same_rounds(program, loc, use, diags);
    }
    free(uses);
    if (!good || n[0] == n[1])
        return good;
    return report_loop(program, alone[n[1] > n[0]], diags,
                       "only one core has this loop on the device; both cores have to have it: let "
                       "the other one run it for no round");
}

bool nki_program_weave(struct nki_program *program, struct diag_list *diags) {
    struct meetings meetings = {0};
    struct nki_program woven = {0};
    uint32_t n = (uint32_t)program->instrs.len, next[2] = {0, 0};
    for (uint32_t i = 0; i < n; i++)
        if (nki_op_meets((enum nki_op)program->instrs.at[i].op))
            *vec_push(&meetings.of[program->instrs.at[i].core & 1]) = i;
    size_t common = MIN_OF(meetings.of[0].len, meetings.of[1].len);
    bool good = check_loops(program, diags);
    for (size_t k = 0; good && k < common; k++) {
        const struct nki_instr *pair[2] = {meeting(program, &meetings, 0, k),
                                           meeting(program, &meetings, 1, k)};
        good = check_pair(program, pair, diags);
        for (uint8_t core = 0; core < 2; core++)
            take_until(program, &woven, core, &next[core], meetings.of[core].at[k]);
        take_pair(program, &woven, next);
    }
    if (good && meetings.of[0].len != meetings.of[1].len)
        good = report_alone(program, &meetings, diags);
    for (uint8_t core = 0; core < 2; core++)
        take_until(program, &woven, core, &next[core], n);
    if (good && common) { /* loops are no stretches of instructions any more */
        void *old = program->instrs.at;
        memcpy(&program->instrs, &woven.instrs, sizeof woven.instrs);
        free(old);
        memset(&woven.instrs, 0, sizeof woven.instrs);
        program->repeats.len = 0;
    }
    vec_free(&woven.instrs);
    for (int core = 0; core < 2; core++)
        vec_free(&meetings.of[core]);
    return good;
}
