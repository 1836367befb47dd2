/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/programs.h"

#include "device/image/inner.h"
#include "fuzz/fuzz.h"

uint32_t dice_roll(struct dice *dice, uint32_t n) {
    if (dice->left) {
        dice->state += *dice->data++;
        dice->left--;
    }
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice->state >> 33) % n;
}

static enum dtype any_dtype(struct dice *dice) {
    static const enum dtype usual[] = {DTYPE_FLOAT32, DTYPE_BFLOAT16, DTYPE_INT32};
    return dice_roll(dice, 3) ? usual[dice_roll(dice, 3)]
                              : (enum dtype)(1 + dice_roll(dice, DTYPE_COUNT - 1));
}

#define ROWS 64
#define COLUMNS 48

static void storages(struct build *b, struct dice *dice) {
    static const int rows[] = {1, 16, 32, 64, 64, 64};
    for (int i = 0; i < 10; i++) {
        enum dtype dtype = i < 4 ? DTYPE_FLOAT32 : any_dtype(dice);
        int p = rows[dice_roll(dice, COUNT_OF(rows))], f = dice_roll(dice, 3) ? COLUMNS : 8;
        switch (dice_roll(dice, 5)) {
        case 0: build_output(b, dtype, p, f); break;
        case 1: build_tile(b, NKI_PSUM, dtype, p, f); break;
        case 2:
            if (b->n_inputs < 4 && dtype_kind(dtype) != 'x') {
                float values[ROWS * COLUMNS];
                for (size_t k = 0; k < COUNT_OF(values); k++)
                    values[k] = (float)dice_roll(dice, 20) - 5;
                build_input(b, dtype, p, f, values);
                break;
            }
            build_hbm(b, dtype, p, f);
            break;
        case 3: {
            uint32_t s = build_tile(b, NKI_SBUF, dtype, p, f * 2);
            b->program->storages.at[s]->blocks = 2;
            b->program->storages.at[s]->block_bytes /= 2;
            break;
        }
        default: build_tile(b, NKI_SBUF, dtype, p, f);
        }
    }
}

/* They return nothing, so that few writes are enough. */
static void two_cores(struct build *b) {
    b->program->cores = 2;
    for (size_t k = 0; k < b->program->outputs.len; k++)
        b->program->storages.at[b->program->outputs.at[k]]->output = -1;
    b->program->outputs.len = 0;
}

struct build programs_begin(struct dice *dice) {
    static const char *const generations[] = {"trn1", "trn2", "trn3"};
    struct build b = build_start(generations[dice_roll(dice, 3)]);
    b.program->dialect = dice_roll(dice, 2) ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
    storages(&b, dice);
    if (b.program->dialect == NKI_DIALECT_CURRENT && dice_roll(dice, 3) == 0)
        two_cores(&b);
    return b;
}

/* ---- two cores ------------------------------------------------------------------------------ */

/* What is written belongs to the core of its number's parity. False for an instruction that touches
 * what belongs to both. */
static bool choose_core(struct build *b, struct nki_instr *instr) {
    bool of[2] = {false, false};
    for (size_t k = 0; k < instr->n_operands; k++) {
        const struct nki_operand *operand = &instr->operands[k];
        bool list = operand->kind == NKI_OPERAND_APS;
        for (uint32_t i = 0;
             (list || operand->kind == NKI_OPERAND_AP) && i < (list ? operand->n : 1); i++) {
            const struct nki_ap *ap = list ? operand->aps[i] : operand->ap;
            of[ap->storage % 2] |= b->program->storages.at[ap->storage]->input < 0 || k == NKI_DST;
            if (ap->indirect && ap->indirect->index)
                of[ap->indirect->index->storage % 2] = true;
        }
    }
    instr->core = of[1];
    return !(of[0] && of[1]);
}

static const struct nki_ap *any_ap(struct build *b, struct dice *dice, int depth);
static const struct nki_ap *alike(struct build *b, struct dice *dice, const struct nki_ap *like);

/* A view of what belongs to the core, of the shape and mostly of the type. */
static const struct nki_ap *of_core(struct build *b, struct dice *dice, const struct nki_ap *like,
                                    uint8_t core) {
    for (int tries = 0; tries < 60; tries++) {
        const struct nki_ap *ap = alike(b, dice, like);
        if (ap->storage % 2 == core && (ap->dtype == like->dtype || dice_roll(dice, 300) == 0))
            return ap;
    }
    return NULL;
}

static void add_exchange(struct build *b, struct dice *dice) {
    const struct nki_ap *like = any_ap(b, dice, 0), *ap[4];
    for (int k = 0; k < 4; k++)
        if (!(ap[k] = of_core(b, dice, like, (uint8_t)(k / 2))))
            return;
    for (uint8_t core = 0; core < 2; core++) {
        struct nki_operand operands[] = {tile(ap[2 * core]), tile(ap[2 * core + 1]),
                                         integer(1 - core), integer(1 - core),
                                         integer(dice_roll(dice, 300) == 0)};
        build_instr(b, NKI_OP_SENDRECV, operands, COUNT_OF(operands))->core = core;
    }
}

