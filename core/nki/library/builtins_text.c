/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of str. Case and classes of characters are those of ASCII only. */
#include "nki/library/builtins.h"

#include <ctype.h>

static bool arg_text(struct interp *in, const struct call *call, size_t k, struct str *text) {
    return builtin_text(in, call, call->args[k], text);
}

/* upper, lower, capitalize, title, swapcase; data tells which. */
NATIVE(do_case) {
    struct str text = text_of(call->self);
    struct buf out = {0};
    char how = *(const char *)call->data;
    if (!builtin_arity(in, call, 0, 0))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool first = how == 'c' ? i == 0 : i == 0 || !isalnum((unsigned char)text.at[i - 1]);
        bool up = how == 'u' || ((how == 'c' || how == 't') && first) ||
                  (how == 's' && islower((unsigned char)c));
        buf_putc(&out, (char)(up ? toupper((unsigned char)c) : tolower((unsigned char)c)));
    }
    *result = value_take(in, &out);
    return true;
}

/* strip, lstrip, rstrip; data names the sides. */
NATIVE(do_strip) {
    struct str text = text_of(call->self), set = STR(" \t\r\n\f\v");
    const char *sides = call->data;
    if (!builtin_arity(in, call, 0, 1) ||
        (call->n_args && call->args[0].kind != VALUE_NONE && !arg_text(in, call, 0, &set)))
        return false;
    while (strchr(sides, 'l') && text.len && memchr(set.at, text.at[0], set.len))
        text.at++, text.len--;
    while (strchr(sides, 'r') && text.len && memchr(set.at, text.at[text.len - 1], set.len))
        text.len--;
    *result = value_string(in, text);
    return true;
}

static bool any_affix(struct interp *in, const struct call *call, struct value affix, bool end,
                      bool *found) {
    struct str text = text_of(call->self), part;
    *found = false;
    if (affix.kind == VALUE_TUPLE) {
        for (size_t i = 0; i < affix.seq->items.len && !*found; i++)
            if (affix.seq->items.at[i].kind != VALUE_TUPLE &&
                !any_affix(in, call, affix.seq->items.at[i], end, found))
                return false;
        return true;
    }
    if (!builtin_text(in, call, affix, &part))
        return false;
    *found = text.len >= part.len &&
             memcmp(end ? text.at + text.len - part.len : text.at, part.at, part.len) == 0;
    return true;
}

NATIVE(do_affix) {
    bool found;
    if (!builtin_arity(in, call, 1, 1) ||
        !any_affix(in, call, call->args[0], call->data != NULL, &found))
        return false;
    *result = value_bool(found);
    return true;
}

NATIVE(do_remove_affix) {
    bool found, end = call->data != NULL;
    struct str text = text_of(call->self), part;
    if (!builtin_arity(in, call, 1, 1) || !arg_text(in, call, 0, &part) ||
        !any_affix(in, call, call->args[0], end, &found))
        return false;
    if (found) {
        text.len -= part.len;
        text.at += end ? 0 : part.len;
    }
    *result = value_string(in, text);
    return true;
}

static void push_text(struct interp *in, struct value list, struct str text) {
    value_push(in, list.seq, value_string(in, text));
}

static void split_blanks(struct interp *in, struct str text, int64_t most, struct value list) {
    while (true) {
        while (text.len && isspace((unsigned char)text.at[0]))
            text.at++, text.len--;
        if (!text.len)
            return;
        size_t n = 0;
        while (n < text.len && (most == 0 || !isspace((unsigned char)text.at[n])))
            n++;
        push_text(in, list, (struct str){text.at, n});
        text.at += n, text.len -= n;
        most--;
    }
}

/* -1 when it is not there. */
static int64_t find_first(struct str text, struct str part) {
    const char *at = part.len ? memmem(text.at, text.len, part.at, part.len) : text.at;
    return at ? at - text.at : -1;
}

#define LOOKED 1024 /* places at once, before they are counted */

/* There is no memmem from the end: as many steps are counted as it may take. */
static bool find_last(struct interp *in, const struct call *call, struct str text, struct str part,
                      int64_t *at) {
    size_t places = part.len <= text.len ? text.len - part.len + 1 : 0;
    for (*at = -1; *at < 0 && places-- > 0;) {
        if (memcmp(text.at + places, part.at, part.len) == 0)
            *at = (int64_t)places;
        else if (places % LOOKED == 0 &&
                 !interp_spend(in, call->node, LOOKED / 64 * (1 + part.len / 64)))
            return false;
    }
    return true;
}

static bool find_in(struct interp *in, const struct call *call, struct str part, bool last,
                    int64_t *at) {
    struct str text = text_of(call->self);
    if (last)
        return find_last(in, call, text, part, at);
    *at = find_first(text, part);
    return true;
}

