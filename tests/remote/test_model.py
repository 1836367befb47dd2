# SPDX-License-Identifier: Apache-2.0
"""The kind `model`: a kernel inside a model, by a command and patterns, with the contest's
score."""

import os
import unittest

import common
from hone_runner import model
from hone_runner.context import Failed

# A model that prints what it measured, from numbers in the kernel's file.
MODEL = r"""
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
with open("runs", "a") as file:
    print(os.path.basename(os.path.dirname(sys.argv[1])), os.environ.get("NEURON_RT_VISIBLE_CORES"),
          file=file)
print("accuracy is discussed here, and passed everywhere: 17")
print("Prompt: I believe\nFinal Score: 1.0\n\tAccuracy: %s\n\tLatency: %s\n\tThroughput: %s\n"
      "\tNKI FLOPs Ratio: %s" % (kernel.ACCURACY, kernel.LATENCY, kernel.TPS, kernel.SHARE))
"""
PATTERNS = {"latency_ms": r"^\s*Latency: ([0-9.e+-]+)",
            "tokens_per_s": r"^\s*Throughput: ([0-9.e+-]+)",
            "accuracy": r"^\s*Accuracy: (\w+)",
            "nki_flops_share": r"^\s*NKI FLOPs Ratio: ([0-9.e+-]+)"}


def kernel(latency=100.0, tps=50.0, accuracy=1, share=0.0):
    return "LATENCY = %r\nTPS = %r\nACCURACY = %r\nSHARE = %r\n" % (latency, tps, accuracy, share)


def spec(**members):
    found = {"argv": ["x"], "patterns": PATTERNS,
             "reference": {"latency_ms": 100.0, "tokens_per_s": 50.0}}
    found.update(members)
    return model.Spec(found)


class Numbers(unittest.TestCase):
    def test_the_contest_s_example(self):
        found = spec(reference={"latency_ms": 1000.0, "tokens_per_s": 10.0})
        score = model.score_of(found, {"latency_ms": 100.0, "tokens_per_s": 20.0, "accuracy": 1.0,
                                       "nki_flops_share": 0.85})
        self.assertAlmostEqual(score, 37.0)
        self.assertAlmostEqual(model.sample_us(found, score), 1000.0 * 1000 / 37)

    def test_a_higher_score_is_a_smaller_sample(self):
        found = spec()
        scores = [model.score_of(found, {"latency_ms": latency, "tokens_per_s": 50.0})
                  for latency in (200.0, 100.0, 50.0)]
        samples = [model.sample_us(found, score) for score in scores]
        self.assertEqual(scores, sorted(scores))
        self.assertEqual(samples, sorted(samples, reverse=True))

    def test_what_is_not_accurate_scores_nothing(self):
        values = {"latency_ms": 1.0, "tokens_per_s": 5000.0, "accuracy": 0.79}
        self.assertEqual(model.score_of(spec(accuracy_min=0.8), values), 0.0)
        self.assertGreater(model.score_of(spec(accuracy_min=0.79), values), 0)

    def test_time_to_first_token_stands_in_where_there_is_no_latency(self):
        found = spec(patterns={"ttft_ms": r"TTFT (\S+)"}, reference={"ttft_ms": 30})
        self.assertEqual(model.score_of(found, {"ttft_ms": 15.0}), 2.0)

    def test_the_last_number_counts_and_is_scaled(self):
        found = spec(patterns={"ttft_ms": {"pattern": r"first token: (\S+) s", "scale": 1000}},
                     reference={"ttft_ms": 30})
        text = "first token: 9 s\nfirst token: 0.025 s\nfirst token: soon s\n"
        self.assertEqual(model.parse(found, [text]), {"ttft_ms": 25.0})

    def test_accuracy_is_a_number_or_a_truth_value_and_nothing_like_one(self):
        for text, value in (("1", 1), ("0.93", .93), ("True", 1), ("False", 0), ("passed", None),
                            ("true", None), ("nan", None), ("inf", None), ("", None)):
            self.assertEqual(model.value_of(text), value, text)

    def test_what_is_missing_or_cannot_be_is_named(self):
        good = "Latency: 1\nThroughput: 2\nAccuracy: 1\nNKI FLOPs Ratio: 0.5\n"
        self.assertEqual(len(model.parse(spec(), [good])), 4)
        for bad, name in ((good.replace("Throughput", "Output"), "tokens_per_s"),
                          (good.replace(": 0.5", ": 37"), "nki_flops_share"),
                          (good.replace("Latency: 1", "Latency: -1"), "latency_ms"),
                          (good.replace("Latency: 1", "Latency: 0"), "latency_ms")):
            with self.assertRaisesRegex(model.RunFailed, name):
                model.parse(spec(), [bad])

    def test_descriptions_that_make_no_sense_are_refused(self):
        for members in ({"argv": []}, {"argv": "python3 main.py"}, {"argv": ["a\0b"]},
                        {"patterns": {}}, {"patterns": {"accuracy": "(x)"}},
                        {"patterns": {"mood": "(x)"}},
                        {"patterns": dict(PATTERNS, latency_ms="no group")},
                        {"patterns": dict(PATTERNS, latency_ms="(two) (groups)")},
                        {"patterns": dict(PATTERNS, latency_ms="(")},
                        {"reference": {}}, {"reference": {"latency_ms": 0, "tokens_per_s": 1}},
                        {"runs": 0}, {"runs": 1.5}, {"env": {"A": 1}}, {"accuracy_min": "high"}):
            with self.assertRaises(Failed, msg=members) as caught:
                spec(**members)
            self.assertEqual(caught.exception.kind, "usage")
        with self.assertRaises(Failed):
            model.Spec(None)


