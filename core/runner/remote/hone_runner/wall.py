# SPDX-License-Identifier: Apache-2.0
"""A wall around stages that run code of a candidate or a reference: it limits the files they reach,
gives them no network, and ends all their processes with them.

Levels as on hone's own machine (core/base/os/wall.h). On a host the whole system can be read, so
that toolchains find all their parts, except the login's folders: those look empty apart from what
is shown on purpose."""

import ctypes
import glob
import os
import resource
import signal
import struct
import subprocess
import sys

from hone_runner import process

LEVELS = ("limits", "landlock", "namespaces", "bubblewrap")
MISSING = {"bubblewrap": "install bubblewrap on the host (apt-get install bubblewrap), and see "
                         "whether `bwrap --ro-bind / / true` works there",
           "namespaces": "the host does not allow user namespaces (sysctl "
                         "user.max_user_namespaces, kernel.unprivileged_userns_clone, "
                         "kernel.apparmor_restrict_unprivileged_userns)",
           "landlock": "the host needs Linux 5.13 or newer with Landlock switched on"}
FILE_BYTES = 64 << 30           # of any file; NEFFs and captures are large
WORK_BYTES = 64 << 30           # of all that lies in folders which may be written
WORK_FILES = 200000             # how many files there
SCRATCH_BYTES = 8 << 30         # of /tmp, of /dev/shm
PTH_BYTES = 1 << 16
PROCESSES = 2048                # compilers start some for each processor
THREADS = 1024 + 64 * (os.cpu_count() or 1)     # of a stage; beside those that the login has
# What belongs to a login, or leads to its programs (sockets): empty behind a wall.
HIDDEN = ("/home", "/root", "/tmp", "/var/tmp", "/run")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND = 1, 2, 4, 8, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 24, 22, 38
EPERM, EACCES, ENOSYS = 1, 13, 38
DAC = 1 << 1 | 1 << 2           # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH

# Numbers of system calls: x86_64, aarch64. Those from 424 on are the same everywhere.
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
REFUSED = (
    ((101, 117), EPERM), ((310, 270), EPERM), ((311, 271), EPERM),      # ptrace, process_vm_*
    ((248, 217), EPERM), ((249, 218), EPERM), ((250, 219), EPERM),      # keys
    ((165, 40), EPERM), ((166, 39), EPERM), ((155, 41), EPERM), ((161, 51), EPERM),     # mounts
    ((272, 97), EPERM), ((308, 268), EPERM),                            # unshare, setns
    ((321, 280), EPERM), ((298, 241), EPERM), ((323, 282), EPERM),      # bpf, perf, userfaultfd
    ((246, 104), EPERM), ((175, 105), EPERM), ((313, 273), EPERM), ((176, 106), EPERM),
    ((304, 265), EPERM),                                                # open_by_handle_at
    ((438, 438), EPERM), ((428, 428), EPERM), ((429, 429), EPERM), ((430, 430), EPERM),
    ((432, 432), EPERM), ((442, 442), EPERM), ((425, 425), ENOSYS), ((435, 435), ENOSYS))
# Where there are no namespaces: sockets; leaving the process group.
SOCKETS = (((41, 198), EACCES), ((42, 203), EACCES), ((49, 200), EACCES))
GROUPS = (((112, 157), EPERM), ((109, 154), EPERM))
CLONE = (56, 220)
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT, MOUNT_SETATTR = 444, 445, 446, 442
PIVOT_ROOT = (155, 41)
FS_BITS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
FS_FILES, FS_READ = 0xC007, 0xD


class Unavailable(Exception):
    """The settings demand a wall that does not work."""


