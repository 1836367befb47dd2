# SPDX-License-Identifier: Apache-2.0
"""neuron-ls, neuron-monitor and neuron-top: what devices there are and who uses them."""

import json
import sys
import time

from standin import host, logs

MEMORY = 103079215104
NO_DRIVER = "neuron-ls: error: Unable to determine Neuron Driver version. Please check " \
    "aws-neuronx-dkms package is installed and loaded."


def processes():
    found = {}
    for holder in host.holders().values():
        found[holder["pid"]] = {"pid": holder["pid"], "command": holder["command"],
                                "neuron_runtime_version": host.LINE["runtime"]}
    return list(found.values())


def devices():
    size = host.lnc()
    row = {"neuron_device": 0, "bdf": "cc:00.0", "cpu_affinity": "0-11", "numa_node": "0",
           "connected_to": None, "nc_count": host.PHYSICAL_CORES // size,
           "logical_neuroncore_config": size, "memory_size": MEMORY,
           "neuroncore_ids": list(range(host.PHYSICAL_CORES // size)),
           "neuron_processes": processes()}
    if host.LINE["ls"] == "typed":
        row["instance_type"] = "trn2.3xlarge"
    return [row]


def table():
    logs.say("instance-type: trn2.3xlarge\ninstance-id: "
             "i-0f0a0b0c0d0e0f000\nlogical-neuroncore-config: "
             "%d" % host.lnc())
    logs.say("+--------+--------+----------+--------+---------+\n| NEURON | NEURON |  NEURON  | "
             "PCI    |"
             "\n| DEVICE | CORES  |  MEMORY  | BDF    |\n| 0      | %d      | 96 GB    | cc:00.0 |"
             % (host.PHYSICAL_CORES // host.lnc()))


def neuron_ls(arguments):
    if host.switch("no_driver"):
        logs.say(NO_DRIVER, sys.stderr)
        return 1
    wants = "--output-format" in arguments or "--output-format=json" in arguments
    short = "-j" in arguments or "--json-output" in arguments
    if short and host.LINE["ls"] == "object":
        logs.say("unknown shorthand flag: 'j' in -j", sys.stderr)
        return 1
    if wants and host.LINE["ls"] != "object":
        logs.say("unknown flag: --output-format", sys.stderr)
        return 1
    if wants:
        logs.say(json.dumps({"instance_type": "trn2.3xlarge", "instance_id": "i-0f0a0b0c0d0e0f000",
                             "ultraserver": None, "neuron_devices": devices()}, indent=1))
    elif short:
        logs.say(json.dumps(devices(), indent=1))
    else:
        table()
    return 0


def report():
    cores = {str(core): {"neuroncore_utilization": 87.5, "flops": 0, "v3d": {}}
             for core in host.holders()}
    return {"neuron_runtime_data": [
        {"pid": row["pid"], "address": "", "neuron_runtime_tag": "0", "error": "",
         "report": {"neuroncore_counters": {"period": 1.0, "neuroncores_in_use": cores,
                                            "error": ""}}}
        for row in processes()], "system_data": {"neuron_hw_counters": {"neuron_devices": [
            {"neuron_device_index": 0, "mem_ecc_corrected": 0, "mem_ecc_uncorrected": 0,
             "sram_ecc_uncorrected": 0}]}}, "instance_info": {"instance_type": "trn2.3xlarge"},
        "neuron_hardware_info": {"neuron_device_type": "trainium2", "neuroncore_version": "v3d",
                                 "neuron_device_count": 0 if host.switch("no_driver") else 1,
                                 "neuroncore_per_device_count": host.PHYSICAL_CORES,
                                 "neuron_device_memory_size": MEMORY,
                                 "logical_neuroncore_config": host.lnc(), "error": ""}}


def neuron_monitor(arguments):
    """An object on each line, for as long as somebody reads."""
    try:
        while True:
            logs.say(json.dumps(report()))
            time.sleep(1)
    except (BrokenPipeError, KeyboardInterrupt):
        return 0


def neuron_top(arguments):
    if not sys.stdout.isatty():
        logs.say("neuron-top: error opening terminal", sys.stderr)
        return 1
    return 0


def main(name):
    if sys.argv[1:2] in (["--version"], ["version"]):
        logs.say("%s %s" % (name, host.LINE["explorer"]))
        return 0
    return {"neuron-ls": neuron_ls, "neuron-monitor": neuron_monitor,
            "neuron-top": neuron_top}[name](sys.argv[1:])
