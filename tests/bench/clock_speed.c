/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a kernel becomes a latency, and how that grows. Kernels of ours of ten thousand
 * instructions and more go through specialising, checking, loading (checks, life spans, capacity)
 * and timing, each size in a process of its own. It prints instructions per second of processor
 * time, and bytes for each instruction at the peak of each stage; "every" is specialising with
 * every round of the loops evaluated, none copied. Then it times the same kernels at once, as is
 * done where only the latency is asked for: rounds that are alike are left out. Build it with the
 * release preset.
 *
 *     bench_clock_speed [-n MOST] [-k KERNEL] [-f]
 *
 * MOST: the instructions of the largest kernel that is unrolled (1000000). Folded, they go to ten
 * times as many. -f: folded only. */
#include "device/check/check.h"
#include "device/device.h"
#include "device/image/inner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD                      \
    "import nki\n"                \
    "import nki.isa as nisa\n"    \
    "import nki.language as nl\n" \
    "@nki.jit\n"                  \
    "def kernel(x, w, n):\n"      \
    "    y = nl.ndarray((128, 8192), dtype=nl.float32, buffer=nl.shared_hbm)\n"

static const struct kernel {
    const char *name;
    int per_round; /* instructions */
    const char *text;
} kernels[] = {
    {"matmul", 11,
     HEAD "    a4 = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
          "    nisa.dma_copy(dst=a4, src=w[0:128, 0:512])\n"
          "    for i in range(n):\n"
          "        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
          "        for k in range(4):\n"
          "            a = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
          "            nisa.dma_copy(dst=a, src=w[0:128, k * 128:(k + 1) * 128])\n"
          "            nisa.nc_matmul(dst=acc, stationary=a, moving=a4)\n"
          "        out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.tensor_copy(dst=out, src=acc)\n"
          "        m = i % 16\n"
          "        nisa.tensor_scalar(dst=out, data=out, op0=nl.multiply, operand0=0.5)\n"
          "        nisa.dma_copy(dst=y[0:128, m * 512:(m + 1) * 512], src=out)\n"
          "    return y\n"},
    {"elementwise", 6,
     HEAD "    for i in range(n):\n"
          "        m = i % 16\n"
          "        t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.dma_copy(dst=t, src=x[0:128, m * 512:(m + 1) * 512])\n"
          "        u = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.activation(dst=u, op=nl.exp, data=t)\n"
          "        v = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.tensor_scalar(dst=v, data=u, op0=nl.add, operand0=1.0)\n"
          "        nisa.reciprocal(dst=v, data=v)\n"
          "        nisa.tensor_tensor(dst=v, data1=v, data2=t, op=nl.multiply)\n"
          "        nisa.dma_copy(dst=y[0:128, m * 512:(m + 1) * 512], src=v)\n"
          "    return y\n"},
    {"dma", 2,
     HEAD "    for i in range(n):\n"
          "        m = i % 64\n"
          "        t = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.dma_copy(dst=t, src=x[0:128, m * 128:(m + 1) * 128])\n"
          "        nisa.dma_copy(dst=y[0:128, m * 128:(m + 1) * 128], src=t)\n"
          "    return y\n"},
    {"mixed", 12,
     HEAD "    total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
          "    nisa.memset(dst=total, value=0.0)\n"
          "    for i in range(n):\n"
          "        m = i % 16\n"
          "        t = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
          "        nisa.dma_copy(dst=t, src=w[0:128, m * 512:(m + 1) * 512])\n"
          "        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
          "        for k in range(4):\n"
          "            nisa.nc_matmul(dst=acc, stationary=t[0:128, k * 128:(k + 1) * 128],"
          " moving=t)\n"
          "        e = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.activation(dst=e, op=nl.exp, data=acc, scale=0.125)\n"
          "        s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.tensor_reduce(dst=s, op=nl.add, data=e, axis=1)\n"
          "        nisa.tensor_tensor(dst=total, data1=total, data2=s, op=nl.add)\n"
          "        r = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
          "        nisa.reciprocal(dst=r, data=s)\n"
          "        nisa.tensor_scalar(dst=e, data=e, op0=nl.multiply, operand0=r)\n"
          "        nisa.tensor_scalar(dst=e, data=e, op0=nl.add, operand0=total)\n"
          "        nisa.dma_copy(dst=y[0:128, m * 512:(m + 1) * 512], src=e)\n"
          "    return y\n"},
    /* The legacy dialect: the compiler's order, memory that it manages, index expressions. */
    {"legacy", 7,
     "import neuronxcc.nki as nki\n"
     "import neuronxcc.nki.isa as nisa\n"
     "import neuronxcc.nki.language as nl\n"
     "import numpy as np\n"
     "@nki.jit\n"
     "def kernel(x, w, n):\n"
     "    y = nl.ndarray((128, 8192), dtype=nl.float32, buffer=nl.shared_hbm)\n"
     "    for i in nl.sequential_range(n):\n"
     "        p = nl.arange(128)[:, None]\n"
     "        f = nl.arange(512)[None, :]\n"
     "        m = i % 16\n"
     "        t = nl.load(x[p, m * 512 + f])\n"
     "        u = nl.exp(t)\n"
     "        v = nisa.tensor_scalar(u, np.add, 1.0)\n"
     "        v = nl.multiply(v, t)\n"
     "        v = nl.add(v, u)\n"
     "        v = nl.reciprocal(v)\n"
     "        nl.store(y[p, m * 512 + f], v)\n"
     "    return y\n"},
};

