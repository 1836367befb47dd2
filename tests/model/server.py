# SPDX-License-Identifier: Apache-2.0
"""A language-model service on loopback: speaks each interface as documented, and misbehaves on demand.

The model's name in a request says what happens: "plain", "bytes" (every byte by itself), "stall", ...
Prints its port; what it was asked is answered at /seen. Standard library only."""

import binascii
import hashlib
import hmac
import http.server
import json
import os
import socketserver
import ssl
import struct
import sys
import threading
import time
import traceback
import urllib.parse

WORDS = ["Keep ", "w in SBUF ", "\u2713 ", "across i.\n", "```python\n", "x = 1\n", "```\n"]
SEEN = []
TRIES = {}
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def sse(event, data):
    head = f"event: {event}\n" if event else ""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (head + "data: " + text + "\n\n").encode()


def anthropic(words):
    yield sse("message_start", {"type": "message_start", "message": {
        "model": "claude-test-1", "usage": {"input_tokens": 25, "output_tokens": 1,
                                            "cache_read_input_tokens": 7,
                                            "cache_creation_input_tokens": 3}}})
    yield sse("content_block_start", {"type": "content_block_start", "index": 0,
                                      "content_block": {"type": "text", "text": ""}})
    yield sse("ping", {"type": "ping"})
    for word in words:
        yield sse("content_block_delta", {"type": "content_block_delta", "index": 0,
                                          "delta": {"type": "text_delta", "text": word}})
    yield sse("content_block_stop", {"type": "content_block_stop", "index": 0})
    yield sse("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                                "usage": {"output_tokens": 15}})
    yield sse("message_stop", {"type": "message_stop"})


def openai(words):
    def chunk(delta, reason=None):
        return {"id": "c1", "object": "chat.completion.chunk", "model": "gpt-test-1",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    yield sse("", chunk({"role": "assistant", "content": ""}))
    yield b": keep-alive\n\n"
    for word in words:
        yield sse("", chunk({"content": word}))
    yield sse("", chunk({}, "stop"))
    yield sse("", {"model": "gpt-test-1", "choices": [], "usage": {
        "prompt_tokens": 32, "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 7}}})
    yield sse("", "[DONE]")


def responses(words):
    yield sse("response.created", {"type": "response.created", "response": {"id": "r1"}})
    for word in words:
        yield sse("response.output_text.delta", {"type": "response.output_text.delta",
                                                 "item_id": "m1", "delta": word})
    yield sse("response.completed", {"type": "response.completed", "response": {
        "model": "gpt-test-1", "status": "completed", "usage": {
            "input_tokens": 32, "output_tokens": 15, "input_tokens_details": {"cached_tokens": 7}}}})


def frame(event, payload, kind="event"):
    def header(name, value):
        return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    name = ":event-type" if kind == "event" else ":exception-type"
    headers = (header(name, event) + header(":content-type", "application/json")
               + header(":message-type", kind))
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", len(headers) + len(body) + 16, len(headers))
    message = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + body
    return message + struct.pack(">I", binascii.crc32(message))


def bedrock(words):
    yield frame("messageStart", {"role": "assistant"})
    for word in words:
        yield frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}})
    yield frame("contentBlockStop", {"contentBlockIndex": 0})
    yield frame("messageStop", {"stopReason": "end_turn"})
    yield frame("metadata", {"usage": {"inputTokens": 25, "outputTokens": 15, "totalTokens": 40,
                                       "cacheReadInputTokens": 7, "cacheWriteInputTokens": 3}})


def signature_is_right(handler, body):
    """AWS Signature Version 4 as the service computes it."""
    login = handler.headers.get("Authorization", "")
    if not login.startswith("AWS4-HMAC-SHA256 "):
        return False
    parts = dict(part.strip().split("=", 1) for part in login[17:].split(","))
    scope = parts["Credential"].split("/", 1)[1]
    day, region, service, _ = scope.split("/")
    path = "/".join(urllib.parse.quote(part, safe="-_.~") for part in handler.path.split("/"))
    names = parts["SignedHeaders"].split(";")
    lines = "".join(f"{name}:{' '.join(handler.headers[name].split())}\n" for name in names)
    canonical = "\n".join(["POST", path, "", lines, ";".join(names), hashlib.sha256(body).hexdigest()])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", handler.headers["X-Amz-Date"], scope,
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest(),
                               parts["Signature"])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/seen":
            self.send(200, json.dumps(SEEN).encode())
        elif self.path.endswith("/security-credentials/"):
            self.metadata(b"role-of-host")
        elif self.path.endswith("/role-of-host"):
            self.metadata(json.dumps({"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": SECRET,
                                      "Token": "session-token"}).encode())
        else:
            self.send(404, b"{}")

    def metadata(self, body):
        if self.headers.get("X-aws-ec2-metadata-token") != "metadata-token":
            self.send(401, b"")
        else:
            self.send(200, body, "text/plain")

    def do_PUT(self):
        self.send(200, b"metadata-token", "text/plain")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            request = json.loads(body)
        except ValueError:
            self.send(400, b'{"error": {"message": "no JSON"}}')
            return
        path = urllib.parse.unquote(self.path)
        api, name = self.route(path, request)
        SEEN.append({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()},
                     "body": request})
        if api is bedrock and self.headers.get("Authorization", "") != "Bearer bedrock-key" and \
                not signature_is_right(self, body):
            self.send(403, b'{"message": "The request signature we calculated does not match"}')
            return
        getattr(self, "do_" + name.replace("-", "_"), self.do_plain)(api, name)

    @staticmethod
    def route(path, request):
        if path.endswith("/converse-stream"):
            return bedrock, path.split("/model/")[1].rsplit("/", 1)[0].split(":")[0].split("/")[-1]
        rows = {"/v1/messages": anthropic, "/v1/chat/completions": openai, "/v1/responses": responses}
        return rows[path], request["model"]

    def stream_head(self, api, kind=None):
        self.send_response(200)
        self.send_header("Content-Type", kind or ("application/vnd.amazon.eventstream"
                                                  if api is bedrock else
                                                  "text/event-stream; charset=utf-8"))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def do_plain(self, api, _):
        self.stream_head(api)
        for part in api(WORDS):
            self.wfile.write(part)

    def do_bytes(self, api, _):
        self.stream_head(api)
        for part in api(WORDS):
            for at in range(len(part)):
                self.wfile.write(part[at:at + 1])
                self.wfile.flush()

    def do_returns(self, api, _):
        """Lines that end in CR LF, and in CR alone."""
        self.stream_head(api)
        for i, part in enumerate(api(WORDS)):
            self.wfile.write(part.replace(b"\n", b"\r\n" if i % 2 else b"\r"))

    def do_slow(self, api, _):
        self.stream_head(api)
        for part in api(WORDS):
            self.wfile.write(part)
            self.wfile.flush()
            time.sleep(0.03)

    def do_stall(self, api, _):
        self.stream_head(api)
        parts = list(api(WORDS))
        self.wfile.write(b"".join(parts[:4]))
        self.wfile.flush()
        time.sleep(20)

    def do_silent(self, api, _):
        time.sleep(20)

    def first_try(self, api, name):
        TRIES[(api, name)] = TRIES.get((api, name), 0) + 1
        return TRIES[(api, name)] == 1

    def do_cut(self, api, name):
        """The connection ends in the middle of the first try."""
        if not self.first_try(api, name):
            self.do_plain(api, name)
            return
        self.stream_head(api)
        self.wfile.write(b"".join(list(api(WORDS))[:5])[:-3])
        self.wfile.flush()

    def do_busy(self, api, name):
        if self.first_try(api, name):
            self.send(429, b'{"error": {"type": "rate_limit_error", "message": "slow down"}}',
                      headers=[("Retry-After", "0")])
        else:
            self.do_plain(api, name)

    def do_later(self, api, name):
        self.send(429, b'{"error": {"message": "come back tomorrow"}}',
                  headers=[("Retry-After", "86400")])

    def do_broken(self, api, name):
        if self.first_try(api, name):
            self.send(503, b"<html>unavailable</html>", "text/html", [("Retry-After", "0")])
        else:
            self.do_plain(api, name)

    def do_unauthorised(self, api, name):
        self.send(401, b'{"error": {"message": "invalid x-api-key \\u001b[31m"}}')

    def do_long_prompt(self, api, name):
        self.send(400, b'{"error": {"message": "prompt is too long: 300000 tokens"}}')

    def do_moved(self, api, name):
        self.send(302, b"", headers=[("Location", "http://127.0.0.1:1/elsewhere")])

    def do_malformed(self, api, name):
        self.stream_head(api)
        self.wfile.write(sse("content_block_delta", "{\"type\": \"content_bl") if api is not bedrock
                         else b"no frame at all, but text that goes on and on")

    def do_page(self, api, name):
        self.send(200, b"<html>welcome</html>", "text/html")

    def do_whole(self, api, name):
        text = "".join(WORDS)
        bodies = {
            anthropic: {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                        "usage": {"input_tokens": 25, "output_tokens": 15}},
            openai: {"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                     "usage": {"prompt_tokens": 25, "completion_tokens": 15}},
            responses: {"status": "completed", "output": [{"content": [{"text": text}]}],
                        "usage": {"input_tokens": 25, "output_tokens": 15}}}
        self.send(200, json.dumps(bodies[api]).encode())

    def do_huge(self, api, name):
        self.stream_head(api)
        for part in api(["x" * 99 + "\n"] * 100 * 1024):
            self.wfile.write(part)

    def do_endless(self, api, name):
        self.stream_head(api)
        block = b"data: " + b"y" * (1 << 20)
        try:
            for _ in range(64):
                self.wfile.write(block)
        except OSError:
            pass

    def do_bad_text(self, api, name):
        self.stream_head(api)
        for part in api(["before ", "AFTER"]):
            self.wfile.write(part.replace(b"AFTER", b"\xff\xfe after"))

    def do_many(self, api, name):
        """1 000 tokens in a second."""
        self.stream_head(api)
        for part in api(["token "] * 1000):
            self.wfile.write(part)
            self.wfile.flush()
            time.sleep(0.001)

    def do_overloaded(self, api, name):
        """An error in the middle of a stream."""
        if not self.first_try(api, name):
            self.do_plain(api, name)
            return
        self.stream_head(api)
        if api is bedrock:
            self.wfile.write(frame("throttlingException", {"message": "too busy"}, "exception"))
        else:
            self.wfile.write(sse("error", {"type": "error", "error": {
                "type": "overloaded_error", "message": "Overloaded"}}))


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], OSError):      # clients may leave in the middle
            traceback.print_exc()


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 1:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


main()
