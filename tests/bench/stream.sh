#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How long a key takes while a job runs and its log streams: stream.sh HONE TERM_LATENCY [KEYS].
# A kernel that prints some twenty thousand lines is profiled; keys are sent meanwhile.
set -u
hone=$(realpath "$1") latency=$(realpath "$2") keys=${3:-300}
folder=$(mktemp -d) || exit 3
trap 'rm -rf "$folder"' EXIT
cat >"$folder/kernel.py" <<'PY'
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(20000):
        print("line", i, "of a log that streams while keys are answered")
    for m in nl.affine_range(x.shape[0] // 128):
        rows = nl.arange(128)[:, None]
        columns = nl.arange(512)[None, :]
        tile = nl.load(x[m * 128 + rows, columns])
        nl.store(y[m * 128 + rows, columns], value=nl.exp(tile))
    return y
PY
cat >"$folder/reference.py" <<'PY'
import numpy as np


def get_inputs():
    return [np.random.rand(4096, 512).astype(np.float32)]


def forward(x):
    return np.exp(x)
PY
export XDG_STATE_HOME=$folder/state XDG_CONFIG_HOME=$folder/config
# s starts the loop, once; 4 shows the log, 2 the kernel, 1 all panes.
sequence=s
while ((${#sequence} < keys)); do sequence+=4kj2jj145; done
"$latency" -f -n "$keys" -k "$sequence" -- "$hone" "$folder" --gate auto --rounds 1
