/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of allow.def as maps, for one release of NKI. */
#include "nki/lint/allow.h"

#include "nki/release/release.h"
#include "nki/syntax/syntax.h"

static const struct {
    const char *module, *names;
    enum allow_use use;
    bool is_later;
} members[] = {
#define MEMBER(module, use, names) {module, names, ALLOW_##use, false},
#define LATER(module, use, names) {module, names, ALLOW_##use, true},
#define WORDS(table, use, words)
#include "nki/lint/allow.def"
#undef MEMBER
#undef LATER
#undef WORDS
};

static const struct {
    const char *words;
    enum allow_table table;
    enum allow_use use;
} words[] = {
#define MEMBER(module, use, names)
#define LATER(module, use, names)
#define WORDS(table, use, words) {words, table, ALLOW_##use},
#include "nki/lint/allow.def"
#undef MEMBER
#undef LATER
#undef WORDS
};

static const char *const instructions[] = {
#define INSTR(id, name, ...) name,
#include "nki/program/instructions.def"
#undef INSTR
};

static const struct {
    const char *name, *module;
} conventions[] = {
    {"np", "numpy"},        {"math", "math"},    {"nki", "nki"},
    {"nl", "nki.language"}, {"nisa", "nki.isa"}, {"nt", "nki.typing"},
};

/* Packages that are the same as another package. */
static const struct {
    const char *package, *same;
} packages[] = {
    {"neuronxcc.nki", "nki"},
    {"nkilib_src.nkilib", "nkilib"},
};

/* Uses are kept as pointers into this array, so that the value of a map is a use. */
static const enum allow_use uses[] = {
    ALLOW_NOT,   ALLOW_ANY,  ALLOW_CALLED,    ALLOW_TYPE,  ALLOW_ASKED,
    ALLOW_CLASS, ALLOW_ENUM, ALLOW_DECORATOR, ALLOW_NAMED, ALLOW_JIT,
};

static void put(struct map *map, struct str key, enum allow_use use) {
    union {
        const void *in;
        void *out;
    } value = {&uses[use]};
    map_put(map, key)->value = value.out;
}

static enum allow_use get(const struct map *map, struct str key) {
    const enum allow_use *use = map_get(map, key);
    return use ? *use : ALLOW_NOT;
}

static void member_put(struct allow *allow, const char *module, struct str name,
                       enum allow_use use) {
    struct buf key = {0};
    buf_puts(&key, module);
    buf_putc(&key, '.');
    buf_add(&key, name.at, name.len);
    put(&allow->members, buf_str(&key), use);
    buf_free(&key);
}

/* Whether a release of NKI has the module, which may have come later. NULL: any release has it. */
static bool is_there(const char *module, const char *release) {
    const char *since = release_of_name(str_of(module));
    return !release || !since || nki_release_compare(release, since) >= 0;
}

void allow_init(struct allow *allow, const char *release) {
    struct str name;
    *allow = (struct allow){0};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        struct str rest = str_of(members[i].names);
        if (members[i].is_later && !is_there(members[i].module, release))
            continue;
        put(&allow->modules, str_of(members[i].module), ALLOW_ANY);
        while (str_next(&rest, ' ', &name))
            member_put(allow, members[i].module, name, members[i].use);
    }
    for (size_t i = 0; i < COUNT_OF(instructions); i++)
        member_put(allow, "nki.isa", str_of(instructions[i]), ALLOW_ANY);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct str rest = str_of(words[i].words);
        while (str_next(&rest, ' ', &name))
            put(&allow->words[words[i].table], name, words[i].use);
    }
}

void allow_free(struct allow *allow) {
    map_free(&allow->members);
    map_free(&allow->modules);
    for (size_t i = 0; i < ALLOW_TABLES; i++)
        map_free(&allow->words[i]);
}

void allow_module_name(struct str module, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(packages); i++) {
        size_t len = strlen(packages[i].package);
        if (!str_starts(module, packages[i].package) || (module.len > len && module.at[len] != '.'))
            continue;
        buf_puts(out, packages[i].same);
        buf_add(out, module.at + len, module.len - len);
        return;
    }
    buf_add(out, module.at, module.len);
}

bool allow_is_module(const struct allow *allow, struct str module) {
    return map_find(&allow->modules, module) != NULL;
}

enum allow_use allow_member(const struct allow *allow, struct str module, struct str name) {
    struct buf key = {0};
    buf_printf(&key, STR_FMT "." STR_FMT, STR_ARG(module), STR_ARG(name));
    enum allow_use use = get(&allow->members, buf_str(&key));
    buf_free(&key);
    return use;
}

enum allow_use allow_word(const struct allow *allow, enum allow_table table, struct str word) {
    return get(&allow->words[table], word);
}

const char *allow_convention(const struct allow *allow, struct str name) {
    if (!allow_word(allow, ALLOW_CONVENTION, name))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(conventions); i++)
        if (str_is(name, conventions[i].name))
            return conventions[i].module;
    return NULL;
}
