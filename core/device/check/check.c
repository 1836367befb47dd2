/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a program and reports what the hardware cannot do. Here is what all instructions have in
 * common: well-formed operands, bounds, partitions, which engine reaches which memory. The rules of
 * single instructions are in check_move.c, check_matmul.c and check_compute.c. Sources: the NKI ISA
 * reference of NKI 0.6 and the AWS NeuronCore architecture guides; the names of errors are those of
 * nki.errors in the legacy releases. */
#include "device/check/own.h"

#include <stdlib.h>

static check_fn *const checks[NKI_OP_COUNT] = {
#define INSTR(id, name, engines, check, ...) check_##check,
#include "nki/program/instructions.def"
#undef INSTR
};

/* ---- findings ------------------------------------------------------------------------------- */

/* True the first time a text is reported for a place. Unrolled loops repeat instructions, so one
 * mistake is found many times. */
static bool is_new(struct check *c, const char *text) {
    struct buf key = {0};
    buf_printf(&key, "%u %s", c->instr ? c->instr->loc : 0, text);
    struct map_entry *entry = map_put(&c->reported, buf_str(&key));
    buf_free(&key);
    bool fresh = entry->value == NULL;
    entry->value = c;
    return fresh;
}

static void report(struct check *c, enum diag_severity severity, const char *code,
                   const char *text) {
    c->findings++;
    if (!is_new(c, text) || c->diags->errors >= CHECK_MAX_ERRORS)
        return;
    device_report(c->program, c->diags, severity, c->instr->loc, code, "%s: %s", nki_op_name(c->op),
                  text);
}

void check_error(struct check *c, const char *code, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    report(c, DIAG_ERROR, code, text.at);
    buf_free(&text);
    c->errors++;
}

void check_warn(struct check *c, const char *code, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    report(c, DIAG_WARNING, code, text.at);
    buf_free(&text);
}

/* ---- operands ------------------------------------------------------------------------------- */

const struct nki_ap *check_tile(const struct check *c, size_t k) {
    if (k >= c->instr->n_operands || c->instr->operands[k].kind != NKI_OPERAND_AP)
        return NULL;
    return c->instr->operands[k].ap;
}

enum nki_func check_func(const struct check *c, size_t k) {
    if (k >= c->instr->n_operands || c->instr->operands[k].kind != NKI_OPERAND_FUNC)
        return NKI_FUNC_NONE;
    return (enum nki_func)c->instr->operands[k].i;
}

int64_t check_enum(const struct check *c, size_t k, int64_t missing) {
    if (k >= c->instr->n_operands || c->instr->operands[k].kind == NKI_OPERAND_NONE)
        return missing;
    return c->instr->operands[k].i;
}

const char *check_param(const struct check *c, size_t k) {
    return nki_op_row(c->op)->params[k].name;
}

enum nki_space check_space(const struct check *c, const struct nki_ap *ap) {
    return c->program->storages.at[ap->storage]->space;
}

static bool check_on_chip(const struct check *c, const struct nki_ap *ap) {
    return check_space(c, ap) != NKI_HBM;
}

static bool check_register(struct check *c, const struct nki_operand *operand) {
    if (operand->kind != NKI_OPERAND_REG ||
        (operand->i >= 0 && operand->i < c->program->n_registers))
        return true;
    check_error(c, "hone-argument", "register %lld does not exist", (long long)operand->i);
    return false;
}

static bool may_be(const struct nki_param *param, const struct nki_operand *operand) {
    bool empty = operand->kind == NKI_OPERAND_APS && operand->n == 0;
    return (param->takes >> operand->kind & 1) && !empty;
}

/* Whether every operand is of a kind that its parameter takes. */
static bool check_kinds(struct check *c) {
    const struct nki_op_row *row = nki_op_row(c->op);
    size_t n = row->n_params;
    if (c->instr->n_operands != n) {
        check_error(c, "hone-argument", "%u operands were given, the instruction has %zu",
                    c->instr->n_operands, n);
        return false;
    }
    bool ok = true;
    for (size_t k = 0; k < n; k++) {
        const struct nki_operand *operand = &c->instr->operands[k];
        if (!may_be(&row->params[k], operand)) {
            check_error(c, "hone-argument", "%s must be %s%s", check_param(c, k),
                        nki_takes_text(row->params[k].takes),
                        operand->kind == NKI_OPERAND_NONE ? ", and is missing" : "");
            ok = false;
        }
        ok &= check_register(c, operand);
        ok &= operand->kind != NKI_OPERAND_FUNC || (operand->i > 0 && operand->i < NKI_FUNC_COUNT);
    }
    return ok;
}

