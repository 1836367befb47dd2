/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGEST ((size_t)32 << 10) /* bytes of an input that is made */
#define PATIENCE_S 60              /* for one input, on a machine that has much else to do */

/* ---- chance --------------------------------------------------------------------------------- */

uint64_t fuzz_roll(struct fuzz *fuzz, uint64_t n) {
    uint64_t z = fuzz->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return n ? (z ^ z >> 31) % n : 0;
}

static bool read_seed(uint64_t *seed) {
    const char *text = getenv("HONE_FUZZ_SEED");
    long long given;
    if (!text || !*text) {
        *seed = (uint64_t)clock_wall_ms();
        return true;
    }
    *seed = str_to_int(str_of(text), &given) ? (uint64_t)given : 0;
    return given >= 0 && *seed;
}

/* ---- the mutator ---------------------------------------------------------------------------- */

/* A number of bytes: at most `most`, and at most as many as there are. */
static size_t up_to(struct fuzz *fuzz, size_t most, size_t there) {
    size_t n = 1 + fuzz_roll(fuzz, most);
    return MIN_OF(n, there);
}

static void put_odd(struct fuzz *fuzz, struct buf *out) {
    static const char odd[] = "[](){}<>=:;#,.|*+?^$\\~'\"!/@-_ \t\r\n\0\xff\x80\xc2\x1b"
                              "0123456789eNx";
    buf_putc(out, odd[fuzz_roll(fuzz, sizeof odd - 1)]);
}

static void put_piece(struct fuzz *fuzz, struct buf *out) {
    const struct fuzz_target *target = fuzz->target;
    if (target->piece_count)
        buf_puts(out, target->pieces[fuzz_roll(fuzz, target->piece_count)]);
    else
        put_odd(fuzz, out);
}

static void put_other(struct fuzz *fuzz, struct buf *out) {
    const struct buf *other = &fuzz->examples.at[fuzz_roll(fuzz, fuzz->examples.len)];
    size_t from = fuzz_roll(fuzz, other->len);
    if (other->len)
        buf_add(out, other->at + from, fuzz_roll(fuzz, other->len - from) + 1);
}

/* Puts a part of the input in again. Seldom it does so often enough to make the input long. */
static void put_again(struct fuzz *fuzz, const struct buf *text, size_t at, struct buf *out) {
    size_t from = fuzz_roll(fuzz, at), len = up_to(fuzz, 80, text->len - from);
    for (uint64_t n = fuzz_roll(fuzz, 40) ? 1 + fuzz_roll(fuzz, 3) : 400; n > 0; n--)
        if (out->len + len < LARGEST)
            buf_add(out, text->at + from, len);
}

void fuzz_mutate(struct fuzz *fuzz, struct buf *text) {
    size_t at = fuzz_roll(fuzz, text->len + 1), rest = text->len - at, skip = 0;
    struct buf out = {0};
    buf_add(&out, text->at ? text->at : "", at);
    switch (fuzz_roll(fuzz, 9)) {
    case 0: buf_putc(&out, (char)fuzz_roll(fuzz, 256)); /* fallthrough */
    case 1: skip = up_to(fuzz, 4, rest); break;
    case 2: skip = up_to(fuzz, 60, rest); break;
    case 3: skip = fuzz_roll(fuzz, 3) ? 0 : rest; break;
    case 4: put_other(fuzz, &out); break;
    case 5: put_again(fuzz, text, at, &out); break;
    case 6:
        put_odd(fuzz, &out);
        skip = MIN_OF(rest, (size_t)1);
        break;
    case 7: put_odd(fuzz, &out); break;
    default: put_piece(fuzz, &out);
    }
    if (rest > skip)
        buf_add(&out, text->at + at + skip, MIN_OF(rest - skip, LARGEST));
    buf_free(text);
    *text = out;
}

/* ---- examples and the stored corpus --------------------------------------------------------- */

struct buf *fuzz_example(struct fuzz *fuzz) {
    struct buf *example = vec_push(&fuzz->examples);
    *example = (struct buf){0};
    return example;
}

