#!/usr/bin/env python3
"""tests/ops/test_adjoints.py - checks that the table of adjoints in ops/ADJOINTS.md names every op, and that its links
lead to the code."""
import pathlib
import re
import sys

ops = pathlib.Path(__file__).resolve().parent.parent.parent / "ops"
link = re.compile(r"\[(\w+)\]\(([\w/]+\.c)\)")
text = (ops / "ADJOINTS.md").read_text()
failures = []
for function, file in link.findall(text):
    code = (ops / file).read_text() if (ops / file).exists() else ""
    if f"\nstatic void {function}(mo_vjp " not in code:
        failures.append(f"ops/ADJOINTS.md: {file} has no vjp of the name {function}")
table = text[text.index("| op | differential"):]
table = table[:table.index("\n\n")]
names = [name for file in sorted(ops.rglob("*.c")) for name in re.findall(r'^    \.name = "(\w+)"', file.read_text(), re.M)]
failures += [f"ops/ADJOINTS.md: the table of adjoints lacks {name}" for name in names if f"`{name}`" not in table]
if not link.search(table):
    failures.append("ops/ADJOINTS.md: the table of adjoints has no links")
print("\n".join(failures) or f"{len(link.findall(table))} links, {len(names)} ops")
sys.exit(bool(failures))
