/* SPDX-License-Identifier: Apache-2.0 */
/* Which model answers for a role: the configuration's [model NAME] and [roles], or models named
 * directly. Private to tune. */
#ifndef HONE_TUNE_MODELS_H
#define HONE_TUNE_MODELS_H

#include "base/base.h"
#include "model/model.h"
#include "tune/ask/ask.h"

struct tune_models;
/* `names` is what --proposer says: "models" for [roles]; else models with commas between, which
 * serve every role but summariser and reflector. A model is a name of [model NAME], SERVICE/MODEL
 * ("anthropic/claude-sonnet-4-5"), or "human". NULL and *err (usage) for anything else. */
struct tune_models *tune_models_open(const struct config *config, const char *names,
                                     struct err *err) CC_MUST_USE;
void tune_models_free(struct tune_models *models); /* accepts NULL */
/* How many models share a role; 0: hone does it itself. */
size_t tune_models_count(const struct tune_models *models, enum tune_role role);
/* The models' names as the user wrote them, and how they are asked. */
const char *tune_models_name(const struct tune_models *models, enum tune_role role, size_t index);
const struct model_endpoint *tune_models_endpoint(const struct tune_models *models,
                                                  enum tune_role role, size_t index);
/* Tokens of prompt and answer together that it takes. */
double tune_models_context(const struct tune_models *models, enum tune_role role, size_t index);
/* All roles, for the screens; it lives as long as `models`. */
const struct tune_role_view *tune_models_view(const struct tune_models *models);

#endif