class Runs(common.HostCase):
    def setUp(self):
        super().setUp()
        self.tools = self.neuron_ls(cores=2)
        self.write("model/main.py", MODEL)

    def evaluate(self, text, incumbent=None, name="m", job=None, **members):
        found = {"argv": ["{python}", "main.py", "{kernel}"], "cwd": "~/model",
                 "patterns": PATTERNS,
                 "reference": {"latency_ms": 100.0, "tokens_per_s": 50.0}, "runs": 5}
        found.update(members)
        job = dict({"kind": "model", "kernel_text": text, "kernel_path": "/laptop/rms.py",
                    "model": found, "settings": {"tools": self.tools}}, **(job or {}))
        if incumbent:
            job["incumbent_text"] = incumbent
        self.said = self.finish(self.job(name, **job))
        return self.said[-1]

    def metrics(self):
        return {row["name"]: row["value"] for row in self.said if row["event"] == "metric"}

    def test_a_better_kernel_is_faster(self):
        result = self.evaluate(kernel(latency=50.0, share=0.5), kernel())
        verdict = result["verdict"]
        self.assertEqual({name: row["answer"] for name, row in verdict.items()},
                         {"compiles": "yes", "correct": "yes", "credible": "not asked",
                          "faster": "yes"})
        self.assertAlmostEqual(self.metrics()["score"], 3.0)
        self.assertAlmostEqual(self.metrics()["incumbent_score"], 1.0)
        self.assertAlmostEqual(result["latency_us"], 100e3 / 3)
        samples = [(row["of"], round(row["us"])) for row in self.said if row["event"] == "sample"]
        self.assertEqual(sorted(set(samples)), [("incumbent", 100000), ("kernel", 33333)])
        self.assertEqual(samples[:4], [("incumbent", 100000), ("kernel", 33333),
                                       ("kernel", 33333), ("incumbent", 100000)])

    def test_a_worse_kernel_is_not(self):
        verdict = self.evaluate(kernel(latency=200.0), kernel())["verdict"]
        self.assertEqual(verdict["faster"]["answer"], "no")

    def test_a_wrong_kernel_is_not_timed_further(self):
        result = self.evaluate(kernel(accuracy=False, latency=1.0), kernel())
        self.assertEqual(result["verdict"]["correct"]["answer"], "no")
        self.assertEqual(result["verdict"]["faster"]["answer"], "not asked")
        with open(self.path("model/runs")) as file:
            self.assertEqual(len(file.readlines()), 2)

    def test_without_time_it_runs_once_for_its_accuracy(self):
        result = self.evaluate(kernel(), kernel(), job={"no_time": True})
        self.assertEqual(result["verdict"]["correct"]["answer"], "yes")
        self.assertEqual(result["verdict"]["faster"]["answer"], "not asked")
        self.assertEqual([row for row in self.said if row["event"] == "sample"], [])
        with open(self.path("model/runs")) as file:
            self.assertRegex(file.read(), r"\Akernel \d\n\Z")
        self.assertGreater(result["device_s"], 0)

    def test_a_check_prepares_and_takes_no_core(self):
        result = self.evaluate(kernel(), job={"check_only": True}, prepare=["/bin/false"])
        self.assertEqual(result["verdict"]["compiles"]["answer"], "no")
        self.assertEqual(result["device_s"], 0)
        result = self.evaluate(kernel(), name="n", job={"check_only": True}, prepare=["/bin/true"])
        self.assertEqual(result["verdict"]["compiles"]["answer"], "yes")
        self.assertFalse(os.path.exists(self.path("model/runs")))

    def test_cores_are_held_and_kernels_kept_apart(self):
        self.evaluate(kernel(), kernel(), runs=1, warmup=1, cores=2)
        with open(self.path("model/runs")) as file:
            self.assertEqual(sorted(file.read().split("\n")[:4]),
                             ["incumbent 0,1"] * 2 + ["kernel 0,1"] * 2)
        self.assertEqual(len([row for row in self.said if row["event"] == "sample"]), 2)

    def test_a_kernel_that_breaks_the_model_does_not_compile(self):
        verdict = self.evaluate("x = 1\nraise ValueError('number of partitions 256')\n",
                                kernel())["verdict"]
        self.assertEqual(verdict["compiles"]["answer"], "no")
        self.assertIn("ValueError: number of partitions 256", verdict["compiles"]["reason"])
        found = [row for row in self.said if row["event"] == "diagnostic"][0]
        self.assertEqual((os.path.basename(found["file"]), found["line"]), ("rms.py", 2))

    def test_an_incumbent_that_breaks_is_no_fault_of_the_kernel(self):
        result = self.evaluate(kernel(), "raise ValueError('x')\n")
        self.assertEqual(result["failure"]["kind"], "environment")
        self.assertIn("incumbent", result["failure"]["text"])

    def test_numbers_that_are_not_found_show_what_was_said(self):
        result = self.evaluate(kernel(), patterns=dict(PATTERNS, tokens_per_s="Tokens: (.*)"))
        self.assertIn("tokens_per_s", result["failure"]["text"])
        errors = [row["text"] for row in self.said if row["event"] == "log"
                  and row["severity"] == "error"]
        self.assertIn("\tThroughput: 50.0", errors)

    def test_a_model_that_hangs_is_ended(self):
        result = self.evaluate("import time; time.sleep(300)\n" + kernel(), limit_s=1)
        self.assertEqual(result["verdict"]["compiles"]["answer"], "no")
        self.assertIn("limit is 1 s", result["verdict"]["compiles"]["reason"])

    def test_a_place_to_install_is_kept_inside(self):
        for number, place in enumerate(("/etc/hone.py", "~/thesis.py", "../../../../../x.py")):
            result = self.evaluate(kernel(), name="m%d" % number, install=place)
            self.assertEqual(result["failure"]["kind"], "usage", place)
        self.evaluate(kernel(), name="n", install="~/.hone/models/qwen_kernel.py", runs=1)
        self.assertTrue(os.path.exists(self.path(".hone/models/qwen_kernel.py")))

    def test_a_link_does_not_lead_out(self):
        os.makedirs(self.path("outside"))
        os.symlink(self.path("outside"), self.path(".hone/models"))
        result = self.evaluate(kernel(), install="~/.hone/models/k.py")
        self.assertEqual(result["failure"]["kind"], "usage")

    def test_a_command_or_folder_that_is_not_there_is_usage(self):
        result = self.evaluate(kernel(), name="a", argv=["/nowhere/python"])
        self.assertEqual(result["failure"]["kind"], "usage")
        result = self.evaluate(kernel(), name="b", cwd="~/nowhere")
        self.assertIn("~/nowhere".replace("~", self.home), result["failure"]["text"])

    def test_words_reach_the_command_as_they_are(self):
        self.write("model/echo.py", "import sys\nopen('words', 'w').write(repr(sys.argv[1:]))\n")
        self.evaluate(kernel(), prepare=["{python}", "echo.py", "a b", "$HOME; rm -rf /", "{x}",
                                         '{"json": 1}', "{kernel_module}"], runs=1)
        with open(self.path("model/words")) as file:
            self.assertEqual(file.read(),
                             repr(["a b", "$HOME; rm -rf /", "{x}", '{"json": 1}', "rms"]))

    def test_the_cache_is_the_kernel_s_own_and_stays(self):
        self.write("model/cache.py",
                   "import os, sys\nopen(sys.argv[1] + '/mark', 'a').write('x')\n")
        prepare = ["{python}", "cache.py", "{cache}"]
        for name in ("a", "b"):
            self.evaluate(kernel(), kernel(99.0), name=name, prepare=prepare, runs=1)
        caches = os.listdir(self.path(".hone/cache/models"))
        self.assertEqual(len(caches), 2)
        for one in caches:
            self.assertEqual(os.path.getsize(self.path(".hone/cache/models", one, "mark")), 2)


if __name__ == "__main__":
    unittest.main()
