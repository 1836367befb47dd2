/* SPDX-License-Identifier: Apache-2.0 */
/* Two cores that exchange: what they compute, how long each waits for the other one, and what is
 * said when one is alone, late or somewhere else. */
#include "build.h"

#define HEAD                                                                          \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"                 \
    "@nki.jit\n"                                                                      \
    "def kernel(x):\n"                                                                \
    "    me = nl.program_id(0)\n"                                                     \
    "    y = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)\n"           \
    "    s = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm, name='s')\n" \
    "    a = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.sbuf)\n"                 \
    "    b = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.sbuf)\n"                 \
    "    nisa.dma_copy(dst=a, src=x[me * 32:me * 32 + 32, 0:8])\n"
#define SWAP(more) \
    "    nisa.sendrecv(src=a, dst=b, send_to_rank=1 - me, recv_from_rank=1 - me, " more ")\n"
#define SEND SWAP("pipe_id=0")
#define OUT                                                        \
    "    nisa.dma_copy(dst=y[me * 32:me * 32 + 32, 0:8], src=b)\n" \
    "    return y\n"

struct launch {
    struct nki_tree *tree;
    struct diag_list diags;
    struct nki_program *program;
    struct device_image *image;
};

static struct launch launch(const char *text, int cores) {
    struct launch l = {0};
    struct nki_input input = {.kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {64, 8}}};
    struct nki_specialise_options options = {
        .generation = NKI_GEN3, .inputs = &input, .n_inputs = 1, .grid = {cores}};
    l.tree = nki_parse("kernel.py", str_of(text), &l.diags);
    l.program = nki_specialise(l.tree, &options, &l.diags);
    if (l.program)
        l.image = device_load(l.program, device_generation_of(NKI_GEN3), &l.diags);
    return l;
}

static void launch_free(struct launch *l) {
    device_unload(l->image);
    nki_program_free(l->program);
    nki_tree_free(l->tree);
    diag_free(&l->diags);
}

static struct launch launch_good(const char *text) {
    struct launch l = launch(text, 2);
    for (size_t i = 0; i < l.diags.all.len && !l.image; i++)
        print_error("%s\n", l.diags.all.at[i].message);
    assert_non_null(l.image);
    return l;
}

/* Element k of x is k. Returns what the kernel does. */
static float *run(const char *text) {
    struct launch l = launch_good(text);
    float x[64 * 8];
    for (int i = 0; i < 64 * 8; i++)
        x[i] = (float)i;
    struct array input = {.dtype = DTYPE_FLOAT32, .ndim = 2, .shape = {64, 8}, .data = x},
                 output = {0};
    struct err err = {0};
    if (!device_execute(l.image, &input, 1, &output, NULL, &err))
        fail_msg("%s", err.text);
    launch_free(&l);
    return output.data;
}

static void test_sendrecv(void **state) {
    (void)state;
    float *y = run(HEAD SEND OUT);
    for (int i = 0; i < 64 * 8; i++)
        assert_float_equal(y[i], (float)((i + 32 * 8) % (64 * 8)), 0);
    free(y);
    y = run(HEAD SWAP("pipe_id=3, dma_engine=nisa.dma_engine.gpsimd_dma") OUT);
    assert_float_equal(y[0], 32 * 8, 0);
    free(y);
}

/* One tile to send and to receive in: both are sent before either is received. */
static void test_in_place(void **state) {
    (void)state;
    float *y = run(HEAD "    b = a\n" SEND OUT);
    assert_float_equal(y[0], 32 * 8, 0);
    assert_float_equal(y[32 * 8 + 1], 1, 0);
    free(y);
}

#define THROUGH_HBM(between)                                                    \
    HEAD "    nisa.dma_copy(dst=s[me * 32:me * 32 + 32, 0:8], src=a)\n" between \
         "    nisa.dma_copy(dst=b, src=s[32 - me * 32:64 - me * 32, 0:8])\n" OUT

