/* SPDX-License-Identifier: Apache-2.0 */
/* SHA256SUMS of an export, as sha256sum writes and checks it: a line for each file, sorted by name.
 * Its first line, which sha256sum skips, says how many follow, so that a cut one is noticed. It
 * tells damage and edits. It is no signature: who changes a file can write it anew. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/foreign/foreign.h"

#define MANIFEST "SHA256SUMS"
#define HEX ((size_t)64)
#define ALL_MAX ((int64_t)4 << 30) /* bytes of files that one import checks */
#define MANY 6                     /* names that one complaint has */

/* -------------------------------------------------------------------------------- its two kinds */

static void head_print(struct buf *out, size_t count) {
    buf_printf(out, "# %zu files of an export by hone. To check them: sha256sum -c " MANIFEST "\n",
               count);
}

/* sha256sum escapes such names, and says so with a backslash before the line. */
static void line_print(struct buf *out, const char *hex, const char *name) {
    if (strpbrk(name, "\\\n\r"))
        buf_putc(out, '\\');
    buf_printf(out, "%s  ", hex);
    for (; *name; name++) {
        const char *escape = *name == '\\' ? "\\\\" : *name == '\n' ? "\\n" : "\\r";
        if (strchr("\\\n\r", *name))
            buf_puts(out, escape);
        else
            buf_putc(out, *name);
    }
    buf_putc(out, '\n');
}

