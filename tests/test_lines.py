#!/usr/bin/env python3
"""tests/test_lines.py - tools/lines.h names the caller's line for every public function whose first argument is a tape.

Usage: tests/test_lines.py [--update]     --update: writes tools/lines.h anew
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("autograd/autograd.h", "ops/ops.h", "models/head.h", "models/models.h", "train/train.h")
# It takes the line itself.
SKIPPED = {"mo_tape_at"}
HEADING = """/* tools/lines.h - from here on, every call that takes a tape tells it the caller's file and line (mo_tape_at):
 * errors, and the tensors that they name, say where in your program they come from. Installed as mochi/lines.h; include
 * it after the library's other headers. Written by tests/test_lines.py --update. */
#ifndef MOCHI_LINES_H
#define MOCHI_LINES_H
/* clang-format off */

"""


def functions():
    """(name, whether it has arguments after the tape), in the order of the headers."""
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", " ", (ROOT / header).read_text(), flags=re.S)
        for name, rest in re.findall(r"MO_API [^;(]*?\b(mo_\w+)\(\s*mo_tape \*t\b(,?)", text):
            if name not in SKIPPED:
                yield name, bool(rest)


def main():
    found = list(functions())
    lines = [f"#define {n}(t, ...) {n}(MO_HERE(t), __VA_ARGS__)" if rest else f"#define {n}(t) {n}(MO_HERE(t))" for n, rest in found]
    text = HEADING + "\n".join(lines) + "\n\n#endif\n"
    path = ROOT / "tools/lines.h"
    if "--update" in sys.argv:
        path.write_text(text)
    fresh = path.exists() and path.read_text() == text
    print(f"{len(found)} functions" if fresh else "tools/lines.h differs from the headers: tests/test_lines.py --update")
    return 0 if fresh and len(found) > 100 else 1


sys.exit(main())