/* What one core wrote, the other one reads behind a barrier; each round of a loop anew. */
static void test_barrier(void **state) {
    (void)state;
    float *y = run(THROUGH_HBM("    nisa.core_barrier(s, (0, 1))\n"));
    assert_float_equal(y[5], 32 * 8 + 5, 0);
    free(y);
    y = run(HEAD "    for i in range(9):\n"
                 "        nisa.dma_copy(dst=s[me * 32:me * 32 + 32, 0:8], src=a)\n"
                 "        nisa.core_barrier(data=s, cores=(0, 1))\n"
                 "        nisa.dma_copy(dst=b, src=s[32 - me * 32:64 - me * 32, 0:8])\n"
                 "        nisa.core_barrier(data=s, cores=[0, 1])\n"
                 "        nisa.tensor_scalar(dst=a, data=b, op0=nl.add, operand0=1.0)\n" OUT);
    assert_float_equal(y[0], 32 * 8 + 8, 0);
    assert_float_equal(y[32 * 8], 8, 0);
    free(y);
}

/* ---- time ----------------------------------------------------------------------------------- */

static double latency(const char *text) {
    struct launch l = launch_good(text);
    double us = device_time_latency(l.image, NULL);
    launch_free(&l);
    return us;
}

#define BUSY(who)                                        \
    "    for i in range(100 if me == " who " else 1):\n" \
    "        nisa.tensor_scalar(dst=a, data=a, op0=nl.add, operand0=1.0)\n"

/* Whichever is late, the other one waits for it, and says so. */
static void test_waits(void **state) {
    (void)state;
    double neither = latency(HEAD BUSY("2") SEND OUT);
    double first = latency(HEAD BUSY("0") SEND OUT), second = latency(HEAD BUSY("1") SEND OUT);
    double apart = latency(HEAD SEND BUSY("0") OUT);
    assert_float_equal(first, second, 1e-9);
    assert_true(first > neither + 5 && apart > neither + 5);
    struct launch l = launch_good(HEAD BUSY("1") SEND OUT);
    struct device_profile *profile = device_time(l.image);
    size_t waiting = 0, late = 0;
    for (size_t i = 0; i < profile->spans.len; i++) {
        const struct device_span *span = &profile->spans.at[i];
        if (l.program->instrs.at[span->instr].op != NKI_OP_SENDRECV)
            continue;
        waiting++;
        late += span->start_ns > 1e3 * (first - neither);
    }
    assert_int_equal(waiting, 2);
    assert_int_equal(late, 2); /* both begin when the slow one has come */
    device_profile_free(profile);
    launch_free(&l);
}

/* Core 0 waits for core 1 where they exchange, and ends last. */
#define WAITS                                         \
    HEAD BUSY("1") SEND                               \
        "    for i in range(40 if me == 0 else 1):\n" \
        "        nisa.tensor_scalar(dst=b, data=b, op0=nl.add, operand0=1.0)\n" OUT

/* What core 0 waited for is core 1's side of the exchange, of which the causes tell. */
static void test_reason(void **state) {
    (void)state;
    struct launch l = launch_good(WAITS);
    struct device_profile *profile = device_time(l.image);
    struct device_causes *causes = device_causes_of(l.image, NULL, true);
    size_t met = 0;
    assert_int_equal(causes->reasons.len, profile->spans.len);
    for (size_t i = 0; i < causes->reasons.len; i++) {
        const struct device_reason *reason = &causes->reasons.at[i];
        const struct device_stall *wait = &causes->waits.at[reason->wait];
        if (wait->wait != DEVICE_WAIT_PEER)
            continue;
        met++;
        assert_int_equal(l.program->instrs.at[profile->spans.at[i].instr].core, 0);
        assert_int_equal(l.program->instrs.at[reason->cause].core, 1);
        assert_int_equal(l.program->instrs.at[reason->cause].op, NKI_OP_SENDRECV);
        assert_string_equal(wait->cause.op, "sendrecv");
        assert_int_equal(wait->cause.lane[0], '1');
        assert_true(wait->us > 5 && reason->is_critical);
    }
    assert_int_equal(met, 1);
    device_causes_free(causes);
    device_profile_free(profile);
    launch_free(&l);
}