class Wall:
    """What a stage sees. shown: [(path, whether it may be written)]. network: whether it may use
    the host's. own: folders whose size is watched while it runs."""

    def __init__(self, level="limits", shown=(), network=False, own=()):
        self.level, self.network = level, network
        self.shown = [(os.path.abspath(path), writable) for path, writable in shown
                      if path and os.path.exists(path)]
        self.own = [os.path.abspath(path) for path in own]
        self.hidden = [path for path in hidden_places() if os.path.isdir(path)]
        self.nodes = sorted(set(DEVICES) | set(glob.glob("/dev/neuron*")))

    def has_own_processes(self):
        return self.level in ("namespaces", "bubblewrap")

    def excess(self, processes):
        """The limit that a stage with that many processes exceeds, in words, or None."""
        if processes > PROCESSES:
            return "it had over %d processes" % PROCESSES
        room, files = WORK_BYTES, WORK_FILES
        for path in self.own:
            size, count = written(path, files)
            room, files = room - size, files - count
        if files <= 0:
            return "it left over %d files" % WORK_FILES
        return "it wrote over %d GiB" % (WORK_BYTES >> 30) if room < 0 else None

    # ------------------------------------------------------------------------------- bubblewrap

    def command(self, argv, cwd, descriptor=None):
        """The command line behind bubblewrap; argv itself at other levels."""
        if self.level != "bubblewrap":
            return argv
        line = ["bwrap", "--die-with-parent", "--unshare-user-try", "--unshare-ipc",
                "--unshare-pid",
                "--unshare-uts", "--cap-drop", "ALL"]
        line += [] if self.network else ["--unshare-net"]
        line += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
        for node in self.nodes:
            if node not in DEVICES:
                line += ["--dev-bind-try", node, node]
        for path in self.hidden:
            line += ["--size", str(SCRATCH_BYTES), "--tmpfs", path]
        for path, writable in self.shown:
            line += ["--bind-try" if writable else "--ro-bind-try", path, path]
        line += ["--chdir", cwd]
        if descriptor is not None:
            line += ["--seccomp", str(descriptor)]
        return line + ["--"] + list(argv)

    def open_filter(self):
        """A descriptor with the seccomp program for bubblewrap; None at other levels."""
        program = self.filter() if self.level == "bubblewrap" else None
        if not program:
            return None
        reader, writer = os.pipe()          # a program is far smaller than a pipe
        os.write(writer, program)
        os.close(writer)
        return reader

    # ---------------------------------------------------------------------------------- seccomp

    def filter(self, outside=False):
        """The seccomp program; b"" where this machine's calls are not known."""
        known = ARCHITECTURES.get(os.uname().machine)
        if known is None:
            return b""
        column, audit = known
        rows = [(numbers[column], code) for numbers, code in REFUSED]
        if outside:
            rows += [(numbers[column], code) for numbers, code in GROUPS]
            rows += [] if self.network else [(numbers[column], code) for numbers, code in SOCKETS]
        steps = [(0x20, 0, 0, 4), (0x15, 1, 0, audit), (0x06, 0, 0, 0x80000000), (0x20, 0, 0, 0)]
        if column == 0:
            steps += [(0x35, 0, 1, 0x40000000), (0x06, 0, 0, 0x50000 | ENOSYS)]
        for number, code in rows:
            steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | code)]
        steps += [(0x15, 0, 4, CLONE[column]), (0x20, 0, 0, 16), (0x45, 0, 1, CLONE_NEWUSER),
                  (0x06, 0, 0, 0x50000 | EPERM), (0x20, 0, 0, 0), (0x06, 0, 0, 0x7FFF0000)]
        return b"".join(struct.pack("=HBBI", *step) for step in steps)

    # -------------------------------------------------------------------------------- in the child

    def enter(self, cwd):
        """Puts this process, a fork that is about to become the stage, behind the wall. Raises
        OSError. May return in a grandchild; the processes between pass on how it ended."""
        if os.geteuid() == 0:
            enter_group(THREADS)
        for what, limit in ((resource.RLIMIT_FSIZE, FILE_BYTES),
                            (resource.RLIMIT_NPROC, own_threads() + THREADS)):
            resource.setrlimit(what, lowered(what, limit))
        if self.level == "namespaces":
            self.enter_namespaces(cwd)
        if self.level == "bubblewrap":
            return
        check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        drop_capabilities(keep=0 if self.level == "namespaces" or os.geteuid() else DAC)
        if self.level == "landlock":
            self.enter_landlock()
        if self.level != "limits":
            install(self.filter(outside=self.level == "landlock"))

    def enter_landlock(self):
        version = LIBC.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
        check(version, "landlock")
        every = FS_BITS[min(version, 5)]
        network = 3 if version >= 4 and not self.network else 0
        scoped = 3 if version >= 6 else 0
        rules = struct.pack("=QQQ", every, network, scoped)
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        ruleset = LIBC.syscall(LANDLOCK_CREATE, rules, ctypes.c_size_t(size), 0)
        check(ruleset, "landlock")
        for path, rights in self.landlock_places(every):
            allow(ruleset, path, rights & every)
        check(LIBC.syscall(LANDLOCK_RESTRICT, ruleset, 0), "landlock")
        os.close(ruleset)

    def landlock_places(self, every):
        """Everything in the root folder except hidden folders, and the parts of those that are
        shown."""
        rows = []
        for name in os.listdir("/"):
            path = "/" + name
            holds = any(one == path or one.startswith(path + "/") for one in self.hidden)
            if name != "dev" and not holds:
                rows.append((path, FS_READ))
            elif name not in ("dev",) and path not in self.hidden:
                rows += [(os.path.join(path, below), FS_READ) for below in os.listdir(path)
                         if os.path.join(path, below) not in self.hidden
                         and not any(one.startswith(os.path.join(path, below) + "/")
                                     for one in self.hidden)]
        rows += [(node, every) for node in self.nodes] + [("/dev/shm", every)]
        return rows + [(path, every if writable else FS_READ) for path, writable in self.shown]

    def enter_namespaces(self, cwd):
        uid, gid = os.geteuid(), os.getegid()
        flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS
        check(LIBC.unshare(flags | (0 if self.network else CLONE_NEWNET)), "unshare")
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", "%d %d 1\n" % (uid, uid))
        write("/proc/self/gid_map", "%d %d 1\n" % (gid, gid))
        go_on_as_child()
        self.mount_all()
        LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        go_on_as_child()
        os.chdir(cwd)

    def mount_all(self):
        """In place: hides what is hidden, puts back what is shown, closes the rest to writing."""
        mount(None, "/", None, MS_REC | MS_PRIVATE)
        kept = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC), writable)
                for path, writable in self.shown + [(node, True) for node in self.nodes]
                if os.path.exists(path)]
        read_only("/", True)
        for path in self.hidden + ["/dev"]:
            if os.path.isdir(path):
                mount("tmpfs", path, "tmpfs", MS_NOSUID | (0 if path == "/dev" else MS_NODEV),
                      "mode=%s,size=%d" % ("755" if path == "/dev" else "1777", SCRATCH_BYTES))
        os.makedirs("/dev/shm", exist_ok=True)
        for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"),
                             ("stderr", "fd/2")):
            os.symlink("/proc/self/" + target, "/dev/" + name)
        for path, descriptor, writable in kept:
            put_back(path, descriptor, writable)
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def groups():
    """Where control groups that count processes can be made, or None. They are the only limit of
    processes that applies to root (cgroups(7), both versions)."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return None
    for key, where in (("pids", "/sys/fs/cgroup/pids"), ("", "/sys/fs/cgroup")):
        for row in rows:
            path = where + (row[2] if len(row) > 2 and row[2] != "/" else "")
            if len(row) > 2 and row[1] == key and os.access(path, os.W_OK):
                return path
    return None


def enter_group(tasks):
    """Puts this process into a control group with at most this many processes and threads. If that
    is not possible, only the stage's watch counts them. Empty groups whose first process ended are
    removed."""
    base = groups()
    if base is None:
        return
    for name in os.listdir(base):
        number = name[len("hone-"):]
        if name.startswith("hone-") and number.isdigit() and not process.start_time(int(number)):
            try:
                os.rmdir(os.path.join(base, name))
            except OSError:
                pass
    path = os.path.join(base, "hone-%d" % os.getpid())
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        write(os.path.join(path, "pids.max"), "%d" % tasks)
        write(os.path.join(path, "cgroup.procs"), "0")
    except OSError:
        try:
            os.rmdir(path)
        except OSError:
            pass


def own_threads():
    """How many threads this user's processes have."""
    count = 0
    for pid in process.everyone():
        try:
            found = os.stat("/proc/%d/task" % pid)
        except OSError:
            continue
        if found.st_uid == os.getuid():
            count += max(found.st_nlink - 2, 1)
    return count


