# SPDX-License-Identifier: Apache-2.0
"""A language-model service on loopback: speaks each interface as documented, and misbehaves on
demand.

The model's name in a request says what happens: "plain", "bytes" (every byte by itself), "stall"
and others. It is a proxy, too, for names of hosts that say what happens: "refused.test",
"login.test", "gateway.test"; all others are itself. Prints its port; what it was asked is answered
at /seen. Standard library only.
usage: server.py [CERTIFICATE]; with a certificate and its key it speaks TLS."""

import binascii
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import select
import socket
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
        "prompt_tokens": 32, "completion_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 7}}})
    yield sse("", "[DONE]")


def responses(words):
    yield sse("response.created", {"type": "response.created", "response": {"id": "r1"}})
    for word in words:
        yield sse("response.output_text.delta", {"type": "response.output_text.delta",
                                                 "item_id": "m1", "delta": word})
    yield sse("response.completed", {"type": "response.completed", "response": {
        "model": "gpt-test-1", "status": "completed", "usage": {
            "input_tokens": 32, "output_tokens": 15,
            "input_tokens_details": {"cached_tokens": 7}}}})


def frame(event, payload, kind="event"):
    def header(name, value):
        size = struct.pack(">H", len(value))
        return bytes([len(name)]) + name.encode() + b"\x07" + size + value.encode()
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
    canonical = "\n".join(["POST", path, "", lines, ";".join(names),
                           hashlib.sha256(body).hexdigest()])
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
        if path.startswith("http://"):              # as a proxy is asked
            host, _, path = path[7:].partition("/")
            path = "/" + path
            if not self.proxy_lets(host.split(":")[0]):
                return
        api, name = self.route(path, request)
        if not api:
            self.send(404, b'{"error": {"message": "no such path"}}')
            return
        SEEN.append({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()},
                     "body": request})
        if api is bedrock and name not in ("says-key", "wants-key") and \
                self.headers.get("Authorization", "") != "Bearer bedrock-key" and \
                not signature_is_right(self, body):
            self.send(403, b'{"message": "The request signature we calculated does not match"}')
            return
        if name.startswith("cut-after-"):
            self.do_cut_after(api, int(name[10:]))
            return
        if name.startswith("asked"):
            self.do_asked(api, name)
            return
        getattr(self, "do_" + name.replace("-", "_"), self.do_plain)(api, name)

    def proxy_lets(self, host):
        """Answers for the proxy when it does not let the request pass."""
        login = self.headers.get("Proxy-Authorization", "")
        if host == "refused.test":
            self.send(403, b"<html>Blocked by policy</html>", "text/html")
        elif host == "login.test" and login != "Basic bWU6bXkgcHctNDcxMQ==":     # me:my pw-4711
            self.send(407, b"<html>Who are you?</html>", "text/html",
                      [("Proxy-Authenticate", 'Basic realm="proxy"')])
        elif host == "gateway.test" and self.first_try("proxy", host):
            self.send(502, b"<html>Bad gateway</html>", "text/html")
        else:
            return True
        return False

    def do_CONNECT(self):
        host, port = self.path.split(":")
        SEEN.append({"path": "CONNECT " + self.path, "headers": dict(self.headers), "body": {}})
        if "x-api-key" in self.headers:             # meant only for the service
            self.send(418, b"")
            return
        if not self.proxy_lets(host):
            return
        self.close_connection = True
        with socket.create_connection(("127.0.0.1", int(port))) as far:
            self.send_response(200, "Connection established")
            self.end_headers()
            ends = {self.connection: far, far: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    @staticmethod
    def route(path, request):
        if path.endswith("/converse-stream"):
            return bedrock, path.split("/model/")[1].rsplit("/", 1)[0].split(":")[0].split("/")[-1]
        rows = {"/v1/messages": anthropic, "/v1/chat/completions": openai,
                "/v1/responses": responses}
        return rows.get(path), request["model"]

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

    def do_cut_after(self, api, count):
        """Some bytes, then the connection ends."""
        self.stream_head(api)
        self.wfile.write(b"".join(api(WORDS))[:count])
        self.wfile.flush()

    def do_reset(self, api, name):
        """As when the machine goes down: the stream has no end, but a reset."""
        if not self.first_try(api, name):
            self.do_plain(api, name)
            return
        self.stream_head(api)
        self.wfile.write(b"".join(list(api(WORDS))[:4]))
        self.wfile.flush()
        time.sleep(0.05)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def do_open(self, api, _):
        """All is said, but the connection stays open."""
        self.do_plain(api, _)
        self.wfile.flush()
        time.sleep(20)

    def do_pings(self, api, _):
        """It begins, and then there are only signs of life."""
        self.stream_head(api)
        parts = list(api(WORDS))
        self.wfile.write(b"".join(parts[:4]))
        sign = frame("ping", {}) if api is bedrock else b": ping\n\n"
        for _ in range(200):
            self.wfile.write(sign)
            self.wfile.flush()
            time.sleep(0.05)

    def do_thinks(self, api, _):
        """Thinks for a while before it answers, and shows the thinking."""
        events = {
            anthropic: sse("content_block_delta", {
                "type": "content_block_delta", "index": 0,
                "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            openai: sse("", {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}),
            responses: sse("response.reasoning_summary_text.delta", {
                "type": "response.reasoning_summary_text.delta", "delta": "hm"}),
            bedrock: frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {
                "reasoningContent": {"text": "hm"}}})}
        self.stream_head(api)
        for _ in range(12):
            self.wfile.write(events[api])
            self.wfile.flush()
            time.sleep(0.05)
        for part in api(WORDS):
            self.wfile.write(part)

    def do_untyped(self, api, _):
        self.stream_head(api, "text/plain")
        for part in api(WORDS):
            self.wfile.write(part)

    def again(self, api, name, status, headers):
        if self.first_try(api, name):
            self.send(status, b'{"type": "error", "error": {"type": "x", "message": "not now"}}',
                      headers=headers)
        else:
            self.do_plain(api, name)

    def do_seconds(self, api, name):
        self.again(api, name, 429, [("Retry-After", "1")])

    def do_date(self, api, name):
        self.again(api, name, 503, [("Retry-After", email.utils.formatdate(time.time() + 2,
                                                                           usegmt=True))])

    def do_past(self, api, name):
        self.again(api, name, 503, [("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")])

    def do_millis(self, api, name):
        self.again(api, name, 429, [("retry-after-ms", "20"), ("Retry-After", "nonsense")])

    def do_full(self, api, name):
        self.again(api, name, 529, [])

    def do_quota(self, api, name):
        self.send(429, b'{"error": {"code": "insufficient_quota", '
                       b'"message": "You exceeded your quota"}}')

    def do_fails(self, api, name):
        """The interface's own way to fail in the middle, with an error that may pass."""
        if not self.first_try(api, name):
            self.do_plain(api, name)
            return
        self.fail_midway(api, {"code": "server_error", "type": "api_error", "message": "sorry"},
                         "modelStreamErrorException")

    def do_declines(self, api, name):
        """The same for something that is wrong with the request."""
        self.fail_midway(api, {"code": "invalid_prompt", "type": "invalid_request_error",
                               "message": "your prompt"}, "validationException")

    def fail_midway(self, api, error, exception):
        self.stream_head(api)
        self.wfile.write(b"".join(list(api(WORDS))[:3]))
        events = {
            anthropic: lambda: sse("error", {"type": "error", "error": error}),
            openai: lambda: sse("", {"error": error}),
            responses: lambda: sse("response.failed", {"type": "response.failed", "response": {
                "status": "failed", "error": error}}),
            bedrock: lambda: frame(exception, {"message": error["message"]}, "exception")}
        self.wfile.write(events[api]())

    def do_null_error(self, api, _):
        self.stream_head(api)
        for part in api(WORDS):
            self.wfile.write(part.replace(b'"model":', b'"error": null, "model":'))

    def changed(self, api, old, new):
        self.stream_head(api)
        for part in api(WORDS):
            self.wfile.write(part.replace(old, new) if api is not bedrock or old not in part
                             else frame("messageStop", {"stopReason": new.decode().strip('"')}))

    def do_long(self, api, _):
        """Cut off at the limit of tokens."""
        if api is responses:
            self.changed(api, b"response.completed", b"response.incomplete")
        elif api is openai:
            self.changed(api, b'"stop"', b'"length"')
        else:
            self.changed(api, b"end_turn", b"max_tokens")

    def do_filtered(self, api, _):
        new = {anthropic: b"refusal", openai: b'"content_filter"', bedrock: b"content_filtered"}
        if api is responses:
            self.stream_head(api)
            self.wfile.write(sse("", {"type": "response.incomplete", "response": {
                "incomplete_details": {"reason": "content_filter"}}}))
        else:
            self.changed(api, b'"stop"' if api is openai else b"end_turn", new[api])

    def do_wrong_sum(self, api, _):
        """A frame whose checksum is wrong."""
        self.stream_head(api)
        parts = list(api(WORDS))
        self.wfile.write(parts[0] + parts[1][:-1] + bytes([parts[1][-1] ^ 1]))

    def do_wrong_prelude(self, api, _):
        self.stream_head(api)
        part = next(api(WORDS))
        self.wfile.write(part[:8] + b"\0\0\0\0" + part[12:])

    def key(self):
        return (self.headers.get("x-api-key") or
                self.headers.get("Authorization", "").replace("Bearer ", ""))

    def do_old(self, api, name):
        """Refuses everything that is not in the interface's oldest form, each server in its own
        words."""
        text = json.dumps(SEEN[-1]["body"])
        if "stream_options" in text:
            self.send(422, b'{"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", '
                           b'"stream_options"]}]}}')
        elif "cachePoint" in text:
            self.send(403, b'{"message": "You invoked an unsupported model or your request did '
                           b'not allow prompt caching."}')
        elif "cache_control" in text:
            self.send(400, b'{"error": {"message": '
                           b'"cache_control: Extra inputs are not permitted"}}')
        elif '"max_tokens"' in text and api is openai:
            self.send(400, b'{"error": {"message": "\'max_tokens\' is not supported with this '
                           b'model. Use \'max_completion_tokens\' instead."}}')
        else:
            self.do_plain(api, name)

    def do_asked(self, api, name):
        """Says how it was asked, if it accepts that. The model's name says what it refuses, in
        services' words."""
        body = SEEN[-1]["body"]
        limits = {**body, **body.get("inferenceConfig", {})}
        more = {**body, **body.get("additionalModelRequestFields", {})}
        kind = more.get("thinking", {}).get("type")
        effort = (more.get("output_config", {}).get("effort")
                  or body.get("reasoning", {}).get("effort")
                  or more.get("reasoning_effort"))
        tokens = next((limits[key] for key in ("max_tokens", "max_completion_tokens",
                                               "max_output_tokens", "maxTokens") if key in limits),
                      None)
        refusals = {
            "adaptive": kind == "adaptive" and "adaptive thinking is not supported on this model",
            "budget": kind in ("enabled", "disabled") and
            f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive"',
            "max": effort == "max" and "This model does not support effort level 'max'. "
                                       "Supported levels: high, low, medium.",
            "word": effort in ("none", "xhigh") and
            f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model.",
            "any": (kind or effort or "reasoningConfig" in more) and
            "Malformed input request: extraneous key [reasoning] is not permitted",
            "warm": "temperature" in limits
                    and "'temperature' does not support 0.5 with this model",
            "much": tokens and tokens > 9000 and
            f"max_tokens: {tokens} > 9000, which is the maximum allowed number of output tokens"}
        for part in name.split("-")[1:]:
            if refusals[part]:
                self.send(400, json.dumps({"error": {"message": refusals[part]}}).encode())
                return
        said = [f"{kind or ''}:{more.get('thinking', {}).get('budget_tokens', '')}", effort or "",
                more.get("reasoningConfig", {}).get("maxReasoningEffort", ""),
                str(tokens or ""), str(limits.get("temperature", ""))]
        self.stream_head(api)
        for part in api([",".join(said)]):
            self.wfile.write(part)

    def do_says_key(self, api, _):
        """Whether a key came, of any kind, and whose it was, if it is one that the tests know."""
        whose = {"sk-test-4711": "named", "usual-4711": "default"}
        key = self.key()
        signed = key.startswith("AWS4-HMAC-SHA256") or "X-Amz-Security-Token" in self.headers
        self.stream_head(api)
        for part in api(["signed" if signed else whose.get(key, "other") if key else "none"]):
            self.wfile.write(part)

    def do_wants_key(self, api, _):
        if self.key():
            self.do_plain(api, _)
        else:
            self.send(401, b'{"error": {"message": "who are you?"}}')

    def do_echo(self, api, _):
        """Sends the key back, as a careless server may."""
        message = f"{self.key()} is no key, {self.key()}!"
        self.send(401, json.dumps({"error": {"message": message}}).encode())

    def do_echo_cut(self, api, _):
        """At the end of a text that is cut by whoever shows it."""
        self.send(400, json.dumps({"error": {"message": "x" * 238 + self.key()}}).encode())

    def do_echo_page(self, api, _):
        self.send(200, f"<html>{self.key()}</html>".encode(), f"text/{self.key()}")

    def do_echo_retry(self, api, _):
        self.send(503, f"<html>{self.key()}</html>".encode(), "text/html")

    def do_echo_stream(self, api, _):
        """In the answer: as a whole, in two pieces cut anywhere, and as single characters."""
        self.stream_head(api)
        key = self.key()
        words = ["a ", key, " b "]
        for i in range(1, len(key)):
            words += [key[:i], key[i:], " "]
        for part in api(words + list(key) + [" ok"]):
            self.wfile.write(part.replace(b"-test-1", key.encode()))

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

    def do_giant(self, api, name):
        """All of it in one event."""
        self.stream_head(api)
        for part in api(["x" * (10 << 20)]):
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
