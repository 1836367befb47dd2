/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores: kept in SBUF, merged, shared, hoisted, split; and when they must stay. */
#include "rewrite_help.h"

static const char matmul_legacy[] =
    LEGACY "def kernel(a, b):\n"
           "    K, M = a.shape\n"
           "    N = b.shape[1]\n"
           "    T = 128  # rows\n"
           "    y = nl.ndarray((M, N), dtype=a.dtype, buffer=nl.shared_hbm)\n"
           "    for m in nl.affine_range(M // T):\n"
           "        # one block of rows\n"
           "        for n in nl.affine_range(N // 256):\n"
           "            acc = nl.zeros((T, 256), dtype=nl.float32, buffer=nl.psum)\n"
           "            for k in nl.affine_range(K // T):\n"
           "                a_tile = nl.load(a[k * T:(k + 1) * T, m * T:(m + 1) * T])  # left\n"
           "                b_tile = nl.load(b[k * T:(k + 1) * T, n * 256:(n + 1) * 256])\n"
           "                acc += nl.matmul(a_tile, b_tile, transpose_x=True)\n"
           "            nl.store(y[m * T:(m + 1) * T, n * 256:(n + 1) * 256], value=nl.copy(acc))\n"
           "    return y\n";

static void an_operand_stays_in_sbuf(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 512, 512);
    help_array(&inputs, 512, 1024);
    help_expect(
        matmul_legacy, &inputs, "resident:a_tile.0:n",
        LEGACY
        "def kernel(a, b):\n"
        "    K, M = a.shape\n"
        "    N = b.shape[1]\n"
        "    T = 128  # rows\n"
        "    y = nl.ndarray((M, N), dtype=a.dtype, buffer=nl.shared_hbm)\n"
        "    for m in nl.affine_range(M // T):\n"
        "        a_all = nl.ndarray((nl.par_dim(T), K // T, T), dtype=a.dtype, buffer=nl.sbuf)\n"
        "        for k in nl.affine_range(K // T):\n"
        "            a_all[:, k, :] = nl.load(a[k * T:(k + 1) * T, m * T:(m + 1) * T])\n"
        "        # one block of rows\n"
        "        for n in nl.affine_range(N // 256):\n"
        "            acc = nl.zeros((T, 256), dtype=nl.float32, buffer=nl.psum)\n"
        "            for k in nl.affine_range(K // T):\n"
        "                a_tile = a_all[:, k, :]  # left\n"
        "                b_tile = nl.load(b[k * T:(k + 1) * T, n * 256:(n + 1) * 256])\n"
        "                acc += nl.matmul(a_tile, b_tile, transpose_x=True)\n"
        "            nl.store(y[m * T:(m + 1) * T, n * 256:(n + 1) * 256], value=nl.copy(acc))\n"
        "    return y\n");
}

static void pieces_side_by_side_come_in_one_load(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 512, 512);
    help_array(&inputs, 512, 1024);
    struct rewrite_request request = help_request(matmul_legacy, &inputs);
    struct buf out = {0};
    assert_true(rewrite_apply(&request, "resident:b_tile.0:m", &out, NULL));
    assert_non_null(
        strstr(out.at,
               "    b_all = nl.ndarray((nl.par_dim(T), K // T, N), dtype=b.dtype, buffer=nl.sbuf)\n"
               "    for k in nl.affine_range(K // T):\n"
               "        b_all[:, k, :] = nl.load(b[k * T:(k + 1) * T, 0:N])\n"
               "    for m in"));
    assert_non_null(strstr(out.at, "b_tile = b_all[:, k, n * 256:(n + 1) * 256]\n"));
    buf_free(&out);
}

