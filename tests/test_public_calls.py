#!/usr/bin/env python3
"""tests/test_public_calls.py - every function that the public headers declare is called where memory runs out: by a
scenario of the tests that include tests/failing_memory.h. Prints "N of N public functions", and names those that lack."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("tools/mochi.h", "tensor/tensor.h", "autograd/autograd.h", "ops/ops.h", "models/head.h", "models/models.h", "train/train.h")


def without_comments(path):
    return re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)


def main():
    declared = set()
    for header in HEADERS:
        text = re.sub(r"__attribute__\(\(.*?\)\)\)", " ", without_comments(ROOT / header).replace('\n', ' '))
        declared |= {re.split(r"[ *]", m)[-1] for m in re.findall(r"\bMO_API ([^(;]*?)\(", text)}
    sources = [p for p in (ROOT / "tests").rglob("test_*.c") if '"tests/failing_memory.h"' in p.read_text()]
    text = "\n".join(without_comments(p) for p in sources)
    names = set(re.findall(r"\bmo_\w+", text)) | ({"mo_fail_at"} if "mo_fail(" in text else set())
    missing = sorted(declared - names)
    for name in missing:
        print(f"{name}: no scenario in which allocations fail calls it")
    print(f"{len(declared) - len(missing)} of {len(declared)} public functions, by {len(sources)} tests")
    return bool(missing) or len(declared) < 150 or not sources


if __name__ == "__main__":
    sys.exit(main())
