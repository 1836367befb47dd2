/* SPDX-License-Identifier: Apache-2.0 */
/* Python's tokens, as far as import statements need them: names, signs, and where a statement
 * begins. Strings and comments are left out. It never fails: what is not Python has no imports. */
#include "task/imports.h"

#include <ctype.h>

#define MAX_NAMES 256 /* of one statement; further ones are left out */
#define MAX_TEXT 200

enum token_is { TOKEN_END, TOKEN_NAME, TOKEN_SIGN, TOKEN_LINE };
struct scan {
    const char *at, *end;
    int depth;             /* depth of brackets */
    enum token_is is;      /* the present token */
    struct str text;       /* the text of the token */
    bool begins;           /* it may begin a statement */
    task_text_fn *on_text; /* gets string literals; may be NULL */
    void *data;
};

static bool in_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool has(const struct scan *scan, const char *text) {
    size_t len = strlen(text);
    return (size_t)(scan->end - scan->at) >= len && memcmp(scan->at, text, len) == 0;
}

/* Passes a string, from its quote to after its end. One in single quotes ends with its line at the
 * latest. */
static void pass_string(struct scan *scan) {
    char quote = *scan->at;
    const char triple[] = {quote, quote, quote, 0};
    bool is_long = has(scan, triple);
    scan->at += is_long ? 3 : 1;
    while (scan->at < scan->end) {
        if (is_long && has(scan, triple)) {
            scan->at += 3;
            return;
        }
        char c = *scan->at++;
        if (!is_long && (c == quote || c == '\n')) {
            scan->at -= c == '\n';
            return;
        }
        if (c == '\\' && scan->at < scan->end)
            scan->at++;
    }
}

static void skip_string(struct scan *scan) {
    const char *from = scan->at + 1;
    pass_string(scan);
    struct str text = {from, scan->at > from ? (size_t)(scan->at - from - 1) : 0};
    if (scan->on_text && text.len && text.len <= MAX_TEXT && !memchr(text.at, '\n', text.len))
        scan->on_text(scan->data, text);
}

static void skip_comment(struct scan *scan) {
    while (scan->at < scan->end && *scan->at != '\n')
        scan->at++;
}

/* Passes what stands between tokens. */
static void skip_blank(struct scan *scan) {
    while (scan->at < scan->end) {
        char c = *scan->at;
        if (c == '#')
            skip_comment(scan);
        else if (c == '"' || c == '\'')
            skip_string(scan);
        else if (has(scan, "\\\r\n"))
            scan->at += 3;
        else if (has(scan, "\\\n"))
            scan->at += 2;
        else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || (c == '\n' && scan->depth > 0))
            scan->at++;
        else
            return;
    }
}

static bool is_prefix(struct str name) {
    bool is = name.len <= 2;
    for (size_t i = 0; is && i < name.len; i++)
        is = strchr("rbufRBUF", name.at[i]) != NULL;
    return is;
}

static void take_name(struct scan *scan) {
    const char *from = scan->at;
    while (scan->at < scan->end && in_name(*scan->at))
        scan->at++;
    scan->is = TOKEN_NAME;
    scan->text = (struct str){from, (size_t)(scan->at - from)};
}

static void take_sign(struct scan *scan) {
    char c = *scan->at;
    scan->is = c == '\n' ? TOKEN_LINE : TOKEN_SIGN;
    scan->text = (struct str){scan->at++, 1};
    if (c == '(' || c == '[' || c == '{')
        scan->depth++;
    if ((c == ')' || c == ']' || c == '}') && scan->depth > 0)
        scan->depth--;
}

static bool is_sign(const struct scan *scan, char c) {
    return scan->is == TOKEN_SIGN && *scan->text.at == c;
}

