/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a task that go to a host. Private to this folder. */
#ifndef HONE_TARGET_BUNDLE_H
#define HONE_TARGET_BUNDLE_H

#include "target/host/host.h"

/* The reference and the Python files beside it; {0} is the empty one. */
struct bundle {
    VEC(struct host_file) files; /* path: only the name */
    char reference[256];         /* the reference's name among them */
    struct hash hash;            /* of all names and contents */
};
/* Reads them. It blocks, so a worker calls it. False and *err (usage) when there are more or larger
 * files than are sent, or the reference cannot be read. The caller frees the bundle in any case. */
#define BUNDLE_MAX_FILES 64
#define BUNDLE_MAX_BYTES ((size_t)1 << 20)
bool bundle_read(struct bundle *bundle, const char *reference_path, struct err *err) CC_MUST_USE;
void bundle_free(struct bundle *bundle);

#endif
