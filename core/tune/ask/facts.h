/* SPDX-License-Identifier: Apache-2.0 */
/* Facts for prompts. Private to tune. */
#ifndef HONE_TUNE_FACTS_H
#define HONE_TUNE_FACTS_H

#include "base/base.h"

/* The limits of a generation, as lines; nothing for one nobody knows. All numbers are those of
 * core/device/image/hardware.def, and the bandwidth is the one that floors are made with. */
void tune_facts_limits(const char *device, struct buf *out);
/* What kernels of that dialect ("legacy", "current") may call in that release ("0.6.0"; NULL: the
 * newest) on that generation, all of it: signatures, what is written, engines. It does not depend
 * on a kernel, so that it is the same in each question of a session. */
void tune_facts_api(const char *dialect, const char *release, const char *device, struct buf *out);
/* What the numbers of a profile mean, from the glossary. */
void tune_facts_metrics(struct buf *out);
/* What the parameters of the instructions that `source` calls or `words` name ("nc_matmul") take,
 * with the limits and notes of their pages, as far as those fit into a few kilobytes. Only what the
 * release and the generation have. */
struct tune_facts_told {
    const char *dialect, *release, *device;
};
void tune_facts_in_use(const struct tune_facts_told *told, const char *source, const char *words,
                       struct buf *out);

/* Whole pages, for whoever can read files: those of the names that `source` calls, then every
 * guide. */
void tune_facts_pages(const struct tune_facts_told *told, const char *source, struct buf *out);

/* For a message about a name that is not there, "'nki.language.multiple' is not ..", the nearest
 * one of the release with its parameters, as a line; nothing where none is near. */
void tune_facts_near(const struct tune_facts_told *told, const char *message, struct buf *out);

#endif