static bool read_whole(const char *path, struct buf *out) {
    struct err err = {0};
    size_t size = 0;
    char *bytes = file_read(path, 1 << 20, &size, &err);
    if (!bytes)
        fprintf(stderr, "%s\n", err.text);
    else
        buf_add(out, bytes, size);
    free(bytes);
    return bytes != NULL;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static void read_corpus(struct fuzz *fuzz) {
    struct dirent **entries = NULL;
    char *folder = path_join(HONE_SOURCE_DIR "/tests/fuzz/corpus", fuzz->target->name);
    int n = scandir(folder, &entries, is_visible, alphasort);
    for (int i = 0; i < n; i++) {
        char *path = path_join(folder, entries[i]->d_name);
        if (!read_whole(path, fuzz_example(fuzz)))
            fuzz->examples.len--;
        free(path);
        free(entries[i]);
    }
    free(entries);
    free(folder);
}

static void add_table(struct fuzz *fuzz) {
    const struct fuzz_target *target = fuzz->target;
    for (size_t i = 0; i < target->example_count; i++)
        for (int head = 0; head < MAX_OF(target->heads, 1); head++) {
            struct buf *example = fuzz_example(fuzz);
            if (target->heads)
                buf_putc(example, (char)head);
            buf_puts(example, target->examples[i]);
        }
    if (target->begin)
        target->begin(fuzz);
}

static int write_examples(struct fuzz *fuzz, const char *folder) {
    struct err err = {0};
    for (size_t i = 0; i < fuzz->examples.len; i++) {
        char name[32];
        snprintf(name, sizeof name, "%03zu", i);
        char *path = path_join(folder, name);
        bool fine = file_write(path, fuzz->examples.at[i].at, fuzz->examples.at[i].len, &err);
        free(path);
        if (!fine) {
            fprintf(stderr, "%s\n", err.text);
            return 2;
        }
    }
    return 0;
}

/* ---- one input ------------------------------------------------------------------------------ */

/* The present run. Handlers of signals have no other way to it. */
static struct {
    struct buf text;
    char path[200], told[300];
} current;

static void keep_input(void) {
    int fd = open(current.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    ssize_t all = write(fd, current.text.at, current.text.len);
    close(fd);
    if (all == (ssize_t)current.text.len)
        all = write(STDERR_FILENO, current.told, strlen(current.told));
}

static void on_signal(int number) {
    static const char hangs[] = "an input that is not done with\n";
    if (number == SIGALRM && write(STDERR_FILENO, hangs, sizeof hangs - 1) < 0)
        _exit(2);
    keep_input();
    signal(SIGABRT, SIG_DFL);
    abort();
}

#if defined __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*fn)(void));
#else
#define __sanitizer_set_death_callback(fn) ((void)(fn))
#endif

static void watch(void) {
    __sanitizer_set_death_callback(keep_input);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
}

static void run(void) {
    alarm(PATIENCE_S);
    LLVMFuzzerTestOneInput((const uint8_t *)current.text.at, current.text.len);
    alarm(0);
}

static void run_example(struct fuzz *fuzz, size_t i) {
    snprintf(current.path, sizeof current.path, "fuzz-%s-example-%zu", fuzz->target->name, i);
    snprintf(current.told, sizeof current.told, "the input is in %s\n", current.path);
    buf_add(&current.text, fuzz->examples.at[i].at ? fuzz->examples.at[i].at : "",
            fuzz->examples.at[i].len);
    run();
    buf_clear(&current.text);
}

/* The input of a round follows from the seed and the round's number alone. */
static void run_round(struct fuzz *fuzz, uint64_t round) {
    const struct fuzz_target *target = fuzz->target;
    fuzz->state = fuzz->seed * 0xd1342543de82ef95u + round;
    snprintf(current.path, sizeof current.path, "fuzz-%s-%llu-%llu", target->name,
             (unsigned long long)fuzz->seed, (unsigned long long)round);
    snprintf(current.told, sizeof current.told, "the input is in %s\n", current.path);
    const struct buf *example = &fuzz->examples.at[fuzz_roll(fuzz, fuzz->examples.len)];
    buf_add(&current.text, example->at ? example->at : "", example->len);
    for (uint64_t n = 1 + fuzz_roll(fuzz, (uint64_t)(target->most ? target->most : 12)); n; n--)
        (target->mutate ? target->mutate : fuzz_mutate)(fuzz, &current.text);
    run();
    buf_clear(&current.text);
}

/* ---- the program ---------------------------------------------------------------------------- */

static int run_files(int count, char **paths) {
    for (int i = 0; i < count; i++) {
        if (!read_whole(paths[i], &current.text))
            return 2;
        run();
        buf_clear(&current.text);
    }
    return 0;
}

static int run_all(struct fuzz *fuzz, double amount, bool is_seconds) {
    uint64_t end = clock_monotonic_ns() + (uint64_t)(amount * 1e9), round = 0;
    printf("fuzz_%s: HONE_FUZZ_SEED=%llu\n", fuzz->target->name, (unsigned long long)fuzz->seed);
    fflush(stdout);
    watch();
    for (size_t i = 0; i < fuzz->examples.len; i++)
        run_example(fuzz, i);
    for (; is_seconds ? clock_monotonic_ns() < end : (double)round < amount; round++)
        run_round(fuzz, round);
    printf("%zu examples, %llu inputs\n", fuzz->examples.len, (unsigned long long)round);
    return 0;
}

static int start(struct fuzz *fuzz, int argc, char **argv) {
    struct str what = str_of(argc > 1 ? argv[1] : "1000");
    double amount;
    bool is_seconds = str_ends(what, "s");
    add_table(fuzz);
    if (argc == 3 && str_is(what, "write"))
        return write_examples(fuzz, argv[2]);
    what.len -= is_seconds;
    if (!str_to_double(what, &amount))
        return run_files(argc - 1, argv + 1);
    read_corpus(fuzz);
    if (!read_seed(&fuzz->seed)) {
        fprintf(stderr, "HONE_FUZZ_SEED must be a whole number above 0\n");
        return 2;
    }
    return run_all(fuzz, amount, is_seconds);
}

int fuzz_main(const struct fuzz_target *target, int argc, char **argv) {
    struct fuzz fuzz = {.target = target};
    int status = start(&fuzz, argc, argv);
    for (size_t i = 0; i < fuzz.examples.len; i++)
        buf_free(&fuzz.examples.at[i]);
    vec_free(&fuzz.examples);
    buf_free(&current.text);
    return status;
}
