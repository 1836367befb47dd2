/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to blame: the first statements whose tiles are not in the reference, although all that
 * they read is right. What something right is made of is right as well. */
#include "diagnose/private.h"

#include <math.h>
#include <stdio.h>

static const char *const changes[CHANGE_COUNT] = {"", "the negative of ", "one over ",
                                                  "the square root of ", "the square of "};

/* ---- how sites stand ------------------------------------------------------------------------ */

struct tally {
    size_t right, near, bad;
};

static void stand(struct study *study, size_t s) {
    struct site *site = &study->sites.at[s];
    struct tally tally = {0};
    for (uint32_t i = 0; i < study->lines.len; i++) {
        const struct line *line = &study->lines.at[i];
        if (line->site != s)
            continue;
        if (line->array < 0 && site->bad_line == UINT32_MAX)
            site->bad_line = i;
        if (line->array >= 0 && site->array < 0)
            site->array = (int)i;
        site->is_plain = line->array >= 0 && line->change == CHANGE_NONE;
        tally.right += line->array >= 0 && line->off <= study->off_tight;
        tally.near += line->array >= 0 && line->off > study->off_tight;
        tally.bad += line->array < 0;
    }
    size_t good = tally.right + tally.near;
    site->standing = !good && !tally.bad ? STANDING_UNKNOWN
                     : !good             ? STANDING_WRONG
                     : tally.bad         ? STANDING_PARTLY
                     : tally.near        ? STANDING_NEAR
                                         : STANDING_RIGHT;
}

static int array_of(const struct study *study, const struct site *site) {
    return site->array >= 0 ? study->lines.at[site->array].array : -1;
}

/* What computes and gives what it was given: a maximum of which one side is always the larger. */
static bool is_idle(const struct study *study, size_t s) {
    const struct site *site = &study->sites.at[s];
    const struct nki_op_row *row = nki_op_row((enum nki_op)site->op);
    if (site->standing != STANDING_RIGHT || !site->is_plain || row->n_params < 3)
        return false;
    for (size_t from = 0; from < study->sites.len; from++)
        if (from != s && study_follows(study, from, s) && study->sites.at[from].is_plain &&
            array_of(study, &study->sites.at[from]) == array_of(study, site))
            return true;
    return false;
}

static bool reads_only_right(const struct study *study, size_t s) {
    for (size_t from = 0; from < study->sites.len; from++)
        if (from != s && study_follows(study, from, s) && !study->sites.at[from].clear)
            return false;
    return true;
}

/* Whether something right is made of it. */
static bool makes_right(const struct study *study, size_t s) {
    for (size_t to = 0; to < study->sites.len; to++)
        if (to != s && study_follows(study, s, to) && study->sites.at[to].clear)
            return true;
    return false;
}

/* Follows the arrows back from all that is right. Counts of moments are in no reference: of tiles
 * that are right they are taken to be. */
static void clear_sites(struct study *study) {
    bool more = true;
    for (size_t s = 0; s < study->sites.len; s++)
        study->sites.at[s].clear = study->sites.at[s].standing == STANDING_RIGHT;
    while (more) {
        more = false;
        for (size_t s = 0; s < study->sites.len; s++) {
            struct site *site = &study->sites.at[s];
            bool may = site->standing != STANDING_PARTLY && site->standing != STANDING_NEAR;
            if (!site->clear && may &&
                (makes_right(study, s) ||
                 (site->op == NKI_OP_BN_STATS && reads_only_right(study, s))))
                site->clear = more = true;
        }
    }
}

/* Which sites outputs are made of. */
static void find_useful(const struct study *study, bool *useful) {
    size_t n = study->sites.len;
    bool more = true;
    for (size_t s = 0; s < n; s++)
        useful[s] = study->sites.at[s].stores;
    while (more) {
        more = false;
        for (size_t s = 0; s < n; s++)
            for (size_t to = 0; to < n && !useful[s]; to++)
                if (useful[to] && study_follows(study, s, to))
                    useful[s] = more = true;
    }
}

/* ---- reasons -------------------------------------------------------------------------------- */

static void print_found(const struct study *study, const struct line *line, char *text,
                        size_t size) {
    const struct diagnose_array *known = &study->known.at[line->array];
    if (known->line)
        snprintf(text, size, "%s%.80s (line %d of the reference)", changes[line->change],
                 known->name, known->line);
    else
        snprintf(text, size, "%s%.80s", changes[line->change], known->name);
}

static void print_sources(const struct study *study, size_t s, char *text, size_t size) {
    text[0] = '\0';
    for (size_t from = 0; from < study->sites.len; from++) {
        const struct site *site = &study->sites.at[from];
        char found[160];
        if (from == s || !study_follows(study, from, s) || site->standing != STANDING_RIGHT)
            continue;
        print_found(study, &study->lines.at[site->array], found, sizeof found);
        snprintf(text, size, "; it reads %s, which is right", found);
        return;
    }
}

static void print_reason(struct study *study, size_t s) {
    struct site *site = &study->sites.at[s];
    const char *name = nki_op_name((enum nki_op)site->op);
    char found[160] = "", sources[220];
    print_sources(study, s, sources, sizeof sources);
    if (site->array >= 0)
        print_found(study, &study->lines.at[site->array], found, sizeof found);
    if (site->standing == STANDING_PARTLY)
        snprintf(site->reason, sizeof site->reason,
                 "what this %s writes is %s in some tiles and not in all: instruction %u of it is "
                 "the first that differs",
                 name, found, study->lines.at[site->bad_line].instr - site->first + 1);
    else if (site->standing == STANDING_NEAR)
        snprintf(site->reason, sizeof site->reason,
                 "what this %s writes is %s only to %.1g of its largest element%s", name, found,
                 study->lines.at[site->array].off,
                 site->narrows ? ": it rounds to a narrower type" : "");
    else if (site->standing == STANDING_WRONG)
        snprintf(site->reason, sizeof site->reason,
                 "what this %s writes is in none of the arrays that the reference goes through%.*s",
                 name, (int)sizeof sources, sources);
    else
        snprintf(site->reason, sizeof site->reason,
                 "nothing that is made of what this %s writes is right", name);
}

/* ---- the order ------------------------------------------------------------------------------ */

void rank_sites(struct study *study) {
    bool *useful = ARENA_ARRAY(study->arena, bool, study->sites.len + 1);
    for (size_t s = 0; s < study->sites.len; s++)
        stand(study, s);
    for (size_t s = 0; s < study->sites.len; s++)
        study->sites.at[s].is_idle = is_idle(study, s);
    clear_sites(study);
    find_useful(study, useful);
    for (size_t s = 0; s < study->sites.len; s++) {
        struct site *site = &study->sites.at[s];
        if (site->clear || !useful[s] || site->weight > 0)
            continue;
        /* Of equals the first in the program comes first. */
        site->weight = 20 - (double)site->first / (double)study->program->instrs.len;
        if (reads_only_right(study, s))
            site->weight += site->standing == STANDING_PARTLY    ? 50
                            : site->standing == STANDING_UNKNOWN ? 20
                                                                 : 40;
        print_reason(study, s);
    }
}