static const char strided_current[] =
    CURRENT "def kernel(a, b):\n"
            "    K = 512\n"
            "    T = 128\n"
            "    y = nl.ndarray((512, 1024), dtype=nl.float32, buffer=nl.shared_hbm)\n"
            "    for m in range(0, 512, 128):\n"
            "        for n in range(0, 1024, 512):\n"
            "            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
            "            for k in range(0, K, T):\n"
            "                at = nl.ndarray((T, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
            "                nisa.dma_copy(dst=at, src=a[k:k + T, m:m + 128])\n"
            "                bt = nl.ndarray((T, 512), dtype=b.dtype, buffer=nl.sbuf)\n"
            "                nisa.dma_copy(dst=bt, src=b[k:k + T, n:n + 512])\n"
            "                nisa.nc_matmul(dst=acc, stationary=at, moving=bt)\n"
            "            out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
            "            nisa.tensor_copy(dst=out, src=acc)\n"
            "            nisa.dma_copy(dst=y[m:m + 128, n:n + 512], src=out)\n"
            "    return y\n";

/* Loops as hone's own kernels have them. */
static void loops_in_steps_of_a_tile_keep_their_operand(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 512, 512);
    help_array(&inputs, 512, 1024);
    struct rewrite_request request = help_request(strided_current, &inputs);
    struct buf out = {0};
    assert_true(rewrite_apply(&request, "resident:at.0:n", &out, NULL));
    assert_non_null(strstr(out.at,
                           "        at_all = nl.ndarray((T, K // T, 128), dtype=a.dtype, "
                           "buffer=nl.sbuf)\n"
                           "        for k in range(0, K, T):\n"
                           "            nisa.dma_copy(dst=at_all[:, k // T, :], src=a[k:k + T, "
                           "m:m + 128])\n"
                           "        for n in range(0, 1024, 512):\n"));
    assert_non_null(strstr(out.at, "                at = at_all[:, k // T, :]\n"));
    buf_clear(&out);
    assert_true(rewrite_apply(&request, "resident:bt.0:m", &out, NULL));
    assert_non_null(strstr(out.at, "bt_all[:, k // T, :], src=b[k:k + T, 0:1024])\n"));
    assert_non_null(strstr(out.at, "bt = bt_all[:, k // T, n:n + 512]\n"));
    buf_free(&out);
}

static void what_does_not_fit_stays_outside(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 4096, 512);
    help_array(&inputs, 4096, 4096); /* 32 x 4096 x 4 bytes = 512 KiB per partition */
    help_declines(matmul_legacy, &inputs, "resident:b_tile.0:m", "does not fit: 512 KiB");
}

static void nothing_is_known_without_shapes(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_declines(matmul_legacy, &inputs, "resident:", "shape is not known");
}

static const char block_current[] = CURRENT
    "def kernel(a, b):\n"
    "    y = nl.ndarray((1024, 1024), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    for m in range(8):\n"
    "        for n in range(2):\n"
    "            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
    "            for k in range(4):\n"
    "                # both operands\n"
    "                at = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
    "                nisa.dma_copy(dst=at, src=a[nl.ds(k * 128, 128), nl.ds(m * 128, 128)])\n"
    "                bt = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)\n"
    "                nisa.dma_copy(dst=bt, src=b[nl.ds(k * 128, 128), nl.ds(n * 512, 512)])\n"
    "                nisa.nc_matmul(dst=acc, stationary=at, moving=bt)\n"
    "            out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
    "            nisa.tensor_copy(dst=out, src=acc)\n"
    "            nisa.dma_copy(dst=y[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], src=out)\n"
    "    return y\n";

