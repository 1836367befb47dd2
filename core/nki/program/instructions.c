/* SPDX-License-Identifier: Apache-2.0 */
/* The table of instructions as data: names, signatures and parameters of each row. */
#include "nki/program/program.h"

/* The words of the column `takes`. */
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

#define PARAM(id, name, role, takes, standard) {#name, standard, NKI_ROLE_##role, takes},
#define FIELD(text)
#define INSTR(id, name, engines, check, exec, cost, summary, legacy, parameters) \
    static const struct nki_param parameters_##id[] = {parameters};              \
    _Static_assert(NKI_##id##_dst == NKI_DST, "dst is the first parameter");
#include "nki/program/instructions.def"
#undef INSTR
#undef FIELD
#undef PARAM

#define PARAM(id, name, role, takes, standard) #name standard ", "
#define FIELD(text) text ", "
#define INSTR(id, name, engines, check, exec, cost, summary, legacy, parameters) \
    [NKI_OP_##id] = {name,                                                       \
                     engines,                                                    \
                     summary,                                                    \
                     parameters "name=None",                                     \
                     legacy,                                                     \
                     parameters_##id,                                            \
                     COUNT_OF(parameters_##id)},
static const struct nki_op_row rows[NKI_OP_COUNT] = {
#include "nki/program/instructions.def"
};
#undef INSTR
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
