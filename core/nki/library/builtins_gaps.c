/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of Python's types that hone does not have. A kernel that calls one is right: what is
 * missing is hone's, and so it is said. Source: the type pages of Python 3.13's library
 * reference. */
#include "nki/library/builtins.h"

static const struct {
    enum value_kind kind;
    bool is_set;
    const char *methods; /* those of the reference, spaces between them */
} types[] = {
    {VALUE_STR, false,
     "capitalize casefold center count encode endswith expandtabs find format format_map index "
     "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace "
     "istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix "
     "replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip "
     "swapcase title translate upper zfill"},
    {VALUE_LIST, false, "append clear copy count extend index insert pop remove reverse sort"},
    {VALUE_TUPLE, false, "count index"},
    {VALUE_RANGE, false, "count index"},
    {VALUE_DICT, false, "clear copy fromkeys get items keys pop popitem setdefault update values"},
    {VALUE_DICT, true,
     "add clear copy difference difference_update discard intersection intersection_update "
     "isdisjoint issubset issuperset pop remove symmetric_difference "
     "symmetric_difference_update union update"},
    {VALUE_INT, false,
     "as_integer_ratio bit_count bit_length conjugate from_bytes is_integer to_bytes"},
    {VALUE_BOOL, false,
     "as_integer_ratio bit_count bit_length conjugate from_bytes is_integer to_bytes"},
    {VALUE_FLOAT, false, "as_integer_ratio conjugate from_number fromhex hex is_integer"},
};

static bool has_word(const char *words, struct str word) {
    for (struct str left = str_of(words); left.len;) {
        const char *space = memchr(left.at, ' ', left.len);
        size_t len = space ? (size_t)(space - left.at) : left.len;
        if (len == word.len && !memcmp(left.at, word.at, len))
            return true;
        left.at += space ? len + 1 : len;
        left.len -= space ? len + 1 : len;
    }
    return false;
}

bool builtin_is_gap(enum value_kind kind, bool is_set, struct str name) {
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].kind == kind && types[i].is_set == is_set && has_word(types[i].methods, name))
            return true;
    return false;
}
