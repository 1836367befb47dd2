/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a diagnosis share. Private to this folder. */
#ifndef HONE_DIAGNOSE_PRIVATE_H
#define HONE_DIAGNOSE_PRIVATE_H

#include "diagnose/diagnose.h"

#define SITES_MOST 1024   /* statements; kernels with more are generated, and not looked at */
#define PICKS_MOST 6      /* tiles of a statement that are compared */
#define LINE_MOST 16      /* elements side by side that are compared */
#define SUSPECTS_MOST 5   /* that are told */
#define ALTERED_MOST 4000 /* programs that are tried */

/* How a tile may stand in the reference: as it is, or as what engines rather have. */
enum change { CHANGE_NONE, CHANGE_NEGATIVE, CHANGE_INVERSE, CHANGE_SQUARE, CHANGE_ROOT };
#define CHANGE_COUNT 5

/* Elements of a tile that lie side by side, along a row or down the partitions. */
struct line {
    uint32_t site, instr;
    int n;
    bool finite;
    float at[LINE_MOST];
    double off; /* from the nearest found: largest difference as a share of the largest element */
    int array;  /* number in study->known; -1: none is near */
    enum change change;
};
enum standing {
    STANDING_UNKNOWN, /* nothing to compare: one number throughout, or too small */
    STANDING_RIGHT,   /* all tiles are in the reference's arrays */
    STANDING_NEAR,    /* .. but not to the last digits */
    STANDING_PARTLY,  /* some tiles are, others are not */
    STANDING_WRONG    /* none is */
};
/* A statement of the kernel that became instructions of one kind. */
struct site {
    uint32_t loc, first, count; /* instructions: the first, how many */
    uint16_t op;
    bool accumulates; /* it reads what it writes */
    bool stores;      /* to an output */
    bool narrows;     /* writes a narrower type than it reads */
    uint32_t picks[PICKS_MOST], pick_count;
    uint32_t seen; /* tiles that others read */
    enum standing standing;
    uint32_t bad_line; /* the first that matches nothing; UINT32_MAX */
    int array;         /* what it matches; -1 */
    bool is_plain;     /* .. as it is, neither negated nor inverted */
    bool is_idle;      /* .. and is what it reads, too, though it computes: that shows nothing */
    bool clear;        /* something right is made of it */
    double weight;     /* of the suspicion; 0: none */
    char reason[320];
};
struct study {
    const struct diagnose_question *question;
    const struct nki_program *program;
    struct arena *arena;
    uint32_t *site_of; /* per instruction */
    bool *is_seen;     /* per instruction: others read what it writes */
    VEC(struct diagnose_array) known;
    VEC(struct site) sites;
    uint64_t *follows; /* bit [from * words + to]: `to` reads what `from` wrote */
    size_t words;
    VEC(struct line) lines;
    uint64_t ends_ns, used_up_ns; /* by the clock; by the processor time of this thread */
    double off_tight;
    bool knows_right; /* question->right is in the kernel's order */
    double before;    /* relative L2 of the outputs as they are; NAN */
    struct diag_list *diags;
};
bool study_is_late(const struct study *study);
static inline bool study_follows(const struct study *study, size_t from, size_t to) {
    return study->follows[from * study->words + to / 64] >> (to % 64) & 1;
}
/* The kernel's line of a site: of the call in the kernel's own file that led there. */
const struct nki_loc *study_place(const struct study *study, const struct site *site);

/* Access patterns of an instruction, one after the other. */
struct operand_at {
    const struct nki_ap *ap;
    size_t operand;
    bool writes, reads;
};
/* Fills at most `most`, returns how many. */
size_t operands_of(const struct nki_program *program, const struct nki_instr *instr,
                   struct operand_at *list, size_t most);
#define OPERANDS_MOST 24

/* Whether numbers of that type are read and compared. */
bool diagnose_is_plain(enum dtype dtype);

/* parent.c: adds the tiles of a kernel that is right to what is known; and raises the suspicion of
 * statements that it does not have. */
void parent_go_through(struct study *study);
void parent_weigh(struct study *study);
/* survey.c: sites, who reads whom, which tiles are looked at. False: too large. */
bool survey(struct study *study);
/* watch.c: runs the kernel once more and keeps lines of its tiles; finds where the first number
 * that is none comes from. False: it did not end. */
bool watch_run(struct study *study);
/* match.c: looks for every line in all arrays. */
void match_lines(struct study *study);
/* rank.c: how the sites stand, and who is suspected. */
void rank_sites(struct study *study);
/* signs.c: what the program alone shows. */
void signs_find(struct study *study);
/* alter.c: tries small changes of suspected statements; one that makes the outputs right is as good
 * as a proof. */
void alter_sites(struct study *study);
/* pattern.c: says which elements of the outputs are wrong. */
void pattern_tell(struct study *study);
/* The relative L2 of outputs against question->right; NAN where that is not known. */
double outputs_off(const struct study *study, const struct array *outputs);

#endif
