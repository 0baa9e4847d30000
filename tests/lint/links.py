"""Which object file calls which: links.py BUILD, in the root of the sources.

The object files of the layers that tests/lint/layers.txt lists are read with nm. An undefined
symbol is a call of (or a reference to) the object file that defines it. Three rules hold:
- A call goes to the own folder or to one above it in layers.txt.
- No object files call each other in a circle (strongly connected components, by Tarjan 1972).
- From START, the plan command, to the result no folder is left and then entered again.
Objects whose source is gone are leftovers of an older build and are not looked at.
"""
import collections
import os
import subprocess
import sys

FOLDERS = "tests/lint/layers.txt"
START = "tools/ppsim/cmd_plan.c"


def listed(path):
    """The lines of a file that are neither empty nor comments."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def object_files(build, layers):
    """Yields (target, source, path) of every object file of a source that is there."""
    for layer in layers:
        top = os.path.join(build, layer, "CMakeFiles")
        for folder, _, names in sorted(os.walk(top)):
            target, _, inner = os.path.relpath(folder, top).partition(".dir")
            for name in sorted(names):
                source = os.path.normpath(os.path.join(layer, inner.strip("/"), name[:-2]))
                if name.endswith(".o") and os.path.exists(source):
                    yield target, source, os.path.join(folder, name)


def read_calls(build, layers):
    """Source -> source called -> symbols. A module may define a name that others define, too, so
    what the own target defines comes first."""
    files = {path: (target, source) for target, source, path in object_files(build, layers)}
    if not files:
        return {}
    calls = {source: collections.defaultdict(set) for _, source in files.values()}
    defined = collections.defaultdict(dict)  # symbol -> target -> source
    wanted = []  # (target, source, symbol)
    symbols = subprocess.run(["nm", "-gA", *files], check=True, capture_output=True, text=True)
    for line in symbols.stdout.splitlines():
        path, _, rest = line.rpartition(":")
        *_, kind, symbol = rest.split()
        target, source = files[path]
        if kind == "U":
            wanted.append((target, source, symbol))
        elif kind not in "wv":
            defined[symbol][target] = source
    for target, source, symbol in wanted:
        where = defined[symbol]
        main = [other for other in where if not other.endswith("_module")]
        callee = where.get(target) or (where[main[0]] if main else None)
        if callee and callee != source:
            calls[source][callee].add(symbol)
    return calls


def circles(calls):
    """The strongly connected components of more than one file."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for callee in calls[node]:
            if callee not in index:
                visit(callee)
            if callee in stack:
                low[node] = min(low[node], low[callee])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(calls):
        if node not in index:
            visit(node)
    return found


def way(calls, begin, end):
    """The shortest way of one call or more from a file of begin to one of end, or None."""
    before = {}
    queue = collections.deque(sorted(begin))
    while queue:
        node = queue.popleft()
        for callee in sorted(calls[node]):
            if callee in end:
                path = [node, callee]
                while path[0] in before:
                    path.insert(0, before[path[0]])
                return path
            if callee not in before and callee not in begin:
                before[callee] = node
                queue.append(callee)
    return None


def steps(calls, path):
    """Says a way, with the symbols that make it."""
    calling = [(a, ", ".join(sorted(calls[a][b])), b) for a, b in zip(path, path[1:])]
    return "".join(f"\n    {a} calls {symbols} of {b}" for a, symbols, b in calling)


def upward_calls(calls, folders):
    """Per pair of folders whose order is wrong, the first call that goes up."""
    height = {folder: at for at, folder in enumerate(folders)}
    found = {}
    for source in sorted(calls):
        upper = os.path.dirname(source)
        for callee in sorted(calls[source]):
            lower = os.path.dirname(callee)
            if height.get(lower, len(height)) > height.get(upper, -1):
                call = steps(calls, [source, callee])
                found.setdefault((upper, lower), f"{upper} calls up:" + call)
    return list(found.values())


def entered_again(calls):
    """The library's folders that are left and entered again on the way from START, each with a way."""
    reached, todo = set(), [START]
    while todo:
        node = todo.pop()
        if node not in reached:
            reached.add(node)
            todo += calls[node]
    library = {source for source in reached if not source.startswith("tools/")}
    for folder in sorted({os.path.dirname(source) for source in library}):
        inside = {source for source in reached if os.path.dirname(source) == folder}
        outside = {c: s for s in sorted(inside, reverse=True) for c in calls[s] if c not in inside}
        path = way(calls, outside.keys(), inside)
        if path:
            path.insert(0, outside[path[0]])
            yield f"{folder} is left and entered again:" + steps(calls, path)


def main(build):
    folders = listed(FOLDERS)
    layers = list(dict.fromkeys(folder.split("/")[0] for folder in folders))
    calls = read_calls(build, layers)
    if not calls:
        print("skipped: no object files in this build")
        return 77
    wrong = upward_calls(calls, folders)
    for circle in circles(calls):
        path = way(calls, {circle[0]}, {circle[0]})
        wrong.append(f"{len(circle)} object files call each other in a circle:" + steps(calls, path))
    if START in calls:
        wrong += entered_again(calls)
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
