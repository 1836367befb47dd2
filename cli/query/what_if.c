/* SPDX-License-Identifier: Apache-2.0 */
/* hone profile --what-if: changes of a kernel, timed without writing them. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/private.h"

struct found {
    struct device_causes *causes; /* with changes that promise most; NULL: one was asked for */
    const char *asked;
    double latency_us, changed_us;
};

static bool change_read(const char *asked, char to[16], struct device_change *change) {
    struct str line = str_of(asked);
    const char *colon = strchr(asked, ':');
    long long number = 0;
    if (!colon || strlen(colon + 1) >= 16)
        return false;
    line.len = (size_t)(colon - asked);
    snprintf(to, 16, "%s", colon + 1);
    *change = (struct device_change){.to = to};
    if (!str_to_int(line, &number) || number < 1 || number > INT32_MAX)
        return false;
    change->line = (uint32_t)number;
    return true;
}

static bool find_one(const struct subject *subject, struct found *found, struct err *err) {
    struct device_change change;
    char to[16];
    if (!change_read(found->asked, to, &change))
        return err_set(err, ERR_USAGE,
                       "--what-if is all, or a line and where it goes, as 12:vector, not %.60s",
                       found->asked);
    found->changed_us = device_time_change(subject->timed.image, NULL, &change, err);
    return err->kind == ERR_NONE;
}

static void find_all(const struct subject *subject, struct found *found) {
    found->causes = device_causes_of(subject->timed.image, NULL, false);
    if (found->causes)
        device_causes_try(found->causes, subject->timed.image,
                          device_constants_of(subject->timed.generation->generation));
}

/* ------------------------------------------------------------------------------------ telling */

static double in_nanoseconds(double us) {
    return round(us * 1e3) / 1e3;
}

static void change_put(cJSON *rows, const char *change, double us, double latency_us) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "change", change);
    cJSON_AddNumberToObject(row, "latency_us", in_nanoseconds(us));
    if (us > 0)
        cJSON_AddNumberToObject(row, "times_as_fast", round(latency_us / us * 1e4) / 1e4);
    cJSON_AddItemToArray(rows, row);
}

static void print_json(const struct subject *subject, const struct found *found) {
    const struct device_profile *profile = subject->timed.profile;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "latency_us", in_nanoseconds(found->latency_us));
    cJSON *rows = cJSON_AddArrayToObject(object, "changes");
    if (strcmp(found->asked, "all") != 0)
        change_put(rows, found->asked, found->changed_us, found->latency_us);
    for (size_t i = 0; found->causes && i < found->causes->ifs.len; i++)
        change_put(rows, found->causes->ifs.at[i].change, found->causes->ifs.at[i].us,
                   found->latency_us);
    cJSON *bounds = cJSON_AddArrayToObject(object, "infinitely_fast");
    for (size_t i = 0; found->causes && i < profile->bounds.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "engine", profile->bounds.at[i].name);
        cJSON_AddNumberToObject(row, "latency_us",
                                in_nanoseconds(profile->bounds.at[i].without_ns / 1e3));
        cJSON_AddItemToArray(bounds, row);
    }
    cli_json_print(object);
}

static void print_row(const char *change, double us, double latency_us) {
    printf("  %10.2f us  %6.3fx  %s\n", us, us > 0 ? latency_us / us : 0, change);
}

static void print_text(const struct subject *subject, const struct found *found) {
    const struct device_profile *profile = subject->timed.profile;
    printf("  %10.2f us          as it is\n", found->latency_us);
    if (strcmp(found->asked, "all") != 0)
        print_row(found->asked, found->changed_us, found->latency_us);
    for (size_t i = 0; found->causes && i < found->causes->ifs.len; i++)
        print_row(found->causes->ifs.at[i].change, found->causes->ifs.at[i].us, found->latency_us);
    for (size_t i = 0; found->causes && i < profile->bounds.len; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s infinitely fast", profile->bounds.at[i].name);
        print_row(name, profile->bounds.at[i].without_ns / 1e3, found->latency_us);
    }
}

int what_if_print(const struct cli *cli, const char *asked, bool json) {
    struct found found = {.asked = asked};
    struct subject subject = {0};
    struct err err = {0};
    bool ok = subject_open(&subject, cli, cli->args.at[0], &err) && subject_time(&subject, &err);
    if (ok)
        found.latency_us = device_time_latency(subject.timed.image, NULL);
    if (ok && !strcmp(asked, "all"))
        find_all(&subject, &found);
    else if (ok)
        ok = find_one(&subject, &found, &err);
    if (ok)
        (json ? print_json : print_text)(&subject, &found);
    device_causes_free(found.causes);
    subject_close(&subject);
    if (!ok && !err.text[0])
        return err_exit_status(&err); /* it has said why */
    return ok ? CLI_OK : cli_fail(cli, &err);
}
