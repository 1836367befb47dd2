/* SPDX-License-Identifier: Apache-2.0 */
/* hone host doctor and setup: what the runner on the host finds, and what it would do about it,
 * shown as it comes. The runner knows what to check and how (core/runner/REMOTE.md). */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/host/private.h"
#include "cli/kit/kit.h"

#define NAME_COLUMN 11 /* after the state */
#define TEXT_COLUMN 28

/* -- printing --------------------------------------------------------------------------------- */

static int terminal_width(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
        return MIN_OF((int)size.ws_col, 120);
    return 100;
}

void host_say(int indent, const char *text) {
    struct buf safe = {0};
    text_sanitise(&safe, str_of(text));
    struct str lines = buf_str(&safe), rest, word;
    int width = terminal_width(), column = indent;
    while (str_next(&lines, '\n', &rest)) {
        bool first = true;
        while (str_next(&rest, ' ', &word)) {
            int cols = (int)text_columns(word);
            if (!first && column + 1 + cols > width) {
                cli_say(stdout, "\n%*s", indent, "");
                column = indent;
                first = true;
            }
            cli_say(stdout, "%s" STR_FMT, first ? "" : " ", STR_ARG(word));
            column += cols + !first;
            first = false;
        }
        cli_say(stdout, lines.at ? "\n%*s" : "\n", lines.at ? indent : 0, "");
        column = indent;
    }
    fflush(stdout);
    buf_free(&safe);
}

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

/* Prints an event as the host sent it, on one line, with `event` first. */
static void print_json(const char *name, const cJSON *event) {
    cJSON *copy = cJSON_CreateObject();
    const cJSON *item;
    cJSON_AddStringToObject(copy, "event", name);
    cJSON_ArrayForEach(item, event) if (item->string && strcmp(item->string, "event") != 0)
        cJSON_AddItemToObject(copy, item->string, cJSON_Duplicate(item, true));
    cli_json_line(copy);
}

/* -- doctor ----------------------------------------------------------------------------------- */

enum { CHECK_OK, CHECK_WARNING, CHECK_FAILED, CHECK_STATES };
static const char *const state_names[CHECK_STATES] = {"ok", "warning", "failed"};

struct doctor {
    bool json, reached;
    int counts[CHECK_STATES];
};

static void check_show(struct doctor *doctor, const cJSON *check) {
    const char *state = text_of(check, "state"), *advice = text_of(check, "advice");
    int index = CHECK_FAILED; /* an unknown state is no good sign */
    for (int i = 0; i < CHECK_STATES; i++)
        if (strcmp(state, state_names[i]) == 0)
            index = i;
    doctor->counts[index]++;
    if (doctor->json) {
        print_json("check", check);
        return;
    }
    struct buf name = {0};
    text_sanitise(&name, str_of(text_of(check, "name")));
    cli_say(stdout, "%-*s%-*s", NAME_COLUMN - 1,
            index == CHECK_FAILED ? "FAILED" : state_names[index], TEXT_COLUMN - NAME_COLUMN,
            name.at ? name.at : "");
    host_say(TEXT_COLUMN - 1, text_of(check, "found"));
    if (*advice) {
        cli_say(stdout, "%*s", TEXT_COLUMN - 1, "");
        host_say(TEXT_COLUMN - 1, advice);
    }
    buf_free(&name);
}

/* Reports a check on this side in the form of those from the host. */
static void check_own(struct doctor *doctor, const char *name, bool fine, const char *found) {
    cJSON *check = cJSON_CreateObject();
    cJSON_AddStringToObject(check, "name", name);
    cJSON_AddStringToObject(check, "state", state_names[fine ? CHECK_OK : CHECK_FAILED]);
    cJSON_AddStringToObject(check, "found", found);
    cJSON_AddStringToObject(check, "advice", "");
    check_show(doctor, check);
    cJSON_Delete(check);
}

static void on_check(void *data, const char *name, const cJSON *event) {
    struct doctor *doctor = data;
    if (strcmp(name, "check") == 0)
        check_show(doctor, event);
    else if (strcmp(name, "host") == 0 && doctor->json)
        print_json(name, event);
}

static void doctor_end(const struct doctor *doctor, const char *name) {
    if (doctor->json) {
        printf("{\"event\":\"end\",\"ok\":%d,\"warning\":%d,\"failed\":%d}\n",
               doctor->counts[CHECK_OK], doctor->counts[CHECK_WARNING],
               doctor->counts[CHECK_FAILED]);
        return;
    }
    cli_say(stdout, "\n%s: %d fine, %d warning%s, %d failed.", name, doctor->counts[CHECK_OK],
            doctor->counts[CHECK_WARNING], PLURAL(doctor->counts[CHECK_WARNING]),
            doctor->counts[CHECK_FAILED]);
    if (doctor->counts[CHECK_FAILED] && doctor->reached)
        printf(" hone host setup shows what hone can install or set up there.");
    printf("\n");
}

static void examine(struct doctor *doctor, struct reach *reach) {
    static const char *const argv[] = {"doctor", NULL};
    struct target_ask_spec spec = {.argv = argv, .on_event = on_check, .data = doctor};
    struct err err = {0};
    if (!reach_wait(reach, &err)) {
        if (!reach->interrupted)
            check_own(doctor, "connection", false, err.text);
        return;
    }
    const char *host = target_look(reach->target)->host;
    doctor->reached = true;
    check_own(doctor, "connection", true, *host ? host : "connected");
    if (!reach_ask(reach, &spec, &err) && !reach->interrupted)
        check_own(doctor, "runner", false, err.text);
}