/* A collective of both: of one tensor, or of tiles alike. */
static void add_collective(struct build *b, struct dice *dice) {
    const struct nki_ap *dst[2] = {any_ap(b, dice, 0)}, *src[2] = {alike(b, dice, dst[0])};
    bool shared = dice_roll(dice, 2);
    int64_t kind = dice_roll(dice, 8) ? NKI_COLLECTIVE_REDUCE : dice_roll(dice, 8);
    for (uint8_t core = 0; core < 2; core++) {
        dst[core] = core && !shared ? alike(b, dice, dst[0]) : dst[0];
        src[core] = core && !shared ? alike(b, dice, src[0]) : src[0];
        const struct nki_operand operands[] = {tile(dst[core]),    tile(src[core]), integer(kind),
                                               integer(2),         integer(0),      none(),
                                               func(NKI_FUNC_ADD), integer(0)};
        build_instr(b, NKI_OP_COLLECTIVE, operands, COUNT_OF(operands))->core = core;
    }
}

/* Both cores meet, mostly with tiles that fit. */
static void add_meeting(struct build *b, struct dice *dice) {
    const struct nki_ap *data = any_ap(b, dice, 0);
    if (dice_roll(dice, 2)) {
        add_exchange(b, dice);
        return;
    }
    if (dice_roll(dice, 3) == 0) {
        add_collective(b, dice);
        return;
    }
    for (uint8_t core = 0; core < 2; core++)
        build_instr(b, NKI_OP_CORE_BARRIER, (const struct nki_operand[]){tile(data)}, 1)->core =
            core;
}

void programs_end(struct build *b) {
    if (b->program->cores == 2 && nki_program_weave(b->program, &b->diags))
        return;
    if (b->program->cores == 2)
        b->program->instrs.len = 0;
}

/* ---- instructions --------------------------------------------------------------------------- */

static const struct nki_ap *any_ap(struct build *b, struct dice *dice, int depth) {
    uint32_t s = dice_roll(dice, (uint32_t)b->program->storages.len);
    struct nki_ap *ap = build_all(b, s);
    if (dice_roll(dice, 3) == 0) {
        int rows = 1 + (int)dice_roll(dice, (uint32_t)ap->count[0]);
        int columns = 1 + (int)dice_roll(dice, (uint32_t)ap->count[1]);
        ap = build_part(b, s, (int)dice_roll(dice, (uint32_t)(ap->count[0] - rows + 1)), rows,
                        (int)dice_roll(dice, (uint32_t)(ap->count[1] - columns + 1)), columns);
    }
    if (dice_roll(dice, 4) == 0 && ap->count[1] % 4 == 0) {
        ap->n_dims = 3;
        ap->count[2] = ap->count[1] / 4;
        ap->count[1] = 4;
        ap->step[1] = dice_roll(dice, 2) ? ap->count[2] : 1;
        ap->step[2] = ap->step[1] == 1 ? 4 : 1;
    }
    if (dice_roll(dice, 12) == 0)
        ap->step[dice_roll(dice, ap->n_dims)] = (int64_t)dice_roll(dice, 3);
    if (dice_roll(dice, 40) == 0)
        ap->dtype = any_dtype(dice);
    if (dice_roll(dice, 60) == 0)
        ap->offset += (int64_t)dice_roll(dice, 100) - 50;
    if (depth == 0 && dice_roll(dice, 10) == 0) {
        struct nki_indirect by = {.vector = dice_roll(dice, 2),
                                  .index = any_ap(b, dice, 1),
                                  .step = dice_roll(dice, 2) ? COLUMNS : 1,
                                  .limit = dice_roll(dice, 20),
                                  .skip_out_of_bounds = dice_roll(dice, 2)};
        ap->indirect = arena_dup(b->program->arena, &by, sizeof by);
    }
    return ap;
}

/* Another view of the same shape, so that more programs are legal. */
static const struct nki_ap *alike(struct build *b, struct dice *dice, const struct nki_ap *like) {
    for (int tries = 0; tries < 30; tries++) {
        const struct nki_ap *ap = any_ap(b, dice, 0);
        if (ap->count[0] == like->count[0] && nki_ap_free(ap) == nki_ap_free(like))
            return ap;
    }
    return like;
}

static struct nki_operand two_tiles(struct build *b, struct dice *dice, const struct nki_ap *dst) {
    const struct nki_ap **aps = ARENA_ARRAY(b->program->arena, const struct nki_ap *, 2);
    aps[0] = alike(b, dice, dst);
    aps[1] = alike(b, dice, dst);
    return (struct nki_operand){.kind = NKI_OPERAND_APS, .n = 2, .aps = aps};
}

