# SPDX-License-Identifier: Apache-2.0
"""What a failure on a Neuron host means and what to do about it: a table from texts of the runtime,
the tools and the compiler to one sentence each. The texts are those of the Neuron documentation
(runtime troubleshooting, tools) and of public issue threads. Nothing here acts: whether a run is
tried again or a host given up is the caller's business, by `kind`."""

import collections
import re

from . import grammar

# kind: kernel (laid to the kernel), busy (a core is held: wait), environment (the host cannot serve
# this), hardware (stop using the host), noise (means nothing when the exit status is 0).
Advice = collections.namedtuple("Advice", "id kind text")

ROWS = [
    ("hardware", "hardware",
     r"Uncorrectable memory error|NEURON_HW_ERR=|action=TERMINATE_INSTANCE"
     r"|NRT_EXEC_UNIT_UNRECOVERABLE|NRT_HW_ERROR|HW_ERR_HBM_UE|HW_ERR_NC_UE|HW_ERR_DMA_ABORT",
     "the Neuron device reports a hardware error: stop using this host, and stop and start (or "
     "replace) the instance; numbers from it mean nothing"),
    ("out-of-bounds", "kernel",
     r"out-of-bound access|NRT_EXEC_OOB|failed to run scatter/gather",
     "the kernel accesses memory out of bounds (an indirect DMA with an index past its tensor)"),
    ("busy", "busy",
     r"NeuronCore\(s\) not available|Logical Neuron Core\(s\) not available"
     r"|NRT_LOAD_NOT_ENOUGH_NC|NRT_EXEC_NC_BUSY",
     "the NeuronCores are held by another process: wait for it to end, or choose others with the "
     "host's `cores` setting"),
    ("driver", "environment",
     r"Unable to determine Neuron Driver version|No neuron device available|Could not open the nd\d"
     r"|Failed to initialize devices|no neuron device found",
     "no Neuron device can be opened: is this a Trainium instance, and is the driver loaded? "
     "(`sudo modprobe neuron`, package aws-neuronx-dkms)"),
    ("lnc", "environment",
     r"Could not find VNC id|NCC_EARG001|Logical Neuron ?Core (?:size|config)\w* mismatch",
     "the kernel was compiled for another number of physical cores per logical core than the "
     "runtime uses: set the host's `lnc` to what neuron-ls shows as logical_neuroncore_config"),
    ("neff-version", "environment",
     r"NEFF version mismatch|NRT_UNSUPPORTED_NEFF_VERSION",
     "the compiler is newer than the runtime: update aws-neuronx-runtime-lib, or choose an older "
     "environment with the host's `environment` setting"),
    ("ntff-version", "environment",
     r"NTFF version \S+ is not supported|Please upgrade aws-neuronx-tools",
     "the profiler is older than the runtime: update aws-neuronx-tools"),
    ("profiler-ended", "environment",
     r"neuron-profile (?:is|has been) (?:deprecated|discontinued)|reached end of support",
     "this neuron-profile refuses to run: install an aws-neuronx-tools with neuron-explorer"),
    ("device-memory", "kernel",
     r"Failed to alloc DEVICE memory|Wrote nrt memory alloc debug info|\bmc_alloc\b|NRT_RESOURCE\b",
     "the device has no memory left for these tensors: smaller shapes, or fewer processes on it"),
    ("host-memory", "kernel",
     r"\[F137\]|NRT_FAIL_HOST_MEM_ALLOC|std::bad_alloc|MemoryError|Cannot allocate memory",
     "the host ran out of memory: most often the compiler on a kernel with too many instructions"),
    ("notifications", "environment",
     r"SW_NQ_OVERFLOW",
     "the runtime's notification queue overflowed: NEURON_RT_ENABLE_DGE_NOTIFICATIONS must be 0 "
     "for this kernel"),
    ("hang", "kernel",
     r"execution timeout \(\d+ ms\)|FATAL-RT-UNDEFINED-STATE|Missing infer_status notification"
     r"|NRT_TIMEOUT\b",
     "the kernel did not end on the device in time: engines wait for each other, or it is far too "
     "slow"),
    ("subscriber", "environment",
     r"Only one subscriber allowed",
     "another profiler is active in this process (NEURON_RT_INSPECT_ENABLE?): unset it"),
    ("processing", "environment",
     r"ERROR_PROCESS_INCOMPLETE",
     "the profile could not be processed: the NEFF and the NTFF do not belong together, the "
     "profile is larger than 5 GB, or the disk is full"),
    ("disk", "environment", r"No space left on device|Disk quota exceeded",
     "the disk of the host is full: `sweep` deletes old jobs, /var/tmp/neuron-compile-cache is the "
     "compiler's"),
    ("uninitialized", "environment", r"NRT_UNINITIALIZED",
     "the runtime was used after it was closed"),
    ("numerical", "kernel", r"COMPLETED_WITH_NUM_ERR", "the device met NaN or infinity on the way"),
    ("execution", "kernel", r"COMPLETED_WITH_ERR|Inference completed with err: 1004",
     "the device reports that the kernel failed while it ran"),
    ("input", "environment", r"NRT_EXEC_BAD_INPUT",
     "the runtime does not accept the inputs: their names or sizes are not those of the NEFF"),
    ("exit", "noise", r"nrt_close\s+Unexpected runtime state", "noise of the runtime's exit"),
]
ROWS = [(name, kind, re.compile(pattern, re.I), text) for name, kind, pattern, text in ROWS]