static void a_block_shares_what_it_loads(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 512, 1024);
    help_array(&inputs, 512, 1024);
    help_expect(
        block_current, &inputs, "block:m:4+resident:at.0:n+resident:bt.0:m_in",
        CURRENT
        "def kernel(a, b):\n"
        "    y = nl.ndarray((1024, 1024), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    for m_block in range(8 // 4):\n"
        "        at_all = nl.ndarray((128, 4, 4 * 128), dtype=a.dtype, buffer=nl.sbuf)\n"
        "        for k in range(4):\n"
        "            nisa.dma_copy(\n"
        "                dst=at_all[:, k, :],\n"
        "                src=a[k * 128:(k + 1) * 128, m_block * 512:(m_block + 1) * 512])\n"
        "        for n in range(2):\n"
        "            bt_all = nl.ndarray((128, 4, 512), dtype=b.dtype, buffer=nl.sbuf)\n"
        "            for k in range(4):\n"
        "                nisa.dma_copy(dst=bt_all[:, k, :], src=b[nl.ds(k * 128, 128), nl.ds(n * "
        "512, 512)])\n"
        "            for m_in in range(4):\n"
        "                m = m_block * 4 + m_in\n"
        "                acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
        "                for k in range(4):\n"
        "                    # both operands\n"
        "                    at = at_all[:, k, m_in * 128:(m_in + 1) * 128]\n"
        "                    bt = bt_all[:, k, :]\n"
        "                    nisa.nc_matmul(dst=acc, stationary=at, moving=bt)\n"
        "                out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
        "                nisa.tensor_copy(dst=out, src=acc)\n"
        "                nisa.dma_copy(dst=y[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], src=out)\n"
        "    return y\n");
}

static void loops_are_interchanged(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 512, 1024);
    help_array(&inputs, 512, 1024);
    struct rewrite_request request = help_request(block_current, &inputs);
    struct buf out = {0};
    assert_true(rewrite_apply(&request, "interchange:m:n", &out, NULL));
    assert_non_null(strstr(out.at, "    for n in range(2):\n        for m in range(8):\n"));
    buf_free(&out);
}

static void carried_values_keep_the_loops_in_place(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 1024, 1024);
    help_declines(LEGACY
                  "def kernel(x):\n"
                  "    y = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                  "    last = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
                  "    for m in nl.sequential_range(8):\n"
                  "        for n in nl.sequential_range(2):\n"
                  "            t = nl.load(x[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512])\n"
                  "            last[...] = nl.add(nl.multiply(last, 0.5), t)\n"
                  "    nl.store(y[0:128, 0:512], value=last)\n"
                  "    return y\n",
                  &inputs, "interchange:", "last carries values from one step to another");
}

static const char rows_legacy[] =
    LEGACY "def kernel(x, g):\n"
           "    T = 256\n"
           "    y = nl.ndarray((256, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
           "    for m in nl.affine_range(2):\n"
           "        for n in nl.affine_range(1024 // T):\n"
           "            t = nl.load(x[m * 128:(m + 1) * 128, n * T:(n + 1) * T])\n"
           "            gain = nl.load(g[0:128, 0:256])  # the same each time\n"
           "            out = nl.multiply(t, gain)\n"
           "            nl.store(y[m * 128:(m + 1) * 128, n * T:(n + 1) * T], value=out)\n"
           "    return y\n";

static void what_no_step_changes_is_done_once(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    help_array(&inputs, 128, 256);
    help_expect(rows_legacy, &inputs, "hoist:gain.0:m",
                LEGACY
                "def kernel(x, g):\n"
                "    T = 256\n"
                "    y = nl.ndarray((256, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                "    gain = nl.load(g[0:128, 0:256])  # the same each time\n"
                "    for m in nl.affine_range(2):\n"
                "        for n in nl.affine_range(1024 // T):\n"
                "            t = nl.load(x[m * 128:(m + 1) * 128, n * T:(n + 1) * T])\n"
                "            out = nl.multiply(t, gain)\n"
                "            nl.store(y[m * 128:(m + 1) * 128, n * T:(n + 1) * T], value=out)\n"
                "    return y\n");
}

