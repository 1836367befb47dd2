/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen without a task: recent sessions and seeds to choose from. */
#include "views/inner.h"

struct start {
    struct tui_list list;
    struct buf reference, folder; /* of the task that is to be written */
};

static struct start *own(const struct views *views) {
    return views->own[VIEW_START];
}

/* Whether the name alone does not say which one it is. */
static bool shares_name(const struct views *views, int index) {
    const struct tune_recent *item = &views->model.recent[index];
    for (int i = 0; (size_t)i < views->model.n_recent; i++) {
        const struct tune_recent *other = &views->model.recent[i];
        if (i != index && !other->is_seed && !strcmp(other->task, item->task))
            return true;
    }
    return false;
}

/* Where it lies. Of what is too long the end says more than the beginning. */
static void draw_place(struct tui_area area, int row, struct tui_rect span, struct str path) {
    bool cut = (int)text_columns(path) > span.cols;
    while (path.len && (int)text_columns(path) > span.cols - cut)
        do
            path = (struct str){path.at + 1, path.len - 1};
        while (path.len && ((unsigned char)*path.at & 0xc0) == 0x80);
    int col = cut ? tui_say(area, row, span.col, "…") : span.col;
    tui_put_short(area, row, (struct tui_rect){0, col, 1, span.cols - cut}, path);
}

static void draw_recent(struct views *views, struct tui_area area, int row, int index) {
    const struct tune_recent *item = &views->model.recent[index];
    struct tui_area name = tui_ink(area, item->is_gone ? TUI_DIM : TUI_STRONG);
    /* Where there is no room for both, the last result is worth more than what the task is
     * about. */
    bool named = !item->is_seed && !item->is_gone && shares_name(views, index);
    bool wide = area.cols >= 110, both = wide || named || !item->last || item->is_gone;
    int about = 27, end = area.cols - 12, last = wide ? area.cols - 50 : both ? end : about;
    tui_say(tui_ink(area, item->used_ms ? TUI_ACTIVE : TUI_DIM), row, 1, "%s",
            item->used_ms ? "●" : "○");
    tui_put_short(name, row, (struct tui_rect){0, 3, 1, about - 5}, str_of(item->task));
    find_mark(views, area, row, 3, str_of(item->task));
    const char *text = item->is_gone ? "its files are gone"
                       : item->about ? item->about
                                     : item->path;
    int room = (item->last && last < end ? last - 2 : end) - about;
    if (both && named)
        draw_place(area, row, (struct tui_rect){0, about, 1, room}, str_of(item->path));
    else if (both)
        tui_put_short(area, row, (struct tui_rect){0, about, 1, room}, str_of(text));
    if (item->last && last < end)
        tui_put_short(tui_ink(area, TUI_GOOD), row, (struct tui_rect){0, last, 1, end - last},
                      str_of(item->last));
    tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - 1, "%s",
                  item->used_ms   ? show_ago(item->used_ms, views->now_ms).text
                  : item->is_seed ? "seed"
                                  : "");
}

static void draw_welcome(struct tui_area area) {
    tui_say(tui_ink(area, TUI_BRAND), 0, 2, "hone");
    tui_say(area, 0, 8, "makes a kernel faster, step by step, as far as you let it");
    tui_say(tui_ink(area, TUI_DIM), 1, 8,
            "plan, rewrite, verify, benchmark: you approve, edit or take back");
}

static void start_draw(struct views *views, struct tui_area area) {
    struct tui_area bottom = tui_area_part(area, (struct tui_rect){area.rows - 1, 0, 1, area.cols});
    draw_welcome(tui_area_part(area, (struct tui_rect){1, 0, 2, area.cols}));
    struct tui_rect box = {4, 1, area.rows - 7, area.cols - 2};
    struct tui_area inside =
        tui_frame(tui_area_part(area, box), true, "choose a task", "● session  ○ seed");
    struct tui_list *list = &own(views)->list;
    rows_draw(views, inside, list, (int)views->model.n_recent, draw_recent);
    if (list->count == 0)
        tui_say(tui_ink(inside, TUI_DIM), 1, 2,
                "nothing here yet: start hone with a folder that has kernel.py and reference.py, "
                "or press n");
    struct tui_area status = tui_area_part(area, (struct tui_rect){area.rows - 2, 0, 1, area.cols});
    tui_say(tui_ink(status, TUI_DIM), 0, 2,
            "your own: hone FOLDER (kernel.py, reference.py); no kernel yet: n writes one");
    chrome_keys(views, bottom);
}

static void start_enter(struct views *views, struct views_request *request) {
    int row = own(views)->list.cursor;
    if (row < 0 || (size_t)row >= views->model.n_recent)
        return;
    const struct tune_recent *item = &views->model.recent[row];
    if (item->is_gone)
        views_say(views, true, "%s is no longer there", item->path);
    else
        *request = (struct views_request){.wish = VIEWS_OPEN, .chosen = item};
}

static void do_sessions(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    views_leave(views, VIEWS_LEAVE, request);
}

/* Its key is the one of the next match, while something is searched for. */
static void do_new(struct views *views, struct str args, struct views_request *request) {
    struct start *start = own(views);
    struct str rest = str_trim(args), word;
    if (rest.len == 0 && find_any(views)) {
        find_next(views, rest, request);
        return;
    }
    if (!str_next(&rest, ' ', &word) || word.len == 0) {
        views_open_line(views, false, "new ");
        return;
    }
    rest = str_trim(rest);
    buf_clear(&start->reference);
    buf_add(&start->reference, word.at, word.len);
    buf_clear(&start->folder);
    buf_add(&start->folder, rest.at, rest.len);
    views_say(views, false, "writing a kernel for %.*s", (int)MIN_OF(word.len, 200), word.at);
    *request = (struct views_request){
        .wish = VIEWS_NEW, .name = start->reference.at, .task = rest.len ? start->folder.at : NULL};
}

static void start_forget(struct views *views) {
    buf_free(&own(views)->reference);
    buf_free(&own(views)->folder);
}

static const struct command commands[] = {
    {"new", "new task", "write a first kernel from a numpy reference: new REFERENCE [FOLDER]",
     WHERE_OWN, PLACE_OPEN, TUNE_ACTIONS, do_new, NULL, NULL},
};

static struct tui_list *start_list(struct views *views) {
    return &own(views)->list;
}

static struct str start_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < views->model.n_recent;
    return str_of(there ? views->model.recent[row].task : "");
}

const struct screen start_screen = {
    .name = "start",
    .about = "recent sessions and seeds",
    .command = {"sessions", "", "close this session and choose another", WHERE_TUNING, PLACE_OPEN,
                TUNE_ACTIONS, do_sessions, NULL, NULL},
    .size = sizeof(struct start),
    .draws_all = true,
    .draw = start_draw,
    .list = start_list,
    .line_of = start_line,
    .keys = "n new\nN previous-match\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .forget = start_forget,
    .enter = start_enter,
};
