/* SPDX-License-Identifier: Apache-2.0 */
/* Why kernels take their time: what is told adds up to the latency, of whole programs, folded ones
 * and two cores alike; it names the lines that cost; and keeping reasons changes no time. */
#include "build.h"

#include "device/time/inner.h"

#define HEAD                                                          \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n" \
    "@nki.jit\n"                                                      \
    "def kernel(x):\n"                                                \
    "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
/* Two tiles for all rounds: each load waits until the tile of the round before was read. */
static const char one_buffer[] =
    HEAD "    t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "    u = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "    for i in range(16):\n"
         "        nisa.dma_copy(dst=t, src=x[i * 128:i * 128 + 128, 0:2048])\n"
         "        nisa.activation(dst=u, op=nl.exp, data=t)\n"
         "        nisa.dma_copy(dst=y[i * 128:i * 128 + 128, 0:2048], src=u)\n"
         "    return y\n";
/* The same with two tiles that take turns. */
static const char two_buffers[] =
    HEAD "    t = [nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf),\n"
         "         nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)]\n"
         "    u = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "    for i in range(16):\n"
         "        nisa.dma_copy(dst=t[i % 2], src=x[i * 128:i * 128 + 128, 0:2048])\n"
         "        nisa.activation(dst=u, op=nl.exp, data=t[i % 2])\n"
         "        nisa.dma_copy(dst=y[i * 128:i * 128 + 128, 0:2048], src=u)\n"
         "    return y\n";
/* The same with four. */
static const char four_buffers[] =
    HEAD "    t = [nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf) for k in range(4)]\n"
         "\n"
         "    u = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "    for i in range(16):\n"
         "        nisa.dma_copy(dst=t[i % 4], src=x[i * 128:i * 128 + 128, 0:2048])\n"
         "        nisa.activation(dst=u, op=nl.exp, data=t[i % 4])\n"
         "        nisa.dma_copy(dst=y[i * 128:i * 128 + 128, 0:2048], src=u)\n"
         "    return y\n";
/* Loads of 128 columns each, and the same as loads of 256, of which each half is used. */
static const char narrow[] =
    HEAD "    for i in range(16):\n"
         "        u = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        t = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        nisa.dma_copy(dst=t, src=x[0:128, i * 128:i * 128 + 128])\n"
         "        nisa.activation(dst=u, op=nl.exp, data=t)\n"
         "    nisa.dma_copy(dst=y[0:128, 0:128], src=u)\n"
         "    return y\n";
static const char wide[] =
    HEAD "    for i in range(8):\n"
         "        t = nl.ndarray((128, 256), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        nisa.dma_copy(dst=t, src=x[0:128, i * 256:i * 256 + 256])\n"
         "        for k in range(2):\n"
         "            u = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)\n"
         "            nisa.activation(dst=u, op=nl.exp, data=t[:, k * 128:k * 128 + 128])\n"
         "    nisa.dma_copy(dst=y[0:128, 0:128], src=u)\n"
         "    return y\n";
/* Three engines in a chain, many times over. */
#define CHAIN(engine)                                                                           \
    HEAD "    t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"                     \
         "    nisa.dma_copy(dst=t, src=x[0:128, 0:2048])\n"                                     \
         "    m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"                     \
         "    for i in range(3000):\n"                                                          \
         "        nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)\n"                   \
         "        nisa.activation(dst=t, op=nl.exp, data=t, bias=m)\n"                          \
         "        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0" engine ")\n" \
         "    nisa.dma_copy(dst=y[0:128, 0:2048], src=t)\n"                                     \
         "    return y\n"
