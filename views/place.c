/* SPDX-License-Identifier: Apache-2.0 */
/* The place where kernels are evaluated, as a person sees it: the connection in words, who holds
 * which core, what waits and why, and the questions that only a person can answer. It draws what
 * the session's state says of the place and knows no host. */
#include "views/inner.h"

#include <stdio.h>

static const struct target_status *status_of(const struct views *views) {
    return views->state && views->state->place ? views->state->place->status : NULL;
}

bool place_is_remote(const struct views *views) {
    const struct tune_place_view *place = views->state ? views->state->place : NULL;
    return place && place->info->kind && strcmp(place->info->kind, "sim") != 0;
}

/* -- the connection in words ------------------------------------------------------------------ */

static const struct {
    const char *glyph, *word, *brief;
    enum tui_role role;
    bool counts; /* the time since then is said */
} looks[] = {
    [TARGET_READY] = {"●", "connected", "", TUI_GOOD, false},
    [TARGET_CONNECTING] = {"▶", "connecting", "connecting", TUI_ACTIVE, true},
    [TARGET_LOST] = {"!", "connection lost", "lost", TUI_WARN, true},
    [TARGET_ASKING] = {"◆", "waits for your answer", "asks", TUI_WAITING, false},
    [TARGET_FAILED] = {"✗", "not connected", "not connected", TUI_BAD, false},
};

static bool waits_to_retry(const struct target_status *status) {
    return status->retry_ms && (status->state == TARGET_LOST || status->state == TARGET_CONNECTING);
}

enum tui_role place_role(const struct views *views) {
    return looks[status_of(views)->state].role;
}

bool place_in_trouble(const struct views *views) {
    return place_is_remote(views) && status_of(views)->state != TARGET_READY;
}

void place_state(const struct views *views, bool brief, struct buf *out) {
    const struct target_status *status = status_of(views);
    buf_printf(out, "%s ", looks[status->state].glyph);
    if (brief)
        buf_printf(out, "%s %s", views->state->place->info->name, looks[status->state].brief);
    else
        buf_puts(out, looks[status->state].word);
    if (looks[status->state].counts && status->since_ms)
        buf_printf(out, " %s", show_elapsed(MAX_OF(0, views->now_ms - status->since_ms)).text);
    if (waits_to_retry(status))
        buf_printf(out, ", next try in %d s",
                   (int)(MAX_OF(0, status->retry_ms - views->now_ms + 999) / 1000));
    if (brief && out->at[out->len - 1] == ' ')
        out->at[--out->len] = 0;
}

void place_name(const struct views *views, struct buf *out) {
    const struct tune_state *state = views->state;
    buf_printf(out, "%s%s", state->device ? state->device : "-",
               state->lnc > 1 ? ", two cores" : "");
    if (state->release)
        buf_printf(out, ", NKI %s", state->release);
    if (state->tracing)
        buf_printf(out, ", traced by %s", state->tracing);
    buf_puts(out, " · ");
    if (place_is_remote(views))
        buf_printf(out, "%s ", state->place->info->kind);
    buf_puts(out, state->target ? state->target : "-");
}

bool place_can_retry(const struct views *views) {
    const struct target_status *status = status_of(views);
    if (views->model.retry && views->state && tune_state_waits(views->state))
        return true;
    return place_is_remote(views) && views->model.retry &&
           (status->state == TARGET_LOST || status->state == TARGET_FAILED ||
            waits_to_retry(status));
}

void place_retry(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    bool service = tune_state_waits(views->state);
    views->model.retry(views->model.context);
    views_say(views, false, service ? "asked again" : "connecting again");
}

bool place_waits(const struct views *views, struct buf *out) {
    const struct target_status *status = status_of(views);
    const struct target_entry *first = status && status->entries.len ? status->entries.at : NULL;
    for (size_t i = 0; first && i < status->entries.len; i++)
        if (!status->entries.at[i].reason[0])
            return false; /* one runs */
    if (!first)
        return false;
    buf_printf(out, "%s", first->state);
    if (first->since_ms)
        buf_printf(out, " %s", show_elapsed(MAX_OF(0, views->now_ms - first->since_ms)).text);
    buf_printf(out, ": %s", first->reason);
    return true;
}

/* -- the host's panel ------------------------------------------------------------------------- */

