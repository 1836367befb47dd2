/* SPDX-License-Identifier: Apache-2.0 */
/* What leaving hunks out of a proposal breaks. It reads the sources alone, so that a person hears
 * it with the key, before anything is run. */
#include "nki/nki.h"
#include "tune/read/read.h"
#include "tune/state/inner.h"

static void find(const struct tune_candidate *candidate, const char *path,
                 struct diag_list *diags) {
    struct diag_list ignored = {0};
    struct nki_tree *whole = nki_parse(path, str_of(candidate->proposed), &ignored);
    struct nki_tree *rest = nki_parse(path, str_of(candidate->source), diags);
    /* What the whole proposal does as well is not a matter of its hunks. */
    const struct nki_candidate_options options = {
        .original = whole, .allows_original = true, .any_dialect = true};
    if (!whole->errors)
        nki_lint_candidate(rest, &options, diags);
    nki_tree_free(whole);
    nki_tree_free(rest);
    diag_free(&ignored);
}

/* The whole may use the name, so it is on no list: the hunk that defined it is left out. */
static void say(const struct diag *diag, struct buf *out) {
    const char *name = strcmp(diag->code, "hone-candidate-name") == 0 ? diag->message : "";
    const char *end = *name == '\'' ? strchr(name + 1, '\'') : NULL;
    if (end)
        buf_printf(out, "line %d: nothing defines %.*s there", diag->line, (int)(end - name) + 1,
                   name);
    else
        buf_printf(out, "line %d: %s", diag->line, diag->message);
}

bool tune_left_fault(const struct tune_state *state, int lane, struct buf *out) {
    const struct tune_candidate *candidate = &tune_lane_of(state, lane)->candidate;
    if (!candidate->exists || !candidate->source || candidate->source == candidate->proposed)
        return false;
    struct diag_list diags = {0};
    find(candidate, tune_kernel_file(state), &diags);
    const struct diag *first = NULL;
    for (size_t i = 0; i < diags.all.len && !first; i++)
        if (diags.all.at[i].severity == DIAG_ERROR)
            first = &diags.all.at[i];
    if (first)
        say(first, out);
    diag_free(&diags);
    return first != NULL;
}
