/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that is to be rewritten, and its named constants. */
#ifndef HONE_REWRITE_FACTS_FACTS_H
#define HONE_REWRITE_FACTS_FACTS_H

#include "base/base.h"
#include "nki/nki.h"
#include "rewrite/facts/constants.h"

/* What a line costs, from the profile. */
struct rewrite_line {
    int line;
    double us, share;
    const char *engine;
};

struct rewrite_anew;
/* What is to be rewritten. Everything in it stays the caller's. */
struct rewrite_request {
    const char *path, *function; /* function NULL: the kernel of the file */
    struct str source;
    enum nki_generation generation;
    bool pessimistic;  /* the model's fitted and guessed constants at their unfavourable end */
    bool only_certain; /* a gain inside the model's error would not be kept: it is no offer */
    bool older;        /* the target takes kernels of the older dialect alone */
    int lnc;           /* physical cores of a launch; 0: as the kernel's file does */
    const struct nki_input *inputs; /* the kernel's arguments; shapes are enough */
    size_t n_inputs;
    double latency_us, floor_us; /* 0: unknown */
    const struct rewrite_line *lines;
    size_t n_lines;
    const char *bound; /* the engine that limits it ("vector", "dma"); NULL: unknown */
    const struct rewrite_anew *anew; /* what it could be written anew from; NULL: nothing */
};

#endif
