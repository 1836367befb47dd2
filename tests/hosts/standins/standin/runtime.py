# SPDX-License-Identifier: Apache-2.0
"""What the runtime does with a NEFF: it takes cores, loads and executes, with the times that the
device model gives and with what switches make go wrong. Tools and Python modules are built on
it."""

import math
import os
import random
import time
import zlib

from standin import host, logs

FIRST_EXTRA_US = 1000.0     # loading a library for GpSimd, once per loaded NEFF
HOST_EXTRA_US = 52.0        # a call of the runtime, above the time on the device
JITTER = 0.004
RAMP = 2.2                  # how much slower a core is that was just reset
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
        try:
            host.Cores().take(source)
        except host.Unavailable as problem:
            raise Failed(problem.status, "initialize the runtime", [str(problem)]) from None
        if host.switch("neff_skew", source):
            raise Failed(10, "load model",
                         ["NRT:nrt_load_util  NEFF version mismatch supported: 1.1 "
                                            "received: 2.0"])
        if neff.info["lnc"] != host.lnc():
            raise Failed(2, "load model",
                         ["NMGR:kmgr_load_nn_post_metrics  Could not find VNC id %d"
                                           % neff.info["lnc"]])
        if host.switch("device_oom", source):
            raise Failed(4, "load model", [
                "TDRV:dmem_alloc_internal  Failed to alloc DEVICE memory: 10485760",
                "TDRV:log_dev_mem  Wrote nrt memory alloc debug info to "
                "/tmp/nrt_mem_log_device_0.csv"])
        self.executions, self.reset_at, self.worked_s = 0, time.monotonic(), 0.0
        self.ramp_s = float(host.switch("ramp", source) or 0)
        seed = zlib.crc32(neff.hash.encode()) + host.count("loads", neff.hash) + host.SETUP["seed"]
        self.random = random.Random(seed)
        self.scale = float(host.switch("scale", source) or 1.0)
        noise = host.switch("noisy_timing", source)
        # In turn: drawn numbers favour one of two kernels in one of forty comparisons of theirs.
        self.scale *= float(noise) if noise and host.count("noisy") % 2 else 1
        self.results, self.given, self.key = {}, None, None

    def device_us(self):
        """The time of the next execution on the device: seeded noise, a slow first one, rare slow
        others."""
        us = self.neff.info["latency_us"] * math.exp(abs(self.random.gauss(0, JITTER)))
        if self.random.random() < 0.01:
            us *= 1.05
        self.executions += 1
        if self.worked_s + time.monotonic() - self.reset_at < self.ramp_s:
            us *= RAMP
        self.worked_s += (us + HOST_EXTRA_US) * 1e-6        # for which nobody waits here
        return (us * self.scale) + (FIRST_EXTRA_US if self.executions == 1 else 0)

    def execute(self, arrays):
        """[(dtype name, array)]; the same inputs are computed once. Whoever hands in the same
        dictionary again did not change it: a sample has hundreds of launches."""
        from standin import results         # numpy takes a tenth of a second
        self.fail()
        if self.given is not arrays:
            self.given, self.key = arrays, results.digest(arrays)
        if self.key not in self.results:
            self.results[self.key] = results.of(self.neff, arrays, self.key)
        return self.results[self.key]

    def fail(self):
        """What goes wrong at an execution, whatever the numbers are."""
        source = self.neff.source
        if host.switch("hang", source) == "run":
            host.hang()
        if host.switch("exec_hang", source):
            limit = min(float(os.environ.get("NEURON_RT_EXEC_TIMEOUT", "30")), 2.0)
            time.sleep(limit)
            raise Failed(5, "execute model", [
                "TDRV:exec_request_process_errors   [ND 0][NC %d] execution timeout (%d ms) on "
                "model "
                "%s, waiting for execution completion notification" % (
                    0, limit * 1000, self.neff.path),
                "TDRV:exec_consume_infer_status_notifications  (FATAL-RT-UNDEFINED-STATE) "
                "inference "
                "timeout (%d ms), Missing infer_status notification" % (limit * 1000)])
        if host.switch("oob", source):
            raise Failed(1006, "execute model", [
                "TDRV:exec_consume_tpb_status_notifications  failed to run scatter/gather "
                "(indirect "
                "memory copy via vector DGE), due to out-of-bound access"])
        if host.switch("hardware", source):
            raise Failed(1201, "execute model",
                         ["TDRV:tpb_eng_error  Uncorrectable memory error in HBM"])

    def close(self):
        if host.switch("exit_noise", self.neff.source):
            logs.runtime("NRT:nrt_close  Unexpected runtime state: NRT_STATE_START")
