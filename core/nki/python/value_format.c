/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text: print, repr, f-strings with format specs, % and str.format. */
#include "nki/python/inner.h"

#include <math.h>
#include <stdio.h>

#define MAX_PRINT_DEPTH 20
#define MAX_WIDTH 10000

/* Prints as Python's repr does: the fewest digits that read back as the same number. */
static void format_float(double f, struct buf *out) {
    char text[40];
    if (isnan(f) || isinf(f)) {
        buf_puts(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 1;
    for (; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, f);
        double back;
        if (str_to_double(str_of(text), &back) && back == f)
            break;
    }
    const char *e = strchr(text, 'e');
    long long exponent = 0;
    if (e && !str_to_int(str_of(e[1] == '+' ? e + 2 : e + 1), &exponent))
        exponent = 0;
    if (exponent >= -4 && exponent < 16) {
        int decimals = MAX_OF(digits - 1 - (int)exponent, 1);
        buf_printf(out, "%.*f", decimals, f);
        return;
    }
    buf_add(out, text, (size_t)(e - text));
    buf_printf(out, "e%c%02lld", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
}

static void quote(struct str text, struct buf *out) {
    char mark = memchr(text.at, '\'', text.len) && !memchr(text.at, '"', text.len) ? '"' : '\'';
    buf_putc(out, mark);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == (unsigned char)mark || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c < 32 || c == 127)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, mark);
}

static void repr_at(struct interp *in, struct value v, struct buf *out, int depth);

static void repr_items(struct interp *in, struct value v, struct buf *out, int depth) {
    const struct value_seq *seq = v.seq;
    bool tuple = v.kind == VALUE_TUPLE;
    buf_putc(out, tuple ? '(' : '[');
    for (size_t i = 0; i < seq->items.len && out->len < INTERP_MAX_TEXT; i++) {
        if (i)
            buf_puts(out, ", ");
        repr_at(in, seq->items.at[i], out, depth + 1);
    }
    buf_puts(out, tuple ? (seq->items.len == 1 ? ",)" : ")") : "]");
}

static void repr_dict(struct interp *in, const struct value_dict *dict, struct buf *out,
                      int depth) {
    if (dict->is_set && !dict->pairs.len) {
        buf_puts(out, "set()");
        return;
    }
    buf_putc(out, '{');
    for (size_t i = 0; i < dict->pairs.len && out->len < INTERP_MAX_TEXT; i++) {
        if (i)
            buf_puts(out, ", ");
        repr_at(in, dict->pairs.at[i].key, out, depth + 1);
        if (dict->is_set)
            continue;
        buf_puts(out, ": ");
        repr_at(in, dict->pairs.at[i].value, out, depth + 1);
    }
    buf_putc(out, '}');
}

/* The text of a kernel's __repr__ or __str__; false when it has none. */
static bool own_text(struct interp *in, struct value v, const char *name, struct buf *out) {
    struct value text;
    bool found = false;
    if (in->failure.set || !in->frame ||
        !call_method(in, in->native_call, &(struct method_use){v, name, NULL, 0}, &found, &text) ||
        !found)
        return false;
    if (text.kind == VALUE_STR)
        buf_add(out, text.str->at, text.str->len);
    return text.kind == VALUE_STR;
}

static void repr_exception(struct interp *in, const struct value_object *o, struct buf *out) {
    const struct value *args = attrs_find(&o->attrs, interp_intern(in, STR("args")));
    if (args && args->kind == VALUE_TUPLE && args->seq->items.len == 1)
        value_print(in, args->seq->items.at[0], out);
    else if (args && args->kind == VALUE_TUPLE && args->seq->items.len)
        repr_at(in, *args, out, 0);
}

static void repr_object(struct interp *in, struct value v, struct buf *out, int depth) {
    const struct value_object *o = v.object;
    if (o->cls->form == CLASS_ENUM) {
        const struct value *name = attrs_find(&o->attrs, interp_intern(in, STR("name")));
        buf_printf(out, "%s.%s", o->cls->name,
                   name && name->kind == VALUE_STR ? name->str->at : "?");
        return;
    }
    if (own_text(in, v, "__repr__", out))
        return;
    if (o->cls->form == CLASS_EXCEPTION) {
        buf_printf(out, "%s(", o->cls->name);
        repr_exception(in, o, out);
        buf_putc(out, ')');
        return;
    }
    if (!o->cls->is_data) {
        buf_printf(out, "<%s>", o->cls->name);
        return;
    }
    buf_printf(out, "%s(", o->cls->name);
    for (size_t i = 0; i < o->cls->fields.len; i++) {
        const struct value *value = attrs_find(&o->attrs, o->cls->fields.at[i].name);
        buf_printf(out, "%s%s=", i ? ", " : "", o->cls->fields.at[i].name->at);
        repr_at(in, value ? *value : NONE_VALUE, out, depth + 1);
    }
    buf_putc(out, ')');
}

