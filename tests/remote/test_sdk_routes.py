# SPDX-License-Identifier: Apache-2.0
"""The ways of a release, what kernels and outputs are called, and the verdict."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest

from sdks import Sdk
from hone_runner import releases
from hone_runner.sdk import arrays, compile as compiling, execute, routes, seams, source, \
    verdict


class Routes(unittest.TestCase):
    def test_the_legacy_namespace_is_never_used_beside_a_newer_one(self):
        route = routes.route_for("standalone", "2.32")
        self.assertNotIn("legacy", route.compile)
        self.assertNotIn("baremetal", route.run + sum(map(list, route.compile.values()), []))
        self.assertIn("zeros", route.why["legacy"])
        self.assertEqual("current", routes.canary_dialect(route))

    def test_what_a_release_was_seen_with_is_tried_first(self):
        for route, release, first in (("standalone", "2.29", "frontend"),
                                      ("standalone", "2.30", "bir"), ("standalone", "2.31", "bir"),
                                      ("standalone", "2.32", "nir"),
                                      ("standalone", "2.33", "executor"),
                                      ("standalone", "2.33+", "executor"),
                                      ("framework", "2.28", "ir"), ("legacy", "2.26", "baremetal")):
            found = routes.route_for(route, release)
            dialect = routes.canary_dialect(found)
            self.assertEqual(first, found.compile[dialect][0], release)
            self.assertEqual(sorted(routes.ROUTES[route].compile[dialect]),
                             sorted(found.compile[dialect]))
        every = {name for row in routes.ROUTES.values() for names in row.compile.values()
                 for name in names}
        self.assertEqual(set(seams.SEAMS), every)

    def test_the_chosen_way_comes_first_and_what_was_found_wanting_is_gone(self):
        ways = routes.Ways(routes.route_for("standalone", "2.31"))
        self.assertTrue(ways.skip("bir", "it lies", "current"))
        ways.prove("call")
        self.assertEqual("call", ways.compile()["unknown"][0])
        self.assertNotIn("bir", ways.compile()["current"])
        self.assertFalse([name for name in routes.CURRENT if name != "bir"
                          and not ways.skip(name, "", "current")][:-1])

    def test_what_is_newer_than_known_is_said_to_be(self):
        newest = releases.NEWEST.line
        self.assertIn("newer than " + newest, routes.route_for("standalone", newest + "+").note)
        self.assertIsNone(routes.route_for(None, None))
        self.assertEqual("legacy", routes.canary_dialect(routes.route_for("legacy", "2.26")))


class Sources(unittest.TestCase):
    def test_dialects_and_kernels(self):
        for text, name, found in [
                ("import neuronxcc.nki as nki\n@nki.jit\ndef k(a):\n  return a", "k", "legacy"),
                ("from nki import isa\ndef f(): pass", "f", "current"),
                ("@nki.jit\ndef a(): b()\n@nki.jit\ndef b(): pass", "a", "unknown"),
                ("def k(a): return nl.load(a, mask=1)", "k", "legacy"),
                ("def k(a): nisa.activation(dst=a)", "k", "current")]:
            tree = source.ast.parse(text)
            self.assertEqual((name, found), (source.find_kernel(tree, None).name,
                                             source.dialect(tree)), text)
        with self.assertRaises(source.Unclear):
            source.find_kernel(source.ast.parse("def a(): pass\ndef b(): pass"), None)
        with self.assertRaises(source.Unclear):
            source.find_kernel(source.ast.parse("x = 1"), "k")

    def test_names_that_are_returned(self):
        tree = source.ast.parse("def k(a):\n  if a: return a\n  return x, y[0]")
        self.assertEqual(["x", ""], source.returned_names(tree.body[0]))


class Names(unittest.TestCase):
    META = {"values": [{"kind": "array", "dtype": "float32", "shape": [2]},
                       {"kind": "int", "value": "3"},
                       {"kind": "array", "dtype": "float32", "shape": [3]}]}

    def matched(self, specs):
        answer = {"parameters": ["a", "n", "b"],
                  "inputs": specs and [{"name": name} for name in specs]}
        return [(row["name"], row["argument"]) for row in compiling.match_inputs(answer, self.META)]

    def test_inputs_are_matched_by_name_else_by_place(self):
        self.assertEqual([("a", 0), ("b", 2)], self.matched(None))
        self.assertEqual([("b.must_alias_input", 2), ("a", 0)],
                         self.matched(["b.must_alias_input", "a"]))
        self.assertEqual([("input0", 0), ("input1", 2)], self.matched(["input0", "input1"]))


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-sdk-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def collect(self, said, outputs, as_npy=False):
        program = types.SimpleNamespace(outputs=outputs)
        return execute.collect(program, outputs or [], execute.SAVED.findall(said), self.folder,
                               as_npy)

    def capture(self, saves, outputs=None, hints=None, flags=("save-output", "save-output-npy")):
        """Outputs by a tool that writes what `saves` has as as_npy: bytes. None: it fails."""
        asked, said = [], []

        def stage(name, argv, limits, **options):
            as_npy = "--save-output-npy" in argv
            asked.append(as_npy)
            data = saves[as_npy]
            if data is not None:
                self.write("o.npy" if as_npy else "o.bin", data)
            text = b'saved output "o" as "o.%s"\n' % (b"npy" if as_npy else b"bin")
            return types.SimpleNamespace(
                ok=data is not None, outcome="failed", status=1, text="with exit status 1",
                seconds=1, read_out=lambda: text, out_tail=b"", out=None, err=None,
                err_tail=b"" if data is not None else b"FATA[0001] unsupported dtype bfloat16\n",
                tail=lambda lines=20: ["unsupported dtype bfloat16"])
        tool = types.SimpleNamespace(path="tool", name="tool", version="1",
                                     executions=lambda number, nth: [],
                                     has=lambda command, flag, unless=True: flag in flags)
        events = types.SimpleNamespace(log=lambda text, severity="note": said.append(text))
        device = types.SimpleNamespace(
            tool=tool, context=types.SimpleNamespace(stage=stage, events=events),
            input_files=lambda program, inputs: [], limits=lambda: None, variables=lambda: {})
        program = types.SimpleNamespace(neff="k.neff", outputs=outputs, hints=hints)
        rows = execute.capture(device, program, "inputs", self.folder)
        with open(rows[0]["path"], "rb") as file:
            return (rows[0]["dtype"], rows[0]["shape"], file.read()), asked

    BF16 = {"dtype": "bfloat16", "shape": [2]}
    CODES = b"\x80\x3f\x00\x40"

    @staticmethod
    def npy(descr, shape, data):
        head = "{'descr': %r, 'fortran_order': False, 'shape': %r, }\n" % (descr, shape)
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data

    def test_a_tool_that_cannot_save_bf16_as_npy_saves_it_raw(self):
        found, asked = self.capture({True: None, False: self.CODES}, hints=[self.BF16])
        self.assertEqual((found, asked), (("bfloat16", [2], self.CODES), [True, False]))

    def test_a_tool_without_npy_is_read_by_what_the_reference_returns(self):
        found, asked = self.capture({False: self.CODES}, hints=[self.BF16], flags=("save-output",))
        self.assertEqual((found, asked), (("bfloat16", [2], self.CODES), [False]))

    def test_bytes_without_a_type_get_the_one_that_is_known(self):
        for descr, dtype, data in (("|V2", "bfloat16", self.CODES), ("<V2", "float16", self.CODES),
                                   ("|V1", "float8_e5m2", b"ab")):
            npy = self.npy(descr, (2,), data)
            found, _ = self.capture({True: npy}, hints=[{"dtype": dtype, "shape": [2]}])
            self.assertEqual(found, (dtype, [2], data))
        found, _ = self.capture({True: self.npy("|V2", (2,), self.CODES)},
                                hints=[{"dtype": "float32", "shape": [2]}])
        self.assertEqual(found[0], "bfloat16")

    def test_a_size_that_is_not_the_reference_s_is_not_the_kernels_fault(self):
        for saves in ({True: None, False: b"abc"}, {True: b"nonsense", False: b"abc"},
                      {True: self.npy([("a", "<f4")], (2,), b""), False: b"abc"}):
            with self.assertRaises(execute.NoWay):
                self.capture(saves, hints=[self.BF16])
        with self.assertRaises(execute.NoWay):
            self.capture({}, hints=None, flags=("save-output",))

    def test_saved_outputs_are_found_by_the_lines_that_name_them(self):
        self.write("out", b"\0" * 8)
        self.write("cache", b"\0" * 4)
        said = 'INFO[0001] saved output "out" as "out"\nsaved output "cache" as "cache"\n'
        rows = self.collect(said, [{"name": "output_1", "dtype": "bfloat16", "shape": [2],
                                    "alias": "cache"},
                                   {"name": "out", "dtype": "float32", "shape": [2]}])
        self.assertEqual(["cache", "out"], [os.path.basename(row["path"]) for row in rows])
        self.assertEqual(["bfloat16", "float32"], [row["dtype"] for row in rows])

    def test_other_names_are_taken_in_order(self):
        self.write("output_0", b"\0" * 8)
        rows = self.collect('saved output "output_0" as "output_0"',
                            [{"name": "", "dtype": "float32", "shape": [2]}])
        self.assertEqual([2], rows[0]["shape"])

    def test_a_wrong_size_is_the_kernels_and_a_missing_file_the_tools(self):
        self.write("out", b"\0" * 7)
        with self.assertRaises(execute.KernelFailed):
            self.collect('saved output "out" as "out"',
                         [{"name": "out", "dtype": "float32", "shape": [2]}])
        with self.assertRaises(execute.NoWay):
            self.collect('saved output "x" as "gone"',
                         [{"name": "out", "dtype": "float32", "shape": [2]}])
        with self.assertRaises(execute.NoWay):
            self.collect("nothing was saved", None, True)

    def test_npy_files_tell_type_and_shape(self):
        for dtype, shape in (("float32", [2, 2]), ("uint8", [3]), ("bool", [1]), ("int32", [])):
            data = b"\1" * arrays.byte_size(dtype, shape)
            self.write("o.npy", arrays.npy_header(dtype, shape) + data)
            row = execute.from_npy(os.path.join(self.folder, "o.npy"))
            self.assertEqual((dtype, shape), (row["dtype"], row["shape"]))
            with open(row["path"], "rb") as file:
                self.assertEqual(data, file.read())
        self.assertEqual("bfloat16", execute.npy_dtype("|V2"))


class Types(unittest.TestCase):
    def test_names_of_types_of_every_release(self):
        class Named:
            name = "bfloat16"
        for value, name in [("bf16", "bfloat16"), ("nki.language.float32", "float32"), (Named,
                                                                                        "bfloat16"),
                            ("<class 'numpy.float16'>", "float16"), ("float8e4", "float8_e4m3"),
                            ("quaternion", ""), (None, "")]:
            self.assertEqual(name, arrays.dtype_name(value))


NRTPY = '''
import numpy as np
class Result:
    durations_ms, mean_ms = [0.020, 0.016, 0.017, 0.017] * 50, 0.018
class NrtpyTensor:
    def __init__(self, array):
        self.array = array
    @classmethod
    def from_numpy(cls, array, name=None, core_id=0):
        return cls(array)
    def numpy(self):
        return self.array
class NrtpyModel:
    input_tensors_info = {"a": 0, "b.must_alias_input": 0}
    runs = []
    @classmethod
    def load_from_neff(cls, path, name=None, core_id=0):
        return cls()
    def __call__(self, inputs, outputs=None):
        NrtpyModel.runs.append(sorted(inputs))
        return {"b": NrtpyTensor(inputs["b.must_alias_input"].array.view("V2")),
                "out": NrtpyTensor(inputs["a"].array.reshape(-1).view("V4"))}
    def benchmark(self, inputs, outputs=None, warmup_iter=5, benchmark_iter=5, mode="host"):
        assert (mode, warmup_iter, benchmark_iter) == ("device", 20, 200)
        return Result()
'''


class Layer(Sdk):
    """The runtime's Python layer, in an environment of its own."""

    def ask(self, operation, request):
        self.write("sdk/nrtpy.py", NRTPY)
        path = self.write("request.json", json.dumps(request))
        answer = os.path.join(self.folder, "answer.json")
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(
            [os.path.join(self.folder, "sdk")] + sys.path))
        subprocess.run([sys.executable, "-c", "import sys; from hone_runner.sdk import nrt; "
                        "nrt.main(sys.argv[1:])", operation, path, answer], env=env, check=True,
                       stdout=subprocess.DEVNULL)
        with open(answer) as file:
            return json.load(file)

    MODEL = {"neff": "k.neff", "inputs": [{"name": "a", "argument": 0},
                                          {"name": "b.must_alias_input", "argument": 1}],
             "outputs": [{"name": "out", "dtype": "float32", "shape": [2, 3]},
                         {"name": "output_1", "dtype": "bfloat16", "shape": [2], "alias": "b"}]}

    def test_outputs_get_their_names_types_and_shapes_back(self):
        inputs, results = (os.path.join(self.folder, name) for name in ("inputs", "results"))
        found = self.ask("run", {"model": self.MODEL, "runs": [{"inputs": inputs,
                                                                "results": results}]})
        rows = found["runs"][0]
        self.assertEqual([("float32", [2, 3]), ("bfloat16", [2])],
                         [(row["dtype"], row["shape"]) for row in rows], found)
        with open(rows[0]["path"], "rb") as file:
            self.assertEqual(struct.pack("<6f", *range(6)), file.read())
        with open(rows[1]["path"], "rb") as file:
            self.assertEqual(struct.pack("<2H", 16256, 16384), file.read())

    def test_a_sample_is_a_median_in_microseconds(self):
        request = {"models": {"kernel": self.MODEL, "incumbent": self.MODEL}, "warmup": 20,
                   "iterations": 200, "inputs": os.path.join(self.folder, "inputs"), "lnc": 1,
                   "warmup_s": 0, "order": ["incumbent", "kernel"]}
        found = self.ask("benchmark", request)
        self.assertEqual([("incumbent", 17.0), ("kernel", 17.0)],
                         [(row["of"], row["us"]) for row in found["samples"]], found)

    def test_an_environment_without_it_says_so(self):
        path = self.write("request.json", json.dumps({"models": {}, "order": []}))
        answer = os.path.join(self.folder, "answer.json")
        subprocess.run([sys.executable, "-c", "import sys; from hone_runner.sdk import nrt; "
                        "nrt.main(sys.argv[1:])", "benchmark", path, answer], check=True)
        with open(answer) as file:
            self.assertTrue(json.load(file)["missing"])


