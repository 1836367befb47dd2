/* SPDX-License-Identifier: Apache-2.0 */
/* The menu of strategies: reading it, which entries hold for a kernel, which of those a prompt
 * shows. What a strategy is worth is counted in score.c. */
#include "tune/ask/menu.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "nki/nki.h"
#include "tune/ask/ask.h"
#include "tune/ask/testing.h"

#define MENU_FILE "prompts/menu.md"
#define ONE_BY_LOT 4 /* of so many that are shown, one is drawn */
#define MENU_LIMIT (1u << 20)
#define MENU_ENTRIES 500

/* ---- reading -------------------------------------------------------------------------------- */

void tune_strategy_name(struct str text, char name[TUNE_STRATEGY_MAX + 1]) {
    size_t len = 0;
    text = str_trim(text);
    for (size_t i = 0; i < text.len && text.at[i] != '\n'; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool letter = c < 128 && isalnum(c);
        bool dash = c == '-' && i && text.at[i - 1] == ' ';
        if (len && (c >= 128 || dash || strchr(",;:(./", c)))
            break;
        if (letter && len < TUNE_STRATEGY_MAX)
            name[len++] = (char)tolower(c);
        else if (!letter && (c == '_' || c == '-' || c == ' ') && len && len < TUNE_STRATEGY_MAX &&
                 name[len - 1] != '_')
            name[len++] = '_';
    }
    while (len && name[len - 1] == '_')
        len--;
    name[len] = '\0';
}

void tune_strategy_match(const struct tune_menu *menu, struct str text,
                         char name[TUNE_STRATEGY_MAX + 1]) {
    size_t longest = 0;
    tune_strategy_name(text, name);
    for (size_t i = 0; i < menu->entries.len; i++) {
        const char *entry = menu->entries.at[i].name;
        size_t len = strlen(entry);
        bool whole = !strncmp(name, entry, len) && (!name[len] || name[len] == '_');
        if (whole && len > longest)
            longest = len;
    }
    if (longest)
        name[longest] = '\0';
}

static const struct tune_strategy *find(const struct tune_menu *menu, const char *name) {
    for (size_t i = 0; i < menu->entries.len; i++)
        if (!strcmp(menu->entries.at[i].name, name))
            return &menu->entries.at[i];
    return NULL;
}

/* "when: matmul" of an entry; false for a line of text. */
static bool field_read(struct tune_menu *menu, struct tune_strategy *entry, struct str line) {
    const struct {
        const char *label;
        const char **field;
    } fields[] = {{"on:", &entry->on},
                  {"dialect:", &entry->dialect},
                  {"since:", &entry->since},
                  {"when:", &entry->when},
                  {"measured:", &entry->measured}};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!str_starts(line, fields[i].label))
            continue;
        size_t skip = strlen(fields[i].label);
        struct str value = str_trim((struct str){line.at + skip, line.len - skip});
        *fields[i].field = arena_strndup(menu->arena, value.at, value.len);
        return true;
    }
    if (!str_starts(line, "avoid:"))
        return false;
    entry->avoid = str_is(str_trim((struct str){line.at + 6, line.len - 6}), "yes");
    return true;
}

static void entry_end(struct tune_menu *menu, struct tune_strategy *entry, struct buf *text) {
    if (entry->name && text->len && !find(menu, entry->name) && menu->entries.len < MENU_ENTRIES) {
        entry->text = arena_strndup(menu->arena, text->at, text->len);
        *vec_push(&menu->entries) = *entry;
    }
    *entry = (struct tune_strategy){0};
    buf_clear(text);
}

struct tune_menu *tune_menu_read(struct str text) {
    struct tune_menu *menu = mem_alloc(1, sizeof *menu);
    menu->arena = arena_new();
    struct tune_strategy entry = {0};
    struct buf words = {0};
    struct str line;
    while (str_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (str_starts(line, "# ")) {
            char name[TUNE_STRATEGY_MAX + 1];
            entry_end(menu, &entry, &words);
            tune_strategy_name((struct str){line.at + 2, line.len - 2}, name);
            entry.name = *name ? arena_strdup(menu->arena, name) : NULL;
        } else if (entry.name && line.len && (words.len || !field_read(menu, &entry, line))) {
            buf_printf(&words, "%s" STR_FMT, words.len ? " " : "", STR_ARG(line));
        }
    }
    entry_end(menu, &entry, &words);
    buf_free(&words);
    return menu;
}

struct tune_menu *tune_menu_load(void) {
    char *path = path_config(MENU_FILE);
    char *text = file_exists(path) ? file_read(path, MENU_LIMIT, NULL, NULL) : NULL;
    struct tune_menu *menu = tune_menu_read(text ? str_of(text) : embed_find(MENU_FILE));
    free(text);
    free(path);
    return menu;
}

void tune_menu_free(struct tune_menu *menu) {
    if (!menu)
        return;
    vec_free(&menu->entries);
    arena_free(menu->arena);
    free(menu);
}

/* ---- which ones hold ------------------------------------------------------------------------ */

static bool listed(struct str list, struct str word) {
    struct str one;
    while (str_next(&list, ' ', &one))
        if (str_equal(one, word))
            return true;
    return false;
}

/* Whether a name in the text is this word or has it as a part: "matmul" in "nisa.nc_matmul(". */
static bool named(struct str text, struct str word) {
    for (size_t i = 0; word.len && i + word.len <= text.len; i++) {
        const char *found = memmem(text.at + i, text.len - i, word.at, word.len);
        if (!found)
            return false;
        i = (size_t)(found - text.at);
        bool starts = !i || !isalnum((unsigned char)text.at[i - 1]);
        bool ends = i + word.len == text.len || !isalnum((unsigned char)text.at[i + word.len]);
        if (starts && ends)
            return true;
    }
    return false;
}

