"""The table of ops/ADJOINTS.md, for the module mochi.ops, for the page mochi.html and for tests/lint.py.

Usage: adjoints.py ADJOINTS.md OUT.json      {op: {name, differential, adjoint, file}}
"""

import json
import pathlib
import re
import sys


def rows(page):
    """(ops, title, differential, adjoint, file) of each row "| `op`, .. formula | differential | adjoint | [rule](file) |"."""
    for line in page.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[0].startswith("`"):
            yield re.findall(r"`(\w+)`", cells[0]), *cells[:3], re.search(r"\]\((\S+)\)", cells[3])[1]


if __name__ == "__main__":
    found = {}
    for ops, title, differential, adjoint, file in rows(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")):
        for op in ops:
            found.setdefault(op, {"name": title.replace("`", ""), "differential": differential, "adjoint": adjoint, "file": file})
    pathlib.Path(sys.argv[2]).write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
