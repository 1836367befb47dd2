/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the runner that people ask for (doctor, setup, probe, jobs, sweep). They get what the
 * configuration says of the host, and what time it is here. */
#include <stdio.h>
#include <stdlib.h>

#include "target/host/host_own.h"

#define MAX_ARGV 60

struct host_ask {
    struct target_ask_spec spec;
    struct host_call *call;
};

static void on_event(void *data, const char *name, const cJSON *event) {
    struct host_ask *ask = data;
    if (ask->spec.on_event)
        ask->spec.on_event(ask->spec.data, name, event);
}

static void on_line(void *data, struct str line) {
    struct host_ask *ask = data;
    if (ask->spec.on_line)
        ask->spec.on_line(ask->spec.data, line);
}

static void on_done(void *data, const struct err *err, bool lost) {
    struct host_ask *ask = data;
    struct target_ask_spec spec = ask->spec;
    (void)lost;
    free(ask);
    spec.on_done(spec.data, err);
}

static bool takes_settings(const char *command) {
    static const char *const commands[] = {"probe", "doctor", "setup", "conform"};
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(command, commands[i]) == 0)
            return true;
    return false;
}

static char *settings_now(const struct host *host) {
    cJSON *settings = cJSON_Parse(host->settings_json);
    char clock[32];
    snprintf(clock, sizeof clock, "%.3f", (double)clock_wall_ms() / 1000);
    cJSON_AddStringToObject(settings, "clock", clock);
    char *text = cJSON_PrintUnformatted(settings);
    cJSON_Delete(settings);
    return text;
}

void *host_ask_start(struct host *host, const struct target_ask_spec *spec, struct err *err) {
    const char *argv[MAX_ARGV + 3];
    size_t count = 0;
    while (spec->argv[count] && count < MAX_ARGV) {
        argv[count] = spec->argv[count];
        count++;
    }
    char *settings = NULL;
    if (count && takes_settings(argv[0])) {
        settings = settings_now(host);
        argv[count++] = "--settings";
        argv[count++] = settings;
    }
    argv[count] = NULL;
    struct host_ask *ask = mem_alloc(1, sizeof *ask);
    ask->spec = *spec;
    struct host_call_spec call = {.argv = argv,
                                  .limit_s = spec->limit_s > 0 ? spec->limit_s : -1,
                                  .on_event = on_event,
                                  .on_line = on_line,
                                  .on_done = on_done,
                                  .data = ask};
    ask->call = host_call_start(host, &call, err);
    free(settings);
    if (ask->call)
        return ask;
    free(ask);
    return NULL;
}

void host_ask_drop(void *asked) {
    struct host_ask *ask = asked;
    host_call_drop(ask->call);
    free(ask);
}