/* Whether a name is among those with blanks between, whatever its case. */
static bool bound_listed(const char *names, struct str name) {
    struct str rest = str_of(names), one;
    while (str_next(&rest, ' ', &one))
        if (one.len == name.len && !strncasecmp(one.at, name.at, one.len))
            return true;
    return false;
}

static bool word_holds(struct str word, const struct tune_menu_facts *facts) {
    struct str source = str_of(facts->source), families = str_of(facts->families);
    if (str_is(word, "any-precision"))
        return facts->any_precision;
    if (str_is(word, "loops"))
        return !facts->source || named(source, STR("for"));
    if (str_is(word, "spills"))
        return isnan(facts->spilled_bytes) || facts->spilled_bytes > 0;
    if (str_ends(word, "-bound"))
        return !facts->bound_by ||
               bound_listed(facts->bound_by, (struct str){word.at, word.len - 6});
    return (!source.len && !families.len) || listed(families, word) || named(source, word);
}

static bool some_holds(struct str words, const struct tune_menu_facts *facts) {
    struct str one;
    while (str_next(&words, '|', &one))
        if (word_holds(str_trim(one), facts))
            return true;
    return false;
}

bool tune_menu_applies(const struct tune_strategy *entry, const struct tune_menu_facts *facts) {
    const struct device_generation *device =
        facts->device ? device_generation_find(facts->device) : NULL;
    if (entry->on && device && !listed(str_of(entry->on), str_of(device->name)))
        return false;
    if (entry->dialect && facts->dialect && !listed(str_of(entry->dialect), str_of(facts->dialect)))
        return false;
    if (entry->since && facts->release && nki_release_compare(facts->release, entry->since) < 0)
        return false;
    struct str rest = str_of(entry->when), words;
    while (str_next(&rest, ' ', &words))
        if (words.len && !some_holds(words, facts))
            return false;
    return true;
}

/* ---- which ones are shown ------------------------------------------------------------------- */

/* A number from 0 to below 1, made of the draw and the entry's name. */
static double lot(const struct tune_menu_draw *draw, const char *name) {
    struct buf text = {0};
    buf_printf(&text, "%s/%d/%d/%d/%s", draw->session ? draw->session : "", draw->round,
               draw->parent, draw->plan, name);
    uint64_t hash = hash_quick(text.at, text.len);
    buf_free(&text);
    return (double)(hash >> 11) * 0x1p-53;
}

/* How many conditions of an entry are known to hold, not only not known to fail. A bound counts
 * twice: it is what the profile says of this kernel. */
static double confirmed(const struct tune_strategy *entry, const struct tune_menu_facts *facts) {
    double count = 0;
    struct str rest = str_of(entry->when), word;
    while (str_next(&rest, ' ', &word)) {
        bool bound = str_ends(word, "-bound");
        if (!word.len)
            continue;
        if (bound)
            count += facts->bound_by ? 2 : 0;
        else if (str_is(word, "spills"))
            count += facts->spilled_bytes > 0 ? 2 : 0;
        else
            count += facts->source || facts->families ? 1 : 0;
    }
    return count + (entry->dialect && facts->dialect ? 0.5 : 0);
}

/* What became of plans that used it here: what gained can be used elsewhere in the kernel, but not
 * first; what did not gain is not wanted soon. */
static double past(const struct tune_strategy *entry, const struct tune_menu_facts *facts) {
    double worth = 0;
    for (size_t i = 0; i < facts->n_tried; i++) {
        const struct tune_attempt *attempt = &facts->tried[i];
        if (!attempt->plan.strategy || strcmp(attempt->plan.strategy, entry->name) != 0 ||
            attempt->status == TUNE_STATUS_OPEN)
            continue;
        worth -= attempt->status == TUNE_STATUS_KEEP ? 0.5 : 2;
    }
    return worth;
}

struct ranked {
    size_t index;
    double worth, lot;
};

static int by_worth(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->worth > y->worth   ? -1
           : x->worth < y->worth ? 1
           : x->lot < y->lot     ? -1
                                 : x->lot > y->lot;
}

static int by_lot(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->lot < y->lot ? -1 : x->lot > y->lot;
}

size_t tune_menu_choose(const struct tune_menu *menu, const struct tune_menu_facts *facts,
                        const struct tune_menu_draw *draw, size_t *order, size_t *avoid) {
    size_t count = 0;
    struct ranked *rows = mem_alloc(menu->entries.len + 1, sizeof *rows);
    for (size_t i = 0; i < menu->entries.len; i++) {
        const struct tune_strategy *entry = &menu->entries.at[i];
        if (!entry->avoid && tune_menu_applies(entry, facts))
            rows[count++] = (struct ranked){i, confirmed(entry, facts) + past(entry, facts),
                                            lot(draw, entry->name)};
    }
    size_t shown = MIN_OF(MAX_OF((size_t)(draw->keep * (double)count + 0.5), 1), count);
    size_t best = shown < count ? shown - shown / ONE_BY_LOT : shown;
    qsort(rows, count, sizeof *rows, by_worth);
    qsort(rows + best, count - best, sizeof *rows, by_lot);
    for (size_t i = 0; i < shown; i++)
        order[i] = rows[i].index;
    mem_free_(rows);
    *avoid = 0;
    for (size_t i = 0; i < menu->entries.len; i++)
        if (menu->entries.at[i].avoid && tune_menu_applies(&menu->entries.at[i], facts))
            order[shown + (*avoid)++] = i;
    return shown;
}