def match(rel, **more):
    found = {"rel_l2": rel, "max_abs": rel, "finite": True, "zero": False, "reference_zero": False,
             "is_input": False}
    found.update(more)
    return found


class Verdicts(unittest.TestCase):
    """The same rules as in core/task/verdict.c, whose tests have the same cases."""

    def test_numbers(self):
        good, bad = [match(1e-6)], [match(0.5)]
        self.assertEqual(("yes", "2 seeds, relative L2 at most 1e-06"),
                         tuple(verdict.correct([(0, good), (21, good)], 2e-5).values()))
        self.assertEqual(("no", "seed 21: relative L2 is 0.5, allowed is 2e-05"),
                         tuple(verdict.correct([(0, good), (21, bad)], 2e-5).values()))
        self.assertEqual("no", verdict.correct([(0, [match(None)])], 2e-5)["answer"])
        self.assertEqual("not asked", verdict.correct([], 2e-5)["answer"])

    def test_what_no_honest_kernel_produces(self):
        for odd, part in [({"finite": False}, "NaN"), ({"zero": True}, "all zero"),
                          ({"is_input": True}, "equals an input")]:
            found = verdict.credible([(7, [match(0), match(0, **odd)])])
            self.assertEqual("no", found["answer"])
            self.assertIn("seed 7: output 1", found["reason"])
            self.assertIn(part, found["reason"])
        fine = verdict.credible([(7, [match(0, zero=True, reference_zero=True)])])
        self.assertEqual("yes", fine["answer"])

    def test_speed(self):
        was = [10.0, 10.1, 10.2, 9.9, 10.0, 10.1]
        for now, answer in [([8.0, 8.1, 8.0, 7.9, 8.2, 8.0], "yes"), ([12.0] * 6, "no"),
                            (list(reversed(was)), "inconclusive"), ([8.0] * 4, "inconclusive")]:
            self.assertEqual(answer, verdict.faster(was, now)["answer"])
        self.assertEqual("not asked", verdict.faster([], was)["answer"])


if __name__ == "__main__":
    unittest.main()
