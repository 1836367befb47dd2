/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a loop side by side. An engine takes its instructions in order, and one that reads what
 * the one before made waits until that has left the engine; between the two, those of other steps
 * can run. So each line of the loop's body is said for several steps before the next line. What a
 * step declares becomes a list of tiles; what it shares with others has to
 * stay in order. */
#include <ctype.h>
#include <stdio.h>

#include "base/base.h"
#include "write/kit/kit.h"

#define MOST_LINES 64
#define MOST_TILES 48
#define MOST_ABREAST 16
#define ENOUGH 4             /* more gain nothing by themselves */
#define ROOM 0.9             /* share of SBUF that tiles may take */
#define PSUM_BANK 2048       /* bytes of a partition that an instruction's result lies within */
#define PSUM_ROOM (6 * 2048) /* what is brought there for an instruction has the rest */

/* A tile that a step declares. */
struct own {
    struct str name;
    int64_t bytes; /* of a partition */
    bool in_psum;
    int first, last; /* lines between which it lives */
};
/* A line of the body, with those that are deeper. */
struct part {
    struct str text;
    const struct own *declares; /* a tile of the step's, or NULL */
};
struct body {
    struct writer *writer;
    const struct steps *steps;
    size_t indent; /* of its lines, in blanks */
    struct part parts[MOST_LINES];
    int part_count;
    struct own own[MOST_TILES];
    int own_count;
    int64_t around, psum_around; /* bytes that tiles around the loop take */
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The next name in a text that is neither a part of another one nor a parameter's; NULL. */
static const char *next_name(struct str text, const char *from, struct str *name) {
    const char *end = text.at + text.len;
    for (const char *at = from; at < end; at++) {
        if (!is_word(*at))
            continue;
        const char *begin = at;
        while (at < end && is_word(*at))
            at++;
        bool apart = begin == text.at || (begin[-1] != '.' && !isdigit((unsigned char)*begin));
        bool parameter = at < end && *at == '=' && (at + 1 == end || at[1] != '=');
        *name = (struct str){begin, (size_t)(at - begin)};
        if (apart && !parameter)
            return begin;
    }
    return NULL;
}

/* What lies in brackets at a place, without them; of length 0: nothing does. */
static struct str brackets(struct str text, const char *at) {
    const char *end = text.at + text.len;
    if (at >= end || *at != '[')
        return (struct str){at, 0};
    int depth = 0;
    for (const char *to = at; to < end; to++) {
        depth += *to == '[';
        depth -= *to == ']';
        if (!depth)
            return (struct str){at + 1, (size_t)(to - at - 1)};
    }
    return (struct str){at, 0};
}

static bool has_text(struct str text, const char *what) {
    size_t len = strlen(what);
    for (size_t i = 0; i + len <= text.len; i++)
        if (memcmp(text.at + i, what, len) == 0)
            return true;
    return false;
}

static bool has_name(struct str text, struct str wanted) {
    struct str name;
    for (const char *at = text.at; (at = next_name(text, at, &name)); at += name.len)
        if (str_equal(name, wanted))
            return true;
    return false;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* "name = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)"; false for any other line, and
 * for a tile whose columns are no numbers. */
static bool read_tile(struct str line, struct own *own) {
    static const char made[] = " = nl.ndarray((";
    line = str_trim(line);
    size_t name = 0;
    while (name < line.len && is_word(line.at[name]))
        name++;
    struct str rest = {line.at + name, line.len - name};
    if (!str_starts(rest, made) || !str_ends(rest, ")"))
        return false;
    rest = (struct str){rest.at + strlen(made), rest.len - strlen(made) - 1};
    struct str sizes, size, kind;
    if (!str_next(&rest, ')', &sizes) || !str_starts(rest, ", dtype=nl."))
        return false;
    rest = (struct str){rest.at + strlen(", dtype=nl."), rest.len - strlen(", dtype=nl.")};
    (void)str_next(&rest, ',', &kind);
    *own = (struct own){.name = {line.at, name},
                        .bytes = (int64_t)dtype_bytes(dtype_find(kind)),
                        .in_psum = str_ends(rest, "buffer=nl.psum")};
    (void)str_next(&sizes, ',', &size); /* rows */
    bool ok = sizes.len > 0 && (own->in_psum || str_ends(rest, "buffer=nl.sbuf"));
    while (ok && str_next(&sizes, ',', &size)) {
        long long n;
        ok = str_to_int(str_trim(size), &n);
        own->bytes *= ok ? n : 0;
    }
    return ok;
}

/* Tiles of the stage that are there while the loop runs. */
static void count_around(struct body *body) {
    struct str text = {body->writer->out.at, body->steps->loop};
    for (struct str line; str_next(&text, '\n', &line);) {
        struct own own;
        size_t blanks = (size_t)(str_trim(line).at - line.at);
        if (!line.len && text.len) /* before a stage */
            body->around = body->psum_around = 0;
        else if (blanks < body->indent && read_tile(line, &own))
            *(own.in_psum ? &body->psum_around : &body->around) += own.bytes;
    }
}

/* ---- the body -------------------------------------------------------------------------------- */

static bool add_part(struct body *body, struct str text) {
    if (body->part_count == MOST_LINES)
        return false;
    struct part *part = &body->parts[body->part_count++];
    *part = (struct part){.text = text};
    struct str words = str_trim(text), line = words, first;
    (void)str_next(&line, '\n', &first);
    if (str_starts(words, "nisa.") || str_starts(words, "for "))
        return true;
    struct own *own = &body->own[body->own_count];
    if (body->own_count == MOST_TILES || !read_tile(text, own))
        return false;
    own->first = body->part_count - 1;
    part->declares = own;
    body->own_count++;
    return true;
}

/* The lines behind the loop's one; false where some are none that this knows. */
static bool read_body(struct body *body, struct writer *writer, const struct steps *steps) {
    *body = (struct body){.writer = writer, .steps = steps};
    struct str text = {writer->out.at + steps->loop, writer->out.len - steps->loop}, line;
    text.len -= text.len > 0; /* the end of its last line */
    (void)str_next(&text, '\n', &line);
    body->indent = (size_t)(str_trim(line).at - line.at) + 4;
    count_around(body);
    struct str part = {text.at, 0};
    bool ok = true;
    for (struct str rest = text; ok && str_next(&rest, '\n', &line);) {
        size_t blanks = (size_t)(str_trim(line).at - line.at);
        ok = line.len && blanks >= body->indent;
        if (blanks == body->indent && part.len) {
            ok = ok && add_part(body, part);
            part = (struct str){line.at, 0};
        }
        part.len = (size_t)(line.at + line.len - part.at);
    }
    return ok && part.len && add_part(body, part);
}

static struct own *own_named(struct body *body, struct str name) {
    for (int i = 0; i < body->own_count; i++)
        if (str_equal(body->own[i].name, name))
            return &body->own[i];
    return NULL;
}

/* ---- what may change places ------------------------------------------------------------------ */

static bool line_writes(struct str text, struct str wanted) {
    static const char *const outputs[] = {"dst=", "reduce_res="};
    struct str name;
    for (const char *at = text.at; (at = next_name(text, at, &name)); at += name.len)
        for (size_t k = 0; k < COUNT_OF(outputs); k++) {
            size_t len = strlen(outputs[k]);
            if (str_equal(name, wanted) && (size_t)(at - text.at) > len &&
                memcmp(at - len, outputs[k], len) == 0)
                return true;
        }
    return false;
}

static bool is_written(const struct body *body, struct str name) {
    for (int i = 0; i < body->part_count; i++)
        if (line_writes(body->parts[i].text, name))
            return true;
    return false;
}

/* Whether each step has a part of its own, which is the same in all lines that name it; or it is
 * in one line only, whose steps stay in order. */
static bool stays_in_order(const struct body *body, struct str wanted) {
    struct str place = {0}, variable = str_of(body->steps->variable), name;
    int last = -1;
    bool own = true, several = false;
    for (int i = 0; i < body->part_count; i++) {
        struct str text = body->parts[i].text;
        for (const char *at = text.at; (at = next_name(text, at, &name)); at += name.len) {
            if (!str_equal(name, wanted))
                continue;
            struct str here = brackets(text, at + name.len);
            own &= here.len && has_name(here, variable) && !has_text(here, "%") &&
                   !has_text(here, "//") && (last < 0 || str_equal(here, place));
            several |= last >= 0 && last != i;
            place = here;
            last = i;
        }
    }
    return own || !several;
}

/* Whether a deeper line of a part gives the name something of its own. */
static bool is_inner(struct str text, struct str name) {
    for (struct str line; str_next(&text, '\n', &line);) {
        line = str_trim(line);
        struct str rest = {line.at + name.len, line.len - MIN_OF(name.len, line.len)};
        if (line.len > name.len && str_equal((struct str){line.at, name.len}, name) &&
            str_starts(rest, " = "))
            return true;
    }
    return false;
}

/* Whether steps depend on each other in no other way than the lines' order keeps. */
static bool is_legal(struct body *body) {
    struct str name;
    for (int i = 0; i < body->part_count; i++) {
        struct str text = body->parts[i].text;
        for (const char *at = text.at; (at = next_name(text, at, &name)); at += name.len) {
            struct own *own = own_named(body, name);
            if (own && at[name.len] == '.')
                return false; /* a part of it that slices do not say */
            if (own)
                own->last = i;
            else if (!is_inner(text, name) && is_written(body, name) && !stays_in_order(body, name))
                return false;
        }
    }
    return true;
}

/* The most that tiles of a step take at once. */
static int64_t live_bytes(const struct body *body, bool psum) {
    int64_t most = 0;
    for (int i = 0; i < body->part_count; i++) {
        int64_t now = 0;
        for (int k = 0; k < body->own_count; k++)
            if (body->own[k].in_psum == psum && body->own[k].first <= i && body->own[k].last >= i)
                now += body->own[k].bytes;
        most = MAX_OF(most, now);
    }
    return most;
}

/* Products leave their sums within a bank. */
static bool lies_in_banks(const struct body *body, int64_t n) {
    for (int i = 0; i < body->own_count; i++)
        if (body->own[i].in_psum && body->own[i].bytes % PSUM_BANK && n > 1)
            return false;
    int64_t own = live_bytes(body, true) * n;
    return !own || own + body->psum_around <= PSUM_ROOM;
}

static bool fits(const struct body *body, int64_t n) {
    double bytes = (double)(live_bytes(body, false) * n + body->around);
    return bytes <= body->writer->spec->sbuf_bytes * ROOM && lies_in_banks(body, n);
}

/* ---- the lines ------------------------------------------------------------------------------- */

/* The place of a step among those that run side by side. */
static const char *place_of(const struct body *body, int64_t n) {
    const struct steps *steps = body->steps;
    struct arena *arena = body->writer->arena;
    const char *from =
        n == steps->count ? steps->variable : arena_printf(arena, "%s - first", steps->variable);
    if (steps->step == 1)
        return from;
    return arena_printf(arena, n == steps->count ? "%s // %lld" : "(%s) // %lld", from,
                        (long long)steps->step);
}

/* A line with the places of the step's own tiles said. */
static void print_part(struct body *body, struct str text, const char *place) {
    struct buf *out = &body->writer->out;
    const char *end = text.at + text.len, *done = text.at;
    struct str name;
    for (const char *at = text.at; (at = next_name(text, at, &name)); at += name.len) {
        if (!own_named(body, name))
            continue;
        buf_add(out, done, (size_t)(at + name.len - done));
        buf_printf(out, "[%s]", place);
        done = at + name.len;
    }
    buf_add(out, done, (size_t)(end - done));
    buf_putc(out, '\n');
}

/* The body's text, each of its lines further in or out. */
static char *moved(const struct body *body, struct str text, int by) {
    struct buf out = {0};
    for (struct str line; str_next(&text, '\n', &line);) {
        for (int i = 0; i < by; i++)
            buf_puts(&out, "    ");
        buf_add(&out, line.at, line.len);
        buf_puts(&out, text.len ? "\n" : "");
    }
    char *kept = arena_strdup(body->writer->arena, out.at);
    buf_free(&out);
    return kept;
}

static void open_part(const struct body *body, int64_t n) {
    const struct steps *steps = body->steps;
    const char *variable = steps->variable;
    long long many = n * steps->step, step = steps->step;
    const char *by = step == 1 ? "" : arena_printf(body->writer->arena, ", %lld", step);
    if (n == steps->count && step == 1)
        write_line(body->writer, "for %s in range(%lld):", variable, many);
    else if (n == steps->count)
        write_line(body->writer, "for %s in range(0, %lld%s):", variable, many, by);
    else
        write_line(body->writer, "for %s in range(first, first + %lld%s):", variable, many, by);
}

/* A line for each step, of the loop over them. */
static void print_line(struct body *body, const struct part *part, const char *place, int depth) {
    const struct own *own = part->declares;
    if (!own) {
        print_part(body, str_of(moved(body, part->text, depth)), place);
        return;
    }
    size_t before = body->indent + own->name.len + strlen(" = ");
    write_line(body->writer, STR_FMT ".append(" STR_FMT ")", STR_ARG(own->name),
               (int)(part->text.len - before), part->text.at + before);
}

/* Tiles, and what makes them, in one loop. */
static void print_body(struct body *body, int64_t n) {
    struct writer *w = body->writer;
    const char *place = place_of(body, n);
    int depth = n < body->steps->count;
    bool open = false;
    for (int i = 0; i < body->part_count; i++) {
        const struct part *part = &body->parts[i];
        w->indent = (int)body->indent / 4 - 1 + depth;
        if (!open) {
            for (int k = i; k < body->part_count && body->parts[k].declares; k++)
                write_line(w, STR_FMT " = []", STR_ARG(body->parts[k].declares->name));
            open_part(body, n);
        }
        w->indent++;
        print_line(body, part, place, depth);
        open = part->declares;
    }
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* How many steps may run side by side, the best ones first as far as that is known: while these
 * run, the next ones are brought. Returns how many numbers there are. */
static int gather(const struct body *body, int64_t *values) {
    int count = 0;
    int64_t first = 1;
    for (int64_t n = 1; n <= MIN_OF(body->steps->count, MOST_ABREAST); n++) {
        if (body->steps->count % n || (n > 1 && !fits(body, n)) || count == WRITE_MAX_VALUES)
            continue;
        values[count++] = n;
        first = body->steps->waits && n <= ENOUGH && fits(body, 2 * n) ? n : first;
    }
    for (int i = 1; i < count; i++)
        if (values[i] == first) {
            memmove(values + 1, values, (size_t)i * sizeof *values);
            values[0] = first;
        }
    return count;
}

/* The loop's line and its body, anew. */
static void print(struct body *body, int64_t n) {
    struct writer *w = body->writer;
    const struct steps *steps = body->steps;
    struct buf before = w->out;
    int indent = w->indent;
    w->out = (struct buf){0};
    buf_add(&w->out, before.at, steps->loop);
    w->indent = (int)body->indent / 4 - 1;
    if (n < steps->count)
        write_line(w, "for first in range(0, %lld, %lld):  # %lld steps side by side",
                   (long long)(steps->count * steps->step), (long long)(n * steps->step),
                   (long long)n);
    print_body(body, n);
    buf_free(&before);
    w->indent = indent;
}

void write_abreast(struct writer *writer, int node, const struct steps *steps) {
    int64_t values[WRITE_MAX_VALUES];
    struct body *body = mem_alloc(1, sizeof *body);
    bool legal = read_body(body, writer, steps) && is_legal(body);
    int count = legal ? gather(body, values) : 1;
    int64_t n = count < 2 ? 1
                          : write_choose(writer, node, "abreast", "steps that run side by side",
                                         values, count);
    if (n > 1 && fits(body, n))
        print(body, n);
    mem_free_(body);
}
