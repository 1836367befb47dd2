/* SPDX-License-Identifier: Apache-2.0 */
/* Line by line. Differences of the dialects: documentation of neuronxcc.nki (Neuron SDK 2.26) and
 * the migration guide of NKI 0.2. */
#include "write/older/older.h"

#define MOST_PARTS 64

/* The words between the commas of a list. */
struct parts {
    struct str at[MOST_PARTS];
    size_t count;
};
/* Arguments by name. */
struct arguments {
    struct {
        struct str name, value;
    } at[MOST_PARTS];
    size_t count;
};
/* A tile as the last line that declares one of this name has it. */
struct tile {
    struct str name, dtype;
    struct parts shape;
    bool in_list; /* it is one of several of that name */
};
struct older {
    struct str text;
    const struct older_array *arrays;
    size_t array_count;
    VEC(struct tile) tiles;
    struct buf out;
};

/* ---- reading a line -------------------------------------------------------------------------- */

static struct str from(struct str text, size_t at) {
    return (struct str){text.at + at, text.len - at};
}

static struct str upto(struct str text, size_t len) {
    return (struct str){text.at, len};
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct str word_of(struct str text) {
    size_t len = 0;
    while (len < text.len && is_word(text.at[len]))
        len++;
    return upto(text, len);
}

/* Where the bracket closes that the text begins with. */
static size_t closing(struct str text) {
    int depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        depth += strchr("([{", text.at[i]) != NULL;
        depth -= strchr(")]}", text.at[i]) != NULL;
        if (!depth)
            return i;
    }
    return text.len;
}

/* What is in the brackets that the text begins with. */
static struct str inside(struct str text) {
    return text.len < 2 ? upto(text, 0) : (struct str){text.at + 1, closing(text) - 1};
}

static struct parts split(struct str list) {
    struct parts parts = {0};
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= list.len; i++) {
        bool ends = i == list.len || (list.at[i] == ',' && depth == 0);
        if (i < list.len) {
            depth += strchr("([{", list.at[i]) != NULL;
            depth -= strchr(")]}", list.at[i]) != NULL;
        }
        if (!ends)
            continue;
        struct str part = str_trim((struct str){list.at + begin, i - begin});
        if (part.len && parts.count < MOST_PARTS)
            parts.at[parts.count++] = part;
        begin = i + 1;
    }
    return parts;
}

static struct arguments arguments_of(struct str list) {
    struct parts parts = split(list);
    struct arguments arguments = {.count = parts.count};
    for (size_t i = 0; i < parts.count; i++) {
        struct str name = word_of(parts.at[i]);
        arguments.at[i].name = name;
        arguments.at[i].value = from(parts.at[i], MIN_OF(name.len + 1, parts.at[i].len));
    }
    return arguments;
}

/* Takes an argument out; empty where there is none. */
static struct str take(struct arguments *arguments, const char *name) {
    for (size_t i = 0; i < arguments->count; i++) {
        if (!str_is(arguments->at[i].name, name))
            continue;
        struct str value = arguments->at[i].value;
        arguments->count--;
        for (size_t k = i; k < arguments->count; k++)
            arguments->at[k] = arguments->at[k + 1];
        return value;
    }
    return (struct str){"", 0};
}

static size_t find(struct str text, const char *wanted) {
    size_t len = strlen(wanted);
    for (size_t i = 0; i + len <= text.len; i++)
        if (memcmp(text.at + i, wanted, len) == 0)
            return i;
    return text.len;
}

static const struct tile *tile_named(const struct older *older, struct str name) {
    for (size_t i = older->tiles.len; i-- > 0;)
        if (str_equal(older->tiles.at[i].name, name))
            return &older->tiles.at[i];
    return NULL;
}

/* A tile's name in front of an operand, with its place where it is one of a list: "x", "x[s]". */
static struct str tile_of(const struct older *older, struct str operand) {
    struct str name = word_of(operand), rest = from(operand, name.len);
    const struct tile *tile = tile_named(older, name);
    bool listed = tile && tile->in_list && str_starts(rest, "[");
    return listed ? upto(operand, name.len + closing(rest) + 1) : name;
}

