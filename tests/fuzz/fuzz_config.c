/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a configuration file, the user's and a task's. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "base/config/config_private.h"
#include "base/config/testing.h"

static void check_values(const struct config *config, bool of_task) {
    for (size_t i = 0; i < config->values.len; i++) {
        struct config_place place;
        struct err err;
        char *heading = mem_strdup(config->values.entries[i].key);
        char *key = strchr(heading, '\n');
        *key++ = 0;
        const struct config_row *row = config_find_section(str_of(heading), &place, &err)
                                           ? config_find_key(&place, heading, key, &err)
                                           : NULL;
        const char *value = config_get(config, heading, key, NULL);
        if (!row || !config_check(row, value, &err))
            HONE_BUG("a value was taken that the table does not allow");
        if (of_task && !row->task_may)
            HONE_BUG("a task's file set what it may not");
        free(heading);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int of_task = 0; of_task < 2; of_task++) {
        struct config *config = config_new();
        struct err err = {0};
        int kind = of_task ? CONFIG_TASK_FILE : CONFIG_USER_FILE;
        struct str text = {(const char *)data, size};
        bool fine = config_read_text(config, kind, "config.ini", text, &err);
        if (!fine && (err.kind != ERR_USAGE || !str_starts(str_of(err.text), "config.ini:")))
            HONE_BUG("a file was refused without file and line");
        check_values(config, of_task);
        config_free(config);
    }
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "[host trn2]\naddress = 10.0.0.5\nport = 2200 ; there\nidentity=~/.ssh/key\n[host b]\n",
    "\xef\xbb\xbf# c\r\n[cluster hpc]\r\noptions = --partition=a --exclusive\r\nparallel=3\r\n",
    "[defaults]\ndevice=trn3\nrounds = 5\ntolerance = 1e-3\nseeds=0,21\n[screen]\nmouse=no\n",
};

static const struct fuzz_target target = {.name = "config", FUZZ_TABLE(example, examples)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