static void loads_and_stores_of_a_loop_are_merged(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    help_array(&inputs, 128, 256);
    help_expect(
        rows_legacy, &inputs, "merge:t.0:n+store:out.0:n",
        LEGACY
        "def kernel(x, g):\n"
        "    T = 256\n"
        "    y = nl.ndarray((256, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    for m in nl.affine_range(2):\n"
        "        t_all = nl.ndarray((nl.par_dim(128), 1024), dtype=x.dtype, buffer=nl.sbuf)\n"
        "        t_all[:, :] = nl.load(x[m * 128:(m + 1) * 128, 0:1024])\n"
        "        out_all = nl.ndarray((nl.par_dim(128), 1024), dtype=y.dtype, buffer=nl.sbuf)\n"
        "        for n in nl.affine_range(1024 // T):\n"
        "            t = t_all[:, n * T:(n + 1) * T]\n"
        "            gain = nl.load(g[0:128, 0:256])  # the same each time\n"
        "            out_all[:, n * T:(n + 1) * T] = nl.multiply(t, gain)\n"
        "        nl.store(y[m * 128:(m + 1) * 128, 0:1024], value=out_all)\n"
        "    return y\n");
}

static void a_store_that_is_read_back_stays(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 1024);
    help_declines(LEGACY "def kernel(x):\n"
                         "    y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                         "    for n in nl.sequential_range(4):\n"
                         "        t = nl.load(y[0:128, 0:256])\n"
                         "        out = nl.add(t, 1.0)\n"
                         "        nl.store(y[0:128, n * 256:(n + 1) * 256], value=out)\n"
                         "    return y\n",
                  &inputs, "store:", "y is also used otherwise in the loop");
}

static void a_load_is_split_for_overlap(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    help_array(&inputs, 128, 256);
    struct rewrite_request request = help_request(rows_legacy, &inputs);
    struct buf out = {0};
    assert_true(rewrite_apply(&request, "tile:T:1024+split:t.0:2", &out, NULL));
    assert_non_null(strstr(
        out.at, "            t = nl.ndarray((nl.par_dim(128), T), dtype=x.dtype, buffer=nl.sbuf)\n"
                "            for part in nl.affine_range(2):\n"
                "                t[:, part * (T // 2):(part + 1) * (T // 2)] = nl.load(\n"));
    buf_free(&out);
}

static void a_tile_that_changes_is_not_moved(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    static const char source[] =
        LEGACY "def kernel(x):\n"
               "    y = nl.ndarray((256, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
               "    for m in nl.affine_range(2):\n"
               "        for n in nl.affine_range(4):\n"
               "            t = nl.load(x[m * 128:(m + 1) * 128, 0:256])\n"
               "            t += 1.0\n"
               "            nl.store(y[m * 128:(m + 1) * 128, n * 256:(n + 1) * 256], value=t)\n"
               "    return y\n";
    help_declines(source, &inputs, "resident:", "");
    help_declines(source, &inputs, "hoist:", "");
}

static void a_written_source_is_not_read_early(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 256, 1024);
    help_declines(LEGACY "def kernel(x):\n"
                         "    y = nl.ndarray((128, 256), dtype=x.dtype, buffer=nl.hbm)\n"
                         "    for m in nl.sequential_range(4):\n"
                         "        t = nl.load(y[0:128, 0:256])\n"
                         "        nl.store(y[0:128, 0:256], value=nl.add(t, 1.0))\n"
                         "    return y\n",
                  &inputs, "hoist:", "y is changed inside the loop");
}

static void a_name_with_another_meaning_is_left(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 512, 1024);
    /* n is a number before the loops and is needed after them */
    help_declines(
        LEGACY
        "def kernel(x):\n"
        "    n = 3\n"
        "    y = nl.ndarray((512, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    for m in nl.affine_range(4):\n"
        "        for n in nl.affine_range(4):\n"
        "            for r in nl.affine_range(2):\n"
        "                t = nl.load(x[m * 128:(m + 1) * 128, n * 256:(n + 1) * 256])\n"
        "                nl.store(y[m * 128:(m + 1) * 128, n * 256:(n + 1) * 256], value=t)\n"
        "    return y\n",
        &inputs, "resident:t.0:n", "stands for something else too");
    /* two tiles share a name */
    help_declines(LEGACY "def kernel(x):\n"
                         "    y = nl.ndarray((512, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                         "    for m in nl.affine_range(4):\n"
                         "        t = nl.load(x[0:128, 0:256])\n"
                         "        nl.store(y[m * 128:(m + 1) * 128, 0:256], value=t)\n"
                         "        t = nl.load(x[m * 128:(m + 1) * 128, 256:512])\n"
                         "        nl.store(y[m * 128:(m + 1) * 128, 256:512], value=t)\n"
                         "    return y\n",
                  &inputs, "hoist:", "another tile in the loop is called t too");
}

