/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes names through their slots, and says what is wrong with a name that has no value:
 * it is unknown, not yet assigned, or a module-level statement left it without one. */
#include "nki/python/inner.h"

static struct frame *frame_at(struct interp *in, uint16_t depth) {
    struct frame *frame = in->frame;
    while (depth-- > 0)
        frame = frame->outer;
    return frame;
}

void store_ref(struct interp *in, struct ref ref, struct value value) {
    if (ref.kind == REF_FRAME) {
        frame_at(in, ref.depth)->slots[ref.slot] = value;
    } else {
        in->frame->unit->globals.at[ref.slot] = value;
        in->frame->unit->broken.at[ref.slot] = NULL;
    }
}

/* How many edits (insert, remove, replace, swap of neighbours) are between two short names; `limit`
 * + 1 when there are more. */
static int edit_distance(struct str a, struct str b, int limit) {
    enum { LONGEST = 40 };
    if (a.len > LONGEST || b.len > LONGEST)
        return limit + 1;
    int rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a.len; i++) {
        int *now = rows[i % 3], *before = rows[(i - 1) % 3], *two = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= b.len; j++) {
            int best = before[j - 1] + (a.at[i - 1] != b.at[j - 1]);
            best = MIN_OF(best, MIN_OF(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1])
                best = MIN_OF(best, two[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[a.len % 3][b.len];
}

struct guess {
    struct str wanted, best;
    int distance;
};

static void guess_from(struct guess *guess, const struct map *names) {
    for (size_t i = 0; i < names->len; i++) {
        struct str name = {names->entries[i].key, names->entries[i].key_len};
        if (str_equal(name, guess->wanted))
            continue;
        int distance = edit_distance(guess->wanted, name, guess->distance);
        if (distance < guess->distance) {
            guess->distance = distance;
            guess->best = name;
        }
    }
}

static bool unknown_name(struct interp *in, const struct nki_node *node, struct str name) {
    if (in->library->name_is_gap("builtins", name))
        return interp_error(in, node, "hone-gap-python",
                            "hone does not know Python's " STR_FMT " yet", STR_ARG(name));
    struct guess guess = {name, {"", 0}, name.len < 3 ? 1 : name.len < 6 ? 2 : 3};
    for (const struct scope *s = in->frame->scope; s; s = s->parent)
        guess_from(&guess, &s->names);
    if (guess.best.len)
        return interp_error(in, node, "NameError",
                            "name '" STR_FMT "' is not defined; did you mean '" STR_FMT "'?",
                            STR_ARG(name), STR_ARG(guess.best));
    return interp_error(in, node, "NameError", "name '" STR_FMT "' is not defined", STR_ARG(name));
}

static struct str slot_name(const struct nki_node *node, const struct scope *host, uint32_t slot) {
    if (node->kind == NKI_NAME)
        return node->name.id;
    return host->slot_names.at[slot];
}

static bool missing(struct interp *in, const struct nki_node *node, struct ref ref) {
    if (ref.kind == REF_FRAME) {
        struct str name = slot_name(node, frame_at(in, ref.depth)->scope, ref.slot);
        return interp_error(in, node, "UnboundLocalError",
                            "'" STR_FMT "' is used before it has a value on this path",
                            STR_ARG(name));
    }
    struct unit *unit = in->frame->unit;
    struct str name = slot_name(node, unit->scope, ref.slot);
    if (unit->broken.at[ref.slot])
        return interp_broken(in, node, name, NULL, unit->broken.at[ref.slot]);
    return unknown_name(in, node, name);
}

/* Some kernels are kept as bare functions, and a harness puts the imports in front. These are the
 * names that all of them use for NKI's modules. */
static bool find_customary(struct interp *in, const struct nki_node *node, struct str name,
                           struct value *result) {
    static const struct {
        const char *name, *path;
    } names[] = {
        {"nl", "nki.language"}, {"nisa", "nki.isa"},  {"nki", "nki"},          {"np", "numpy"},
        {"math", "math"},       {"nt", "nki.typing"}, {"ncc", "nki.compiler"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(name, names[i].name)) {
            interp_warn(in, node, "hone-no-import", "%s is not imported; taken as %s",
                        names[i].name, names[i].path);
            return import_module(in, node, str_of(names[i].path), result);
        }
    if (str_is(name, "par_dim"))
        return import_module(in, node, STR("nki.language"), result) &&
               result->module->get(in, node, result->module, name, result);
    return false;
}

/* Looks for a name in `from module import *`, the builtins, then the customary modules. */
static bool find_elsewhere(struct interp *in, const struct nki_node *node, struct str name,
                           struct value *result) {
    if (unit_find_in_stars(in, node, in->frame->unit, name, result))
        return true;
    if (in->failure.set)
        return false;
    return in->library->find(in, name, result) || find_customary(in, node, name, result);
}

bool interp_builtin(struct interp *in, const char *name, struct value *result) {
    return in->library->find(in, str_of(name), result);
}

bool load_ref(struct interp *in, const struct nki_node *node, struct ref ref,
              struct value *result) {
    if (ref.kind == REF_FRAME)
        *result = (ref.depth ? frame_at(in, ref.depth) : in->frame)->slots[ref.slot];
    else
        *result = in->frame->unit->globals.at[ref.slot];
    if (!is_unset(*result))
        return true;
    if (ref.kind == REF_GLOBAL) {
        struct unit *unit = in->frame->unit;
        struct str name = slot_name(node, unit->scope, ref.slot);
        if (!unit->broken.at[ref.slot] && find_elsewhere(in, node, name, result)) {
            unit->globals.at[ref.slot] = *result;
            return true;
        }
    }
    return missing(in, node, ref);
}