/* ---- index expressions ----------------------------------------------------------------------- */

/* "step * nl.arange(n)[None, :]", axis `axis` of `of`. */
static void print_axis(struct buf *out, struct str step, struct str n, size_t axis, size_t of) {
    if (!str_is(step, "1"))
        buf_printf(out, STR_FMT " * ", STR_ARG(step));
    buf_printf(out, "nl.arange(" STR_FMT ")[", STR_ARG(n));
    for (size_t i = 0; i < of; i++)
        buf_printf(out, "%s%s", i ? ", " : "", i == axis ? ":" : "None");
    buf_putc(out, ']');
}

/* The axes of a pattern [[step, n], ...] behind `before` others. */
static void print_pattern(struct buf *out, struct str pattern, size_t before) {
    struct parts axes = split(inside(pattern));
    for (size_t i = 0; i < axes.count; i++) {
        struct parts axis = split(inside(axes.at[i]));
        buf_puts(out, i || before ? " + " : "");
        print_axis(out, axis.at[0], axis.at[1], i + before, axes.count + before);
    }
}

static int64_t size_of(const struct older *older, struct str name) {
    for (size_t i = 0; i < older->array_count; i++)
        if (str_is(name, older->arrays[i].name))
            return older->arrays[i].size;
    return 0;
}

/* An operand; x.ap(pattern=.., offset=..) is an expression over x in one row. */
static void print_operand(struct older *older, struct buf *out, struct str operand) {
    struct str name = word_of(operand);
    if (!str_starts(from(operand, name.len), ".ap(")) {
        buf_add(out, operand.at, operand.len);
        return;
    }
    struct arguments arguments = arguments_of(inside(from(operand, name.len + 3)));
    struct str pattern = take(&arguments, "pattern"), offset = take(&arguments, "offset");
    buf_printf(out, STR_FMT ".reshape((%lld,))[", STR_ARG(name), (long long)size_of(older, name));
    if (offset.len && !str_is(offset, "0"))
        buf_printf(out, STR_FMT " + ", STR_ARG(offset));
    print_pattern(out, pattern, 0);
    buf_putc(out, ']');
}

/* Place and channel of a tile as a number: offset + channel_multiplier * partition + step * i. */
static void print_places(struct older *older, struct buf *out, struct str dst,
                         struct arguments *arguments) {
    const struct tile *tile = tile_named(older, word_of(dst));
    struct str rows = tile ? tile->shape.at[0] : STR("128");
    struct str pattern = take(arguments, "pattern"), offset = take(arguments, "offset");
    struct str channel = take(arguments, "channel_multiplier");
    size_t axes = split(inside(pattern)).count + 1;
    buf_printf(out, STR_FMT " + ", STR_ARG(offset.len ? offset : STR("0")));
    print_axis(out, channel, rows, 0, axes);
    print_pattern(out, pattern, 1);
}

/* How many elements a slice "a:a + n" has. */
static void print_extent(struct buf *out, struct str part) {
    size_t colon = find(part, ":");
    struct str first = str_trim(upto(part, colon)), last = str_trim(from(part, colon + 1));
    bool ahead = last.len > first.len + 3 && memcmp(last.at, first.at, first.len) == 0 &&
                 str_starts(from(last, first.len), " + ");
    if (str_is(first, "0"))
        buf_add(out, last.at, last.len);
    else if (ahead)
        buf_add(out, last.at + first.len + 3, last.len - first.len - 3);
    else
        buf_printf(out, STR_FMT " - (" STR_FMT ")", STR_ARG(last), STR_ARG(first));
}