static void loops_after_each_other_share_their_loads(void **state) {
    (void)state;
    struct help_inputs inputs = {0};
    help_array(&inputs, 128, 1024);
    help_expect(
        CURRENT "def kernel(x):\n"
                "    y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                "    top = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                "    nisa.memset(dst=top, value=-1.0e30)\n"
                "    # look\n"
                "    for i in range(2):\n"
                "        a = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                "        nisa.dma_copy(dst=a, src=x[0:128, i * 512:(i + 1) * 512])\n"
                "        part = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                "        nisa.tensor_reduce(dst=part, op=nl.maximum, data=a, axis=1)\n"
                "        nisa.tensor_tensor(dst=top, data1=top, data2=part, op=nl.maximum)\n"
                "    # and write\n"
                "    for j in range(2):\n"
                "        b = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                "        nisa.dma_copy(dst=b, src=x[0:128, j * 512:(j + 1) * 512])\n"
                "        c = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                "        nisa.tensor_scalar(dst=c, data=b, op0=nl.subtract, operand0=top)\n"
                "        nisa.dma_copy(dst=y[0:128, j * 512:(j + 1) * 512], src=c)\n"
                "    return y\n",
        &inputs, "share:a.0:i",
        CURRENT "def kernel(x):\n"
                "    y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                "    top = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                "    nisa.memset(dst=top, value=-1.0e30)\n"
                "    a_all = nl.ndarray((128, 2 * 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                "    nisa.dma_copy(dst=a_all[:, :], src=x[0:128, 0:2 * 512])\n"
                "    # look\n"
                "    for i in range(2):\n"
                "        a = a_all[:, i * 512:(i + 1) * 512]\n"
                "        part = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
                "        nisa.tensor_reduce(dst=part, op=nl.maximum, data=a, axis=1)\n"
                "        nisa.tensor_tensor(dst=top, data1=top, data2=part, op=nl.maximum)\n"
                "    # and write\n"
                "    for j in range(2):\n"
                "        b = a_all[:, j * 512:(j + 1) * 512]\n"
                "        c = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                "        nisa.tensor_scalar(dst=c, data=b, op0=nl.subtract, operand0=top)\n"
                "        nisa.dma_copy(dst=y[0:128, j * 512:(j + 1) * 512], src=c)\n"
                "    return y\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operand_stays_in_sbuf),
        cmocka_unit_test(pieces_side_by_side_come_in_one_load),
        cmocka_unit_test(loops_in_steps_of_a_tile_keep_their_operand),
        cmocka_unit_test(what_does_not_fit_stays_outside),
        cmocka_unit_test(nothing_is_known_without_shapes),
        cmocka_unit_test(a_block_shares_what_it_loads),
        cmocka_unit_test(loops_are_interchanged),
        cmocka_unit_test(carried_values_keep_the_loops_in_place),
        cmocka_unit_test(what_no_step_changes_is_done_once),
        cmocka_unit_test(loads_and_stores_of_a_loop_are_merged),
        cmocka_unit_test(a_store_that_is_read_back_stays),
        cmocka_unit_test(a_load_is_split_for_overlap),
        cmocka_unit_test(a_tile_that_changes_is_not_moved),
        cmocka_unit_test(a_written_source_is_not_read_early),
        cmocka_unit_test(a_name_with_another_meaning_is_left),
        cmocka_unit_test(loops_after_each_other_share_their_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
