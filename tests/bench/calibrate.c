/* SPDX-License-Identifier: Apache-2.0 */
/* Times kernels on the device model for tests/bench/calibrate.py, which compares them with what was
 * measured. One job per line of stdin, its fields apart by tabs:
 *
 *     ID  FILE  FUNCTION  DEVICE  INPUTS  PASSES  RELEASE
 *
 * With --edits each line has two kernels as the counts of struct device_counts, and the answer is
 * the kind of edit between them, and the least ratio of their times that the verdict believes.
 *
 * FUNCTION is the kernel's name, with the cores of its launch behind it where they are two:
 * kernel[2]. INPUTS are words apart by spaces: 128x512:bfloat16 (an array), 1e-05 (a float), 4 (an
 * integer), none, each with NAME= before it where it is not positional. PASSES are those to leave
 * out for this job, words apart by spaces, perhaps none. RELEASE is that of the package nki that
 * the kernel was written for, empty for the newest. One line of stdout per job:
 *
 *     ID  LATENCY_US  BOUND  METRIC=VALUE ...      or      ID  -  what went wrong
 *
 * With --slopes each row has low_NAME=US and high_NAME=US, too: its latency with a constant that is
 * known as fitted at either end of its range, and latency=US with all as they are.
 *
 * Other arguments name passes (core/device/time/passes.def) to leave out, or set constants of a
 * generation: trn2.pe_weight_ns=0.7. With --constants it prints those of constants.def: generation,
 * name, how it is known, value, by how many percent it may be off. */
#include "device/device.h"
#include "device/time/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What the arguments change in the clock. */
struct changes {
    uint32_t without; /* bits of passes */
    bool slopes;
    struct device_constants constants[3];
};
static const char *const generations[] = {"trn1", "trn2", "trn3"};

#define MOST_INPUTS 64
#define MOST_LINE 65536
enum field { ID, FILE_NAME, FUNCTION, DEVICE, INPUTS, PASSES, RELEASE, FIELDS };

/* Reads "128x512:bfloat16"; false for anything else. */
static bool array_of(char *word, struct nki_input *input) {
    char *colon = strchr(word, ':'), *end;
    input->array.dtype = dtype_find(str_of(colon + 1));
    if (input->array.dtype == DTYPE_NONE)
        return false;
    for (const char *at = word; at < colon; at = end + (*end == 'x')) {
        if (input->array.ndim == ARRAY_MAX_DIMS)
            return false;
        input->array.shape[input->array.ndim++] = strtol(at, &end, 10);
        if (end == at)
            return false;
    }
    return true;
}

static bool input_of(char *word, struct nki_input *input) {
    *input = (struct nki_input){0};
    char *equals = strchr(word, '='), *end;
    if (equals) {
        *equals = '\0';
        input->name = word;
        word = equals + 1;
    }
    if (strcmp(word, "none") == 0)
        return input->kind = NKI_INPUT_NONE, true;
    if (strchr(word, ':'))
        return array_of(word, input);
    bool whole = !strpbrk(word, ".e");
    input->kind = whole ? NKI_INPUT_INT : NKI_INPUT_FLOAT;
    if (whole)
        input->i = strtol(word, &end, 10);
    else
        input->f = strtod(word, &end);
    return end != word && !*end;
}

