/* SPDX-License-Identifier: Apache-2.0 */
/* Reaches a host from the command line. The target has the connection, its questions and the way to
 * the runner. This file waits, shows what happens, and passes answers on. */
#include "cli/host/reach.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kit/kit.h"

#define EXIT_INTERRUPTED 130 /* as shells report an interrupt */

static void on_answer(void *data, const char *text) {
    struct reach *reach = data;
    target_answer(reach->target, text);
}

static void say(struct reach *reach, const char *text) {
    if (strcmp(reach->said, text) == 0)
        return;
    snprintf(reach->said, sizeof reach->said, "%s", text);
    struct buf safe = {0};
    text_sanitise(&safe, str_of(text));
    if (!reach->quiet)
        fprintf(stderr, "%s\n", safe.at ? safe.at : "");
    buf_free(&safe);
}

static void on_change(void *data) {
    struct reach *reach = data;
    const struct target_status *status = target_look(reach->target);
    ask_follow(reach->ask, target_asks(reach->target));
    /* The target would try again and again. A command says at once that it did not work. */
    bool waits = status->state == TARGET_CONNECTING && status->retry_ms;
    bool settled = status->state == TARGET_READY || status->state == TARGET_FAILED ||
                   status->state == TARGET_LOST || waits;
    if (status->state == TARGET_CONNECTING && status->text[0] && !waits)
        say(reach, status->text);
    reach->settled = settled;
    reach->over = reach->over || (settled && reach->waits);
}

static void on_signal(void *data, int signum) {
    struct reach *reach = data;
    (void)signum;
    reach->interrupted = reach->over = true;
}

bool reach_open(struct reach *reach, const char *name, const struct config *config, bool quiet,
                struct err *err) {
    struct target_options options = {.config = config};
    *reach = (struct reach){.loop = loop_new(), .quiet = quiet};
    signal(SIGPIPE, SIG_IGN);
    reach->interrupt = loop_signal_start(reach->loop, SIGINT, on_signal, reach);
    reach->terminate = loop_signal_start(reach->loop, SIGTERM, on_signal, reach);
    reach->ask = ask_new(reach->loop, on_answer, reach);
    reach->target = target_open(reach->loop, name, &options, err);
    if (!reach->target)
        return false;
    if (strcmp(target_describe(reach->target)->kind, "sim") == 0)
        return err_set(err, ERR_USAGE,
                       "sim is the device model on this machine: there is no host to check");
    target_listen(reach->target, on_change, reach);
    target_watch(reach->target);
    return true;
}

int reach_close(struct reach *reach, int status) {
    if (reach->target)
        known_note(target_describe(reach->target), target_look(reach->target));
    ask_free(reach->ask);
    target_free(reach->target);
    loop_signal_stop(reach->interrupt);
    loop_signal_stop(reach->terminate);
    loop_free(reach->loop);
    return reach->interrupted ? EXIT_INTERRUPTED : status;
}

static bool was_interrupted(const struct reach *reach, struct err *err) {
    if (reach->interrupted)
        err_set(err, ERR_CANCELLED, "interrupted");
    return reach->interrupted;
}

bool reach_wait(struct reach *reach, struct err *err) {
    reach->over = false;
    reach->waits = true;
    on_change(reach);
    loop_run_until(reach->loop, &reach->over, 0);
    reach->waits = false;
    if (was_interrupted(reach, err))
        return false;
    const struct target_status *status = target_look(reach->target);
    if (status->state == TARGET_READY)
        return true;
    return err_set(err, ERR_ENVIRONMENT, "%s", status->text);
}

static void on_asked(void *data, const struct err *why) {
    struct reach *reach = data;
    reach->asked_done = reach->over = true;
    reach->asked_err = *why;
}

/* The caller's callbacks with their data. The end comes to this file. */
struct relay {
    const struct target_ask_spec *spec;
    struct reach *reach;
};

static void relay_event(void *data, const char *name, const struct cJSON *event) {
    struct relay *relay = data;
    if (relay->spec->on_event)
        relay->spec->on_event(relay->spec->data, name, event);
}

static void relay_line(void *data, struct str line) {
    struct relay *relay = data;
    if (relay->spec->on_line)
        relay->spec->on_line(relay->spec->data, line);
}

static void relay_done(void *data, const struct err *why) {
    struct relay *relay = data;
    on_asked(relay->reach, why);
}

bool reach_ask(struct reach *reach, const struct target_ask_spec *spec, struct err *err) {
    struct relay relay = {spec, reach};
    struct target_ask_spec own = {.argv = spec->argv,
                                  .limit_s = spec->limit_s,
                                  .on_event = relay_event,
                                  .on_line = relay_line,
                                  .on_done = relay_done,
                                  .data = &relay};
    reach->asked_done = reach->over = false;
    struct target_ask *ask = target_ask_start(reach->target, &own, err);
    if (!ask)
        return false;
    loop_run_until(reach->loop, &reach->over, 0);
    if (!reach->asked_done) {
        target_ask_drop(ask);
        return !was_interrupted(reach, err);
    }
    if (reach->asked_err.kind == ERR_NONE)
        return true;
    *err = reach->asked_err;
    return false;
}

static void on_confirmed(void *data, const char *text) {
    struct reach *reach = data;
    reach->over = true;
    reach->reply = text ? str_reply(str_of(text)) : STR_NO;
}

bool reach_confirm(struct reach *reach, const char *text, const char *otherwise) {
    struct ask *ask = ask_new(reach->loop, on_confirmed, reach);
    struct buf again = {0};
    buf_printf(&again, "Please answer yes or no. %s", text);
    reach->reply = STR_UNCLEAR;
    for (int i = 0; i < STR_REPLIES && reach->reply == STR_UNCLEAR; i++) {
        reach->over = false;
        ask_put(ask, i ? again.at : text, false, otherwise);
        loop_run_until(reach->loop, &reach->over, 0);
        if (reach->interrupted)
            break;
    }
    ask_free(ask);
    buf_free(&again);
    return reach->reply == STR_YES;
}
