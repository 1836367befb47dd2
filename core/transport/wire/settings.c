/* SPDX-License-Identifier: Apache-2.0 */
/* The values of ssh_config keywords for one host: keeps them, looks them up, and replaces tokens.
 * They come from settings_read.c and choice.c. */
#include "transport/wire/settings.h"

#include <ctype.h>
#include <pwd.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define MOST_VALUES 64

void settings_free(struct settings *settings) {
    for (size_t i = 0; i < settings->values.len; i++) {
        struct settings_list *list = settings->values.entries[i].value;
        for (size_t j = 0; j < list->all.len; j++)
            free(list->all.at[j]);
        vec_free(&list->all);
        free(list);
    }
    map_free(&settings->values);
    *settings = (struct settings){0};
}

void settings_add(struct settings *settings, struct str keyword, struct str value) {
    char small[64];
    if (!keyword.len || keyword.len >= sizeof small)
        return;
    for (size_t i = 0; i < keyword.len; i++)
        small[i] = (char)tolower((unsigned char)keyword.at[i]);
    struct map_entry *entry = map_put(&settings->values, (struct str){small, keyword.len});
    if (!entry->value)
        entry->value = mem_alloc(1, sizeof(struct settings_list));
    struct settings_list *list = entry->value;
    if (list->all.len >= MOST_VALUES)
        return;
    struct buf text = {0};
    buf_add(&text, value.at, value.len);
    *vec_push(&list->all) = buf_take(&text);
}

const struct settings_list *settings_all(const struct settings *settings, const char *keyword) {
    return map_get(&settings->values, str_of(keyword));
}

const char *settings_get(const struct settings *settings, const char *keyword) {
    const struct settings_list *list = settings_all(settings, keyword);
    if (!list || !list->all.len || !strcasecmp(list->all.at[0], "none"))
        return NULL;
    return list->all.at[0];
}

void settings_take_dump(struct settings *settings, struct str dump) {
    struct str line, keyword;
    while (str_next(&dump, '\n', &line))
        if (str_next(&line, ' ', &keyword))
            settings_add(settings, keyword, str_trim(line));
}

/* $HOME, or the home in the user database. */
static char *settings_home(void) {
    const char *home = getenv("HOME");
    if (home && *home)
        return mem_strdup(home);
    const struct passwd *me = getpwuid(getuid());
    return mem_strdup(me && me->pw_dir ? me->pw_dir : "/");
}

char *settings_user_file(const char *name) {
    struct buf path = {0};
    char *home = settings_home();
    buf_printf(&path, "%s/.ssh/%s", home, name);
    free(home);
    return buf_take(&path);
}

static void put_local_user(struct buf *out) {
    const struct passwd *me = getpwuid(getuid());
    buf_puts(out, me ? me->pw_name : "");
}

static void put_token(const struct settings *settings, char token, const char *name,
                      struct buf *out) {
    const char *host = settings_get(settings, "hostname"), *user = settings_get(settings, "user");
    const char *port = settings_get(settings, "port");
    char *home;
    switch (token) {
    case '%': buf_putc(out, '%'); break;
    case 'd':
        home = settings_home();
        buf_puts(out, home);
        free(home);
        break;
    case 'h': buf_puts(out, host ? host : name); break;
    case 'n': buf_puts(out, name); break;
    case 'p': buf_puts(out, port ? port : "22"); break;
    case 'r':
        if (user)
            buf_puts(out, user);
        else
            put_local_user(out);
        break;
    case 'u': put_local_user(out); break;
    default: /* there is no file of that name, and a message will say so */
        buf_printf(out, "%%%c", token);
    }
}

char *settings_expand(const struct settings *settings, const char *value, const char *name) {
    struct buf out = {0};
    if (value[0] == '~' && (value[1] == '/' || !value[1])) {
        char *home = settings_home();
        buf_puts(&out, home);
        free(home);
        value++;
    }
    for (; *value; value++) {
        if (value[0] == '%' && value[1])
            put_token(settings, *++value, name, &out);
        else
            buf_putc(&out, *value);
    }
    return buf_take(&out);
}
