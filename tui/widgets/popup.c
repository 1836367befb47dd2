/* SPDX-License-Identifier: Apache-2.0 */
/* Draws what lies over a screen. It holds no state and reads no keys. */
#include "tui/widgets/popup.h"

#include "tui/cells/cells.h"

struct tui_area tui_popup_draw(struct tui_area area, int rows, int cols, const char *title,
                               const char *hint) {
    struct tui_rect rect = tui_centred((struct tui_rect){0, 0, area.rows, area.cols}, rows, cols);
    struct tui_area box = tui_paper(tui_area_part(area, rect), TUI_PAPER_POPUP);
    tui_clear(box);
    struct tui_area inside = tui_frame(box, true, title, "");
    int width = (int)text_columns(str_of(hint)) + 2;
    if (hint && *hint && width < box.cols - 2)
        tui_say(tui_ink(box, TUI_DIM), box.rows - 1, box.cols - width - 2, " %s ", hint);
    return tui_area_part(inside, (struct tui_rect){0, 1, inside.rows, inside.cols - 2});
}

static int width_for(struct tui_area area) {
    return MIN_OF(MAX_OF(area.cols - 8, 20), 76);
}

void tui_confirm_draw(struct tui_area area, const char *title, struct str text, const char *hint) {
    int cols = width_for(area);
    struct tui_area measure = tui_area_part(area, (struct tui_rect){0, 0, 0, cols - 4});
    int rows = tui_put_wrapped(measure, 0, text);
    struct tui_area inside = tui_popup_draw(area, rows + 4, cols, title, hint);
    tui_put_wrapped(tui_area_part(inside, (struct tui_rect){1, 0, rows, inside.cols}), 0, text);
}

void tui_note_draw(struct tui_area area, const char *title, struct str text,
                   struct tui_field *field) {
    int cols = width_for(area);
    struct tui_area measure = tui_area_part(area, (struct tui_rect){0, 0, 0, cols - 4});
    int rows = text.len ? tui_put_wrapped(measure, 0, text) + 1 : 0;
    struct tui_area inside =
        tui_popup_draw(area, rows + 7, cols, title, "Enter done   M-Enter new line   Esc cancel");
    tui_put_wrapped(tui_ink(inside, TUI_DIM), 0, text);
    struct tui_rect rect = {rows, 0, inside.rows - rows, inside.cols};
    tui_field_draw(field, tui_area_part(inside, rect));
}