static void facts(const struct target_status *status, struct buf *out) {
    if (status->release[0])
        buf_puts(out, status->release);
    if (status->memory_bytes)
        buf_printf(out, "%smemory %s", out->len ? " · " : "",
                   show_bytes((double)status->memory_bytes).text);
    if (status->disk_free_bytes)
        buf_printf(out, "%s%s of disk free", out->len ? " · " : "",
                   show_bytes((double)status->disk_free_bytes).text);
}

static bool same_core(const struct target_core *a, const struct target_core *b) {
    return strcmp(a->state, b->state) == 0 && strcmp(a->holder, b->holder) == 0;
}

/* Cores in a row that are held alike, together: "0-3 free". */
static void core_group(const struct target_core *first, const struct target_core *last,
                       struct buf *out) {
    buf_printf(out, "%s", first->name);
    if (first != last)
        buf_printf(out, "-%s", last->name);
    buf_printf(out, " %s", first->state);
    if (first->holder[0])
        buf_printf(out, " %s", first->holder);
}

static void cores_text(const struct target_status *status, const char *what, struct buf *out) {
    size_t count = status->cores.len, free_ones = 0;
    const struct target_core *cores = status->cores.at;
    for (size_t i = 0; i < count; i++)
        free_ones += strcmp(cores[i].state, "free") == 0 || strcmp(cores[i].state, "idle") == 0;
    if (count)
        buf_printf(out, "%s: %zu of %zu free. ", what, free_ones, count);
    for (size_t i = 0, first = 0; i < count; i++) {
        if (i + 1 < count && same_core(&cores[i], &cores[i + 1]))
            continue;
        buf_puts(out, first ? " · " : "");
        core_group(&cores[first], &cores[i], out);
        first = i + 1;
    }
}

/* What stands below the state: what is wrong, or else what is there and who holds it. */
static void host_text(const struct views *views, struct buf *out) {
    const struct tune_place_view *place = views->state->place;
    if (place_in_trouble(views)) {
        buf_puts(out, place->status->text);
        return;
    }
    facts(place->status, out);
    if (out->len && place->status->cores.len)
        buf_putc(out, '\n');
    cores_text(place->status, strcmp(place->info->kind, "slurm") == 0 ? "nodes" : "cores", out);
}

/* Lines that are broken between words; returns how many rows they take. */
static int put_lines(struct tui_area area, struct str text) {
    int row = 0;
    for (struct str line; str_next(&text, '\n', &line);) {
        struct tui_rect rest = {MIN_OF(row, area.rows), 0, MAX_OF(0, area.rows - row), area.cols};
        row += tui_put_wrapped(tui_area_part(area, rest), 0, line);
    }
    return row;
}

int place_host_rows(const struct views *views, struct tui_area area) {
    struct buf text = {0};
    struct tui_rect none = {0, 0, 0, area.cols - 4};
    host_text(views, &text);
    int rows = text.len ? put_lines(tui_area_part(area, none), buf_str(&text)) : 0;
    buf_free(&text);
    return rows + 3;
}

void place_host_draw(struct views *views, struct tui_area area) {
    const struct tune_place_view *place = views->state->place;
    const struct target_status *status = place->status;
    struct buf title = {0}, note = {0}, line = {0}, text = {0};
    place_name(views, &title);
    if (status->looked_ms)
        buf_printf(&note, "seen %s", show_ago(status->looked_ms, views->now_ms).text);
    struct tui_area inside = tui_frame(area, false, title.at, note.at ? note.at : "");
    int col = 1;
    if (place_is_remote(views)) {
        place_state(views, false, &line);
        col = tui_put(tui_ink(inside, place_role(views)), 0, 1, buf_str(&line)) + 2;
    }
    tui_put_short(tui_ink(inside, TUI_DIM), 0, (struct tui_rect){0, col, 1, inside.cols - col - 1},
                  str_of(status->host[0] ? status->host : place->info->what));
    host_text(views, &text);
    struct tui_rect rest = {1, 1, inside.rows - 1, inside.cols - 2};
    if (text.len)
        put_lines(tui_area_part(inside, rest), buf_str(&text));
    buf_free(&title);
    buf_free(&note);
    buf_free(&line);
    buf_free(&text);
}

/* -- the queue -------------------------------------------------------------------------------- */