int host_doctor(const struct cli *cli) {
    struct doctor doctor = {.json = cli_has(cli, "json")};
    struct reach reach;
    struct err err = {0};
    const char *name = cli->args.at[1];
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    bool fine = reach_open(&reach, name, config, doctor.json, &err);
    if (fine) {
        examine(&doctor, &reach);
        if (!reach.interrupted)
            doctor_end(&doctor, name);
    }
    int status = doctor.counts[CHECK_FAILED] ? CLI_ENVIRONMENT_FAILED : CLI_OK;
    if (!fine)
        status = cli_fail(cli, &err);
    status = reach_close(&reach, status);
    config_free(config);
    return status;
}

/* -- setup ------------------------------------------------------------------------------------ */

struct setup {
    bool json, applies;
    int needed, undone; /* steps to do; steps that failed */
};

/* Prints a command as a person would type it. */
static void command_print(const cJSON *argv, struct buf *out) {
    const cJSON *item;
    cJSON_ArrayForEach(item, argv) {
        const char *word = cJSON_IsString(item) ? item->valuestring : "";
        bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789@%+=:,./_-") == strlen(word);
        buf_printf(out, "%s%s", out->len ? " " : "", plain ? "" : "'");
        for (const char *at = word; *at; at++)
            buf_printf(out, *at == '\'' ? "'\\''" : "%c", *at);
        buf_puts(out, plain ? "" : "'");
    }
}

static void step_show(struct setup *setup, const cJSON *step) {
    bool needed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(step, "needed"));
    bool done = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(step, "done"));
    struct buf command = {0}, head = {0};
    setup->needed += needed;
    setup->undone += needed && !done;
    command_print(cJSON_GetObjectItemCaseSensitive(step, "argv"), &command);
    const char *word = !needed ? "there" : !setup->applies ? "to do" : done ? "done" : "FAILED";
    buf_printf(&head, "%s%s%s", text_of(step, "name"), needed ? ": " : "",
               needed ? text_of(step, "why") : "");
    cli_say(stdout, "%-8s", word);
    host_say(8, head.at);
    if (needed && !setup->applies && command.len) {
        printf("%10s", "");
        host_say(10, command.at);
    }
    buf_free(&command);
    buf_free(&head);
}

static void on_step(void *data, const char *name, const cJSON *event) {
    struct setup *setup = data;
    bool step = strcmp(name, "step") == 0;
    if (setup->json) {
        bool needed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(event, "needed"));
        bool done = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(event, "done"));
        setup->needed += step && needed;
        setup->undone += step && needed && !done;
        print_json(name, event);
    } else if (step) {
        step_show(setup, event);
    } else if (strcmp(name, "log") == 0) {
        printf("%8s", "");
        host_say(8, text_of(event, "text"));
    }
}

static bool steps_run(struct setup *setup, struct reach *reach, bool applies, struct err *err) {
    static const char *const shows[] = {"setup", NULL}, *const does[] = {"setup", "--apply", NULL};
    struct target_ask_spec spec = {
        .argv = applies ? does : shows, .on_event = on_step, .data = setup};
    setup->applies = applies;
    setup->needed = setup->undone = 0;
    return reach_ask(reach, &spec, err);
}

static bool agreed(const struct cli *cli, struct setup *setup, struct reach *reach) {
    char text[128];
    if (cli_has(cli, "yes"))
        return true;
    snprintf(text, sizeof text,
             "Run %s on %.60s? Type yes:", setup->needed == 1 ? "this command" : "these commands",
             cli->args.at[1]);
    printf("\n");
    fflush(stdout);
    return reach_confirm(reach, text, "look at the steps above, then run it again with --yes");
}

static int prepare(const struct cli *cli, struct setup *setup, struct reach *reach,
                   struct err *err) {
    if (!reach_wait(reach, err) || !steps_run(setup, reach, false, err))
        return cli_fail(cli, err);
    if (!setup->needed) {
        if (!setup->json)
            cli_say(stdout, "\nNothing is missing on %s.\n", cli->args.at[1]);
        return CLI_OK;
    }
    if (setup->json && !cli_has(cli, "yes"))
        return CLI_OK; /* it was only to look */
    if (!agreed(cli, setup, reach)) {
        fprintf(stderr, "Nothing was done.\n");
        return CLI_OK;
    }
    if (!steps_run(setup, reach, true, err))
        return cli_fail(cli, err);
    if (!setup->json)
        cli_say(stdout, "\n%s\n",
                setup->undone ? "Not all of it worked; the lines above say why."
                              : "Done. hone host doctor checks it again.");
    return setup->undone ? CLI_ENVIRONMENT_FAILED : CLI_OK;
}

int host_setup(const struct cli *cli) {
    struct setup setup = {.json = cli_has(cli, "json")};
    struct reach reach;
    struct err err = {0};
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    int status = reach_open(&reach, cli->args.at[1], config, setup.json, &err)
                     ? prepare(cli, &setup, &reach, &err)
                     : cli_fail(cli, &err);
    status = reach_close(&reach, status);
    config_free(config);
    return status;
}
