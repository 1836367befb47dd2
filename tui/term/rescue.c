/* SPDX-License-Identifier: Apache-2.0 */
/* What a crash leaves behind: the ordinary screen, a visible cursor, the modes that the shell had,
 * and, for whoever waits, the signal that killed us. It uses only calls that a signal handler may
 * make. The state is the file's own, because a signal handler gets no argument. */
#include "tui/term/rescue.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/base.h"

static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

static struct {
    struct termios modes;
    struct sigaction old[COUNT_OF(crashes)];
    volatile sig_atomic_t armed;
} rescue;

static void on_crash(int signum) {
    static const char reset[] =
        "\033[?2004l\033[?1006l\033[?1000l\033[23;2t\033[m\033[?1049l"
        "\033[?25h\r\nhone crashed; the session on disk is whole: start hone again to "
        "go on.\r\n";
    if (rescue.armed) {
        rescue.armed = 0;
        if (write(STDOUT_FILENO, reset, sizeof reset - 1) < 0)
            rescue.armed = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &rescue.modes);
    }
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        if (crashes[i] == signum)
            sigaction(signum, &rescue.old[i], NULL);
    raise(signum);
}

void rescue_arm(void) {
    if (rescue.armed || tcgetattr(STDIN_FILENO, &rescue.modes) != 0)
        return;
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_NODEFER};
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        sigaction(crashes[i], &action, &rescue.old[i]);
    rescue.armed = 1;
}

void rescue_disarm(void) {
    if (!rescue.armed)
        return;
    rescue.armed = 0;
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        sigaction(crashes[i], &rescue.old[i], NULL);
}
