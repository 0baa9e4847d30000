#!/bin/sh
# A comment that names a source file or a page names one that exists: renames reach the comments, too.
set -eu
cd "$1"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 - <<'PYTHON'
import re
import subprocess
import sys

# Files of other programs; Python files are always theirs.
THEIRS = {"nccl.h", "setobject.c", "PERFORMANCE.md", "README_WEIGHTS.md"}
NAME = re.compile(r"(?<![\w./<>-])((?:[\w-]+/)*[\w-]+\.(?:c|h|cu|md|sh|def))(?![\w/(-])")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)

tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
known = set()
for path in tracked:
    parts = path.split("/")
    known.update("/".join(parts[i:]) for i in range(len(parts)))
wrong = 0
for path in tracked:
    if not re.search(r"\.(c|h|cu|inc|def|cpp)$", path):
        continue
    try:
        text = open(path, encoding="utf-8").read()
    except FileNotFoundError:  # deleted, not committed
        continue
    for comment in COMMENT.finditer(text):
        for name in NAME.finditer(comment.group()):
            if name.group(1) in known or name.group(1).rsplit("/", 1)[-1] in THEIRS:
                continue
            line = text.count("\n", 0, comment.start() + name.start()) + 1
            print(f"{path}:{line}: its comment names {name.group(1)}, which is not in the tree")
            wrong += 1
sys.exit(wrong > 0)
PYTHON