/* ---- access patterns ------------------------------------------------------------------------ */

static const char *storage_name(const struct check *c, const struct nki_ap *ap) {
    const char *name = c->program->storages.at[ap->storage]->name;
    return name && name[0] ? name : "the tensor";
}

/* Whether shapes and steps are small enough that sums of them cannot overflow. */
static bool is_sane(const struct nki_program *program, const struct nki_ap *ap) {
    const int64_t most = (int64_t)1 << 40;
    if (!ap || ap->storage >= program->storages.len || ap->n_dims < 1 ||
        ap->n_dims > NKI_MAX_DIMS || ap->dtype <= DTYPE_NONE || ap->dtype >= DTYPE_COUNT ||
        ap->offset < -most || ap->offset > most)
        return false;
    int64_t count = 1;
    for (int d = 0; d < ap->n_dims; d++) {
        if (ap->count[d] < 1 || ap->step[d] < -most || ap->step[d] > most)
            return false;
        count *= ap->count[d];
        if (count > most || llabs(ap->step[d]) * ap->count[d] > most * 16)
            return false;
    }
    return true;
}

static bool check_partitions(struct check *c, const struct nki_ap *ap) {
    const struct nki_storage *storage = c->program->storages.at[ap->storage];
    if (ap->count[0] > NKI_PARTITIONS) {
        check_error(c, "err_num_partition_exceed_arch_limit",
                    "%s has %d partitions, at most %d are possible", storage_name(c, ap),
                    ap->count[0], NKI_PARTITIONS);
        return false;
    }
    int64_t last = (int64_t)ap->partition + ap->step[0] * (ap->count[0] - 1);
    if (ap->partition >= storage->partitions || last < 0 || last >= (int64_t)storage->partitions) {
        check_error(c, "err_tensor_access_out_of_bound",
                    "partitions %u to %lld of %s, which has %u", ap->partition, (long long)last,
                    storage_name(c, ap), storage->partitions);
        return false;
    }
    return true;
}

static bool check_bounds(struct check *c, const struct nki_ap *ap) {
    const struct nki_storage *storage = c->program->storages.at[ap->storage];
    bool on_chip = storage->space != NKI_HBM;
    if (on_chip && !check_partitions(c, ap))
        return false;
    int64_t low, high, size = (int64_t)dtype_bytes(ap->dtype);
    device_ap_span(c->program, ap, &low, &high);
    int64_t bytes = (int64_t)(on_chip ? storage->block_bytes * storage->blocks : storage->bytes);
    if (low >= 0 && (high + 1) * size <= bytes)
        return true;
    check_error(c, "err_tensor_access_out_of_bound",
                "elements %lld to %lld of %s, which has %lld%s", (long long)low, (long long)high,
                storage_name(c, ap), (long long)(bytes / size), on_chip ? " per partition" : "");
    return false;
}

static bool check_index_tile(struct check *c, const struct nki_ap *ap, const struct nki_ap *index) {
    if (!is_sane(c->program, index) || index->indirect || !check_bounds(c, index))
        return false;
    int64_t need = ap->indirect->vector ? ap->count[0] : 1;
    if (check_space(c, index) != NKI_SBUF) {
        check_error(c, "err_unsupported_memory", "indices must be in SBUF");
        return false;
    }
    bool narrow = !c->legacy && !ap->indirect->columns && dtype_bytes(index->dtype) != 4;
    if (!dtype_is_int(index->dtype) || narrow) {
        check_error(c, "hone-dtype", "indices are %s: int32 and uint32 are allowed",
                    dtype_name(index->dtype));
        return false;
    }
    if (nki_ap_count(index) < need) {
        check_error(c, "hone-shape", "%lld indices for %lld rows", (long long)nki_ap_count(index),
                    (long long)need);
        return false;
    }
    return true;
}

