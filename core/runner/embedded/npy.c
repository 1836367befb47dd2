/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in files: numpy's .npy (NumPy documentation, numpy.lib.format) and raw numbers. It knows
 * nothing of kernels. Which type may stand for which is the caller's business. */
#include "runner/embedded/npy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define MAX_HEADER 65536
#define DATA_ALIGNMENT 64

/* ------------------------------------------------------------------------------------- reading */

static bool is_no_npy(const char *path, const char *why, struct err *err) {
    return err_set(err, ERR_USAGE, "%s cannot be used as a .npy file: %s", path, why);
}

/* The text after 'key': in the header's dictionary. */
static struct str value_of(struct str text, const char *key) {
    for (size_t at = 0; at < text.len; at++) {
        struct str rest = {text.at + at, text.len - at};
        if ((rest.at[0] != '\'' && rest.at[0] != '"') ||
            !str_starts((struct str){rest.at + 1, rest.len - 1}, key))
            continue;
        at += strlen(key) + 2;
        while (at < text.len && (text.at[at] == ':' || text.at[at] == ' '))
            at++;
        return (struct str){text.at + at, text.len - at};
    }
    return (struct str){"", 0};
}

/* Reads "'<f4'" and the like. The order of bytes must be this machine's, or must not matter. */
static const char *read_descr(struct str value, struct npy_header *header) {
    static const struct {
        const char *code;
        enum dtype dtype;
    } codes[] = {
        {"b1", DTYPE_BOOL},    {"i1", DTYPE_INT8},    {"i2", DTYPE_INT16},   {"i4", DTYPE_INT32},
        {"i8", DTYPE_INT64},   {"u1", DTYPE_UINT8},   {"u2", DTYPE_UINT16},  {"u4", DTYPE_UINT32},
        {"f2", DTYPE_FLOAT16}, {"f4", DTYPE_FLOAT32}, {"f8", DTYPE_FLOAT64},
    };
    struct str code;
    long long bytes;
    if (value.len < 5 || (value.at[0] != '\'' && value.at[0] != '"'))
        return "it holds structures";
    struct str rest = {value.at + 2, value.len - 2};
    if (value.at[1] == '>' || !str_next(&rest, value.at[0], &code))
        return "its numbers are big-endian";
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (str_is(code, codes[i].code))
            header->dtype = codes[i].dtype;
    header->item_bytes = dtype_bytes(header->dtype);
    if (header->dtype == DTYPE_NONE && code.len > 1 && code.at[0] == 'V' &&
        str_to_int((struct str){code.at + 1, code.len - 1}, &bytes) && bytes > 0 && bytes <= 8)
        header->item_bytes = (size_t)bytes;
    return header->item_bytes ? NULL : "its type of number is none that a kernel takes";
}

static const char *read_shape(struct str value, struct npy_header *header) {
    struct str rest = value, inner, side;
    long long length;
    if (!value.len || value.at[0] != '(')
        return "its header has no shape";
    rest.at++, rest.len--;
    inner = (struct str){"", 0};
    if (rest.len && rest.at[0] != ')' && !str_next(&rest, ')', &inner))
        return "its header has no shape";
    while (str_next(&inner, ',', &side)) {
        side = str_trim(side);
        if (!side.len)
            continue;
        if (header->ndim == ARRAY_MAX_DIMS)
            return "it has more than 8 dimensions";
        if (!str_to_int(side, &length) || length < 1 || length > 1000000000000)
            return "one of its dimensions is empty or too large";
        header->shape[header->ndim++] = length;
    }
    return NULL;
}

static const char *read_dictionary(struct str text, struct npy_header *header) {
    const char *why = read_descr(value_of(text, "descr"), header);
    if (why)
        return why;
    why = read_shape(value_of(text, "shape"), header);
    if (!why && header->ndim > 1 && !str_starts(value_of(text, "fortran_order"), "False"))
        return "it is saved columns first; save numpy.ascontiguousarray(x) instead";
    return why;
}

static const char *read_header(FILE *file, struct npy_header *header) {
    unsigned char start[12];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, MAGIC, MAGIC_BYTES) != 0)
        return "it does not begin like one";
    size_t length = (size_t)start[8] | (size_t)start[9] << 8, used = 10;
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, file) != 2)
            return "its header is cut off";
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
        used = 12;
    }
    if (length > MAX_HEADER)
        return "its header is over 64 KiB";
    char *text = mem_alloc(length + 1, 1);
    const char *why = "its header is cut off";
    if (fread(text, 1, length, file) == length)
        why = read_dictionary((struct str){text, length}, header);
    free(text);
    header->offset = used + length;
    return why;
}

/* Opens a plain file; NULL and *err otherwise. */
static FILE *open_file(const char *path, size_t *size, struct err *err) {
    struct stat info;
    int fd = file_open(path, O_RDONLY, 0, err);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    *size = file && fstat(fd, &info) == 0 ? (size_t)info.st_size : 0;
    if (err && err->kind == ERR_ENVIRONMENT)
        err->kind = ERR_USAGE; /* the user named it */
    return file;
}

bool npy_read_header(const char *path, struct npy_header *header, struct err *err) {
    *header = (struct npy_header){0};
    size_t size;
    FILE *file = open_file(path, &size, err);
    if (!file)
        return false;
    const char *why = read_header(file, header);
    fclose(file);
    return why ? is_no_npy(path, why, err) : true;
}

bool npy_read_data(const char *path, struct npy_part part, void *data, struct err *err) {
    size_t size;
    FILE *file = open_file(path, &size, err);
    if (!file)
        return false;
    size_t there = size > part.offset ? size - part.offset : 0;
    bool ok = there == part.bytes || (there > part.bytes && !part.whole);
    if (!ok)
        err_set(err, ERR_USAGE, "%s holds %zu bytes of numbers; its shape and type make %zu", path,
                there, part.bytes);
    else if (fseeko(file, (off_t)part.offset, SEEK_SET) != 0 ||
             fread(data, 1, part.bytes, file) != part.bytes)
        ok = err_set(err, ERR_ENVIRONMENT, "cannot read %s to its end", path);
    fclose(file);
    return ok;
}

/* ------------------------------------------------------------------------------------- writing */

static void print_descr(enum dtype dtype, struct buf *out) {
    char kind = dtype_kind(dtype);
    bool raw = kind == 'x' || (kind == 'f' && dtype != DTYPE_FLOAT16 && dtype_bytes(dtype) < 4);
    buf_printf(out, "%c%c%zu", dtype_bytes(dtype) == 1 ? '|' : '<', raw ? 'u' : kind,
               dtype_bytes(dtype));
}

bool npy_write(const char *path, const struct array *array, struct err *err) {
    struct buf text = {0}, out = {0};
    buf_puts(&text, "{'descr': '");
    print_descr(array->dtype, &text);
    buf_puts(&text, "', 'fortran_order': False, 'shape': (");
    for (int d = 0; d < array->ndim; d++)
        buf_printf(&text, "%lld, ", (long long)array->shape[d]);
    buf_puts(&text, "), }");
    while ((MAGIC_BYTES + 4 + text.len + 1) % DATA_ALIGNMENT)
        buf_putc(&text, ' ');
    buf_putc(&text, '\n');
    buf_add(&out, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    buf_putc(&out, (char)(text.len & 0xff));
    buf_putc(&out, (char)(text.len >> 8));
    buf_add(&out, text.at, text.len);
    buf_add(&out, array->data, array_bytes(array));
    bool ok = file_write(path, out.at, out.len, err);
    buf_free(&text);
    buf_free(&out);
    return ok;
}