static const char chain[] = CHAIN("");
static const char chain_scalar[] = CHAIN(", engine=nisa.engine.scalar");
/* Tiles of 78 KiB a partition in each round: there is room for two rounds. */
static const char no_room[] =
    HEAD "    for i in range(16):\n"
         "        t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        u = nl.ndarray((128, 20000), dtype=nl.float32, buffer=nl.sbuf)\n"
         "        nisa.dma_copy(dst=t, src=x[i * 128:i * 128 + 128, 0:2048])\n"
         "        nisa.memset(dst=u, value=0.0)\n"
         "        nisa.tensor_copy(dst=u[0:128, 0:2048], src=t)\n"
         "        nisa.dma_copy(dst=y[i * 128:i * 128 + 128, 0:2048], src=u[0:128, 0:2048])\n"
         "    return y\n";
/* Each core copies its share of x. */
static const char two_cores[] =
    HEAD "    me, all = nl.program_id(0), nl.num_programs(0)\n"
         "    for i in range(me * 16 // all, (me + 1) * 16 // all):\n"
         "        t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        nisa.dma_copy(dst=t, src=x[i * 128:i * 128 + 128, 0:2048])\n"
         "        nisa.dma_copy(dst=y[i * 128:i * 128 + 128, 0:2048], src=t)\n"
         "    return y\n";
/* Copies in two chains that have nothing in common but the port. */
static const char port[] =
    HEAD "    t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "    nisa.dma_copy(dst=t, src=x[0:128, 0:2048])\n"
         "    for i in range(16):\n"
         "        u = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        v = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "        nisa.tensor_tensor(dst=u, data1=t, data2=t, op=nl.add,\n"
         "                           engine=nisa.engine.vector)\n"
         "        nisa.tensor_tensor(dst=v, data1=t, data2=t, op=nl.add,\n"
         "                           engine=nisa.engine.gpsimd)\n"
         "    nisa.dma_copy(dst=y[0:128, 0:2048], src=u)\n"
         "    nisa.dma_copy(dst=y[128:256, 0:2048], src=v)\n"
         "    return y\n";
static const char legacy[] =
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
    "import neuronxcc.nki.language as nl\n@nki.jit\n"
    "def kernel(x):\n"
    "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    for i in nl.affine_range(16):\n"
    "        t = nl.load(x[i * 128:(i + 1) * 128, :])\n"
    "        e = nl.exp(t)\n"
    "        s = nl.sum(e, axis=[1])\n"
    "        nl.store(y[i * 128:(i + 1) * 128, :], nl.multiply(e, nl.reciprocal(s)))\n"
    "    return y\n";

/* Of two differences one has an input that the compiler keeps in PSUM. Every round loads w again,
 * and fills one buffer anew. What its path repeats comes within several legs. */
static const char compiled[] =
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
    "import neuronxcc.nki.language as nl\n@nki.jit\n"
    "def kernel(x):\n"
    "    y = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    b = nl.ndarray((nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)\n"
    "    for i in nl.affine_range(16):\n"
    "        w = nl.load(x[0:128, 512:1024])\n"
    "        nisa.dma_copy(dst=b, src=x[i * 128:i * 128 + 128, 0:512])\n"
    "        acc = nl.zeros((128, 512), nl.float32, buffer=nl.psum)\n"
    "        acc += nl.matmul(w[:, 0:128], b, transpose_x=True)\n"
    "        one = nl.subtract(b, nl.exp(b))\n"
    "        other = nl.subtract(one, b)\n"
    "        nl.store(y[i * 128:i * 128 + 128, 0:512], nl.add(other, acc))\n"
    "    return y\n";

/* No stretch of it comes twice in a row, and engines wait for each other: the path has as many
 * segments as there are rounds, and more. */
static const char never_alike[] =
    HEAD "    t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)\n"
         "    m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
         "    nisa.dma_copy(dst=t, src=x[0:128, 0:2048])\n"
         "    for i in range(40):\n"
         "        for k in range(i * i % 11 + 1):\n"
         "            nisa.activation(dst=t, op=nl.exp, data=t)\n"
         "        nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)\n"
         "        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=m)\n"
         "        for k in range(i * i * i % 7):\n"
         "            nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.add)\n"
         "        for k in range(i * 5 % 13):\n"
         "            nisa.reciprocal(dst=t, data=t)\n"
         "        for k in range(i % 2):\n"
         "            nisa.dma_copy(dst=y[i * 16:i * 16 + 128, 0:2048], src=t)\n"
         "            nisa.dma_copy(dst=t, src=x[i * 16:i * 16 + 128, 0:2048])\n"
         "    nisa.dma_copy(dst=y[0:128, 0:2048], src=t)\n"
         "    return y\n";

struct loaded {
    struct nki_tree *tree;
    struct nki_program *program;
    struct device_image *image;
    struct diag_list diags;
};

static struct loaded load(const char *text, uint32_t fold_rounds, int cores) {
    struct loaded l = {0};
    struct nki_input input = {.kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = DTYPE_BFLOAT16, .ndim = 2, .shape = {2048, 2048}}};
    bool folded = false;
    struct nki_specialise_options options = {.generation = NKI_GEN3,
                                             .inputs = &input,
                                             .n_inputs = 1,
                                             .grid = {cores},
                                             .fold_rounds = fold_rounds,
                                             .fold_least = 1,
                                             .was_folded = &folded};
    l.tree = nki_parse("kernel.py", str_of(text), &l.diags);
    l.program = nki_specialise(l.tree, &options, &l.diags);
    if (!l.program)
        fail_msg("%s", l.diags.all.len ? l.diags.all.at[0].message : "no program");
    assert_true(folded == (fold_rounds > 0));
    l.image = device_load(l.program, device_generation_of(NKI_GEN3), &l.diags);
    if (!l.image)
        fail_msg("%s", l.diags.all.at[0].message);
    return l;
}

