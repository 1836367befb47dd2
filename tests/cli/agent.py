# SPDX-License-Identifier: Apache-2.0
"""An agent by script: a client of the Model Context Protocol over a program's standard streams."""
import json
import subprocess

REQUEST = "2026-07-28"  # each request says its revision
META = "io.modelcontextprotocol/"


TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
         "object": dict}


def fits(value, schema):
    """Whether a value is as its schema says, by the words that hone's schemas have."""
    assert set(schema) <= {"type", "description", "items", "properties", "required"}, schema
    kind = schema["type"]
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if kind == "array":
        return all(fits(item, schema["items"]) for item in value if "items" in schema)
    if kind == "object":
        return set(schema.get("required", ())) <= set(value) and all(
            fits(value[key], at) for key, at in schema.get("properties", {}).items()
            if key in value)
    return True


class Agent:
    schemas = {}  # of answers, by tool: the program's, the same for all

    def __init__(self, command, env, revision=REQUEST, name="scripted", cwd=None):
        self.process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.number, self.notes = 0, []
        self.revision, self.name = revision, name
        if revision != REQUEST:
            self.first = self.ask("initialize", protocolVersion=revision, capabilities={},
                                  clientInfo={"name": name, "version": "1"})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def line(self, data):
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def send(self, message):
        self.line(json.dumps(message).encode())

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        return json.loads(line)

    def begin(self, method, token=None, **params):
        """Sends a request; its id."""
        self.number += 1
        meta = {}
        if self.revision == REQUEST:
            meta = {META + "protocolVersion": REQUEST, META + "clientCapabilities": {},
                    META + "clientInfo": {"name": self.name, "version": "1"}}
        if token is not None:
            meta["progressToken"] = token
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method,
                   "params": dict(params, _meta=meta) if meta else params})
        return self.number

    def end(self, number):
        while True:
            message = self.read()
            if message.get("id") == number:
                return message
            self.notes.append(message)

    def ask(self, method, token=None, **params):
        return self.end(self.begin(method, token, **params))

    def tool(self, name, token=None, **arguments):
        """What a tool answers: an object, or the text of an error."""
        result = self.ask("tools/call", token, name=name, arguments=arguments)["result"]
        text = result["content"][0]["text"]
        if result.get("isError"):
            return text
        assert json.loads(text) == result["structuredContent"]
        self.hold(name, result["structuredContent"])
        return result["structuredContent"]

    def hold(self, name, answer):
        """Holds an answer against the schema that the program gives of it."""
        if not Agent.schemas:
            for tool in self.ask("tools/list")["result"]["tools"]:
                Agent.schemas[tool["name"]] = tool["outputSchema"]
        assert fits(answer, Agent.schemas[name]), (name, answer)

    def close(self):
        """Ends the server as clients do; its exit status."""
        self.process.stdin.close()  # the end of the input is the end of the server
        status = self.process.wait(300)
        rest = self.process.stdout.read()
        self.process.stdout.close()
        said = self.process.stderr.read().decode()
        self.process.stderr.close()
        assert status <= 0 or not said, said
        for line in rest.splitlines():
            self.notes.append(json.loads(line))
        return status
