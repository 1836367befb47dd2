/* SPDX-License-Identifier: Apache-2.0 */
/* hone session check and hone session repair: whether a session on disk is what hone wrote, and
 * what can be saved of one that is not. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tune/tune.h"

#define MOST_NAMES 1000

/* --------------------------------------------------------------------------------------- check */

static const char *const words[STORE_FINDINGS] = {
    [STORE_WHOLE] = "whole", [STORE_UNPROVEN] = "unproven", [STORE_DAMAGED] = "damaged"};

struct checked {
    cJSON *parts; /* NULL: it prints lines for people */
    size_t count[STORE_FINDINGS];
};

static void on_part(void *data, const char *part, enum store_finding is, const char *text) {
    struct checked *checked = data;
    struct buf safe = {0};
    checked->count[is]++;
    if (checked->parts) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "part", part);
        cJSON_AddStringToObject(object, "is", words[is]);
        cJSON_AddStringToObject(object, "text", text);
        cJSON_AddItemToArray(checked->parts, object);
        return;
    }
    text_sanitise(&safe, str_of(text));
    printf("%-9s %-12s %s\n", is == STORE_DAMAGED ? "DAMAGED" : words[is], part,
           safe.at ? safe.at : "");
    buf_free(&safe);
}

static void check_json(const char *session, struct checked *checked) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "session", session);
    cJSON_AddBoolToObject(object, "whole", !checked->count[STORE_DAMAGED]);
    cJSON_AddBoolToObject(object, "proven",
                          !checked->count[STORE_DAMAGED] && !checked->count[STORE_UNPROVEN]);
    cJSON_AddItemToObject(object, "parts", checked->parts);
    cli_json_line(object);
}

static int check(const struct cli *cli, const char *session) {
    struct checked checked = {.parts = cli_has(cli, "json") ? cJSON_CreateArray() : NULL};
    struct err err = {0};
    if (!tune_session_check(session, on_part, &checked, &err)) {
        cJSON_Delete(checked.parts);
        return cli_fail(cli, &err);
    }
    if (checked.parts)
        check_json(session, &checked);
    else
        cli_say(stdout, "%s %s\n", session,
                checked.count[STORE_DAMAGED]
                    ? "is damaged: hone session repair saves what can be saved"
                : checked.count[STORE_UNPROVEN] ? "has no damage, as far as that can be proven"
                                                : "is whole");
    return checked.count[STORE_DAMAGED] ? CLI_DAMAGED : CLI_OK;
}

/* -------------------------------------------------------------------------------------- repair */

/* "<session>.<word>", or the first of "<session>.<word>.2" and on that does not exist. */
static char *free_name(const char *session, const char *word) {
    struct buf name = {0};
    size_t len = strlen(session);
    while (len > 1 && session[len - 1] == '/')
        len--;
    for (int n = 1; n < MOST_NAMES; n++) {
        buf_clear(&name);
        buf_add(&name, session, len);
        buf_printf(&name, ".%s", word);
        if (n > 1)
            buf_printf(&name, ".%d", n);
        if (!file_exists(name.at))
            break;
    }
    return buf_take(&name);
}

static void repaired_json(const char *session, const char *to, const char *aside,
                          const struct tune_repaired *done) {
    const struct store_repaired *store = &done->store;
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"events", store->events},
                   {"mended", store->mended},
                   {"replaced", store->dropped},
                   {"lost_from", store->cut <= store->last ? store->cut : 0},
                   {"lost_to", store->cut <= store->last ? store->last : 0},
                   {"behind", store->behind},
                   {"behind_unproven", store->doubtful},
                   {"kernels_behind", (int64_t)done->kernels},
                   {"artefacts", (int64_t)store->artefacts.whole},
                   {"artefacts_damaged", (int64_t)store->artefacts.damaged},
                   {"artefacts_missing", (int64_t)done->missing}};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "session", session);
    cJSON_AddStringToObject(object, "repaired", to);
    if (aside)
        cJSON_AddStringToObject(object, "damaged", aside);
    cJSON_AddBoolToObject(object, "proven", store->chained);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        cJSON_AddNumberToObject(object, numbers[i].key, (double)numbers[i].value);
    cli_json_line(object);
}

