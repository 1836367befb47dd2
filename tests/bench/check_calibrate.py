#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the judges of the clock on rows made for it: which latencies count as published halved,
what the ratchet compares, what a fit of held_out.py finds, and that a row is run by the rules of
the release that it was written for.

    check_calibrate.py CALIBRATE
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import calibrate  # noqa: E402
import held_out  # noqa: E402
import measured_rows  # noqa: E402

COUNTERS = {"DMA_pct": 90, "HBMrd_MB": 30, "HBMwr_MB": 5, "Vec_pct": 60}


def result(name="a", measured=200.0, published=0.0, latency=100.0, bound="DMA", counters=None,
           operation="copy", **metrics):
    """A kernel that takes `latency` us on the clock and keeps Vector busy for 60 % of it."""
    row = measured_rows.Row(name, operation, "128x512", "trn2", "legacy", measured, counters or {},
                            published=published)
    metrics = {"vector_engine_active_time_percent": 60, "latency": latency, **metrics}
    return calibrate.Result(row, [{"latency": latency, "bound": bound, "metrics": metrics}])


def check_halved():
    # 35 MB in 90 us of 100 are 389 GB/s, and Vector was busy for as long as it must be.
    said = result(published=100, counters=COUNTERS)
    assert said.row.measured == 100 and abs(said.ratio - 1) < 1e-9
    # 45 MB in 90 us are 500 GB/s, which 16 DMA engines cannot move: the other value holds.
    assert result(published=100, counters={**COUNTERS, "HBMrd_MB": 40}).row.measured == 200
    # Vector busy for 40 us where its instructions take 60.
    assert result(published=100, counters={**COUNTERS, "Vec_pct": 40}).row.measured == 200
    assert result(published=100, counters={**COUNTERS, "Vec_pct": 46}).row.measured == 100
    # An engine that hardly works says nothing.
    idle = {**COUNTERS, "Scl_pct": 1}
    assert result(published=100, counters=idle,
                  scalar_engine_active_time_percent=3).row.measured == 100
    # Without counters nobody can tell, and without a second value there is nothing to choose.
    assert result(published=100).row.measured == 200
    assert result(published=100, counters={"DMA_pct": 90}).row.measured == 200
    assert result(counters=COUNTERS).row.measured == 200


def check_ratchet():
    """A row that is bound by something else now stays in its group, after --regen, too."""
    rows = [result(f"r{i}", measured=100, latency=100) for i in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        calibrate.STORED = pathlib.Path(folder) / "calibrated.csv"
        calibrate.write_stored(rows, {})
        worse = [result(f"r{i}", measured=100, latency=150, bound="Vector") for i in range(5)]
        stored = calibrate.read_stored()
        said = calibrate.ratchet(worse, calibrate.groups_of(worse, stored), stored)
        assert any("trn2 legacy DMA: median 0.0% -> 50.0%" in s for s in said), said
        calibrate.write_stored(worse, stored)
        stored = calibrate.read_stored()
        assert {row["bound"] for row in stored.values()} == {"DMA"}
        assert list(calibrate.groups_of(worse, stored)) == [("trn2", "legacy", "DMA")]
        assert not calibrate.ratchet(worse, calibrate.groups_of(worse, stored), stored)


def check_fit():
    """A constant that all rows but those of one source want larger is found, and only then."""
    name = "trn2.dma_start_ns"
    slopes = {"low_dma_start_ns": 80, "high_dma_start_ns": 120}
    rows = [result(f"x{i}_", measured=110, **slopes) for i in range(3)]
    fit = held_out.Fit({name: (800, 20)}, rows)
    fit.run()
    assert fit.at[name] == 0.5, fit.at
    setting, = held_out.settings_of(fit, {name: (800, 20)})
    assert setting.startswith(f"{name}=880.0"), setting
    other = held_out.Fit({"trn1.dma_start_ns": (800, 20)}, rows)
    other.run()
    assert held_out.settings_of(other, {"trn1.dma_start_ns": (800, 20)}) == []


PRIVATE_OUTPUT = """import nki
import nki.language as nl
import nki.isa as nisa
@nki.jit
def kernel(x):
    t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.hbm)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=y, src=t)
    return y
"""


def check_release(program):
    """NKI 0.3 made tensors in nl.hbm private; kernels of 0.2 return them."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "kernel.py"
        file.write_text(PRIVATE_OUTPUT)
        rows = [measured_rows.Row(name, "copy", "", "trn2", "current", 10.0, {}, release=release,
                                  parts=[measured_rows.Part(file, "kernel", "128x512:float32")])
                for name, release in (("old", "0.2"), ("new", "0.3"), ("newest", ""))]
        old, new, newest = calibrate.run([program], rows, 1)
        assert not old.wrong and old.modelled > 0, old.wrong
        assert "nl.hbm" in new.wrong and "nl.hbm" in newest.wrong, (new.wrong, newest.wrong)


def main():
    check_halved()
    check_ratchet()
    check_fit()
    check_release(sys.argv[1])
    print("the judges of the clock: as they should be")


if __name__ == "__main__":
    main()
