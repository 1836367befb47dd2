/* SPDX-License-Identifier: Apache-2.0 */
/* The question of a session whose files were taken away: where to write what is in memory. */
#include "views/inner.h"

static void save_to(struct views *views, struct str text, struct views_request *request) {
    struct err err = {0};
    struct buf folder = {0};
    (void)request;
    buf_add(&folder, text.at, text.len);
    if (!text.len)
        views_say(views, true, "nothing was saved: a folder is needed; s asks again");
    else if (views->model.rescue(views->model.context, folder.at, &err))
        views_say(views, false, "saved to %s, where the session goes on; s starts the loop again",
                  folder.at);
    else
        views_say(views, true, "%s; s asks again", err.text);
    buf_free(&folder);
}

void views_ask_rescue(struct views *views, const char *folder) {
    views_ask_note(views, "the session's files are gone",
                   "They were removed or replaced while hone was using them. What is in memory is "
                   "whole and can be written to another folder, where the session goes on. Esc "
                   "leaves it in memory; s asks again.",
                   folder, save_to);
}
