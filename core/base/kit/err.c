/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <stdio.h>

bool err_set(struct err *err, enum err_kind kind, const char *format, ...) {
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    err->kind = kind;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return false;
}

bool err_prefix(struct err *err, const char *format, ...) {
    if (!err)
        return false;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    buf_printf(&text, ": %s", err->text);
    snprintf(err->text, sizeof err->text, "%s", text.at);
    buf_free(&text);
    return false;
}

const char *err_kind_name(enum err_kind kind) {
    static const char *const names[ERR_KINDS] = {
        [ERR_NONE] = "none",       [ERR_KERNEL] = "kernel",
        [ERR_USAGE] = "usage",     [ERR_ENVIRONMENT] = "environment",
        [ERR_DAMAGED] = "damaged", [ERR_CANCELLED] = "cancelled",
        [ERR_UNKNOWN] = "unknown",
    };
    return names[kind];
}

bool err_may_pass(const struct err *err) {
    return err->kind == ERR_ENVIRONMENT || err->kind == ERR_UNKNOWN;
}

int err_exit_status(const struct err *err) {
    switch (err->kind) {
    case ERR_NONE: return 0;
    case ERR_KERNEL: return 1;
    case ERR_USAGE: return 2;
    case ERR_DAMAGED: return 4;
    case ERR_ENVIRONMENT:
    case ERR_UNKNOWN:
    case ERR_CANCELLED:
    case ERR_KINDS: return 3;
    }
    return 3;
}