static bool check_indirect(struct check *c, const struct nki_ap *ap) {
    const struct nki_indirect *indirect = ap->indirect;
    bool is_dma =
        c->op == NKI_OP_DMA_COPY || c->op == NKI_OP_DMA_TRANSPOSE || c->op == NKI_OP_DMA_COMPUTE;
    if (llabs(indirect->step) > (int64_t)1 << 40 || (indirect->vector && !indirect->index)) {
        check_error(c, "hone-argument", "an indirect operand needs a tile of indices");
        return false;
    }
    if (indirect->columns && !check_columns(c, ap))
        return false;
    if (indirect->vector && (!is_dma || check_on_chip(c, ap))) {
        check_error(c, "err_copy_dynamic_indirect_indices_not_natively_supported",
                    "one index per row is possible only for HBM operands of DMA instructions");
        return false;
    }
    if (indirect->index)
        return check_index_tile(c, ap, indirect->index);
    if (indirect->reg < 0 || indirect->reg >= c->program->n_registers) {
        check_error(c, "hone-argument", "register %d does not exist", indirect->reg);
        return false;
    }
    return true;
}

/* What takes int64 where the release has it (nisa.scalar_load and scalar_store of NKI 0.7): the
 * sequencers, and DMA, which moves it to them. */
static bool takes_int64(const struct check *c) {
    return c->op == NKI_OP_DMA_COPY || c->op == NKI_OP_REGISTER_LOAD ||
           c->op == NKI_OP_REGISTER_STORE;
}

static bool check_dtype(struct check *c, const struct nki_ap *ap) {
    if ((ap->dtype == DTYPE_INT64 && !takes_int64(c)) || ap->dtype == DTYPE_FLOAT64) {
        check_error(c, "NCC_ESPP004", "%s is %s; no engine computes with 64-bit types",
                    storage_name(c, ap), dtype_name(ap->dtype));
        return false;
    }
    if (dtype_kind(ap->dtype) == 'x' && c->generation < NKI_GEN4) {
        check_error(c, "NCC_ESPP047", "%s needs trn3, this is %s", dtype_name(ap->dtype),
                    c->image->generation->name);
        return false;
    }
    return true;
}

static bool check_one_ap(struct check *c, const struct nki_ap *ap) {
    if (!is_sane(c->program, ap)) {
        check_error(c, "err_exceed_max_supported_dimension", "an operand has an impossible shape");
        return false;
    }
    return check_dtype(c, ap) && check_bounds(c, ap) && (!ap->indirect || check_indirect(c, ap));
}

static bool check_aps(struct check *c) {
    bool ok = true;
    for (size_t k = 0; k < c->instr->n_operands; k++) {
        const struct nki_operand *operand = &c->instr->operands[k];
        if (operand->kind == NKI_OPERAND_AP)
            ok &= check_one_ap(c, operand->ap);
        for (uint32_t i = 0; operand->kind == NKI_OPERAND_APS && i < operand->n; i++)
            ok &= check_one_ap(c, operand->aps[i]);
    }
    return ok;
}

/* ---- engines and memories ------------------------------------------------------------------- */

static bool touches_psum(const struct check *c) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(c->image, (size_t)(c->instr - c->program->instrs.at), operands);
    for (size_t k = 0; k < n; k++)
        if (check_space(c, operands[k].ap) == NKI_PSUM)
            return true;
    return false;
}

static bool is_int32(const struct nki_ap *ap) {
    return ap && (ap->dtype == DTYPE_INT32 || ap->dtype == DTYPE_UINT32);
}

/* Whether all operands of a tensor_tensor are int32. */
static bool all_int32(const struct check *c) {
    return is_int32(check_tile(c, NKI_TENSOR_TENSOR_dst)) &&
           is_int32(check_tile(c, NKI_TENSOR_TENSOR_data1)) &&
           is_int32(check_tile(c, NKI_TENSOR_TENSOR_data2));
}

static bool has_op(const struct check *c, enum nki_func func) {
    for (size_t k = 0; k < c->instr->n_operands; k++)
        if (check_func(c, k) == func)
            return true;
    return false;
}

static bool has_bitvec(const struct check *c) {
    for (size_t k = 0; k < c->instr->n_operands; k++)
        if (nki_func_has(check_func(c, k), 'i'))
            return true;
    return false;
}

