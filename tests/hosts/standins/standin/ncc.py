# SPDX-License-Identifier: Apache-2.0
"""neuronx-cc: the back end. It prints what a compiler prints, in the line's grammar, and writes the
NEFF or dies, as the switches say."""

import argparse
import json
import os
import signal
import sys

from standin import host, logs, neff

TICKET = " - Please open a support ticket at " \
    "https://github.com/aws-neuron/aws-neuron-sdk/issues/new"


def allocator_fault(message):
    """A limit that only the back end sees, in the words of the release."""
    line = host.LINE["log"]
    if "HBM" in message:
        return "[ERROR] [NCC_EOOM001] %s" % message
    if "PSUM" in message or "SBUF" in message:
        if line == "legacy":
            return "[GCA035]  Instruction: I-21-0 with opcode: TensorTensor couldn't be " \
                "allocated in SB\nMemory Location Accessed: \n%s\nTotal SB Partition Size: " \
                "196608" % message
        return "[INTERNAL_ERROR] [NCC_IBIR297] %s" % message
    return "[INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: %s" % message


def die(how):
    """134: aborts. 137: killed, and says so. -9: killed by a signal."""
    code = int(how)
    if code == 134:
        logs.say("[F134] neuronx-cc terminated abnormally" + TICKET, sys.stderr)
        sys.exit(134)
    if code == 137:
        logs.say("[F137] neuronx-cc was forcibly killed - This most commonly occurs due to "
                 "insufficient system memory. Using a smaller data type, dimensions, batch size, "
                 "or a larger instance type may help.", sys.stderr)
        sys.exit(137)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def hungry():
    """Takes memory until the system refuses it."""
    kept = []
    try:
        while len(kept) < 1 << 16:
            kept.append(bytearray(64 << 20))
    except MemoryError:
        kept.clear()
        die(137)


def misbehave(source):
    flood = host.switch("flood", source)
    if flood:
        logs.flood(int(flood))
    if host.switch("garbage", source):
        logs.garbage()
    if host.switch("hang", source) == "compile":
        logs.compiler("INFO", "root/Tensorizer/SBAllocator", "Running SBAllocator")
        host.hang()
    if host.switch("host_oom", source):
        hungry()
    crash = host.switch("crash", source)
    if crash:
        logs.say(".", end="")
        die(crash)


def stale(source):
    """A failure that an earlier compilation left in the shared cache. Whoever uses the cache finds
    it."""
    own = os.environ.get("NEURON_COMPILE_CACHE_URL", "/var/tmp/neuron-compile-cache")
    if host.switch("stale_cache", source) and own == "/var/tmp/neuron-compile-cache":
        logs.say("Got a cached failed neff at %s/neuronxcc-2/MODULE_1/model.neff. Will skip "
                 "compilation, please set --retry_failed_compilation for recompilation" % own)
        sys.exit(1)


def compile_file(options):
    with open(options.file, encoding="utf-8", errors="surrogateescape") as file:
        traced = json.load(file)
    source = traced["source"]
    logs.wrapper("INFO", "Call compiler with cmd: neuronx-cc %s" % " ".join(sys.argv[1:]))
    stale(source)
    misbehave(source)
    if traced["fault"]:
        logs.compiler("INFO", "root/Tensorizer/SBAllocator", "Running SBAllocator")
        logs.say("..", end="")
        logs.say(allocator_fault(traced["fault"]) + TICKET)
        logs.say("Compiler status ERROR")
        logs.say("Diagnostic logs stored in %s/log-neuron-cc.txt" % os.getcwd(), sys.stderr)
        logs.compiler("ERROR", "neuronxcc.driver.CommandDriver",
                      "Subcommand returned with exitcode=70",
                      sys.stderr)
        return 70
    logs.progress(traced["info"]["instructions"])
    write(traced, options.output)
    logs.say("Compiler status PASS")
    return 0


def write(traced, path):
    folder = os.path.dirname(os.path.abspath(path))
    data = neff.pack({"sg00/def.json": json.dumps(traced["info"]).encode(),
                      "sg00/model.json": json.dumps(traced["timeline"]).encode(),
                      "kernel.py": traced["source"].encode("utf-8", "surrogateescape")})
    os.makedirs(os.path.join(folder, "sg00"), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    for name in ("dma_stats.txt", "instruction_stats.txt"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("instructions %d\n" % traced["info"]["instructions"])


def main():
    parser = argparse.ArgumentParser(prog="neuronx-cc")
    parser.add_argument("--version", action="store_true")
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("compile")
    one.add_argument("file")
    for name in ("--framework", "--target", "--lnc", "--output", "--verbose", "--logfile"):
        one.add_argument(name)
    options, _ = parser.parse_known_args()
    if options.version:
        logs.say("NeuronX Compiler version %s\n\nPython version 3.11.2" % host.LINE["cc"])
        return 0
    if options.command != "compile":
        return 1
    if options.logfile:             # what would be printed is there, and only there
        file = os.open(options.logfile, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, sys.stdout.fileno())
    return compile_file(options)
