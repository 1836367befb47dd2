/* SPDX-License-Identifier: Apache-2.0 */
/* The table of instructions as data: names, signatures and parameters of each row. */
#include "nki/program/program.h"

/* The words of the column `takes`, as bits. */
#define BIT(kind) (1u << NKI_OPERAND_##kind)
enum {
    NONE = BIT(NONE),
    TILE = BIT(AP),
    TILES = BIT(APS),
    NUMBER = BIT(INT) | BIT(FLOAT) | BIT(BOOL) | BIT(REG),
    FUNC = BIT(FUNC),
    FLAG = BIT(BOOL),
    MEMBER = BIT(ENUM) | BIT(INT),
    INTS = BIT(INTS),
    ANY = 0xffff,
};

#define PARAM(id, name, role, takes, standard, legacy) {#name, standard, NKI_ROLE_##role, takes},
#define FIELD(name, standard, legacy)
#define LEGACY(name, standard, legacy)
#define INSTR(id, name, engines, check, exec, cost, summary, parameters) \
    static const struct nki_param parameters_##id[] = {parameters};      \
    _Static_assert(NKI_##id##_dst == NKI_DST, "dst is the first parameter");
#include "nki/program/instructions.def"
#undef INSTR
#undef LEGACY
#undef FIELD
#undef PARAM

#define PARAM(id, name, role, takes, standard, legacy) #name standard ", "
#define FIELD(name, standard, legacy) #name standard ", "
#define LEGACY(name, standard, legacy)
#define INSTR(id, name, engines, check, exec, cost, summary, parameters) \
    [NKI_OP_##id] = {name,                                               \
                     engines,                                            \
                     summary,                                            \
                     parameters "name=None",                             \
                     parameters_##id,                                    \
                     COUNT_OF(parameters_##id)},
static const struct nki_op_row rows[NKI_OP_COUNT] = {
#include "nki/program/instructions.def"
};
#undef INSTR
#undef LEGACY
#undef FIELD
#undef PARAM

/* The place of a parameter in the legacy signature. Instructions that the legacy dialect lacks have
 * none. */
struct place {
    const char *name, *standard;
    int at; /* from 1; negative: only by keyword; 0: it has none */
};
#define PARAM(id, name, role, takes, standard, legacy) {#name, standard, legacy},
#define FIELD(name, standard, legacy) {#name, standard, legacy},
#define LEGACY(name, standard, legacy) {#name, standard, legacy},
#define INSTR(id, name, engines, check, exec, cost, summary, parameters) \
    static const struct place places_##id[] = {parameters};
#include "nki/program/instructions.def"
#undef INSTR

#define INSTR(id, ...) [NKI_OP_##id] = {places_##id, COUNT_OF(places_##id)},
static const struct {
    const struct place *at;
    size_t len;
} places[NKI_OP_COUNT] = {
#include "nki/program/instructions.def"
};
#undef INSTR
#undef LEGACY
#undef FIELD
#undef PARAM

const struct nki_op_row *nki_op_row(enum nki_op op) {
    return &rows[op];
}

const char *nki_op_name(enum nki_op op) {
    return rows[op].name;
}

const char *nki_op_engines(enum nki_op op) {
    return rows[op].engines;
}

static const struct place *legacy_place(enum nki_op op, int at) {
    for (size_t i = 0; i < places[op].len; i++)
        if (places[op].at[i].at == at || places[op].at[i].at == -at)
            return &places[op].at[i];
    return NULL;
}

bool nki_op_in_legacy(enum nki_op op) {
    return legacy_place(op, 1) != NULL;
}

bool nki_op_takes_in_legacy(enum nki_op op, struct str name) {
    for (size_t i = 0; i < places[op].len; i++)
        if (places[op].at[i].at && str_is(name, places[op].at[i].name))
            return true;
    return false;
}

void nki_op_print_legacy(enum nki_op op, struct buf *out) {
    const struct place *place;
    bool keywords = false;
    for (int at = 1; (place = legacy_place(op, at)); at++) {
        buf_printf(out, "%s%s%s%s", at > 1 ? ", " : "", place->at < 0 && !keywords ? "*, " : "",
                   place->name, place->standard);
        keywords |= place->at < 0;
    }
}

int nki_operand_index(enum nki_op op, struct str name) {
    for (size_t k = 0; k < rows[op].n_params; k++)
        if (str_is(name, rows[op].params[k].name))
            return (int)k;
    return -1;
}

int nki_op_source(enum nki_op op, int after) {
    for (int k = after + 1; k < rows[op].n_params; k++)
        if (nki_role_reads(rows[op].params[k].role))
            return k;
    return -1;
}

bool nki_op_streams(enum nki_op op) {
    for (size_t k = 0; k < rows[op].n_params; k++)
        if (rows[op].params[k].role == NKI_ROLE_STREAMS)
            return true;
    return false;
}

bool nki_op_of_sequencers(enum nki_op op) {
    return op == NKI_OP_REGISTER_LOAD || op == NKI_OP_REGISTER_STORE ||
           op == NKI_OP_REGISTER_MATH || op == NKI_OP_LOOP_BRANCH;
}

bool nki_op_is_called(enum nki_op op) {
    return op != NKI_OP_ELEMENTWISE && op != NKI_OP_COLLECTIVE && !nki_op_of_sequencers(op) &&
           !nki_op_meets(op);
}

/* ---- for people ----------------------------------------------------------------------------- */

enum nki_op nki_op_find(struct str name) {
    if (str_starts(name, "nisa."))
        name = (struct str){name.at + 5, name.len - 5};
    int op = 0;
    while (op < NKI_OP_COUNT &&
           !(str_is(name, rows[op].name) &&
             (op == NKI_OP_REGISTER_LOAD || nki_op_is_called((enum nki_op)op))))
        op++;
    return (enum nki_op)op;
}

enum nki_generation nki_op_generation(enum nki_op op) {
    static const struct {
        enum nki_op op;
        enum nki_generation from;
    } later[] = {
        {NKI_OP_RANGE_SELECT, NKI_GEN3}, {NKI_OP_TOPK, NKI_GEN3},
        {NKI_OP_SENDRECV, NKI_GEN3},     {NKI_OP_NONZERO_WITH_COUNT, NKI_GEN3},
        {NKI_OP_CORE_BARRIER, NKI_GEN3}, {NKI_OP_RAND_GET_STATE, NKI_GEN3},
        {NKI_OP_RAND2, NKI_GEN4},        {NKI_OP_RAND_SET_STATE, NKI_GEN3},
        {NKI_OP_ACTIVATE2, NKI_GEN4},    {NKI_OP_NC_MATMUL_MX, NKI_GEN4},
        {NKI_OP_EXPONENTIAL, NKI_GEN4},  {NKI_OP_QUANTIZE_MX, NKI_GEN4},
    };
    for (size_t i = 0; i < COUNT_OF(later); i++)
        if (later[i].op == op)
            return later[i].from;
    return NKI_GEN2;
}

const char *nki_takes_text(unsigned takes) {
    static const struct {
        unsigned kind;
        const char *text;
    } texts[] = {{BIT(FLOAT), "a number"},
                 {BIT(FUNC), "an operator such as nl.add"},
                 {BIT(BOOL), "True or False"},
                 {BIT(ENUM), "a member of its enumeration"},
                 {BIT(INTS), "a list of integers"}};
    if (takes == ANY)
        return "anything";
    if (takes & TILE)
        return takes & BIT(FLOAT) ? "a tile or a number" : "a tile";
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (takes & texts[i].kind)
            return texts[i].text;
    return "a list of tiles";
}

void nki_op_print_engines(enum nki_op op, struct buf *out) {
    static const struct {
        char letter;
        const char *name;
    } engines[] = {
        {'T', "Tensor"}, {'V', "Vector"}, {'A', "Scalar"}, {'G', "GpSimd"}, {'D', "DMA"}};
    for (const char *at = rows[op].engines; *at; at++)
        for (size_t i = 0; i < COUNT_OF(engines); i++)
            if (engines[i].letter == *at)
                buf_printf(out, "%s%s", at == rows[op].engines ? "" : ", ", engines[i].name);
}

static void explain_parameter(const struct nki_param *param, struct buf *out) {
    static const char *const roles[] = {[NKI_ROLE_PLAIN] = "",
                                        [NKI_ROLE_READS] = "; read",
                                        [NKI_ROLE_STREAMS] = "; read, one element for each of dst",
                                        [NKI_ROLE_WRITES] = "; written",
                                        [NKI_ROLE_UPDATES] = "; written in part or added to"};
    bool none = param->takes != ANY && param->takes & NONE;
    buf_printf(out, "    %-20s %s%s%s\n", param->name, nki_takes_text(param->takes),
               none ? ", or None" : "", roles[param->role]);
}

void nki_op_explain(enum nki_op op, struct buf *out) {
    const struct nki_op_row *row = &rows[op];
    buf_printf(out, "nisa.%s: %s\n    nisa.%s(%s)\n", row->name, row->summary, row->name,
               row->signature);
    if (nki_op_in_legacy(op)) {
        buf_printf(out, "    legacy: nisa.%s(", row->name);
        nki_op_print_legacy(op, out);
        buf_puts(out, ")\n");
    }
    buf_puts(out, "    runs on ");
    nki_op_print_engines(op, out);
    buf_putc(out, '\n');
    for (size_t k = 0; k < row->n_params; k++)
        explain_parameter(&row->params[k], out);
}