/* A transpose of at most 32 x 32 goes to the Vector engine, which may write SBUF. A larger one goes
 * to the Tensor engine, which reads SBUF and writes PSUM. */
static enum nki_engine transpose_engine(const struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_NC_TRANSPOSE_dst);
    const struct nki_ap *src = check_tile(c, NKI_NC_TRANSPOSE_data);
    bool pe = check_space(c, dst) == NKI_PSUM && check_space(c, src) == NKI_SBUF;
    bool small = src->count[0] <= 32 && nki_ap_free(src) <= 32;
    return pe && !small ? NKI_ENGINE_TENSOR : small ? NKI_ENGINE_VECTOR : NKI_ENGINE_TENSOR;
}

static bool is_float(enum dtype dtype) {
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_BFLOAT16 || dtype == DTYPE_FLOAT16;
}

/* The legacy compiler gives the Scalar engine whatever an activation can express: copies, and
 * scaling or shifting by a number or a (P, 1) tile. The engine activity published for NKIBench's
 * baselines on trn1 shows it: bmm copies PSUM while the Vector engine is idle, adamw runs 8 of its
 * 15 instructions there, and rmsnorm its product with the row's scale. */
static bool legacy_activation(const struct check *c) {
    if (!c->legacy || (c->op != NKI_OP_TENSOR_COPY && c->op != NKI_OP_TENSOR_SCALAR))
        return false;
    for (size_t k = 0; k < c->instr->n_operands; k++) {
        const struct nki_ap *ap = check_tile(c, k);
        enum nki_func func = check_func(c, k);
        enum nki_role role = nki_op_row(c->op)->params[k].role;
        bool wide = role == NKI_ROLE_WRITES || role == NKI_ROLE_STREAMS;
        if (ap && wide && (!is_float(ap->dtype) || nki_ap_free(ap) < 2))
            return false;
        if (func != NKI_FUNC_NONE && func != NKI_FUNC_MULTIPLY && func != NKI_FUNC_ADD &&
            func != NKI_FUNC_SUBTRACT)
            return false;
    }
    return true;
}

/* The engine that the compiler picks when the kernel leaves it open. Exact int32 arithmetic, power
 * and rsqrt go to GpSimd, unless an operand is in PSUM, which GpSimd cannot reach. The legacy
 * compiler ran power and rsqrt on the Vector engine. Source: ISA reference of tensor_tensor and
 * tensor_scalar. */
static enum nki_engine default_engine(const struct check *c) {
    static const char letters[] = "TVAGD";
    static const enum nki_engine engines[] = {NKI_ENGINE_TENSOR, NKI_ENGINE_VECTOR,
                                              NKI_ENGINE_SCALAR, NKI_ENGINE_GPSIMD, NKI_ENGINE_DMA};
    if (c->op == NKI_OP_NC_TRANSPOSE)
        return transpose_engine(c);
    if (legacy_activation(c))
        return NKI_ENGINE_SCALAR;
    bool slow =
        has_op(c, NKI_FUNC_POWER) || (has_op(c, NKI_FUNC_RSQRT) && c->op == NKI_OP_TENSOR_SCALAR);
    bool exact = c->op == NKI_OP_TENSOR_TENSOR && all_int32(c) && !has_bitvec(c);
    bool gpsimd = exact || (slow && !c->legacy && strchr(nki_op_engines(c->op), 'G'));
    if (c->op == NKI_OP_ELEMENTWISE || gpsimd)
        return touches_psum(c) ? NKI_ENGINE_VECTOR : NKI_ENGINE_GPSIMD;
    return engines[strchr(letters, nki_op_engines(c->op)[0]) - letters];
}

static char engine_letter(enum nki_engine engine) {
    static const char letters[NKI_ENGINE_COUNT] = {[NKI_ENGINE_TENSOR] = 'T',
                                                   [NKI_ENGINE_VECTOR] = 'V',
                                                   [NKI_ENGINE_SCALAR] = 'A',
                                                   [NKI_ENGINE_GPSIMD] = 'G',
                                                   [NKI_ENGINE_DMA] = 'D'};
    return letters[engine];
}