static void print_events(const struct tune_repaired *done) {
    const struct store_repaired *store = &done->store;
    cli_say(stdout, "saved     %lld event%s%s\n", (long long)store->events, PLURAL(store->events),
            store->chained ? ", each proven by its hash" : "; nothing proves them");
    if (store->mended)
        printf("mended    %lld of them put right by their hashes\n", (long long)store->mended);
    if (store->dropped)
        printf(
            "replaced  %lld line%s of the log that could not be read; another line says so there\n",
            (long long)store->dropped, PLURAL(store->dropped));
    if (done->missing)
        cli_say(stdout, "MISSING   %zu file%s that the log names: %s\n", done->missing,
                PLURAL(done->missing), done->names.at);
    if (store->cut > store->last)
        printf("lost      %s\n", done->missing    ? "no event"
                                 : store->dropped ? "nothing else"
                                                  : "nothing");
    else
        printf("LOST      events %lld to %lld are not in the new session\n", (long long)store->cut,
               (long long)store->last);
}

static void repaired_print(const char *to, const char *aside, const struct tune_repaired *done) {
    const struct store_repaired *store = &done->store;
    print_events(done);
    if (store->behind || store->doubtful)
        cli_say(stdout,
                "behind    %lld of these are whole, %lld in doubt: %s/behind/events.jsonl\n",
                (long long)store->behind, (long long)store->doubtful, to);
    if (done->kernels)
        cli_say(stdout, "          %zu kernel%s of them in %s/behind, as files\n", done->kernels,
                PLURAL(done->kernels), to);
    printf("artefacts %zu copied", store->artefacts.whole);
    if (store->artefacts.damaged)
        printf(", %zu are damaged and left out", store->artefacts.damaged);
    cli_say(stdout, "\n%s", to);
    if (aside)
        cli_say(stdout, " is the new session; the damaged one is %s\n", aside);
    else
        printf(" is the new session: give it as --session, or repair with --replace\n");
}

static bool replace(const char *session, const char *to, const char *aside, struct err *err) {
    if (!store_move(session, aside, err))
        return false;
    return rename(to, session) == 0 ||
           err_set(err, ERR_ENVIRONMENT, "cannot put %.150s in the place of %.150s: %s", to,
                   session, strerror(errno));
}

/* Where the new session would be, nothing may be written: said before a whole session is read. */
static bool can_make(const char *to, struct err *err) {
    char *parent = path_folder(to);
    bool can = !file_exists(parent) || access(parent, W_OK) == 0;
    if (!can)
        err_set(err, ERR_ENVIRONMENT,
                "cannot make %.300s: %s. --output FOLDER puts the repaired session elsewhere", to,
                strerror(errno));
    free(parent);
    return can;
}

static int repair(const struct cli *cli, const char *session) {
    const char *output = cli_value(cli, "output");
    char *to = output ? mem_strdup(output) : free_name(session, "repaired");
    char *aside = cli_has(cli, "replace") ? free_name(session, "damaged") : NULL;
    struct tune_repaired done = {0};
    struct err err = {0};
    bool ok = can_make(to, &err) && tune_session_repair(session, to, &done, &err) &&
              (!aside || replace(session, to, aside, &err));
    const char *where = aside ? session : to;
    if (ok && cli_has(cli, "json"))
        repaired_json(session, where, aside, &done);
    else if (ok)
        repaired_print(where, aside, &done);
    buf_free(&done.names);
    free(aside);
    free(to);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

int cli_session(const struct cli *cli) {
    const char *what = cli->args.at[0];
    struct err err = {0};
    bool checks = !strcmp(what, "check");
    if (!checks && strcmp(what, "repair") != 0)
        return cli_wrong_usage(cli, "%s is neither check nor repair", what);
    const char *given = cli_value(cli, "session");
    if ((cli->args.len == 2) == (given != NULL))
        return cli_wrong_usage(cli, "give %s",
                               given ? "a task or session, or --session, not both"
                                     : "a task, or a session's folder");
    char *session = cli_session_of(given ? given : cli->args.at[1], &err);
    if (!session)
        return cli_wrong_usage(cli, "%s", err.text);
    int status = checks ? check(cli, session) : repair(cli, session);
    free(session);
    return status;
}
