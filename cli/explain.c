/* SPDX-License-Identifier: Apache-2.0 */
/* hone explain: what a code means and what to do about it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "nki/nki.h"

static void print_one(const struct nki_code *code) {
    const char *name = strstr(code->what, "{}"); /* a lint's: whatever it found */
    printf("%s: ", code->code);
    if (name)
        printf("%.*sNAME%s", (int)(name - code->what), code->what, name + 2);
    else
        fputs(code->what, stdout);
    printf(".\n    %s\n", code->fix);
}

int cli_explain(const struct cli *cli) {
    if (!cli->args.len) {
        const struct nki_code *code;
        for (size_t i = 0; (code = nki_code_at(i)); i++)
            printf("%s  %s\n", code->code, code->what);
        return CLI_OK;
    }
    struct nki_code own;
    const struct nki_code *code = nki_code_find(cli->args.at[0], &own);
    struct err err = {0};
    if (code) {
        print_one(code);
        return CLI_OK;
    }
    bool is_compilers = !strncmp(cli->args.at[0], "NCC_", 4);
    err_set(&err, ERR_USAGE, "nothing is known about %.60s%s%s; hone explain lists the known ones",
            cli->args.at[0], is_compilers ? ", of the class " : "",
            is_compilers ? nki_code_cause(cli->args.at[0]) : "");
    return cli_fail(cli, &err);
}
