# SPDX-License-Identifier: Apache-2.0
"""A language model by script: reads a prompt, prints the next answer of its script.

usage: scripted.py SCRIPT STATE; answers stand in SCRIPT between lines "=== ROLE"; which one is next
of each role is kept in STATE. Roles are told from what the prompt says. The prompt stays in
STATE.ROLE and, numbered through, in STATE.NN.ROLE. As many questions as STATE.out says are not
answered."""

import sys

from out_of_order import answer_or_exit

ROLES = {"You tune kernels": "planner", "You rewrite kernels": "rewriter",
         "You repair kernels": "fixer",
         "You keep the memory": "summariser", "You review one round": "reflector"}


def main():
    script, state = sys.argv[1:3]
    prompt = sys.stdin.read()
    answer_or_exit(state + ".out")
    role = next(name for words, name in ROLES.items() if words in prompt)
    answers, current = {}, None
    with open(script, encoding="utf-8") as file:
        for line in file:
            if line.startswith("=== "):
                current = answers.setdefault(line[4:].strip(), [])
                current.append("")
            else:
                current[-1] += line
    try:
        with open(state, encoding="utf-8") as file:
            used = file.read().split()
    except FileNotFoundError:
        used = []
    with open(state, "a", encoding="utf-8") as file:
        file.write(role + "\n")
    for name in (role, f"{len(used) + 1:02d}.{role}"):
        with open(f"{state}.{name}", "w", encoding="utf-8") as file:
            file.write(prompt)
    mine = answers[role]
    sys.stdout.write(mine[min(used.count(role), len(mine) - 1)])


main()
