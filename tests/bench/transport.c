/* SPDX-License-Identifier: Apache-2.0 */
/* transport [ROUNDS [MIB]]: how fast lines and files come over a connection, compared with the
 * system's ssh and sftp, in one run and in turn, over loopback. Prints medians and ratios (ours /
 * theirs; more is better), and the longest time that the loop was held up. The time that sftp needs
 * to connect is measured by a session that copies nothing, and subtracted. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "hosts/lab.h"
#include "transport/transport.h"

#define LIMIT_MS 300000
#define MOST_ROUNDS 25
#define LINE \
    "a line of a log as a compiler prints it, with a number of its own and some more words %07d"

struct bench {
    struct lab *lab;
    struct loop *loop;
    struct transport *transport;
    char *file, *back, *batch;
    char known[512]; /* option: ssh takes the home of the user, not HOME */
    size_t bytes;
    bool done, failed;
    size_t lines, expected_lines;
    uint64_t first_ns, last_ns;
    uint64_t turn_ns, longest_ns;
};

static void stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void wait_for(struct bench *bench) {
    if (!loop_run_until(bench->loop, &bench->done, LIMIT_MS) || bench->failed)
        stop("a measurement failed");
}

static double seconds_since(uint64_t from) {
    return (double)(clock_monotonic_ns() - from) * 1e-9;
}

/* A timer that should fire every millisecond, and sees how long it had to wait. */
static void on_tick(void *data) {
    struct bench *bench = data;
    uint64_t now = clock_monotonic_ns();
    if (bench->turn_ns)
        bench->longest_ns = MAX_OF(bench->longest_ns, now - bench->turn_ns);
    bench->turn_ns = now;
}

/* ------------------------------------------------------------------------------------- lines */

static void on_line(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct bench *bench = data;
    (void)stream, (void)text;
    bench->last_ns = clock_monotonic_ns();
    if (!bench->lines)
        bench->first_ns = bench->last_ns;
    bench->lines += whole;
}

static void on_command_exit(void *data, const struct transport_exit *result) {
    struct bench *bench = data;
    bench->failed = result->end != TRANSPORT_EXITED || bench->lines != bench->expected_lines;
    bench->done = true;
}

static void on_child_exit(void *data, const struct loop_exit *result) {
    struct bench *bench = data;
    bench->failed = result->end != LOOP_EXITED || result->status ||
                    (bench->lines && bench->lines != bench->expected_lines);
    bench->done = true;
}

static void make_script(const struct bench *bench, char script[256]) {
    snprintf(script, 256, "seq -f '%s' 1 %zu",
             "a line of a log as a compiler prints it, with a number "
             "of its own and some more words %07.0f",
             bench->expected_lines);
}

static double lines_of_ours(struct bench *bench) {
    char script[256];
    make_script(bench, script);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct transport_command_spec spec = {.argv = argv,
                                          .out = LOOP_LINES,
                                          .err = LOOP_INHERIT,
                                          .on_output = on_line,
                                          .on_exit = on_command_exit,
                                          .data = bench};
    spec.err = LOOP_LINES;
    struct err err;
    bench->lines = 0;
    bench->done = false;
    if (!transport_command_start(bench->transport, &spec, &err))
        stop(err.text);
    wait_for(bench);
    return (double)(bench->last_ns - bench->first_ns) * 1e-9;
}

static double child(struct bench *bench, const char *const *argv, bool lines) {
    struct loop_child_spec spec = {.argv = argv,
                                   .out = lines ? LOOP_LINES : LOOP_DISCARD,
                                   .err = LOOP_DISCARD,
                                   .on_output = on_line,
                                   .on_exit = on_child_exit,
                                   .data = bench};
    struct err err;
    bench->lines = 0;
    bench->done = false;
    uint64_t from = clock_monotonic_ns();
    if (!loop_child_start(bench->loop, &spec, &err))
        stop(err.text);
    wait_for(bench);
    return lines ? (double)(bench->last_ns - bench->first_ns) * 1e-9 : seconds_since(from);
}

static double lines_of_theirs(struct bench *bench) {
    char script[256];
    make_script(bench, script);
    const char *argv[] = {"ssh",  "-F", lab_ssh_config(bench->lab), "-o", bench->known, "peer",
                          script, NULL};
    return child(bench, argv, true);
}

/* ------------------------------------------------------------------------------------- files */

static void on_copied(void *data, const struct err *why) {
    struct bench *bench = data;
    if (why->kind != ERR_NONE)
        fprintf(stderr, "%s\n", why->text);
    bench->failed = why->kind != ERR_NONE;
    bench->done = true;
}

static double copy(struct bench *bench, enum transport_copy_kind kind) {
    struct transport_copy_spec spec = {.kind = kind,
                                       .remote = "bench.data",
                                       .local = kind == TRANSPORT_PUT ? bench->file : bench->back,
                                       .on_done = on_copied,
                                       .context = bench};
    struct err err;
    bench->done = false;
    uint64_t from = clock_monotonic_ns();
    if (!transport_copy_start(bench->transport, &spec, &err))
        stop(err.text);
    wait_for(bench);
    return seconds_since(from);
}

