/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of the golden programs, as a line of their files has them: "x:float32,128,512 n=4". */
#ifndef HONE_TESTS_NKI_INPUTS_H
#define HONE_TESTS_NKI_INPUTS_H

#include "nki/nki.h"

#define MAX_INPUTS 8

struct inputs {
    struct nki_input at[MAX_INPUTS];
    size_t n;
    struct arena *arena;
};

static void read_array(struct str text, struct array *array) {
    struct str dtype, size;
    assert_true(str_next(&text, ':', &dtype));
    array->dtype = dtype_find(dtype);
    assert_int_not_equal(array->dtype, DTYPE_NONE);
    while (str_next(&text, ',', &size)) {
        long long number;
        assert_true(str_to_int(str_trim(size), &number));
        array->shape[array->ndim++] = number;
    }
}

static void read_inputs(struct str text, struct inputs *inputs) {
    struct str word;
    while (str_next(&text, ' ', &word)) {
        if (!word.len)
            continue;
        assert_true(inputs->n < MAX_INPUTS);
        struct nki_input *input = &inputs->at[inputs->n++];
        const char *mark = memchr(word.at, '=', word.len);
        size_t name = mark ? (size_t)(mark - word.at) : 0;
        if (!mark) {
            mark = memchr(word.at, ':', word.len);
            name = (size_t)(mark - word.at);
            input->kind = NKI_INPUT_ARRAY;
            read_array((struct str){mark + 1, word.len - name - 1}, &input->array);
        } else {
            struct str value = {mark + 1, word.len - name - 1};
            long long number;
            input->kind = str_to_int(value, &number) ? NKI_INPUT_INT : NKI_INPUT_FLOAT;
            input->i = input->kind == NKI_INPUT_INT ? number : 0;
            if (input->kind == NKI_INPUT_FLOAT)
                assert_true(str_to_double(value, &input->f));
        }
        input->name = arena_strndup(inputs->arena, word.at, name);
    }
}

#endif
