/* SPDX-License-Identifier: Apache-2.0 */
/* NkiTensor.indirect: each element of a row from where an index tile says, or to there; who takes
 * it, and from which release and generation on. */
#include "build.h"

#define ROWS 128
#define WIDTH 64 /* of x */
#define TAKEN 24

#define HEAD                                                                  \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"         \
    "@nki.jit\n"                                                              \
    "def kernel(x, i):\n"                                                     \
    "    y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)\n" \
    "    t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)\n"       \
    "    nisa.dma_copy(dst=t, src=x)\n"                                       \
    "    j = nl.ndarray((128, 2), dtype=nl.int32, buffer=nl.sbuf)\n"          \
    "    nisa.dma_copy(dst=j, src=i)\n"                                       \
    "    r = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)\n"       \
    "    nisa.memset(dst=r, value=-1.0)\n"
#define TAIL                            \
    "    nisa.dma_copy(dst=y, src=r)\n" \
    "    return y\n"

struct made {
    struct nki_tree *tree;
    struct diag_list diags;
    struct nki_program *program;
    struct device_image *image;
    float x[ROWS * WIDTH];
    int32_t i[ROWS * 2];
    struct array inputs[2];
};

static struct made *make(const char *text, const char *release, enum nki_generation generation) {
    struct made *m = mem_alloc(1, sizeof *m);
    struct nki_input inputs[2] = {0};
    for (int k = 0; k < ROWS * WIDTH; k++)
        m->x[k] = (float)(k % 251);
    for (int k = 0; k < ROWS * 2; k++) /* different ones within a group of 32 */
        m->i[k] = (k * 3 + k / 64) % WIDTH;
    m->inputs[0] =
        (struct array){.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {ROWS, WIDTH}, .data = m->x};
    m->inputs[1] =
        (struct array){.dtype = DTYPE_INT32, .ndim = 2, .shape = {ROWS, 2}, .data = m->i};
    for (int k = 0; k < 2; k++) {
        inputs[k].kind = NKI_INPUT_ARRAY;
        inputs[k].array = m->inputs[k];
        inputs[k].array.data = NULL;
    }
    struct nki_specialise_options options = {
        .generation = generation, .release = release, .inputs = inputs, .n_inputs = 2};
    m->tree = nki_parse("kernel.py", str_of(text), &m->diags);
    m->program = nki_specialise(m->tree, &options, &m->diags);
    if (m->program)
        m->image = device_load(m->program, device_generation_of(generation), &m->diags);
    return m;
}

static void made_free(struct made *m) {
    device_unload(m->image);
    nki_program_free(m->program);
    nki_tree_free(m->tree);
    diag_free(&m->diags);
    free(m);
}

/* What the kernel returns, to be freed; NULL with *err. */
static float *run(struct made *m, struct err *err) {
    struct array output = {0};
    for (size_t k = 0; k < m->diags.all.len; k++)
        print_error("%s\n", m->diags.all.at[k].message);
    assert_non_null(m->image);
    return device_execute(m->image, m->inputs, 2, &output, NULL, err) ? output.data : NULL;
}

/* Where element k of row p is, by the reference: snakes through the index of a group. */
static int position(const struct made *m, int group, int p, int k) {
    return m->i[(p / group * group + k % group) * 2 + k / group];
}

static void a_row_is_gathered_by_the_index_of_its_group(void **state) {
    (void)state;
    struct err err = {0};
    struct made *m =
        make(HEAD "    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(j, num_elem=24))\n" TAIL,
             "0.6", NKI_GEN4);
    float *y = run(m, &err);
    assert_non_null(y);
    for (int p = 0; p < ROWS; p++)
        for (int k = 0; k < WIDTH; k++)
            assert_float_equal(y[p * WIDTH + k],
                               k < TAKEN ? m->x[p * WIDTH + position(m, 16, p, k)] : -1, 0);
    free(y);
    made_free(m);
}

static void a_row_is_scattered_and_the_rest_of_it_stays(void **state) {
    (void)state;
    struct err err = {0};
    struct made *m =
        make(HEAD "    nisa.tensor_copy(dst=r.indirect(j, num_elem=24), src=t[:, 0:24])\n" TAIL,
             NULL, NKI_GEN4);
    float *y = run(m, &err);
    assert_non_null(y);
    for (int p = 0; p < ROWS; p++) {
        float row[WIDTH];
        for (int k = 0; k < WIDTH; k++)
            row[k] = -1;
        for (int k = 0; k < TAKEN; k++)
            row[position(m, 16, p, k)] = m->x[p * WIDTH + k];
        assert_memory_equal(&y[p * WIDTH], row, sizeof row);
    }
    free(y);
    made_free(m);
}

