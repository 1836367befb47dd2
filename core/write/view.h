/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: where in a buffer the elements of an array lie. A dimension consists of
 * factors, outermost first, each with a stride of its own; so transposing, cutting, spreading and
 * most reshaping of an array needs no copy. */
#ifndef HONE_WRITE_VIEW_H
#define HONE_WRITE_VIEW_H

#include "write/graph.h"

#define VIEW_MAX_FACTORS 8

struct factor {
    int64_t n, stride; /* strides in elements; 0: the same element n times */
};
struct dimension {
    struct factor at[VIEW_MAX_FACTORS];
    int count; /* 0: one element */
};
struct view {
    int buffer;
    int64_t offset;
    int ndim;
    struct dimension dims[GRAPH_MAX_DIMS];
};
/* All of a buffer of that shape. */
struct view view_whole(int buffer, const int64_t *shape, int ndim);
/* The view of a node of kind reshape, transpose, broadcast, slice or windows, of its source's.
 * False where no strides say it: the source has to be copied first. */
bool view_through(const struct graph_node *node, const struct view *source, struct view *out);
bool view_reshape(const struct view *source, const int64_t *shape, int ndim, struct view *out);
/* The part of an array that ranges of its dimensions name. */
bool view_part(const struct view *source, const struct graph_range *part, struct view *out);
/* The view in as many dimensions as `shape`, spread to it as numpy does. */
bool view_spread(const struct view *source, const int64_t *shape, int ndim, struct view *out);
/* Divides the factors of a dimension so that they have the sizes given, outermost first. */
bool dimension_refine(const struct dimension *dimension, const int64_t *sizes, int count,
                      int64_t *strides);

#endif
