# SPDX-License-Identifier: Apache-2.0
"""The skills for coding agents: the commands that each names work, one after the other, installing
writes them where agents look, and an agent by script comes with them from an empty folder to a
faster kernel: skills.py HONE."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from agent import Agent  # noqa: E402

HONE = pathlib.Path(sys.argv.pop(1)).resolve()
SKILLS = sorted((pathlib.Path(__file__).resolve().parents[2] / "skills").iterdir())
KERNEL = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_row = nl.arange(128)[:, None]
    i_column = nl.arange(512)[None, :]
    nl.store(y[i_row, i_column], nl.exp(nl.load(x[i_row, i_column])))
    return y
"""
REFERENCE = """import numpy as np


def get_inputs():
    return [np.random.normal(size=(128, 512)).astype(np.float32)]


def forward(x):
    return np.exp(x)


def transform_to_nki_inputs(inputs):
    return inputs


def transform_nki_outputs(k_res, ref):
    return [np.reshape(k_res[0] if isinstance(k_res, (tuple, list)) else k_res, ref.shape)]
"""


# Vector has most to do, and Scalar could take the last sum.
PARABOLA = """import numpy as np


def get_inputs():
    return [np.random.normal(size=(2048, 2048)).astype(np.float32)]


def forward(x):
    y = 2 * x + 1
    return (y * x + x) * (x * x) + y
"""


def environment(folder):
    keep = {key: value for key, value in os.environ.items() if not key.startswith("HONE_")}
    bin_folder = pathlib.Path(folder, "bin")
    bin_folder.mkdir(exist_ok=True)
    if not (bin_folder / "hone").exists():
        (bin_folder / "hone").symlink_to(HONE)
    return {**keep, "HOME": str(folder), "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": f"{folder}/config", "XDG_CACHE_HOME": f"{folder}/cache"}


def commands(text):
    """The blocks of commands, as one script."""
    blocks = re.findall(r"^( *)```sh\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return "\n".join(re.sub(rf"^{indent}", "", block, flags=re.MULTILINE)
                     for indent, block in blocks)


def script_of(skill):
    return commands((skill / "SKILL.md").read_text())


def run_script(skill):
    """Runs the commands of a skill in a folder with a small task."""
    with tempfile.TemporaryDirectory() as folder:
        task = pathlib.Path(folder, "mytask")
        task.mkdir()
        (task / "reference.py").write_text(REFERENCE)
        if skill.name != "hone-write-kernel":
            (task / "kernel.py").write_text(KERNEL)
        return subprocess.run(["bash", "-e", "-c", script_of(skill)], cwd=folder, timeout=400,
                              env=environment(folder), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)


