# SPDX-License-Identifier: Apache-2.0
"""A model of ours that reads its prompt and takes the best of what it is told, so that what prompts
tell has a gain without a service: prompts.py --reader runs it.

It can carry out four kinds of advice: an instruction on another engine (the timed changes of the
causes), sizes of named constants, an operand that several rounds load kept in SBUF, and a load that
no round of its loop changes in front of it (strategies). What was timed counts as it was timed, the
others by what the profile says of transfers, and by half where no strategy that is shown is about
them. It never proposes what was tried before, and gives up with its reason when nothing is left.
What it reads is the prompt alone."""

import ast
import re
import sys

SIZES = {"tile", "wide", "full_tiles", "merge", "block", "block_matmul", "partitions"}
LOADS = {"hoist", "resident", "recompute", "traffic", "share", "on_chip"}
GUESS = 0.10     # of sizes, where nothing was timed


def part(prompt, name):
    """The text of a part of the prompt."""
    found = re.search(r"^# " + re.escape(name) + r"\n(.*?)(?=^# |\Z)", prompt, re.M | re.S)
    return found.group(1) if found else ""


def kernel_of(prompt):
    """The source without line numbers, from the part that is shown last."""
    shown = prompt[prompt.rindex("ith line numbers"):]
    return "\n".join(re.findall(r"^ *\d+(?:  (.*)|)$", shown, re.M)) + "\n"


def replaced(source, first, last, lines):
    """Lines first to last (from 1) become others, as a block whose first part occurs once."""
    old, above = source.splitlines(), first
    while above > 1 and source.count("\n".join(old[above - 1:last])) > 1:
        above -= 1
    same = old[above - 1:first - 1]
    return "\n".join(["<<<<<<< SEARCH", *old[above - 1:last], "=======", *same, *lines,
                      ">>>>>>> REPLACE", ""])


# ---- engines -----------------------------------------------------------------------------------


def call_at(source, line, op):
    """The call nisa.OP that the line belongs to."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
                node.func.attr == op and node.lineno <= line <= node.end_lineno:
            return node
    return None


def engines(prompt, source):
    """Timed changes: "line 26 tensor_scalar on Scalar instead of Vector: 57.15 us (-9.9)"."""
    pattern = r"line (\d+) (\w+) on (\w+) instead of \w+: ([0-9.]+) us \(-([0-9.]+)\)"
    for line, op, engine, after, less in re.findall(pattern, part(prompt, "causes")):
        call = call_at(source, int(line), op)
        if not call or any(word.arg == "engine" for word in call.keywords):
            continue
        lines = source.splitlines()[call.lineno - 1:call.end_lineno]
        end = call.end_col_offset
        lines[-1] = lines[-1][:end - 1] + f", engine=nisa.engine.{engine.lower()})" + \
            lines[-1][end:]
        yield (float(less) / (float(less) + float(after)), f"{op} of line {line} on {engine}",
               "engine", replaced(source, call.lineno, call.end_lineno, lines))


# ---- sizes -------------------------------------------------------------------------------------


def is_of_partitions(source, name):
    """Whether tiles have so many partitions: of those there are 128 at most."""
    return re.search(r"ndarray\(\s*\(" + name + r"\b", source) or \
        re.search(r"arange\(" + name + r"\)\[:, None\]", source) or name in ("TILE_M", "TILE_K")


def sizes(source):
    """Named constants of the kernel: each larger, and smaller where it cannot be larger."""
    for name, value in re.findall(r"^ *([A-Z][A-Z_]*[A-Z]) = (\d+)\b", source, re.M):
        most = 128 if is_of_partitions(source, name) else 8 * int(value)
        values = [times * int(value) for times in (2, 4, 8) if times * int(value) <= most]
        if values:
            listed = ", ".join(str(one) for one in values)
            yield (GUESS, f"other sizes of {name}", "tile", f"sweep: {name} in {listed}\n")


# ---- loads -------------------------------------------------------------------------------------


def names(node, context):
    return {one.id for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, context)}


def is_load(statement):
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and \
        ast.unparse(statement.value.func).endswith("nl.load")


def loads(source):
    """Loads of the older dialect that no round of their loop changes, in front of it."""
    for loop in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For)):
        made = names(loop.target, ast.Store)
        for other in loop.body:
            made |= names(other, ast.Store)
        for load in filter(is_load, loop.body):
            target = names(load, ast.Store)
            if names(load.value, ast.Load) & made:
                continue
            lines = source.splitlines()
            moved = [line[load.col_offset - loop.col_offset:]
                     for line in lines[load.lineno - 1:load.end_lineno]]
            after = moved + lines[loop.lineno - 1:load.lineno - 1]
            yield (0.05, f"load of {'/'.join(sorted(target))} before its loop", "hoist",
                   replaced(source, loop.lineno, load.end_lineno, after))


# ---- operands that stay ------------------------------------------------------------------------


def loops_of(tree, statement):
    """The loops around a statement, the outermost first."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.For) and
            any(inner is statement for inner in ast.walk(node))]


