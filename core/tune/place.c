/* SPDX-License-Identifier: Apache-2.0 */
/* A target seen as a place. It adds nothing. */
#include "tune/place.h"

static void *start(void *self, const struct runner_job *job,
                   const struct runner_callbacks *callbacks, struct err *err) {
    return target_start(self, job, callbacks, err);
}

static void cancel(void *run) {
    target_cancel(run);
}
static void release(void *self) {
    target_free(self);
}

bool tune_place_open(struct tune_place *place, struct loop *loop, const char *target,
                     struct err *err) {
    struct target *opened = target_open(loop, target, NULL, err);
    if (!opened)
        return false;
    const struct target_info *info = target_describe(opened);
    *place = (struct tune_place){.self = opened,
                                 .modelled = info->modelled,
                                 .parallel = info->parallel,
                                 .start = start,
                                 .cancel = cancel,
                                 .free = release};
    return true;
}
