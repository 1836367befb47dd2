# SPDX-License-Identifier: Apache-2.0
"""Runs NEFFs through the runtime's Python layer: nrtpy (SDK 2.32 and newer, in an environment of
its own) or the copy of it within newer nki packages. Everything happens in one process with the
models loaded, so taking a sample includes no loading. Needs numpy and that layer alone (Neuron SDK
documentation, nrtpy)."""

import gzip
import importlib
import json
import os
import sys
import time
import traceback

from . import arrays, launches


def layer():
    """(model class, tensor class, name) of the first layer that can be imported."""
    problems = []
    for module, model, tensor in (("nrtpy", "NrtpyModel", "NrtpyTensor"),
                                  ("nrtpy", "SpikeModel", "SpikeTensor"),
                                  ("nki.runtime", "SpikeModel", "SpikeTensor")):
        try:
            found = __import__(module, fromlist=[model, tensor])
            return getattr(found, model), getattr(found, tensor), module
        except (ImportError, AttributeError) as problem:
            problems.append("%s: %s" % (module, problem))
    raise ImportError("; ".join(problems))


class Loaded:
    """A NEFF on the core, with the inputs of one seed."""

    def __init__(self, classes, row, name):
        self.model_class, self.tensor_class = classes
        self.row = row
        self.model = self.model_class.load_from_neff(row["neff"], name=name, core_id=0)
        self.inputs = {}

    def set_inputs(self, folder):
        """By the names the NEFF has; inputs that outputs alias carry a suffix there."""
        values = arrays.load(folder, plain=True)
        by_name = {}
        for item in self.row["inputs"]:
            by_name[item["name"]] = values[item["argument"]]
            by_name[item["name"].split(".must_alias_input")[0]] = values[item["argument"]]
        self.inputs = {}
        for name in self.model.input_tensors_info:
            value = by_name.get(name)
            if value is None:
                value = by_name.get(name.split(".must_alias_input")[0])
            if value is None:
                raise KeyError("the NEFF has an input %s, the kernel has %s"
                               % (name, ", ".join(sorted(by_name))))
            self.inputs[name] = self.tensor_class.from_numpy(value, name=name, core_id=0)

    def run(self, folder):
        results = self.model(inputs=self.inputs)
        os.makedirs(folder, exist_ok=True)
        rows = []
        for i, spec in enumerate(self.row["outputs"] or [{"name": n} for n in results]):
            name = spec.get("alias") or spec["name"]
            if name not in results:
                name = list(results)[i]
            rows.append(arrays.store(shaped(results[name].numpy(), spec),
                                     os.path.join(folder, "output_%d.bin" % i), spec))
        return rows

    def allocate(self):
        """Buffers for the outputs, so that a timed launch does not allocate; None if the layer
        makes them itself."""
        make = getattr(self.model, "allocate_output_tensors", None)
        return {one.name: one for one in make()} if make else None

    def launch(self, outputs=None):
        return self.model(inputs=self.inputs, outputs=outputs)

    def sample(self, request, keep):
        """One run of many launches after warm-ups: a row of launches.sample(). keep(text) gets the
        runtime's events unchanged."""
        trace, why = open_trace(self.model_class, self.model)
        if trace is None:
            return self.sample_by_durations(request, why)
        outputs = self.allocate()
        with trace:
            for _ in range(request["warmup"]):
                self.launch(outputs)
            trace.drain_events()
            for _ in range(request["iterations"]):
                self.launch(outputs)
            text = trace.fetch_events_json()
        keep(text)
        try:
            found = launches.of_trace(text, request["lnc"], request["iterations"])
        except launches.Unusable as problem:
            return self.sample_by_durations(request, str(problem))
        return launches.sample([one.us for one in found], [one.span_us for one in found])

    def sample_by_durations(self, request, why):
        """Uses the layer's own benchmark. It gives durations, but not the core of each."""
        found = self.model.benchmark(inputs=self.inputs, warmup_iter=request["warmup"],
                                     benchmark_iter=request["iterations"], mode="device")
        durations = list(getattr(found, "durations_ms", None) or ())
        if not durations and request["lnc"] == 1:
            return launches.sample([1e3 * found.mean_ms])
        try:
            values, comparable = launches.of_durations(durations, request["lnc"],
                                                       request["iterations"])
        except launches.Unusable as problem:
            raise launches.Unusable("%s; %s" % (why, problem)) from None
        return dict(launches.sample(values, comparable=comparable), why=why)