def written(folder, most):
    """(bytes on the disk, how many entries) of what lies in the folder; `most` entries are looked
    at."""
    size = count = 0
    for where, folders, files in os.walk(folder):
        for name in files + folders:
            try:
                size += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                pass
            count += 1
            if count >= most:
                return size, count
    return size, count


def hidden_places():
    home = os.path.expanduser("~")
    rows = list(HIDDEN)
    if home != "/" and not any(home == one or home.startswith(one + "/") for one in rows):
        rows.append(home)
    return rows


def beside(path):
    """What a reference sees of its own folder: all of it. If that is a home folder (or one above
    it): only names without a dot in front."""
    folder = os.path.dirname(os.path.abspath(path))
    home = os.path.realpath(os.path.expanduser("~"))
    if not (home + "/").startswith(os.path.join(os.path.realpath(folder), "")):
        return [folder]
    return [os.path.join(folder, name) for name in os.listdir(folder) if not name.startswith(".")
            and not (home + "/").startswith(os.path.join(os.path.realpath(
                os.path.join(folder, name)), ""))]


def python_places(python):
    """The folders that a Python's links lead through, and the user's own folder of pip packages."""
    places = []
    for _ in range(16):
        prefix = os.path.dirname(os.path.dirname(python))
        if prefix not in ("/", "/usr", os.path.expanduser("~")):
            places.append(prefix)
        if not os.path.islink(python):
            break
        python = os.path.normpath(os.path.join(os.path.dirname(python), os.readlink(python)))
    base = os.environ.get("PYTHONUSERBASE") or os.path.expanduser("~/.local")
    return places + [os.path.join(base, "lib")]


