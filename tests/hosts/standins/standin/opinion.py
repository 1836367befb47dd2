# SPDX-License-Identifier: Apache-2.0
"""What the compiler's front half predicts without a device (nki 0.6): the device model's times as a
second model would have them. It charges fixed rates for each engine and nothing for waiting, so it
is below the device model by the time that the engines wait for each other. With the back end's own
scheduling it predicts another program, which overlaps more. @nki.jit ships the one without."""

ENGINES = ("tensor", "vector", "scalar", "gpsimd", "dma")
WAITS = {False: 0.5, True: 0.1}         # the share of waiting that is left, by scheduling
FLOP_PER_MAC = 2


def busy_us(metrics):
    return {name: 1e6 * metrics.get("%s%s_active_time" % (name, "" if name == "dma" else "_engine"),
                                    0.0) for name in ENGINES}


def predicted(info, scheduled):
    """The members of NirResult that have the prediction, from what the device model said about a
    kernel. None of a kernel that the back end is going to refuse."""
    names = ("total_time_ns", "estimated_utilization", "mac_count", "hbm_bytes")
    if info["latency_us"] is None:
        return dict.fromkeys(names)
    busy, metrics = busy_us(info["metrics"]), info["metrics"]
    most = max(busy.values())
    total_us = most + WAITS[bool(scheduled)] * max(info["latency_us"] - most, 0.0)
    percent = {name: 100.0 * us / total_us if total_us else 0.0 for name, us in busy.items()}
    return dict(zip(names, (
        total_us * 1000, percent, int(metrics.get("hardware_flops", 0) / FLOP_PER_MAC),
        int(metrics.get("hbm_read_bytes", 0) + metrics.get("hbm_write_bytes", 0)))))
