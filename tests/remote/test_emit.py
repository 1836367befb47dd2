# SPDX-License-Identifier: Apache-2.0
"""Events: one line for each, clean, with limits, whatever goes in."""

import errno
import json
import math
import os
import tempfile
import unittest
from unittest import mock

import common  # noqa: F401
from hone_runner import emit


class Clean(unittest.TestCase):
    def test_text_of_any_script_stays(self):
        self.assertEqual(emit.clean("größer → 日本 \t ok"), "größer → 日本 \t ok")

    def test_bytes_that_are_no_text_become_replacement_characters(self):
        self.assertEqual(emit.clean(b"a\xff\xfeb"), "a\ufffd\ufffdb")

    def test_colours_are_dropped_and_other_control_sequences_made_visible(self):
        self.assertEqual(emit.clean("\x1b[31mred\x1b[0m \x1b[2J\x07\x00\x9b"),
                         "red \\x1b[2J\\x07\\x00\\x9b")

    def test_marks_that_reorder_or_hide_text_are_made_visible(self):
        self.assertEqual(emit.clean("a\u202eb\u200bc\ufeff"), "a\\u202eb\\u200bc\\ufeff")

    def test_half_a_pair_is_no_text(self):
        self.assertEqual(emit.clean("\ud800x"), "\ufffdx")

    def test_long_text_is_cut_and_says_so(self):
        text = emit.clean(b"x" * 100000)
        self.assertTrue(text.startswith("x" * emit.MAX_TEXT))
        self.assertIn("more)", text)
        self.assertLess(len(text), emit.MAX_TEXT + 40)


class Lines(unittest.TestCase):
    def decode(self, data):
        self.assertTrue(data.startswith(b"@hone {"))
        self.assertEqual(data.count(b"\n"), 1)
        self.assertTrue(data.endswith(b"\n"))
        return json.loads(data[6:])

    def test_numbers_that_are_none_are_null(self):
        row = self.decode(emit.line("metric", {"value": math.nan, "list": [math.inf, 1.5, True]}))
        self.assertEqual(row, {"event": "metric", "value": None, "list": [None, 1.5, True]})

    def test_numbers_of_numpy_are_numbers(self):
        numpy = __import__("numpy")
        row = self.decode(emit.line("x", {"a": numpy.float32(0.5), "b": numpy.int64(7),
                                          "c": numpy.float64("nan"), "d": numpy.bool_(True)}))
        self.assertEqual(row, {"event": "x", "a": 0.5, "b": 7, "c": None, "d": True})

    def test_newlines_and_quotes_stay_inside_the_line(self):
        row = self.decode(emit.line("log", {"text": 'a\nb"c\u2028d'}))
        self.assertEqual(row["text"], 'a\nb"c\\u2028d')

    def test_an_event_that_is_too_large_is_left_out_with_a_word(self):
        row = self.decode(emit.line("result", {"lines": ["x" * 10000] * 2000}))
        self.assertEqual((row["event"], row["severity"]), ("log", "warning"))
        self.assertIn("result", row["text"])

    def test_a_value_that_contains_itself_ends(self):
        value = []
        value.append(value)
        self.decode(emit.line("x", {"value": value}))


class Writing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "events")
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.addCleanup(os.close, self.descriptor)

    def read(self):
        with open(self.path, "rb") as file:
            return file.read()

    def test_each_event_is_one_write(self):
        with mock.patch("os.write", wraps=os.write) as write:
            emit.Events(self.descriptor).log("hello")
        self.assertEqual(write.call_count, 1)

    def test_a_network_file_system_is_pushed_now_and_then(self):
        with mock.patch("os.fsync") as sync:
            events = emit.Events(self.descriptor, network=True)
            for number in range(1000):
                events.log("line")
            self.assertTrue(1 <= sync.call_count < 500)
            before = sync.call_count
            events.log("last")
            events.sync()
            self.assertGreater(sync.call_count, before)
            before = sync.call_count
            events.sync()                       # nothing new: nothing to push
            emit.Events(self.descriptor).log("on a disk of its own")
            self.assertEqual(sync.call_count, before)

    def test_a_full_disk_frees_the_reserve_for_the_result(self):
        reserve = os.path.join(self.folder.name, "reserve")
        open(reserve, "w").close()
        events = emit.Events(self.descriptor, reserve=reserve)
        full = OSError(errno.ENOSPC, "No space left on device")
        real, calls = os.write, []

        def write(descriptor, data):
            calls.append(len(data))
            if len(calls) == 1:
                return real(descriptor, data[:10])
            if len(calls) == 2:
                raise full
            return real(descriptor, data)

        with mock.patch("os.write", write):
            events.emit("result", text="the last words")
        self.assertFalse(os.path.exists(reserve))
        self.assertEqual([row["text"] for row in common.events_of(self.read())],
                         ["the last words"])

    def test_half_a_line_is_taken_back_when_the_disk_stays_full(self):
        events = emit.Events(self.descriptor)
        events.log("before")
        before = self.read()
        real, calls = os.write, []

        def write(descriptor, data):
            calls.append(1)
            if len(calls) > 1:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, data[:10])

        with mock.patch("os.write", write), self.assertRaises(OSError):
            events.log("after")
        self.assertEqual(self.read(), before)
        events.log("again")
        self.assertEqual([row["text"] for row in common.events_of(self.read())],
                         ["before", "again"])


if __name__ == "__main__":
    unittest.main()
