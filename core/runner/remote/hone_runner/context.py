# SPDX-License-Identifier: Apache-2.0
"""What an evaluation works with: the job, its folder, events, stages, the environment, cores.

An evaluation is a function evaluate(context) that returns the members of the result event (the
supervisor emits it), or raises Failed. It emits all other events through context.events, runs every
tool through context.stage and takes cores through context.cores."""""

import contextlib
import os
import sys
import time

from hone_runner import children, cores, environment, hold, output, stage, wall as walls

MEMORY_SHARE = 0.7          # of the host's memory, for one stage: sshd needs the rest
DEFAULT_LIMITS = {"compile_limit_s": 900.0, "run_limit_s": 120.0}


class Failed(Exception):
    """The evaluation itself failed: kind is kernel, usage, environment or cancelled."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def settings_of(job):
    """The settings of a job: strings; other values are converted to strings."""
    found = job.get("settings")
    if not isinstance(found, dict):
        return {}
    return {str(name): value if isinstance(value, str) else str(value)
            for name, value in found.items() if value is not None}


class Context:
    """folder: folder.Folder. job: dict. settings: dict of strings. events: emit.Events. cache: the
    folder .hone/cache. raw, out, work: folders of the job (work is deleted when it ends)."""

    def __init__(self, folder, job, events, control=None):
        self.folder, self.job, self.events, self.control = folder, job, events, control
        self.settings = settings_of(job)
        self.cache = os.path.join(folder.home, "cache")
        self.raw, self.out, self.work = [folder.file(name) for name in ("raw", "out", "work")]
        for path in (self.raw, self.out, self.work, self.cache):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.names = {}
        self.found = None
        self.level = None           # of the wall; None: no wall was needed yet
        self.references = []        # where they were found, for the wall

    def number(self, name, default=None, low=0.0, high=86400.0):
        """A setting that is a number. A value that is not a number, or is out of bounds, raises a
        failure of usage."""
        text = self.settings.get(name, "").strip()
        if not text:
            return DEFAULT_LIMITS.get(name, default)
        try:
            value = float(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise Failed("usage", "the setting %s = %s must be a number from %g to %g"
                         % (name, text, low, high))
        return value

    @contextlib.contextmanager
    def phase(self, name):
        """Reports that a phase begins, and how long it took if it ends without an exception."""
        self.events.emit("phase", name=name, seconds=None)
        began = time.monotonic()
        yield
        self.events.emit("phase", name=name, seconds=round(time.monotonic() - began, 6))

    @property
    def environment(self):
        """The Neuron environment that was chosen (environment.Host); looked for once."""
        if self.found is None:
            self.found = environment.look(self.folder.home, self.settings)
        return self.found

    def variables(self, extra=None, held=None):
        """The variables of a stage: the clean ones, the environment's, those of the held cores."""
        values = dict(self.environment.variables())
        values["NEURON_COMPILE_CACHE_URL"] = os.path.join(self.work, "neuron-compile-cache")
        values["TMPDIR"] = self.temporary()
        if held is not None:
            values.update(held.variables())
        values.update(extra or {})
        return stage.clean_environment(values, self.environment.path(), self.folder.mark)

    def temporary(self):
        path = os.path.join(self.work, "tmp")
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    # ------------------------------------------------------------------------------------ the wall

    def shown(self, refers):
        """Which of the folders hidden behind a wall a stage can see. Only the reference (`refers`)
        may write what the verdict is computed from."""
        places = [(self.work, True), (os.path.join(self.cache, "inputs"), refers),
                  (children.archive(), False), (os.environ.get("HONE_ROOT"), True)]
        places += [(path, False) for one in self.references for path in walls.beside(one)]
        files = [row.get("file") for row in self.job.get("inputs") or () if isinstance(row, dict)]
        places += [(name, False) for name in files if isinstance(name, str)]
        places += [(name, False) for name in self.settings.get("wall_read", "").split(":")]
        pythons = [self.environment.python, sys.executable]
        if self.environment.chosen:
            path = self.environment.chosen.path
            linked = walls.linked_places(environment.package_folders(path)[0])
            places += [(one, False) for one in [path] + linked]
        return places + [(path, False) for python in pythons if python
                         for path in walls.python_places(python)]

    def wall(self, level=None, refers=False):
        network = self.settings.get("wall_network", "").lower() in ("yes", "true", "1", "on")
        return walls.Wall(level or self.wall_level, self.shown(refers), network, (self.work,))

    @property
    def wall_level(self):
        """The wall around candidates and references on this host; found out once. If the settings
        demand a wall that does not work, that is a failure."""
        if self.level is None:
            os.makedirs(os.path.join(self.cache, "inputs"), mode=0o700, exist_ok=True)
            try:
                self.level = walls.choose(
                    self.settings.get("wall", "auto"),
                    lambda one: walls.works(self.wall(one), ("test", "-w", self.work)))
            except walls.Unavailable as problem:
                raise Failed("environment", str(problem)) from None
        return self.level

    def most_memory(self):
        """Bytes that a stage with code that hone did not write may take; None: not known."""
        wanted = self.job.get("memory_limit")
        return int(wanted) if wanted else int(environment.memory()[0] * MEMORY_SHARE) or None

    def behind_wall(self, env):
        """The variables of a stage behind a wall: a home folder of its own."""
        home = os.path.join(self.work, "home")
        os.makedirs(home, mode=0o700, exist_ok=True)
        base = os.environ.get("PYTHONUSERBASE") or os.path.expanduser("~/.local")
        return dict(env, HOME=home, PYTHONUSERBASE=base)

    def stage(self, name, argv, limits, env=None, cwd=None, **options):
        """Runs a tool: a stage.Result. Options: grammar (output.Grammar), show (False: nothing of
        it is shown), stdin (a file), wall ("candidate", "reference": whose code it runs, which hone
        did not write). Raises stage.Cancelled when the job is cancelled, hold.TimeUp when the lock
        of the cores it runs on ended (hold.Held.piece)."""
        self.names[name] = self.names.get(name, 0) + 1
        raw = name if self.names[name] == 1 else "%s-%d" % (name, self.names[name])
        events = self.events if options.get("show", True) else None
        streams = [output.Stream(events, options.get("grammar"),
                                 os.path.join(self.raw, raw + end)) for end in (".out", ".err")]
        env = self.variables() if env is None else env
        wall = self.wall(refers=options["wall"] == "reference") if options.get("wall") else None
        if wall and limits.memory_bytes is None:
            limits.memory_bytes = self.most_memory()
        with limits.held.used() if limits.held else contextlib.nullcontext():
            result = stage.Stage(name, argv, limits, self.control, wall).run(
                self.behind_wall(env) if wall else env, cwd or self.work, streams,
                options.get("stdin"))
        if result.outcome == "lock":
            raise hold.TimeUp(result.text)
        return result

    @contextlib.contextmanager
    def cores(self, count=None, lnc=None):
        """Takes `count` logical cores (default 1) for the body: a hold.Held. lnc: how many physical
        cores make one logical core of what will run there, None unknown. Emits `phase wait` while
        they are not free."""
        wait_s = self.number("wait_limit_s", 3600.0)
        with cores.take(self, count or 1, lnc, wait_s) as held:
            yield held
