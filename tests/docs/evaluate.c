/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates many small kernels in one process: a line of stdin is
 *
 *     KERNEL DEVICE CORES PREFIX NAME=SHAPE:DTYPE..
 *
 * and an input's numbers are float32 in PREFIX.NAME. Answers with a line: "ok LATENCY
 * SHAPE:DTYPE.." and output k as float32 in PREFIX.k, or "failed MESSAGE". */
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"

#define MOST_INPUTS 6

struct given {
    struct nki_input inputs[MOST_INPUTS];
    struct array arrays[MOST_INPUTS];
    size_t n;
};

static void read_shape(struct str text, struct array *array) {
    struct str shape, size;
    long long count;
    str_next(&text, ':', &shape);
    array->dtype = dtype_find(text);
    while (str_next(&shape, 'x', &size) && array->ndim < ARRAY_MAX_DIMS)
        if (str_to_int(size, &count))
            array->shape[array->ndim++] = count;
}

static void read_input(struct given *given, struct str text, const char *prefix) {
    struct array *array = &given->arrays[given->n];
    struct str name;
    char path[700];
    str_next(&text, '=', &name);
    read_shape(text, array);
    size_t n = (size_t)array_count(array);
    float *numbers = mem_alloc(n + 1, sizeof *numbers);
    snprintf(path, sizeof path, "%s.%.*s", prefix, (int)MIN_OF(name.len, 60), name.at);
    FILE *file = fopen(path, "rb");
    if (!file || fread(numbers, sizeof *numbers, n, file) != n)
        exit(2);
    fclose(file);
    array->data = mem_alloc(array_bytes(array) + 1, 1);
    device_from_float(array->dtype, numbers, array->data, n);
    mem_free_(numbers);
    given->inputs[given->n] = (struct nki_input){.kind = NKI_INPUT_ARRAY, .array = *array};
    given->n++;
}

static void write_output(const struct array *array, const char *prefix, size_t index) {
    char path[700];
    size_t n = (size_t)array_count(array);
    float *numbers = mem_alloc(n + 1, sizeof *numbers);
    device_to_float(array->dtype, array->data, numbers, n);
    snprintf(path, sizeof path, "%s.%zu", prefix, index);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(numbers, sizeof *numbers, n, file) != n)
        exit(2);
    fclose(file);
    mem_free_(numbers);
    for (int d = 0; d < array->ndim; d++)
        printf("%s%lld", d ? "x" : " ", (long long)array->shape[d]);
    printf(":%s", dtype_name(array->dtype));
}

static void failed(const char *message) {
    printf("failed ");
    for (; message && *message; message++)
        putchar(*message == '\n' ? ' ' : *message);
    putchar('\n');
}

static void first_error(const struct diag_list *diags) {
    for (size_t i = 0; i < diags->all.len; i++)
        if (diags->all.at[i].severity == DIAG_ERROR) {
            failed(diags->all.at[i].message);
            return;
        }
    failed("no program");
}

static void execute(const struct device_image *image, const struct given *given,
                    const char *prefix) {
    struct array outputs[16] = {0};
    struct err err = {0};
    struct device_profile *profile = device_time(image);
    size_t n = device_image_program(image)->outputs.len;
    if (n > COUNT_OF(outputs) ||
        !device_execute(image, given->arrays, given->n, outputs, NULL, &err)) {
        failed(err.text);
    } else {
        printf("ok %.4f", profile ? profile->latency_us : 0.0);
        for (size_t i = 0; i < n; i++)
            write_output(&outputs[i], prefix, i);
        putchar('\n');
    }
    for (size_t i = 0; i < n && i < COUNT_OF(outputs); i++)
        free(outputs[i].data);
    device_profile_free(profile);
}

static void evaluate(const struct nki_tree *tree, const struct device_generation *generation,
                     int cores, const struct given *given, const char *prefix) {
    struct diag_list diags = {0};
    struct nki_specialise_options options = {.generation = generation->generation,
                                             .inputs = given->inputs,
                                             .n_inputs = given->n,
                                             .grid = {cores > 1 ? cores : 0}};
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    struct device_image *image = program ? device_load(program, generation, &diags) : NULL;
    if (image)
        execute(image, given, prefix);
    else
        first_error(&diags);
    device_unload(image);
    nki_program_free(program);
    diag_free(&diags);
}

static void answer(struct str line) {
    struct str path, device, cores, prefix, input;
    struct given given = {0};
    char name[600], at[600], of[16];
    long long n_cores = 1;
    if (!str_next(&line, ' ', &path) || !str_next(&line, ' ', &device) ||
        !str_next(&line, ' ', &cores) || !str_next(&line, ' ', &prefix) ||
        !str_to_int(cores, &n_cores))
        exit(2);
    snprintf(name, sizeof name, STR_FMT, STR_ARG(path));
    snprintf(at, sizeof at, STR_FMT, STR_ARG(prefix));
    snprintf(of, sizeof of, STR_FMT, STR_ARG(device));
    while (str_next(&line, ' ', &input))
        if (input.len && given.n < MOST_INPUTS)
            read_input(&given, input, at);
    struct diag_list diags = {0};
    struct err err = {0};
    struct nki_tree *tree = nki_parse_file(name, &diags, &err);
    if (!tree)
        exit(2);
    nki_lint(tree, &(struct nki_lint_options){0}, &diags);
    if (diags.errors)
        first_error(&diags);
    else
        evaluate(tree, device_generation_find(of), (int)n_cores, &given, at);
    for (size_t i = 0; i < given.n; i++)
        mem_free_(given.arrays[i].data);
    nki_tree_free(tree);
    diag_free(&diags);
}

int main(void) {
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    while ((len = getline(&line, &size, stdin)) > 0) {
        answer(str_trim((struct str){line, (size_t)len}));
        fflush(stdout);
    }
    free(line);
    return 0;
}