/* The name that a line has, a new string; NULL when it is no such line, or names no file inside. */
static char *line_name(struct str line) {
    size_t skip = line.len && *line.at == '\\';
    if (line.len < skip + HEX + 3 || memchr(line.at, '\0', line.len))
        return NULL;
    struct str rest = {line.at + skip + HEX + 2, line.len - skip - HEX - 2};
    struct buf name = {0};
    for (size_t i = 0; i < rest.len; i++) {
        bool escaped = skip && rest.at[i] == '\\' && i + 1 < rest.len;
        char c = rest.at[i += escaped];
        buf_putc(&name, !escaped ? c : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
    }
    bool inside = *name.at != '/';
    struct str parts = buf_str(&name), part;
    while (inside && str_next(&parts, '/', &part))
        inside = !str_is(part, "..");
    if (inside)
        return buf_take(&name);
    buf_free(&name);
    return NULL;
}

/* ------------------------------------------------------------------------------------- writing */

struct names {
    VEC(char *) all; /* below the folder */
};

static void names_add(struct names *names, const char *folder, const char *below) {
    char *path = path_join(folder, below);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *name = *below ? path_join(below, entry->d_name) : mem_strdup(entry->d_name);
        char *whole = path_join(folder, name);
        if (file_is_dir(whole))
            names_add(names, folder, name);
        else
            *vec_push(&names->all) = mem_strdup(name);
        free(whole);
        free(name);
    }
    if (dir)
        closedir(dir);
    free(path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool tune_manifest_write(const char *folder, struct err *err) {
    struct names names = {0};
    struct buf text = {0};
    bool ok = true;
    names_add(&names, folder, "");
    if (names.all.len)
        qsort(names.all.at, names.all.len, sizeof *names.all.at, by_name);
    head_print(&text, names.all.len);
    for (size_t i = 0; i < names.all.len; i++) {
        char hex[HEX + 1], *path = path_join(folder, names.all.at[i]);
        ok = ok && file_sha256(path, hex, err);
        if (ok)
            line_print(&text, hex, names.all.at[i]);
        free(names.all.at[i]);
        free(path);
    }
    char *path = path_join(folder, MANIFEST);
    ok = ok && file_write(path, text.at, text.len, err);
    free(path);
    buf_free(&text);
    vec_free(&names.all);
    return ok;
}

/* ------------------------------------------------------------------------------------ checking */

struct check {
    struct tune_foreign *out;
    const char *folder;
    struct foreign_place place; /* the manifest, and where it is read */
    size_t count, wrong;        /* lines; of them that differ */
    int first;                  /* the line of the first */
    struct buf said;            /* names of the first few */
    VEC(const char *) names;
    char *last; /* the name before */
};

static void check_wrong(struct check *check, struct str name) {
    if (!check->wrong)
        check->first = check->place.line;
    if (check->wrong++ >= MANY)
        return;
    buf_printf(&check->said, "%s%.*s", check->said.len ? ", " : "", (int)MIN_OF(name.len, 200),
               name.at);
}

/* Whether the file can still be checked. What a foreign folder makes hone read has a limit. */
static bool check_has_room(struct check *check, const char *path, const char *name) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return true;
    if (info.st_size > ALL_MAX - check->out->summed) {
        foreign_complain(&check->place, "%.200s was not checked: with it, there is more than %d GB",
                         name, (int)(ALL_MAX >> 30));
        return false;
    }
    check->out->summed += info.st_size;
    return true;
}

/* Names are sorted, so no file is read twice. */
static bool line_holds(struct check *check, struct str line, const char *name) {
    char hex[HEX + 1], *path = path_join(check->folder, name);
    bool fits = check_has_room(check, path, name), holds = !fits;
    struct buf as_written = {0};
    if (fits && file_sha256(path, hex, NULL)) {
        line_print(&as_written, hex, name);
        as_written.len--; /* without its end */
        holds = str_equal(buf_str(&as_written), line);
    }
    buf_free(&as_written);
    free(path);
    return holds;
}

static void check_line(struct check *check, struct str line) {
    char *name = line_name(line);
    bool sorted = name && (!check->last || strcmp(check->last, name) < 0);
    check->count++;
    if (!sorted) {
        check_wrong(check, str_of(MANIFEST));
        free(name);
        return;
    }
    free(check->last);
    check->last = name;
    *vec_push(&check->names) = arena_strdup(check->out->arena, name);
    if (!line_holds(check, line, name))
        check_wrong(check, (struct str){line.at + HEX + 2 + (*line.at == '\\'), strlen(name)});
}

static void check_text(struct check *check, struct str text) {
    struct str rest = text, head, line;
    struct buf expected = {0};
    bool some = str_next(&rest, '\n', &head);
    while (rest.len && str_next(&rest, '\n', &line)) {
        check->place.line++;
        check_line(check, line);
    }
    head_print(&expected, check->count);
    struct str begins = {text.at, MIN_OF(text.len, expected.len)};
    bool ends = text.len && text.at[text.len - 1] == '\n';
    check->place.line = 1;
    if (!some || !ends || !str_equal(begins, buf_str(&expected)))
        check_wrong(check, str_of(MANIFEST));
    buf_free(&expected);
}

static void check_tell(struct check *check) {
    check->place.line = check->first;
    if (check->wrong > MANY)
        buf_printf(&check->said, " and %zu more", check->wrong - MANY);
    foreign_complain(&check->place,
                     "changed since the export: %s. What comes from it is marked as altered",
                     check->said.at);
}

static void check_run(struct check *check, struct foreign_export *export) {
    char *path = path_join(check->folder, MANIFEST);
    struct err err = {0};
    size_t size = 0;
    check->place = (struct foreign_place){.out = check->out, .path = path, .line = 1};
    char *text = file_read(path, FOREIGN_FILE_MAX, &size, &err);
    if (text) {
        check_text(check, (struct str){text, size});
    } else {
        foreign_complain(&check->place, "%s", err.text);
        check->wrong++;
    }
    if (text && check->wrong)
        check_tell(check);
    export->altered = check->wrong > 0;
    export->names = arena_alloc(check->out->arena, check->names.len + 1, sizeof(char *));
    for (size_t i = 0; i < check->names.len; i++)
        export->names[i] = check->names.at[i];
    export->count = check->names.len;
    check->out->altered += check->wrong;
    free(text);
    free(path);
}

/* --------------------------------------------------------------------------- the export around it
 */

static bool has(const char *folder, const char *name) {
    char *path = path_join(folder, name);
    bool there = file_exists(path);
    free(path);
    return there;
}

/* The folder of the export that the file lies in, a new string; NULL: it lies in none. One of the
 * three files by which it is known may be gone. */
static char *export_folder(const char *file) {
    char *folder = path_folder(file), *above;
    if (!strcmp(folder, ".")) { /* its name may tell */
        free(folder);
        folder = path_absolute(".");
    }
    if (!strcmp(path_base(folder), "optimization_memory")) {
        above = path_folder(folder);
        free(folder);
        folder = above;
    }
    if (has(folder, "session.json") + has(folder, "events.jsonl") + has(folder, MANIFEST) >= 2)
        return folder;
    free(folder);
    return NULL;
}

static struct foreign_export *export_add(struct tune_foreign *out, const char *folder) {
    struct foreign_export *export = vec_push(&out->exports);
    *export = (struct foreign_export){.folder = arena_strdup(out->arena, folder)};
    struct check check = {.out = out, .folder = folder};
    export->listed = has(folder, MANIFEST);
    if (export->listed) {
        check_run(&check, export);
    } else {
        struct foreign_place place = {.out = out, .path = folder, .line = 1};
        foreign_complain(&place, "the export has no " MANIFEST " (an earlier hone wrote it, or it "
                                 "was removed): nobody can see whether it was changed");
    }
    vec_free(&check.names);
    buf_free(&check.said);
    free(check.last);
    return export;
}

bool foreign_is_altered(struct tune_foreign *out, const char *file) {
    char *folder = export_folder(file);
    struct foreign_export *export = NULL;
    for (size_t i = 0; folder && !export && i < out->exports.len; i++)
        if (!strcmp(out->exports.at[i].folder, folder))
            export = &out->exports.at[i];
    if (folder && !export)
        export = export_add(out, folder);
    free(folder);
    if (!export || !export->listed || export->altered)
        return export && export->altered;
    bool memory = !strcmp(path_base(file), "rewrites.json");
    const char *name = memory ? "optimization_memory/rewrites.json" : path_base(file);
    bool listed = bsearch(&name, export->names, export->count, sizeof *export->names, by_name);
    struct foreign_place place = {.out = out, .path = file, .line = 1};
    if (!listed) {
        out->altered++;
        foreign_complain(&place, "it was not part of the export: what comes from it is marked as "
                                 "altered");
    }
    return !listed;
}
