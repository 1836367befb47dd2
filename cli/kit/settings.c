/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a command sees it. */
#include <stdlib.h>

#include "cli/kit/kit.h"
#include "task/task.h"

struct config *settings_load(const char *task, struct err *err) {
    char *folder = NULL;
    if (task && file_is_dir(task))
        folder = mem_strdup(task);
    else if (task && file_exists(task))
        folder = path_folder(task);
    struct config *config = config_load(folder, err);
    free(folder);
    return config;
}
