/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a command sees it. */
#include <stdlib.h>

#include "cli/kit/kit.h"
#include "task/task.h"

/* Children that evaluate keep to the same limit, so it is in their environment. */
static bool cache_limit_set(const struct config *config, struct err *err) {
    const char *limit = config_get(config, "cache", "limit", NULL);
    uint64_t bytes;
    if (limit && !task_cache_limit_read(limit, &bytes))
        return err_set(err, ERR_USAGE,
                       "limit of [cache] is a size, as 500M or 2G, and not \"%.60s\"", limit);
    return !limit || setenv(TASK_CACHE_LIMIT, limit, 1) == 0;
}

struct config *settings_load(const char *task, struct err *err) {
    char *folder = NULL;
    if (task && file_is_dir(task))
        folder = mem_strdup(task);
    else if (task && file_exists(task))
        folder = path_folder(task);
    struct config *config = config_load(folder, err);
    free(folder);
    if (config && !cache_limit_set(config, err)) {
        config_free(config);
        config = NULL;
    }
    return config;
}
