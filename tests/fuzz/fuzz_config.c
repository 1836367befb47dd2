/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a configuration file, the user's and a task's. Built with -DHONE_LIBFUZZER it is
 * an entry point for libFuzzer; as a program it mutates its own examples for a number of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "base/config/config_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A few bytes changed, a piece doubled, a piece of another example put in. */
static void mutate(struct buf *text, uint64_t *state) {
    static const char odd[] = "[]=:;# \t\r\n\0\xff\x1b~*\"0123456789";
    for (uint64_t i = next(state) % 6; i > 0 && text->len; i--)
        text->at[next(state) % text->len] = odd[next(state) % (sizeof odd - 1)];
    const char *other = examples[next(state) % COUNT_OF(examples)];
    size_t from = next(state) % strlen(other);
    if (next(state) % 2)
        buf_add(text, other + from, next(state) % (strlen(other) - from));
    for (uint64_t i = next(state) % 40 ? 0 : 600; i > 0; i--)
        buf_add(text, "xxxxxxxx", 8);
    if (next(state) % 3 == 0 && text->len)
        text->len = next(state) % text->len;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    uint64_t state = 1;
    for (long i = 0; i < rounds; i++) {
        struct buf text = {0};
        buf_puts(&text, examples[i % (long)COUNT_OF(examples)]);
        if (i >= (long)COUNT_OF(examples))
            mutate(&text, &state);
        LLVMFuzzerTestOneInput((const uint8_t *)text.at, text.len);
        buf_free(&text);
    }
    printf("%ld configuration files\n", rounds);
    return 0;
}
#endif