static void unload(struct loaded *l) {
    device_unload(l->image);
    nki_program_free(l->program);
    nki_tree_free(l->tree);
    diag_free(&l->diags);
}

/* ---- what adds up --------------------------------------------------------------------------- */

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * (1 + fabs(b)))

static double leg_sum(const struct device_causes *causes, const struct device_leg *leg) {
    double us = 0;
    for (uint32_t i = 0; i < leg->count; i++) {
        const struct device_leg *part = &causes->legs.at[leg->first + i];
        us += part->us * part->times;
        NEAR(leg_sum(causes, part), part->us);
    }
    return leg->count ? us : leg->us;
}

static void adds_up(const struct device_causes *causes) {
    double path = causes->launch_us, before = INFINITY;
    for (size_t i = 0; i < causes->segments.len; i++) {
        const struct device_segment *segment = &causes->segments.at[i];
        const struct device_leg *leg = &causes->legs.at[segment->leg];
        assert_true(segment->us > 0 && segment->us <= before);
        NEAR(leg->us * leg->times * (double)segment->times, segment->us);
        NEAR(leg_sum(causes, leg), leg->us);
        path += before = segment->us;
    }
    NEAR(path, causes->latency_us);
    for (size_t i = 0; i < causes->lanes.len; i++) {
        const struct device_lane *lane = &causes->lanes.at[i];
        double us = lane->busy_us + lane->lead_us + lane->tail_us + causes->launch_us;
        for (int wait = 0; wait < DEVICE_WAITS; wait++)
            us += lane->idle_us[wait];
        NEAR(us, causes->latency_us);
    }
}

/* The rows of the critical path in the text are the latency, up to their rounding, whatever is told
 * one by one; no number has an exponent, and no line is cut off. */
static void text_adds_up(const struct device_causes *causes, const char *text) {
    struct str rest = str_of(text), line;
    double us = 0;
    bool path = true;
    assert_true(str_next(&rest, '\n', &line) && str_starts(line, "critical path of "));
    while (path && str_next(&rest, '\n', &line)) {
        char *end;
        path = str_starts(line, "  ");
        us += path ? strtod(line.at, &end) : 0;
        assert_true(!path || str_starts(str_of(end), " us"));
    }
    assert_true(fabs(us - causes->latency_us) < 0.002 * causes->latency_us);
    assert_null(strstr(text, "e+"));
    assert_true(text[strlen(text) - 1] == '\n');
}