enum stage { SPECIALISE, CHECK, LOAD, TIME, EVERY_ROUND, STAGE_COUNT };
static const char *const stage_names[STAGE_COUNT] = {"specialise", "check", "load", "time",
                                                     "every"};

struct measured {
    size_t instrs, kept;
    double seconds[STAGE_COUNT], bytes[STAGE_COUNT];
};

static double processor_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The most memory that this process has had. */
static double peak_bytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return (double)usage.ru_maxrss;
#else
    return (double)usage.ru_maxrss * 1024;
#endif
}

static struct nki_input array_input(const char *name, enum dtype dtype) {
    return (struct nki_input){.name = name,
                              .kind = NKI_INPUT_ARRAY,
                              .array = {.dtype = dtype, .ndim = 2, .shape = {128, 8192}}};
}

/* A kernel's text, and what it is specialised with. */
struct asked {
    struct nki_tree *tree;
    struct nki_input inputs[3];
    struct nki_specialise_options options;
};

static void ask(struct asked *asked, const struct kernel *kernel, size_t wanted,
                struct diag_list *diags) {
    int64_t rounds = (int64_t)(wanted / (size_t)kernel->per_round);
    *asked = (struct asked){.tree = nki_parse("kernel.py", str_of(kernel->text), diags),
                            .inputs = {array_input("x", DTYPE_FLOAT32),
                                       array_input("w", DTYPE_BFLOAT16),
                                       {.name = "n", .kind = NKI_INPUT_INT, .i = rounds}}};
    asked->options = (struct nki_specialise_options){.generation = NKI_GEN3,
                                                     .inputs = asked->inputs,
                                                     .n_inputs = COUNT_OF(asked->inputs),
                                                     .max_instructions = SIZE_MAX / 2,
                                                     .max_steps = SIZE_MAX / 2,
                                                     .max_bytes = SIZE_MAX / 2};
}

static struct nki_program *specialise(const struct kernel *kernel, size_t wanted, bool every_round,
                                      struct diag_list *diags) {
    struct asked asked;
    ask(&asked, kernel, wanted, diags);
    asked.options.every_round = every_round;
    struct nki_program *program = nki_specialise(asked.tree, &asked.options, diags);
    nki_tree_free(asked.tree);
    return program;
}

struct watch {
    struct measured *measured;
    double since, base_bytes;
};

static void stage_done(struct watch *watch, enum stage stage) {
    watch->measured->seconds[stage] = processor_s() - watch->since;
    watch->measured->bytes[stage] = peak_bytes() - watch->base_bytes;
    watch->since = processor_s();
}

static bool check_alone(const struct nki_program *program,
                        const struct device_generation *generation, struct diag_list *diags) {
    struct device_image image = {.program = program, .generation = generation};
    image.engine = mem_alloc(program->instrs.len + 1, 1);
    image.kind = mem_alloc(program->instrs.len + 1, sizeof *image.kind);
    bool ok = check_program(&image, diags);
    free(image.engine);
    free(image.kind);
    vec_free(&image.kinds);
    return ok;
}

static bool measure(const struct kernel *kernel, size_t wanted, struct measured *measured) {
    struct diag_list diags = {0};
    struct watch watch = {measured, processor_s(), peak_bytes()};
    struct nki_program *program = specialise(kernel, wanted, false, &diags);
    stage_done(&watch, SPECIALISE);
    os_keep_memory(); /* as runners do */
    const struct device_generation *generation = device_generation_of(NKI_GEN3);
    struct device_image *image = NULL;
    if (program && check_alone(program, generation, &diags)) {
        stage_done(&watch, CHECK);
        image = device_load(program, generation, &diags);
        stage_done(&watch, LOAD);
    }
    if (!image) {
        for (size_t i = 0; i < diags.all.len; i++)
            fprintf(stderr, "%s:%d: %s\n", kernel->name, diags.all.at[i].line,
                    diags.all.at[i].message);
        return false;
    }
    measured->instrs = program->instrs.len;
    struct device_profile *profile = device_time(image);
    stage_done(&watch, TIME);
    device_profile_free(profile);
    nki_program_free(specialise(kernel, wanted, true, &diags));
    stage_done(&watch, EVERY_ROUND);
    return true;
}