static bool split_from_end(struct interp *in, const struct call *call, struct str text,
                           struct str sep, int64_t most, struct value list) {
    struct value_seq *parts = seq_new(in, 0);
    int64_t at;
    while (most-- > 0) {
        if (!find_last(in, call, text, sep, &at))
            return false;
        if (at < 0)
            break;
        size_t end = (size_t)at + sep.len;
        value_push(in, parts, value_string(in, (struct str){text.at + end, text.len - end}));
        text.len = (size_t)at;
    }
    push_text(in, list, text);
    for (size_t i = parts->items.len; i-- > 0;)
        value_push(in, list.seq, parts->items.at[i]);
    return interp_spend(in, call->node, parts->items.len);
}

NATIVE(do_split) {
    struct str text = text_of(call->self), sep = {"", 0};
    const struct value *sep_arg = builtin_arg(call, 0, "sep");
    const struct value *most_arg = builtin_arg(call, 1, "maxsplit");
    int64_t most = -1;
    *result = value_list(in, NULL, 0);
    if (!builtin_arity(in, call, 0, 2) || (most_arg && !builtin_int(in, call, *most_arg, &most)))
        return false;
    if (!sep_arg || sep_arg->kind == VALUE_NONE) {
        split_blanks(in, text, most, *result);
        return interp_spend(in, call->node, text.len / 8);
    }
    if (!builtin_text(in, call, *sep_arg, &sep))
        return false;
    if (!sep.len)
        return interp_error(in, call->node, "ValueError", "split() by an empty separator");
    if (call->data && most > 0) /* rsplit: what is not split stays in front */
        return split_from_end(in, call, text, sep, most, *result);
    const char *at;
    while (most != 0 && (at = memmem(text.at, text.len, sep.at, sep.len))) {
        push_text(in, *result, (struct str){text.at, (size_t)(at - text.at)});
        text.len -= (size_t)(at - text.at) + sep.len;
        text.at = at + sep.len;
        most--;
    }
    push_text(in, *result, text);
    return interp_spend(in, call->node, result->seq->items.len);
}

NATIVE(do_splitlines) {
    struct str text = text_of(call->self), line;
    *result = value_list(in, NULL, 0);
    while (str_next(&text, '\n', &line))
        push_text(in, *result, line);
    return builtin_arity(in, call, 0, 0);
}

NATIVE(do_join) {
    const struct value_seq *items;
    struct buf out = {0};
    if (!builtin_arity(in, call, 1, 1) || !interp_items(in, call->node, call->args[0], &items))
        return false;
    for (size_t i = 0; i < items->items.len; i++) {
        struct str part;
        if (!builtin_text(in, call, items->items.at[i], &part) ||
            !interp_room(in, call->node, out.len + part.len, 1)) {
            buf_free(&out);
            return false;
        }
        if (i)
            buf_add(&out, call->self.str->at, call->self.str->len);
        buf_add(&out, part.at, part.len);
    }
    *result = value_take(in, &out);
    return true;
}

NATIVE(do_replace) {
    struct str text = text_of(call->self), from, to;
    struct buf out = {0};
    const char *at;
    if (!builtin_arity(in, call, 2, 2) || !arg_text(in, call, 0, &from) ||
        !arg_text(in, call, 1, &to))
        return false;
    while (from.len && (at = memmem(text.at, text.len, from.at, from.len))) {
        buf_add(&out, text.at, (size_t)(at - text.at));
        buf_add(&out, to.at, to.len);
        text.len -= (size_t)(at - text.at) + from.len;
        text.at = at + from.len;
        if (!interp_room(in, call->node, out.len, 1)) {
            buf_free(&out);
            return false;
        }
    }
    buf_add(&out, text.at, text.len);
    *result = value_take(in, &out);
    return true;
}

/* find, rfind, index; data: 'f', 'r', 'i'. */
NATIVE(do_find) {
    struct str part;
    char how = *(const char *)call->data;
    int64_t at;
    if (!builtin_arity(in, call, 1, 1) || !arg_text(in, call, 0, &part) ||
        !find_in(in, call, part, how == 'r', &at))
        return false;
    if (at < 0 && how == 'i')
        return interp_error(in, call->node, "ValueError", "'" STR_FMT "' is not in the str",
                            STR_ARG(part));
    *result = value_int(at);
    return true;
}

NATIVE(do_count) {
    struct str text = text_of(call->self), part;
    int64_t n = 0, at;
    if (!builtin_arity(in, call, 1, 1) || !arg_text(in, call, 0, &part))
        return false;
    while (part.len && (at = find_first(text, part)) >= 0) {
        n++;
        text.at += (size_t)at + part.len;
        text.len -= (size_t)at + part.len;
    }
    *result = value_int(part.len ? n : (int64_t)text.len + 1);
    return true;
}