static struct device_causes *causes_with(const struct device_image *image, bool reasons) {
    struct device_causes *causes = device_causes_of(image, NULL, reasons);
    struct buf text = {0};
    assert_non_null(causes);
    adds_up(causes);
    device_causes_print(causes, &text);
    assert_true(text.len > 200 && text.len < DEVICE_CAUSES_TEXT);
    text_adds_up(causes, text.at);
    buf_free(&text);
    return causes;
}

static const char *const kernels[] = {one_buffer, chain, no_room, legacy, never_alike};

/* The timeline that the reasons belong to is that of the profile, and so is each lane's busy time.
 */
static void all_add_up_to_the_profile(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT_OF(kernels); k++) {
        struct loaded l = load(kernels[k], 0, 1);
        struct device_profile *profile = device_time(l.image);
        struct device_causes *causes = causes_with(l.image, true);
        assert_true(causes->latency_us == profile->latency_us);
        assert_true(causes->reasons.len == profile->spans.len);
        struct time_trace *trace = time_trace_make(l.image, NULL, true);
        for (size_t i = 0; i < profile->spans.len; i++) {
            assert_int_equal(trace->spans.at[i].queue, profile->spans.at[i].queue);
            assert_true(trace->spans.at[i].start_ns == profile->spans.at[i].start_ns);
            assert_true(causes->reasons.at[i].wait < causes->waits.len);
        }
        for (size_t b = 0; b < profile->bounds.len; b++)
            for (size_t i = 0; i < causes->lanes.len; i++)
                if (!strcmp(causes->lanes.at[i].name, profile->bounds.at[b].name))
                    NEAR(causes->lanes.at[i].busy_us, profile->bounds.at[b].busy_ns / 1e3);
        time_trace_free(trace);
        device_causes_free(causes);
        device_profile_free(profile);
        unload(&l);
    }
}

/* Of rounds that were left out the same is told as of all. */
static void folded_loops_say_the_same(void **unused) {
    (void)unused;
    struct loaded whole = load(chain, 0, 1), folded = load(chain, 1024, 1);
    assert_true(folded.program->instrs.len < whole.program->instrs.len / 2);
    struct device_causes *all = causes_with(whole.image, true);
    struct device_causes *some = causes_with(folded.image, false);
    struct device_causes *shortened = causes_with(whole.image, false);
    const struct device_causes *others[] = {some, shortened};
    device_causes_try(all, whole.image, NULL);
    device_causes_try(some, folded.image, NULL);
    device_causes_try(shortened, whole.image, NULL);
    assert_true(all->ifs.len >= 3);
    for (size_t k = 0; k < COUNT_OF(others); k++) {
        const struct device_causes *other = others[k];
        struct buf a = {0}, b = {0};
        device_causes_print(all, &a);
        device_causes_print(other, &b);
        assert_string_equal(a.at, b.at);
        buf_free(&a);
        buf_free(&b);
        for (size_t i = 0; i < all->lanes.len; i++)
            for (int wait = 0; wait < DEVICE_WAITS; wait++)
                NEAR(all->lanes.at[i].idle_us[wait], other->lanes.at[i].idle_us[wait]);
    }
    assert_int_equal(some->reasons.len, 0);
    device_causes_free(all);
    device_causes_free(some);
    device_causes_free(shortened);
    unload(&whole);
    unload(&folded);
}

