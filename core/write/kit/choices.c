/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided: stages ask the schedule here, so that whoever searches sees every choice there
 * is and every value that is legal. */
#include "write/kit/kit.h"

#include <stdio.h>

static struct write_choice *declared(struct written *written, const char *key) {
    for (size_t i = 0; i < written->choices.len; i++)
        if (strcmp(written->choices.at[i].key, key) == 0)
            return &written->choices.at[i];
    return NULL;
}

static void print_key(const struct writer *writer, int node, const char *name, char *key,
                      size_t size) {
    snprintf(key, size, "%.30s_%d.%s", writer->graph->nodes[node].name, node, name);
}

void write_note(struct writer *writer, int node, const char *name, const char *note) {
    char key[sizeof((struct write_choice *)0)->key];
    print_key(writer, node, name, key, sizeof key);
    struct write_choice *choice = declared(writer->written, key);
    if (choice)
        snprintf(choice->note, sizeof choice->note, "%s", note);
}

static bool is_offered(const struct write_choice *choice, int64_t value) {
    for (int i = 0; i < choice->count; i++)
        if (choice->values[i] == value)
            return true;
    return false;
}

int64_t write_choose(struct writer *writer, int node, const char *name, const char *title,
                     const int64_t *values, int count) {
    const struct graph_node *row = &writer->graph->nodes[node];
    struct write_choice choice = {.title = title, .line = row->line, .value = values[0]};
    print_key(writer, node, name, choice.key, sizeof choice.key);
    const struct write_choice *before = declared(writer->written, choice.key);
    if (before)
        return before->value;
    for (int i = 0; i < count && choice.count < WRITE_MAX_VALUES; i++)
        if (!is_offered(&choice, values[i]))
            choice.values[choice.count++] = values[i];
    for (size_t i = 0; i < writer->spec->setting_count; i++) {
        const struct write_setting *setting = &writer->spec->settings[i];
        if (strcmp(setting->key, choice.key) == 0 && is_offered(&choice, setting->value))
            choice.value = setting->value;
    }
    *vec_push(&writer->written->choices) = choice;
    return choice.value;
}
