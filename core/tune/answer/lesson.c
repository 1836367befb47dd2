/* SPDX-License-Identifier: Apache-2.0 */
/* A summary or a lesson out of a model's answer: labelled lines or JSON, in whatever prose stands
 * around them. It reads words; what they are worth is for the person. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>

#include "tune/answer/answer.h"

#define MAX_ANSWER ((size_t)256 << 10)

enum field { TITLE, SUMMARY, DIAGNOSIS, LESSON, FIELDS };

static const size_t most[FIELDS] = {
    [TITLE] = 120, [SUMMARY] = 2000, [DIAGNOSIS] = 200, [LESSON] = 1200};

/* How models call the fields. */
static const struct {
    const char *label;
    enum field field;
} labels[] = {
    {"title", TITLE},        {"name", TITLE},          {"summary", SUMMARY},
    {"experience", SUMMARY}, {"description", SUMMARY}, {"diagnosis", DIAGNOSIS},
    {"verdict", DIAGNOSIS},  {"lessons", LESSON},      {"lesson", LESSON},
    {"learned", LESSON},     {"learnt", LESSON},
};

struct draft {
    struct buf text[FIELDS];
};

static struct str without(struct str text, const char *marks) {
    while (text.len && strchr(marks, *text.at)) {
        text.at++;
        text.len--;
    }
    return text;
}

/* "**Lesson:** text", "- lesson: text", "## Lesson": the field and what follows. */
static bool line_label(struct str line, enum field *field, struct str *value) {
    struct str all = str_trim(line), rest = without(all, "#*->_`\" \t0123456789.");
    bool heading = all.len && *all.at == '#';
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        size_t len = strlen(labels[i].label);
        if (rest.len < len || strncasecmp(rest.at, labels[i].label, len) != 0)
            continue;
        struct str after = without((struct str){rest.at + len, rest.len - len}, "*_`\" \t");
        bool colon = after.len && *after.at == ':';
        if (!colon && !(heading && !after.len))
            continue;
        *field = labels[i].field;
        *value = colon ? without((struct str){after.at + 1, after.len - 1}, "* \t") : after;
        return true;
    }
    return false;
}

static void read_lines(struct draft *draft, struct str answer) {
    struct str line, value;
    int field = -1;
    while (str_next(&answer, '\n', &line)) {
        enum field label;
        if (line_label(line, &label, &value)) {
            /* The first answer counts. */
            field = draft->text[label].len ? -1 : (int)label;
            line = value;
        } else if (str_starts(str_trim(line), "```") || str_starts(str_trim(line), "---")) {
            field = -1;
        }
        if (field < 0 || draft->text[field].len > most[field])
            continue;
        if (draft->text[field].len)
            buf_putc(&draft->text[field], '\n');
        buf_add(&draft->text[field], line.at, line.len);
    }
}

static void read_object(struct draft *draft, const cJSON *object) {
    for (const cJSON *item = object->child; item; item = item->next)
        for (size_t i = 0; i < COUNT_OF(labels) && item->string; i++) {
            struct buf *text = &draft->text[labels[i].field];
            if (strcasecmp(item->string, labels[i].label) != 0 || text->len)
                continue;
            if (cJSON_IsString(item))
                buf_puts(text, item->valuestring);
            else if (cJSON_IsBool(item))
                buf_puts(text, cJSON_IsTrue(item) ? "right" : "wrong");
        }
}

static void read_json(struct draft *draft, struct str answer) {
    int tries = 20;
    for (size_t i = 0; i < answer.len && tries > 0; i++) {
        if (answer.at[i] != '{')
            continue;
        tries--;
        cJSON *root = cJSON_ParseWithLength(answer.at + i, answer.len - i);
        if (root)
            read_object(draft, root);
        cJSON_Delete(root);
        if (root)
            return;
    }
}

/* One line of text: paragraphs run together. */
static const char *keep(struct arena *arena, const struct draft *draft, enum field field) {
    struct str all = str_trim(buf_str(&draft->text[field]));
    all = without(all, "*_`\"");
    while (all.len && strchr("*_`\" \n", all.at[all.len - 1]))
        all.len--;
    if (!all.len)
        return NULL;
    char *text = arena_strndup(arena, all.at, MIN_OF(all.len, most[field]));
    for (char *at = text; *at; at++)
        if (isspace((unsigned char)*at))
            *at = ' ';
    return text;
}

static bool has_word(const char *text, const char *word) {
    return text && strcasestr(text, word) != NULL;
}

/* "not right" and "incorrect" are wrong; "partly" is neither. */
static enum tune_answer diagnosis_of(const char *text) {
    static const struct {
        const char *word;
        enum tune_answer answer;
    } words[] = {{"unclear", TUNE_ANSWER_INCONCLUSIVE},
                 {"part", TUNE_ANSWER_INCONCLUSIVE},
                 {"unknown", TUNE_ANSWER_INCONCLUSIVE},
                 {"wrong", TUNE_ANSWER_NO},
                 {"incorrect", TUNE_ANSWER_NO},
                 {"not ", TUNE_ANSWER_NO},
                 {"false", TUNE_ANSWER_NO},
                 {"right", TUNE_ANSWER_YES},
                 {"correct", TUNE_ANSWER_YES},
                 {"true", TUNE_ANSWER_YES},
                 {"confirmed", TUNE_ANSWER_YES}};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (has_word(text, words[i].word))
            return words[i].answer;
    return TUNE_ANSWER_UNKNOWN;
}

bool tune_answer_lesson(struct str answer, bool reflects, struct arena *arena,
                        struct tune_lesson *lesson, struct err *err) {
    struct draft draft = {0};
    if (answer.len > MAX_ANSWER)
        answer.len = MAX_ANSWER;
    read_json(&draft, answer);
    if (!draft.text[reflects ? LESSON : SUMMARY].len)
        read_lines(&draft, answer);
    *lesson = (struct tune_lesson){
        .title = keep(arena, &draft, TITLE),
        .text = keep(arena, &draft, reflects ? LESSON : SUMMARY),
        .diagnosis = diagnosis_of(keep(arena, &draft, DIAGNOSIS)),
    };
    for (int i = 0; i < FIELDS; i++)
        buf_free(&draft.text[i]);
    if (lesson->text && (reflects || lesson->title))
        return true;
    return err_set(err, ERR_KERNEL, "%s",
                   reflects ? "there is no lesson in the answer; write two lines that begin with "
                              "diagnosis: and lesson:"
                            : "there is no title or no summary in the answer; write two lines that "
                              "begin with title: and summary:");
}