static void repr_tensor(struct interp *in, struct value v, struct buf *out) {
    struct value shape, dtype;
    buf_puts(out, value_type_name(v));
    if (!in->frame || in->failure.set)
        return;
    if (in->objects->getattr(in, in->native_call, v, STR("shape"), &shape) && !is_api(shape)) {
        repr_at(in, shape, out, MAX_PRINT_DEPTH - 2);
        if (in->objects->getattr(in, in->native_call, v, STR("dtype"), &dtype) &&
            dtype.kind == VALUE_DTYPE)
            buf_printf(out, " %s", dtype_name((enum dtype)dtype.i));
    }
    in->failure.set = in->failure.fatal;
}

static void repr_api(struct interp *in, struct value v, struct buf *out) {
    switch (v.kind) {
    case VALUE_DTYPE: buf_puts(out, dtype_name((enum dtype)v.i)); break;
    case VALUE_FUNC: buf_printf(out, "nl.%s", nki_func_name((enum nki_func)v.i)); break;
    case VALUE_ENUM: buf_printf(out, "%s.%s", v.enumeration->type, v.enumeration->member); break;
    case VALUE_REGISTER: buf_printf(out, "register %lld", (long long)v.i); break;
    case VALUE_TENSOR: repr_tensor(in, v, out); break;
    default: buf_printf(out, "<%s>", value_type_name(v));
    }
}

static void repr_rest(struct interp *in, struct value v, struct buf *out) {
    switch (v.kind) {
    case VALUE_SLICE: {
        struct value parts[3] = {v.slice->start, v.slice->stop, v.slice->step};
        buf_puts(out, "slice(");
        for (int i = 0; i < 3; i++) {
            buf_puts(out, i ? ", " : "");
            repr_at(in, parts[i], out, MAX_PRINT_DEPTH - 1);
        }
        buf_putc(out, ')');
        break;
    }
    case VALUE_RANGE:
        buf_printf(out, "range(%lld, %lld", (long long)v.range->start, (long long)v.range->stop);
        if (v.range->step != 1)
            buf_printf(out, ", %lld", (long long)v.range->step);
        buf_putc(out, ')');
        break;
    case VALUE_FUNCTION: buf_printf(out, "<function %s>", v.function->name); break;
    case VALUE_CLASS: buf_printf(out, "<class '%s'>", v.cls->name); break;
    case VALUE_NATIVE: buf_printf(out, "<%s>", v.native->name); break;
    case VALUE_MODULE: buf_printf(out, "<module '%s'>", v.module->name); break;
    default:
        if (is_api(v))
            repr_api(in, v, out);
        else
            buf_printf(out, "<%s>", value_type_name(v));
    }
}

static void repr_at(struct interp *in, struct value v, struct buf *out, int depth) {
    if (depth >= MAX_PRINT_DEPTH || out->len >= INTERP_MAX_TEXT) {
        buf_puts(out, "...");
        return;
    }
    switch (v.kind) {
    case VALUE_NONE: buf_puts(out, "None"); break;
    case VALUE_BOOL: buf_puts(out, v.b ? "True" : "False"); break;
    case VALUE_INT: buf_printf(out, "%lld", (long long)v.i); break;
    case VALUE_FLOAT: format_float(v.f, out); break;
    case VALUE_STR: quote(text_of(v), out); break;
    case VALUE_ELLIPSIS: buf_puts(out, "Ellipsis"); break;
    case VALUE_TUPLE:
    case VALUE_LIST: repr_items(in, v, out, depth); break;
    case VALUE_DICT: repr_dict(in, v.dict, out, depth); break;
    case VALUE_OBJECT: repr_object(in, v, out, depth); break;
    default: repr_rest(in, v, out);
    }
}