static bool resolve_engine(struct check *c) {
    enum nki_engine asked = (enum nki_engine)c->instr->engine;
    /* For DMA, engine= names who triggers it. */
    bool is_dma = nki_op_engines(c->op)[0] == 'D' && c->op != NKI_OP_SENDRECV;
    if (asked == NKI_ENGINE_UNKNOWN || asked >= NKI_ENGINE_COUNT || is_dma) {
        c->engine = default_engine(c);
        return true;
    }
    c->engine = asked;
    char letter = engine_letter(asked);
    if (!letter || !strchr(nki_op_engines(c->op), letter)) {
        check_error(c, "hone-engine",
                    "the %s engine cannot run it (T tensor, V vector, A scalar, G gpsimd: %s)",
                    nki_engine_name(asked), nki_op_engines(c->op));
        return false;
    }
    if (asked == NKI_ENGINE_SCALAR && c->generation == NKI_GEN2 &&
        (c->op == NKI_OP_TENSOR_COPY || c->op == NKI_OP_TENSOR_SCALAR)) {
        check_error(c, "hone-engine", "the scalar engine runs it from trn2 on, this is %s",
                    c->image->generation->name);
        return false;
    }
    return true;
}

static const char *space_name(enum nki_space space) {
    return space == NKI_HBM ? "HBM" : space == NKI_SBUF ? "SBUF" : "PSUM";
}

bool check_refuse_memory(struct check *c, const struct nki_ap *ap, const char *allowed) {
    check_error(c, "err_unsupported_memory", "%s is in %s, %s", storage_name(c, ap),
                space_name(check_space(c, ap)), allowed);
    return false;
}

/* The engine access matrix of the architecture guides. */
static bool check_access(struct check *c, const struct device_operand *operand) {
    const struct nki_ap *ap = operand->ap;
    enum nki_space space = check_space(c, ap);
    if (operand->is_index || c->op == NKI_OP_CORE_BARRIER) /* it waits, and reaches nothing */
        return true;
    if (c->op == NKI_OP_COLLECTIVE) /* transfers of their own */
        return space != NKI_PSUM || check_refuse_memory(c, ap, "ranks exchange HBM or SBUF");
    switch (c->engine) {
    case NKI_ENGINE_TENSOR:
        if (operand->is_dst)
            return space == NKI_PSUM ||
                   check_refuse_memory(c, ap, "the tensor engine writes PSUM only");
        return space == NKI_SBUF || check_refuse_memory(c, ap, "the tensor engine reads SBUF only");
    case NKI_ENGINE_GPSIMD:
        return space == NKI_SBUF ||
               check_refuse_memory(c, ap, "the gpsimd engine reaches SBUF only");
    case NKI_ENGINE_DMA:
        if (space == NKI_PSUM && !nki_rule_holds(c->program->rules, NKI_RULE_DMA_WITHOUT_PSUM))
            check_warn(c, "err_unsupported_memory",
                       "DMA with PSUM: newer compilers want a copy to SBUF first");
        return space != NKI_PSUM || !nki_rule_holds(c->program->rules, NKI_RULE_DMA_WITHOUT_PSUM) ||
               check_refuse_memory(c, ap, "DMA reaches HBM and SBUF only; copy it to SBUF first");
    default:
        return space != NKI_HBM ||
               check_refuse_memory(c, ap,
                                   "compute instructions take SBUF and PSUM tiles; load it first");
    }
}

/* Where a tile may start: with more than 64 partitions at 0, with 33 to 64 at 0 or 64, with up to
 * 32 at a multiple of 32 (Trainium/Inferentia2 architecture guide). Partitions are consecutive. */
static bool check_start(struct check *c, const struct nki_ap *ap) {
    if (!check_on_chip(c, ap))
        return true;
    const struct nki_storage *storage = c->program->storages.at[ap->storage];
    bool broadcast = ap->step[0] == 0 && ap->count[0] > 1;
    if (ap->count[0] > 1 && ap->step[0] != 1 && !(broadcast && c->legacy)) {
        check_error(c, "hone-shape",
                    "%s steps over partitions by %lld; compute instructions take consecutive "
                    "partitions",
                    storage_name(c, ap), (long long)ap->step[0]);
        return false;
    }
    int start = (int)ap->partition + MAX_OF(storage->address_partition, 0);
    int n = broadcast ? 1 : ap->count[0];
    int align = n > 64 ? 128 : n > 32 ? 64 : 32;
    if (start % align == 0 || (n == 1 && c->legacy))
        return true;
    check_error(c, "hone-start-partition",
                "%d partitions of %s start at partition %d; up to 32 may start at 0, 32, 64 or "
                "96, up to 64 at 0 or 64, more at 0",
                n, storage_name(c, ap), start);
    return false;
}