def open_trace(model_class, model):
    """A session of the system trace for the model's core, and why there is none."""
    package = model_class.__module__.split(".")[0]
    for name in (model_class.__module__, package + "._nrtpy", package + "._spike", package):
        try:
            session = importlib.import_module(name).SystemTraceSession
        except (ImportError, AttributeError):
            continue
        try:
            return session(getattr(getattr(model, "model_ref", None), "core_id", 0)), ""
        except Exception as problem:        # a second subscriber, another signature
            return None, "no system trace (%s: %s)" % (type(problem).__name__, problem)
    return None, "the layer has no SystemTraceSession"


def shaped(array, spec):
    """A result with the compiler's shape: the runtime does not always know it."""
    shape = spec.get("shape")
    if not shape or list(array.shape) == list(shape):
        return array
    if spec.get("dtype") and array.nbytes == arrays.byte_size(spec["dtype"], shape):
        dtype = arrays.numpy_dtype(spec["dtype"])
        flat = array.reshape(-1).view("u1")
        return flat.view(dtype or arrays.UNSIGNED[arrays.ITEM_BYTES[spec["dtype"]]]).reshape(shape)
    return array


def do_run(request, classes):
    """Every seed's inputs through one NEFF."""
    loaded = Loaded(classes, request["model"], "kernel")
    runs = []
    for item in request["runs"]:
        loaded.set_inputs(item["inputs"])
        runs.append(loaded.run(item["results"]))
    return {"runs": runs}


def warm(models, seconds):
    """Runs the models in turn until the core has worked that long: after a reset it is slower for
    some seconds, no matter how many launches there are."""
    end = time.monotonic() + seconds
    while True:
        for model in models:
            model.launch()                              # the first execution is no sample, either
        if time.monotonic() >= end:
            return


class Kept:
    """The runtime's events of all samples, a line for each, packed: they are many and alike."""

    def __init__(self, path):
        self.file = gzip.open(path, "wt", encoding="utf-8") if path else None

    def put(self, who, number, text):
        if self.file:
            self.file.write(json.dumps({"of": who, "sample": number, "trace": text}) + "\n")

    def close(self):
        if self.file:
            self.file.close()


class Hourglass:
    """The time until the lock of the core ends. `together` are samples that are compared with each
    other: hone begins them only if there is time for all."""

    def __init__(self, request):
        self.until, self.together = request.get("until"), request.get("together", 1)
        self.began, self.longest = time.time(), 0.0

    def allows(self, number):
        if not number or number % self.together:
            return True
        now = time.time()
        self.longest, self.began = max(self.longest, now - self.began), now
        return self.until is None or now + 1.2 * self.longest <= self.until


def do_benchmark(request, classes):
    """Samples in the order asked for: rows of launches.sample() with "of". There are fewer where
    the lock of the core would end in the middle of samples that are compared."""
    models = {}
    for name, row in request["models"].items():
        models[name] = Loaded(classes, row, name)
        models[name].set_inputs(request["inputs"])
    warm(models.values(), request["warmup_s"])
    samples, kept, hourglass = [], Kept(request.get("events")), Hourglass(request)
    for who in request["order"]:
        if not hourglass.allows(len(samples)):
            break
        number = request.get("first", 0) + len(samples)
        row = models[who].sample(request, lambda text: kept.put(who, number, text))
        samples.append(dict(row, of=who))
        print("sample %d of %d: %s %.3f us" % (len(samples), len(request["order"]), who, row["us"]),
              flush=True)
    kept.close()
    return {"samples": samples}


def main(arguments):
    """OPERATION REQUEST ANSWER: run or benchmark."""
    operation, request_path, answer_path = arguments
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    try:
        model, tensor, name = layer()
        does = {"run": do_run, "benchmark": do_benchmark}[operation]
        answer = dict(does(request, (model, tensor)), ok=True, layer=name)
    except Exception as problem:
        text = traceback.format_exc()
        if not isinstance(problem, ImportError):
            sys.stderr.write("%s: %s\n" % (type(problem).__name__, problem))
        answer = {"ok": False, "missing": isinstance(problem, ImportError),
                  "unusable": isinstance(problem, launches.Unusable),
                  "error": "%s: %s" % (type(problem).__name__, problem), "text": text}
    with open(answer_path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(answer_path + ".tmp", answer_path)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)             # the runtime's exit handlers have been seen to abort