void value_repr(struct interp *in, struct value value, struct buf *out) {
    size_t before = out->len;
    repr_at(in, value, out, 0);
    interp_count(in, (out->len - before) / 8);
}

void value_print(struct interp *in, struct value value, struct buf *out) {
    if (value.kind == VALUE_STR) {
        buf_add(out, value.str->at, value.str->len);
        interp_count(in, value.str->len / 64);
        return;
    }
    if (value.kind == VALUE_OBJECT && own_text(in, value, "__str__", out))
        return;
    if (value.kind == VALUE_OBJECT && value.object->cls->form == CLASS_EXCEPTION)
        repr_exception(in, value.object, out);
    else
        value_repr(in, value, out);
}

/* ---- format specs --------------------------------------------------------------------------- */

/* [[fill]align][sign][#][0][width][,][.precision][type] */
struct spec {
    char fill, align, sign, type;
    bool alternate, zero, commas;
    int64_t width, precision;
};

static bool read_number(struct str *s, int64_t *number) {
    if (!s->len || s->at[0] < '0' || s->at[0] > '9')
        return false;
    *number = 0;
    while (s->len && s->at[0] >= '0' && s->at[0] <= '9') {
        *number = MIN_OF(*number * 10 + (s->at[0] - '0'), (int64_t)MAX_WIDTH + 1);
        s->at++, s->len--;
    }
    return true;
}

static bool take(struct str *s, const char *any, char *found) {
    if (!s->len || !strchr(any, s->at[0]))
        return false;
    *found = s->at[0];
    s->at++, s->len--;
    return true;
}

static bool parse_spec(struct str s, struct spec *spec) {
    char c;
    *spec = (struct spec){.fill = ' ', .precision = -1};
    if (s.len > 1 && strchr("<>^=", s.at[1])) {
        spec->fill = s.at[0];
        s.at++, s.len--;
    }
    take(&s, "<>^=", &spec->align);
    take(&s, "+- ", &spec->sign);
    spec->alternate = take(&s, "#", &c);
    spec->zero = take(&s, "0", &c);
    read_number(&s, &spec->width);
    spec->commas = take(&s, ",_", &c);
    if (take(&s, ".", &c) && !read_number(&s, &spec->precision))
        return false;
    take(&s, "bcdeEfFgGnosxX%", &spec->type);
    return s.len == 0 && spec->width <= MAX_WIDTH && spec->precision <= MAX_WIDTH;
}

static void pad(const struct spec *spec, struct str sign, struct str body, char align,
                struct buf *out) {
    size_t len = sign.len + body.len;
    size_t gap = spec->width > (int64_t)len ? (size_t)spec->width - len : 0;
    size_t left = align == '<' ? 0 : align == '^' ? gap / 2 : gap;
    char fill = spec->zero && !spec->align ? '0' : spec->fill;
    if (align == '=')
        buf_add(out, sign.at, sign.len);
    for (size_t i = 0; i < left; i++)
        buf_putc(out, fill);
    if (align != '=')
        buf_add(out, sign.at, sign.len);
    buf_add(out, body.at, body.len);
    for (size_t i = left; i < gap; i++)
        buf_putc(out, fill);
}

static void add_commas(struct buf *digits) {
    struct buf out = {0};
    const char *point = memchr(digits->at, '.', digits->len);
    size_t whole = point ? (size_t)(point - digits->at) : digits->len;
    for (size_t i = 0; i < digits->len; i++) {
        if (i && i < whole && (whole - i) % 3 == 0)
            buf_putc(&out, ',');
        buf_putc(&out, digits->at[i]);
    }
    buf_free(digits);
    *digits = out;
}

static void int_digits(const struct spec *spec, uint64_t u, struct buf *out) {
    if (spec->type == 'b') {
        buf_puts(out, spec->alternate ? "0b" : "");
        int top = 63;
        while (top > 0 && !(u >> top & 1))
            top--;
        for (; top >= 0; top--)
            buf_putc(out, (char)('0' + (u >> top & 1)));
    } else if (spec->type == 'x') {
        buf_printf(out, spec->alternate ? "0x%llx" : "%llx", (unsigned long long)u);
    } else if (spec->type == 'X') {
        buf_printf(out, spec->alternate ? "0X%llX" : "%llX", (unsigned long long)u);
    } else if (spec->type == 'o') {
        buf_printf(out, spec->alternate ? "0o%llo" : "%llo", (unsigned long long)u);
    } else {
        buf_printf(out, "%llu", (unsigned long long)u);
    }
}

