/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity: whether all that is live on chip at any moment fits SBUF and PSUM, and whether manual
 * addresses overlap. The compilers spill what does not fit SBUF (allocation.c), unless the kernel
 * places its tiles itself. The legacy compiler waits for PSUM, the current one refuses. No
 * addresses are chosen: life spans decide, not where a tile lies. */
#include "device/place.h"

#include <stdlib.h>

/* Describes, for the message, what is live at an instruction and which storage is the largest. */
static void describe_live(const struct device_image *image, uint32_t instr, enum nki_space space,
                          struct buf *out) {
    const struct nki_program *program = image->program;
    uint32_t best = UINT32_MAX;
    uint64_t most = 0;
    size_t live = 0;
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        const struct device_block *block = &image->blocks[b];
        if (program->storages.at[block->storage]->space != space || block->first > instr ||
            block->last < instr || block->first == DEVICE_NEVER)
            continue;
        live++;
        if (device_block_bytes(image, b) > most) {
            most = device_block_bytes(image, b);
            best = block->storage;
        }
    }
    if (best == UINT32_MAX)
        return;
    const struct nki_storage *storage = program->storages.at[best];
    buf_printf(out, "; %zu tiles are live, the largest is %s%s%s%llu bytes of ", live,
               storage->name[0] ? "`" : "", storage->name, storage->name[0] ? "` with " : "",
               (unsigned long long)most);
    nki_loc_say(program, storage->loc, out);
}

struct moment {
    uint32_t instr;
    uint64_t bytes;
};

/* The first instruction at which more than `capacity` bytes per partition are live. */
static struct moment first_overflow(const struct device_image *image, enum nki_space space,
                                    uint64_t capacity) {
    size_t n = image->program->instrs.len;
    int64_t *change = mem_alloc(n + 2, sizeof *change);
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        const struct device_block *block = &image->blocks[b];
        if (block->space != space || block->first == DEVICE_NEVER)
            continue;
        change[block->first] += (int64_t)device_block_bytes(image, b);
        change[block->last + 1] -= (int64_t)device_block_bytes(image, b);
    }
    struct moment moment = {DEVICE_NEVER, 0};
    int64_t live = 0;
    for (uint32_t i = 0; i < n && moment.instr == DEVICE_NEVER; i++) {
        live += change[i];
        if ((uint64_t)live > capacity)
            moment = (struct moment){i, (uint64_t)live};
    }
    free(change);
    return moment;
}

static bool check_capacity(const struct device_image *image, enum nki_space space,
                           struct diag_list *diags) {
    bool psum = space == NKI_PSUM;
    uint64_t capacity =
        psum ? image->generation->psum_partition_bytes : image->generation->sbuf_partition_bytes;
    struct moment moment = first_overflow(image, space, capacity);
    if (moment.instr == DEVICE_NEVER)
        return true;
    bool legacy = image->program->dialect == NKI_DIALECT_LEGACY;
    bool bears = legacy || (!psum && device_image_spills(image));
    struct buf live = {0};
    describe_live(image, moment.instr, space, &live);
    device_report(image->program, diags, bears ? DIAG_WARNING : DIAG_ERROR,
                  image->program->instrs.at[moment.instr].loc, "hone-capacity",
                  "%llu bytes per partition of %s are live here, %s has %llu%s. %s",
                  (unsigned long long)moment.bytes, psum ? "PSUM" : "SBUF", image->generation->name,
                  (unsigned long long)capacity, live.at ? live.at : "",
                  bears ? psum ? "The compiler waits until banks are free."
                               : "The compiler spills to HBM, which costs time."
                        : "Use smaller tiles, or load later and in pieces.");
    buf_free(&live);
    return bears;
}

struct manual {
    uint32_t storage, first, last;
    int64_t low, high;
};

static int by_address(const void *a, const void *b) {
    const struct manual *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static bool check_manual_pair(const struct device_image *image, const struct manual *a,
                              const struct manual *b, struct diag_list *diags) {
    const struct nki_storage *x = image->program->storages.at[a->storage];
    const struct nki_storage *y = image->program->storages.at[b->storage];
    bool partitions = x->address_partition < y->address_partition + (int32_t)y->partitions &&
                      y->address_partition < x->address_partition + (int32_t)x->partitions;
    /* An instruction may read one and write the other where both are the same bytes. */
    bool in_place = a->low == b->low && a->high == b->high &&
                    x->address_partition == y->address_partition &&
                    (a->first == b->last || b->first == a->last);
    if (x->space != y->space || !partitions || in_place || a->first > b->last || b->first > a->last)
        return true;
    struct buf other = {0};
    nki_loc_say(image->program, x->loc, &other);
    device_report(image->program, diags, DIAG_ERROR, y->loc, "hone-overlap",
                  "this tile at bytes %lld to %lld overlaps the one of %s at bytes %lld to %lld "
                  "while both are in use. Give one of them another address.",
                  (long long)b->low, (long long)b->high, other.at, (long long)a->low,
                  (long long)a->high);
    buf_free(&other);
    return false;
}

static bool check_manual(const struct device_image *image, struct diag_list *diags) {
    VEC(struct manual) all = {0};
    const struct nki_program *program = image->program;
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        const struct device_block *block = &image->blocks[b];
        const struct nki_storage *storage = program->storages.at[block->storage];
        if (storage->space == NKI_HBM || storage->address_partition < 0 ||
            block->first == DEVICE_NEVER || storage->blocks != 1)
            continue;
        int64_t low = storage->address_byte;
        *vec_push(&all) = (struct manual){block->storage, block->first, block->last, low,
                                          low + (int64_t)storage->block_bytes - 1};
    }
    if (all.len)
        qsort(all.at, all.len, sizeof *all.at, by_address);
    bool ok = true;
    for (size_t i = 0; ok && i < all.len; i++)
        for (size_t k = i + 1; ok && k < all.len && all.at[k].low <= all.at[i].high; k++)
            ok = check_manual_pair(image, &all.at[i], &all.at[k], diags);
    vec_free(&all);
    return ok;
}

bool device_place(struct device_image *image, struct diag_list *diags) {
    bool sbuf = check_capacity(image, NKI_SBUF, diags);
    bool psum = check_capacity(image, NKI_PSUM, diags);
    return check_manual(image, diags) && sbuf && psum;
}