def linked_places(folders):
    """The folders that .pth files in these folders of packages add; mostly packages under
    development."""
    places = []
    for file in [file for folder in folders
                 for file in sorted(glob.glob(os.path.join(glob.escape(folder), "*.pth")))]:
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                rows = [line.strip() for line in lines.read(PTH_BYTES).splitlines()]
        except OSError:
            continue
        places += [os.path.join(os.path.dirname(file), row) for row in rows
                   if row and not row.startswith(("#", "import ", "import\t"))]
    return [path for path in places if os.path.isdir(path)]


def put_back(path, descriptor, writable):
    """Shows again a path below a folder that was hidden, or below one that is closed to writing."""
    source = "/proc/self/fd/%d" % descriptor
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(source):
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    if os.path.islink(path):
        return
    mount(source, path, None, MS_BIND | MS_REC)
    read_only(path, not writable)


# ------------------------------------------------------------------------------------ system calls

LIBC = process.LIBC
if LIBC is not None and sys.platform.startswith("linux"):
    LIBC.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
    LIBC.syscall.restype = ctypes.c_long


def check(status, what):
    if status < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def encoded(text):
    return None if text is None else os.fsencode(text)


def mount(source, target, kind, flags, options=None):
    check(LIBC.mount(encoded(source), encoded(target), encoded(kind), flags, encoded(options)),
          "mount on %s" % target)


def read_only(path, closed):
    change = struct.pack("=QQQQ", MOUNT_ATTR_RDONLY if closed else 0,
                         0 if closed else MOUNT_ATTR_RDONLY, 0, 0)
    check(LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), AT_RECURSIVE, change,
                       ctypes.c_size_t(len(change))), "mount_setattr of %s" % path)


def allow(ruleset, path, rights):
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= FS_FILES
    row = struct.pack("=Qi", rights, descriptor)
    if rights:
        check(LIBC.syscall(LANDLOCK_ADD, ruleset, 1, row, 0), "landlock of %s" % path)
    os.close(descriptor)


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def install(steps):
    if steps:
        program = Program(len(steps) // 8, steps)
        check(LIBC.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program)), "seccomp")


def drop_capabilities(keep=0):
    """Drops all capabilities except `keep`, with which root can use other people's files."""
    for number in range(64):
        if not keep >> number & 1:
            LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    head = struct.pack("=II", 0x20080522, 0)
    if not keep or LIBC.capset(head, struct.pack("=IIIIII", keep, keep, 0, 0, 0, 0)) != 0:
        check(LIBC.capset(head, bytes(24)), "capset")


def lowered(what, limit):
    hard = resource.getrlimit(what)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    return limit, limit


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def go_on_as_child():
    """Forks. The parent waits, and ends in the same way as the child."""
    child = os.fork()
    if child == 0:
        process.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.closerange(0, 4096)
    while True:
        try:
            ended, status = os.wait()
        except InterruptedError:
            continue
        except OSError:
            os._exit(127)
        if ended == child:
            os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status)
                     else os.WEXITSTATUS(status))


# ---------------------------------------------------------------------------------------- choosing


def works(wall, argv=("true",)):
    """Whether the wall works on this host, tried with a small command."""
    if LIBC is None or not sys.platform.startswith("linux"):
        return wall.level == "limits"
    descriptor = wall.open_filter()
    try:
        return subprocess.run(
            wall.command(list(argv), "/", descriptor), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, close_fds=True,
            pass_fds=() if descriptor is None else (descriptor,),
            preexec_fn=lambda: wall.enter("/")).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)


def choose(wanted, probe):
    """The strongest level for which probe(level) is true, or the wanted one. Raises Unavailable."""
    if wanted in LEVELS:
        if not probe(wanted):
            raise Unavailable("the wall \"%s\" that the settings ask for does not work on the "
                              "host: %s" % (wanted, MISSING.get(wanted, "it does not work there")))
        return wanted
    return next((level for level in reversed(LEVELS[1:]) if probe(level)), "limits")