static void float_digits(const struct spec *spec, double f, struct buf *out) {
    int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    if (isnan(f) || isinf(f)) {
        buf_puts(out, isnan(f) ? "nan" : "inf");
        return;
    }
    switch (spec->type) {
    case 'e': buf_printf(out, "%.*e", precision, f); break;
    case 'E': buf_printf(out, "%.*E", precision, f); break;
    case 'g':
    case 'n': buf_printf(out, "%.*g", precision, f); break;
    case 'G': buf_printf(out, "%.*G", precision, f); break;
    case '%': buf_printf(out, "%.*f%%", precision, f * 100); break;
    case 0:
        if (spec->precision < 0)
            format_float(f, out);
        else
            buf_printf(out, "%.*g", precision, f);
        break;
    default: buf_printf(out, "%.*f", precision, f);
    }
}

static void format_number(const struct spec *spec, struct value v, struct buf *out) {
    bool integer = is_integer(v) && (spec->type == 0 || strchr("bcdnoxX", spec->type));
    struct buf digits = {0};
    bool minus;
    if (integer) {
        int64_t i = integer_of(v);
        minus = i < 0;
        int_digits(spec, minus ? 0 - (uint64_t)i : (uint64_t)i, &digits);
    } else {
        double f = number_of(v);
        minus = signbit(f) && !isnan(f);
        float_digits(spec, fabs(f), &digits);
    }
    if (spec->commas)
        add_commas(&digits);
    struct str sign = minus               ? STR("-")
                      : spec->sign == '+' ? STR("+")
                      : spec->sign == ' ' ? STR(" ")
                                          : STR("");
    char align = spec->align ? spec->align : spec->zero ? '=' : '>';
    pad(spec, sign, buf_str(&digits), align, out);
    buf_free(&digits);
}

bool format_value(struct interp *in, const struct nki_node *node, struct value v, struct str text,
                  struct buf *out) {
    struct spec spec;
    if (!text.len) {
        value_print(in, v, out);
        return !in->failure.set;
    }
    if (v.kind == VALUE_OBJECT && v.object->cls->is_int)
        v = v.object->inner;
    if (!parse_spec(text, &spec))
        return interp_error(in, node, "ValueError", "'" STR_FMT "' is not a format spec",
                            (int)MIN_OF(text.len, (size_t)40), text.at);
    if (is_number(v) && spec.type != 's' && (v.kind != VALUE_BOOL || spec.type)) {
        if (v.kind == VALUE_FLOAT && spec.type && strchr("bcdoxX", spec.type))
            return interp_error(in, node, "ValueError", "format '%c' needs an integer, not float",
                                spec.type);
        format_number(&spec, v, out);
        return true;
    }
    if (spec.type && spec.type != 's')
        return interp_error(in, node, "ValueError", "format '%c' needs a number, not %s", spec.type,
                            value_type_name(v));
    struct buf body = {0};
    value_print(in, v, &body);
    struct str shown = buf_str(&body);
    if (spec.precision >= 0)
        shown.len = MIN_OF(shown.len, (size_t)spec.precision);
    pad(&spec, STR(""), shown, spec.align ? spec.align : '<', out);
    buf_free(&body);
    return !in->failure.set;
}

/* ---- % and str.format ----------------------------------------------------------------------- */

/* Turns one conversion at *s (after the %), such as "-8.3f", into a format spec. */
static bool percent_spec(struct str *s, struct buf *spec, char *type) {
    struct str all = *s;
    size_t n = 0;
    while (n < all.len && strchr("-+ #0123456789.", all.at[n]))
        n++;
    if (n == all.len || n > 30)
        return false;
    *type = all.at[n];
    bool text = *type == 's' || *type == 'r';
    bool left = memchr(all.at, '-', n) != NULL;
    if (left || text)
        buf_putc(spec, left ? '<' : '>');
    for (size_t i = 0; i < n; i++)
        if (all.at[i] != '-' && !(text && strchr("+ #", all.at[i])))
            buf_putc(spec, all.at[i]);
    buf_putc(spec, *type == 'i' || *type == 'u' ? 'd' : *type == 'r' ? 's' : *type);
    s->at += n + 1;
    s->len -= n + 1;
    return strchr("diufFeEgGxXosrc", *type) != NULL;
}

