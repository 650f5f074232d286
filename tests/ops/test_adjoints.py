#!/usr/bin/env python3
"""tests/ops/test_adjoints.py - the table of adjoints in ops/README.md names every op, and its links lead to the code.

Usage: tests/ops/test_adjoints.py [--update]     --update: writes the line numbers anew
"""
import pathlib
import re
import sys

ops = pathlib.Path(__file__).resolve().parent.parent.parent / "ops"
page = ops / "README.md"
link = re.compile(r"\[`([\w/]+\.c)` (\w+)\]\([\w/]+\.c#L(\d+)\)")
failures = []


def line_of(file, function):
    lines = (ops / file).read_text().splitlines() if (ops / file).exists() else []
    found = [i for i, line in enumerate(lines, 1) if line.startswith(f"static void {function}(mo_vjp ")]
    if not found:
        failures.append(f"ops/{file} has no vjp of the name {function}")
    return found[0] if found else 0


text = page.read_text()
fresh = link.sub(lambda m: f"[`{m[1]}` {m[2]}]({m[1]}#L{line_of(m[1], m[2])})", text)
if "--update" in sys.argv:
    page.write_text(fresh)
    text = fresh
stale = [m[0] for m, n in zip(link.finditer(text), link.finditer(fresh)) if m[0] != n[0]]
failures += [f"{m} leads to another line: tests/ops/test_adjoints.py --update" for m in stale]
table = text[text.index("| op | differential"):]
table = table[:table.index("\n\n")]
names = [name for file in sorted(ops.rglob("*.c")) for name in re.findall(r'^    \.name = "(\w+)"', file.read_text(), re.M)]
failures += [f"ops/README.md: the table of adjoints lacks {name}" for name in names if f"`{name}`" not in table]
if not link.search(table):
    failures.append("ops/README.md: the table of adjoints has no links")
print("\n".join(failures) or f"{len(link.findall(table))} links, {len(names)} ops")
sys.exit(bool(failures))