/* Each span of either core has a wait, and lanes are those of both. */
static void two_cores_have_the_causes_of_both(void **unused) {
    (void)unused;
    struct loaded l = load(two_cores, 0, 2);
    struct device_profile *profile = device_time(l.image);
    struct device_causes *causes = causes_with(l.image, true);
    struct time_trace *trace = time_trace_make(l.image, NULL, true);
    double busy[2] = {0};
    assert_true(causes->latency_us == profile->latency_us);
    assert_true(profile->spans.len == 32 && causes->reasons.len == 32);
    for (size_t i = 0; i < profile->spans.len; i++) {
        const struct device_reason *reason = &causes->reasons.at[i];
        uint8_t core = l.program->instrs.at[profile->spans.at[i].instr].core;
        assert_int_equal(trace->spans.at[i].instr, profile->spans.at[i].instr);
        assert_int_equal(trace->spans.at[i].queue, profile->spans.at[i].queue);
        assert_true(trace->spans.at[i].start_ns == profile->spans.at[i].start_ns);
        if (reason->cause >= 0)
            assert_int_equal(l.program->instrs.at[reason->cause].core, core);
        assert_int_equal(causes->waits.at[reason->wait].spot.lane[0], '0' + core);
    }
    assert_int_equal(causes->lanes.len, 4);
    for (size_t i = 0; i < 4; i++)
        busy[causes->lanes.at[i].name[0] == '1'] += causes->lanes.at[i].busy_us;
    assert_true(busy[0] > 0.9 * busy[1] && busy[1] > 0.9 * busy[0]); /* they share HBM */
    time_trace_free(trace);
    device_causes_free(causes);
    device_profile_free(profile);
    unload(&l);
}

/* ---- what is named -------------------------------------------------------------------------- */

static const struct device_lane *lane_of(const struct device_causes *causes, const char *name) {
    for (size_t i = 0; i < causes->lanes.len; i++)
        if (!strcmp(causes->lanes.at[i].name, name))
            return &causes->lanes.at[i];
    fail_msg("no lane %s", name);
    return NULL;
}