def is_copied(tile, copy):
    """Whether they are "tile = nl.ndarray((P, F), ..)" and "nisa.dma_copy(dst=tile, src=..)"."""
    if not (isinstance(tile, ast.Assign) and isinstance(tile.value, ast.Call) and
            ast.unparse(tile.value.func) == "nl.ndarray" and isinstance(copy, ast.Expr) and
            isinstance(copy.value, ast.Call) and ast.unparse(copy.value.func) == "nisa.dma_copy"):
        return False
    words = {word.arg: ast.unparse(word.value) for word in copy.value.keywords}
    shape = tile.value.args[0] if tile.value.args else None
    return words.get("dst") == ast.unparse(tile.targets[0]) and "src" in words and \
        isinstance(shape, ast.Tuple) and len(shape.elts) == 2


def kept(source, tree, tile, copy):
    """The change that loads all of an operand once, before the first loop that it does not need;
    None: it needs them all, or something that is made in them."""
    loops = loops_of(tree, copy)
    read = names(next(word.value for word in copy.value.keywords if word.arg == "src"), ast.Load)
    idle = next((i for i, loop in enumerate(loops)
                 if not names(loop.target, ast.Store) & read), None)
    if idle is None or not all(isinstance(loop.target, ast.Name) for loop in loops):
        return None
    inner = [loop for loop in loops[idle + 1:] if loop.target.id in read]
    made = {name for node in loops[idle].body for name in names(node, ast.Store)}
    if not inner or read & made - {loop.target.id for loop in inner}:
        return None
    name = tile.targets[0].id
    rows, columns = (ast.unparse(side) for side in tile.value.args[0].elts)
    more = ", ".join(ast.unparse(word) for word in tile.value.keywords)
    counts = [ast.unparse(loop.iter.args[-1]) for loop in inner]
    at = inner[0].target.id
    for loop, count in zip(inner[1:], counts[1:]):
        at = f"({at}) * ({count}) + {loop.target.id}"
    place = f"all_{name}[0:{rows}, ({at}) * {columns}:(({at}) + 1) * {columns}]"
    lines, blanks = source.splitlines(), " " * loops[idle].col_offset
    before = [f"{blanks}all_{name} = nl.ndarray(({rows}, {' * '.join(f'({c})' for c in counts)} * "
              f"{columns}), {more})"]
    for depth, loop in enumerate(inner):
        before.append(f"{blanks}{'    ' * depth}for {loop.target.id} in {ast.unparse(loop.iter)}:")
    src = ast.unparse(next(word.value for word in copy.value.keywords if word.arg == "src"))
    before.append(f"{blanks}{'    ' * len(inner)}nisa.dma_copy(dst={place}, src={src})")
    after = before + lines[loops[idle].lineno - 1:tile.lineno - 1] + \
        [f"{' ' * tile.col_offset}{name} = {place}"]
    return replaced(source, loops[idle].lineno, copy.end_lineno, after)


