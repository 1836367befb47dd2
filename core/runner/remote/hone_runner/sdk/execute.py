# SPDX-License-Identifier: Apache-2.0
"""Running a compiled kernel on the device, inside the core lock: inputs as files, outputs as files.
The profiler's `capture` is the same on every SDK; if it is missing or does not work, the runtime's
Python layer or a launch in this process is used. Outputs are judged elsewhere."""

import ast
import hashlib
import os
import re
import shutil
import struct
import time

from hone_runner import stage
from hone_runner.context import Failed

from . import advice, arrays, compile as compiling, grammar, shown

SAVED = re.compile(r'saved output "([^"]+)" as "([^"]+)"')
CAPTURE_LIMIT_S = 55.0      # under the 60 s after which a lock of nki-library expires
BUSY_TRIES, BUSY_WAIT_S = 3, 5.0
VOID = {1: "uint8", 2: "bfloat16", 4: "float32"}


class KernelFailed(Exception):
    """The kernel ran and failed; the text says how."""


class NoWay(Exception):
    """This way of running does not work here; the next is tried."""


class Tool:
    """neuron-explorer, or neuron-profile if there is nothing else."""

    def __init__(self, context):
        self.context = context
        host = context.environment
        self.name = "neuron-explorer" if host.tool("neuron-explorer") else "neuron-profile"
        self.path = host.tool(self.name)
        self.version = (host.tools.get(self.name) or {}).get("version") or ""
        self.known = {}

    def flags(self, command):
        """The options in its help; an empty set when there are none."""
        if command not in self.known:
            result = stage.quick([self.path, command, "--help"], 15.0, cwd=self.context.work)
            said = (result.out_tail + result.err_tail).decode("utf-8", "replace")
            self.known[command] = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", said))
        return self.known[command]

    def has(self, command, flag, unless_told=True):
        flags = self.flags(command)
        return flag in flags if flags else unless_told

    def executions(self, number, profiled):
        """The options for this many executions, one of them profiled (0: none). Old tools lack them
        and profile their only execution."""
        wanted = (("num-exec", number), ("profile-nth-exec", profiled))
        return [part for name, value in wanted if self.has("capture", name)
                for part in ("--" + name, str(value))]