/* "(128, 512)": of a tile or of a part of one. */
static void print_shape(struct older *older, struct buf *out, struct str dst) {
    const struct tile *tile = tile_named(older, word_of(dst));
    size_t bracket = tile_of(older, dst).len, count = 0;
    bool whole = bracket == dst.len;
    struct parts parts = whole && tile ? tile->shape : split(inside(from(dst, bracket)));
    buf_putc(out, '(');
    for (size_t i = 0; i < parts.count; i++) {
        if (!whole && find(parts.at[i], ":") == parts.at[i].len)
            continue;
        buf_puts(out, count++ ? ", " : "");
        if (whole)
            buf_add(out, parts.at[i].at, parts.at[i].len);
        else
            print_extent(out, parts.at[i]);
    }
    buf_puts(out, count == 1 ? ",)" : ")");
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void print_memset(struct older *older, struct str dst, struct arguments *arguments) {
    const struct tile *tile = tile_named(older, word_of(dst));
    struct str value = take(arguments, "value");
    buf_puts(&older->out, "shape=");
    print_shape(older, &older->out, dst);
    buf_printf(&older->out, ", value=" STR_FMT ", dtype=" STR_FMT, STR_ARG(value),
               STR_ARG(tile ? tile->dtype : STR("nl.float32")));
}

static void print_select(struct older *older, struct str dst, struct arguments *arguments) {
    static const char *const operators[][2] = {{"nl.greater_equal", ">="}, {"nl.greater", ">"},
                                               {"nl.less_equal", "<="},    {"nl.less", "<"},
                                               {"nl.not_equal", "!="},     {"nl.equal", "=="}};
    struct str compared = take(arguments, "cmp_op");
    const char *sign = "==";
    for (size_t i = 0; i < COUNT_OF(operators); i++)
        if (str_is(compared, operators[i][0]))
            sign = operators[i][1];
    buf_puts(&older->out, "pred=");
    print_places(older, &older->out, dst, arguments);
    buf_printf(&older->out, " %s 0", sign);
}

static void print_iota(struct older *older, struct str dst, struct arguments *arguments) {
    const struct tile *tile = tile_named(older, word_of(dst));
    buf_puts(&older->out, "expr=");
    print_places(older, &older->out, dst, arguments);
    buf_printf(&older->out, ", dtype=" STR_FMT, STR_ARG(tile ? tile->dtype : STR("nl.int32")));
}

/* What is said otherwise than in the current dialect; all else goes by the same names. */
static const struct {
    const char *name;
    bool keeps_dst; /* it writes to an argument; others return what they make */
    const char *assigned;
    void (*print)(struct older *older, struct str dst, struct arguments *arguments);
} instructions[] = {{"dma_copy", true, "=", NULL},
                    {"tensor_copy_predicated", true, "=", NULL},
                    {"nc_matmul", false, "+=", NULL},
                    {"memset", false, "=", print_memset},
                    {"affine_select", false, "=", print_select},
                    {"iota", false, "=", print_iota}};

static void print_rest(struct older *older, const struct arguments *arguments, bool first) {
    for (size_t i = 0; i < arguments->count; i++) {
        buf_printf(&older->out, "%s" STR_FMT "=", first ? "" : ", ",
                   STR_ARG(arguments->at[i].name));
        print_operand(older, &older->out, arguments->at[i].value);
        first = false;
    }
}

/* "nisa.name(dst=.., ..)"; returns how much of the line it is. */
static size_t print_instruction(struct older *older, struct str line) {
    struct str name = word_of(from(line, strlen("nisa.")));
    struct str list = from(line, strlen("nisa.") + name.len);
    struct arguments arguments = arguments_of(inside(list));
    size_t row = 0;
    while (row < COUNT_OF(instructions) && !str_is(name, instructions[row].name))
        row++;
    bool known = row < COUNT_OF(instructions);
    if (!known || !instructions[row].keeps_dst) {
        struct str dst = take(&arguments, "dst");
        bool whole = tile_of(older, dst).len == dst.len;
        buf_printf(&older->out, STR_FMT "%s %s nisa." STR_FMT "(", STR_ARG(dst),
                   whole ? "[...]" : "", known ? instructions[row].assigned : "=", STR_ARG(name));
        bool own = known && instructions[row].print;
        if (own)
            instructions[row].print(older, dst, &arguments);
        print_rest(older, &arguments, !own);
    } else {
        buf_printf(&older->out, "nisa." STR_FMT "(", STR_ARG(name));
        print_rest(older, &arguments, true);
    }
    buf_putc(&older->out, ')');
    return (size_t)(list.at - line.at) + closing(list) + 1;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Whether products are added to tiles of this name. */
static bool is_summed(const struct older *older, struct str name) {
    struct str rest = older->text;
    static const char start[] = "nisa.nc_matmul(dst=";
    for (size_t at; (at = find(rest, start)) < rest.len;) {
        rest = from(rest, at + strlen(start));
        if (str_equal(word_of(rest), name))
            return true;
    }
    return false;
}

/* "nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)", behind "name = ", or to a list. */
static size_t print_tile(struct older *older, struct str name, struct str line, bool in_list) {
    struct str list = from(line, strlen("nl.ndarray"));
    struct parts parts = split(inside(list));
    size_t whole = strlen("nl.ndarray") + closing(list) + 1;
    bool on_chip = parts.count == 3 &&
                   (str_is(parts.at[2], "buffer=nl.sbuf") || str_is(parts.at[2], "buffer=nl.psum"));
    if (!on_chip) {
        buf_add(&older->out, line.at, whole);
        return whole;
    }
    struct tile *tile = vec_push(&older->tiles);
    *tile = (struct tile){name, from(parts.at[1], strlen("dtype=")), split(inside(parts.at[0])),
                          in_list};
    buf_printf(&older->out, "nl.%s((", is_summed(older, name) ? "zeros" : "ndarray");
    for (size_t i = 0; i < tile->shape.count; i++)
        buf_printf(&older->out, i ? ", " STR_FMT : "nl.par_dim(" STR_FMT ")",
                   STR_ARG(tile->shape.at[i]));
    buf_printf(&older->out, "), " STR_FMT ", " STR_FMT ")", STR_ARG(parts.at[1]),
               STR_ARG(parts.at[2]));
    return whole;
}

/* How much of a line was said anew. */
static size_t print_changed(struct older *older, struct str line) {
    struct str name = word_of(line), rest = from(line, name.len);
    size_t loop = str_starts(line, "for ") ? find(line, " in range(") : line.len;
    if (str_starts(line, "import nki")) {
        buf_printf(&older->out, "import neuronxcc.");
        return strlen("import ");
    }
    if (loop < line.len) {
        buf_add(&older->out, line.at, loop);
        buf_puts(&older->out, " in nl.static_range(");
        return loop + strlen(" in range(");
    }
    if (str_starts(line, "nisa."))
        return print_instruction(older, line);
    static const char *const makes[] = {" = ", ".append("};
    for (size_t i = 0; i < COUNT_OF(makes); i++) {
        struct str made = from(rest, MIN_OF(strlen(makes[i]), rest.len));
        if (!str_starts(rest, makes[i]) || !str_starts(made, "nl.ndarray("))
            continue;
        buf_printf(&older->out, STR_FMT "%s", STR_ARG(name), makes[i]);
        return name.len + strlen(makes[i]) + print_tile(older, name, made, i > 0);
    }
    return 0;
}

/* "import nki" needs its name, as the older one is another module's. */
static void print_line(struct older *older, struct str line) {
    size_t indent = 0;
    while (indent < line.len && line.at[indent] == ' ')
        indent++;
    buf_add(&older->out, line.at, indent);
    struct str words = from(line, indent);
    size_t done = print_changed(older, words);
    buf_add(&older->out, words.at + done, words.len - done);
    buf_puts(&older->out, str_is(words, "import nki") ? " as nki\n" : "\n");
}

char *older_kernel(const char *text, const struct older_array *arrays, size_t count) {
    struct older older = {.text = str_of(text), .arrays = arrays, .array_count = count};
    struct str rest = older.text, line;
    while (str_next(&rest, '\n', &line))
        print_line(&older, line);
    vec_free(&older.tiles);
    return buf_take(&older.out);
}