/* ljust, rjust, center, zfill; data tells which. */
NATIVE(do_pad) {
    struct str text = text_of(call->self), fill = STR(" ");
    char how = *(const char *)call->data;
    int64_t width;
    if (!builtin_arity(in, call, 1, 2) || !builtin_int(in, call, call->args[0], &width) ||
        (call->n_args == 2 && !arg_text(in, call, 1, &fill)) ||
        !interp_room(in, call->node, width < 0 ? 0 : (uint64_t)width, 1))
        return false;
    size_t pad = width > (int64_t)text.len ? (size_t)width - text.len : 0;
    size_t left = how == 'l' ? 0 : how == 'c' ? pad / 2 : pad;
    struct buf out = {0};
    char c = how == 'z' ? '0' : fill.len ? fill.at[0] : ' ';
    if (how == 'z' && text.len && (text.at[0] == '-' || text.at[0] == '+')) {
        buf_putc(&out, text.at[0]);
        text.at++, text.len--;
    }
    for (size_t i = 0; i < left; i++)
        buf_putc(&out, c);
    buf_add(&out, text.at, text.len);
    for (size_t i = left; i < pad; i++)
        buf_putc(&out, c);
    *result = value_take(in, &out);
    return true;
}

static int is_name_byte(int c) {
    return isalnum(c) || c == '_';
}

/* isdigit, isalpha and so on; data points to the test. */
NATIVE(do_is) {
    static int (*const tests[])(int) = {isdigit, isalpha, isalnum,     isspace,
                                        islower, isupper, is_name_byte};
    struct str text = text_of(call->self);
    size_t which = (size_t)(*(const char *)call->data - '0');
    bool all = text.len > 0;
    for (size_t i = 0; i < text.len && all; i++)
        all = tests[which]((unsigned char)text.at[i]) ||
              ((which == 4 || which == 5) && !isalpha((unsigned char)text.at[i]));
    if (which == 6 && text.len && isdigit((unsigned char)text.at[0]))
        all = false;
    *result = value_bool(all);
    return builtin_arity(in, call, 0, 0);
}

NATIVE(do_partition) {
    struct str text = text_of(call->self), sep;
    int64_t at;
    if (!builtin_arity(in, call, 1, 1) || !arg_text(in, call, 0, &sep) ||
        !find_in(in, call, sep, call->data != NULL, &at))
        return false;
    struct str parts[3] = {{"", 0}, {"", 0}, {"", 0}};
    if (at < 0) {
        parts[call->data ? 2 : 0] = text;
    } else {
        parts[0].at = text.at;
        parts[0].len = (size_t)at;
        parts[1] = sep;
        parts[2] = (struct str){text.at + at + sep.len, text.len - (size_t)at - sep.len};
    }
    struct value items[3];
    for (int i = 0; i < 3; i++)
        items[i] = value_string(in, parts[i]);
    *result = value_tuple(in, items, 3);
    return true;
}

NATIVE(do_format) {
    return format_braces(in, call, text_of(call->self), result);
}

NATIVE(do_same) {
    *result = call->self;
    return builtin_arity(in, call, 0, 2);
}

static const struct value_native rows[] = {
    {"upper", do_case, "u"},
    {"lower", do_case, "l"},
    {"capitalize", do_case, "c"},
    {"title", do_case, "t"},
    {"swapcase", do_case, "s"},
    {"casefold", do_case, "l"},
    {"strip", do_strip, "lr"},
    {"lstrip", do_strip, "l"},
    {"rstrip", do_strip, "r"},
    {"startswith", do_affix, NULL},
    {"endswith", do_affix, ""},
    {"removeprefix", do_remove_affix, NULL},
    {"removesuffix", do_remove_affix, ""},
    {"split", do_split, NULL},
    {"rsplit", do_split, ""},
    {"splitlines", do_splitlines, NULL},
    {"join", do_join, NULL},
    {"replace", do_replace, NULL},
    {"find", do_find, "f"},
    {"rfind", do_find, "r"},
    {"index", do_find, "i"},
    {"count", do_count, NULL},
    {"ljust", do_pad, "l"},
    {"rjust", do_pad, "r"},
    {"center", do_pad, "c"},
    {"zfill", do_pad, "z"},
    {"isdigit", do_is, "0"},
    {"isnumeric", do_is, "0"},
    {"isdecimal", do_is, "0"},
    {"isalpha", do_is, "1"},
    {"isalnum", do_is, "2"},
    {"isspace", do_is, "3"},
    {"islower", do_is, "4"},
    {"isupper", do_is, "5"},
    {"isidentifier", do_is, "6"},
    {"partition", do_partition, NULL},
    {"rpartition", do_partition, ""},
    {"format", do_format, NULL},
    {"encode", do_same, NULL},
    {"decode", do_same, NULL},
};
const struct method_table str_methods = {rows, COUNT_OF(rows)};