/* Returns how many inputs there are; SIZE_MAX when a word is none. */
static size_t inputs_of(char *text, struct nki_input inputs[MOST_INPUTS]) {
    size_t n = 0;
    char *rest = text;
    for (char *word; (word = strtok_r(rest, " \n", &rest)) && n < MOST_INPUTS;)
        if (!input_of(word, &inputs[n++]))
            return SIZE_MAX;
    return n;
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static const char *first_error(const struct diag_list *diags) {
    for (size_t i = 0; i < diags->all.len; i++)
        if (diags->all.at[i].severity == DIAG_ERROR)
            return diags->all.at[i].message;
    return "no program";
}

static void print_profile(const struct device_profile *profile, size_t instructions, double took) {
    printf("%.3f\t%s\tinstructions=%zu cpu_ms=%.0f floor_us=%.1f", profile->latency_us,
           profile->bound, instructions, took, profile->floor_us);
    for (size_t i = 0; i < profile->metrics.len; i++)
        printf(" %s=%.6g", profile->metrics.at[i].name, profile->metrics.at[i].value);
    for (size_t i = 0; i < profile->bounds.len; i++)
        printf(" busy_%s=%.1f", profile->bounds.at[i].name, profile->bounds.at[i].busy_ns / 1e3);
}

/* Rows that take longer than this to time have no slopes: a fit leaves them as they are. */
#define SLOPES_MOST_MS 2000

/* The latency with one constant moved by a share of its value. */
static double latency_with(const struct device_image *image,
                           const struct device_constants *constants,
                           const struct device_constant *row, double share) {
    struct device_constants moved = *constants;
    *device_constant_in(&moved, row) *= 1 + share;
    return device_latency(image, &moved);
}

static void print_slopes(const struct device_image *image,
                         const struct device_constants *constants) {
    const struct device_constant *row;
    printf(" latency=%.6f", device_latency(image, constants));
    for (size_t i = 0; (row = device_constant_at(i)); i++) {
        struct device_known known = device_constant_known(row, constants->generation);
        if (known.how == DEVICE_FITTED)
            printf(" low_%s=%.6f high_%s=%.6f", row->name,
                   latency_with(image, constants, row, -known.percent / 100), row->name,
                   latency_with(image, constants, row, known.percent / 100));
    }
}

static bool time_program(const struct nki_program *program,
                         const struct device_generation *generation, const struct changes *changes,
                         uint32_t without, struct diag_list *diags) {
    double before = cpu_ms();
    struct device_image *image = device_load(program, generation, diags);
    if (!image)
        return false;
    size_t g = (size_t)(generation->generation - NKI_GEN2);
    struct device_profile *profile =
        device_time_without(image, &changes->constants[g], changes->without | without);
    double took = cpu_ms() - before;
    print_profile(profile, program->instrs.len, took);
    if (changes->slopes && took <= SLOPES_MOST_MS)
        print_slopes(image, &changes->constants[g]);
    putchar('\n');
    device_profile_free(profile);
    device_unload(image);
    return true;
}

static uint32_t passes_of(char *text) {
    uint32_t passes = 0;
    char *rest = text;
    for (char *word; (word = strtok_r(rest, " \n", &rest));)
        passes |= device_pass_find(word);
    return passes;
}

/* Cuts "[2]" off a function's name, and returns it; 0: there is none. */
static int cores_of(char *function) {
    char *bracket = strchr(function, '[');
    if (!bracket)
        return 0;
    *bracket = '\0';
    return (int)strtol(bracket + 1, NULL, 10);
}

static bool run_job(char *fields[FIELDS], const struct changes *changes, struct diag_list *diags,
                    struct err *err) {
    const struct device_generation *generation = device_generation_ask(fields[DEVICE], err);
    struct nki_tree *tree = generation ? nki_parse_file(fields[FILE_NAME], diags, err) : NULL;
    if (!tree)
        return false;
    struct nki_input inputs[MOST_INPUTS];
    int cores = cores_of(fields[FUNCTION]);
    struct nki_specialise_options options = {.function = fields[FUNCTION],
                                             .grid = {cores},
                                             .generation = generation->generation,
                                             .release = nki_release_find(fields[RELEASE]),
                                             .inputs = inputs,
                                             .n_inputs = inputs_of(fields[INPUTS], inputs)};
    if (options.n_inputs == SIZE_MAX)
        err_set(err, ERR_USAGE, "an input is neither an array nor a number");
    struct nki_program *program =
        options.n_inputs == SIZE_MAX ? NULL : nki_specialise(tree, &options, diags);
    bool timed =
        program && time_program(program, generation, changes, passes_of(fields[PASSES]), diags);
    nki_program_free(program);
    nki_tree_free(tree);
    return timed;
}

static bool fields_of(char *line, char *fields[FIELDS]) {
    for (int f = 0; f < FIELDS; f++) {
        fields[f] = line;
        line += strcspn(line, "\t\n");
        if (!*line)
            return f == FIELDS - 1;
        *line++ = '\0';
    }
    return true;
}

/* Reads "bytes flops tensor vector scalar gpsimd packets" from the front of the text. */
static bool work_of(char **text, struct device_counts *work) {
    double *const numbers[] = {
        &work->hbm_bytes,       &work->flops,           work->instructions, work->instructions + 1,
        work->instructions + 2, work->instructions + 3, &work->packets};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        char *end;
        *numbers[i] = strtod(*text, &end);
        if (end == *text)
            return false;
        *text = end;
    }
    return true;
}