static void entry_draw(const struct views *views, struct tui_area area, int row,
                       const struct target_entry *entry) {
    bool waits = entry->reason[0] != 0;
    int kernel = area.cols >= 100 ? 26 : 18, elapsed = 12 + kernel + 10;
    tui_put_short(tui_ink(area, waits ? TUI_WAITING : TUI_ACTIVE), row,
                  (struct tui_rect){0, 1, 1, 10}, str_of(entry->state));
    tui_put_short(area, row, (struct tui_rect){0, 12, 1, kernel}, str_of(entry->kernel));
    if (entry->since_ms)
        tui_say_right(tui_ink(area, TUI_DIM), row, elapsed, "%s",
                      show_elapsed(MAX_OF(0, views->now_ms - entry->since_ms)).text);
    struct buf text = {0};
    buf_printf(&text, "%s%s%s", entry->reason, waits && entry->id[0] ? "  " : "", entry->id);
    tui_put_short(tui_ink(area, waits ? TUI_PLAIN : TUI_DIM), row,
                  (struct tui_rect){0, elapsed + 2, 1, area.cols - elapsed - 3}, buf_str(&text));
    buf_free(&text);
}

void place_queue_draw(struct views *views, struct tui_area area) {
    const struct target_status *status = status_of(views);
    int count = (int)status->entries.len;
    char note[40];
    snprintf(note, sizeof note, "%d at once", views->state->place->info->parallel);
    struct tui_area inside = tui_frame(area, false, "queue", note);
    int shown = count > inside.rows ? inside.rows - 1 : count;
    for (int row = 0; row < shown; row++)
        entry_draw(views, inside, row, &status->entries.at[row]);
    if (count == 0)
        tui_say(tui_ink(inside, TUI_DIM), 0, 1, "nothing was handed over");
    if (shown < count)
        tui_say(tui_ink(inside, TUI_DIM), shown, 1, "and %d more", count - shown);
}

/* -- questions -------------------------------------------------------------------------------- */

/* The question opens and closes with what the place asks, but only while nothing else is typed:
 * keys that were meant for something else must not answer it. */
void question_follow(struct views *views) {
    const struct tune_place_view *place = views->state ? views->state->place : NULL;
    const struct target_question *asks = place && views->model.answer ? place->asks : NULL;
    if (asks && !asks->text[0])
        asks = NULL; /* it was answered a moment ago */
    bool same = asks && strcmp(asks->text, views->over.text.at ? views->over.text.at : "") == 0;
    if (views->over.is == OVERLAY_QUESTION && !same)
        question_close(views);
    if (views->over.is != OVERLAY_NONE || !asks)
        return;
    snprintf(views->over.title, sizeof views->over.title, "%.40s asks", place->info->name);
    buf_clear(&views->over.text);
    buf_puts(&views->over.text, asks->text);
    views->over.reply_shown = !asks->secret;
    views->over.is = OVERLAY_QUESTION;
}

void question_close(struct views *views) {
    tui_secret_wipe(&views->over.reply);
    views->over.is = OVERLAY_NONE;
}

void question_event(struct views *views, const struct tui_event *event,
                    struct views_request *request) {
    (void)request;
    enum tui_answer answer = tui_secret_event(&views->over.reply, event);
    if (answer == TUI_ANSWER_DONE && views->over.reply.len == 0)
        return;
    if (answer != TUI_ANSWER_DONE && answer != TUI_ANSWER_CANCELLED)
        return;
    views->model.answer(views->model.context,
                        answer == TUI_ANSWER_DONE ? views->over.reply.text : NULL);
    if (answer == TUI_ANSWER_CANCELLED)
        views_say(views, false, "declined; retry connects again");
    question_close(views);
}

void question_draw(struct views *views, struct tui_area area) {
    int cols = MIN_OF(MAX_OF(area.cols - 8, 20), 76);
    struct tui_area measure = tui_area_part(area, (struct tui_rect){0, 0, 0, cols - 4});
    int rows = tui_put_wrapped(measure, 0, buf_str(&views->over.text));
    struct tui_area inside = tui_popup_draw(
        area, rows + 4, cols, views->over.title,
        views->over.reply_shown ? "Enter answers   Esc declines"
                                : "not shown, not kept   Enter answers   Esc declines");
    tui_put_wrapped(tui_area_part(inside, (struct tui_rect){0, 0, rows, inside.cols}), 0,
                    buf_str(&views->over.text));
    tui_say(tui_ink(inside, TUI_KEY), rows + 1, 0, "›");
    tui_secret_draw(&views->over.reply,
                    tui_area_part(inside, (struct tui_rect){rows + 1, 2, 1, inside.cols - 2}),
                    views->over.reply_shown);
}
