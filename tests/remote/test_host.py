# SPDX-License-Identifier: Apache-2.0
"""What a host has and lacks: probe, doctor and setup on hosts made of files."""

import datetime
import glob
import json
import os
import unittest

import common
from hone_runner import devices, releases

ROW = {"neuron_device": 0, "bdf": "cc:00.0", "nc_count": 4, "logical_neuroncore_config": 2,
       "memory_size": 103079215104, "neuroncore_ids": [0, 1, 2, 3], "connected_to": [1, 2],
       "cpu_affinity": "48-95,144-191", "numa_node": "1", "neuron_processes": []}


class Versions(unittest.TestCase):
    def test_every_line_is_known_by_its_nki(self):
        for nki, line, route in (("0.1.0", "2.27", "framework"), ("0.2.0", "2.28", "framework"),
                                 ("0.3.0", "2.29", "standalone"), ("0.6.0+g1", "2.32",
                                                                   "standalone"),
                                 ("0.7.0", "2.33", "standalone"),
                                 ("9.9.1", releases.NEWEST.line + "+",
                                  releases.NEWEST.route)):
            found = {"nki": nki, "neuronx-cc": "2.28.1"}
            self.assertEqual((releases.line_of(found), releases.route_of(found)), (line, route))

    def test_before_nki_the_compiler_tells_the_line(self):
        for compiler, line in (("2.15.128.0", "2.20"), ("2.21.18209.0", "2.26"), ("2.9", "2.20"),
                               ("2.28.7631.0", "2.33"), ("3.1", releases.NEWEST.line + "+")):
            self.assertEqual(releases.line_of({"neuronx-cc": compiler}), line)
        self.assertEqual(releases.route_of({"neuronx-cc": "2.21.1"}), "legacy")
        self.assertIsNone(releases.line_of({}))
        self.assertIsNone(releases.route_of({"nrtpy": "2.35"}))

    def test_versions_that_are_none_do_no_harm(self):
        for text in (None, "", "x", "9" * 50 + ".1", "1..2", "1.2.3.4.5.6.7.8"):
            self.assertIsInstance(releases.version(text), tuple)


class Lists(unittest.TestCase):
    def test_both_shapes_of_neuron_ls_are_read(self):
        rows = [ROW]
        for text in (json.dumps(rows), "noise first\n" + json.dumps(rows) + "\ntrailing",
                     json.dumps({"instance_type": "trn2.48xlarge", "neuron_devices": rows})):
            self.assertEqual(devices.parse_list(text.encode())[0], rows)

    def test_nonsense_is_no_device(self):
        for text in (b"", b"[", b"{}", b"[1, 2]", b'{"a": [[]]}', b"\xff\xfe", b"[" * 100000,
                     b'[{"neuron_device": "x", "nc_count": []}]'):
            found = devices.Devices({}, None)
            for row in devices.parse_list(text)[0]:
                found.add(row)
            self.assertEqual(found.logical(), [])

    def test_rows_with_odd_members_do_no_harm(self):
        for name in ROW:
            for value in (None, -5, "x", [], {}, [None], [{"pid": "x"}], 1e300, 10**30, True):
                found = devices.Devices({}, None)
                found.add(dict(ROW, **{name: value}))
                self.assertLessEqual(len(found.describe()), devices.MAX_CORES)

    def test_lists_of_cores(self):
        self.assertEqual(devices.parse_cores("0-3, 8"), [0, 1, 2, 3, 8])
        for text in ("", "x", "3-1", "-1", "0-99999", "1,,2", "0x1", "1-2-3"):
            self.assertIsNone(devices.parse_cores(text), text)