static int print_edits(void) {
    static char line[MOST_LINE];
    while (fgets(line, sizeof line, stdin)) {
        struct device_counts one, other;
        char *rest = line;
        if (!work_of(&rest, &one) || !work_of(&rest, &other))
            return 2;
        enum device_edit edit = device_edit_between(&one, &other);
        printf("%d %g\n", (int)edit, device_edit_least(edit));
    }
    return 0;
}

/* ---- the clock changed ---------------------------------------------------------------------- */

static const struct device_constant *constant_named(const char *name, size_t length) {
    const struct device_constant *row;
    for (size_t i = 0; (row = device_constant_at(i)); i++)
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
            return row;
    return NULL;
}

/* Reads "trn2.pe_weight_ns=0.7". */
static bool set_constant(struct changes *changes, const char *text) {
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    for (size_t g = 0; dot && equals && g < COUNT_OF(generations); g++) {
        const struct device_constant *row = constant_named(dot + 1, (size_t)(equals - dot - 1));
        if (strncmp(text, generations[g], (size_t)(dot - text)) != 0 || !row)
            continue;
        *device_constant_in(&changes->constants[g], row) = strtod(equals + 1, NULL);
        return true;
    }
    return false;
}

static bool changes_of(struct changes *changes, char **words) {
    for (int g = 0; g < 3; g++)
        changes->constants[g] = *device_constants_of((enum nki_generation)(NKI_GEN2 + g));
    for (; *words; words++) {
        if (!strcmp(*words, "--slopes")) {
            changes->slopes = true;
            continue;
        }
        uint32_t pass = device_pass_find(*words);
        changes->without |= pass;
        if (pass || set_constant(changes, *words))
            continue;
        fprintf(stderr, "calibrate: there is no pass and no constant %s\n", *words);
        return false;
    }
    return true;
}

static int print_constants(void) {
    static const char *const how[] = {"documented", "measured", "fitted", "guessed"};
    const struct device_constant *row;
    for (size_t i = 0; (row = device_constant_at(i)); i++)
        for (int g = 0; g < 3; g++) {
            struct device_known known = row->known[g];
            printf("%s %s %s %.9g %g\n", generations[g], row->name, how[known.how], row->value[g],
                   known.percent);
        }
    return 0;
}

int main(int argc, char **argv) {
    static char line[MOST_LINE];
    struct changes changes = {0};
    if (argc > 1 && !strcmp(argv[1], "--edits"))
        return print_edits();
    if (argc > 1 && !strcmp(argv[1], "--constants"))
        return print_constants();
    if (!changes_of(&changes, argv + 1))
        return 2;
    char *fields[FIELDS];
    while (fgets(line, sizeof line, stdin)) {
        if (!fields_of(line, fields)) {
            fputs("calibrate: a line has too few fields\n", stderr);
            return 2;
        }
        struct diag_list diags = {0};
        struct err err = {0};
        printf("%s\t", fields[ID]);
        if (!run_job(fields, &changes, &diags, &err))
            printf("-\t%s\n", err.text[0] ? err.text : first_error(&diags));
        diag_free(&diags);
        fflush(stdout);
    }
    return 0;
}
