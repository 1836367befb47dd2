# SPDX-License-Identifier: Apache-2.0
"""Runs NEFFs through the runtime's Python layer: nrtpy (SDK 2.32 and newer, in an environment of
its own) or the copy of it within newer nki packages. One process; the models stay loaded, so that a
sample costs no load. Needs numpy and that layer alone (Neuron SDK documentation, nrtpy)."""

import json
import os
import statistics
import sys
import traceback

from . import arrays


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

    def sample_us(self, warmup, iterations):
        """The median of one benchmark run on the device's own clock."""
        found = self.model.benchmark(inputs=self.inputs, warmup_iter=warmup,
                                     benchmark_iter=iterations, mode="device")
        durations = list(getattr(found, "durations_ms", None) or ())
        return 1e3 * (statistics.median(durations) if durations else found.mean_ms)


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


def do_benchmark(request, classes):
    """Samples in the order asked for: [[who, us]]."""
    models = {}
    for name, row in request["models"].items():
        models[name] = Loaded(classes, row, name)
        models[name].set_inputs(request["inputs"])
        models[name].model(inputs=models[name].inputs)      # the first execution is no sample
    samples = []
    for who in request["order"]:
        us = models[who].sample_us(request["warmup"], request["iterations"])
        samples.append([who, us])
        print("sample %d of %d: %s %.3f us" % (len(samples), len(request["order"]), who, us),
              flush=True)
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
                  "error": "%s: %s" % (type(problem).__name__, problem), "text": text}
    with open(answer_path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(answer_path + ".tmp", answer_path)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)             # the runtime's exit handlers have been seen to abort
