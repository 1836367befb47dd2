/* SPDX-License-Identifier: Apache-2.0 */
/* How long questions to the profile of a million instructions take, and its timeline for Perfetto:
 *
 *     bench_queries [ROUNDS]        rounds of the kernel's loop, of four instructions each
 *
 * Prints the processor time of each recipe and marks what takes more than a second, which is the
 * goal for a million rows; fails where something takes much longer, or where the timeline is not
 * written piece by piece. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "query/query.h"

#define GOAL_S 1.0
#define MOST_S 4.0 /* a machine that is busy with other things included */
#define PIECE_KB 65536

static const char source[] =
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    "@nki.jit\n"
    "def kernel(a, b):\n"
    "    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)\n"
    "    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
    "    for k in range(%d):\n"
    "        at = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)\n"
    "        bt = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)\n"
    "        nisa.dma_copy(dst=at, src=a[0:128, 0:128])\n"
    "        nisa.dma_copy(dst=bt, src=b[0:128, 0:512])\n"
    "        nisa.nc_matmul(dst=acc, stationary=at, moving=bt)\n"
    "        nisa.tensor_copy(dst=bt, src=acc)\n"
    "    res = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)\n"
    "    nisa.tensor_copy(dst=res, src=acc)\n"
    "    nisa.dma_copy(dst=out[0:128, 0:512], src=res)\n"
    "    return out\n";

static double processor_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool nothing_to_load(void *data, struct query *query, enum query_part part,
                            struct err *err) {
    (void)data, (void)query, (void)part, (void)err;
    return true; /* the profile was given; there is no session */
}

static bool count_row(void *data, const struct query_answer *row) {
    *(size_t *)data += row->values ? 1 : 0;
    return true;
}

/* False when it fails or is too slow. */
static bool ask(struct query *query, const char *name, const char *sql) {
    struct query_limits limits = {.seconds = 600};
    struct err err = {0};
    size_t rows = 0;
    double start = processor_s();
    bool ok = query_run(query, sql, &limits, count_row, &rows, &err);
    double took = processor_s() - start;
    printf("%-12s %8.3f s %6zu rows%s %s\n", name, took, rows,
           took > GOAL_S ? "  above the goal" : "", err.text);
    return ok && took <= MOST_S;
}

static long peak_kb(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

static bool write_timeline(struct query *query) {
    FILE *nowhere = fopen("/dev/null", "w");
    struct err err = {0};
    double start = processor_s();
    long before_kb = peak_kb();
    bool ok = nowhere && query_write_perfetto(query, nowhere, &err);
    long more_kb = peak_kb() - before_kb;
    printf("%-12s %8.3f s, %ld kB more of memory\n", "perfetto", processor_s() - start, more_kb);
    if (nowhere)
        fclose(nowhere);
    return ok && more_kb < PIECE_KB;
}

static bool ask_all(struct query *query) {
    const struct query_recipe *recipe;
    bool ok = ask(query, "count", "SELECT COUNT(*) FROM Instruction");
    for (size_t i = 0; (recipe = query_recipe_at(i)); i++)
        ok &= ask(query, recipe->name, recipe->sql);
    return ok;
}

static bool measure(const struct query_profile *profile) {
    struct err err = {0};
    struct query *query = query_open(nothing_to_load, NULL, &err);
    double start = processor_s();
    if (!query)
        return false;
    query_give_profile(query, profile);
    printf("%zu rows, %zu dependences\n%-12s %8.3f s\n", profile->trace->events.len,
           profile->trace->edges.len, "(tables)", processor_s() - start);
    bool ok = write_timeline(query); /* first: questions leave memory that it could use */
    ok &= ask_all(query);
    query_close(query);
    return ok;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 250000;
    struct diag_list diags = {0};
    struct buf text = {0};
    struct nki_input inputs[] = {
        {.kind = NKI_INPUT_ARRAY, .array = {DTYPE_BFLOAT16, 2, {128, 128}, NULL}},
        {.kind = NKI_INPUT_ARRAY, .array = {DTYPE_BFLOAT16, 2, {128, 512}, NULL}}};
    const struct device_generation *generation = device_generation_find("trn2");
    struct nki_specialise_options options = {
        .generation = generation->generation, .inputs = inputs, .n_inputs = 2};
    buf_printf(&text, source, rounds);
    struct nki_tree *tree = nki_parse("kernel.py", buf_str(&text), &diags);
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    struct device_image *image = program ? device_load(program, generation, &diags) : NULL;
    struct device_profile *profile = image ? device_time(image) : NULL;
    double start = processor_s();
    struct device_trace *trace = profile ? device_trace_make(image, NULL) : NULL;
    printf("%-12s %8.3f s\n", "(trace)", processor_s() - start);
    bool ok = trace && measure(&(struct query_profile){program, image, profile, trace, generation});
    device_trace_free(trace);
    device_profile_free(profile);
    device_unload(image);
    if (program)
        nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    buf_free(&text);
    return ok ? 0 : 1;
}
