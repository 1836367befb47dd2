# SPDX-License-Identifier: Apache-2.0
"""neuron-bench: times a NEFF. info.json and nc_latency_data.json, and the table on stdout."""

import argparse
import json
import os
import statistics
import sys

from standin import host, logs, neff, runtime

HEAD = "  B   NC   NC USED   WEIGHTS   MODE      INF/S     IRES/S    L(1)   L(50)   L(99)   " \
    "NCL(1)   NCL(50)   NCL(99)   %USER"


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(round(percent / 100 * (len(ordered) - 1))))]


def table(device, called, cores):
    rule = "+" + "-" * 3 + "+" + "-" * (len(HEAD) - 6) + "+"
    logs.say(rule)
    logs.say(HEAD)
    for used in cores:
        rate = used * 1e6 / statistics.mean(called)
        logs.say("  1   %d    %d         dynamic   LIBMODE   %.2f   %.2f   %s   N/A" % (
            used, used, rate, rate, "    ".join(
                "%d" % percentile(values, p) for values in (called, device) for p in (1, 50, 99))))
    logs.say(rule)


def write(folder, device, called, iterations):
    os.makedirs(folder, exist_ok=True)
    info = {"iterations": iterations, "throughput": 1e6 / statistics.mean(called),
            "latency": {str(p): percentile(called, p) for p in (1, 50, 99)},
            "nc_latency": {str(p): percentile(device, p) for p in (1, 50, 99)}}
    for name, data in (("info.json", info), ("nc_latency_data.json",
                                             {"latency_data": {"0": device}})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(data, file)


def execute(arguments):
    parser = argparse.ArgumentParser(prog="neuron-bench exec")
    for name, kind, default in (("--warmup", int, 10), ("--work", int, 100),
                                ("--fixed-nc-count", int, 0), ("--output-directory", str, None)):
        parser.add_argument(name, type=kind, default=default)
    parser.add_argument("--enable-only-latency", action="store_true")
    parser.add_argument("neff")
    options = parser.parse_args(arguments)
    host.note("bench", neff=options.neff, warmup=options.warmup, work=options.work)
    try:
        running = runtime.Model(neff.Neff(options.neff))
        running.fail()
    except (runtime.Failed, neff.Broken) as problem:
        logs.say("neuron-bench: %s" % problem, sys.stderr)
        return 1
    for _ in range(options.warmup):
        running.device_us()
    device = [running.device_us() for _ in range(options.work)]
    called = [us + runtime.HOST_EXTRA_US for us in device]
    if options.output_directory:
        write(options.output_directory, device, called, options.work)
    table(device, called, (1,) if options.fixed_nc_count == 1 else (1, 2))
    running.close()
    return 0


def main(name):
    arguments = sys.argv[1:]
    if arguments[:1] == ["exec"]:
        return execute(arguments[1:])
    if arguments and arguments[0] in ("--version", "version"):
        logs.say("neuron-bench %s" % host.LINE["explorer"])
        return 0
    logs.say("usage: neuron-bench exec [OPTIONS] NEFF", sys.stderr)
    return 1
