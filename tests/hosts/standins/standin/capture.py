# SPDX-License-Identifier: Apache-2.0
"""The part of neuron-explorer and neuron-profile that runs a NEFF on given inputs, saves outputs
and writes traces. It is apart since the others need no numpy, which is most of a start."""

import argparse
import os
import zlib

import numpy as np

from standin import host, kernels, logs, model, neff, runtime


def capture_parser():
    parser = argparse.ArgumentParser(prog="capture", allow_abbrev=False)
    add = parser.add_argument
    add("-n", "--neff", default="file.neff")
    add("-s", "--session-file", default="profile.ntff")
    add("--num-exec", type=int, default=1)
    add("--profile-nth-exec", type=int, default=1)
    add("-t", "--capture-type", choices=("profile", "systrace"), default="profile")
    add("--exec-mode", choices=("sync", "async", "async-wait"), default="sync")
    add("--save-nth-output", type=int, default=0)
    add("--single-io-threshold", type=int)
    add("--write-tensors-per-exec")
    add("-i", "--collectives-profile-id")
    add("-m", "--multi-input")
    for name in ("-r", "--collectives-workers-per-node"), ("--collectives-worker-count",), \
            ("--collectives-worker-start-id",):
        add(*name, type=int)
    for name in ("ignore-exec-errors", "disable-profile", "enable-dge-notifs", "single-io",
                 "save-output", "save-output-npy", "check-output-determinism"):
        add("--" + name, action="store_true")
    add("pairs", nargs="*")
    return parser


def read_input(row, path):
    """The numbers of one input: .npy, or raw bytes in rows."""
    dtype, shape = model.raw_dtype(row["dtype"]), tuple(row["shape"])
    try:
        array = np.load(path, allow_pickle=False) if path.endswith(".npy") else \
            np.fromfile(path, dtype)
    except (OSError, ValueError) as problem:
        raise runtime.Failed(2, "read inputs", ["KBL:load_input  %s" % problem]) from None
    want = dtype.itemsize * int(np.prod(shape))
    if array.nbytes != want:
        raise runtime.Failed(2, "set input tensor", [
            "NRT:nrt_tensor_write  tensor %s: size mismatch, expected %d bytes, got %d"
            % (row["name"], want, array.nbytes)])
    return np.ascontiguousarray(array).view(dtype).reshape(shape)


def read_inputs(loaded, pairs):
    rows = {row["name"]: row for row in loaded.info["inputs"]}
    if len(pairs) % 2:
        raise runtime.Failed(2, "read inputs",
                             ["KBL:load_input  inputs must be pairs of NAME FILE"])
    found = {}
    for name, path in zip(pairs[::2], pairs[1::2]):
        if name not in rows:
            raise runtime.Failed(2, "set input tensor", [
                "NRT:nrt_get_tensor_from_tensor_set  no tensor %s in the model" % name])
        found[name] = read_input(rows[name], path)
    return found


def save(loaded, outputs, options, number):
    """Writes what the execution with that number returned, and says where."""
    if options.save_nth_output and number % options.save_nth_output:
        return
    names = loaded.info["outputs"] or ["output_%d" % i for i in range(len(outputs))]
    for name, (dtype, array) in zip(names, outputs):
        file = name + (".npy" if options.save_output_npy else ".bin")
        if number > 1:
            file += ".%d" % number
        if options.save_output_npy:
            with open(file, "wb") as out:
                np.save(out, kernels.to_numpy(dtype, array))
        else:
            array.tofile(file)
        logs.say('saved output "%s" as "%s"' % (name, file))


def trace_name(options, number):
    """profile.ntff, profile_exec_2.ntff and so on."""
    stem, end = os.path.splitext(options.session_file)
    if options.num_exec == 1 or (options.profile_nth_exec == 1 and number == 1):
        return options.session_file
    return "%s_exec_%d%s" % (stem, number, end)


def write_trace(loaded, options, number, us):
    info = {**loaded.info, "us": us, "timeline": loaded.profile, "neff": loaded.hash}
    ahead = host.switch("ntff_skew", loaded.source)
    neff.write_ntff(trace_name(options, number), host.LINE["ntff"] + (1 if ahead else 0), info)


def execute_all(running, inputs, options):
    saves = options.save_output or options.save_output_npy
    for number in range(1, options.num_exec + 1):
        outputs = running.execute(inputs)
        us = running.device_us()
        if saves:
            save(running.neff, outputs, options, number)
        nth = options.profile_nth_exec
        if nth and not options.disable_profile and number % nth == 0:
            write_trace(running.neff, options, number, us)
        if options.check_output_determinism:
            logs.say("CRC32 %08x" % zlib.crc32(b"".join(array.tobytes() for _, array in outputs)))


def capture(arguments):
    options = capture_parser().parse_intermixed_args(arguments)
    host.note("capture", neff=options.neff, pairs=options.pairs, executions=options.num_exec,
              nth=options.profile_nth_exec, profiles=not options.disable_profile,
              visible=os.environ.get("NEURON_RT_VISIBLE_CORES"))
    try:
        loaded = neff.Neff(options.neff)
        running = runtime.Model(loaded)
        execute_all(running, read_inputs(loaded, options.pairs), options)
    except neff.Broken as problem:
        logs.logrus("ERRO", str(problem))
        return 1
    except runtime.Failed as problem:
        logs.logrus("FATA", "failed to run the model  error=\"%s\"" % problem)
        return 1
    running.close()
    return 0
