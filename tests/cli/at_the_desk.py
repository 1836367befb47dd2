# SPDX-License-Identifier: Apache-2.0
"""An agent's program as a model: it is asked in a folder with files and hone mcp, evaluates the
kernel that it is going to answer with, and answers. What it saw goes to the file it is given."""
import json
import os
import sys

from agent import Agent


def main():
    prompt = sys.stdin.read()
    with open(".mcp.json", encoding="utf-8") as file:
        server = json.load(file)["mcpServers"]["hone"]
    with open("kernel.py", encoding="utf-8") as file:
        kernel = file.read()
    agent = Agent([server["command"], *server["args"]], dict(os.environ))
    found = agent.tool("evaluate", kernel=kernel.replace("TILE_N = 64", "TILE_N = 512"))
    with open(sys.argv[1], "a", encoding="utf-8") as file:
        json.dump({"files": sorted(os.listdir(".")), "profile": json.load(open("profile.json")),
                   "docs": open("docs.md", encoding="utf-8").read(),
                   "prompt": prompt,
                   "found": found, "status": agent.tool("status")}, file)
        file.write("\n")
    agent.close()
    if "You tune kernels" in prompt:
        print(f"title: Wider tiles\nwhat: TILE_N is 512: {found['latency_us']:.2f} us")
    else:
        print("<<<<<<< SEARCH\nTILE_N = 64\n=======\nTILE_N = 512\n>>>>>>> REPLACE")


main()
