/* SPDX-License-Identifier: Apache-2.0 */
/* Wiring only: everything starts in the command table of cli/. */
#include "base/base.h"
#include "cli/cli.h"

int main(int argc, char **argv) {
    os_keep_private(); /* keys pass through its memory */
    return cli_main(argc, argv);
}
