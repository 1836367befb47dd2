/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit/facts.h"

#include <stddef.h>

const struct cli_fact cli_statuses[] = {
    {"0", "done"},
    {"1", "the kernel failed: it does not compile, is not correct, not credible, or too slow"},
    {"2", "wrong usage: an option, a path, a reference that cannot be run"},
    {"3", "the environment failed: Python, a host, a model's service, the disk"},
    {"4", "a session is damaged, or was taken away while hone used it"},
    {NULL, NULL},
};

const struct cli_fact cli_variables[] = {
    {"HONE_PYTHON", "The Python that runs references. It must import numpy."},
    {"HONE_SECTION_KEY", "A setting of the configuration: HONE_HOST_TRN2_PORT sets port of [host "
                         "trn2], HONE_CACHE_LIMIT sets limit of [cache]."},
    {"HONE_ASCII", "Draw with ASCII characters only."},
    {"HONE_BACKGROUND", "light or dark: the terminal's background, if hone cannot find it out."},
    {"HONE_NO_MOUSE", "Leave the mouse to the terminal."},
    {"NO_COLOR", "Draw without colours."},
    {"EDITOR, VISUAL", "The editor for kernels, prompts and questions."},
    {"ANTHROPIC_API_KEY, OPENAI_API_KEY",
     "Keys of language models, where the configuration names no other source. For Bedrock "
     "AWS_ACCESS_KEY_ID and the others that AWS's tools use, or AWS_BEARER_TOKEN_BEDROCK."},
    {"HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
     "The proxy for language models, except for servers on this machine. proxy of [model NAME] "
     "wins over it."},
    {"SSL_CERT_FILE", "Certificate authorities to trust for language models' servers, instead of "
                      "the system's. ca_file of [model NAME] wins over it."},
    {"XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME",
     "Where hone's folders are. Default: ~/.config, ~/.cache and ~/.local/state."},
    {NULL, NULL},
};

const struct cli_fact cli_files[] = {
    {"~/.config/hone/config.ini", "Your settings, hosts, clusters and models."},
    {"~/.config/hone/keys", "Your key bindings, a line each: SCREEN KEY COMMAND, as \"any x undo\" "
                            "or \"history d compare\". The command none takes a key away."},
    {"~/.config/hone/prices.ini",
     "What language models cost: [MODEL] lines, and input, output, cache_read and cache_write in "
     "dollars per million tokens, for prompts of at most up_to tokens."},
    {"~/.config/hone/prompts/", "Templates of prompts that replace the ones built in."},
    {"~/.config/hone/seeds/", "Tasks that you can name without a path, like the built-in seeds."},
    {"TASK/.hone/config.ini", "Settings of one task; only harmless ones are allowed."},
    {"TASK/.hone/NAME/", "A session: session.db (the log), experiments.jsonl, checkpoints, "
                         "artifacts."},
    {"~/.cache/hone/", "Inputs and outputs of references, up to limit of [cache], and other things "
                       "that hone can make again. hone clean empties it."},
    {"~/.local/state/hone/", "Recent sessions, and the last known state of hosts."},
    {"~/.local/state/hone/calibrated/", "Constants of the device model for each host, as hone "
                                        "calibrate found them."},
    {"~/.hone/", "On a host: runner, jobs and caches."},
    {NULL, NULL},
};

const struct cli_fact cli_examples[] = {
    {"hone", "Open the workbench with a recent session or a seed."},
    {"hone sim matmul", "Evaluate the seed task matmul on the device model."},
    {"hone sim kernel.py --input x=128x1024:float32 --no-verify",
     "Time a kernel without a reference."},
    {"hone sim my_task --fail-above 400us --junit silu.xml",
     "In continuous integration: fail when the kernel is wrong or too slow."},
    {"hone run my_task --rounds 8", "Tune a kernel without a screen."},
    {"hone run my_task --proposer anthropic/claude-sonnet-5-5 --dollars 5",
     "Have a language model propose, for at most five dollars."},
    {"hone host add trn2 ubuntu@10.0.0.5", "Add a host and try the connection."},
    {"hone my_task --target trn2", "Tune on that host."},
    {"hone calibrate trn2", "Fit the device model to that host."},
    {"hone explain HBM read", "What a word on a screen means."},
    {NULL, NULL},
};