# Lines that tools write to standard error and that mean nothing for a result.
NOT_FATAL = re.compile(
    r"Unable to process node with uid|invalid DMA duration|Unable to convertToInt64"
    r"|hw profiler overview not found|nrt_close\s+Unexpected runtime state"
    r"|NET/OFI Failed to initialize rdma protocol")

# What a death without words means, by the exit status of the shell or of subprocess.
DEATHS = {137: "host-memory", -9: "host-memory"}


def row_of(name):
    return next((Advice(n, kind, text) for n, kind, _, text in ROWS if n == name), None)


def explain(text, exit_status=None):
    """The advice for a failure's output, the gravest first; None when nothing is recognised."""
    found = None
    for name, kind, pattern, sentence in ROWS:
        if kind == "noise" and exit_status != 0:
            continue
        if pattern.search(text):
            found = Advice(name, kind, sentence)
            break
    if found is None:
        status = grammar.find_status(text)
        found = by_status(status[0]) if status else None
    if found is None and DEATHS.get(exit_status) == "host-memory":
        found = row_of("host-memory")
    return found


STATUS_ROWS = {
    4: "device-memory", 5: "hang", 6: "hardware", 9: "busy", 10: "neff-version", 11: "host-memory",
    13: "uninitialized", 101: "hardware", 1002: "input", 1003: "numerical", 1004: "execution",
    1005: "busy", 1006: "out-of-bounds", 1201: "hardware", 1202: "hardware", 1203: "hardware",
    1204: "notifications", 1205: "hardware",
}


def by_status(number):
    """What a status of the runtime (NRT_STATUS) means; None where nothing can be said."""
    return row_of(STATUS_ROWS.get(number, ""))


def is_harmless(line):
    """A line on standard error that says ERROR and means nothing."""
    return bool(NOT_FATAL.search(line))


# Documented compiler codes a kernel can meet, in a few words of ours (Neuron SDK documentation,
# compiler error codes). Others are shown with the compiler's own text alone.
CODES = {
    "NCC_EARG001": "this number of physical cores per logical core is not supported by the target",
    "NCC_EBVF030": "too many instructions: larger tiles, or loops the compiler can keep rolled",
    "NCC_EVRF007": "too many instructions: larger tiles, or loops the compiler can keep rolled",
    "NCC_EXTP004": "too many instructions: larger tiles, or loops the compiler can keep rolled",
    "NCC_EHCA005": "a custom call the compiler does not know",
    "NCC_EVRF015": "a custom call the compiler does not know",
    "NCC_EOOM001": "the tensors do not fit into HBM",
    "NCC_EOOM002": "the memory limit is exceeded",
    "NCC_EVRF009": "the tensors do not fit into HBM",
    "NCC_EXSP001": "the tensors do not fit into HBM once expanded",
    "NCC_ESFH002": "a 64-bit constant: use 32 bits",
    "NCC_ESPP004": "this type has no code generation: use fp32, fp16 or bf16",
    "NCC_ESPP047": "this fp8 type is not supported on the target",
    "NCC_EVRF005": "this fp8 type is not supported on the target",
    "NCC_EVRF022": "an arithmetic shift of something that is not 32 bits wide",
    "NCC_EVRF051": "float8_e4m3fn is not supported on trn1 and trn2",
    "NCC_EVRF059": "a file of the kernel is missing: a stale cache",
    "NCC_EVRF065": "the kernel was traced with another NKI release: compile it anew",
    "NCC_INKI016": "a condition that the kernel itself asserts does not hold",
    "F134": "the compiler aborted",
    "F137": "the compiler was killed, most often for lack of memory",
    "F139": "the compiler crashed (segmentation fault)",
}


def sentence(finding):
    """A finding's message with what hone knows to add: what the code means, whose fault it is."""
    text = finding.message
    meaning = CODES.get(finding.code)
    if meaning:
        text = "%s (%s)" % (text, meaning) if text else meaning
    if finding.category == "internal":
        text += " (a failure within the compiler, which the kernel can only avoid)"
    return text