/* Mostly something that the parameter takes. */
static struct nki_operand any_operand(struct build *b, struct dice *dice,
                                      const struct nki_param *param, const struct nki_ap *dst) {
    static const int64_t ints[64] = {1, 8, 0, 1, 2, 3, 4, 31, 255, 7};
    static const enum nki_operand_kind kinds[] = {NKI_OPERAND_FUNC,  NKI_OPERAND_ENUM,
                                                  NKI_OPERAND_FLOAT, NKI_OPERAND_BOOL,
                                                  NKI_OPERAND_INTS,  NKI_OPERAND_APS};
    bool may_be_tile = param->takes >> NKI_OPERAND_AP & 1;
    if (param->takes >> NKI_OPERAND_NONE & 1 && dice_roll(dice, 2))
        return none();
    if (dice_roll(dice, 200) == 0)
        return number(1e30);
    if (may_be_tile && (!(param->takes >> NKI_OPERAND_FLOAT & 1) || dice_roll(dice, 2)))
        return tile(dice_roll(dice, 4) ? alike(b, dice, dst) : any_ap(b, dice, 0));
    size_t k = 0;
    while (k + 1 < COUNT_OF(kinds) && !(param->takes >> kinds[k] & 1))
        k++;
    switch (kinds[k]) {
    case NKI_OPERAND_FUNC:
        return func(dice_roll(dice, 3) ? NKI_FUNC_ADD
                                       : (enum nki_func)(1 + dice_roll(dice, NKI_FUNC_COUNT - 1)));
    case NKI_OPERAND_ENUM: return member(dice_roll(dice, 5));
    case NKI_OPERAND_FLOAT: return dice_roll(dice, 2) ? integer(dice_roll(dice, 9)) : number(2.5);
    case NKI_OPERAND_BOOL: return flag(dice_roll(dice, 2));
    case NKI_OPERAND_INTS: return integers(ints, dice_roll(dice, 4) ? 32 : dice_roll(dice, 8));
    default: return two_tiles(b, dice, dst);
    }
}

void programs_add(struct build *b, struct dice *dice) {
    enum nki_op op = (enum nki_op)dice_roll(dice, NKI_OP_COUNT);
    if (b->program->cores == 2 &&
        (dice_roll(dice, 8) == 0 || (nki_op_meets(op) && dice_roll(dice, 100)))) {
        add_meeting(b, dice);
        return;
    }
    struct nki_operand operands[16];
    const struct nki_op_row *row = nki_op_row(op);
    const struct nki_ap *dst = any_ap(b, dice, 0);
    operands[0] = tile(dst);
    for (size_t k = 1; k < row->n_params; k++)
        operands[k] = any_operand(b, dice, &row->params[k], dst);
    struct nki_instr *instr = build_instr(b, op, operands, row->n_params);
    instr->engine =
        (uint8_t)(dice_roll(dice, 6) ? NKI_ENGINE_UNKNOWN : dice_roll(dice, NKI_ENGINE_COUNT));
    if (b->program->cores == 2 && !choose_core(b, instr)) {
        b->program->instrs.len--;
        return;
    }
    if (dice_roll(dice, 15) == 0) {
        struct nki_mask mask = {.n_terms = 1, .term[0] = {.c0 = 3, .c = {1, -1}}};
        build_mask(b, instr, &mask);
    }
}

size_t programs_last(const struct build *b) {
    size_t n = b->program->instrs.len;
    bool pair = n > 1 && b->program->cores == 2 &&
                nki_op_meets((enum nki_op)b->program->instrs.at[n - 1].op);
    return MIN_OF(n, pair ? 2u : 1u);
}

/* The last instruction, or the last two if they meet, as a program. */
static struct nki_program last_of(const struct build *b, struct nki_instr last[2]) {
    static const struct nki_more mates[2] = {{.mate = 2}, {.mate = 1}};
    const struct nki_program *whole = b->program;
    struct nki_program program = *whole;
    size_t n = programs_last(b);
    memcpy(last, &whole->instrs.at[whole->instrs.len - n], n * sizeof *last);
    for (size_t i = 0; n == 2 && i < n; i++)
        last[i].more = &mates[i];
    program.cores = (uint8_t)n;
    program.instrs.at = last;
    program.instrs.len = n;
    return program;
}

bool programs_is_accepted(struct build *b) {
    struct diag_list diags = {0};
    struct nki_instr last[2];
    struct nki_program alone;
    if (!b->program->instrs.len)
        return true;
    if (b->program->cores == 2)
        alone = last_of(b, last);
    struct device_image *image =
        device_load(b->program->cores == 2 ? &alone : b->program, b->generation, &diags);
    bool ok = image != NULL;
    for (size_t i = 0; !ok && i < diags.all.len; i++)
        ok = strstr(diags.all.at[i].message, "never written") != NULL && diags.errors == 1;
    device_unload(image);
    diag_free(&diags);
    return ok;
}

#ifndef HONE_LIBFUZZER

/* Mostly makes new seeds, and a few programs that are all bytes. */
static void change(struct fuzz *fuzz, struct buf *text) {
    buf_clear(text);
    for (uint64_t n = fuzz_roll(fuzz, 4) ? 8 : 3000; n > 0; n--)
        buf_putc(text, (char)fuzz_roll(fuzz, 256));
}

int programs_main(const char *name, int argc, char **argv) {
    static const char *const examples[] = {"1", "22", "seed 3", "seed 44"};
    struct fuzz_target target = {
        .name = name, .most = 1, .mutate = change, FUZZ_TABLE(example, examples)};
    return fuzz_main(&target, argc, argv);
}
#endif
