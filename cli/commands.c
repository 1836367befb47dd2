/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands and options. What a command does is in its own file. help.c, man.c and
 * completion.c turn the table into help, manual and completion. */
#include "cli/cli.h"

#define OPTION_PRECISION                                                                          \
    {                                                                                             \
        "precision", "WHICH", "keep|split|any",                                                   \
            "How exact the kernel computes. keep: never in narrower types than the first kernel " \
            "or the reference; split: products of fp32 may be sums of bf16 products; any: "       \
            "whatever the tolerance takes. Default: keep.",                                       \
            false                                                                                 \
    }
#define OPTION_DEVICE                                                                             \
    {                                                                                             \
        "device", "NAME", "trn1|trn2|trn3", "The generation of the device model. Default: trn2.", \
            false                                                                                 \
    }
#define RELEASES "0.1|0.2|0.3|0.4|0.5|0.6|0.7|2.27|2.28|2.29|2.30|2.31|2.32|2.33"
#define OPTION_RELEASE                                                                            \
    {                                                                                             \
        "release", "R", RELEASES,                                                                 \
            "The release of the package nki that the kernel is for, by its number or the SDK's: " \
            "what its compiler refuses is an error. Kernels of neuronxcc.nki are read as such. "  \
            "Default: [defaults] release, else what the target has, else the newest.",            \
            false                                                                                 \
    }
#define OPTION_TRACING                                                                             \
    {                                                                                              \
        "tracing", "WHO", "hone|python3",                                                          \
            "Who evaluates the kernel: hone's interpreter, or a Python of this machine behind "    \
            "the wall, for NKI 0.7 with others' modules. Default: [defaults] tracing, else hone.", \
            false                                                                                  \
    }
#define OPTION_REFERENCE                                                              \
    {                                                                                 \
        "reference", "FILE", NULL,                                                    \
            "The reference: a Python file with get_inputs() and forward(). Default: " \
            "reference.py beside kernel.py.",                                         \
            false                                                                     \
    }
#define OPTION_KERNEL_NAME                                                                       \
    {                                                                                            \
        "kernel-name", "NAME", NULL, "Which function is the kernel, when the file has several.", \
            false                                                                                \
    }
#define OPTION_LNC_KEPT                                                                            \
    {                                                                                              \
        "lnc", "N", "1|2",                                                                         \
            "Physical cores of a logical one that the device model launches kernels on (trn2 and " \
            "later, current dialect). A session keeps what it began with; hosts have a setting "   \
            "of their own. Default: [defaults] lnc, else as the kernel's file launches it.",       \
            false                                                                                  \
    }
#define OPTION_KERNEL_NAME_KEPT                                                                 \
    {                                                                                           \
        "kernel-name", "NAME", NULL,                                                            \
            "Which function to tune, when the file has several kernels. The session keeps the " \
            "choice. "                                                                          \
            "Default: the last function that no other one calls.",                              \
            false                                                                               \
    }
#define OPTION_INPUT                                                                             \
    {                                                                                            \
        "input", "NAME=SHAPE:DTYPE", NULL,                                                       \
            "An input instead of a reference: x=4096x1024:float32, a number (eps=1e-5), a file " \
            "(x=x.npy, x=codes.npy:bfloat16), raw numbers (x=x.bin:4096x1024:bfloat16). Once "   \
            "for each parameter.",                                                               \
            true                                                                                 \
    }
#define OPTION_LNC                                                                               \
    {                                                                                            \
        "lnc", "N", "1|2",                                                                       \
            "Launch the kernel on so many physical cores of a logical one, as kernel[2](..) "    \
            "does (trn2 and later, current dialect). Default: as the file launches it, else 1.", \
            false                                                                                \
    }
#define OPTION_AS                                                                                 \
    {                                                                                             \
        "as", "PATH", NULL,                                                                       \
            "Read the kernel's text as if it stood at PATH: modules are looked for there.", false \
    }
#define OPTION_STRICT                                                                              \
    {                                                                                              \
        "strict", NULL, NULL,                                                                      \
            "Also report what compilers up to NKI 0.6 refuse of Python, for any --release.", false \
    }
#define OPTION_PESSIMISTIC                                                                        \
    {                                                                                             \
        "pessimistic", NULL, NULL,                                                                \
            "The device model takes fitted and guessed constants at the end of their range that " \
            "makes kernels slower. A session keeps what it began with.",                          \
            false                                                                                 \
    }
#define OPTION_TARGET                                                                              \
    {                                                                                              \
        "target", "NAME", NULL,                                                                    \
            "Where kernels run: sim (the device model on this machine), a host or a cluster from " \
            "the configuration, a name from ~/.ssh/config, or user@host. Default: [defaults] "     \
            "target, else sim.",                                                                   \
            false                                                                                  \
    }
#define OPTION_PROPOSER                                                                      \
    {                                                                                        \
        "proposer", "NAME", NULL,                                                            \
            "Who proposes: rewriter (no model), models (those of [roles]), a [model NAME], " \
            "SERVICE/MODEL, human: you are asked, or agents: those of hone mcp, who hand "   \
            "kernels in. Default: [defaults] proposer, else rewriter.",                      \
            false                                                                            \
    }
