/* SPDX-License-Identifier: Apache-2.0 */
/* What edits are written with: names, numbers, index expressions, allocations and calls in the
 * dialect and the vocabulary of the kernel at hand. */
#ifndef HONE_REWRITE_EDIT_EDIT_H
#define HONE_REWRITE_EDIT_EDIT_H

#include "nki/nki.h"

struct rewrite_affine;
struct rewrite_loop;
struct rewrite_maker;
struct rewrite_model;

/* spell.c: the kernel's text of a node; and how the tile that a maker makes is named where it is
 * used. */
const char *rewrite_text(const struct rewrite_model *model, const struct nki_node *node);
const char *rewrite_made_text(const struct rewrite_model *model, const struct rewrite_maker *maker);
/* An nl function as this kernel names it: "nl.add". */
const char *rewrite_nl(const struct rewrite_model *model, struct str op);
/* A name that the kernel does not use yet: stem, stem_2 and so on. It lives in the arena. */
const char *rewrite_fresh_name(const struct rewrite_model *model, const char *stem);
/* A number as the kernel would write it: the name of a constant with this value that is found in
 * `hint` (NULL: none), else digits. */
const char *rewrite_number(const struct rewrite_model *model, int64_t value,
                           const struct nki_node *hint);
/* The length that a loop covers in pieces of `size`: the name that its count divides, else
 * digits. */
const char *rewrite_total(const struct rewrite_model *model, const struct rewrite_loop *loop,
                          int64_t size, const struct nki_node *hint);
/* Breaks "f(a, b)" after its bracket when it would not fit on a line indented this far. */
const char *rewrite_wrap(const struct rewrite_model *model, const char *line, size_t indent);
/* "m * TILE_M" for an affine start; "0" where it is zero. */
const char *rewrite_affine_text(const struct rewrite_model *model,
                                const struct rewrite_affine *affine, const struct nki_node *hint);
/* "lo:hi" for a start and size. */
const char *rewrite_slice_text(const struct rewrite_model *model,
                               const struct rewrite_affine *start, int64_t size,
                               const struct nki_node *hint);
/* "nl.ndarray((..), dtype=.., buffer=nl.sbuf)" for a shape given as text, in the kernel's
 * dialect. */
const char *rewrite_alloc_text(const struct rewrite_model *model, const char *partitions,
                               const char *free_dims, const char *dtype);
/* How the kernel calls nki.isa; adds the import where it is missing. NULL when it cannot. */
const char *rewrite_need_nisa(const struct rewrite_model *model, struct nki_edits *edits);
bool rewrite_can_nisa(const struct rewrite_model *model);
/* One step of indentation times `levels`. */
const char *rewrite_indent(const struct rewrite_model *model, int levels);

/* statements.c */
/* Inserts lines before a statement and the comments above it. */
bool rewrite_insert_above(const struct rewrite_model *model, struct nki_edits *edits,
                          const struct nki_node *stmt, struct str lines);
/* Replaces the call that makes a tile. "op(<args>)" becomes the right side; where the tile was
 * passed as dst=, it still is. */
void rewrite_set_call(const struct rewrite_model *model, const struct rewrite_maker *maker,
                      const char *nisa, const char *op, const char *args, struct nki_edits *edits);
/* Removes a maker whose tile is not read any more. */
void rewrite_remove_maker(const struct rewrite_maker *maker, struct nki_edits *edits);

#endif
