/* SPDX-License-Identifier: Apache-2.0 */
/* :migrate of the workbench: the migration runs on a worker, and its result is handed in as a
 * person's own kernel, which waits at the gates like any other. */
#include <stdlib.h>

#include "cli/tiles.h"
#include "runner/runner.h"

struct migrating_here {
    struct views *views;
    struct migrating_wanted wanted;
    char *source, *path, *reference, *function, *device;
    const char *to; /* static */
    struct migration made;
    struct err err;
    bool ok, dropped;
};

static void work(void *data) {
    struct migrating_here *m = data;
    struct runner_job job = {.kernel_path = m->path,
                             .kernel_text = m->source,
                             .kernel_name = m->function,
                             .reference_path = m->reference,
                             .device = m->device};
    m->ok = runner_migrate(&job, NULL, m->to, &m->made, &m->err);
}

static void hand_in(struct migrating_here *m) {
    struct tune_action action = {
        .kind = TUNE_ACT_WRITE_KERNEL, .lane = TUNE_ANY_LANE, .text = m->made.source};
    size_t done = m->made.steps.len - m->made.questions;
    struct err err = {0};
    if (!tune_session_act(m->wanted.session, &action, &err))
        views_say(m->views, true, "%s", err.text);
    else if (m->made.questions)
        views_say(m->views, true,
                  "for NKI %s: %zu change%s, and %zu question%s marked # hone migrate (e: edit)",
                  m->to, done, PLURAL(done), m->made.questions, PLURAL(m->made.questions));
    else
        views_say(m->views, false, "for NKI %s: %zu change%s", m->to, done, PLURAL(done));
}

static void migrating_free(struct migrating_here *m) {
    if (m->ok)
        migration_free(&m->made);
    free(m->source);
    free(m->path);
    free(m->reference);
    free(m->function);
    free(m->device);
    free(m);
}

static void finish(void *data) {
    struct migrating_here *m = data;
    if (!m->dropped && !m->ok)
        views_say(m->views, true, "%s", m->err.text);
    else if (!m->dropped && strcmp(m->made.source, m->source) == 0)
        views_say(m->views, false, "nothing is to be changed for NKI %s", m->to);
    else if (!m->dropped)
        hand_in(m);
    if (!m->dropped) {
        *m->wanted.place = NULL;
        m->wanted.changed(m->wanted.data);
    }
    migrating_free(m);
}

void migrating_drop(struct migrating_here **place) {
    if (*place)
        (*place)->dropped = true;
    *place = NULL;
}

void migrating_start(struct loop *loop, struct views *views,
                     const struct migrating_wanted *wanted) {
    const struct tune_state *state = tune_session_state(wanted->session);
    const char *release = *wanted->release ? wanted->release : tune_release(state);
    const char *to = release ? nki_release_find(release) : nki_release_newest();
    if (!to) {
        views_say(views, true, "there is no release %.20s of nki: 0.1 to %s", release,
                  nki_release_newest());
        return;
    }
    migrating_drop(wanted->place);
    struct migrating_here *m = mem_alloc(1, sizeof *m);
    *m = (struct migrating_here){.views = views,
                                 .wanted = *wanted,
                                 .to = to,
                                 .source = mem_strdup(wanted->source),
                                 .path = mem_strdup(tune_kernel_file(state)),
                                 .reference = mem_strdup(tune_reference_file(state)),
                                 .function = mem_strdup(state->function),
                                 .device = mem_strdup(state->device)};
    *wanted->place = m;
    loop_job_start_owned(loop, work, finish, m);
}
