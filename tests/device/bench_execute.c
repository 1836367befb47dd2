/* SPDX-License-Identifier: Apache-2.0 */
/* How long one seed takes: programs like the naive seeds, built by hand, and what a product's time
 * is spent on. Run it under OPENBLAS_NUM_THREADS=1 in the optimised build. */
#include <stdio.h>

#include "device/build.h"

static void time_run(struct build *b, const char *name) {
    uint64_t start = clock_monotonic_ns();
    struct device_image *image = device_load(b->program, b->generation, &b->diags);
    if (!image) {
        printf("%s: %s\n", name, b->diags.all.at[0].message);
        exit(1);
    }
    uint64_t loaded = clock_monotonic_ns();
    if (!device_execute(image, b->inputs, b->n_inputs, b->outputs, NULL, &b->err)) {
        printf("%s: %s\n", name, b->err.text);
        exit(1);
    }
    uint64_t ran = clock_monotonic_ns();
    printf("%-8s %7zu instructions, load %.3f s, execute %.3f s\n", name, b->program->instrs.len,
           (double)(loaded - start) * 1e-9, (double)(ran - loaded) * 1e-9);
    device_unload(image);
    build_end(b);
}

static void matmul(int size, int tile_n) {
    struct build b = build_start("trn2");
    uint32_t a_t = build_input(&b, DTYPE_BFLOAT16, size, size, NULL);
    uint32_t w = build_input(&b, DTYPE_BFLOAT16, size, size, NULL);
    uint32_t y = build_output(&b, DTYPE_FLOAT32, size, size);
    for (int m = 0; m < size; m += 128)
        for (int n = 0; n < size; n += tile_n) {
            uint32_t acc = build_tile(&b, NKI_PSUM, DTYPE_FLOAT32, 128, tile_n);
            uint32_t out = build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, tile_n);
            for (int k = 0; k < size; k += 128) {
                uint32_t ta = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 128, 128);
                uint32_t tb = build_tile(&b, NKI_SBUF, DTYPE_BFLOAT16, 128, tile_n);
                build_copy(&b, build_all(&b, ta), build_part(&b, a_t, k, 128, m, 128));
                build_copy(&b, build_all(&b, tb), build_part(&b, w, k, 128, n, tile_n));
                RUN(&b, NC_MATMUL, tile(build_all(&b, acc)), tile(build_all(&b, ta)),
                    tile(build_all(&b, tb)));
            }
            RUN(&b, TENSOR_COPY, tile(build_all(&b, out)), tile(build_all(&b, acc)));
            build_copy(&b, build_part(&b, y, m, 128, n, tile_n), build_all(&b, out));
        }
    time_run(&b, "matmul");
}

static void silu(int rows, int columns, int tile_n) {
    struct build b = build_start("trn2");
    uint32_t x = build_input(&b, DTYPE_FLOAT32, rows, columns, NULL);
    uint32_t y = build_output(&b, DTYPE_FLOAT32, rows, columns);
    for (int m = 0; m < rows; m += 128)
        for (int n = 0; n < columns; n += tile_n) {
            struct nki_operand t[6];
            for (int i = 0; i < 6; i++)
                t[i] = tile(build_all(&b, build_tile(&b, NKI_SBUF, DTYPE_FLOAT32, 128, tile_n)));
            build_copy(&b, t[0].ap, build_part(&b, x, m, 128, n, tile_n));
            RUN(&b, TENSOR_SCALAR, t[1], t[0], func(NKI_FUNC_MULTIPLY), number(-1));
            RUN(&b, ACTIVATION, t[2], func(NKI_FUNC_EXP), t[1]);
            RUN(&b, TENSOR_SCALAR, t[3], t[2], func(NKI_FUNC_ADD), number(1));
            RUN(&b, RECIPROCAL, t[4], t[3]);
            RUN(&b, TENSOR_TENSOR, t[5], t[0], t[4], func(NKI_FUNC_MULTIPLY));
            build_copy(&b, build_part(&b, y, m, 128, n, tile_n), t[5].ap);
        }
    time_run(&b, "silu");
}

static void small(int n) {
    struct build b = build_start("trn2");
    uint32_t t = build_loaded(&b, DTYPE_FLOAT32, 128, 1, NULL);
    for (int i = 0; i < n; i++)
        RUN(&b, TENSOR_TENSOR, tile(build_all(&b, t)), tile(build_all(&b, t)),
            tile(build_all(&b, t)), func(NKI_FUNC_MAXIMUM));
    build_store(&b, t);
    time_run(&b, "small");
}

int main(void) {
    matmul(4096, 256);
    matmul(4096, 512);
    silu(4096, 7168, 256);
    silu(4096, 7168, 1024);
    small(100000);
    return 0;
}
