/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm's commands complain about, and the options that a site needs for sbatch: text from
 * people and commands, turned into decisions. */
#include "target/slurm/slurm.h"

#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------- trouble */

static const struct {
    const char *mark;
    enum slurm_trouble is;
} troubles[] = {
    /* Texts of Slurm's slurm_errno.c. A connection that failed before anything was sent is a sure
     * case. */
    {"Invalid job id specified", SLURM_NO_JOB},
    {"Unable to contact slurm controller", SLURM_BUSY},
    {"Slurm backup controller in standby mode", SLURM_BUSY},
    {"Connection refused", SLURM_BUSY},
    {"Zero Bytes were transmitted or received", SLURM_UNSURE},
    {"Socket timed out on send/recv operation", SLURM_UNSURE},
    {"Transport endpoint is not connected", SLURM_UNSURE},
    {"Connection reset by peer", SLURM_UNSURE},
    {"Unexpected message received", SLURM_UNSURE},
    {"Slurm temporarily unable to accept job", SLURM_BUSY},
    {"Resource temporarily unavailable", SLURM_BUSY},
    {"Resources temporarily unavailable", SLURM_BUSY},
    {"Job violates accounting/QOS policy (job submit limit", SLURM_LIMIT},
    {"Rate limit exceeded", SLURM_BUSY},
    {"Unable to contact the accounting storage", SLURM_BUSY},
    {"Protocol authentication error", SLURM_BUSY},
    {"Munge encode failed", SLURM_BUSY},
};

static bool contains(struct str text, const char *mark) {
    return text.len && memmem(text.at, text.len, mark, strlen(mark));
}

enum slurm_trouble slurm_trouble_of(struct str complaint) {
    for (size_t i = 0; i < COUNT_OF(troubles); i++)
        if (contains(complaint, troubles[i].mark))
            return troubles[i].is;
    return SLURM_REFUSED;
}

/* The line without "sbatch: error: ". */
static struct str without_name(struct str line) {
    static const char *const prefixes[] = {
        "sbatch: ", "squeue: ", "scancel: ", "sinfo: ", "scontrol: ", "error: ", "fatal: "};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_starts(line, prefixes[i])) {
            size_t len = strlen(prefixes[i]);
            line = (struct str){line.at + len, line.len - len};
        }
    return line;
}

void slurm_complaint_copy(struct str complaint, char *to, size_t size) {
    struct buf text = {0};
    struct str line;
    while (str_next(&complaint, '\n', &line) && text.len < size) {
        line = without_name(str_trim(line));
        if (line.len && !str_starts(line, "Try \""))
            buf_printf(&text, "%s" STR_FMT, text.len ? "; " : "", STR_ARG(line));
    }
    slurm_copy_clean(to, size, buf_str(&text));
    buf_free(&text);
}

/* ------------------------------------------------------------------------------------- options */

#define MAX_WORDS 256

/* Takes one word off the front of *text into `word`. False when there is none, or when *err is
 * set. */
static bool next_word(const char **text, struct buf *word, struct err *err) {
    const char *at = *text;
    char quote = 0;
    while (*at == ' ' || *at == '\t')
        at++;
    if (!*at)
        return false;
    buf_clear(word);
    for (; *at && (quote || (*at != ' ' && *at != '\t')); at++) {
        if (*at == '\\' && quote != '\'' && at[1])
            buf_putc(word, *++at);
        else if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? 0 : *at;
        else
            buf_putc(word, *at);
    }
    *text = at;
    if (quote)
        return err_set(err, ERR_USAGE, "a quote (%c) has no end", quote);
    return true;
}

/* Options that make one job into something else, or talk to another cluster. */
static bool is_ours(const char *word) {
    static const char *const names[] = {
        "--wrap",       "--array", "-a",         "--wait",     "-W",        "--test-only",
        "--clusters",   "-M",      "--parsable", "--job-name", "-J",        "--output",
        "-o",           "--error", "-e",         "--input",    "-i",        "--open-mode",
        "--no-requeue", "--help",  "-h",         "--usage",    "--version", "-V",
        "--chdir",      "-D"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t len = strlen(names[i]);
        bool is_long = names[i][1] == '-';
        if (strncmp(word, names[i], len) == 0 && (!is_long || !word[len] || word[len] == '='))
            return true;
    }
    return false;
}

bool slurm_options_split(const char *text, struct arena *arena, const char ***words,
                         struct err *err) {
    struct err wrong = {0};
    struct buf word = {0};
    const char *rest = text ? text : "";
    const char **list = ARENA_ARRAY(arena, const char *, MAX_WORDS + 1);
    size_t count = 0;
    while (!wrong.kind && next_word(&rest, &word, &wrong)) {
        if (count == MAX_WORDS)
            err_set(&wrong, ERR_USAGE, "there are more than %d options", MAX_WORDS);
        else if (is_ours(word.at ? word.at : ""))
            err_set(&wrong, ERR_USAGE, "the option %.100s cannot be set: hone sets it for each job",
                    word.at);
        else
            list[count++] = arena_strdup(arena, word.at ? word.at : "");
    }
    buf_free(&word);
    *words = list;
    if (wrong.kind && err)
        *err = wrong;
    return !wrong.kind;
}

const char *slurm_options_partition(const char *const *words) {
    const char *found = NULL;
    for (size_t i = 0; words[i]; i++) {
        if (strncmp(words[i], "--partition=", 12) == 0)
            found = words[i] + 12;
        else if (strcmp(words[i], "--partition") == 0 || strcmp(words[i], "-p") == 0)
            found = words[i + 1];
        else if (strncmp(words[i], "-p", 2) == 0)
            found = words[i] + 2;
    }
    return found;
}