/* A tile that is read before anything was written to it, wherever in it: a warning, once for each.
 * check_written.c looks at tiles that are written in part. */
static void check_is_written(struct check *c, const struct device_operand *operand) {
    const struct nki_storage *storage = c->program->storages.at[operand->ap->storage];
    bool holds = c->written[operand->ap->storage] || storage->zeroed || storage->constant ||
                 storage->input >= 0 || storage->space == NKI_HBM;
    if (holds || !operand->is_src || operand->is_dst)
        return;
    c->written[operand->ap->storage] = true;
    device_report(c->program, c->diags, DIAG_WARNING, c->instr->loc, "hone-unwritten",
                  "%s reads %s, to which nothing was written; it holds anything",
                  nki_op_name(c->op), storage_name(c, operand->ap));
}

/* The result of an instruction that is refused is not missing behind it. Its operands may be
 * anything. */
static void note_written(struct check *c) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(c->image, (size_t)(c->instr - c->program->instrs.at), operands);
    for (size_t k = 0; k < n; k++)
        if (operands[k].is_dst && operands[k].ap->storage < c->program->storages.len)
            c->written[operands[k].ap->storage] = true;
        else if (operands[k].is_dst) /* any tile may be what it would have written */
            memset(c->written, true, c->program->storages.len);
}

static bool check_places(struct check *c) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(c->image, (size_t)(c->instr - c->program->instrs.at), operands);
    bool ok = true;
    bool waits = c->op == NKI_OP_CORE_BARRIER || c->op == NKI_OP_COLLECTIVE;
    for (size_t k = 0; k < n && !waits; k++)
        check_is_written(c, &operands[k]);
    for (size_t k = 0; k < n; k++) {
        c->written[operands[k].ap->storage] |= operands[k].is_dst && c->op != NKI_OP_CORE_BARRIER;
        ok &= check_access(c, &operands[k]);
        if (c->engine != NKI_ENGINE_DMA && !operands[k].is_index && !waits)
            ok &= check_start(c, operands[k].ap);
    }
    return ok;
}

/* ---- the program as a whole ----------------------------------------------------------------- */

static void check_instruction(struct check *c, size_t i) {
    c->instr = &c->program->instrs.at[i];
    c->op = (enum nki_op)c->instr->op;
    if (c->instr->op >= NKI_OP_COUNT) {
        c->errors++;
        device_report(c->program, c->diags, DIAG_ERROR, c->instr->loc, "hone-gap",
                      "unknown instruction %u", c->instr->op);
        return;
    }
    size_t findings = c->findings;
    if (check_passed_before(c, i))
        return;
    c->image->kind[i] = (uint32_t)c->image->kinds.len;
    *vec_push(&c->image->kinds) = (uint32_t)i;
    bool sane = check_kinds(c) && check_aps(c);
    bool ok = sane && resolve_engine(c);
    if (sane)
        c->image->engine[i] = (uint8_t)(c->engine ? c->engine : NKI_ENGINE_VECTOR);
    if (!ok)
        note_written(c);
    if (!ok || !check_places(c) || !check_columns_engine(c) ||
        !check_generation(c, nki_op_generation(c->op)))
        return;
    checks[c->op](c);
    if (c->findings == findings)
        check_note_passed(c, i);
}

static void report_storage(struct check *c, const struct nki_storage *storage, const char *code,
                           const char *text) {
    c->errors++;
    if (c->diags->errors < CHECK_MAX_ERRORS)
        device_report(c->program, c->diags, DIAG_ERROR, storage->loc, code, "%s: %s",
                      storage->name && storage->name[0] ? storage->name : "tensor", text);
}