/* The critical path is that of the launch: before the exchange it is core 1's, behind it core 0's.
 * Together that is the latency, of the profile's lines as well. */
static void test_path(void **state) {
    (void)state;
    struct launch l = launch_good(WAITS);
    struct device_profile *profile = device_time(l.image);
    struct device_causes *causes = device_causes_of(l.image, NULL, true);
    size_t steps[2] = {0};
    for (size_t i = 0; i < causes->reasons.len; i++) {
        const struct nki_instr *instr = &l.program->instrs.at[profile->spans.at[i].instr];
        if (causes->reasons.at[i].is_critical && instr->op == NKI_OP_TENSOR_SCALAR)
            steps[instr->core]++;
    }
    assert_int_equal(steps[1], 100);
    assert_int_equal(steps[0], 40);
    double us = causes->launch_us, share = 0, busy = 0;
    for (size_t i = 0; i < causes->segments.len; i++)
        us += causes->segments.at[i].us;
    assert_float_equal(us, causes->latency_us, 1e-6);
    for (size_t i = 0; i < profile->lines.len; i++) {
        share += profile->lines.at[i].share;
        if (profile->lines.at[i].line == 13) /* of BUSY */
            busy = profile->lines.at[i].share;
    }
    assert_float_equal(share * causes->latency_us + causes->launch_us, causes->latency_us, 1e-6);
    assert_true(busy > 0.2);
    device_causes_free(causes);
    device_profile_free(profile);
    launch_free(&l);
}

/* A line is changed on both cores, and tried once on each other engine. */
static void test_what_if(void **state) {
    (void)state;
    struct launch l = launch_good(WAITS);
    struct device_causes *causes = device_causes_of(l.image, NULL, false);
    device_causes_try(causes, l.image, NULL);
    size_t found = 0;
    for (size_t i = 0; i < causes->ifs.len; i++) {
        assert_null(strstr(causes->ifs.at[i].change, "on Vector instead of"));
        found +=
            !strcmp(causes->ifs.at[i].change, "line 13 tensor_scalar on Scalar instead of Vector");
    }
    assert_int_equal(found, 1);
    device_causes_free(causes);
    launch_free(&l);
}

/* The trace names the same: an event of core 0 that waits for one of core 1. */
static void test_trace(void **state) {
    (void)state;
    struct launch l = launch_good(WAITS);
    struct device_trace *trace = device_trace_make(l.image, NULL);
    size_t across = 0;
    for (size_t i = 0; i < trace->events.len; i++) {
        const struct device_event *event = &trace->events.at[i];
        if (event->cause < 0)
            continue;
        const struct device_event *cause = &trace->events.at[event->cause];
        if (l.program->instrs.at[event->instr].core == l.program->instrs.at[cause->instr].core)
            continue;
        across++;
        assert_int_equal(l.program->instrs.at[event->instr].core, 0);
        assert_int_equal(l.program->instrs.at[cause->instr].op, NKI_OP_SENDRECV);
    }
    assert_int_equal(across, 1);
    device_trace_free(trace);
    launch_free(&l);
}