/* Everything at once, in the time of the last stage. */
static bool measure_folded(const struct kernel *kernel, size_t wanted, struct measured *measured) {
    struct diag_list diags = {0};
    struct watch watch = {measured, processor_s(), peak_bytes()};
    struct asked asked;
    struct device_kernel timed;
    ask(&asked, kernel, wanted, &diags);
    if (!device_kernel_time(asked.tree, &asked.options, NULL, &diags, &timed))
        return false;
    stage_done(&watch, TIME);
    measured->instrs = nki_program_count(timed.program);
    measured->kept = timed.program->instrs.len;
    measured->bytes[SPECIALISE] = peak_bytes();
    return true;
}

typedef bool measure_fn(const struct kernel *kernel, size_t wanted, struct measured *measured);

/* Measures in a child, so that the peak is of this size alone, and all memory goes back. */
static bool measure_apart(measure_fn *fn, const struct kernel *kernel, size_t wanted,
                          struct measured *measured) {
    int ends[2];
    if (pipe(ends) < 0)
        return false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct measured own = {0};
        bool ok =
            fn(kernel, wanted, &own) && write(ends[1], &own, sizeof own) == (ssize_t)sizeof own;
        _exit(ok ? 0 : 1);
    }
    close(ends[1]);
    ssize_t n = pid < 0 ? -1 : read(ends[0], measured, sizeof *measured);
    close(ends[0]);
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return n == (ssize_t)sizeof *measured && status == 0;
}

static bool print_kernel(const struct kernel *kernel, size_t most) {
    for (size_t wanted = 10000; wanted <= most; wanted *= 10) {
        struct measured measured;
        if (!measure_apart(measure, kernel, wanted, &measured))
            return false;
        printf("%-12s %9zu", kernel->name, measured.instrs);
        for (enum stage stage = SPECIALISE; stage < STAGE_COUNT; stage++)
            printf("  %6.2f", (double)measured.instrs / measured.seconds[stage] / 1e6);
        printf("  %6.0f  %6.0f  %8.2f\n", measured.bytes[SPECIALISE] / (double)measured.instrs,
               measured.bytes[TIME] / (double)measured.instrs,
               measured.seconds[SPECIALISE] + measured.seconds[LOAD] + measured.seconds[TIME]);
    }
    return true;
}

static bool print_folded(const struct kernel *kernel, size_t most) {
    for (size_t wanted = 10000; wanted <= most * 10; wanted *= 10) {
        struct measured measured;
        if (!measure_apart(measure_folded, kernel, wanted, &measured))
            return false;
        double instrs = (double)measured.instrs;
        printf("%-12s %9zu  %9zu  %8.2f  %8.3f  %8.1f  %8.0f\n", kernel->name, measured.instrs,
               measured.kept, instrs / measured.seconds[TIME] / 1e6, measured.seconds[TIME],
               measured.bytes[TIME] / instrs, measured.bytes[SPECIALISE] / 1e6);
    }
    return true;
}

static bool print_all(const char *only, size_t most,
                      bool (*print)(const struct kernel *kernel, size_t most)) {
    for (size_t i = 0; i < COUNT_OF(kernels); i++)
        if ((!only || strcmp(only, kernels[i].name) == 0) && !print(&kernels[i], most))
            return false;
    return true;
}

static void print_stages(void) {
    printf("%-12s %9s", "kernel", "instrs");
    for (enum stage stage = SPECIALISE; stage < STAGE_COUNT; stage++)
        printf("  %6.6s", stage_names[stage]);
    printf("  %6s  %6s  %8s\n", "B spec", "B all", "seconds");
    printf("%-12s %9s  %s\n", "", "", "million instructions a second    bytes an instruction");
}

int main(int argc, char **argv) {
    size_t most = 1000000;
    bool folded = false;
    const char *only = NULL;
    for (int option; (option = getopt(argc, argv, "n:k:f")) != -1;) {
        if (option == 'n')
            most = (size_t)strtoull(optarg, NULL, 10);
        else if (option == 'f')
            folded = true;
        else if (option == 'k')
            only = optarg;
        else
            return 2;
    }
    if (!folded) {
        print_stages();
        if (!print_all(only, most, print_kernel))
            return 1;
    }
    printf("%-12s %9s  %9s  %8s  %8s  %8s  %8s\n", "folded", "instrs", "kept", "M/s", "seconds",
           "B each", "peak MB");
    return print_all(only, most, print_folded) ? 0 : 1;
}
