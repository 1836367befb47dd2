/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as tables and text: operands by name, and what a line of a printed program says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nki/nki.h"
#include "nki/program/testing.h"

static void operands_are_the_parameters_without_engine_and_name(void **state) {
    (void)state;
    assert_int_equal(NKI_TENSOR_COPY_src, 1);
    assert_int_equal(NKI_ACTIVATION_bias, 3);
    assert_int_equal(nki_operand_index(NKI_OP_TENSOR_COPY, STR("src")), NKI_TENSOR_COPY_src);
    assert_int_equal(nki_operand_index(NKI_OP_TENSOR_COPY, STR("engine")), -1);
    assert_int_equal(nki_operand_index(NKI_OP_TENSOR_COPY, STR("name")), -1);
    assert_int_equal(nki_operand_index(NKI_OP_TENSOR_COPY, STR("ds")), -1);
    assert_int_equal(nki_op_row(NKI_OP_TENSOR_COPY)->n_params, 2);
    assert_int_equal(nki_op_source(NKI_OP_ACTIVATION, NKI_DST), NKI_ACTIVATION_data);
    assert_int_equal(nki_op_source(NKI_OP_ACTIVATION, NKI_ACTIVATION_data), NKI_ACTIVATION_bias);
    assert_int_equal(nki_op_source(NKI_OP_IOTA, NKI_DST), -1);
    assert_string_equal(nki_op_row(NKI_OP_TENSOR_COPY)->signature,
                        "dst, src, engine=None, name=None");
}

/* What the words of the table cannot say themselves. */
static void rows_hold_together(void **state) {
    (void)state;
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        const struct nki_op_row *row = nki_op_row((enum nki_op)op);
        bool sequencer = nki_op_of_sequencers((enum nki_op)op) && op != NKI_OP_REGISTER_STORE;
        bool writes = !sequencer && op != NKI_OP_RAND_SET_STATE && op != NKI_OP_SET_RNG_SEED;
        assert_true(nki_role_writes(row->params[NKI_DST].role) == writes);
        assert_true(row->name[0] && row->summary[0]);
        assert_int_equal(strspn(row->engines, "TVAGD"), strlen(row->engines));
        bool may_be_left_out = false;
        for (size_t k = 0; k < row->n_params; k++) {
            const struct nki_param *param = &row->params[k];
            bool tile = param->takes >> NKI_OPERAND_AP & 1 || param->takes >> NKI_OPERAND_APS & 1;
            bool any = param->takes >> NKI_OPERAND_DTYPE & 1;
            if (tile != (param->role != NKI_ROLE_PLAIN) && !any)
                fail_msg("%s(%s): a role is for tiles", row->name, param->name);
            assert_true(param->standard[0] == '=' || param->standard[0] == 0);
            assert_true(param->standard[0] || !may_be_left_out);
            may_be_left_out |= param->standard[0] != 0;
            assert_int_equal(nki_operand_index((enum nki_op)op, str_of(param->name)), k);
        }
    }
}

/* Parameters of the legacy dialect are operands, or what only that dialect has. */
static void legacy_signatures_name_operands(void **state) {
    (void)state;
    static const char *const own[] = {"*",    "engine", "shape",     "dtype",
                                      "pred", "expr",   "dst_rmw_op"};
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        struct buf signature = {0};
        nki_op_print_legacy((enum nki_op)op, &signature);
        struct str rest = buf_str(&signature), part, name;
        assert_true(nki_op_in_legacy((enum nki_op)op) == (rest.len > 0));
        while (rest.len && str_next(&rest, ',', &part)) {
            assert_true(str_next(&part, '=', &name));
            name = str_trim(name);
            bool known = nki_operand_index((enum nki_op)op, name) >= 0;
            for (size_t i = 0; i < COUNT_OF(own); i++)
                known |= str_is(name, own[i]);
            if (!known)
                fail_msg("nisa.%s: " STR_FMT, nki_op_name((enum nki_op)op), STR_ARG(name));
        }
        buf_free(&signature);
    }
}