static void check_chip_storage(struct check *c, const struct nki_storage *storage) {
    if (storage->partitions < 1 || storage->partitions > NKI_PARTITIONS) {
        struct buf text = {0};
        buf_printf(&text, "%u partitions, 1 to %d are possible: tile the partition dimension",
                   storage->partitions, NKI_PARTITIONS);
        report_storage(c, storage, "err_num_partition_exceed_arch_limit", text.at);
        buf_free(&text);
    }
    if (storage->blocks < 1 || storage->block_bytes < 1 || storage->block_bytes > 1u << 30 ||
        storage->blocks > 1u << 20)
        report_storage(c, storage, "err_size_of_dimension_exceed_arch_limit",
                       "has an impossible size");
}

/* A tile that the kernel places lies within its memory, in PSUM from the start of a bank (migration
 * guide to NKI 0.2, "Improved allocation API"). */
static void check_address(struct check *c, const struct nki_storage *storage) {
    bool psum = storage->space == NKI_PSUM;
    int64_t start = storage->address_byte, bytes = (int64_t)storage->block_bytes;
    int64_t most =
        psum ? PSUM_BANK_BYTES * PSUM_BANKS : (int64_t)c->image->generation->sbuf_partition_bytes;
    struct buf text = {0};
    if (start < 0 || start + bytes > most)
        buf_printf(&text, "its address covers bytes %lld to %lld of a partition, which has %lld",
                   (long long)start, (long long)(start + bytes - 1), (long long)most);
    else if (psum && start % PSUM_BANK_BYTES)
        buf_printf(&text,
                   "its address is byte %lld; in PSUM a tile starts at a bank, a multiple of "
                   "%d bytes",
                   (long long)start, PSUM_BANK_BYTES);
    if (text.len)
        report_storage(c, storage, "hone-address", text.at);
    buf_free(&text);
}

static void check_storages(struct check *c) {
    uint64_t hbm = 0;
    const uint64_t most = c->image->generation->hbm_bytes;
    for (size_t s = 0; s < c->program->storages.len; s++) {
        const struct nki_storage *storage = c->program->storages.at[s];
        if (storage->space != NKI_HBM)
            check_chip_storage(c, storage);
        if (storage->space != NKI_HBM && storage->address_partition >= 0)
            check_address(c, storage);
        if (storage->space == NKI_HBM)
            hbm += MIN_OF(storage->bytes, (uint64_t)1 << 50);
        if (storage->space == NKI_HBM && hbm > most) {
            struct buf text = {0};
            buf_printf(
                &text, "the HBM tensors up to this line need %.1f GiB, a core of %s has %.0f GiB",
                (double)hbm / (1 << 30), c->image->generation->name, (double)most / (1 << 30));
            report_storage(c, storage, "NCC_EOOM001", text.at);
            buf_free(&text);
            return;
        }
    }
}

/* Every returned tensor is written by something. */
static void check_outputs(struct check *c) {
    size_t n = c->program->storages.len;
    for (size_t k = 0; k < c->program->outputs.len; k++) {
        uint32_t s = c->program->outputs.at[k];
        const struct nki_storage *storage = s < n ? c->program->storages.at[s] : NULL;
        if (storage && !c->written[s] && storage->input < 0 && !storage->constant)
            report_storage(c, storage, "err_tensor_output_not_written_to",
                           "is returned but never written");
    }
}

bool check_program(struct device_image *image, struct diag_list *diags) {
    struct check c = {.image = image,
                      .program = image->program,
                      .diags = diags,
                      .generation = image->generation->generation,
                      .legacy = image->program->dialect == NKI_DIALECT_LEGACY,
                      .written = mem_alloc(image->program->storages.len + 1, 1),
                      .passed = mem_alloc(image->program->locs.len + 1, sizeof *c.passed)};
    check_storages(&c);
    for (size_t i = 0; c.errors == 0 && i < image->program->outputs.len; i++)
        if (image->program->outputs.at[i] >= image->program->storages.len)
            c.errors++;
    bool storages_ok = c.errors == 0;
    for (size_t i = 0; storages_ok && i < image->program->instrs.len; i++) {
        check_instruction(&c, i);
        if (diags->errors >= CHECK_MAX_ERRORS)
            break;
    }
    if (c.errors == 0)
        check_outputs(&c);
    map_free(&c.reported);
    free(c.written);
    free(c.passed);
    return c.errors == 0;
}
