# SPDX-License-Identifier: Apache-2.0
"""hone run stopped by each limit, with a model that counts what it was asked.

usage: budgets.py PATH_OF_HONE [NAME OF A TEST]..."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from small_task import KERNEL, REFERENCE

KERNEL = KERNEL.replace("TILE_N = 64", "TILE_N = 32")

HONE = os.path.abspath(sys.argv[1])
HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-budgets-"))
ENV = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"),
       "XDG_STATE_HOME": str(FOLDER / "state"), "XDG_CONFIG_HOME": str(FOLDER / "conf"),
       "HONE_TEST_KEY": "k"}
for name in ("HONE_PYTHON", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    ENV.pop(name, None)
CONFIG = FOLDER / "conf" / "hone" / "config.ini"
# Plans that differ only by a number are the same direction.
TILES = {64: "four rows", 128: "eight rows", 256: "a page", 512: "two pages", 16: "one row",
         8: "half a row", 4: "a word", 2: "a letter"}
ROLES = {"You tune kernels": "planner", "You rewrite kernels": "rewriter",
         "You repair kernels": "fixer"}


class Model(http.server.BaseHTTPRequestHandler):
    """Chat Completions. It plans a wider tile each time and writes it, counts a token for three
    characters, and says no more than it may."""

    protocol_version = "HTTP/1.1"
    tokens, dollars, asked, planned, silent = 0, 0.0, 0, 0, False
    at_once, most_at_once, lock = 0, 0, threading.Lock()

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "".join(message["content"] for message in request["messages"])
        with Model.lock:
            Model.asked += 1
            Model.at_once += 1
            Model.most_at_once = max(Model.most_at_once, Model.at_once)
            role = next((role for words, role in ROLES.items() if words in prompt), "other")
            Model.planned += role == "planner"
            tile = list(TILES)[(Model.planned - 1) % len(TILES)]
            text = (f"title: Tiles of {tile}\nwhat: {TILES[tile]} at once\nmetric: latency\n"
                    "direction: down\nsize: 10 %\n" if role == "planner" else
                    "```python\n" + KERNEL.replace("32", str(tile)) + "```\n")
            most = request.get("max_completion_tokens") or request.get("max_tokens") or 10 ** 9
            cut = len(text) // 3 > most
            text = text[:most * 3]
            usage = {"prompt_tokens": len(prompt) // 3, "completion_tokens": len(text) // 3,
                     "prompt_tokens_details": {"cached_tokens": 0}}
            Model.tokens += usage["prompt_tokens"] + usage["completion_tokens"]
            Model.dollars += usage["prompt_tokens"] * 3e-6 + usage["completion_tokens"] * 15e-6
        reason = "length" if cut else "stop"
        chunks = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                  {"choices": [], "usage": usage}]
        time.sleep(0.1)                                 # so that others come meanwhile
        with Model.lock:
            Model.at_once -= 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if Model.silent:
            self.rfile.read(1)                          # until hone gives up
            return
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Budgets(unittest.TestCase):
    def setUp(self):
        self.task = pathlib.Path(tempfile.mkdtemp(prefix="task-", dir=FOLDER))
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)
        Model.tokens, Model.dollars, Model.asked, Model.planned, Model.silent = 0, 0.0, 0, 0, False
        Model.at_once = Model.most_at_once = 0
        self.configure("price_input = 3\nprice_output = 15\n")

    def configure(self, more):
        CONFIG.parent.mkdir(parents=True, exist_ok=True)
        CONFIG.write_text(f"[model m]\napi = openai\nbase_url = http://127.0.0.1:{PORT}/v1\n"
                          f"model = wide\nkey_env = HONE_TEST_KEY\n{more}")

    def run_hone(self, *args, status=0):
        done = subprocess.run([HONE, "run", str(self.task), "--json", "--proposer", "m", "--seeds",
                               "0", *map(str, args)], env=ENV, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout[-2000:] + done.stderr)
        self.stderr = done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ended(self, events, words):
        end = events[-1]
        summary = [event for event in events if event["event"] == "summary"][-1]
        self.assertEqual(end["event"], "end")
        self.assertIn(words, end["reason"])
        self.assertEqual(summary["why"], end["reason"])
        return end, summary

    def test_rounds(self):
        end, summary = self.ended(self.run_hone("--rounds", 2), "all 2 rounds are done")
        self.assertEqual(end["rounds"], 2)
        self.assertEqual([rung["title"] for rung in summary["ladder"]],
                         ["Tiles of 64", "Tiles of 128"])
        self.assertEqual(summary["ladder"][0]["strategy"], "latency down")
        self.assertGreater(summary["ladder"][0]["ratio"], 1.1)
        self.assertEqual(summary["cost"]["tokens"], Model.tokens)
        self.assertAlmostEqual(summary["cost"]["dollars"], Model.dollars, 9)
        self.assertEqual([(row["role"], row["asked"]) for row in summary["cost"]["models"]],
                         [("planner", 2), ("rewriter", 2)])

    def test_tokens(self):
        _, summary = self.ended(self.run_hone("--rounds", 1), "the one round")
        once = Model.tokens
        events = self.run_hone("--rounds", 9, "--tokens", once * 2.6)
        end, summary = self.ended(events, "tokens would be passed")
        self.assertLessEqual(Model.tokens, once * 3.6)
        self.assertEqual(summary["cost"]["tokens"], Model.tokens)
        self.assertGreater(Model.tokens, once * 1.5)
        self.assertIn(":budget tokens", end["reason"])
        again = Model.asked
        self.ended(self.run_hone("--rounds", 9, "--tokens", 100), "tokens would be passed")
        self.assertEqual(Model.asked, again)
        self.ended(self.run_hone("--rounds", 1, "--tokens", once * 5), "rounds are done")

    def test_tokens_from_the_start(self):
        """Before anything was counted the defaults decide, and answers are kept short enough."""
        for most in (500, 13000, 22000):
            Model.tokens = Model.planned = 0
            events = self.run_hone("--fresh", "--rounds", 9, "--tokens", most)
            self.ended(events, "tokens would be passed")
            self.assertLessEqual(Model.tokens, most)

    def test_several_questions_at_once(self):
        for most in (60000, 90000):
            Model.tokens = Model.planned = 0
            events = self.run_hone("--fresh", "--search", "beam:2,2,2", "--rounds", 9, "--tokens",
                                   most)
            self.ended(events, "tokens would be passed")
            self.assertLessEqual(Model.tokens, most)
        self.assertGreater(Model.most_at_once, 1)

    def test_dollars(self):
        self.run_hone("--rounds", 1)
        once = Model.dollars
        events = self.run_hone("--rounds", 9, "--dollars", once * 2.6)
        end, summary = self.ended(events, "would be passed")
        self.assertIn("$", end["reason"])
        self.assertLessEqual(Model.dollars, once * 3.6)
        self.assertGreater(Model.dollars, once * 1.5)
        self.assertAlmostEqual(summary["cost"]["dollars"], Model.dollars, 9)

    def test_dollars_of_a_model_without_a_price(self):
        self.configure("")
        self.assertEqual(self.run_hone("--dollars", 5, status=2), [])
        self.assertIn("the price of m is not known", self.stderr)
        self.assertEqual(Model.asked, 0)

    def test_the_cheaper_of_two_models_is_asked_more_often(self):
        one = (f"api = openai\nbase_url = http://127.0.0.1:{PORT}/v1\nmodel = wide\n"
               "key_env = HONE_TEST_KEY\nprice_input = %g\nprice_output = %g\n")
        CONFIG.write_text("[model dear]\n" + one % (30, 150) + "[model cheap]\n" + one % (3, 15) +
                          "[roles]\nplanner = dear, cheap\nrewriter = cheap\nchoose = gain\n")
        _, summary = self.ended(self.run_hone("--rounds", 7, "--proposer", "models"), "rounds")
        asked = {(row["role"], row["model"]): row["asked"] for row in summary["cost"]["models"]}
        self.assertGreater(asked["planner", "cheap"], asked["planner", "dear"])
        self.assertGreaterEqual(asked["planner", "dear"], 1)

    def test_time(self):
        for search in ("greedy", "beam:2,2,1"):
            Model.silent = True
            events = self.run_hone("--fresh", "--search", search, "--wall", 3)
            # By what runs, the question; on a slow machine by the plan that would be asked for.
            end, summary = self.ended(events, "would be passed by")
            self.assertGreater(summary["cost"]["wall"], 0)
            self.assertIn("limit of 3.0 s", end["reason"])
            Model.silent = False                        # it continues with what was given up
            self.ended(self.run_hone("--rounds", 1, "--wall", 100), "round is done")

    def test_device_time(self):
        _, summary = self.ended(self.run_hone("--rounds", 1), "round")
        before = summary["cost"]["device"]
        more = before * 1.2
        end, summary = self.ended(self.run_hone("--rounds", 9, "--device-time", more), "of device")
        self.assertLessEqual(end["cost"]["device_s"], before + more)
        self.assertGreater(end["cost"]["device_s"], before)

    def test_what_nobody_counts_is_estimated(self):
        script = self.task / "script"
        script.write_text("".join(
            f"=== planner\ntitle: Tiles of {tile}\nwhat: {name} at once\n"
            "=== rewriter\n```python\n" + KERNEL.replace("32", str(tile)) + "```\n"
            for tile, name in TILES.items()))
        command = f"/usr/bin/python3 {HERE / 'scripted.py'} {script} {script}.state"
        CONFIG.write_text(f"[model m]\napi = command\ncommand = {command}\n"
                          "price_input = 3\nprice_output = 15\n")
        events = self.run_hone("--rounds", 9, "--tokens", 30000)
        end, summary = self.ended(events, "tokens would be passed")
        self.assertIsNone(end["cost"]["tokens"])                # as reported: none
        self.assertTrue(0 < summary["cost"]["tokens"] <= 30000, summary["cost"])
        self.assertTrue(0 < summary["cost"]["dollars"] < 1)
        self.assertTrue(all(row["estimated"] for row in summary["cost"]["models"]))

    def test_people_read_it(self):
        done = subprocess.run([HONE, "run", str(self.task), "--proposer", "m", "--seeds", "0",
                               "--rounds", "1"], env=ENV, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100)
        for words in (r"^ended    the one round is done$", r"^seed     [0-9.]+ .s$",
                      r"^best     [0-9.]+ .s",
                      r"^ladder   #1 round 1: [0-9.]+x \(modelled\) to .*\[latency down\] Tiles",
                      r"^learnt   proposed experience", r"^cost     1 round, .*, \$0\.[0-9]+$",
                      r"^         planner, m: 1 asked, [0-9.k]+ tokens, \$0\.[0-9]+, [0-9.]+ s$"):
            self.assertTrue(re.search(words, done.stdout, re.M), words + "\n" + done.stdout)


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Model)
    PORT = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        unittest.main(argv=[sys.argv[0], *("Budgets.test_" + name for name in sys.argv[2:])],
                      verbosity=2)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
