# SPDX-License-Identifier: Apache-2.0
"""Which seam compiles where, what counts as a seam that does not exist and what as the kernel's
fault, and what reaches the compiler: options of the decorator, defaults of parameters, flags."""

import json
import os
import shutil
import unittest

from sdks import MODERN, MODERN_LAUNCH, SDKS, Sdk, modern
from hone_runner.sdk import routes


class Seams(Sdk):
    def test_each_release_is_compiled_by_what_it_has(self):
        for sdk in SDKS:
            if sdk == "none":
                continue
            with self.subTest(sdk):
                found = self.compile(sdk)
                self.assertEqual((True, sdk, "kernel"),
                                 (found["ok"], found.get("seam"), found["name"]), found)
                with open(found["neff"], "rb") as file:
                    self.assertEqual(b"NEFF", file.read())

    def test_names_types_and_aliases_come_from_the_compiler(self):
        for sdk in ("nir", "executor", "frontend", "context"):
            found = self.compile(sdk)
            self.assertEqual(["a", "b"], [row["name"] for row in found["inputs"]][:2])
            self.assertEqual({"name": "output_1", "dtype": "bfloat16", "shape": [2], "alias": "b"},
                             found["outputs"][1])

    def test_a_release_with_no_known_way_says_what_was_tried(self):
        found = self.compile("none")
        self.assertEqual((False, "seams"), (found["ok"], found["kind"]))
        self.assertEqual({"nir", "executor", "frontend", "context", "bir", "simulation", "call",
                          "ir"},
                         {row["seam"] for row in found["tried"]})

    def test_an_error_in_the_kernel_is_no_missing_seam(self):
        for body in ('raise TypeError("f() got an unexpected keyword argument \'q\'")',
                     "import nothing_like_it", "raise NotImplementedError()", "a.no_such_thing"):
            with self.subTest(body):
                found = self.compile("nir", body)
                self.assertEqual((False, "kernel"), (found["ok"], found["kind"]), found)
                self.assertIn("kernel.py", found["error"]["text"])

    def test_a_file_that_does_not_parse_names_its_line(self):
        found = self.compile("nir", "x = (")
        self.assertEqual(("syntax", True), (found["kind"], found["line"] > 5))

    def test_a_dialect_the_environment_must_not_run_is_refused_before_anything_runs(self):
        found = self.compile("nir", "raise SystemExit(3)", module="neuronxcc.nki",
                             ways={"current": list(routes.CURRENT)})
        self.assertEqual(("dialect", "legacy"), (found["kind"], found["dialect"]))


# What becomes of the seam nir in a release that has the executor too: a module, and what is changed
# in it. The first rows are moved names and signatures. The last ones fail deep in the toolchain.
COMPILED, DRIVER = "nki/framework/compiled.py", "nki/compiler/ncc_driver.py"
OTHER_SHAPES = {
    "a name that was moved": (COMPILED, "def compile_kernel_to_nir", "def lower_kernel"),
    "a keyword that is not taken": (COMPILED, "compile_opts, ", "options, "),
    "one that is required": (COMPILED, "compile_opts, ", "compile_opts, trace_cache, "),
    "an object of another kind": (COMPILED, "kernel.func(**inputs)", "kernel.spec.func(**inputs)"),
    "an attribute deep in the toolchain": (COMPILED, "    kernel.func(**inputs)",
                                           "    lower(compile_opts)"),
    "a type deep in the toolchain": (COMPILED, "    kernel.func(**inputs)", "    lower()"),
    "a module that is missing": (COMPILED, "    kernel.func(**inputs)",
                                 "    import nki._backends.gone"),
    "options that are made otherwise": (DRIVER, 'artifacts_dir=None, output_path="file.neff"',
                                        "work_dir=None"),
    "what is not done": (COMPILED, "    kernel.func(**inputs)", "    raise NotImplementedError()"),
}
LOWER = '''
def lower(options):
    return options.pipeline.passes
'''


class OtherShapes(Sdk):
    """A release in which a documented call has another shape."""

    def sdk(self, file, old, new):
        files = dict(SDKS["nir"], **{})
        files[file] = files[file].replace(old, new)
        self.assertIn(new, files[file])
        files[COMPILED] += LOWER + SDKS["executor"][COMPILED]
        return files

    def test_the_next_seam_is_tried_and_why_is_told(self):
        for what, change in OTHER_SHAPES.items():
            with self.subTest(what):
                found = self.compile(self.sdk(*change))
                self.assertEqual((True, "executor"), (found["ok"], found.get("seam")), found)
                why = [row["why"] for row in found["tried"] if row["seam"] == "nir"]
                self.assertRegex(why[0], "(Import|Type|Attribute|NotImplemented|ModuleNotFound)"
                                         r"\w*Error", found["tried"])

    def test_where_in_the_toolchain_is_told(self):
        found = self.compile(self.sdk(*OTHER_SHAPES["an attribute deep in the toolchain"]))
        self.assertRegex(found["tried"][0]["why"], r"compiled\.py line \d+")

    def test_the_kernels_own_error_is_the_kernels_wherever_it_surfaces(self):
        wrapped = "    try:\n        kernel.func(**inputs)\n    except Exception as problem:\n" \
                  "        raise TypeError('tracing failed')"
        for end in (" from problem", "", " from None"):
            files = self.sdk(COMPILED, "    kernel.func(**inputs)", wrapped + end)
            for body in ("a.no_such_thing", "len(5)", "import nothing_like_it"):
                with self.subTest(end=end, body=body):
                    found = self.compile(files, body)
                    self.assertEqual((False, "kernel", "nir"),
                                     (found["ok"], found["kind"], found.get("seam")), found)

    def test_an_error_that_names_the_kernels_file_is_the_kernels(self):
        files = self.sdk(COMPILED, "    kernel.func(**inputs)",
                         "    raise TypeError('%s:12: no such operand' % "
                         "kernel.func.__code__.co_filename)")
        self.assertEqual("kernel", self.compile(files)["kind"])

    def test_within_a_seam_that_was_proven_nothing_is_laid_to_it(self):
        deep = self.sdk(*OTHER_SHAPES["a type deep in the toolchain"])
        found = self.compile(deep, proven="nir")
        self.assertEqual((False, "kernel", "nir"), (found["ok"], found["kind"], found["seam"]))
        moved = self.sdk(*OTHER_SHAPES["a keyword that is not taken"])
        self.assertEqual("executor", self.compile(moved, proven="nir").get("seam"))

    def test_a_process_that_dies_leaves_the_seam_it_died_in(self):
        files = self.sdk(COMPILED, "    kernel.func(**inputs)", "    import os; os._exit(0)")
        found = self.compile(files)
        self.assertEqual(("began", "nir"), (found["kind"], found["seam"]))