def stays(prompt, source):
    """Operands that rounds of a loop load again, of the current dialect."""
    tree = ast.parse(source)
    bound = re.search(r"^DMA: busy [^;]*; if it took no time, the latency would be ([0-9.]+) (\S+)",
                      part(prompt, "profile"), re.M)
    whole = re.search(r"^latency: ([0-9.]+) (\S+)", part(prompt, "profile"), re.M)
    gain = 0.05
    if bound and whole:
        scale = 1000 if whole.group(2).startswith("ms") else 1
        less = float(bound.group(1)) * (1000 if bound.group(2).startswith("ms") else 1)
        gain = max(0.02, 0.7 * (1 - less / (float(whole.group(1)) * scale)))
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For)):
        for tile, copy in zip(loop.body, loop.body[1:]):
            change = kept(source, tree, tile, copy) if is_copied(tile, copy) else None
            if change:
                yield gain, f"{tile.targets[0].id} stays in SBUF", "resident", change


# ---- answers -----------------------------------------------------------------------------------


def ideas(prompt):
    """What the prompt makes worth a try: predicted gain, title, strategy, change; best first."""
    source = kernel_of(prompt)
    shown = set(re.findall(r"^- (\w+):", part(prompt, "strategies"), re.M))
    found = list(engines(prompt, source))
    for some, about in ((sizes(source), SIZES), (stays(prompt, source), LOADS),
                        (loads(source), LOADS)):
        found += [(gain if shown & about else gain / 2, *rest) for gain, *rest in some]
    return sorted(found, key=lambda idea: -idea[0])


def is_done(idea, done):
    """Attempts of a sweep have titles of their own: "TILE_N = 512"."""
    swept = re.match(r"sweep: (\w+) in", idea[3])
    return f'"{idea[1]}"' in done or (swept and f'"{swept.group(1)} = ' in done)


def plan(prompt):
    done = part(prompt, "tried before") + part(prompt, "not carried out") + \
        part(prompt, "rejections") + part(prompt, "closed directions")
    left = [idea for idea in ideas(prompt) if not is_done(idea, done)]
    if not left:
        return "give up: nothing that I was told is left that I can carry out\n"
    out = []
    for gain, title, strategy, change in left[:3]:
        sweep = change.startswith("sweep:")
        text = (f"title: {title}\nwhat: {title}\nwhy: {gain:.0%} by what the prompt says\n"
                f"strategy: {strategy}\nmetric: latency\ndirection: down\nsize: {gain:.0%}\n"
                f"latency: -{gain:.0%}\n")
        once = "and carry it out" in " ".join(prompt.split())
        out.append(text + (change if sweep or (once and not out) else ""))
    return "---\n".join(out)


def rewrite(prompt):
    told = part(prompt, "plan")
    for _, title, _, change in ideas(prompt):
        if title in told:
            return change
    return "give up: I do not know how to carry that out\n"


def fix(_):
    return "give up: I change sizes, engines and places of loads, and cannot mend them\n"


def summarise(prompt):
    title = re.search(r"^title: (.*)|\"(.*?)\"", part(prompt, "plan"), re.M)
    return f"title: {title.group(1) or title.group(2) if title else 'a change'}\n" \
           "summary: It was faster than what it began with.\n"


def reflect(_):
    return "lesson: what was predicted is compared with what was measured\ndiagnosis: mixed\n"


ROLES = {"You tune kernels": plan, "You rewrite kernels": rewrite, "You repair kernels": fix,
         "You keep the memory": summarise, "You review one round": reflect}


def main():
    prompt = sys.stdin.read()
    sys.stdout.write(next(role for words, role in ROLES.items() if words in prompt)(prompt))


if __name__ == "__main__":
    main()
