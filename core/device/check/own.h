/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the hardware. check.c walks the program and holds what all instructions have in
 * common. check_move.c, check_matmul.c and check_compute.c hold one function for each name in the
 * `check` column of nki/program/instructions.def. Private to this folder. */
#ifndef HONE_DEVICE_CHECK_OWN_H
#define HONE_DEVICE_CHECK_OWN_H

#include "device/check/check.h"
#include "device/image/inner.h"

/* The instruction being checked, and where findings go. */
struct check {
    struct device_image *image;
    const struct nki_program *program;
    struct diag_list *diags;
    const struct nki_instr *instr;
    enum nki_op op;
    enum nki_engine engine; /* as chosen, never UNKNOWN */
    enum nki_generation generation;
    bool legacy;
    size_t errors;
    size_t findings;     /* errors and warnings, with those that are not shown again */
    uint32_t *passed;    /* per loc: the last instruction with no finding, + 1; 0: none */
    bool *written;       /* per storage: an instruction checked so far writes it */
    struct map reported; /* place and text of each finding, so that it is shown once */
};
typedef void check_fn(struct check *c);

/* check_again.c. The first says whether instruction i is like an earlier one of its place that
 * passed; it then sets all that checking would set. The second notes that instruction i passed. */
bool check_passed_before(struct check *c, size_t i);
void check_note_passed(struct check *c, size_t i);

#define CHECK_MAX_ERRORS 50
void check_error(struct check *c, const char *code, const char *format, ...) CC_PRINTF(3, 4);
void check_warn(struct check *c, const char *code, const char *format, ...) CC_PRINTF(3, 4);

/* Operand k as what it is: a tile (NULL when it is none), an operator, a boolean, a member of an
 * enumeration, a number. */
const struct nki_ap *check_tile(const struct check *c, size_t k);
enum nki_func check_func(const struct check *c, size_t k);
int64_t check_enum(const struct check *c, size_t k, int64_t missing);
const char *check_param(const struct check *c, size_t k); /* the parameter's name, such as
                                                           * "stationary" */
enum nki_space check_space(const struct check *c, const struct nki_ap *ap);

/* Reports an operand in the wrong memory and returns false. */
bool check_refuse_memory(struct check *c, const struct nki_ap *ap, const char *allowed);

/* Each reports a broken rule and returns false. A missing tile breaks none. */
bool check_same_partitions(struct check *c, size_t a, size_t b);
bool check_same_shape(struct check *c, size_t a, size_t b); /* partitions and free elements */
bool check_same_free(struct check *c, size_t a, size_t b);  /* elements per partition */
bool check_vector(struct check *c, size_t k, size_t like);  /* (P, 1), or a number */
bool check_same_dtype(struct check *c, size_t a, size_t b);
bool check_int_dtype(struct check *c, size_t k);
/* Operand k is of none of these types, a bit each; `allowed` says which ones it may be of. */
bool check_not_dtype(struct check *c, size_t k, uint64_t refused, const char *allowed);
bool check_not_both_psum(struct check *c, size_t a, size_t b);
bool check_free_range(struct check *c, size_t k, int64_t low, int64_t high);
bool check_alu(struct check *c, size_t k); /* whether the ALU has operator k here */
bool check_reduce_op(struct check *c, size_t k);
bool check_no_packed(struct check *c); /* operand k is no tile of an x4 dtype */
bool check_generation(struct check *c, enum nki_generation least);
bool check_one_class(struct check *c, size_t op0, size_t op1);

/* check_columns.c: operands of NkiTensor.indirect(). The first before the engine is chosen, the
 * second after. Both report what is wrong, and return false. */
bool check_columns(struct check *c, const struct nki_ap *ap);
bool check_columns_engine(struct check *c);

/* check_elements.c: elements of a tensor in HBM, a bit each. */
struct check_elements {
    uint8_t *bits; /* n / 8 + 1 bytes */
    int64_t n;     /* elements of the tensor .. */
    size_t size;   /* .. and the bytes of each */
};
/* Adds those of an access; finds the first of an access that is there (-1: none is). Where an index
 * leads, nobody knows, so accesses have none. */
void check_elements_add(const struct check_elements *elements, const struct nki_ap *ap);
int64_t check_elements_find(const struct check_elements *elements, const struct nki_ap *ap);
/* Takes those of an access away; whether none is left. */
void check_elements_remove(const struct check_elements *elements, const struct nki_ap *ap);
bool check_elements_none(const struct check_elements *elements);
/* Prints "`y[0, 128]`". */
void check_print_element(const struct nki_storage *storage, int64_t at, struct buf *out);

#define INSTR(id, name, engines, check, ...) check_fn check_##check;
#include "nki/program/instructions.def"

#define PSUM_BANK_BYTES 2048 /* of a partition */
#define PSUM_BANKS 8
#undef INSTR

#endif