static void a_loop_is_one_segment(void **unused) {
    (void)unused;
    static const uint32_t lines[] = {11, 12, 13};
    struct loaded l = load(chain, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    const struct device_leg *leg = &causes->legs.at[causes->segments.at[0].leg];
    NEAR(leg->times, 3000.0);
    assert_int_equal(leg->count, COUNT_OF(lines));
    for (uint32_t i = 0; i < leg->count; i++)
        assert_int_equal(causes->legs.at[leg->first + i].spot.line, lines[i]);
    assert_true(causes->segments.at[0].us > 0.99 * causes->latency_us);
    device_causes_free(causes);
    unload(&l);
}

/* Of a path whose segments are many and small, each line is told with what it has in all. */
static void a_path_that_never_repeats_is_told_by_line(void **unused) {
    (void)unused;
    struct loaded l = load(never_alike, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    struct buf text = {0};
    device_causes_print(causes, &text);
    assert_true(causes->segments.len > 10);
    const char *others = strstr(text.at, " others, in all: ");
    assert_non_null(others);
    /* the parts of the last row are that row */
    const char *row = others, *end = strchr(others, '\n');
    while (row > text.at && row[-1] != '\n')
        row--;
    double us = strtod(row, NULL), parts = 0;
    for (const char *at = others + strlen(" others, in all: "); at && at < end;) {
        const char *comma = strstr(at, ", "), *last = comma && comma < end ? comma : end;
        const char *space = last;
        while (space[-1] != ' ')
            space--;
        parts += strtod(space, NULL);
        at = last == end ? end : last + 2;
    }
    assert_true(fabs(parts - us) < 0.002 * us);
    assert_non_null(strstr(others, " Vector "));
    buf_free(&text);
    device_causes_free(causes);
    unload(&l);
}

/* One tile for all rounds holds loads back until it was read; a tile for each round does not. */
static void a_tile_that_is_reused_is_named(void **unused) {
    (void)unused;
    struct loaded l = load(one_buffer, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    const struct device_stall *stall = &causes->stalls.at[0];
    assert_int_equal(stall->wait, DEVICE_WAIT_BUFFER);
    assert_int_equal(stall->spot.line, 10);
    assert_int_equal(stall->cause.line, 11);
    assert_string_equal(stall->cause.lane, "Scalar");
    assert_int_equal(stall->times, 15);
    assert_true(stall->critical >= 14);
    assert_true(stall->longest_us * 15 >= stall->us && stall->longest_us < stall->us);
    assert_true(lane_of(causes, "DMA in")->idle_us[DEVICE_WAIT_BUFFER] > 0.5 * causes->latency_us);
    device_causes_free(causes);
    unload(&l);
}

static void a_lack_of_room_is_named(void **unused) {
    (void)unused;
    struct loaded l = load(no_room, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    const struct device_lane *loads = lane_of(causes, "DMA in");
    assert_true(loads->idle_us[DEVICE_WAIT_ROOM] > 0.5 * causes->latency_us);
    assert_int_equal(loads->first.line, 10);
    assert_true(causes->sbuf_bytes >= 80000 && causes->sbuf_bytes <= causes->sbuf_room);
    device_causes_free(causes);
    unload(&l);
}

/* Vector and GpSimd share a port, and the one that waits names the other. */
static void the_shared_port_is_named(void **unused) {
    (void)unused;
    struct loaded l = load(port, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    double us = lane_of(causes, "Vector")->idle_us[DEVICE_WAIT_PORT] +
                lane_of(causes, "GpSimd")->idle_us[DEVICE_WAIT_PORT];
    assert_true(us > 0.2 * causes->latency_us);
    device_causes_free(causes);
    unload(&l);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* A change takes as long as the kernel that has it. */
static void a_change_is_timed_as(const char *from, const char *to, const char *name) {
    struct loaded before = load(from, 0, 1), after = load(to, 0, 1);
    struct device_causes *causes = causes_with(before.image, false);
    device_causes_try(causes, before.image, NULL);
    const struct device_what_if *found = NULL;
    for (size_t i = 0; i < causes->ifs.len; i++) {
        assert_true(!i || causes->ifs.at[i].us >= causes->ifs.at[i - 1].us);
        if (!strcmp(causes->ifs.at[i].change, name))
            found = &causes->ifs.at[i];
    }
    assert_non_null(found);
    assert_true(found->us == device_time_latency(after.image, NULL));
    assert_true(found->us != causes->latency_us);
    device_causes_free(causes);
    unload(&before);
    unload(&after);
}

static void a_second_buffer_is_timed_as_if_written(void **unused) {
    (void)unused;
    a_change_is_timed_as(one_buffer, two_buffers, "line 10 dma_copy into two buffers in turn");
    a_change_is_timed_as(two_buffers, four_buffers,
                         "line 11 dma_copy into 4 buffers in turn instead of 2");
}

static void joined_transfers_are_timed_as_if_written(void **unused) {
    (void)unused;
    a_change_is_timed_as(narrow, wide, "line 10 dma_copy in transfers of 64 KiB instead of 32 KiB");
}

static double change_us(const struct device_causes *causes, const char *name) {
    for (size_t i = 0; i < causes->ifs.len; i++)
        if (!strcmp(causes->ifs.at[i].change, name))
            return causes->ifs.at[i].us;
    fail_msg("nobody timed \"%s\"", name);
    return 0;
}

/* A line away, and the tiles that it waits for told: how many at once, and that they fit. */
static void room_and_tiles_are_told(void **unused) {
    (void)unused;
    struct loaded l = load(no_room, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    device_causes_try(causes, l.image, NULL);
    assert_true(change_us(causes, "without line 11 memset") < causes->latency_us);
    assert_true(change_us(causes, "with room on chip for everything") <= causes->latency_us);
    assert_true(causes->sbuf_flight <= causes->sbuf_room);
    assert_true(causes->sbuf_flight >= causes->sbuf_bytes);
    assert_true(causes->tiles.len >= 2);
    const struct device_tile *tile = &causes->tiles.at[0];
    assert_string_equal(tile->name, "u");
    assert_int_equal(tile->bytes, 80000);
    assert_int_equal(tile->most_bytes, 160000);
    assert_int_equal(tile->times, 16);
    assert_true(tile->live_us > 0);
    struct buf text = {0};
    device_causes_print(causes, &text);
    assert_non_null(strstr(text.at, " us for room, until "));
    assert_non_null(strstr(text.at, "u line "));
    buf_free(&text);
    device_causes_free(causes);
    unload(&l);
}

static void changes_that_bring_nothing_share_a_line(void **unused) {
    (void)unused;
    struct device_causes causes = {.latency_us = 100, .fitted = NAN};
    struct buf text = {0};
    *vec_push(&causes.ifs) = (struct device_what_if){"line 9 on GpSimd", 90};
    *vec_push(&causes.ifs) = (struct device_what_if){"line 7 on Scalar", 99.8};
    *vec_push(&causes.ifs) = (struct device_what_if){"with room on chip for everything", 100};
    device_causes_print(&causes, &text);
    assert_non_null(strstr(text.at, "timed changes:\n  line 9 on GpSimd: 90 us (-10.0)\n"
                                    "  no gain: line 7 on Scalar; with room on chip for "
                                    "everything\n"));
    buf_free(&text);
    vec_free(&causes.ifs);
}

static void another_engine_is_timed_as_if_written(void **unused) {
    (void)unused;
    a_change_is_timed_as(chain, chain_scalar, "line 13 tensor_scalar on Scalar instead of Vector");
}

static uint64_t taken_times(const struct device_causes *causes, const char *pass, uint32_t line) {
    uint64_t times = 0;
    for (size_t i = 0; i < causes->taken.len; i++)
        if (!strcmp(causes->taken.at[i].pass, pass) && causes->taken.at[i].spot.line == line)
            times += causes->taken.at[i].times;
    return times;
}

/* Why lines that look alike cost differently: each pass with its line, and how often. */
static void what_the_compiler_does_is_told(void **unused) {
    (void)unused;
    struct loaded l = load(compiled, 0, 1), current = load(chain, 0, 1);
    struct device_causes *causes = causes_with(l.image, false);
    struct device_causes *none = causes_with(current.image, false);
    struct buf text = {0};
    assert_int_equal(taken_times(causes, "residency", 9), 15);
    assert_int_equal(taken_times(causes, "renaming", 10), 15);
    assert_int_equal(taken_times(causes, "psum_inputs", 13), 16);
    assert_int_equal(taken_times(causes, "psum_inputs", 14), 0);
    device_causes_print(causes, &text);
    assert_non_null(strstr(text.at, "line 13 tensor_tensor Vector has one input in PSUM"));
    assert_non_null(strstr(text.at, "(residency, 15)"));
    assert_int_equal(none->taken.len, 0);
    buf_free(&text);
    device_causes_free(causes);
    device_causes_free(none);
    unload(&l);
    unload(&current);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_add_up_to_the_profile),
        cmocka_unit_test(folded_loops_say_the_same),
        cmocka_unit_test(two_cores_have_the_causes_of_both),
        cmocka_unit_test(a_loop_is_one_segment),
        cmocka_unit_test(a_path_that_never_repeats_is_told_by_line),
        cmocka_unit_test(a_tile_that_is_reused_is_named),
        cmocka_unit_test(a_lack_of_room_is_named),
        cmocka_unit_test(the_shared_port_is_named),
        cmocka_unit_test(a_second_buffer_is_timed_as_if_written),
        cmocka_unit_test(joined_transfers_are_timed_as_if_written),
        cmocka_unit_test(another_engine_is_timed_as_if_written),
        cmocka_unit_test(room_and_tiles_are_told),
        cmocka_unit_test(changes_that_bring_nothing_share_a_line),
        cmocka_unit_test(what_the_compiler_does_is_told),
    };
    cmocka_set_test_filter(getenv("HONE_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
