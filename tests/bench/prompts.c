/* SPDX-License-Identifier: Apache-2.0 */
/* What questions cost, before anybody answers them: the questions of recorded sessions put again by
 * this build, so that a change of wording or of sections is measured.
 *
 *     bench_prompts [LOG.events...]
 *
 * For each question: tokens (estimated) and bytes; the share that every question of the session
 * begins with, which services can cache; the share of the rest that stood in the last question of
 * the same role; milliseconds to make it; its largest part. Then the same by role. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/situations.h"

struct kind {
    int count;
    double tokens, bytes, shared, again, ms;
};
struct bench {
    struct kind kinds[TUNE_ROLES];
    struct buf shared, last[TUNE_ROLES];
};

static size_t common(struct str a, struct str b) {
    size_t len = 0;
    while (len < a.len && len < b.len && a.at[len] == b.at[len])
        len++;
    return len;
}

/* Bytes of lines that stand in the other text, too. */
static double lines_in(struct str text, const char *other) {
    double bytes = 0;
    struct str line;
    while (other && str_next(&text, '\n', &line)) {
        char *copy = mem_alloc(line.len + 3, 1);
        snprintf(copy, line.len + 3, "\n" STR_FMT "\n", STR_ARG(line));
        if (strstr(other, copy))
            bytes += (double)line.len + 1;
        free(copy);
    }
    return bytes;
}

static const struct tune_prompt_part *largest(const struct tune_prompt *prompt) {
    const struct tune_prompt_part *most = NULL;
    for (size_t i = 0; i < prompt->parts.len; i++)
        if (!prompt->parts.at[i].is_system && (!most || prompt->parts.at[i].tokens > most->tokens))
            most = &prompt->parts.at[i];
    return most;
}

/* As long as it takes to make the question once more. */
static double made_ms(const struct tune_context *context, enum tune_role role) {
    uint64_t before = clock_monotonic_ns();
    tune_prompt_free(tune_prompt_build(context, role, NULL, 0));
    return (double)(clock_monotonic_ns() - before) * 1e-6;
}

static void look(void *data, const struct situation *situation) {
    struct bench *bench = data;
    enum tune_role role = situation->role;
    struct tune_prompt *prompt = situation->prompt;
    struct kind *kind = &bench->kinds[role];
    struct buf system = {0}, user = {0};
    tune_prompt_print(prompt, &system, &user);
    if (!bench->shared.len)
        buf_add(&bench->shared, system.at, system.len);
    double bytes = (double)(system.len + user.len), tokens = tune_prompt_tokens(prompt);
    double shared = (double)common(buf_str(&system), buf_str(&bench->shared));
    double again = lines_in(buf_str(&user), bench->last[role].at),
           ms = made_ms(situation->context, role);
    const struct tune_prompt_part *most = largest(prompt);
    printf("%3d %-10s %7.0f %8.0f %8.1f %% %7.1f %% %7.2f  %s %.0f\n", situation->number,
           tune_role_word(role), tokens, bytes, shared / bytes * 100,
           user.len ? again / (double)user.len * 100 : 0, ms, most ? most->name : "",
           most ? most->tokens : 0);
    *kind = (struct kind){kind->count + 1,       kind->tokens + tokens, kind->bytes + bytes,
                          kind->shared + shared, kind->again + again,   kind->ms + ms};
    buf_clear(&bench->last[role]);
    buf_printf(&bench->last[role], "\n%s", user.at ? user.at : "");
    buf_free(&system);
    buf_free(&user);
}

static void sums_print(const struct bench *bench) {
    double tokens = 0, shared = 0, bytes = 0;
    puts("\nrole        asked  tokens each   shared    again       ms");
    for (int role = 0; role < TUNE_ROLES; role++) {
        const struct kind *kind = &bench->kinds[role];
        if (!kind->count)
            continue;
        printf("%-10s %6d %12.0f %6.1f %% %6.1f %% %8.2f\n", tune_role_word((enum tune_role)role),
               kind->count, kind->tokens / kind->count, kind->shared / kind->bytes * 100,
               kind->again / fmax(kind->bytes - kind->shared, 1) * 100, kind->ms / kind->count);
        tokens += kind->tokens;
        shared += kind->shared;
        bytes += kind->bytes;
    }
    printf("all %.0f tokens, %.1f %% of the bytes from a cache at best\n", tokens,
           shared / fmax(bytes, 1) * 100);
}

int main(int argc, char **argv) {
    static char softmax[] = HONE_SOURCE_DIR "/tests/tune/logs/asked.events";
    static char rmsnorm[] = HONE_SOURCE_DIR "/tests/tune/logs/rmsnorm_matmul.events";
    char *recorded[] = {softmax, rmsnorm};
    char **logs = argc > 1 ? argv + 1 : recorded;
    for (int i = 0; i < (argc > 1 ? argc - 1 : (int)COUNT_OF(recorded)); i++) {
        struct bench bench = {0};
        struct err err = {0};
        char *log = file_read(logs[i], 0, NULL, &err);
        if (!log) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        printf("%s\n  # role        tokens    bytes     shared     again      ms  largest part\n",
               logs[i]);
        situations_walk(log, look, &bench);
        sums_print(&bench);
        for (int role = 0; role < TUNE_ROLES; role++)
            buf_free(&bench.last[role]);
        buf_free(&bench.shared);
        free(log);
    }
    return 0;
}