class Options(Sdk):
    """What the decorator was told reaches the compiler by every seam."""

    KERNEL = "import nki\n\n\n@nki.jit%s\ndef kernel(a, b, scale):\n    return a, b\n"

    def told(self, seam, options, options_told=True, **request):
        found = self.compile(modern(seam, options_told), text=self.KERNEL % options, **request)
        self.assertEqual((True, seam), (found["ok"], found.get("seam")), found)
        with open(found["neff"]) as file:
            return json.load(file)

    def test_by_every_seam(self):
        for seam in MODERN:
            with self.subTest(seam):
                told = self.told(seam, "(address_rotation=False, barrier_check=True, "
                                       "schedule='late')")
                self.assertIs(told["address_rotation"], False)
                self.assertIs(told.get("enable_barrier_checker", told.get("barrier_check")), True)
                self.assertIn("late", str(told))

    def test_the_back_end_optimises_only_where_the_kernel_wants_it(self):
        for seam in ("nir", "bir", "frontend", "context", "executor"):
            for options, wanted in (("", False), ("(_enable_backend_opt=True)", True)):
                told = self.told(seam, options)
                self.assertEqual(wanted, "scheduling" in told["neuronx_cc_backend_opts"], seam)

    def test_where_the_launch_tells_no_options_they_are_the_fields(self):
        told = self.told("nir", "(address_rotation=False, barrier_check=True)", False)
        self.assertEqual((False, True), (told["address_rotation"], told["enable_barrier_checker"]))

    def test_a_seam_without_a_place_for_one_does_not_serve(self):
        files = modern("nir", False)
        files["nki/__init__.py"] += MODERN_LAUNCH
        found = self.compile(files, text=self.KERNEL % "(schedule='late', compile_config={'x': 1})")
        self.assertEqual((True, "call"), (found["ok"], found.get("seam")), found)
        self.assertIn({"seam": "nir", "why": "it cannot be given the decorator's option schedule"},
                      found["tried"])
        with open(found["neff"]) as file:
            told = json.load(file)
        self.assertEqual(("late", {"x": 1}), (told["schedule"], told["compile_config"]))

    def test_the_jobs_flags_come_after_the_kernels(self):
        told = self.told("nir", "", flags=["--fast"])
        self.assertEqual(["--fast"], told["neuronx_cc_args"])

    def test_two_physical_cores(self):
        for seam in MODERN:
            for options in ("", "(lnc=2)"):
                with self.subTest(seam=seam, options=options):
                    self.assertEqual(2, self.told(seam, options, lnc=2)["lnc"])

    def test_a_decorator_that_asks_for_another_number_of_cores_is_told(self):
        found = self.compile(modern("nir"), text=self.KERNEL % "(lnc=2)")
        self.assertEqual("unclear", found["kind"])
        self.assertIn("asks for lnc = 2", found["message"])


class Defaults(Sdk):
    """Parameters that are not given take what the function says."""

    KERNEL = "import nki\nimport numpy as np\n\n\n@nki.jit\n" \
             "def kernel(a, b, scale, factor=2, kind='row', eps=np.float32(0.5), *, axis=None):\n" \
             "    assert factor == 2 and axis is None\n    return a, b\n"

    def test_they_are_given_to_every_seam(self):
        for seam in MODERN:
            if seam in ("executor", "call"):
                continue            # Python's own call does it there
            with self.subTest(seam):
                found = self.compile(modern(seam), text=self.KERNEL)
                self.assertTrue(found["ok"], found)
                with open(found["neff"]) as file:
                    self.assertEqual({"a": "tensor", "b": "tensor", "scale": 0.5, "factor": 2,
                                      "kind": "row", "eps": 0.5, "axis": None},
                                     json.load(file)["inputs"])
                self.assertEqual(["a", "b", "scale", "factor", "kind", "eps", "axis"],
                                 found["parameters"])

    def test_a_launch_has_them_too(self):
        for seam in ("executor", "call"):
            self.assertTrue(self.compile(modern(seam), text=self.KERNEL)["ok"])

    def test_a_tensor_as_a_default_is_refused_with_its_name(self):
        text = self.KERNEL.replace("factor=2", "factor=np.zeros((2, 2))")
        found = self.compile(modern("nir"), text=text)
        self.assertEqual("kernel", found["kind"])
        self.assertIn("factor", found["error"]["message"])


if __name__ == "__main__":
    unittest.main()