static bool percent_one(struct interp *in, const struct nki_node *node, struct str *rest,
                        struct value item, struct buf *out) {
    struct buf spec = {0};
    char type = 0;
    bool good = percent_spec(rest, &spec, &type) ||
                interp_error(in, node, "ValueError", "a format with an unknown conversion");
    if (good && type == 'd' && item.kind == VALUE_FLOAT)
        item = value_int(item.f > -9e18 && item.f < 9e18 ? (int64_t)item.f : 0);
    if (good && type == 'r') {
        struct buf text = {0};
        value_repr(in, item, &text);
        item = value_take(in, &text);
    }
    good = good && format_value(in, node, item, buf_str(&spec), out);
    buf_free(&spec);
    return good;
}

bool format_percent(struct interp *in, const struct nki_node *node, struct str format,
                    struct value args, struct value *result) {
    struct buf out = {0};
    size_t n = args.kind == VALUE_TUPLE ? args.seq->items.len : 1, next = 0;
    bool good = true;
    while (format.len && good) {
        const char *percent = memchr(format.at, '%', format.len);
        size_t plain = percent ? (size_t)(percent - format.at) : format.len;
        buf_add(&out, format.at, plain);
        format.at += plain, format.len -= plain;
        if (!format.len)
            break;
        format.at++, format.len--;
        if (format.len && format.at[0] == '%') {
            buf_putc(&out, '%');
            format.at++, format.len--;
            continue;
        }
        if (next >= n)
            good = interp_error(in, node, "TypeError", "not enough values for the format");
        else
            good = percent_one(in, node, &format,
                               args.kind == VALUE_TUPLE ? args.seq->items.at[next] : args, &out);
        next++;
    }
    if (good && args.kind == VALUE_TUPLE && next < n)
        good = interp_error(in, node, "TypeError", "not all values were used by the format");
    if (!good) {
        buf_free(&out);
        return false;
    }
    *result = value_take(in, &out);
    return true;
}

static const struct value *field_named(const struct call *call, struct str name, size_t *next) {
    long long index;
    if (!name.len)
        return *next < call->n_args ? &call->args[(*next)++] : NULL;
    if (str_to_int(name, &index))
        return index >= 0 && (size_t)index < call->n_args ? &call->args[index] : NULL;
    for (size_t i = 0; i < call->n_keywords; i++)
        if (str_equal(call->keywords[i].name, name))
            return &call->keywords[i].value;
    return NULL;
}

static bool brace_field(struct interp *in, const struct call *call, struct str field, size_t *next,
                        struct buf *out) {
    struct str spec = {"", 0};
    const char *colon = memchr(field.at, ':', field.len);
    if (colon) {
        spec = (struct str){colon + 1, field.len - (size_t)(colon + 1 - field.at)};
        field.len = (size_t)(colon - field.at);
    }
    bool repr = field.len > 1 && field.at[field.len - 2] == '!';
    if (repr)
        field.len -= 2;
    const struct value *value = field_named(call, field, next);
    if (!value)
        return interp_error(in, call->node, "IndexError",
                            "format() has no value for '{" STR_FMT "}'", STR_ARG(field));
    if (!repr)
        return format_value(in, call->node, *value, spec, out);
    struct buf text = {0};
    value_repr(in, *value, &text);
    return format_value(in, call->node, value_take(in, &text), spec, out);
}

bool format_braces(struct interp *in, const struct call *call, struct str format,
                   struct value *result) {
    struct buf out = {0};
    size_t next = 0;
    bool good = true;
    for (size_t i = 0; i < format.len && good; i++) {
        char c = format.at[i];
        bool twice = i + 1 < format.len && format.at[i + 1] == c;
        if ((c == '{' || c == '}') && twice) {
            buf_putc(&out, c);
            i++;
        } else if (c == '{') {
            const char *end = memchr(format.at + i, '}', format.len - i);
            if (!end) {
                good = interp_error(in, call->node, "ValueError", "'{' without '}' in a format");
                break;
            }
            struct str field = {format.at + i + 1, (size_t)(end - format.at) - i - 1};
            good = brace_field(in, call, field, &next, &out);
            i = (size_t)(end - format.at);
        } else {
            buf_putc(&out, c);
        }
    }
    if (!good) {
        buf_free(&out);
        return false;
    }
    *result = value_take(in, &out);
    return true;
}
