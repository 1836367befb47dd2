/* SPDX-License-Identifier: Apache-2.0 */
/* Wiring only: everything starts in the command table of cli/. */
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

/* Files and pipes that are opened later must not become standard output: what is printed would go
 * into them. */
static void open_standard(void) {
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv) {
    open_standard();
    os_keep_private(); /* keys pass through its memory */
    return cli_main(argc, argv);
}
