#!/usr/bin/env python3
"""tests/table.py - counts the results of `meson test`, and prints what each test ran.

Usage: tests/table.py [--table] LOG.json...      the testlog.json files of one or more runs

--table: a line per test with its time, its processor time if tests/processor_time ran it, and what it ran: the number of
its test functions, and the last line of figures that it printed. A test that passed but says nothing of what it ran counts
as failed, as it may have run nothing. One that passed but skipped a part counts as run in part. The last lines say why
tests, or their parts, were skipped, and count all: N passed, N failed, N skipped, N in part.
"""
import json
import math
import re
import sys

PASSED = ("OK", "EXPECTEDFAIL")
# The lines that cmocka and scripts print around a test's own lines.
FRAME = re.compile(r"^\s*(\[[ =]|\d+ (FAILED|PASSED|SKIPPED) TEST|$)|\.sh: line \d+: ")
# Why a test, or a part of it, was skipped: a program's, a claim's of a script, pytest's. cmocka's own line gives no reason.
SKIPPED = re.compile(r"^(?:\w+: )?skipped: (.+)|^\[  SKIPPED \] .+: (.+)|^(SKIPPED \[\d+\] .+)|^\[  SKIPPED \] (\w+)$", re.M)
# The last line of tests/processor_time.
PROCESSOR = re.compile(r"^processor: ([\d.]+) s$", re.M)


def words(result):
    """Returns the lines that the test itself printed."""
    text = PROCESSOR.sub("", result.get("stdout", "") + "\n" + result.get("stderr", ""))
    return [line.strip() for line in text.splitlines() if not FRAME.match(line) and not re.search(r"\.sh: line \d+: ", line)]


def functions(result):
    """Counts the test functions, or claims of a script, that passed."""
    text = result.get("stdout", "") + "\n" + result.get("stderr", "")
    return len(re.findall(r"^\[ +OK +\]", text, re.M))


def ran(result):
    """How much a test ran, as text; empty if it says nothing."""
    figures = [line for line in words(result) if re.search(r"[1-9]", line)]
    count = functions(result)
    parts = [f"{count} checks"] if count else []
    return "; ".join(parts + [line[:100] for line in figures[-1:]])


def skips(result):
    """Returns why the test, or parts of it, were skipped; each reason once."""
    found = SKIPPED.findall(result.get("stdout", "") + "\n" + result.get("stderr", ""))
    reasons = [claim or pytest or own for own, claim, pytest, _ in found if claim or pytest or own]
    return list(dict.fromkeys(reasons)) or ["no reason given"] * bool(found)


def processor(result):
    """The processor time of a test in seconds; NaN if it was not measured."""
    found = PROCESSOR.findall(result.get("stderr", ""))
    return float(found[-1]) if found else math.nan


def main(arguments):
    table = arguments[:1] == ["--table"]
    results = [json.loads(line) for path in arguments[table:] for line in open(path)]
    silent = [r["name"] for r in results if r["result"] in PASSED and not ran(r)]
    if table:
        for r in sorted(results, key=lambda r: r["name"]):
            name = r["name"].split(":", 1)[-1].replace(" / ", " ")
            took = f"{r['duration']:8.1f} s {processor(r):8.1f} s"
            print(f"{name:<42} {r['result'].lower():<8} {took}  {ran(r) if r['result'] != 'SKIP' else ''}".rstrip())
        measured = [processor(r) for r in results if not math.isnan(processor(r))]
        print(f"{len(results)} tests, {sum(map(functions, results))} checks, {sum(r['duration'] for r in results) / 60:.0f} minutes of tests, "
              f"{sum(measured) / 60:.0f} minutes of processor time in {len(measured)} of them")
    for name in silent:
        print(f"{name}: passed without a word about what it ran: it may have run nothing")
    skipped = [r for r in results if r["result"] == "SKIP"]
    in_part = [r for r in results if r["result"] in PASSED and r["name"] not in silent and skips(r)]
    for what, some in (("skipped", skipped), ("run in part", in_part)):
        for r in some:
            print(f"{r['name'].split(' / ')[-1]}: {what}: " + "; ".join(reason[:120] for reason in skips(r) or ["no reason given"]))
    passed = sum(r["result"] in PASSED for r in results) - len(silent) - len(in_part)
    failed = len(results) - passed - len(skipped) - len(in_part)
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped, {len(in_part)} in part")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
