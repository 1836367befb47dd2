# SPDX-License-Identifier: Apache-2.0
"""The command `follow`: the events of a job from an offset on, as they come, until the last one.

It polls the file while it grows, because that works on network file systems, too; there it opens
the file again each time, because only that shows what another machine wrote."""

import os
import time

from hone_runner import cores, emit, folder as folders, process

READ = 4 << 20
SHORTEST_S, LONGEST_S = 0.01, 0.2
ALIVE_S = 5.0
UNSEEN_S = 60.0             # until a network file system shows what another machine began
LOOK_S = 1.0                # how often the job's process is looked at


class Reader:
    """The whole lines of events.ndjson from an offset on."""

    def __init__(self, path, offset, descriptor=1):
        self.path, self.offset, self.descriptor = path, offset, descriptor
        self.rest = b""

    def forward(self):
        """Writes new events up to the end of the last whole line; returns whether there were
        any."""
        before = self.offset
        try:
            source = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            while self.step(source):
                pass
        finally:
            os.close(source)
        return self.offset > before

    def step(self, source):
        chunk = os.pread(source, READ, self.offset + len(self.rest))
        end = chunk.rfind(b"\n") + 1
        if not end:
            self.rest += chunk
            if len(self.rest) > 2 * emit.MAX_LINE:      # not ours: passed on unchanged
                self.put(self.rest)
                self.rest = b""
            return bool(chunk)
        if self.rest:
            self.put(self.rest)
            self.rest = b""
        self.put(memoryview(chunk)[:end])
        return True

    def put(self, data):
        at = 0
        while at < len(data):
            at += os.write(self.descriptor, data[at:])
        self.offset += len(data)


def follow(path, offset, answers, counted_in=""):
    """counted_in: the id of the file to which the offset belongs; if the file is another one now,
    its events are written from the start."""
    try:
        folder = folders.Folder(path).check()
    except folders.Refused as problem:
        answers.emit("gone", offset=offset, text=str(problem))
        return 0
    name = folder.file_id()
    offset = 0 if counted_in and counted_in != name else offset
    answers.emit("follow", offset=offset, file=name)
    reader = Reader(folder.file("events.ndjson"), offset)
    try:
        watch(folder, reader, answers)
    except BrokenPipeError:
        pass                        # the connection went; the job goes on
    return 0


def watch(folder, reader, answers):
    began = spoke = time.monotonic()
    pause, looked, news = SHORTEST_S, 0.0, True
    patience = UNSEEN_S if folders.is_network(folder.path) else 0.0
    while True:
        now = time.monotonic()
        standing = None
        # Checked before the file is read: if the job had already ended and nothing new comes,
        # everything has been read.
        if news or now - looked >= LOOK_S or pause >= LONGEST_S:
            standing, looked = folder.standing(), now
        news = reader.forward()
        if news:
            pause, spoke = SHORTEST_S, now
        elif standing in ("ended", "cancelled"):
            answers.emit("end", offset=reader.offset)
            return
        elif standing == "gone" or standing == "new" and now - began >= patience:
            answers.emit("gone", offset=reader.offset, text=why_gone(folder, standing))
            return
        elif now - spoke >= ALIVE_S:
            answers.emit("alive")
            spoke = now
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_S)


def why_gone(folder, standing):
    """Reports what is known about a job without a process and without a result. Ends processes that
    it left."""
    if standing == "new":
        return "the job in %s was not started" % folder.path
    process.end_all(lambda: process.marked(folder.mark))
    state = folder.state() or {}
    cores.let_go(state.get("lock"), state.get("host"))
    text = "the runner's process %s on %s ended without a result" \
        % (state.get("pid"), emit.clean(state.get("host"), 80))
    if state.get("state") == "interrupted":
        text += ": it was told to stop (shutdown, preemption or a scheduler's time limit)"
    elif state.get("host") == os.uname().nodename and state.get("boot") != process.boot():
        text += ": the host was restarted since"
    else:
        text += ": it was killed, or the host ran out of memory or disk space (%d MiB free)" \
            % (folders.free_bytes(folder.path) >> 20)
    return text + last_words(folder)


def last_words(folder):
    try:
        with open(folder.file("runner.err"), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - 2000, 0))
            said = file.read().strip().splitlines()
    except OSError:
        return ""
    return "; its last words: %s" % emit.clean(said[-1], 500) if said else ""