#define PRODUCT                                                               \
    HEAD "    b = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\n" \
         "    nisa.tensor_copy(dst=b, src=t)\n"                               \
         "    e = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\n" \
         "    nisa.memset(dst=e, value=0.0)\n"                                \
         "    nisa.memset(dst=e[0:32, 0:1], value=1.0)\n"                     \
         "    s = nl.ndarray((64, 48), dtype=nl.float32, buffer=nl.psum)\n"   \
         "    nisa.nc_matmul(s, e, b.indirect(j, num_elem=48))\n"             \
         "    nisa.tensor_copy(dst=r[0:64, 0:48], src=s)\n" TAIL

/* The first 32 rows are summed, which the Tensor engine gathers as one group. */
static void the_tensor_engine_has_groups_of_32(void **state) {
    (void)state;
    struct err err = {0};
    struct made *m = make(PRODUCT, "0.5", NKI_GEN4);
    float *y = run(m, &err);
    assert_non_null(y);
    for (int k = 0; k < 48; k++) {
        float sum = 0;
        for (int p = 0; p < 32; p++)
            sum += m->x[p * WIDTH + position(m, 32, p, k)];
        assert_float_equal(y[k], sum, 0);
        assert_float_equal(y[WIDTH + k], 0, 0);
    }
    free(y);
    made_free(m);
}

static void an_index_past_the_row_is_named(void **state) {
    (void)state;
    struct err err = {0};
    struct made *m =
        make(HEAD "    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(j, num_elem=24))\n" TAIL,
             "0.6", NKI_GEN4);
    m->i[4] = WIDTH;
    assert_null(run(m, &err));
    assert_non_null(strstr(err.text, "index[2, 0] is 64, which is out of bounds"));
    made_free(m);
}

static void what_takes_none_says_so(void **state) {
    (void)state;
    static const struct {
        const char *statement, *release;
        enum nki_generation generation;
        const char *message;
    } rows[] = {
        {"    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(j, num_elem=24))\n", "0.6", NKI_GEN3,
         "an operand of .indirect() exists from trn3 on"},
        {"    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(j, num_elem=24))\n", "0.4", NKI_GEN4,
         "NkiTensor.indirect came with NKI 0.5, and the kernel is for NKI 0.4"},
        {"    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(j))\n", "0.6", NKI_GEN4,
         "elements"}, /* 256 of them, as many as the index has */
        {"    nisa.tensor_copy(dst=r[:, 0:40], src=t.indirect(j, num_elem=40))\n", "0.6", NKI_GEN4,
         "40 elements, and the index has positions for 32: 16 partitions share theirs; say "
         "num_elem="},
        {"    nisa.tensor_copy(dst=r[:, 0:8], src=t.indirect(j, num_elem=24)[:, 0:8])\n", "0.6",
         NKI_GEN4, "what .indirect() gives is taken as it is: select and reshape before it"},
        {"    nisa.tensor_copy(dst=r[:, 0:24], src=x.indirect(j, num_elem=24))\n", "0.6", NKI_GEN4,
         ".indirect() works on tiles in SBUF and PSUM"},
        {"    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(t[:, 0:2], num_elem=24))\n", "0.6",
         NKI_GEN4, "indices are float32"},
        {"    nisa.tensor_copy(dst=r[:, 0:24], src=t.indirect(j[0:64], num_elem=24))\n", "0.6",
         NKI_GEN4, "an index of two dimensions with the tile's 128 partitions"},
        {"    nisa.max8(dst=r[:, 0:8], src=t.indirect(j, num_elem=24))\n", "0.6", NKI_GEN4,
         "this instruction takes no .indirect(): copy what it selects"},
        {"    nisa.tensor_tensor(dst=r[:, 0:24], data1=t[:, 0:24],\n"
         "                       data2=t.indirect(j, num_elem=24), op=nl.add)\n",
         "0.6", NKI_GEN4, "data2 of this instruction takes no .indirect(): copy what it selects"},
    };
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        struct buf text = {0};
        buf_printf(&text, "%s%s%s", HEAD, rows[k].statement, TAIL);
        struct made *m = make(text.at, rows[k].release, rows[k].generation);
        assert_true(m->diags.errors > 0);
        const char *message = m->diags.all.at[0].message;
        if (!strstr(message, rows[k].message))
            fail_msg("%s%s", rows[k].statement, message);
        made_free(m);
        buf_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_gathered_by_the_index_of_its_group),
        cmocka_unit_test(a_row_is_scattered_and_the_rest_of_it_stays),
        cmocka_unit_test(the_tensor_engine_has_groups_of_32),
        cmocka_unit_test(an_index_past_the_row_is_named),
        cmocka_unit_test(what_takes_none_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
