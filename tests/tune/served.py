# SPDX-License-Identifier: Apache-2.0
"""A scripted language model behind HTTP on loopback: Anthropic's messages, word by word, with a
cache of prompts as the service's documentation describes it. Prints its port.

usage: served.py SCRIPT SECONDS_BETWEEN_WORDS; answers stand in SCRIPT as scripted.py has them. A
line "@wait" in an answer holds it back until the file SCRIPT.go is there, "@never" for good. /seen
answers with every request."""

import http.server
import json
import os
import socketserver
import sys
import threading
import time

ROLES = {"You tune kernels": "planner", "You rewrite kernels": "rewriter",
         "You repair kernels": "fixer",
         "You keep the memory": "summariser", "You review one round": "reflector"}
SCRIPT, PAUSE = sys.argv[1], float(sys.argv[2])
SEEN, CACHED, LOCK = [], set(), threading.Lock()


def answers():
    found, current = {}, None
    with open(SCRIPT, encoding="utf-8") as file:
        for line in file:
            if line.startswith("=== "):
                current = found.setdefault(line[4:].strip(), [])
                current.append("")
            else:
                current[-1] += line
    return found


def blocks(request):
    """(text, whether a cache may end here) of everything in the request, in order."""
    for part in [{"content": request.get("system", [])}] + request["messages"]:
        content = part["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            yield part.get("role", "system") + block["text"], "cache_control" in block


def usage_of(request):
    text, read, marks = "", 0, []
    for block, ends in blocks(request):
        text += block
        if ends:
            marks.append(text)
    for mark in marks:
        read = len(mark) if mark in CACHED else read
    CACHED.update(marks)
    written = max([len(mark) for mark in marks] + [read]) - read
    return {"input_tokens": (len(text) - read - written) // 4, "output_tokens": 1,
            "cache_read_input_tokens": read // 4, "cache_creation_input_tokens": written // 4}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps(SEEN).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, name, **fields):
        text = "event: %s\ndata: %s\n\n" % (name, json.dumps(dict(fields, type=name)))
        self.wfile.write(text.encode())
        self.wfile.flush()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "".join(text for text, _ in blocks(request))
        role = next(name for words, name in ROLES.items() if words in text)
        with LOCK:
            mine = answers()[role]
            number = sum(1 for seen in SEEN if seen["role"] == role)
            usage = usage_of(request)
            SEEN.append({"role": role, "request": request, "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            self.answer(mine[min(number, len(mine) - 1)], usage)
        except OSError:
            pass        # given up

    def answer(self, text, usage):
        self.event("message_start", message={"model": "scripted", "usage": usage})
        self.event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for line in text.splitlines(keepends=True):
            while line == "@never\n" or line == "@wait\n" and not os.path.exists(SCRIPT + ".go"):
                time.sleep(0.02)
                self.event("ping")
            for word in [] if line == "@wait\n" else line.replace(" ", " \0").split("\0"):
                self.event("content_block_delta", index=0,
                           delta={"type": "text_delta", "text": word})
                time.sleep(PAUSE)
        self.event("content_block_stop", index=0)
        self.event("message_delta", delta={"stop_reason": "end_turn"},
                   usage={"output_tokens": len(text) // 4})
        self.event("message_stop")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def main():
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
