/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that a service sends back, by mistake or not, are replaced in every text that leaves this
 * folder: errors, answers, names. It looks for the secret as it is, not for encodings of it. */
#include "model/keys/redact.h"

#include "model/keys/keys.h"

#define INSTEAD "[key]"

void redact_add(struct redact *redact, struct str secret) {
    for (size_t i = 0; i < redact->count; i++)
        if (str_equal(buf_str(&redact->secrets[i]), secret))
            return;
    if (secret.len < REDACT_SHORTEST || redact->count == REDACT_MOST)
        return;
    buf_add(&redact->secrets[redact->count++], secret.at, secret.len);
    redact->longest = MAX_OF(redact->longest, secret.len);
}

void redact_forget(struct redact *redact) {
    for (size_t i = 0; i < redact->count; i++)
        model_wipe(&redact->secrets[i]);
    model_wipe(&redact->held);
    *redact = (struct redact){0};
}

/* The first secret in the text: where it begins, and its length; the text's length and 0 if
 * none. */
static size_t find(const struct redact *redact, struct str text, size_t *length) {
    size_t first = text.len;
    *length = 0;
    for (size_t i = 0; i < redact->count; i++) {
        struct str secret = buf_str(&redact->secrets[i]);
        const char *at = text.len ? memmem(text.at, text.len, secret.at, secret.len) : NULL;
        if (at && (size_t)(at - text.at) < first) {
            first = (size_t)(at - text.at);
            *length = secret.len;
        }
    }
    return first;
}

/* How many bytes at the text's end are the beginning of a secret. */
static size_t begun(const struct redact *redact, struct str text) {
    size_t most = redact->longest ? MIN_OF(text.len, redact->longest - 1) : 0;
    for (size_t n = most; n > 0; n--)
        for (size_t i = 0; i < redact->count; i++)
            if (n < redact->secrets[i].len &&
                !memcmp(text.at + text.len - n, redact->secrets[i].at, n))
                return n;
    return 0;
}

/* Appends text[*from..to), of which the first `out` bytes were already given out. */
static void give(struct buf *into, struct str text, size_t from, size_t to, size_t out) {
    from = MAX_OF(from, out);
    if (from < to)
        buf_add(into, text.at + from, to - from);
}

/* Appends the text without whole secrets; returns where the last of them ended. */
static size_t give_all(const struct redact *redact, struct str text, size_t out, struct buf *into) {
    size_t at = 0, length;
    for (;;) {
        struct str rest = {text.at + at, text.len - at};
        size_t found = find(redact, rest, &length);
        if (!length)
            return at;
        give(into, text, at, at + found, out);
        buf_puts(into, INSTEAD);
        at += found + length;
    }
}

void redact_text(const struct redact *redact, struct str text, struct buf *out) {
    size_t at = give_all(redact, text, 0, out);
    struct str rest = {text.at + at, text.len - at};
    size_t cut = begun(redact, rest);
    if (cut <= REDACT_SHOWN)
        cut = 0;
    give(out, rest, 0, rest.len - cut, 0);
    if (cut)
        buf_puts(out, INSTEAD);
}

void redact_stream(struct redact *redact, struct str piece, bool last, struct buf *out) {
    struct str text = piece;
    if (!redact->count) {
        buf_add(out, piece.at ? piece.at : "", piece.len);
        return;
    }
    if (redact->held.len) {
        buf_add(&redact->held, piece.at ? piece.at : "", piece.len);
        text = buf_str(&redact->held);
    }
    size_t at = give_all(redact, text, redact->out, out);
    struct str rest = {text.at + at, text.len - at};
    size_t already = redact->out > at ? redact->out - at : 0;
    size_t waits = begun(redact, rest);
    bool shows = waits <= REDACT_SHOWN;
    size_t keep = rest.len - waits;
    give(out, rest, 0, shows ? rest.len : keep, already);
    if (last && !shows)
        buf_puts(out, INSTEAD);
    struct buf held = {0};
    if (waits && !last)
        buf_add(&held, rest.at + keep, waits);
    redact->out = shows ? waits : already > keep ? already - keep : 0;
    model_wipe(&redact->held);
    redact->held = held;
}
