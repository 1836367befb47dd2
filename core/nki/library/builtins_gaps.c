/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of Python's types and names of its modules that hone does not have. A kernel that uses
 * one is right: what is missing is hone's, and so it is said. Source: the pages of Python 3.13's
 * library reference. */
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
    {VALUE_LIST, false,
     "append clear copy count extend index insert pop remove reverse sort "
     "close send throw"}, /* a generator is a list here */
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
    {VALUE_SLICE, false, "indices"},
    {VALUE_OBJECT, false,
     "__annotations__ __cause__ __context__ __doc__ __module__ __notes__ __slots__ "
     "__traceback__ __weakref__ add_note with_traceback"},
};

static const struct {
    const char *module, *names;
} modules[] = {
    {"math", "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist "
             "erf erfc exp exp2 expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot "
             "isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf "
             "nextafter perm pow prod radians remainder sin sinh sqrt sumprod tan tanh trunc ulp"},
    {"itertools", "accumulate batched chain combinations combinations_with_replacement compress "
                  "count cycle dropwhile filterfalse groupby islice pairwise permutations product "
                  "repeat starmap takewhile tee zip_longest"},
    {"functools", "cache cached_property cmp_to_key lru_cache partial partialmethod reduce "
                  "singledispatch singledispatchmethod total_ordering update_wrapper wraps"},
    {"operator", "abs add and_ attrgetter call concat contains countOf delitem eq floordiv ge "
                 "getitem gt iadd iand iconcat ifloordiv ilshift imatmul imod imul index indexOf "
                 "inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le "
                 "length_hint lshift lt matmul methodcaller mod mul ne neg not_ or_ pos pow rshift "
                 "setitem sub truediv truth xor"},
    {"collections", "ChainMap Counter OrderedDict UserDict UserList UserString abc defaultdict "
                    "deque namedtuple"},
    {"dataclasses", "Field FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass "
                    "field fields is_dataclass make_dataclass replace"},
    {"enum", "CONFORM CONTINUOUS EJECT Enum EnumCheck EnumMeta EnumType Flag FlagBoundary IntEnum "
             "IntFlag KEEP NAMED_FLAGS ReprEnum STRICT StrEnum UNIQUE auto global_enum member "
             "nonmember property unique verify"},
    {"copy", "Error copy deepcopy replace"},
    {"os", "cpu_count environ getcwd getenv linesep name path sep"},
    {"builtins", "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr "
                 "classmethod compile complex delattr dict dir divmod enumerate eval exec exit "
                 "filter float format frozenset getattr globals hasattr hash help hex id input int "
                 "isinstance issubclass iter len list locals map max memoryview min next object "
                 "oct open ord pow print property quit range repr reversed round set setattr slice "
                 "sorted staticmethod str sum super tuple type vars zip"},
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

bool builtin_name_is_gap(const char *module, struct str name) {
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (!strcmp(modules[i].module, module))
            return has_word(modules[i].names, name);
    return false;
}
