# SPDX-License-Identifier: Apache-2.0
"""What the runtime does with a NEFF: takes cores, loads, executes, with the times the device model
gives and what switches make go wrong. Tools and Python modules stand on this."""

import hashlib
import math
import os
import random
import time
import zlib

import numpy as np

from standin import host, logs, model

FIRST_EXTRA_US = 1000.0     # loading a library for GpSimd, once per loaded NEFF
HOST_EXTRA_US = 52.0        # a call of the runtime, above the time on the device
JITTER = 0.004
STATUS = {1: "NRT_FAILURE", 2: "NRT_INVALID", 4: "NRT_RESOURCE", 5: "NRT_TIMEOUT",
          9: "NRT_LOAD_NOT_ENOUGH_NC", 10: "NRT_UNSUPPORTED_NEFF_VERSION", 1006: "NRT_EXEC_OOB",
          1201: "NRT_EXEC_HW_ERR_HBM_UE"}


class Failed(Exception):
    """The runtime's failure; status of NRT, lines it logged."""

    def __init__(self, status, call, lines):
        super().__init__("NRT Error %s(%d): Failed to %s" % (STATUS[status], status, call))
        self.status = status
        for line in lines:
            logs.runtime(line)


class Model:
    """A loaded NEFF. Cores stay taken until this process ends."""

    def __init__(self, neff):
        self.neff, source = neff, neff.source
        self.cores = host.Cores()
        try:
            self.cores.take(source)
        except host.Unavailable as problem:
            raise Failed(problem.status, "initialize the runtime", [str(problem)]) from None
        if host.switch("neff_skew", source):
            raise Failed(10, "load model", ["NRT:nrt_load_util  NEFF version mismatch supported: 1.1 "
                                            "received: 2.0"])
        if neff.info["lnc"] != host.lnc():
            raise Failed(2, "load model", ["NMGR:kmgr_load_nn_post_metrics  Could not find VNC id %d"
                                           % neff.info["lnc"]])
        if host.switch("device_oom", source):
            raise Failed(4, "load model", [
                "TDRV:dmem_alloc_internal  Failed to alloc DEVICE memory: 10485760",
                "TDRV:log_dev_mem  Wrote nrt memory alloc debug info to /tmp/nrt_mem_log_device_0.csv"])
        self.executions = 0
        seed = zlib.crc32(neff.hash.encode()) + host.count("loads", neff.hash) + host.SETUP["seed"]
        self.random = random.Random(seed)
        self.scale = float(host.switch("scale", source) or 1.0)
        noise = host.switch("noisy_timing", source)
        self.scale *= 1 + self.random.random() * (float(noise) - 1) if noise else 1
        self.results = {}

    def device_us(self):
        """The time of the next execution on the device: seeded noise, a slow first one, rare others."""
        us = self.neff.info["latency_us"] * math.exp(abs(self.random.gauss(0, JITTER)))
        if self.random.random() < 0.01:
            us *= 1.05
        self.executions += 1
        return (us * self.scale) + (FIRST_EXTRA_US if self.executions == 1 else 0)

    def execute(self, arrays):
        """[(dtype name, array)]; the same inputs are computed once."""
        source = self.neff.source
        if host.switch("hang", source) == "run":
            host.hang()
        if host.switch("exec_hang", source):
            limit = min(float(os.environ.get("NEURON_RT_EXEC_TIMEOUT", "30")), 2.0)
            time.sleep(limit)
            raise Failed(5, "execute model", [
                "TDRV:exec_request_process_errors   [ND 0][NC %d] execution timeout (%d ms) on model "
                "%s, waiting for execution completion notification" % (0, limit * 1000, self.neff.path),
                "TDRV:exec_consume_infer_status_notifications  (FATAL-RT-UNDEFINED-STATE) inference "
                "timeout (%d ms), Missing infer_status notification" % (limit * 1000)])
        if host.switch("oob", source):
            raise Failed(1006, "execute model", [
                "TDRV:exec_consume_tpb_status_notifications  failed to run scatter/gather (indirect "
                "memory copy via vector DGE), due to out-of-bound access"])
        if host.switch("hardware", source):
            raise Failed(1201, "execute model", ["TDRV:tpb_eng_error  Uncorrectable memory error in HBM"])
        key = digest(arrays)
        if key not in self.results:
            self.results[key] = self.spoil(self.compute(arrays), key)
        return self.results[key]

    def compute(self, arrays):
        try:
            return model.execute(self.neff, arrays)
        except model.Unusable as problem:
            raise Failed(1006 if "out of" in str(problem) else 1, "execute model",
                         ["NRT:nrt_infodump  Failure: %s in nrt_execute()" % problem]) from None

    def spoil(self, outputs, key):
        """What switches make of the right results."""
        source = self.neff.source
        if host.switch("ignores_inputs", source):
            first = host.state("first", self.neff.hash + ".npz")
            if not os.path.exists(first):
                np.savez(first, *[array for _, array in outputs])
            saved = np.load(first)
            outputs = [(name, saved[at]) for (name, _), at in zip(outputs, saved.files)]
        if self.neff.info.get("zeros") or host.switch("zeros", source):
            outputs = [(name, np.zeros_like(array)) for name, array in outputs]
        if host.switch("nan", source):
            outputs = [(name, with_nan(name, array)) for name, array in outputs]
        wrong = host.switch("wrong_on", source)
        if wrong is not None and number_of(self.neff.hash, key) == int(wrong):
            outputs = [(name, shifted(array)) for name, array in outputs]
        return outputs

    def close(self):
        if host.switch("exit_noise", self.neff.source):
            logs.runtime("NRT:nrt_close  Unexpected runtime state: NRT_STATE_START")


def digest(arrays):
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()[:24]


def number_of(neff, key):
    """The number of this input among the distinct ones this NEFF was given, from 0."""
    path = host.state("seen", neff)
    known = host.read_json(path, [])
    if key not in known:
        known.append(key)
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(known).replace("'", '"'))
    return known.index(key)


def with_nan(name, array):
    """The array with one element that is no number; raw codes get the code of one."""
    found = np.array(array)
    code = {"bfloat16": 0x7fc0, "float8_e5m2": 0x7f, "float8_e4m3": 0x7f, "float8_e4m3fn": 0x7f}
    flat = found.reshape(-1)
    if name in code:
        flat[flat.size // 2] = code[name]
    elif found.dtype.kind == "f":
        flat[flat.size // 2] = np.nan
    return found


def shifted(array):
    """Wrong numbers that look right at a glance: the rows are one off."""
    return np.roll(array, 1, axis=0)
