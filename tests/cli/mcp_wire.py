#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone mcp on the wire: revisions, nonsense, ids, messages of any size and in any pieces, clients
that do not read, and sockets of others."""
import json
import os
import select
import subprocess
import sys
import threading
import unittest

from serving import BEFORE, FOLDER, KERNEL, META, MIDDLE, REQUEST, WIDE, Serving


class Wire(Serving):
    def test_both_ways_to_begin(self):
        for offered, agreed in ((BEFORE, BEFORE), ("2025-06-18", "2025-06-18"),
                                ("1999-01-01", BEFORE), (7, BEFORE)):
            agent = self.agent(revision=offered)
            self.assertEqual(agent.first["result"]["protocolVersion"], agreed)
            self.assertEqual(agent.first["result"]["serverInfo"]["name"], "hone")
            self.assertEqual(agent.ask("ping")["result"], {})
            self.assertNotIn("resultType", agent.ask("tools/list")["result"])
            self.assertEqual(agent.ask("server/discover")["error"]["code"], -32601)
            self.assertEqual(agent.close(), 0)
        agent = self.agent()
        found = agent.ask("server/discover")["result"]
        self.assertEqual(found["supportedVersions"][:2], [REQUEST, BEFORE])
        self.assertEqual(found["resultType"], "complete")
        self.assertEqual(found["_meta"][META + "serverInfo"]["name"], "hone")
        self.assertEqual(agent.ask("ping")["error"]["code"], -32601)
        self.assertIn("ttlMs", agent.ask("tools/list")["result"])
        for meta, code in (({META + "protocolVersion": "1900-01-01"}, -32022),
                           ({META + "protocolVersion": 7}, -32602),
                           ({META + "protocolVersion": REQUEST}, -32602), ({}, -32602)):
            agent.send({"jsonrpc": "2.0", "id": "odd", "method": "tools/list",
                        "params": {"_meta": meta}})
            answer = agent.end("odd")
            self.assertEqual(answer["error"]["code"], code)
            if code == -32022:
                self.assertEqual(answer["error"]["data"]["requested"], "1900-01-01")
                self.assertIn(REQUEST, answer["error"]["data"]["supported"])
        self.assertEqual(agent.close(), 0)
        self.assertFalse((self.task / ".hone/x").exists())

    def test_nonsense_is_answered_and_served_on(self):
        agent = self.agent(revision=BEFORE)
        for line, code in ((b"{", -32700), (b"[]", -32600), (b"7", -32600), (b"\xff\x00", -32700),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                           (b"[" * 5000, -32700), (b"x" * (9 << 20), -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"\\u001b[2J"}', -32601)):
            agent.line(line)
            self.assertEqual(agent.read()["error"]["code"], code, line[:60])
        for line in (b"", b"  ", b'{"jsonrpc":"2.0","id":1,"result":{}}',
                     b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                     b'{"jsonrpc":"2.0","method":"notifications/else","params":{}}'):
            agent.line(line)
        self.assertEqual(agent.ask("ping")["result"], {})
        for name, arguments, said in (
                ("profile", {"attempt": "one"}, "must be a whole number"),
                ("profile", {"attempt": 1.5}, "must be a whole number"),
                ("profile", {"attempt": 77}, "there is no attempt 77"),
                ("profile", {"lines": 0}, "from 1 to 200"), ("profile", {"odd": 1}, "takes no"),
                ("submit", {"kernel": KERNEL}, 'needs "title"'),
                ("submit", {"title": "x"}, "the whole source"),
                ("submit", {"title": "x", "kernel": " "}, "is empty"),
                ("submit", {"title": "x", "kernel": "y", "wait_s": -1}, "from 0 to 3600"),
                ("submit", {"title": "x", "kernel": "y", "direction": "left"}, "one of down|up"),
                ("check", {"kernel": "x", "attempt": 0}, "not several"),
                ("check", {"file": "/dev/zero"}, "/dev/zero"), ("wait", {}, "nothing was handed"),
                ("evaluate", {"kernels": []}, "1 to 8"), ("evaluate", {"kernels": [1]}, "list of"),
                ("cost", {"words": "zzz"}, "no number"), ("explain", {"what": "zzz"}, "nothing")):
            self.assertIn(said, agent.tool(name, **arguments), (name, arguments))
        self.assertEqual(agent.ask("tools/call", name="odd")["error"]["code"], -32602)
        self.assertEqual(agent.ask("resources/read", uri="hone://odd")["error"]["code"], -32002)
        self.assertEqual(agent.ask("resources/read", uri="file:///etc/passwd")["error"]["code"],
                         -32002)
        self.assertEqual(agent.ask("prompts/get", name="odd")["error"]["code"], -32602)
        self.assertEqual(agent.close(), 0)

    def test_ids_come_back_as_they_were(self):
        """To the last digit: programs count in nanoseconds, or draw 64 bits."""
        agent = self.agent(revision=BEFORE)
        for number in (b"1764240000000001", b"9007199254740993", b"-4503599627370497", b"1.5",
                       b"0", b'"caf\xc3\xa9"', b"18446744073709551615", b"-9223372036854775807",
                       b"0.1234567890123456789", b"123456789012345678901234567890"):
            agent.line(b'{"other":{"id":1,"x":[{}, "id"]}, "jsonrpc":"2.0","id" : %s,'
                       b'"method":"ping"}' % number)
            answer = agent.process.stdout.readline()
            self.assertIn(number, answer)
            self.assertEqual(set(json.loads(answer)), {"jsonrpc", "id", "result"})
        for text in (b'"a\\u0000b"', b'"\\ud83d half"', b'"\\u0000"'):
            agent.line(b'{"jsonrpc":"2.0","method":"ping","id":%s}' % text)
            answer = agent.process.stdout.readline()
            self.assertEqual(json.loads(answer)["id"], json.loads(text), answer)
        for number in (b"01234567890123456789", b"9007199254740993.", b"-.5", b"00", b"01", b"1.",
                       b"-01", b"1.e5", b"-", b"1e", b"+1", b"0x10"):  # these are no JSON
            agent.line(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % number)
            self.assertEqual(agent.read()["error"]["code"], -32700, number)
        self.assertEqual(agent.ask("ping")["result"], {})
        self.assertEqual(agent.close(), 0)

    def test_nothing_of_what_was_sent_is_lost_in_silence(self):
        """A NUL ends no text, a text ends no name, and what is given twice is not chosen from."""
        agent = self.agent(revision=BEFORE)
        cut = agent.tool("check", kernel=KERNEL + "\0\nimport os\n")
        self.assertGreater(cut["errors"], 0, cut)
        self.assertIn('"a\ufffdb"', agent.tool("explain", what="a\0b"))
        agent.line(b'{"jsonrpc":"2.0","id":"x\\u0000y","id\\u0000":1,"method":"ping"}')
        self.assertEqual(agent.read()["id"], "x\0y")
        agent.line(b'{"jsonrpc":"2.0","id":1,\x01"method":"ping"}')
        self.assertEqual(agent.read()["error"]["code"], -32700)
        agent.line(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"explain",'
                   b'"arguments":{"what":"floor","what":"mfu"}}}')
        self.assertIn("given twice", agent.end(9)["result"]["content"][0]["text"])
        self.assertEqual(agent.close(), 0)

    def test_ids_that_differ_in_the_last_digit_are_two(self):
        agent = self.agent("--gate", "auto", revision=BEFORE)
        agent.tool("profile")
        call = (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"evaluate",'
                b'"arguments":{"kernel":%s},"_meta":{"progressToken":%d}}}')
        kept, given_up, token = 9007199254740992, 9007199254740993, 9007199254740997
        agent.line(call % (kept, json.dumps(WIDE).encode(), token))
        agent.line(call % (given_up, json.dumps(MIDDLE).encode(), token + 2))
        agent.line(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'
                   % given_up)
        answer = agent.end(kept)
        self.assertGreater(answer["result"]["structuredContent"]["latency_us"], 0)
        tokens = {note["params"]["progressToken"] for note in agent.notes
                  if note.get("method") == "notifications/progress"}
        self.assertIn(token, tokens)
        self.assertLessEqual(tokens, {token, token + 2})
        self.assertEqual(agent.close(), 0)
        self.assertNotIn(given_up, [note.get("id") for note in agent.notes])

    def test_a_message_of_very_many_values_is_answered(self):
        agent = self.agent(revision=BEFORE)
        many = b",".join(b'"k%d":{"id":1}' % i for i in range(200000))
        agent.line(b"{" + many + b',"jsonrpc":"2.0","method":"ping","id":12345678901234567891}')
        self.assertEqual(agent.read(), {"jsonrpc": "2.0", "id": 12345678901234567891, "result": {}})
        self.assertEqual(agent.close(), 0)

    def test_who_does_not_read_is_not_read_either(self):
        """What waits to be read stays small; nothing of it is lost."""
        agent = self.agent(revision=BEFORE)
        line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n'
        data = b"".join(line % number for number in range(40000))
        out, sent = agent.process.stdin.fileno(), 0
        os.set_blocking(out, False)
        while sent < len(data) and select.select([], [out], [], 10)[1]:
            sent += os.write(out, data[sent:sent + 4096])
        self.assertLess(sent, len(data) // 2)
        os.set_blocking(out, True)
        end = data.index(b"\n", sent) + 1  # of the line that is under way
        writer = threading.Thread(target=os.write, args=(out, data[sent:end]))
        writer.start()
        for number in range(data.count(b"\n", 0, end)):
            self.assertEqual(agent.read()["id"], number)
        writer.join()
        self.assertEqual(agent.close(), 0)

    def test_half_a_character_is_no_reason_for_silence(self):
        agent = self.agent()
        for text, read in (("\ud83d cut", "\ufffd cut"), ("cut \ude00", "cut \ufffd"),
                           ("\U0001f600", "\U0001f600"), ("\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
                           ("\\ud83d", "\\ud83d")):
            said = agent.tool("explain", what=text)
            self.assertIn(f'"{read}"', said)
        self.assertEqual(agent.close(), 0)

    def test_a_socket_of_somebody_else_is_not_spoken_to(self):
        if os.geteuid() or not hasattr(os, "setresuid"):
            self.skipTest("only root can be somebody else")
        holder = self.agent()
        holder.tool("status")
        for folder in (FOLDER, self.task, self.task / ".hone", self.session):
            folder.chmod(0o777)
        came = FOLDER / "came"
        came.touch()
        came.chmod(0o666)
        stranger = subprocess.Popen(
            [sys.executable, "-c", "import os, socket, sys\n"
             "os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
             "os.chdir(sys.argv[1]); os.unlink('agents.sock')\n"
             "s = socket.socket(socket.AF_UNIX); s.bind('agents.sock')\n"
             "s.listen(); print('listens', flush=True)\n"
             "while True:\n"
             "    got = s.accept()[0].recv(100)\n"
             "    open(sys.argv[2], 'ab').write(b'knock ' + got)\n", str(self.session), str(came)],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.stdout.close)
        self.addCleanup(stranger.kill)
        self.assertEqual(stranger.stdout.readline(), "listens\n")
        other = self.agent()
        status = other.tool("status")
        self.assertTrue(status["read_only"], status)
        self.assertEqual(came.read_bytes(), b"")
        self.assertEqual(other.close(), 0)
        self.assertEqual(holder.close(), 0)


if __name__ == "__main__":
    unittest.main()
