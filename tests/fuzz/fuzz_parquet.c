/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as a table in Parquet: they are refused with a word, or their rows can be read and
 * every text in them is there. The files of tests/query/tables are its examples. */
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "query/parquet/parquet.h"

#define MOST_ROWS 20000

struct seen {
    size_t columns, rows, letters;
};

static bool on_row(void *data, const struct parquet_value *values) {
    struct seen *seen = data;
    for (size_t i = 0; i < seen->columns; i++)
        for (size_t k = 0; values[i].type == PARQUET_TEXT && k < values[i].text.len; k++)
            seen->letters += values[i].text.at[k] == 'e'; /* under a sanitizer: it is ours */
    return ++seen->rows < MOST_ROWS;
}

static void read_all(struct parquet *parquet) {
    struct seen seen = {.columns = parquet_column_count(parquet)};
    struct err err = {0};
    int *columns = mem_alloc(seen.columns + 1, sizeof *columns);
    for (size_t i = 0; i < seen.columns; i++)
        columns[i] = parquet_column(parquet, parquet_column_name(parquet, i));
    bool ok = parquet_read(parquet, columns, seen.columns, on_row, &seen, &err);
    if (!ok && !err.text[0])
        HONE_BUG("a table was refused without a word");
    free(columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/hone_fuzz_XXXXXX";
    struct err err = {0};
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        HONE_BUG("there is no room in /tmp");
    close(fd);
    struct parquet *parquet = parquet_open(path, &err);
    if (!parquet && !err.text[0])
        HONE_BUG("a file was refused without a word");
    if (parquet)
        read_all(parquet);
    parquet_close(parquet);
    unlink(path);
    return 0;
}

#ifndef HONE_LIBFUZZER

static void begin(struct fuzz *fuzz) {
    glob_t found = {0};
    struct err err = {0};
    glob(HONE_SOURCE_DIR "/tests/query/tables/*/*.parquet", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t size = 0;
        char *text = file_read(found.gl_pathv[i], 1 << 20, &size, &err);
        if (text)
            buf_add(fuzz_example(fuzz), text, size);
        free(text);
    }
    globfree(&found);
}

static const char *const examples[] = {"PAR1PAR1"};
static const char *const pieces[] = {"PAR1", "\xff\xff\xff\xff\x07", "\x15\x04", "\x19\xfc"};
static const struct fuzz_target target = {
    .name = "parquet", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces), .begin = begin};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