/* A missing place would end the signature before the places after it. */
static void legacy_places_have_no_gap(void **state) {
    (void)state;
#define PARAM(id, name, role, takes, standard, legacy) +((legacy) != 0)
#define FIELD(name, standard, legacy) +((legacy) != 0)
#define LEGACY(name, standard, legacy) +((legacy) != 0)
#define INSTR(id, name, engines, check, exec, cost, summary, parameters) [NKI_OP_##id] = parameters,
    static const int named[NKI_OP_COUNT] = {
#include "nki/program/instructions.def"
    };
#undef INSTR
#undef LEGACY
#undef FIELD
#undef PARAM
    for (int op = 0; op < NKI_OP_COUNT; op++) {
        struct buf signature = {0};
        nki_op_print_legacy((enum nki_op)op, &signature);
        struct str rest = buf_str(&signature), part;
        int n = 0;
        while (rest.len && str_next(&rest, ',', &part))
            n += !str_is(str_trim(part), "*");
        assert_int_equal(n, named[op]);
        buf_free(&signature);
    }
}

static void legacy_signatures_have_their_own_order(void **state) {
    (void)state;
    static const struct {
        enum nki_op op;
        const char *signature;
    } rows[] = {
        {NKI_OP_TENSOR_COPY, "src, *, engine=None"},
        {NKI_OP_MEMSET, "shape, value, dtype, *, engine=None"},
        {NKI_OP_DMA_COPY, "*, dst, src, dst_rmw_op=None, oob_mode=None, dge_mode=None"},
        {NKI_OP_ACTIVATION_REDUCE, "op, data, *, reduce_op, reduce_res, bias=None, scale=1.0"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf signature = {0};
        nki_op_print_legacy(rows[i].op, &signature);
        assert_string_equal(signature.at, rows[i].signature);
        buf_free(&signature);
    }
    assert_false(nki_op_in_legacy(NKI_OP_EXPONENTIAL));
}

/* The kernel's program as text, or its first error. */
static char *print(const char *source, const struct nki_input *inputs, size_t n) {
    struct diag_list diags = {0};
    struct buf out = {0};
    struct nki_specialise_options options = {
        .inputs = inputs, .n_inputs = n, .generation = NKI_GEN3};
    struct nki_tree *tree = nki_parse("k.py", str_of(source), &diags);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    if (program)
        nki_program_print(program, &out);
    else
        diag_print(&diags.all.at[0], &out);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    return buf_take(&out);
}

static void a_line_says_what_an_instruction_does(void **state) {
    (void)state;
    static const struct nki_input x = {
        .kind = NKI_INPUT_ARRAY, .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {256, 512}}};
    char *text = print("import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"
                       "@nki.jit\ndef kernel(x):\n"
                       "    y = nl.ndarray((256, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)\n"
                       "    for i in range(2):\n"
                       "        t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                       "        nisa.dma_copy(dst=t, src=x[i * 128:(i + 1) * 128, :])\n"
                       "        nisa.tensor_scalar(dst=t[:, 0:512:2], data=t[:, 1:512:2],\n"
                       "                           op0=nl.multiply, operand0=2.5)\n"
                       "        nisa.dma_copy(dst=y[i * 128:(i + 1) * 128, :], src=t)\n"
                       "    return y\n",
                       &x, 1);
    const char *lines[] = {"0 dma_copy dst=sbuf:t#",
                           "[0:128, 0:512] f32 src=hbm:x[0:128, 0:512] f32",
                           "  # line 9\n",
                           "dst=sbuf:t#",
                           "[0:128, 0:511:2] f32",
                           "[0:128, 1:512:2] f32 op0=multiply operand0=2.5",
                           "  # line 10\n",
                           "dst=hbm:y[0:128, 0:512] bf16",
                           "src=hbm:x[128:256, 0:512] f32"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (!strstr(text, lines[i]))
            print_error("%s\nis not in\n%s", lines[i], text);
        assert_non_null(strstr(text, lines[i]));
    }
    mem_free_(text);
}

static void generations_have_one_row_each(void **state) {
    (void)state;
    assert_int_equal(nki_generation_find("trn2"), NKI_GEN3);
    assert_int_equal(nki_generation_find("Gen4"), NKI_GEN4);
    assert_int_equal(nki_generation_find("trn"), 0);
    assert_string_equal(nki_generation_name(NKI_GEN2), "trn1");
    assert_string_equal(nki_generation_alias(NKI_GEN2), "gen2");
    assert_int_equal(nki_generation_sbuf_bytes(NKI_GEN3), 212984);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_the_parameters_without_engine_and_name),
        cmocka_unit_test(rows_hold_together),
        cmocka_unit_test(legacy_signatures_name_operands),
        cmocka_unit_test(legacy_places_have_no_gap),
        cmocka_unit_test(legacy_signatures_have_their_own_order),
        cmocka_unit_test(generations_have_one_row_each),
        cmocka_unit_test(a_line_says_what_an_instruction_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
