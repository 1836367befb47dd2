/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of the connection to the place when it changes, and asks what only a person can
 * answer. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "cli/run/private.h"

static void place_json(struct run *run, const struct tune_place_view *place) {
    static const char *const states[] = {[TARGET_READY] = "connected",
                                         [TARGET_CONNECTING] = "connecting",
                                         [TARGET_LOST] = "lost",
                                         [TARGET_ASKING] = "asking",
                                         [TARGET_FAILED] = "failed"};
    cJSON *object = cJSON_CreateObject();
    struct buf line = {0};
    cJSON_AddStringToObject(object, "event", "place");
    cJSON_AddStringToObject(object, "name", place->info->name);
    cJSON_AddStringToObject(object, "state", states[place->status->state]);
    cJSON_AddStringToObject(object, "text", place->status->text);
    if (place->status->retry_ms)
        cJSON_AddNumberToObject(object, "retry_ms", (double)place->status->retry_ms);
    char *text = cJSON_PrintUnformatted(object);
    buf_puts(&line, text ? text : "{}");
    run_line(run, &line);
    free(text);
    cJSON_Delete(object);
}

static void say_place(struct run *run, const struct tune_place_view *place) {
    const struct target_status *status = place->status;
    struct buf text = {0};
    buf_puts(&text, status->text);
    if (status->retry_ms)
        buf_printf(&text, "; next try in %.0f s",
                   fmax(ceil((double)(status->retry_ms - loop_wall_ms(run->loop)) / 1000), 0));
    run_say(run, place->info->name, text.at);
    buf_free(&text);
}

/* Reports the state of the connection when it changed, and asks what only a person can answer. */
void run_follow_place(struct run *run) {
    const struct tune_place_view *place = tune_session_state(run->session)->place;
    if (!place)
        return;
    const struct target_status *status = place->status;
    bool changed = status->state != run->noted;
    person_hold(run->person, place->asks && place->asks->text[0]);
    ask_follow(run->ask, place->asks);
    /* Each try ends in the same sentence, and once is enough. The exception is a host that was
     * never reached: it may not exist, and that does not last long. */
    bool again = strcmp(run->said.at ? run->said.at : "", status->text) != 0;
    bool waits = status->retry_ms && status->retry_ms != run->retry_ms &&
                 (again || status->state == TARGET_CONNECTING);
    run->retry_ms = status->retry_ms;
    run->noted = status->state;
    if ((changed || waits) && run->json && strcmp(place->info->kind, "sim") != 0)
        place_json(run, place);
    else if ((changed || waits) && status->state != TARGET_ASKING && status->text[0])
        say_place(run, place);
    if (waits) {
        buf_clear(&run->said);
        buf_puts(&run->said, status->text);
    }
    if (changed)
        known_note(place->info, status);
}