static double put_of_ours(struct bench *bench) {
    return copy(bench, TRANSPORT_PUT);
}

static double get_of_ours(struct bench *bench) {
    return copy(bench, TRANSPORT_GET);
}

static double sftp(struct bench *bench, const char *verb, const char *from, const char *to) {
    struct buf text = {0};
    buf_printf(&text, "%s %s %s\n", verb, from, to);
    if (!file_write(bench->batch, text.at, text.len, NULL))
        stop("cannot write the batch");
    buf_free(&text);
    const char *argv[] = {"sftp", "-q",         "-F", lab_ssh_config(bench->lab),
                          "-o",   bench->known, "-b", bench->batch,
                          "peer", NULL};
    return child(bench, argv, false);
}

static double sftp_net(struct bench *bench, const char *verb, const char *from, const char *to) {
    double idle = sftp(bench, "pwd", "", "");
    return sftp(bench, verb, from, to) - idle;
}

static double put_of_theirs(struct bench *bench) {
    return sftp_net(bench, "put", bench->file, "bench.data");
}

static double get_of_theirs(struct bench *bench) {
    return sftp_net(bench, "get", "bench.data", bench->back);
}

/* ----------------------------------------------------------------------------------- measuring */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

typedef double measure_fn(struct bench *bench);
struct contest {
    const char *name, *peer;
    measure_fn *ours, *theirs;
};
static const struct contest contests[] = {
    {"lines", "ssh", lines_of_ours, lines_of_theirs},
    {"put", "sftp", put_of_ours, put_of_theirs},
    {"get", "sftp", get_of_ours, get_of_theirs},
};

static void run(struct bench *bench, const struct contest *contest, int rounds) {
    double ours[MOST_ROUNDS], theirs[MOST_ROUNDS];
    uint64_t longest = 0;
    contest->ours(bench); /* the first of each is a warm-up */
    contest->theirs(bench);
    for (int i = 0; i < rounds; i++) {
        bench->longest_ns = bench->turn_ns = 0;
        ours[i] = contest->ours(bench);
        longest = MAX_OF(longest, bench->longest_ns);
        theirs[i] = contest->theirs(bench);
    }
    double a = median(ours, rounds), b = median(theirs, rounds);
    double mb = (double)bench->bytes * 1e-6;
    printf("%-6s hone %7.1f MB/s   %-5s %7.1f MB/s   ratio %.2f   longest wait %.1f ms\n",
           contest->name, mb / a, contest->peer, mb / b, b / a, (double)longest * 1e-6);
    fflush(stdout);
}

static void on_ready(void *data) {
    ((struct bench *)data)->done = true;
}

static void on_closed(void *data, const struct err *why) {
    (void)data;
    stop(why->text);
}

static void make_file(const struct bench *bench) {
    char *data = mem_alloc(1, bench->bytes);
    uint32_t x = 1;
    for (size_t i = 0; i < bench->bytes; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (char)(x >> 24);
    }
    if (!file_write(bench->file, data, bench->bytes, NULL))
        stop("cannot write the file");
    free(data);
}

int main(int argc, char **argv) {
    long long rounds = 7, mib = 128;
    if ((argc > 1 && !str_to_int(str_of(argv[1]), &rounds)) ||
        (argc > 2 && !str_to_int(str_of(argv[2]), &mib)) || rounds < 1 || rounds > MOST_ROUNDS)
        stop("transport [ROUNDS [MIB]]");
    struct bench bench = {.lab = lab_new(), .loop = loop_new(), .bytes = (size_t)mib << 20};
    sshd_start(bench.lab, "peer", NULL);
    bench.expected_lines = bench.bytes / (sizeof LINE - sizeof "%07d" + 1 + 7 + 1);
    bench.file = lab_path(bench.lab, "data");
    bench.back = lab_path(bench.lab, "back");
    bench.batch = lab_path(bench.lab, "batch");
    snprintf(bench.known, sizeof bench.known, "UserKnownHostsFile=%s", lab_known_hosts(bench.lab));
    make_file(&bench);
    struct transport_callbacks callbacks = {
        .on_ready = on_ready, .on_closed = on_closed, .data = &bench};
    const char *client = getenv("HONE_BENCH_CLIENT");
    struct transport_host host = {.name = "peer", .client = client ? client : "libssh2"};
    struct err err;
    bench.transport = transport_open_ssh(bench.loop, &host, &callbacks, &err);
    if (!bench.transport)
        stop(err.text);
    wait_for(&bench);
    printf("%s, %lld rounds of %lld MiB\n", transport_describe(bench.transport), rounds, mib);
    loop_timer_start(bench.loop, 1, 1, on_tick, &bench);
    for (size_t i = 0; i < COUNT_OF(contests); i++)
        run(&bench, &contests[i], (int)rounds);
    transport_close(bench.transport);
    loop_free(bench.loop);
    free(bench.file);
    free(bench.back);
    free(bench.batch);
    lab_free(bench.lab);
    return 0;
}