class FakeHost(common.HostCase):
    def venv(self, path, python="3.10", **packages):
        """An environment as pip leaves it. Returns its path on the host."""
        base = "root/" + path.lstrip("/")
        self.write(base + "/bin/python", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n", 0o755)
        self.write(base + "/pyvenv.cfg", "home = /usr/bin\nversion = %s.12\n" % python)
        for name, version in packages.items():
            self.write("%s/lib/python%s/site-packages/%s-%s.dist-info/METADATA"
                       % (base, python, name, version), "Name: x\n")
        return self.path(base)

    def settings(self, **settings):
        return ["--settings", json.dumps(settings)] if settings else []

    def probe(self, **settings):
        return self.call("probe", *self.settings(**settings))[0]

    def doctor(self, **settings):
        rows = self.call("doctor", *self.settings(**settings))
        self.assertEqual(rows[-1]["event"], "host")
        for row in rows[:-1]:
            self.assertEqual(row["event"], "check")
            self.assertIn(row["state"], ("ok", "warning", "failed"))
            self.assertEqual(bool(row["advice"]), row["state"] != "ok", row)
            self.assertTrue(row["found"], row)
            self.assertNotIn("the check failed", row["found"])
        return {row["name"]: row for row in rows[:-1]}


class Probe(FakeHost):
    def test_a_bare_machine(self):
        host = self.probe()
        self.assertEqual((host["event"], host["environments"], host["chosen"], host["release"],
                          host["route"], host["tools"], host["cores"]),
                         ("host", [], None, None, None, {}, []))
        self.assertIn("no Python environment", host["why"])
        self.assertGreater(host["memory_bytes"], 0)
        self.assertGreater(host["disk_free_bytes"], 0)
        self.assertTrue(host["warnings"])

    def test_the_environment_with_the_highest_nki_is_chosen(self):
        self.venv("/opt/aws_neuronx_venv_pytorch_2_8", nki="0.2.0", neuronx_cc="2.23.1",
                  numpy="1.26.4")
        best = self.venv("/opt/aws_neuronx_venv_pytorch_2_9", nki="0.10.0",
                         neuronx_cc="2.24.8799.0")
        self.venv("/opt/aws_neuronx_venv_jax", nki="0.3.0")
        self.venv("/opt/aws_neuronx_venv_empty", torch="2.9")
        host = self.probe()
        self.assertEqual(host["chosen"], best)
        self.assertEqual(len(host["environments"]), 3)
        self.assertEqual(host["release"], releases.NEWEST.line + "+")
        self.assertEqual(host["environments"][0]["packages"],
                         {"nki": "0.10.0", "neuronx-cc": "2.24.8799.0"})
        self.assertEqual(host["environments"][0]["python"], "3.10.12")

    def test_what_is_named_comes_before_what_is_found(self):
        self.venv("/opt/aws_neuronx_venv_new", nki="0.6.0")
        named, third = self.venv("/data/mine", nki="0.3.0"), self.venv("/data/third", nki="0.4.0")
        self.env["NKI_VENV_PATH"] = third
        self.assertEqual(self.probe()["chosen"], third)
        self.env["VIRTUAL_ENV"] = named
        self.assertEqual(self.probe()["chosen"], named)
        self.assertEqual(self.probe(environment=third)["chosen"], third)
        self.assertEqual(self.probe(environment=third + "/bin/python")["chosen"], third)

    def test_a_setting_that_names_nothing_is_said_and_not_passed_over(self):
        self.venv("/opt/aws_neuronx_venv_new", nki="0.6.0")
        host = self.probe(environment="/nowhere")
        self.assertIsNone(host["chosen"])
        self.assertIn("environment = /nowhere", host["why"])

    def test_a_home_of_a_cluster_s_user(self):
        path = self.venv("x", neuronx_cc="2.21.18209.0+abc")
        os.rename(path, self.path("aws_neuron_venv_pytorch"))
        host = self.probe()
        self.assertEqual(host["chosen"], self.path("aws_neuron_venv_pytorch"))
        self.assertEqual((host["release"], host["route"].split(":")[0]), ("2.26", "neuronxcc.nki"))

    def test_tools_are_asked_for_their_version_once(self):
        self.write("root/opt/aws/neuron/bin/neuron-explorer",
                   "#!/bin/sh\necho x >> %s\necho 'neuron-explorer 2.33.38.0-b1f3998'\n"
                   % self.path("asked"), 0o755)
        self.write("root/opt/aws/neuron/bin/neuron-profile",
                   "#!/bin/sh\necho 'neuron-profile 2.19.0.0%kaena-tools/2.19@c48a122 built'\n",
                   0o755)
        self.write("root/opt/aws/neuron/bin/neuron-monitor", "#!/bin/sh\necho x >> %s\n"
                   % self.path("asked-monitor"), 0o755)
        for _ in range(3):
            tools = self.probe()["tools"]
        self.assertEqual(tools["neuron-explorer"]["version"], "2.33.38.0-b1f3998")
        self.assertEqual(tools["neuron-profile"]["version"], "2.19.0.0%kaena-tools")
        with open(self.path("asked")) as file:
            self.assertEqual(len(file.readlines()), 1)
        self.assertIsNone(tools["neuron-monitor"]["version"])
        self.assertFalse(os.path.exists(self.path("asked-monitor")))

    def test_the_setting_tools_comes_first(self):
        self.write("root/opt/aws/neuron/bin/neuron-ls", "#!/bin/sh\nexit 1\n", 0o755)
        host = self.probe(tools=self.neuron_ls(devices=2))
        self.assertEqual(host["tools"]["neuron-ls"]["path"], self.path("tools/neuron-ls"))
        self.assertEqual([row["core"] for row in host["cores"]], list(range(8)))
        self.assertEqual([row["device"] for row in host["cores"]], [0] * 4 + [1] * 4)
        self.assertEqual((host["lnc"], host["cores"][0]["pid"]), (2, None))

    def test_the_form_of_sdk_2_34(self):
        self.write("tools/neuron-ls", "#!/bin/sh\ncase $1 in -j) echo 'unknown flag -j' >&2; exit "
                   "1;;\n--output-format) echo '%s';; esac\n" % json.dumps(
                       {"instance_type": "trn2.48xlarge", "ultraserver": None,
                        "neuron_devices": [ROW]}), 0o755)
        host = self.probe(tools=self.path("tools"))
        self.assertEqual((len(host["cores"]), host["instance"]), (4, "trn2.48xlarge"))

    def test_who_holds_a_core(self):
        tools = self.neuron_ls(processes=[{"pid": os.getpid(), "command": "train\x1b[2J.py"}])
        row = self.probe(tools=tools)["cores"][0]
        self.assertEqual((row["pid"], row["command"]), (os.getpid(), "train\\x1b[2J.py"))
        self.assertTrue(row["holder"])

    def test_logical_cores_follow_the_setting(self):
        tools = self.neuron_ls(cores=4, lnc=2)
        self.assertEqual(len(self.probe(tools=tools, lnc="1")["cores"]), 8)
        host = self.probe(tools=tools, lnc="3")
        self.assertEqual((host["lnc"], "lnc = 3" in " ".join(host["warnings"])), (2, True))

    def test_without_neuron_ls_sysfs_tells(self):
        base = "root/sys/devices/virtual/neuron_device/neuron%d/"
        for device in range(2):
            for core in range(8):
                self.write((base % device) + "neuron_core%d/stats" % core, "")
            self.write((base % device) + "info/architecture/instance_type", "trn2.48xlarge\n")
        self.write("root/sys/module/neuron/version", "2.31.7.0\n")
        self.write("root/sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge\n")
        host = self.probe()
        self.assertEqual((len(host["cores"]), host["driver"], host["instance"], host["lnc"]),
                         (8, "2.31.7.0", "trn2.48xlarge", 2))

    def test_sysfs_is_read_wherever_a_driver_has_it(self):
        layouts = (("devices/virtual/neuron_device/neuron%d/", "neuron_core%d/stats",
                    "info/architecture/instance_type"),
                   ("class/neuron_device/neuron%d/", "neuron_core%d/stats", "instance_type"),
                   ("class/neuron_device/neuron%d/", "cores/neuron_core%d/info/x",
                    "info/instance_type"),
                   ("class/neuron_device/neuron%d/", "core_count", "info/instance_type"))
        for number, (device, core, instance) in enumerate(layouts):
            root = "root-%d" % number
            self.env["HONE_ROOT"] = self.path(root)
            for one in range(2):
                base = root + "/sys/" + device % one
                self.write(base + instance, "trn2.48xlarge\n")
                for part in range(8):
                    self.write(base + (core % part if "%" in core else core), "8\n")
            host = self.probe()
            self.assertEqual((len(host["cores"]), [row["device"] for row in host["cores"]][::4],
                              host["instance"]), (8, [0, 1], "trn2.48xlarge"), layouts[number])

    def test_what_sysfs_does_not_show_is_unknown(self):
        for name in ("neuron0/power/utilization", "neuron1/core_count", "neuron_extra/x",
                     "neuron2/a/b/c/d/neuron_core0/x"):
            self.write("root/sys/class/neuron_device/" + name, "nonsense\n")
        host = self.probe()
        self.assertEqual((host["cores"], host["instance"]), ([], None))
        self.assertIn("3 devices without saying how many cores", " ".join(host["warnings"]))

    def test_a_neuron_ls_that_fails_hangs_or_talks_nonsense_is_a_warning(self):
        for text in ("echo 'Unable to determine Neuron Driver version' >&2; exit 1",
                     "head -c 100000 /dev/urandom"):
            self.write("tools/neuron-ls", "#!/bin/sh\n%s\n" % text, 0o755)
            host = self.probe(tools=self.path("tools"))
            self.assertEqual(host["cores"], [])
            self.assertIn("neuron-ls", " ".join(host["warnings"]))


class Doctor(FakeHost):
    def test_a_bare_machine_is_told_what_to_do(self):
        checks = self.doctor()
        for name in ("environment", "nki", "tools", "driver", "cores"):
            self.assertEqual(checks[name]["state"], "failed", name)
        for name in ("python", "numpy", "clock", "temporary", "leftovers", "lock"):
            self.assertEqual(checks[name]["state"], "ok", checks[name])

    def test_a_host_that_is_fine(self):
        self.venv("/opt/aws_neuronx_venv_x", nki="0.7.0", neuronx_cc="2.28.7631.0", numpy="2.0")
        self.neuron_ls()
        for name in ("neuron-explorer", "neuron-bench", "neuron-ls"):
            self.write("tools/" + name, "#!/bin/sh\ncase $1 in --version) echo 2.33.38.0;; *) cat "
                       "%s;; esac\n" % self.path("tools/rows.json"), 0o755)
        self.write("root/sys/module/neuron/version", "2.31.7.0\n")
        self.write("root/dev/neuron0", "")
        self.write("root/opt/aws/neuron/lib/libnrt.so.2.35.30.0", "")
        os.symlink("libnrt.so.2.35.30.0", self.path("root/opt/aws/neuron/lib/libnrt.so.1"))
        checks = self.doctor(tools=self.path("tools"), clock=str(common.time.time()))
        bad = {name: row for name, row in checks.items() if row["state"] != "ok"
               and name not in ("memory", "disk")}
        self.assertEqual(bad, {})
        self.assertIn("SDK 2.33", checks["nki"]["found"])
        self.write("root/sys/module/neuron/version", "2.26.0.0\n")
        self.assertIn("different releases",
                      self.doctor(tools=self.path("tools"))["driver"]["advice"])

    def test_the_way_that_kernels_compile_is_named(self):
        path = self.venv("/opt/aws_neuronx_venv_x", nki="0.6.0", numpy="2.0")
        self.assertIn("chooses one; in this order: nir, context", self.doctor()["seam"]["found"])
        row = {"passed": True, "seam": "context", "skipped": {}, "time": 1764000000.0,
               "environment": path, "packages": {"nki": "0.6.0", "numpy": "2.0"}}
        newest = dict(row, seam="executor", skipped={"nir": "TypeError: lower() takes 1"},
                      time=1764000600.0)
        for name, one in (("a", row), ("b", newest), ("c", dict(newest, seam="no such")),
                          ("d", dict(newest, time="now")), ("e", dict(newest, packages={}))):
            self.write(".hone/cache/canaries/%s.json" % name, json.dumps(one))
        self.write(".hone/cache/canaries/f.json", "[")
        check = self.doctor()["seam"]
        self.assertEqual("warning", check["state"])
        self.assertRegex(check["found"], r"^executor \(CompileKernel with .*\), chosen by the "
                         r"canary of 2025-11-24 16:10 UTC; not by nir: TypeError: lower")
        os.unlink(self.path(".hone/cache/canaries/b.json"))
        check = self.doctor()["seam"]
        self.assertEqual("ok", check["state"])
        self.assertRegex(check["found"], "^context .* of 2025-11-24 16:00 UTC$")

    def test_a_clock_that_is_off(self):
        self.assertEqual(self.doctor(clock=str(common.time.time() - 400))["clock"]["state"],
                         "warning")

    def test_a_login_shell_that_talks(self):
        self.env["SHELL"] = self.write("shell", "#!/bin/sh\necho 'Welcome to \033[1mthe cluster'\n"
                                       "exec /bin/sh \"$@\"\n", 0o755)
        row = self.doctor()["login"]
        self.assertEqual(row["state"], "warning")
        self.assertIn("Welcome to the cluster", row["found"])

    def test_a_host_that_ends_processes_at_logout(self):
        self.write("root/etc/systemd/logind.conf", "[Login]\nKillUserProcesses=yes\n")
        self.assertEqual(self.doctor()["session"]["state"], "failed")

    def test_cores_that_are_held_and_a_host_that_is_drained(self):
        tools = self.neuron_ls(processes=[{"pid": os.getpid(), "command": "train.py"}])
        self.write("locks/locks.json", json.dumps(
            {"version": 2, "draining_enabled_with_timeout": common.time.time() + 500,
             "physical_neuron_cores_lock_timeout": {"0": common.time.time() + 50}}), 0o666)
        checks = self.doctor(tools=tools)
        self.assertEqual((checks["cores"]["state"], checks["lock"]["state"]),
                         ("warning", "warning"))
        self.assertIn("pid %d" % os.getpid(), checks["cores"]["found"])
        self.assertIn("1 physical cores locked", checks["lock"]["found"])
        self.assertRegex(checks["lock"]["found"], r"drained until \d{4}-\d\d-\d\d .* UTC")

    def test_the_lock_is_told_with_who_holds_and_who_waits(self):
        now = int(common.time.time())
        row = {"request_cores": 8, "enqueued_ts": now, "ready": True}
        self.write("locks/infra_version.json", '{"minClientLockingVersion": 5}')
        self.write("locks/locks.json", json.dumps(
            {"version": 5, "physical_neuron_cores_lock_timeout": {"0": now + 50, "1": now - 5},
             "queue": [dict(row, entry_id="a", last_seen_ts=now),
                       dict(row, entry_id="b", last_seen_ts=now - 100)]}), 0o666)
        with open(self.path("locks/locks.json")) as file:
            before = file.read()
        self.write("locks/events-%s.log" % datetime.date.today().isoformat(), "".join(
            json.dumps(dict(one, ts=now)) + "\n" for one in (
                {"event": "COMMIT", "caller": "ann-ci", "cores": [0]}, {"event": "COMMIT"},
                {"event": "ENQUEUE", "caller": "bob", "entry_id": "a", "position": 0})))
        row = self.doctor(tools=self.neuron_ls())["lock"]
        self.assertEqual(row["state"], "ok")
        self.assertIn(", version 5: 1 physical cores locked (ann-ci), 1 wait (bob)", row["found"])
        with open(self.path("locks/locks.json")) as file:
            self.assertEqual(file.read(), before)

    def test_a_lock_that_cannot_be_used_is_told_with_what_to_do(self):
        self.write("locks/infra_version.json", '{"minClientLockingVersion": 6}')
        row = self.doctor()["lock"]
        self.assertEqual(row["state"], "failed")
        self.assertIn("version 6", row["advice"])
        os.unlink(self.path("locks/infra_version.json"))
        os.mkdir(self.path("locks/infra_version.json"))
        row = self.doctor()["lock"]
        self.assertEqual(row["state"], "failed")
        self.assertIn("infra_version.json", row["advice"])

    def test_cores_that_the_host_does_not_have(self):
        tools = self.neuron_ls(devices=8, cores=4)
        for text in ("40-44", "30-40", "32", "5-2", "0-3,3", "0,,1", "all"):
            row = self.doctor(tools=tools, cores=text)["cores"]
            self.assertEqual(row["state"], "failed", text)
            self.assertIn("cores = %s " % text, row["found"])
            self.assertIn("this host has the logical cores 0-31", row["found"])
        for text in ("", "0", "0-31", "31,0-3", " 1 - 2 , 5 "):
            self.assertEqual(self.doctor(tools=tools, cores=text)["cores"]["state"], "ok", text)

    def test_leftovers_are_found(self):
        job = self.job("a", steps=[{"do": "stage", "argv": ["/bin/sh", "-c", "setsid sleep 300 & "
                                                            "exec sleep 300"]}])
        self.call("start", job)
        common.wait_for(lambda: "stage" in self.state(job), "the stage")
        common.wait_for(lambda: len(self.marked(job)) >= 2, "both")
        os.kill(self.state(job)["pid"], 9)
        common.wait_for(lambda: len(self.marked(job)) == 1, "one that is left")
        row = self.doctor()["leftovers"]
        self.assertEqual(row["state"], "warning")
        self.assertIn(".hone/jobs/a", row["advice"])

    def marked(self, job):
        from hone_runner import process
        return [pid for pid in process.marked(os.path.realpath(self.path(job)))
                if b"sleep" in process.read_proc(pid, "cmdline")]


class Setup(FakeHost):
    FAKE = "#!/bin/sh\necho \"$(basename $0) $*\" >> %s\n%s\n"

    def setUp(self):
        super().setUp()
        self.env["PATH"] = self.path("bin")
        for name, text in (("install", ""), ("mkdir", ""), ("curl", ""), ("modprobe", ""),
                           ("env", "shift; exec \"$@\""), ("sudo", "shift; exec \"$@\"")):
            self.tool(name, text)
        self.tool("python", "[ \"$2\" = venv ] && { /bin/mkdir -p $3/bin; /bin/cp $0 "
                  "$3/bin/python; }; exit 0")
        os.symlink("/usr/bin/basename", self.path("bin/basename"))

    def tool(self, name, text):
        self.write("bin/" + name, self.FAKE % (self.path("did"), text), 0o755)

    def ubuntu(self, installed=""):
        self.write("root/etc/os-release",
                   'ID=ubuntu\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu"\n')
        self.write("root/sys/devices/virtual/dmi/id/product_name", "trn2.3xlarge\n")
        self.tool("apt-get", "")
        self.tool("dpkg-query", "case '%s' in *$4*) echo install ok installed;; esac" % installed)

    def run_setup(self, *flags, **options):
        return self.call("setup", *flags, "--settings",
                         json.dumps({"python": self.path("bin/python")}), **options)

    def steps(self, rows):
        return [row for row in rows if row["event"] == "step"]

    def did(self, but=("dpkg-query", "rpm", "basename", "sudo", "env")):
        if not os.path.exists(self.path("did")):
            return []
        with open(self.path("did")) as file:
            return [line.strip() for line in file if line.split()[0] not in but
                    and " -c " not in line]

    def test_nothing_is_done_without_apply(self):
        self.ubuntu()
        steps = self.steps(self.run_setup())
        self.assertTrue(all(row["why"] and row["argv"] for row in steps))
        names = [row["name"] for row in steps if row["needed"]]
        for one, other in (("key", "package source"), ("package source", "package lists"),
                           ("package lists", "aws-neuronx-dkms"), ("aws-neuronx-dkms",
                                                                   "load driver"),
                           ("aws-neuronx-dkms", "aws-neuronx-runtime-lib"), ("environment",
                                                                             "compiler")):
            self.assertLess(names.index(one), names.index(other))
        self.assertFalse(any(row["done"] for row in steps if row["needed"]))
        self.assertEqual(self.did(), [])
        self.assertFalse(os.path.exists(self.path(".hone/venv")))

    def test_what_needs_root_says_sudo(self):
        self.ubuntu()
        root = os.geteuid() == 0
        for row in self.steps(self.run_setup()):
            needs = row["name"] not in ("environment", "pip", "compiler")
            self.assertEqual(row["argv"][:2] == ["sudo", "-n"], needs and not root, row)

    def test_apply_does_it_in_order(self):
        self.ubuntu()
        steps = self.steps(self.run_setup("--apply"))
        self.assertTrue(all(row["done"] for row in steps))
        did = "\n".join(self.did())
        self.assertIn("GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB", did)
        self.assertIn("apt-get install -y aws-neuronx-tools", did)
        self.assertIn("modprobe neuron", did)
        self.assertIn("--extra-index-url https://pip.repos.neuron.amazonaws.com neuronx-cc==2.* "
                      "nki numpy", did)
        with open(self.path(".hone/setup/neuron.list")) as file:
            self.assertEqual(file.read(), "deb [signed-by=/etc/apt/keyrings/aws-neuron.asc] "
                             "https://apt.repos.neuron.amazonaws.com noble main\n")

    def test_only_what_is_missing_is_needed(self):
        self.ubuntu(installed="linux-headers-%s aws-neuronx-dkms aws-neuronx-collectives "
                    "aws-neuronx-runtime-lib aws-neuronx-tools" % os.uname().release)
        self.write("root/sys/module/neuron/version", "2.31.7.0\n")
        self.write("root/etc/apt/sources.list.d/neuron.list",
                   "deb https://apt.repos.neuron.amazonaws.com noble main\n")
        self.venv("/opt/aws_neuronx_venv_x", nki="0.7.0", neuronx_cc="2.28.1")
        self.assertEqual([row["name"] for row in self.steps(self.run_setup()) if row["needed"]], [])
        self.run_setup("--apply")
        self.assertEqual(self.did(), [])

    def test_the_first_failure_ends_it(self):
        self.ubuntu()
        self.tool("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
        rows = self.run_setup("--apply", status=3)
        self.assertEqual((rows[-1]["event"], rows[-1]["done"]), ("step", False))
        self.assertIn("E: Unable to locate package", [row.get("text") for row in rows])
        self.assertFalse(any("venv" in line for line in self.did()))

    def test_a_step_that_has_begun_ends_though_nobody_listens(self):
        self.ubuntu()
        self.tool("apt-get", "echo begun; /bin/sleep 0.2; echo more; echo whole >> %s"
                  % self.path("whole"))
        child = self.spawn("setup", "--apply", "--settings",
                           json.dumps({"python": self.path("bin/python")}))
        while b"begun" not in child.stdout.readline():
            pass
        child.stdout.close()
        child.wait()
        self.assertTrue(os.path.exists(self.path("whole")))
        self.assertIn("modprobe neuron", self.did())

    def test_amazon_linux(self):
        self.write("root/etc/os-release", 'ID="amzn"\nVERSION_ID="2023"\n')
        self.tool("dnf", "")
        self.tool("rpm", "[ \"$1\" = --import ]")
        steps = self.steps(self.run_setup("--apply"))
        did = "\n".join(self.did(but=("basename",)))
        self.assertIn("rpm --import https://yum.repos.neuron.amazonaws.com/GPG-PUB-KEY", did)
        self.assertIn("dnf install -y aws-neuronx-tools", did)
        self.assertNotIn("dnf install -y aws-neuronx-dkms", did)        # no device in this machine
        self.assertTrue(all(row["done"] for row in steps))
        with open(self.path(".hone/setup/neuron.repo")) as file:
            self.assertIn("gpgcheck=1", file.read())

    def test_another_system_is_told_so(self):
        self.write("root/etc/os-release", "ID=plan9\nPRETTY_NAME='Plan 9'\n")
        row = self.run_setup(status=3)[0]
        self.assertEqual((row["event"], row["kind"]), ("error", "environment"))


class WithoutNumpy(FakeHost):
    """Under a Python without it, where there is one."""

    PYTHON = next(iter(glob.glob(os.path.expanduser("~/.pyenv/versions/3.8.*/bin/python"))), None)

    def command(self, *words, program=None):
        return [self.PYTHON, common.ARCHIVE] + list(words)

    def setUp(self):
        if not self.PYTHON:
            self.skipTest("there is no Python 3.8 without numpy here")
        check = common.subprocess.run([self.PYTHON, "-c", "import numpy"], stderr=-3)
        if check.returncode == 0:
            self.skipTest("the Python 3.8 here has numpy")
        super().setUp()

    def test_probe_and_doctor_say_so(self):
        host = self.probe()
        self.assertIsNone(host["numpy"])
        self.assertTrue(host["python"].startswith("3.8"))
        self.assertIn("numpy", " ".join(host["warnings"]))
        row = self.doctor()["numpy"]
        self.assertEqual(row["state"], "failed")
        self.assertIn("pip install numpy", row["advice"])

    def test_an_evaluation_says_so(self):
        self.venv("/opt/aws_neuronx_venv_x", nki="0.6.0")
        self.write("ref.py", "def get_inputs():\n    return []\n\n\ndef forward():\n    return 1\n")
        job = self.job("a", kind="kernel", kernel_text="def k(): pass\n", seeds=[0],
                       reference_path=self.path("ref.py"), settings={"tools": self.neuron_ls()})
        failure = self.finish(job)[-1]["failure"]
        self.assertEqual(failure["kind"], "environment")
        self.assertIn("numpy", failure["text"])


if __name__ == "__main__":
    unittest.main()