static void next(struct scan *scan) {
    bool first = scan->is == TOKEN_END; /* before the first token */
    bool opens = first || scan->is == TOKEN_LINE ||
                 (scan->depth == 0 && (is_sign(scan, ';') || is_sign(scan, ':')));
    skip_blank(scan);
    scan->begins = opens;
    if (scan->at >= scan->end) {
        scan->is = TOKEN_END;
        scan->text = (struct str){0};
    } else if (in_name(*scan->at)) {
        take_name(scan);
        bool quoted = scan->at < scan->end && (*scan->at == '"' || *scan->at == '\'');
        if (quoted && is_prefix(scan->text)) {
            skip_string(scan);
            scan->is = TOKEN_SIGN; /* a string; nobody needs more of it */
        }
    } else {
        take_sign(scan);
    }
}

static bool is_word(const struct scan *scan, const char *word) {
    return scan->is == TOKEN_NAME && str_is(scan->text, word);
}

/* Takes a.b.c as it is written in the file. */
static struct str take_dotted(struct scan *scan) {
    struct str dotted = {scan->text.at, 0};
    while (scan->is == TOKEN_NAME) {
        dotted.len = (size_t)(scan->text.at + scan->text.len - dotted.at);
        next(scan);
        if (!is_sign(scan, '.'))
            break;
        next(scan);
    }
    return dotted;
}

static void skip_alias(struct scan *scan) {
    if (!is_word(scan, "as"))
        return;
    next(scan);
    if (scan->is == TOKEN_NAME)
        next(scan);
}

static void take_import(struct scan *scan, task_import_fn *fn, void *data) {
    do {
        next(scan);
        if (scan->is != TOKEN_NAME)
            return;
        struct task_import import = {.module = take_dotted(scan)};
        fn(data, &import);
        skip_alias(scan);
    } while (is_sign(scan, ','));
}

static void take_from(struct scan *scan, task_import_fn *fn, void *data) {
    struct task_import import = {0};
    struct str names[MAX_NAMES];
    for (next(scan); is_sign(scan, '.'); next(scan))
        import.level++;
    if (scan->is == TOKEN_NAME && !is_word(scan, "import"))
        import.module = take_dotted(scan);
    if (!is_word(scan, "import"))
        return;
    do {
        next(scan);
        if (is_sign(scan, '('))
            next(scan);
        if (scan->is == TOKEN_NAME && import.name_count < MAX_NAMES)
            names[import.name_count++] = scan->text;
        if (scan->is == TOKEN_NAME)
            next(scan);
        skip_alias(scan);
    } while (is_sign(scan, ','));
    import.names = names;
    fn(data, &import);
}

void task_imports_find(struct str text, task_import_fn *fn, void *data) {
    struct scan scan = {.at = text.at, .end = text.at + text.len};
    next(&scan);
    while (scan.is != TOKEN_END) {
        if (scan.begins && is_word(&scan, "import"))
            take_import(&scan, fn, data);
        else if (scan.begins && is_word(&scan, "from"))
            take_from(&scan, fn, data);
        else
            next(&scan);
    }
}

void task_texts_find(struct str text, task_text_fn *fn, void *data) {
    struct scan scan = {.at = text.at, .end = text.at + text.len, .on_text = fn, .data = data};
    do
        next(&scan);
    while (scan.is != TOKEN_END);
}

static bool has_word(struct str text, const char *const *words, size_t count) {
    struct scan scan = {.at = text.at, .end = text.at + text.len};
    for (next(&scan); scan.is != TOKEN_END; next(&scan))
        for (size_t i = 0; scan.is == TOKEN_NAME && i < count; i++)
            if (str_is(scan.text, words[i]))
                return true;
    return false;
}

bool task_imports_by_name(struct str text) {
    static const char *const words[] = {"importlib", "import_module", "__import__", "runpy",
                                        "pkgutil"};
    return has_word(text, words, COUNT_OF(words));
}

bool task_imports_reach_out(struct str text) {
    static const char *const words[] = {
        "open",     "io",       "os",         "sys",        "pathlib",   "Path",    "glob",
        "load",     "loadtxt",  "fromfile",   "genfromtxt", "fromregex", "memmap",  "open_memmap",
        "__file__", "pickle",   "importlib",  "__import__", "exec",      "eval",    "runpy",
        "globals",  "builtins", "subprocess", "socket",     "ctypes",    "pkgutil", "__builtins__"};
    return has_word(text, words, COUNT_OF(words));
}
