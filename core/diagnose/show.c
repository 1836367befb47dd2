/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles while a kernel runs: those of device_print, and those of a line where somebody wants to
 * stop and look. */
#include "diagnose/private.h"

#include <stdlib.h>

#define ELEMENTS_MOST ((size_t)4 << 20) /* of a tile */
#define TEXT_MOST ((size_t)256 << 10)   /* of all that is shown */

static void show_tile(struct diagnose_show *show, struct exec *run, const char *what,
                      const struct nki_ap *ap) {
    if (show->text.len > TEXT_MOST)
        return;
    struct buf name = {0};
    nki_ap_print(show->program, ap, &name);
    buf_printf(&show->text, "  %s ", what);
    text_sanitise(&show->text, buf_str(&name));
    buf_putc(&show->text, '\n');
    buf_free(&name);
    float *at = mem_alloc(ELEMENTS_MOST, sizeof *at);
    size_t count = device_watch_read(run, ap, ELEMENTS_MOST, at);
    struct diagnose_tile tile = {at, ap->n_dims > 1 && ap->count[0] > 0 ? (size_t)ap->count[0] : 1,
                                 0};
    tile.columns = count / tile.rows;
    if (count)
        diagnose_tile_print(&tile, &show->text);
    else
        buf_puts(&show->text, "    it cannot be shown: too large, or only the device knows which "
                              "elements are meant\n");
    free(at);
}

/* The prints whose time has come. In a loop that the device counts they come again. */
static void show_prints(struct diagnose_show *show, struct exec *run, size_t done) {
    const struct nki_program *program = show->program;
    for (size_t i = 0; i < program->prints.len; i++) {
        const struct nki_print *print = &program->prints.at[i];
        if (print->before != done || show->text.len > TEXT_MOST)
            continue;
        const struct nki_loc *loc = nki_loc_own(program, print->loc);
        buf_printf(&show->text, "line %u device_print: ", loc ? loc->line : 0);
        text_sanitise(&show->text, str_of(print->text));
        buf_putc(&show->text, '\n');
        show_tile(show, run, "tensor", print->ap);
    }
}

static void show_operands(struct diagnose_show *show, struct exec *run, size_t instruction,
                          bool before) {
    const struct nki_instr *instr = &show->program->instrs.at[instruction];
    struct operand_at list[OPERANDS_MOST];
    size_t n = operands_of(show->program, instr, list, OPERANDS_MOST);
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    for (size_t k = 0; k < n; k++)
        if (list[k].writes != before)
            show_tile(show, run, row->params[list[k].operand].name, list[k].ap);
}

static bool is_there(struct diagnose_show *show, size_t instruction, bool before) {
    const struct nki_loc *loc =
        nki_loc_own(show->program, show->program->instrs.at[instruction].loc);
    if (!show->line || !loc || loc->file != 0 || (int)loc->line != show->line)
        return false;
    show->seen += before;
    return show->seen == show->round;
}

bool diagnose_show_watch(void *data, struct exec *run, size_t instruction, bool before) {
    struct diagnose_show *show = data;
    const struct nki_instr *instr = &show->program->instrs.at[instruction];
    if (before)
        show_prints(show, run, instruction);
    if (is_there(show, instruction, before)) {
        if (before)
            buf_printf(&show->text, "line %d, instruction %zu of this line: %s\n", show->line,
                       show->seen, nki_op_name((enum nki_op)instr->op));
        show_operands(show, run, instruction, before);
    }
    if (!before && instruction + 1 == show->program->instrs.len)
        show_prints(show, run, instruction + 1);
    return true;
}

bool diagnose_shows(const struct diagnose_show *show) {
    return show->line || show->program->prints.len;
}