/* A barrier holds the reader until the writer's transfer is over. */
static void test_barrier_time(void **state) {
    (void)state;
    double us = latency(THROUGH_HBM("    nisa.core_barrier(s, (0, 1))\n"));
    double late =
        latency(THROUGH_HBM(BUSY("0") "    nisa.dma_copy(dst=s[me * 32:me * 32 + 32, "
                                      "0:8], src=a)\n    nisa.core_barrier(s, (0, 1))\n"));
    assert_true(us > 10 && late > us + 5);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void refused(const char *text, const char *one, const char *other) {
    struct launch l = launch(text, 2);
    bool told = false;
    for (size_t i = 0; i < l.diags.all.len; i++) {
        const struct diag *diag = &l.diags.all.at[i];
        told |= diag->severity == DIAG_ERROR && strstr(diag->message, one) &&
                strstr(diag->message, other);
    }
    for (size_t i = 0; i < l.diags.all.len && !told; i++)
        print_error("%s\n", l.diags.all.at[i].message);
    assert_null(l.image);
    assert_true(told);
    launch_free(&l);
}

static void test_differ(void **state) {
    (void)state;
    refused(HEAD "    if me == 1:\n    " SEND OUT, "core 1 at kernel.py:13 waits for core 0",
            "which never meets it");
    refused(HEAD SEND "    if me == 0:\n    " SEND OUT, "core 0 at kernel.py:14",
            "core 1 at kernel.py:12 (2 times on core 0, 1 on core 1)");
    refused(HEAD "    if me:\n        nisa.core_barrier(s, (0, 1))\n" SEND
                 "    if not me:\n        nisa.core_barrier(s, (0, 1))\n" OUT,
            "nisa.sendrecv(b) of core 0 at kernel.py:14",
            "core_barrier(s) of core 1 at kernel.py:13");
    refused(HEAD SWAP("pipe_id=me") OUT, "of core 0 at kernel.py:12", "pipe_id");
    refused(HEAD "    k = 32 - 16 * me\n"
                 "    nisa.sendrecv(src=a[0:k, 0:8], dst=b[0:k, 0:8], send_to_rank=1 - me, "
                 "recv_from_rank=1 - me, pipe_id=0)\n" OUT,
            "core 0 sends 32 x 8 float32", "core 1 receives 16 x 8 float32");
    refused(HEAD "    nisa.core_barrier(s if me else y, (0, 1))\n" SEND OUT, "core_barrier(y)",
            "different tensors");
    refused(HEAD "    nisa.sendrecv(src=a, dst=b, send_to_rank=me, recv_from_rank=1 - me, "
                 "pipe_id=0)\n" OUT,
            "send_to_rank is 0 on core 0", "it has to be the other one: 1");
    refused(HEAD "    for i in range(3 + me):\n    " SEND OUT, "core 1 at kernel.py:13",
            "(3 times on core 0, 4 on core 1)");
}

#define LOOP(rounds)     \
    "    def body(i):\n" \
    "        nisa.tensor_scalar(dst=a, data=a, op0=nl.add, operand0=1.0)\n" rounds "    " SEND OUT

/* Both cores have the same control flow and the same shared tensors. */
static void test_unlike(void **state) {
    (void)state;
    refused(HEAD "    nisa.core_barrier(a, (0, 1))\n" SEND OUT, "core_barrier: `a` is in",
            "nl.shared_hbm");
    refused(HEAD LOOP("    if me == 0:\n        nl.fori_loop(0, 2, body)\n    if True:\n"),
            "only one core has this loop", "for no round");
    refused(HEAD LOOP("    nl.fori_loop(0, 2 + me, body)\n    if True:\n"),
            "core 0 branches 3 times", "core 1 4 times");
    refused(HEAD
            "    z = nl.ndarray((64, 8 + me), dtype=nl.float32, buffer=nl.shared_hbm)\n" SEND OUT,
            "`z` in nl.shared_hbm is (64, 8) float32 on core 0", "(64, 9) float32 on core 1");
    refused(HEAD "    z = nl.ndarray((64, 8), dtype=nl.bfloat16 if me else nl.float32, "
                 "buffer=nl.shared_hbm)\n" SEND OUT,
            "float32 on core 0", "bfloat16 on core 1");
    static const char *const taken[] = {
        HEAD LOOP("    nl.fori_loop(0, 2, body)\n    if True:\n"),
        HEAD LOOP("    nl.fori_loop(0, 2 * me, body)\n    if True:\n"),
        HEAD LOOP("    if me:\n        nl.fori_loop(0, 2, body)\n    else:\n"
                  "        nl.fori_loop(0, 3, body)\n    if True:\n"),
    };
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        struct launch l = launch_good(taken[i]);
        launch_free(&l);
    }
}

