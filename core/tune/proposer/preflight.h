/* SPDX-License-Identifier: Apache-2.0 */
/* Whether models can be asked, before anything depends on it: key, address, and where it is wanted
 * one short answer. */
#ifndef HONE_TUNE_PREFLIGHT_H
#define HONE_TUNE_PREFLIGHT_H

#include "base/base.h"

struct loop;
struct config;
struct model_endpoint;
struct tune_models;

/* How a model is asked, as the configuration or SERVICE/MODEL says. False and *err (usage) where it
 * is none. What it points to lives until tune_models_look_end. */
struct tune_models_one {
    const struct model_endpoint *endpoint;
    struct tune_models *models;
};
bool tune_models_look(const struct config *config, const char *name, struct tune_models_one *one,
                      struct err *err) CC_MUST_USE;
void tune_models_look_end(struct tune_models_one *one);

/* One thing that was tried of one model; texts are gone after the call. */
struct tune_preflight_step {
    const char *model; /* as the user names it */
    const char *step;  /* "key", "address", "model", "answer", "program", "person" */
    bool fine;
    const char *found; /* what came of it, or what is wrong and what to do */
};
struct tune_preflight_hooks {
    void (*on_step)(void *data, const struct tune_preflight_step *step); /* may be NULL */
    /* Comes last. *err is about a model that must be mended (its key, its settings), or about a
     * role for which no model can be reached (environment); kind none where models can be asked. */
    void (*on_done)(void *data, const struct err *err);
    void *data;
};

struct tune_preflight;
/* Tries the models that `names` says, as for --proposer, one after the other. `asks`: each has to
 * answer, too, which costs some tokens. NULL and *err (usage) when a name is no model. Nothing is
 * called back before this returns. */
struct tune_preflight *tune_preflight_start(struct loop *loop, const struct config *config,
                                            const char *names, bool asks,
                                            const struct tune_preflight_hooks *hooks,
                                            struct err *err) CC_MUST_USE;
void tune_preflight_free(struct tune_preflight *preflight); /* accepts NULL; not in a hook */

#endif