class Skills(unittest.TestCase):
    def hone(self, folder, *args):
        return subprocess.run([HONE, "skills", *args], cwd=folder, env=environment(folder),
                              capture_output=True, text=True, timeout=30)

    def test_heads_are_those_of_the_standard(self):
        self.assertEqual(len(SKILLS), 7)
        for skill in SKILLS:
            text = (skill / "SKILL.md").read_text()
            head = re.match(r"---\nname: (.+)\ndescription: (.+)\n(metadata:\n(  .+\n)+)?---\n\n# ",
                            text)
            self.assertTrue(head, skill)
            self.assertEqual(head.group(1), skill.name)
            self.assertRegex(skill.name, r"^[a-z0-9]+(-[a-z0-9]+)*$")
            self.assertLess(len(head.group(2)), 1024)
            self.assertNotIn(": ", head.group(2))  # it is YAML without quotes
            self.assertLess(len(text), 4000)

    def test_their_commands_work(self):
        for skill in SKILLS:
            self.assertGreaterEqual(script_of(skill).count("hone "), 3, skill)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for skill, done in zip(SKILLS, pool.map(run_script, SKILLS)):
                self.assertEqual(done.returncode, 0, f"{skill.name}\n{done.stdout[-2000:]}")

    def test_they_are_installed_where_agents_look(self):
        with tempfile.TemporaryDirectory() as folder:
            for agent, place in (("claude", ".claude/skills"), ("kiro", ".kiro/skills"),
                                 ("codex", ".agents/skills")):
                at = pathlib.Path(folder, place)
                done = self.hone(folder, "install", agent, "--dry-run")
                self.assertIn("would be written", done.stdout)
                self.assertFalse(at.exists())
                done = self.hone(folder, "install", agent)
                self.assertEqual(done.returncode, 0, done.stderr)
                for skill in SKILLS:
                    self.assertEqual((at / skill.name / "SKILL.md").read_text(),
                                     (skill / "SKILL.md").read_text())
            self.assertEqual(self.hone(folder, "install", "agents").stdout.count("unchanged"), 7)

    def test_what_a_person_wrote_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            self.hone(folder, "install", "claude", "--project")
            own = pathlib.Path(folder, ".claude/skills/hone-optimise/SKILL.md")
            own.write_text("mine\n")
            done = self.hone(folder, "install", "claude", "--project")
            self.assertEqual(done.returncode, 1)
            self.assertIn("left as it is", done.stdout)
            self.assertEqual(own.read_text(), "mine\n")
            done = self.hone(folder, "install", "claude", "--project", "--replace")
            self.assertEqual(done.returncode, 0)
            self.assertIn("name: hone-optimise", own.read_text())

    @staticmethod
    def moved(agent, kernel):
        """The kernel with the line on another engine that promises most, and what it promises."""
        best, lines = None, kernel.splitlines()
        for row in agent.tool("profile")["lines"]:
            for engine in ("vector", "scalar"):
                told = agent.tool("what_if", line=row["line"], to=engine)
                if isinstance(told, dict) and (not best or told["changes"][0]["times_as_fast"] >
                                               best[0]["times_as_fast"]):
                    best = told["changes"][0], row["line"], engine
        change, line, engine = best
        lines[line - 1] = lines[line - 1].rstrip(")") + f", engine=nisa.engine.{engine})"
        return "\n".join(lines) + "\n", change

    def test_an_agent_comes_from_an_empty_folder_to_a_faster_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.hone(folder, "install", "claude", "--project").returncode, 0)
            skill = pathlib.Path(folder, ".claude/skills/hone-write-kernel")
            task = pathlib.Path(folder, "mytask")
            task.mkdir()
            (task / "reference.py").write_text(PARABOLA)
            script = script_of(skill).replace("hone new mytask",
                                              "hone new mytask --choose add_9.balance=0", 1)
            done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, timeout=300,
                                  env=environment(folder), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            config = subprocess.run([HONE, "mcp", "mytask", "--print-config", "claude"],
                                    cwd=folder, env=environment(folder), capture_output=True)
            server = json.loads(config.stdout)["mcpServers"]["hone"]
            agent = Agent([server["command"], *server["args"], "--gate", "auto"],
                          environment(folder))
            kernel, change = self.moved(agent, (task / "kernel.py").read_text())
            self.assertIn("engine", str(agent.tool("docs", what="nisa.tensor_scalar")))
            self.assertEqual(agent.tool("check", kernel=kernel)["errors"], 0)
            kept = agent.tool("submit", title=f"move line {change['change']}", kernel=kernel,
                              wait_s=600)
            self.assertEqual(agent.close(), 0)
            self.assertEqual((kept["status"], kept["verdict"]["correct"]), ("keep", "yes"), kept)
            self.assertAlmostEqual(kept["latency_us"], change["latency_us"], places=1)
            self.assertGreater(kept["vs_parent"], 1.05)

    def test_list_show_and_mistakes(self):
        with tempfile.TemporaryDirectory() as folder:
            listed = self.hone(folder, "list").stdout
            for skill in SKILLS:
                self.assertIn(skill.name, listed)
            shown = self.hone(folder, "show", "hone-optimise").stdout
            self.assertIn("# Optimise a kernel", shown)
            for wrong in (["show"], ["show", "nothing"], ["install"], ["install", "nobody"],
                          ["remove"]):
                done = self.hone(folder, *wrong)
                self.assertEqual((done.returncode, done.stdout), (2, ""), wrong)
            blocked = pathlib.Path(folder, ".kiro")
            blocked.write_text("a file\n")
            self.assertEqual(self.hone(folder, "install", "kiro").returncode, 3)


unittest.main()
