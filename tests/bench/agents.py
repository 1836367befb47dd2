#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four agents hand in 500 kernels at once; how long cheap tools take, `check` of a long kernel, the
same while another agent evaluates many kernels, and whether an idle server takes processor time.
agents.py HONE [SUBMISSIONS]"""
import os
import pathlib
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "cli"), str(HERE / "tune")]
from agent import Agent  # noqa: E402
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv[1])
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 500
CLIENTS = 4
CHEAP = ("status", "history", "notes", "experiences", "bound", "memory", "menu", "profile")


def kernel(number):
    """Every fourth is right, the others are wrong in their own way."""
    if number % 4:
        return KERNEL.replace("nl.add(a, b)", f"nl.add(nl.add(a, b), {number}.5)")
    pad = "".join(f"    unused_{i} = {number}\n" for i in range(2))
    return KERNEL.replace("    y = nl", pad + "    y = nl", 1)


def long_kernel():
    """500 lines that do something, with their loops written out."""
    head, body = KERNEL.split("    for n in ")
    steps = body.split("    return y")[0].splitlines()[3:]
    lines = ["    i_row = nl.arange(128)[:, None]", "    i_col = nl.arange(TILE_N)[None, :]"]
    while len(lines) + head.count("\n") + len(steps) < 499:
        n = len(lines) // len(steps) % 16
        lines += [line[4:].replace("n * TILE_N", f"{n} * TILE_N") for line in steps]
    return head + "\n".join(lines) + "\n    return y\n"


def hand_in(agent, numbers, ended, refused):
    for number in numbers:
        done = agent.tool("submit", title=f"kernel {number}", kernel=kernel(number), wait_s=600)
        (ended if isinstance(done, dict) and done.get("state") == "ended" else refused).append(done)


def milliseconds(agent, name, times=100, **arguments):
    """Of that many calls the half, nine of ten, 99 of 100 and all took at most so long."""
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        agent.tool(name, **arguments)
        took.append((time.perf_counter() - begin) * 1e3)
    took.sort()
    return "  ".join(f"{what} {took[min(len(took) * of // 100, len(took) - 1)]:.2f}"
                     for what, of in (("p50", 50), ("p90", 90), ("p99", 99), ("most", 100))) + " ms"


def cheap_tools(agent, when):
    long = long_kernel()
    lines = long.count("\n")
    print(f"{when}: check of {lines} lines: {milliseconds(agent, 'check', kernel=long)}")
    for name in CHEAP:
        print(f"{when}: {name}: {milliseconds(agent, name)}", flush=True)


def processor_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    with tempfile.TemporaryDirectory(prefix="hone_agents_") as folder:
        task = pathlib.Path(folder, "task")
        task.mkdir()
        (task / "kernel.py").write_text(KERNEL)
        (task / "reference.py").write_text(REFERENCE)
        env = dict(os.environ, **{f"XDG_{key}_HOME": str(pathlib.Path(folder, key))
                                  for key in ("CACHE", "STATE", "CONFIG")})
        command = [HONE, "mcp", str(task), "--gate", "auto", "--rounds", "100000"]
        agents = [Agent(command, env, name="agent0")]
        agents[0].tool("profile")
        agents += [Agent(command, env, name=f"agent{i}") for i in range(1, CLIENTS)]
        joined = agents[1]
        cheap_tools(joined, "over the socket")
        for number in range(8):
            agents[2].begin("tools/call", name="evaluate",
                            arguments={"kernels": [kernel(8 * number + i) for i in range(8)]})
        cheap_tools(joined, "while 64 kernels are evaluated")
        agents[2].process.kill()
        agents[2].process.wait()
        agents[2] = Agent(command, env, name="agent2")
        before = processor_s(agents[0].process.pid)
        time.sleep(5)
        print(f"idle for 5 s: {processor_s(agents[0].process.pid) - before:.2f} s of processor")
        ended, refused = [], []
        begin = time.perf_counter()
        threads = [threading.Thread(target=hand_in, args=(agent, range(i, COUNT, CLIENTS), ended,
                                                          refused))
                   for i, agent in enumerate(agents)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - begin
        states = {}
        for done in ended:
            states[done["status"]] = states.get(done["status"], 0) + 1
        print(f"{COUNT} submissions of {CLIENTS} clients: {took:.1f} s, ended {len(ended)}, "
              f"{states}, else {len(refused)} {refused[:1]}")
        print(f"then: status {milliseconds(joined, 'status')}")
        for agent in reversed(agents):
            agent.close()
        return len(ended) != COUNT


if __name__ == "__main__":
    sys.exit(main())