class Device:
    """The held cores, and what runs on them."""

    def __init__(self, context, held, lnc):
        self.context, self.held, self.lnc = context, held, lnc
        self.tool = Tool(context)

    def variables(self, extra=None):
        """The environment of what uses the core. The kernel's size of a logical core need not be
        the host's default: the ids count in cores of the kernel's size."""
        values = {}
        if self.lnc != self.held.lnc:
            first = self.held.physical[0] // self.lnc
            values = {"NEURON_LOGICAL_NC_CONFIG": str(self.lnc),
                      "NEURON_RT_VISIBLE_CORES": str(first)}
        values.update(extra or {})
        return self.context.variables(values, self.held)

    def holder(self):
        """Who uses our core without a lock, as " (...)"; "" when nobody is seen."""
        devices = self.context.environment.devices
        devices.look()
        found = [devices.holder(core) for core in self.held.logical if devices.holder(core)]
        return " (%s)" % found[0].text() if found else ""

    def raw_folder(self, inputs):
        """Where the raw files of a seed's inputs lie while they are needed."""
        name = hashlib.sha256(inputs.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return os.path.join(self.context.work, "raw", name)

    def input_files(self, program, inputs):
        """Raw files of a seed's inputs, made once, as NAME FILE pairs of a command line."""
        folder = self.raw_folder(inputs)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        values = arrays.read_meta(inputs)["values"]
        pairs = []
        for item in program.inputs:
            row = values[item["argument"]]
            path = os.path.join(folder, "in_%d.bin" % item["argument"])
            if not os.path.exists(path):
                arrays.extract(inputs, row, path)
            pairs += [item["name"], path]
        return pairs

    def drop_inputs(self, inputs):
        """The raw files of a seed that is done: large inputs of many seeds fill a disk."""
        shutil.rmtree(self.raw_folder(inputs), ignore_errors=True)

    def limits(self, factor=1.0):
        asked = self.context.settings.get("run_limit_s", "").strip()
        wall = self.context.number("run_limit_s") if asked else CAPTURE_LIMIT_S
        return stage.Limits(wall * factor, nice=0).on(self.held)

    def limits_off(self, factor):
        """Those of a stage that needs no core."""
        return self.limits(factor).on(None)

    def nrt_python(self):
        """(python, extra variables) of an environment with the runtime's Python layer."""
        host = self.context.environment
        for one in host.environments:
            if "nrtpy" in one.packages:
                return one.python, {"LD_LIBRARY_PATH": "/opt/aws/neuron/lib",
                                    "VIRTUAL_ENV": one.path}
        return host.python, {"LD_LIBRARY_PATH": "/opt/aws/neuron/lib"}


def judge_failure(result, what):
    """The exception for a failed run: the kernel's fault, the environment's, or of unknown kind."""
    text = shown.text_of(result)
    if result.outcome == "killed":
        return Failed("environment", result.text + last_words(result))
    known = advice.explain(text, result.status if result.status is not None else -9)
    if known and known.kind == "busy":
        return Busy(known.text)
    if known and known.kind in ("environment", "hardware"):
        return NoWay(known.text) if known.id in ("profiler-ended", "ntff-version", "input") \
            else Failed("environment", known.text + last_words(result))
    if result.outcome == "timeout":
        return KernelFailed("it did not end on the device within %.0f s" % result.seconds)
    if known:
        return KernelFailed(known.text + last_words(result))
    if result.outcome == "missing":
        return NoWay(result.text)
    how = result.text or "with exit status 0"
    return NoWay("%s failed (%s)%s" % (what, how, last_words(result)))


class Busy(Exception):
    """Somebody without a lock holds the core."""


def last_words(result):
    """The runtime's name for the failure, else the last line of output."""
    status = grammar.find_status(shown.text_of(result))
    if status:
        return " (%s, %d)" % (status[1], status[0])
    lines = [line for line in result.tail(3) if not advice.is_harmless(line)]
    return ": " + lines[-1].strip()[:300] if lines else ""


def patiently(device, call):
    """Runs a call on the cores while we hold them. While somebody else is on them, tries again a
    few times; it ends nobody's process."""
    for attempt in range(BUSY_TRIES):
        try:
            return device.held.piece(call)
        except Busy as busy:
            text = "%s%s" % (busy, device.holder())
            if attempt + 1 == BUSY_TRIES:
                raise Failed("environment", text)
            device.context.events.log("%s; trying again in %.0f s" % (text, BUSY_WAIT_S), "warning")
            for _ in range(int(BUSY_WAIT_S * 10)):
                if device.context.control:
                    device.context.control.tick()
                time.sleep(0.1)


# ------------------------------------------------------------------------------------- capture


def forms_of(tool, program):
    """How the outputs can be saved: [(as .npy files, what they are)]. Raw files do not say what
    they hold: that comes from the compiler, else from the reference's outputs. Not every tool has
    .npy, and those that have it lack it for types that numpy has not."""
    if program.outputs:
        return [(False, program.outputs)]
    hints = [dict(one, name="output_%d" % i) for i, one in enumerate(program.hints or ())]
    forms = [(True, hints)] if tool.has("capture", "save-output-npy", False) else []
    forms += [(False, hints)] if hints else []
    if not forms:
        raise NoWay("the compiler does not tell the shapes of the outputs, and %s does not save "
                    "them" % tool.name)
    return forms


def capture(device, program, inputs, results):
    """One execution of the NEFF with a seed's inputs: rows of raw outputs."""
    tool = device.tool
    if not tool.path:
        raise NoWay("neither neuron-explorer nor neuron-profile is there")
    if not tool.has("capture", "save-output"):
        raise NoWay("%s %s cannot save outputs" % (tool.name, tool.version))
    forms = forms_of(tool, program)
    for as_npy, specs in forms:
        try:
            said = capture_once(device, program, inputs, results, as_npy)
            return collect(program, specs, said, results, as_npy)
        except NoWay as problem:
            if (as_npy, specs) == forms[-1]:
                raise
            device.context.events.log("outputs as .npy files do not work: %s" % problem)
    return None


def capture_once(device, program, inputs, results, as_npy):
    """[(name, file)] of the outputs it saved."""
    tool, context = device.tool, device.context
    os.makedirs(results, mode=0o700, exist_ok=True)
    argv = [tool.path, "capture", "--neff", program.neff, "-s", os.path.join(results, "none.ntff"),
            "--save-output"] + tool.executions(1, 0)
    argv += ["--save-output-npy"] if as_npy else []
    argv += ["--disable-profile"] if tool.has("capture", "disable-profile", False) else []
    argv += device.input_files(program, inputs)
    result = context.stage("capture", argv, device.limits(), env=device.variables(), cwd=results,
                           grammar=shown.Grammar("running"))
    if not result.ok:
        raise judge_failure(result, tool.name)
    said = result.read_out().decode("utf-8", "replace")
    return SAVED.findall(said + result.err_tail.decode("utf-8", "replace"))


def collect(program, specs, saved, folder, as_npy):
    """The saved files as rows of outputs: by the names of the specs, else in order."""
    files = {name: place if os.path.isabs(place) else os.path.join(folder, place)
             for name, place in reversed(saved)}
    if not saved:
        raise NoWay("the profiler saved no outputs")
    order = list(dict.fromkeys(name for name, _ in saved))
    if as_npy:
        return [from_npy(files[name], specs[i] if i < len(specs) else None)
                for i, name in enumerate(order)]
    rows = []
    for i, spec in enumerate(specs):
        path = files.get(spec.get("alias") or spec["name"]) or files.get(spec["name"])
        if path is None and len(files) == len(specs):
            path = files[order[i]]
        if path is None or not os.path.isfile(path):
            raise NoWay("output %d (%s) was not saved" % (i, spec["name"]))
        rows.append(check_size(path, spec, i, bool(program.outputs)))
    return rows


def check_size(path, spec, index, told=True):
    """told: the specs come from the compiler; otherwise from the reference, and the kernel's may
    differ."""
    wanted, size = arrays.byte_size(spec["dtype"], spec["shape"]), os.path.getsize(path)
    if size != wanted and is_npy(path):
        row = from_npy(path)
        return dict(row, dtype=spec["dtype"], shape=spec["shape"])
    if size != wanted:
        kind = KernelFailed if told else NoWay
        raise kind("output %d has %d bytes, and %s of %s has %d"
                   % (index, size, spec["dtype"], tuple(spec["shape"]), wanted))
    return {"path": path, "dtype": spec["dtype"], "shape": spec["shape"]}


def is_npy(path):
    with open(path, "rb") as file:
        return file.read(6) == b"\x93NUMPY"


def from_npy(path, hint=None):
    """Writes the raw content of an .npy file beside it, and returns it with its header's facts. For
    types that numpy lacks the file has untyped bytes; then the hint's type counts if it has the
    same size."""
    if not os.path.isfile(path):
        raise NoWay("%s is not there" % os.path.basename(path))
    with open(path, "rb") as file:
        magic = file.read(8)
        if magic[:6] != b"\x93NUMPY":
            raise NoWay("%s is not an .npy file" % os.path.basename(path))
        length = struct.unpack("<H", file.read(2))[0] if magic[6] == 1 else \
            struct.unpack("<I", file.read(4))[0]
        try:
            head = ast.literal_eval(file.read(min(length, 65536)).decode("latin-1").strip())
            dtype, shape = npy_dtype(head["descr"], hint), [int(side) for side in head["shape"]]
            if head["fortran_order"] and len(shape) > 1:
                raise ValueError("its columns come first")
        except (ValueError, SyntaxError, KeyError, TypeError) as problem:
            raise NoWay("the head of %s is not understood: %s"
                        % (os.path.basename(path), problem)) from None
        raw = path + ".raw"
        with open(raw, "wb") as out:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                out.write(chunk)
    return {"path": raw, "dtype": dtype, "shape": shape}


def npy_dtype(descr, hint=None):
    found = re.match(r"[<>|=]?([a-zA-Z])(\d+)$", descr if isinstance(descr, str) else "")
    if not found:
        raise ValueError("no type %s" % (descr,))
    kind, size = found.group(1), int(found.group(2))
    names = {"f": "float%d", "i": "int%d", "u": "uint%d"}
    if kind == "b":
        return "bool"
    if kind in names:
        return names[kind] % (8 * size)
    if hint and arrays.ITEM_BYTES.get(hint["dtype"]) == size:
        return hint["dtype"]
    return VOID.get(size, "uint8")


# -------------------------------------------------------------------------------- other ways


def nrt(device, program, inputs, results):
    """Through the runtime's Python layer, in an environment that has it."""
    if not program.outputs:
        raise NoWay("the compiler does not tell the outputs")
    python, extra = device.nrt_python()
    request = {"model": program.row(), "runs": [{"inputs": inputs, "results": results}]}
    answer, result = compiling.call_worker(device.context, compiling.Ask(
        "run", "nrt-run", request, device.limits(), device.variables(extra), python, "nrt"))
    if answer and answer["ok"]:
        return answer["runs"][0]
    if answer and answer.get("missing"):
        raise NoWay("there is no nrtpy: " + answer["error"][:200])
    raise judge_failure(result, "nrtpy")


def in_process(how):
    """A launch by the SDK itself: the numpy call, or legacy baremetal."""
    def run(device, program, inputs, results):
        kernel, context = program.kernel, device.context
        folder = os.path.join(context.work, "%s-%s" % (kernel.label, how))
        number = len(os.listdir(folder)) if os.path.isdir(folder) else 0
        folder = os.path.join(folder, str(number))
        os.makedirs(folder, mode=0o700)
        request = {"kernel": kernel.path, "name": kernel.name, "inputs": inputs, "how": how,
                   "folder": folder, "results": results, "lnc": device.lnc,
                   "ways": {program.dialect: [how]}}
        env = device.variables(dict(compiling.own_flags(), NKI_ARTIFACTS_DIR=folder,
                                    NKI_DEBUG_INFO="True",
                                    NEURON_PLATFORM_TARGET_OVERRIDE=context.device))
        limits = stage.Limits(context.number("compile_limit_s") + context.number("run_limit_s"))
        answer, result = compiling.call_worker(
            context, compiling.Ask("call", how + "-run", request, limits.on(device.held), env))
        if answer and answer["ok"]:
            return answer["outputs"]
        raise judge_failure(result, how)
    return run


WAYS = {"capture": capture, "nrt": nrt, "call": in_process("call"),
        "baremetal": in_process("baremetal")}


class Executor:
    """Runs seeds in the first way that works, and keeps to it."""

    def __init__(self, device, ways):
        self.device, self.ways, self.way = device, list(ways), None
        self.context = device.context

    def run(self, program, inputs, results):
        problems = []
        for name in [self.way] if self.way else self.ways:
            if name == "baremetal" and program.dialect != "legacy":
                continue
            try:
                rows = patiently(self.device,
                                 lambda: WAYS[name](self.device, program, inputs, results))
                if self.way is None:
                    self.context.events.log("outputs by %s" % name)
                self.way = name
                return rows
            except NoWay as problem:
                problems.append("%s: %s" % (name, problem))
                self.context.events.log("running by %s does not work: %s" % (name, problem),
                                        "warning")
        raise Failed("environment", "the kernel cannot be run on this host; tried "
                     + ("; ".join(problems) or "nothing"))
