/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as command lines: each line of the input is an argument. They are read by the table
 * but not run. The messages about them are checked as a terminal would get them. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/testing.h"
#include "cli/cli.h"
#include "fuzz/fuzz.h"
#include "tune/tune.h"

#define MOST_ARGUMENTS 40

/* Line ends and tabs are the control characters that may be printed. */
static void check_said(struct str said) {
    while (said.len) {
        uint32_t code;
        size_t len = text_decode(said, &code);
        if (code == TEXT_INVALID || (code != '\n' && code != '\t' && text_is_unsafe(code)))
            HONE_BUG("a complaint that a terminal would act on");
        said.at += len;
        said.len -= len;
    }
}

static void check_command(const struct cli *cli) {
    double number, limits[TUNE_BUDGETS];
    const struct cli_command *command = cli->command;
    int count = (int)cli->args.len;
    if (!command || count < command->least_args || count > command->most_args)
        HONE_BUG("a command without what it needs");
    for (size_t i = 0; i < cli->given.len; i++) {
        const struct cli_given *given = &cli->given.at[i];
        if ((given->option->value != NULL) != (given->value != NULL))
            HONE_BUG("a flag with a value, or an option without");
        if (given->value && cli_number(cli, given->option->name, 0, 100, &number) &&
            !(number >= 0 && number <= 100))
            HONE_BUG("a number beyond its limits");
    }
    (void)cli_limits(cli, limits);
}

static void read_line(int argc, char **argv) {
    struct cli cli = {0};
    int status = -1;
    if (cli_read(&cli, argc, argv, &status))
        check_command(&cli);
    else if (status != CLI_OK && status != CLI_WRONG_USAGE)
        HONE_BUG("a command line that ends in nothing known");
    cli_fini(&cli);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *argv[MOST_ARGUMENTS + 2] = {mem_strdup("hone")}, *said = NULL;
    int argc = 1;
    size_t said_len = 0;
    struct str rest = {(const char *)data, size}, line;
    while (argc < MOST_ARGUMENTS && str_next(&rest, '\n', &line)) {
        argv[argc] = mem_alloc(line.len + 1, 1);
        memcpy(argv[argc++], line.at ? line.at : "", line.len);
    }
    FILE *out = stdout, *err = stderr; /* a broken invariant in there shows by its signal */
    stdout = stderr = open_memstream(&said, &said_len);
    read_line(argc, argv);
    fclose(stdout);
    stdout = out;
    stderr = err;
    check_said((struct str){said, said_len});
    free(said);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return 0;
}

#ifndef HONE_LIBFUZZER

/* Each command with its options, as help has them. */
static void begin_commands(struct fuzz *fuzz) {
    for (const struct cli_command *row = cli_commands; row->name; row++)
        for (const struct cli_option *option = row->options; option && option->name; option++) {
            struct buf *example = fuzz_example(fuzz);
            buf_printf(example, "%s\n--%s%s%s\nsoftmax\n", row->name, option->name,
                       option->value ? "=" : "", option->value ? "4" : "");
        }
}

static const char *const examples[] = {
    "sim\nsoftmax\n--device\ntrn2\n--seeds=0,21\n--fail-above\n400us\n",
    "--version\n",
    "--help\n",
    "run\nsoftmax\n--rounds\n3\n--wall=2h\n--json\n",
    "session\ncheck\nsoftmax\n",
    "siim\nsoftmax\n",
    "check\n--\n--odd\n",
};
static const char *const pieces[] = {"--",           "\n",           "=",        "-",    "--help\n",
                                     "\x1b]0;x\x07", "\xe2\x80\xae", "1e999",    "-1",   "nan",
                                     "0x10",         "--json\n",     "--device", "%s%n", "'",
                                     "trn9",         "\xff",         "|"};
static const struct fuzz_target target = {.name = "arguments",
                                          .begin = begin_commands,
                                          FUZZ_TABLE(example, examples),
                                          FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