#define OPTION_SEEDS \
    { "seeds", "LIST", NULL, "Seeds of the inputs to verify with. Default: 0,21,42,63,84.", false }
#define OPTION_TOLERANCE                                                                       \
    {                                                                                          \
        "tolerance", "X", NULL,                                                                \
            "The largest relative L2 error that counts as correct. Default: TOLERANCE of the " \
            "reference, else 2e-5.",                                                           \
            false                                                                              \
    }
#define OPTION_JUNIT \
    { "junit", "FILE", NULL, "Also write what was found to FILE as JUnit XML, for CI.", false }
#define OPTION_JSON \
    { "json", NULL, NULL, "Print one JSON object instead of text.", false }
#define OPTIONS_END \
    { NULL, NULL, NULL, NULL, false }

static const struct cli_option new_options[] = {
    OPTION_REFERENCE,
    {"from", "KERNEL", NULL,
     "Write what this kernel computes (hone lift) instead of what the reference says: a kernel of "
     "the older dialect becomes one of the current dialect. The reference makes the inputs.",
     false},
    {"dialect", "WHICH", "current|legacy",
     "The dialect of the kernel: legacy is the older one, neuronxcc.nki, the only one for trn1 on "
     "hardware. Default: current.",
     false},
    OPTION_RELEASE,
    OPTION_DEVICE,
    OPTION_PRECISION,
    {"choose", "KEY=VALUE", NULL, "Decide one choice of the schedule yourself; may be repeated.",
     true},
    {"choices", NULL, NULL, "Print what can be chosen; nothing is written.", false},
    {"scheduled", NULL, NULL,
     "Search the choices by the device model's clock, and write the fastest kernel found.", false},
    {"budget", "N", NULL, "Schedules that --scheduled judges. Default: 300.", false},
    {"no-sim", NULL, NULL, "Do not evaluate the kernel.", false},
    OPTIONS_END,
};
static const struct cli_option sim_options[] = {
    OPTION_REFERENCE,
    OPTION_TRACING,
    OPTION_RELEASE,
    OPTION_DEVICE,
    OPTION_KERNEL_NAME,
    OPTION_SEEDS,
    OPTION_TOLERANCE,
    OPTION_LNC,
    {"no-verify", NULL, NULL, "Do not compute results: compile and time only.", false},
    {"no-time", NULL, NULL, "Do not time: compile and verify only.", false},
    {"compare", "FILE", NULL,
     "A kernel that is right. Where numbers are wrong, the tiles of both are compared, and "
     "statements that only the wrong one has are suspected first.",
     false},
    OPTION_INPUT,
    {"break", "LINE[:N]", NULL,
     "Show what the N-th instruction of a line reads and writes, with the inputs of the first "
     "seed: "
     "range, NaN, zeros, corners and a map of each tile. Default: the line's first. What "
     "nl.device_print prints is shown always.",
     false},
    {"save-outputs", "FOLDER", NULL,
     "Write what the kernel returns to FOLDER/output_0.npy, output_1.npy and so on; with a "
     "reference, each seed gets a folder. bfloat16 and fp8 are written as their codes.",
     false},
    {"profile", "FILE", NULL, "Write the profile with its timeline to FILE (JSON).", false},
    {"fail-above", "TIME", NULL,
     "Exit with status 1 when the latency is above TIME (400us, 1.5ms), even if the kernel is "
     "correct.",
     false},
    OPTION_JUNIT,
    {"time-limit", "SECONDS", NULL, "Stop the evaluation after this time. Default: 600.", false},
    {"constants", "HOST", NULL,
     "Time with the constants that hone calibrate found for HOST, or with those of a file (a path "
     "with a slash).",
     false},
    {"unrounded", NULL, NULL,
     "Let tiles of bfloat16, float16 and 8-bit floats keep float32, which the device does not do: "
     "what is wrong then as well is the algorithm's, not rounding's.",
     false},
    OPTION_PESSIMISTIC,
    OPTION_STRICT,
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option check_options[] = {
    OPTION_REFERENCE, OPTION_RELEASE, OPTION_DEVICE, OPTION_LNC,  OPTION_KERNEL_NAME,
    OPTION_INPUT,     OPTION_STRICT,  OPTION_JUNIT,  OPTION_JSON, OPTIONS_END,
};

static const struct cli_option lift_options[] = {
    OPTION_REFERENCE,
    OPTION_RELEASE,
    OPTION_DEVICE,
    OPTION_KERNEL_NAME,
    OPTION_INPUT,
    {"no-verify", NULL, NULL, "Do not execute the kernel to compare its results.", false},
    {"json", NULL, NULL, "Print the graph as JSON instead of text.", false},
    OPTIONS_END,
};

static const struct cli_option migrate_options[] = {
    {"to", "R", RELEASES,
     "The release of nki to migrate to, by its number or the SDK's. Default: "
     "the newest.",
     false},
    {"from", "R", "legacy|" RELEASES,
     "The release that the kernel is for; legacy is neuronxcc.nki. Default: as its imports and "
     "names show.",
     false},
    {"write", NULL, NULL, "Write the new source to the kernel's file instead of printing the diff.",
     false},
    OPTION_REFERENCE,
    OPTION_DEVICE,
    OPTION_KERNEL_NAME,
    OPTION_INPUT,
    {"seeds", "LIST", NULL, "Seeds to compare numbers on. Default: 0,21,42,63,84.", false},
    {"no-verify", NULL, NULL, "Do not compare what the kernel computes before and after.", false},
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option query_options[] = {
    {"recipe", "NAME", NULL, "Ask a question that is ready to run instead of SQL.", false},
    {"recipes", NULL, NULL, "List the recipes; with a name as argument, print its SQL.", false},
    {"tables", NULL, NULL, "List the tables; with names as arguments, their columns, too.", false},
    {"attempt", "N", NULL,
     "Which attempt of the session the profile is of; TASK#N is the same. Default: the best one of "
     "a session, the kernel itself of a task.",
     false},
    {"rows", "N", NULL, "The most rows to print. Default: 1000 as text, else all.", false},
    {"time-limit", "SECONDS", NULL, "How long the question may take. Default: 30.", false},
    OPTION_REFERENCE,
    OPTION_RELEASE,
    OPTION_DEVICE,
    OPTION_LNC,
    OPTION_PESSIMISTIC,
    OPTION_KERNEL_NAME,
    OPTION_AS,
    OPTION_INPUT,
    {"csv", NULL, NULL, "Print CSV (RFC 4180) instead of text.", false},
    {"json", NULL, NULL,
     "Print one JSON object instead of text: columns, rows (a list for each), cut.", false},
    OPTIONS_END,
};

static const struct cli_option profile_options[] = {
    {"format", "NAME", "text|json|perfetto|sqlite|csv",
     "text: what to ask first. json: all tables. perfetto: the timeline, for ui.perfetto.dev and "
     "chrome://tracing. sqlite: all tables as a database, with the session's. csv: one table. "
     "Default: text.",
     false},
    {"output", "FILE", NULL, "Where to write it. Default: standard output.", false},
    {"table", "NAME", NULL, "The table of --format csv. Default: Instruction.", false},
    {"what-if", "all|LINE:TO", NULL,
     "Time a change instead: the instructions of a line of the kernel on another engine (vector, "
     "scalar, gpsimd, tensor), the tiles that it writes in another memory (sbuf, psum) or in two "
     "buffers in turn (buffers). all: those that promise most, and what each engine's being "
     "infinitely fast would bring.",
     false},
    {"attempt", "N", NULL, "Which attempt of the session; TASK#N is the same.", false},
    OPTION_REFERENCE,
    OPTION_RELEASE,
    OPTION_DEVICE,
    OPTION_LNC,
    OPTION_PESSIMISTIC,
    OPTION_KERNEL_NAME,
    OPTION_AS,
    OPTION_INPUT,
    OPTIONS_END,
};
static const struct cli_option diff_options[] = {
    OPTION_REFERENCE,   OPTION_RELEASE, OPTION_DEVICE, OPTION_LNC,  OPTION_PESSIMISTIC,
    OPTION_KERNEL_NAME, OPTION_INPUT,   OPTION_JSON,   OPTIONS_END,
};

#define OPTION_SEARCH                                                                             \
    {                                                                                             \
        "search", "NAME", NULL,                                                                   \
            "greedy: one direction at a time. beam:PARENTS,PLANS,REWRITES, as beam:2,3: each "    \
            "round starts from several attempts, makes several plans for each, and models write " \
            "each plan several times; numbers you leave out come from [search]. "                 \
            "Default: [defaults] search, else greedy.",                                           \
            false                                                                                 \
    }

/* All of them stop the loop before they are exceeded. */
#define OPTIONS_LIMITS                                                                          \
    {"wall", "SECONDS", NULL,                                                                   \
     "Limit of the time that the loop works by itself. In a session that exists, this limit "   \
     "and the three below allow that much more. Default: [budgets] of the configuration, else " \
     "none.",                                                                                   \
     false},                                                                                    \
        {"device-time", "SECONDS", NULL,                                                        \
         "Limit of the time on the device, or of the device model.", false},                    \
        {"tokens", "N", NULL, "Limit of the tokens of questions and answers.", false},          \
        {"dollars", "X", NULL, "Limit of what models cost; each model needs a price.", false},

static const struct cli_option workbench_options[] = {
    OPTION_REFERENCE,
    OPTION_KERNEL_NAME_KEPT,
    OPTION_RELEASE,
    OPTION_TRACING,
    OPTION_DEVICE,
    OPTION_TARGET,
    OPTION_PROPOSER,
    OPTION_SEARCH,
    OPTION_PRECISION,
    OPTION_LNC_KEPT,
    {"rounds", "N", NULL, "Stop after this many rounds. Default: 50, 10 with a beam.", false},
    OPTIONS_LIMITS{"gate", "GATE", "ask|auto|auto-green",
                   "The gate after each step: ask waits for you, auto goes on, auto-green goes on "
                   "when the step came out well. Default: ask.",
                   false},
    {"session", "FOLDER", NULL, "Where the session is kept. Default: .hone/TASK beside the kernel.",
     false},
    {"fresh", NULL, NULL, "Start over; the old session is moved aside, not deleted.", false},
    {"read-only", NULL, NULL, "Look at a session without changing it.", false},
    OPTIONS_END,
};

static const struct cli_option run_options[] = {
    {"rounds", "N", NULL,
     "Go on for at most this many rounds from here. It holds for this run; the session keeps its "
     "own limit. Default: what is left of that (50 rounds, 10 with a beam).",
     false},
    {"gate", "WHEN", "ask|auto|auto-green",
     "Who decides after each step. ask: you, at this terminal, or with --json a program, by JSON "
     "lines on standard input (doc/events.md); auto: the loop; auto-green: the "
     "loop when the step came out well, else you. It holds for this run; in the workbench the "
     "session's own gates stand. Where it is given, auto also approves what waits for you there "
     "already. Default: auto.",
     false},
    OPTION_RELEASE,
    OPTION_TRACING,
    OPTION_DEVICE,
    OPTION_TARGET,
    OPTION_PROPOSER,
    OPTION_SEARCH,
    OPTION_REFERENCE,
    OPTION_KERNEL_NAME_KEPT,
    OPTION_PRECISION,
    OPTION_PESSIMISTIC,
    OPTION_LNC_KEPT,
    OPTION_SEEDS,
    OPTION_TOLERANCE,
    OPTIONS_LIMITS{"session", "DIR", NULL,
                   "The session's folder. Default: .hone/TASK beside the kernel.", false},
    {"changed", "WHAT", "take|keep",
     "What to do when a file of the task differs on disk from the session's copy. take: go on with "
     "the file on disk and measure everything again; keep: go on with the session's copy. Default: "
     "show the difference and end with status 2.",
     false},
    {"fresh", NULL, NULL,
     "Start over: an existing session is moved aside; its optimisation memory stays.", false},
    {"json", NULL, NULL, "Print one JSON event a line; the last one is \"end\".", false},
    OPTIONS_END,
};

static const struct cli_option mcp_options[] = {
    {"gate", "WHEN", "ask|auto|auto-green",
     "Who decides after each step, for this run. ask: a person, in the workbench; auto: nobody; "
     "auto-green: nobody when the step came out well. Default: the session's own gates.",
     false},
    {"rounds", "N", NULL, "At most this many rounds from here. Default: what the session has left.",
     false},
    OPTION_RELEASE,
    OPTION_TRACING,
    OPTION_DEVICE,
    OPTION_TARGET,
    OPTION_REFERENCE,
    OPTION_KERNEL_NAME_KEPT,
    OPTION_PRECISION,
    OPTION_SEEDS,
    OPTION_TOLERANCE,
    OPTIONS_LIMITS{"session", "DIR", NULL,
                   "The session's folder. Default: .hone/TASK beside the kernel.", false},
    {"changed", "WHAT", "take|keep",
     "Which file counts when one of the task differs on disk from the session's copy. Default: a "
     "person says so in the workbench.",
     false},
    {"print-config", "CLIENT", "claude|codex|cursor|gemini|kiro|vscode",
     "Print what the configuration of CLIENT needs, and end.", false},
    OPTIONS_END,
};

static const struct cli_option sweep_options[] = {
    OPTION_DEVICE,
    OPTION_TARGET,
    OPTION_REFERENCE,
    OPTION_KERNEL_NAME_KEPT,
    OPTION_SEEDS,
    {"session", "DIR", NULL, "The session's folder. Default: .hone/TASK beside the kernel.", false},
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option host_options[] = {
    {"port", "PORT", NULL, "add: the port of its SSH server.", false},
    {"identity", "FILE", NULL, "add: the private key to log in with.", false},
    {"client", "NAME", "auto|libssh2|ssh",
     "add: which SSH client makes the connection. Default: auto.", false},
    {"device", "NAME", "trn1|trn2|trn3", "add: the generation of its NeuronCores. Default: trn2.",
     false},
    {"environment", "FOLDER", NULL,
     "add: the Python environment with the Neuron SDK, on the host. Default: the newest one found.",
     false},
    {"python", "PATH", NULL, "add: the Python that runs hone's runner there.", false},
    {"cores", "LIST", NULL, "add: the cores that hone may use, as 0-3. Default: any free core.",
     false},
    {"lnc", "N", NULL, "add: logical NeuronCore configuration of the kernels. Default: 1.", false},
    {"no-check", NULL, NULL, "add: do not connect.", false},
    {"yes", NULL, NULL, "setup: do not ask.", false},
    {"names", NULL, NULL, "list: only the names, one per line.", false},
    {"json", NULL, NULL,
     "list: a JSON list. doctor and setup: JSON events, one per line as they come. conform: one "
     "JSON object.",
     false},
    OPTIONS_END,
};

static const struct cli_option conform_options[] = {
    {"python", "PATH", NULL,
     "The environment to check: its folder or its Python. Default: [defaults] nki_python, else the "
     "active one, else the newest one found.",
     false},
    {"save", "FILE", NULL,
     "Check nothing: only write the program that checks to FILE, for a machine without hone.",
     false},
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option calibrate_options[] = {
    {"device", "NAME", "trn1|trn2|trn3",
     "The generation of its NeuronCores. Default: device of its section, else trn2.", false},
    {"kernels", "LIST", NULL,
     "Run these kernels alone, by the names that the table shows, with commas between. Constants "
     "that only others see stay as they are.",
     false},
    {"dry-run", NULL, NULL, "Measure and fit, but keep nothing.", false},
    {"forget", NULL, NULL, "Delete the constants that were found for HOST. Measures nothing.",
     false},
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option model_options[] = {
    {"names", NULL, NULL, "list: only the names, one per line.", false},
    {"json", NULL, NULL, "list: a JSON list. test: JSON events, one per line as they come.", false},
    OPTIONS_END,
};

static const struct cli_option config_options[] = {
    {"path", NULL, NULL, "Print the path of your own file (it need not exist).", false},
    {"reference", NULL, NULL, "Print all settings as Markdown.", false},
    {"json", NULL, NULL, "Print a JSON list instead of text.", false},
    OPTIONS_END,
};

static const struct cli_option import_options[] = {
    {"session", "FOLDER", NULL, "The session's folder. Default: .hone/TASK beside the kernel.",
     false},
    OPTION_REFERENCE,
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option export_options[] = {
    {"output", "FOLDER", NULL, "The folder to make. Default: TASK-export in the current folder.",
     false},
    {"no-verify", NULL, NULL, "Do not evaluate the exported kernel before the folder appears.",
     false},
    OPTIONS_END,
};

static const struct cli_option session_options[] = {
    {"output", "FOLDER", NULL,
     "repair: the folder to make. Default: SESSION.repaired beside the session.", false},
    {"replace", NULL, NULL,
     "repair: put the new session in the place of the damaged one, which is kept as "
     "SESSION.damaged.",
     false},
    {"session", "FOLDER", NULL, "The session's folder, in the place of TASK|SESSION.", false},
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option explain_options[] = {
    {"reference", NULL, NULL, "Print all words as Markdown.", false},
    {"hardware", NULL, NULL,
     "Print the numbers that the device model takes the hardware to have, with how each is known, "
     "as Markdown.",
     false},
    OPTIONS_END,
};

static const struct cli_option docs_options[] = {
    {"release", "R", NULL,
     "Tell of one release, by the SDK's number (2.29) or NKI's (0.3): its dialect, and whether it "
     "documents the name. Default: all.",
     false},
    {"device", "NAME", "trn1|trn2|trn3", "Whose costs are told. Default: trn2.", false},
    {"example", "DIALECT", "current|legacy|older",
     "Print only the example of NAME, a file that hone sim evaluates. legacy and older are the "
     "same: neuronxcc.nki.",
     false},
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option skills_options[] = {
    {"project", NULL, NULL,
     "install: into the project in the current folder. Default: for all projects of this user.",
     false},
    {"dry-run", NULL, NULL, "install: only say what would be written.", false},
    {"replace", NULL, NULL, "install: also write over files that differ from hone's.", false},
    OPTIONS_END,
};

static const struct cli_option clean_options[] = {
    OPTION_JSON,
    OPTIONS_END,
};

static const struct cli_option help_options[] = {
    {"man", NULL, NULL, "Print the manual page in the form that man(1) reads.", false},
    OPTIONS_END,
};

static const struct cli_option no_options[] = {OPTIONS_END};

const struct cli_command cli_commands[] = {
    {"", "[TASK]", "open the workbench",
     "TASK is a folder with kernel.py and reference.py, a kernel file with --reference, or the "
     "name of a seed. Without TASK hone shows the recent sessions and the seeds; the first time, "
     "it opens the seed add_rmsnorm_matmul.\n\nA session is kept on disk and goes on where it was "
     "left.",
     workbench_options, 0, 1, false, cli_workbench},
    {"new", "TASK", "write a first kernel from a reference",
     "Runs the reference once on arrays that record what it does, and writes a kernel that "
     "computes "
     "the same: TASK/kernel.py, with the reference beside it. The kernel is simple, a place to "
     "begin tuning; it is evaluated at once. Without --reference, TASK/reference.py is "
     "taken.\n\n"
     "How a stage computes is a schedule of choices, such as the rows of a block: --choices lists "
     "them with their values, --choose sets one. --scheduled searches them by the device model's "
     "clock and prints the steps that it took, with what each saved; what --choose set stays.\n\n"
     "What hone cannot write is said with the line of the reference. The rest is written as a "
     "skeleton and the exit status is 1. An existing kernel is never written over.",
     new_options, 1, 1, false, cli_new},
    {"sim", "KERNEL|TASK", "evaluate a kernel on the embedded device model",
     "Compiles the kernel, checks it against the limits of the hardware, times it, runs it with "
     "the inputs of each seed, and compares what it returns with the reference.\n\nTASK is a "
     "folder with kernel.py and reference.py, or the name of a seed. TASK#N is attempt N of its "
     "session, with the function, generation, release and cores that the session has. Latencies "
     "come from the device model: they are the same each time.",
     sim_options, 1, 1, false, cli_sim},
    {"check", "KERNEL|TASK", "report compile errors, lints and broken hardware limits",
     "Prints findings like a compiler: file:line:column: error: message. Where the shapes are "
     "known (from a reference beside the kernel, --reference or --input) the kernel is also "
     "specialised for them and checked against the limits of the hardware. Without shapes the "
     "source alone is checked. TASK#N is attempt N of its session.",
     check_options, 1, 1, false, cli_check},
    {"lift", "KERNEL|TASK", "say what a kernel computes",
     "Follows the kernel's instructions for the shapes of its inputs and says what its outputs "
     "are: "
     "contractions, reductions, maps and movements of whole arrays, each with the line of the "
     "kernel that it comes from. Tiles, loops, layouts and masks for odd sizes are gone; both "
     "dialects and all spellings give the same. The graph is then computed here and there and "
     "compared with what the kernel returns for the first seed.\n\nWhat cannot be followed is "
     "opaque: it is told with its line and the reason, and the exit status is 1 where an output "
     "hangs on it.",
     lift_options, 1, 1, false, cli_lift},
    {"migrate", "KERNEL|TASK", "make a kernel one for another release of NKI",
     "Rewrites what releases changed by rule: names, arguments, forms of the language, loops on "
     "the "
     "device, kernels of neuronxcc.nki. Comments and layout stay. Prints a unified diff; --write "
     "changes the file.\n\nWhat cannot be decided by rule is marked with a comment, # hone "
     "migrate, that holds the question, and listed with its line.\n\nThe new source is then "
     "checked for that release. Where inputs are known (a task, or --input), old and new kernel "
     "are computed on all seeds, and hone says whether the numbers are identical, bit by bit, or "
     "where they differ first. With inputs it also knows the shapes of tiles, and asks less.\n\n"
     "Exit status 1 when something is left to decide, the release does not accept it, or numbers "
     "differ.",
     migrate_options, 1, 1, false, cli_migrate},
    {"query", "KERNEL|TASK|SESSION|PROFILE [SQL]", "ask a profile and a session in SQL",
     "Instructions, transfers, dependences, what engines are busy with, source lines, calls and "
     "metrics of a kernel on the embedded device model, and the attempts of its session, are "
     "tables. Where neuron-explorer has a table or a column, it has the same name here. A question "
     "is one SELECT of SQLite's dialect, with median(x) and stdev(x); - reads it from standard "
     "input. Nothing can be written.\n\n"
     "The kernel is timed only when a question reads a table of its profile. TASK#3 is attempt 3 "
     "of the task's session; where it was measured on a host, its profile is the device's.\n\n"
     "PROFILE is what neuron-explorer or neuron-profile wrote: a file of view --output-format "
     "summary-json or json, or the folder of --output-format parquet.",
     query_options, 0, 3, false, cli_query},
    {"profile", "KERNEL|TASK|SESSION|PROFILE", "print or write a profile in other tools' formats",
     "Times a kernel, or an attempt (TASK#3), on the embedded device model with its whole "
     "timeline. "
     "The tables are those of hone query. An attempt that was measured on a host has the device's "
     "profile, and PROFILE is one that Neuron's tools wrote.",
     profile_options, 1, 1, false, cli_profile},
    {"diff", "KERNEL|TASK KERNEL|TASK, TASK N N", "compare two kernels or attempts",
     "Times both on the embedded device model and says what changed: latency, how busy each engine "
     "is, which part of the latency each line has, for how long it keeps its engine busy, metrics, "
     "source. A line of the one and what became of it in the other share a row. On the critical "
     "path the changes of all lines sum to that of the latency; a line that has left it may be as "
     "busy as before.\n\n"
     "TASK#3 is attempt 3 of the task's session; TASK 1 3 compares two of them.",
     diff_options, 2, 3, false, cli_diff},
    {"explain", "[CODE|WORD|LINE]", "explain an error, a metric, an instruction or a word",
     "CODE is an error code of the Neuron compiler, with or without NCC_ (NCC_EVRF007, EVRF007), "
     "or one of hone's own (hone-candidate-import). A model that has to repair such an error gets "
     "the same explanation.\n\n"
     "WORD is one that screens, plans or prompts show (floor, credible, HBM read), or a metric as "
     "Neuron's profilers call it (hbm_read_bytes), or an instruction (nc_matmul, nisa.activation): "
     "its signatures in both dialects, its engines, and what each parameter takes; or a setting "
     "(menu_keep).\n\n"
     "LINE is a line printed by the compiler, the runtime, a tool or hone check, in quotes: hone "
     "explains its code and its text, or else the words in it. Without an argument hone lists all "
     "words and all compiler codes that it "
     "knows.",
     explain_options, 0, 99, false, cli_explain},
    {"docs", "[NAME|WORDS]", "look up a name of NKI, or search pages and guides",
     "NAME is a name of nki, nki.isa, nki.language or nki.collectives, with or without its module "
     "(nisa.activation, nki.isa.activation, activation): signatures in both dialects, releases, "
     "engines, limits, cost with its source, what changed, and an example that a test runs. Or it "
     "is a guide (memory, tiling, engines).\n\n"
     "WORDS are looked for in all pages. Without an argument hone lists them. Nothing is fetched: "
     "all of it is in the program.",
     docs_options, 0, 12, false, cli_docs},
    {"skills", "list|show|install [NAME|claude|kiro|codex|agents]",
     "give coding agents skills for working with NKI and hone",
     "A skill is a page of instructions (SKILL.md) that a coding agent reads when a task fits it: "
     "writing a kernel, repairing an error, finding what limits a kernel, asking a profile, "
     "looking "
     "up NKI, optimising, migrating.\n\n"
     "list: their names and what they are for. show NAME: the page. install: writes them where the "
     "agent looks, claude: ~/.claude/skills; kiro: ~/.kiro/skills; codex and agents: "
     "~/.agents/skills; with --project the same folders in the current one. A file that is there "
     "and "
     "differs stays as it is, unless --replace is given; then the exit status is 1.",
     skills_options, 1, 2, false, cli_skills},
    {"run", "TASK", "tune a kernel without a screen",
     "Runs the loop: profile, plan, rewrite, verify, benchmark, decide, summarise, reflect. It "
     "ends when the rounds are done, when the next thing would pass a limit, when nothing is left "
     "to propose, or when several rounds in a row brought no gain. Then it prints a summary: the "
     "best kernel, the ladder of attempts, what failed, what was learnt, what it cost. A session "
     "that exists goes on; an interrupted one loses nothing. What the run did stays in the "
     "session; its "
     "gates and limits do not.\n\nTASK is a folder with kernel.py "
     "and reference.py, a kernel file with --reference, or the name of a seed. The best kernel is "
     "in the session's folder; the last event has its path.\n\nEach question to a model is "
     "printed with its role, the model, tokens in and out, dollars and seconds, if they were "
     "reported.\n\nWith --proposer human you are asked. The question is printed, and your "
     "answer is read from standard input, up to a line with nothing but a dot or to the end. A "
     "pipe or a file may hold several answers, one after the other. With --json the question is "
     "an event. If nobody can answer, the run ends at the start and says so.\n\nWith --search "
     "beam:B,N,K a round follows several directions, its lanes: it starts from up to B attempts, "
     "makes N plans for each, and models write each plan K times. --rounds says how many rounds, "
     "by default 10. A line says which attempt it is about (#7), or which lane before it has a "
     "number. At a gate y approves all lanes, n LANE REASON rejects one. With --json the events "
     "lanes, lanes_assign, lane_fan, lane, lane_end and beam tell of lanes; an event about one "
     "lane has its number as \"lane\", from 0.",
     run_options, 1, 1, false, cli_run},
    {"mcp", "[TASK]", "let agents work on a kernel, over the Model Context Protocol",
     "Serves a session to an agent on standard input and output (Model Context Protocol, revisions "
     "2026-07-28, 2025-11-25 and 2025-06-18). The agent checks and evaluates kernels, reads "
     "profiles, attempts, notes and the menu, and hands kernels in with a plan. TASK is as for "
     "hone run; default: this folder.\n\nA kernel that is handed in becomes an attempt: the same "
     "checks, verification on all seeds, measurement, decision, gates and budgets as for any other "
     "proposal, with the agent as its author. Where a gate asks, it waits until a person decides "
     "in "
     "the workbench; the outcome and the person's reason come back to the agent. It is in the "
     "session's log before the agent hears of it. Where the workbench has the session open, hone "
     "mcp "
     "joins it; a workbench that opens takes it over.\n\nNothing runs before the agent asks for "
     "something. The embedded "
     "rewriter and models propose nothing meanwhile.",
     mcp_options, 0, 1, false, cli_mcp},
    {"sweep", "TASK [NAME=VALUES]...", "try values of a kernel's named constants",
     "hone sweep TASK TILE_N=128,256,512 makes an attempt for each value. The constant is changed "
     "in the kernel that the session goes on from; each attempt is verified, measured and decided "
     "about like any other, and a table shows the results. Several constants give all "
     "combinations, at most 64. 64..512 means 64,128,256,512. A name alone tries powers of two "
     "around its value.\n\nWithout names hone lists the constants that can be swept: integers "
     "bound once, at module level, in a function, or as a helper's default. A constant of one of "
     "several functions is named with it: helper.TILE=64.\n\nThe session is that of hone run and "
     "of the workbench, where :sweep does the same.",
     sweep_options, 1, 9, false, cli_sweep},
    {"host", "add|list|doctor|setup|conform [NAME] [USER@ADDRESS]",
     "hosts and clusters to run kernels on",
     "add NAME [USER@ADDRESS] writes a section [host NAME] into your configuration and tries it. "
     "Without an address NAME is looked up in ~/.ssh/config. The first contact shows the host's "
     "fingerprint and asks.\n\nlist shows what --target may name, and how each host was when hone "
     "last talked to it. It connects to nothing.\n\ndoctor NAME checks login, environment, "
     "versions, tools, cores and who holds them, disk and clock. It says what to do about each. "
     "Exit status 3 when something failed.\n\nsetup NAME shows what a fresh host lacks, with each "
     "command and why, and runs them when you agree.\n\nconform NAME compares its SDK with what "
     "hone relies on, as hone conform does on this machine.",
     host_options, 1, 3, false, cli_host},
    {"conform", "", "check that a Neuron SDK is as hone expects it; makes a report to send in",
     "Checks everything in an SDK that hone relies on: ways to compile, signatures, the form of "
     "errors, files, flags of tools. It needs the SDK's wheels on this machine and no device, "
     "takes a minute or two, and leaves nothing behind. hone host conform NAME does the same on a "
     "host.\n\nEach row is ok, other (present, but in another form) or absent, and shows what was "
     "found. Rows in capitals are not as hone expects them. Run it once for each release of the "
     "SDK and "
     "open an issue with the report: it names versions and parts of the SDK, and no machines, "
     "people or folders. Exit status 1 when something differs from what hone expects.",
     conform_options, 0, 0, false, cli_conform},
    {"calibrate", "HOST", "measure a host and fit the device model to it",
     "Runs small kernels on HOST: for each engine, for sizes, dtypes and ways of DMA, for Vector "
     "and GpSimd at once. This takes some minutes on a device. Then it fits the constants of the "
     "device model to what was measured. It prints how far off the model was and is for each "
     "kernel, and the constants that changed: old, new, and between which two values each lies "
     "with nine chances of ten.\n\nThe constants are kept for the host, with the SDK's release and "
     "the date. Sessions on that host use them where the device model works beside it. hone config "
     "names the hosts that have constants of their own.\n\nKernels that do not compile there are "
     "left out, and hone says which. If the host fails or you interrupt, nothing is kept.",
     calibrate_options, 1, 1, false, cli_calibrate},
    {"model", "test|list [NAME]", "check that language models can be asked",
     "test NAME tries a model: its key, its address, and one short answer, which costs some "
     "tokens. For each step it says whether it worked and, if not, what to do. NAME is a [model "
     "NAME] or SERVICE/MODEL, or several of them with commas. Default: those of [roles]. Exit "
     "status 3 when "
     "something failed. hone run tries keys and addresses by itself before it begins, without a "
     "question.\n\nlist shows the models of your configuration, the addresses they are asked at, "
     "and where their keys come from. It connects to nothing.",
     model_options, 1, 2, false, cli_model},
    {"import", "PATH [TASK|SESSION]", "import what other agents learnt and tried",
     "PATH is a file or a folder: experiments.jsonl and rewrites.json of nki-kernel-agent or of "
     "hone, executor_results.json and lists of rewrites of AccelOpt, candidates.jsonl of KDA, "
     "candidates-iter-N and eval-results-iter-N of Autocomp. Plans and kernels in files beside "
     "them are read, too. TASK is the task they are for. Default: the one in this "
     "folder.\n\nExperiences come in as proposed, each with its file and line, and so do lists of "
     "directions that did not work. Approve them on screen 8. Attempts go into the history, where "
     "they can only be read. Damaged entries are named and skipped. Files of an export that are "
     "not as SHA256SUMS has them are named, too, and what comes from it is marked as altered. "
     "Nothing in the files is run.",
     import_options, 1, 2, false, cli_import},
    {"export", "TASK|SESSION", "write a session as a folder for others",
     "The folder holds the best kernel with its reference, all files that they import and its "
     "model.ini, every attempt with "
     "its numbers, profiles, prompts, answers and decisions, and experiments.jsonl and "
     "rewrites.json as other NKI agents read them. hone sim FOLDER evaluates it again; hone does "
     "so once before the folder appears. The folder appears whole or not at all. sha256sum -c "
     "SHA256SUMS in it tells whether a file was changed since.\n\nFolders "
     "of this machine are written as . (the task's), session and ~. Variables in [env] of "
     "model.ini whose names say that they are secret are left out. Sources, prompts and answers "
     "are as they are.",
     export_options, 1, 1, false, cli_export},
    {"session", "check|repair TASK|SESSION",
     "check that a session is whole, or save what can be saved",
     "check goes through the whole session: the chain of hashes that each event continues, the end "
     "of the "
     "log, the bytes of session.db, SQLite's own structures, the tables, artefacts, checkpoints "
     "and "
     "experiments.jsonl. It changes nothing. A session of an older hone lacks some of these "
     "proofs; check calls it unproven then, not damaged. Exit status 4 when something is "
     "damaged.\n\n"
     "repair reads session.db page by page and saves all events up to the damage into a new "
     "session "
     "beside the old one, which stays as it is. An event with one flipped bit is put right with "
     "the help of its hash. A damaged line of the log is replaced by a line that says so, and the "
     "events after it are kept. Other damage ends the new log; events after it go to "
     "behind/events.jsonl, and their kernels to files beside it. It says what is lost.\n\n"
     "The hashes find damage, not a forger: whoever can write the file can compute them.",
     session_options, 1, 2, false, cli_session},
    {"config", "[TASK]", "show every setting and where it came from",
     "Settings come from these places, each winning over the one before: defaults, your "
     "config.ini, .hone/config.ini beside the task, the environment (HONE_HOST_TRN2_PORT for port "
     "of [host trn2]), the command line. The file beside a task may come from anywhere, so it can "
     "only set what is harmless: rounds, seeds, tolerance and the like.",
     config_options, 0, 1, false, cli_config},
    {"clean", "", "empty the cache of reference inputs and outputs",
     "They are in ~/.cache/hone/references, shared by all tasks with the same reference, and are "
     "made again when they are needed. hone itself keeps them below limit of [cache]; hone config "
     "shows how much space they take. Sessions are not touched.",
     clean_options, 0, 0, false, cli_clean},
    {"help", "[COMMAND]", "show help, or the manual page", "", help_options, 0, 1, false, cli_help},
    {"completion", "bash|zsh|fish", "print completion for a shell",
     "For bash: eval \"$(hone completion bash)\" in ~/.bashrc; the same with zsh. For fish: hone "
     "completion fish > ~/.config/fish/completions/hone.fish.",
     no_options, 1, 1, false, cli_completion},
    {"runner", "", "serve one evaluation: a job on stdin, events on stdout", "", no_options, 0, 0,
     true, cli_runner},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL},
};
