/* SPDX-License-Identifier: Apache-2.0 */
/* Wiring only: everything starts in the command table of cli/. */
#include "cli/cli.h"

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