/* Touched by both with nothing between, where, and by which lines. */
static void test_conflicts(void **state) {
    (void)state;
    refused(THROUGH_HBM(""), "core 1 writes `s[32, 0]`, which core 0 reads at kernel.py:13",
            "core_barrier(s, (0, 1))");
    refused(HEAD SEND "    nisa.dma_copy(dst=y[me * 31:me * 31 + 32, 0:8], src=b)\n    return y\n",
            "core 1 writes `y[31, 0]`, which core 0 writes at kernel.py:13", "nothing orders");
    struct launch l = launch(THROUGH_HBM("    nisa.core_barrier(y, (0, 1))\n"), 2);
    bool warned = false;
    for (size_t i = 0; i < l.diags.all.len; i++)
        warned |= strcmp(l.diags.all.at[i].code, "hone-cores-order") == 0;
    assert_true(l.image && warned);
    launch_free(&l);
}

/* The launch of a kernel may stand at its decorator, and has to be the one that was asked for. */
static void test_decorator(void **state) {
    (void)state;
    static const char *const says[] = {"@nki.jit(grid=[2])", "@nki.jit(lnc=2)",
                                       "@nki.jit(grid=(2,))"};
    struct buf text = {0};
    for (size_t i = 0; i < COUNT_OF(says); i++) {
        const char *kernel = HEAD SEND OUT, *mark = strstr(kernel, "@nki.jit");
        buf_clear(&text);
        buf_add(&text, kernel, (size_t)(mark - kernel));
        buf_puts(&text, says[i]);
        buf_puts(&text, mark + strlen("@nki.jit"));
        struct launch l = launch(text.at, 0);
        assert_non_null(l.image);
        assert_int_equal(l.program->cores, 2);
        launch_free(&l);
        l = launch(text.at, 1);
        assert_null(l.image);
        assert_string_equal(l.diags.all.at[0].code, "NCC_EVRF066");
        launch_free(&l);
    }
    buf_free(&text);
}

static void test_alone(void **state) {
    (void)state;
    struct launch l = launch(HEAD SEND OUT, 1);
    assert_null(l.image);
    assert_non_null(strstr(l.diags.all.at[0].message, "there is no other core"));
    launch_free(&l);
    l = launch(THROUGH_HBM("    nisa.core_barrier(s, (0,))\n"), 1);
    assert_non_null(l.image);
    launch_free(&l);
}

/* SBUF of each core holds what that core uses: together they use more than one has. */
static void test_own_memory(void **state) {
    (void)state;
    struct launch l = launch_good(
        HEAD "    big = nl.ndarray((128, 32 * 1024), dtype=nl.float32, buffer=nl.sbuf)\n"
             "    nisa.memset(dst=big, value=1.0)\n" SEND
             "    nisa.tensor_copy(dst=big[0:32, 0:8], src=b)\n"
             "    nisa.tensor_copy(dst=b, src=big[0:32, 0:8])\n" OUT);
    assert_int_equal(l.diags.warnings, 0);
    launch_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sendrecv),     cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_barrier),      cmocka_unit_test(test_waits),
        cmocka_unit_test(test_reason),       cmocka_unit_test(test_path),
        cmocka_unit_test(test_what_if),      cmocka_unit_test(test_trace),
        cmocka_unit_test(test_barrier_time), cmocka_unit_test(test_differ),
        cmocka_unit_test(test_conflicts),    cmocka_unit_test(test_decorator),
        cmocka_unit_test(test_unlike),       cmocka_unit_test(test_alone),
        cmocka_unit_test(test_own_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
