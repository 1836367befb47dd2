/* SPDX-License-Identifier: Apache-2.0 */
/* What references made, kept as raw arrays under the cache folder in references/<hash of reference
 * and harness>/<seed>/{inputs,outputs}/{meta.json,data.bin}. Where nobody has asked for numbers
 * yet, shapes/meta.json stands for the inputs. Private to this folder. */
#ifndef HONE_TASK_CACHE_H
#define HONE_TASK_CACHE_H

#include "task/task.h"

/* The folder of a reference in the cache, whether it exists or not. It follows from the content of
 * the reference's closure, so that all folders with the same reference share it. A reference that
 * may read other files has a cache folder for each folder it lies in. NULL and *err when the
 * reference cannot be read. A new string. */
char *task_cache_of(const char *reference_path, struct err *err) CC_MUST_USE;
/* The folder of one seed in it; a new string. */
char *task_cache_seed(const char *of_reference, int64_t seed) CC_MUST_USE;
/* Whether the folder of a reference has what was recorded of it. */
bool task_graph_there(const char *of_reference);
/* Maps the inputs of a seed folder and marks it as used. NULL when they are not there, or were made
 * with other files than are beside the reference now; what is stale or broken is removed. With
 * shapes_only nothing is mapped, and shapes without numbers will do. */
struct task_inputs *task_cache_load(const char *reference_path, const char *seed_folder,
                                    bool shapes_only) CC_MUST_USE;
/* Maps the arrays that forward went through for a seed, and removes their folder. NULL when they
 * are not there. */
struct task_inputs *task_cache_take_steps(const char *reference_path,
                                          const char *seed_folder) CC_MUST_USE;
/* Removes the least recently used seeds until the cache fits its limit; `keep` stays. Another hone
 * that is about to read a removed seed makes it again. */
void task_cache_trim(const char *keep);

/* Makes the folder and all above it, for this user alone. */
bool task_cache_make(const char *folder, struct err *err) CC_MUST_USE;

#endif
