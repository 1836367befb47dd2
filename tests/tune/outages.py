# SPDX-License-Identifier: Apache-2.0
"""hone run while a model's service refuses, stalls, cuts its answers or declines. No plan is closed
because of it.
usage: outages.py PATH_OF_HONE [NAME OF A TEST]..."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from small_task import KERNEL, REFERENCE

KERNEL = KERNEL.replace("TILE_N = 64", "TILE_N = 32")
HONE = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-outages-"))
ENV = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"),
       "XDG_STATE_HOME": str(FOLDER / "state"),
       "XDG_CONFIG_HOME": str(FOLDER / "conf"), "HONE_TEST_KEY": "k"}
for name in ("HONE_PYTHON", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    ENV.pop(name, None)
CONFIG = FOLDER / "conf" / "hone" / "config.ini"
ROLES = {"You tune kernels": "planner", "You rewrite kernels": "rewriter"}
PLAN = "title: Wider tiles\nwhat: {} at once\nmetric: latency\ndirection: down\nsize: 10 %\n"
WIDER = {0: 64, 1: 128}
AMOUNTS = {0: "a page", 1: "a book"}


class Model(http.server.BaseHTTPRequestHandler):
    """Chat Completions. The questions of a role are answered as the list of its troubles says, and
    then well."""

    protocol_version = "HTTP/1.1"
    seen, troubles, answered, most = [], {}, 0, 10 ** 9

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "".join(message["content"] for message in request["messages"])
        role = next((role for words, role in ROLES.items() if words in prompt), None)
        trouble = Model.troubles.get(role, [])
        how = trouble.pop(0) if trouble else {}
        how = how if how.get("model", request["model"]) == request["model"] else {}
        if role:
            Model.seen.append({"role": role, "prompt": prompt, "model": request["model"],
                               "effort": request.get("reasoning_effort"),
                               "most": request.get("max_completion_tokens")
                               or request.get("max_tokens")})
        number = Model.answered // 2
        text = (PLAN.format(AMOUNTS[number % 2]) if role == "planner" else
                "```python\n" + KERNEL.replace("32", str(WIDER[number % 2])) + "```\n")
        if role and Model.seen[-1]["most"] > Model.most:
            how = {"status": 400, "says": "max_tokens is too large"}
        if "status" in how:
            self.refuse(how)
            return
        Model.answered += bool(role) and not how
        self.stream(how.get("text", text), how)

    def refuse(self, how):
        body = json.dumps({"error": {"message": how.get("says", "out of order")}}).encode()
        self.send_response(how["status"])
        if "again" in how:
            self.send_header("Retry-After", str(how["again"]))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, text, how):
        usage = {"prompt_tokens": 100, "completion_tokens": how.get("tokens", 50),
                 "completion_tokens_details": {"reasoning_tokens": how.get("thought", 0)}}
        chunks = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {},
                                "finish_reason": how.get("ends", "stop")}]},
                  {"choices": [], "usage": usage}]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in chunks[:1] if how.get("breaks") else chunks:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        if not how.get("breaks"):
            self.wfile.write(b"data: [DONE]\n\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


OVERLOAD = {"status": 503, "says": "overloaded"}
DECLINED = {"ends": "content_filter", "text": "I would rather not."}


class Outages(unittest.TestCase):
    def setUp(self):
        self.task = pathlib.Path(tempfile.mkdtemp(prefix="task-", dir=FOLDER))
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)
        Model.seen, Model.troubles, Model.answered, Model.most = [], {}, 0, 10 ** 9
        self.configure("m")

    def configure(self, planner, limit_s=30):
        section = ("[model {0}]\napi = openai\nbase_url = http://127.0.0.1:%d/v1\nmodel = {0}\n"
                   "key_env = HONE_TEST_KEY\nretries = 0\n" % PORT)
        CONFIG.parent.mkdir(parents=True, exist_ok=True)
        CONFIG.write_text(section.format("m") + section.format("n") + "[roles]\nplanner = %s\n"
                          "outage_wait_s = 0.01\noutage_limit_s = %g\n" % (planner, limit_s))

    def run_hone(self, *args, status=0):
        done = subprocess.run([HONE, "run", str(self.task), "--json", "--proposer", "models",
                               "--seeds", "0",
                               *map(str, args)], env=ENV, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout[-3000:] + done.stderr)
        self.events = [json.loads(line) for line in done.stdout.splitlines()]
        return self.events[-1]

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def nothing_is_closed(self):
        self.assertEqual(self.of("plan_failed"), [])
        for seen in Model.seen:
            self.assertNotIn("did not want", seen["prompt"])
            self.assertNotIn("could not be carried out", seen["prompt"])
            self.assertNotIn("tried and closed", seen["prompt"])

    def test_whatever_a_service_does_the_run_goes_on(self):
        troubles = [OVERLOAD, {"status": 429, "says": "slow down"},
                    {"breaks": True, "text": "title: W"},
                    {"status": 529}, OVERLOAD]
        Model.troubles = {"planner": list(troubles), "rewriter": list(troubles)}
        end = self.run_hone("--rounds", 2)
        self.assertIn("all 2 rounds are done", end["reason"])
        self.assertEqual(len(self.of("candidate")), 2)
        self.assertEqual(len(self.of("outage")), 2 * len(troubles))
        self.assertEqual({event["kind"] for event in self.of("outage")},
                         {"overload", "disconnected"})
        self.nothing_is_closed()

    def test_what_a_service_asks_for_is_waited(self):
        Model.troubles = {"planner": [{"status": 429, "again": 2}]}
        self.run_hone("--rounds", 1)
        self.assertGreaterEqual(self.of("outage")[0]["wait_s"], 2)

    def test_a_long_outage_pauses_and_the_same_command_goes_on(self):
        self.configure("m", limit_s=0.5)
        Model.troubles = {"rewriter": [OVERLOAD] * 100000}
        end = self.run_hone("--rounds", 1, status=3)
        self.assertIn("m does not answer", end["reason"])
        self.assertIn("the same command", end["reason"])
        self.nothing_is_closed()
        plans = self.of("plans")
        Model.troubles = {}
        end = self.run_hone("--rounds", 1)
        self.assertRegex(end["reason"], "round(s are| is) done")
        self.assertEqual((len(plans), self.of("plans")), (1, []))
        self.nothing_is_closed()

    def test_a_service_that_says_later_than_the_limit_is_not_waited_for(self):
        Model.troubles = {"planner": [{"status": 429, "again": 3600}]}
        end = self.run_hone("--rounds", 1, status=3)
        self.assertIn("asks for a pause of", end["reason"])

    def test_a_wrong_key_is_said_at_once(self):
        Model.troubles = {"planner": [{"status": 401, "says": "no such key"}]}
        end = self.run_hone("--rounds", 1, status=3)
        self.assertIn("the key was not accepted", end["reason"])
        self.assertEqual(self.of("outage"), [])
        self.nothing_is_closed()
        self.run_hone("--rounds", 1)
        self.nothing_is_closed()

    def test_the_next_model_answers_for_one_that_cannot(self):
        self.configure("m, n")
        Model.troubles = {"planner": [{"status": 404, "says": "no such model"}],
                          "rewriter": [DECLINED]}
        end = self.run_hone("--rounds", 1)
        self.assertRegex(end["reason"], "round(s are| is) done")
        self.assertEqual(len(self.of("candidate")), 1)
        self.assertEqual([seen["model"] for seen in Model.seen].count("n"), 2)
        self.nothing_is_closed()

    def test_a_model_that_declines_is_told(self):
        Model.troubles = {"rewriter": [DECLINED]}
        end = self.run_hone("--rounds", 1, status=3)
        self.assertIn("declined to answer", end["reason"])
        self.nothing_is_closed()
        self.run_hone("--rounds", 1)
        self.assertEqual(len(self.of("candidate")), 1)
        self.nothing_is_closed()

    def test_a_cut_answer_gets_more_room(self):
        Model.troubles = {"planner": [{"ends": "length", "text": "", "tokens": 16384,
                                       "thought": 16000}],
                          "rewriter": [{"ends": "length", "text": "```python\nimport",
                                        "tokens": 16384}]}
        end = self.run_hone("--rounds", 1)
        self.assertRegex(end["reason"], "round(s are| is) done")
        self.assertEqual([(seen["role"], seen["most"]) for seen in Model.seen],
                         [("planner", 16384), ("planner", 32768), ("rewriter", 16384),
                          ("rewriter", 32768)])
        self.assertEqual(Model.seen[0]["prompt"], Model.seen[1]["prompt"])
        told = " ".join(event["text"] for event in self.of("unread"))
        self.assertIn("16384", told)
        self.assertIn("thinking", told)
        self.nothing_is_closed()

    def test_a_service_that_takes_no_more_tokens_is_asked_to_think_less(self):
        Model.most = 16384
        Model.troubles = {"planner": [{"ends": "length", "text": "", "tokens": 16384,
                                       "thought": 16384}]}
        end = self.run_hone("--rounds", 1)
        self.assertRegex(end["reason"], "round(s are| is) done")
        self.assertEqual([(seen["most"], seen["effort"]) for seen in Model.seen][:3],
                         [(16384, None), (32768, None), (16384, "low")])
        self.nothing_is_closed()

    def test_an_answer_that_is_always_cut_ends_with_a_pause(self):
        Model.troubles = {"planner": [{"ends": "length", "text": "title"}] * 1000}
        end = self.run_hone("--rounds", 1, status=3)
        most = [seen["most"] for seen in Model.seen]
        self.assertEqual(len(most), len(set(most)), most)
        self.assertIn("max_tokens", end["reason"])
        self.nothing_is_closed()


server = Server(("127.0.0.1", 0), Model)
PORT = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
try:
    unittest.main(argv=[sys.argv[0]] + ["Outages." + name for name in sys.argv[2:]], verbosity=2)
finally:
    server.shutdown()
    shutil.rmtree(FOLDER, ignore_errors=True)
