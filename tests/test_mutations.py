#!/usr/bin/env python3
"""Whether the tests see a wrong program: mutations of the library and the program, drawn by seed over all rooms in turn, each built into
a copy of the tree and run against the tests that execute its line, the fastest first. Lists what survives; fails below 95%.

Usage: tests/test_mutations.py [COUNT] [--seed N] [--work FOLDER] [--minutes M] [--files PREFIX,..] [--without TEST,..]
       default: 300 mutations, seed: the last commit's hash; --without: what would survive if these tests were not there

The copy is built once with gcov's counters, and every test runs alone in it, which shows the lines that it executes (a quarter of an hour;
--work keeps copy, lines and verdicts for the next time, which goes on where this one ended). A mutation that does not
compile is drawn again; one that never ends counts as caught."""
import argparse
import collections
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("tensor", "autograd", "ops", "models", "train", "tools")
LEAST_SHARE = 0.95
OUT = ("long", "hours", "cuda-host")  # suites
LIMIT = 90  # seconds that the tests of a mutation may take

# (text to find, texts that can replace it).
SWAPS = {
    "comparison": ((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == ")),
    "arithmetic": ((" + ", " - "), (" - ", " + "), (" * ", " / "), (" / ", " * "), ("++", "--"), (" += ", " -= "), (" -= ", " += ")),
    "logic": ((" && ", " || "), (" || ", " && "), ("true", "false"), ("false", "true")),
    "rule": (("mo_add(", "mo_sub("), ("mo_sub(", "mo_add("), ("mo_tril(", "mo_triu("), ("mo_triu(", "mo_tril("), ("mo_sum(", "mo_mean("),
             ("MO_KEEP_AXES", "MO_DROP_AXES"), ("in[0]", "in[1]"), ("in[1]", "in[0]"), ("in_bar[0]", "in_bar[1]"), ("in_bar[1]", "in_bar[0]")),
}
DROPPED = ("mo_transpose", "mo_neg", "mo_square", "mo_sqrt", "fabs", "!")  # F(t, X) becomes X
NUMBER = re.compile(r"(?<![\w.\[])(\d+)(?![\w.])")
STATEMENT = re.compile(r"^ +(?!return|break|continue|goto|else|case|default|static|const|extern|typedef)[\w>.*\[\]()-]+(?: [-+*/|&]?= |\()[^{}]*;$|^ +free\(.*;$")
CONDITION = re.compile(r"\bif \((.*)\)(?: \{)?$")

Mutation = collections.namedtuple("Mutation", "room kind path line column length text")


# ---- places ----

def code_of(text):
    """Blanks comments, strings and preprocessor lines of a text; all other characters keep their places."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^#(?:[^\n]*\\\n)*[^\n]*',
                  lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)


def closing(text, opening):
    """The position of the parenthesis that closes the one at `opening`, or -1."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return -1


def places(line):
    """Yields (kind, column, length, replacement) for every mutation of a line of code."""
    for kind, swaps in SWAPS.items():
        for old, new in swaps:
            for m in re.finditer((r"(?<!\w)" if old[0].isalpha() else "") + re.escape(old), line):
                yield kind, m.start(), len(old), new
    for m in NUMBER.finditer(line):
        yield "constant", m.start(), len(m[1]), str(int(m[1]) + 1)
    for name in DROPPED:
        for m in re.finditer(r"(?<!\w)" + re.escape(name) + r"\(", line):
            end = closing(line, m.end() - 1)
            if end > 0:
                yield "call", m.start(), end + 1 - m.start(), "(" + line[m.end():end].split(", ", 1)[-1] + ")"
    m = CONDITION.search(line)
    if m and closing(line, m.start(1) - 1) == m.end(1):
        yield "condition", m.start(1), len(m[1]), f"!({m[1]})"
    if STATEMENT.match(line):
        yield "statement", len(line) - len(line.lstrip()), len(line.strip()), ";"


def mutations(executed):
    """Returns {room: mutations} for lines that a test executes, except mutations of messages: only tests of exact
    wording would catch those."""
    found = collections.defaultdict(list)
    for path, lines in executed.items():
        text = (ROOT / path).read_text()
        for number, line in enumerate(code_of(text).split("\n"), 1):
            if number in lines and not re.search(r"\b(?:mo_\w*fail\w*|snprintf|\w*printf|assert\w*)\(", line):
                whole = text.split("\n")[number - 1]
                found[path.split("/")[0]] += [Mutation(path.split("/")[0], kind, path, number, column, n, new if kind != "call" else
                                                       "(" + whole[column:column + n].split("(", 1)[1][:-1].split(", ", 1)[-1] + ")")
                                              for kind, column, n, new in places(line)]
    return found


def drawn(found, seed):
    """Yields mutations without repetition, from every room in turn, of a random kind."""
    r = random.Random(seed)
    left = {room: {kind: r.sample(some, len(some)) for kind in sorted({m.kind for m in all_of}) for some in [[m for m in all_of if m.kind == kind]]}
            for room, all_of in sorted(found.items())}
    while any(kinds for kinds in left.values()):
        for room in ROOMS:
            kinds = left.get(room)
            if kinds:
                kind = r.choice(sorted(kinds))
                yield kinds[kind].pop()
                if not kinds[kind]:
                    del kinds[kind]


# ---- the copy ----

def run(command, folder, seconds, **more):
    """Runs a command in its own process group, which is killed with it: a mutant's processes would otherwise disturb
    the next one."""
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, **more)
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            code = 124
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        out.seek(0)
        return subprocess.CompletedProcess(command, code, out.read())


def make_copy(folder):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    for name in listed:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    options = ("-Dbuildtype=plain", "-Doptimization=1", "-Db_coverage=true", "-Dtests=true", "-Dcuda=disabled", "-Dmpi=disabled")
    for command in (["meson", "setup", "build", *options], ["ninja", "-C", "build"]):
        done = run(command, folder, 7200)
        if done.returncode:
            sys.exit(f"{' '.join(command)}:\n{done.stdout[-3000:]}")


def tests_of(folder):
    """Returns {name: (command, environment, folder, ninja targets)} for the test programs and the .cases files."""
    listed = json.loads(subprocess.run(["meson", "introspect", "--tests", "build"], cwd=folder, capture_output=True, text=True, check=True).stdout)
    found, build = {}, str(folder / "build") + "/"
    for t in listed:
        own = t["cmd"][0].startswith(build) or t["cmd"][0].endswith("run_cases.py")
        if own and not {s.split(":")[-1] for s in t["suite"]} & set(OUT):
            target = t["cmd"][0].removeprefix(build) if t["cmd"][0].startswith(build) else "tools/mochi"
            found[t["name"]] = (t["cmd"], t["env"], t["workdir"] or folder / "build", target)
    return found


def run_test(test, seconds, **more):
    command, environment, place, _ = test
    return run(command, place, seconds, env={**os.environ, **environment, "OPENBLAS_NUM_THREADS": "1", **more}).returncode


def lines_executed(folder, counts):
    """Returns {path: executed lines} of one test, from the counts below the folder `counts`."""
    folders = collections.defaultdict(list)
    for p in counts.rglob("*.gcda"):
        if not str(p).split("/build/")[-1].startswith("tests/"):
            p.with_suffix(".gcno").symlink_to(pathlib.Path("/") / p.relative_to(counts).with_suffix(".gcno"))  # gcov expects the .gcno files beside the counts
            folders[p.parent].append(str(p))
    executed = collections.defaultdict(set)
    for data in folders.values():  # one folder at a time: names are unique only within a folder
        with tempfile.TemporaryDirectory() as place:
            run(["gcov", "--json-format", *data], place, 600)
            for out in pathlib.Path(place).glob("*.gcov.json.gz"):
                for f in json.loads(gzip.open(out).read())["files"]:
                    path = os.path.relpath(os.path.normpath(folder / "build" / f["file"]), folder)
                    if path.endswith(".c") and path.split("/")[0] in ROOMS:
                        executed[path] |= {line["line_number"] for line in f["lines"] if line["count"]}
    return {path: sorted(lines) for path, lines in executed.items()}


def make_map(folder, tests):
    """Returns {test: [seconds, {path: executed lines}]} for the tests that pass."""
    found = {}
    for name, test in tests.items():
        with tempfile.TemporaryDirectory() as counts:
            start = time.monotonic()
            if run_test(test, 600, GCOV_PREFIX=counts) == 0:
                found[name] = [time.monotonic() - start, lines_executed(folder, pathlib.Path(counts))]
    return found


# ---- one mutation ----

def restore(folder):
    """Undoes the mutation that is in the copy, if a run was killed in one."""
    left = folder / "mutated.json"
    if left.exists():
        path, text = json.loads(left.read_text())
        (folder / path).write_text(text)
        left.unlink()


def tried(folder, mutation, tests, reaching):
    """Returns the test that catches the mutation, None if none does, or "no" if it does not compile."""
    path = folder / mutation.path
    text = path.read_text()
    lines = text.split("\n")
    line = lines[mutation.line - 1]
    lines[mutation.line - 1] = line[:mutation.column] + mutation.text + line[mutation.column + mutation.length:]
    (folder / "mutated.json").write_text(json.dumps([mutation.path, text]))
    path.write_text("\n".join(lines))
    try:
        spent = 0
        for seconds, name in reaching:
            if run(["ninja", "-C", "build", tests[name][3]], folder, 600).returncode:
                return "no"
            with tempfile.TemporaryDirectory() as counts:
                code = run_test(tests[name], 10 + 10 * seconds, GCOV_PREFIX=counts)
            if code not in (0, 77):
                return name
            spent += seconds
            if spent > LIMIT:
                break
        return None
    finally:
        restore(folder)


def described(mutation):
    line = (ROOT / mutation.path).read_text().split("\n")[mutation.line - 1]
    return f"{mutation.path}:{mutation.line}: {mutation.kind}: {line[mutation.column:mutation.column + mutation.length].strip()} -> {mutation.text.strip()}    {line.strip()}"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("count", type=int, nargs="?", default=300)
    a.add_argument("--seed")
    a.add_argument("--work", type=pathlib.Path)
    a.add_argument("--minutes", type=float, default=float("inf"))
    a.add_argument("--files", default="", metavar="PREFIX,..")
    a.add_argument("--without", default="", metavar="TEST,..")
    a = a.parse_args()
    seed = a.seed or subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (a.work or pathlib.Path(temporary) / "copy").resolve()
        if not (folder / "build").exists():
            make_copy(folder)
        restore(folder)
        tests = tests_of(folder)
        if not (folder / "map.json").exists():
            (folder / "map.json").write_text(json.dumps(make_map(folder, tests)))
        reach = {name: (seconds, {p: set(lines) for p, lines in executed.items()})
                 for name, (seconds, executed) in json.loads((folder / "map.json").read_text()).items() if name in tests and name not in a.without.split(",")}
        executed = collections.defaultdict(set)
        for _, lines in reach.values():
            for path, some in lines.items():
                executed[path] |= some
        executed = {path: lines for path, lines in executed.items() if path.startswith(tuple(a.files.split(","))) and (folder / path).read_text() == (ROOT / path).read_text()}
        found = mutations(executed)
        print(f"{sum(map(len, found.values()))} mutations of {len(executed)} files; seed {seed}", flush=True)
        caught, alive, by, stillborn, start = collections.Counter(), collections.defaultdict(list), collections.Counter(), 0, time.monotonic()
        verdicts = folder / f"verdicts_{seed}.jsonl"
        known = {tuple(v[:3]): v[3] for v in map(json.loads, verdicts.read_text().splitlines() if verdicts.exists() else [])}
        for mutation in drawn(found, seed):
            if sum(caught.values()) + sum(map(len, alive.values())) >= a.count or time.monotonic() - start > 60 * a.minutes:
                break
            place = (mutation.path, mutation.line, f"{mutation.column}: {mutation.text}")
            reaching = sorted((seconds, name) for name, (seconds, lines) in reach.items() if mutation.line in lines.get(mutation.path, ()))
            if place not in known:
                known[place] = tried(folder, mutation, tests, reaching)
                with verdicts.open("a") as out:
                    print(json.dumps([*place, known[place]]), file=out)
            test = known[place]
            if test == "no":
                stillborn += 1
            elif test:
                caught[mutation.room] += 1
                by[test] += 1
            else:
                alive[mutation.room].append(mutation)
                print(f"survives {len(reaching)} tests: {described(mutation)}", flush=True)
            tried_so_far = sum(caught.values()) + sum(map(len, alive.values()))
            if test != "no" and tried_so_far % 20 == 0:
                print(f"caught: {sum(caught.values())} of {tried_so_far}", flush=True)
        for room in ROOMS:
            n = caught[room] + len(alive[room])
            print(f"{room:10} {n:4} mutations, {caught[room]:4} caught" + (f", {100 * caught[room] / n:5.1f}%" if n else ""))
        n = sum(caught.values()) + sum(map(len, alive.values()))
        print(f"all        {n:4} mutations, {sum(caught.values()):4} caught, {100 * sum(caught.values()) / max(n, 1):5.1f}%; {stillborn} more do not "
              f"compile; {time.monotonic() - start:.0f} s; most by " + ", ".join(f"{name} {k}" for name, k in by.most_common(8)))
        return 0 if n and n >= a.count and sum(caught.values()) >= LEAST_SHARE * n else 1


if __name__ == "__main__":
    sys.exit(main())
