#!/usr/bin/env python3
"""Counts what a reader meets who follows a call to its end: the functions that can be reached from some roots over all
branches, their files and lines, by the sources alone.

Usage: tests/journeys.py [--at REVISION] [--list] [JOURNEY|ROOT[,ROOT..]]..

Without names, the three journeys: `solve` (mo_solve_spd and its gradient on a CPU), `step` (one step of the recipe best,
without its files, above the ops), `predict` (mochi predict, from file to predictions, above the ops). A call is any mention of a function's
name; a mention of a table (an op, a head, an encoder) reaches the functions in it, and a member of the CPU's table of
kernels the kernel of that name. --at counts an old tree too, by the same rule."""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROOMS = ("tensor", "autograd", "ops", "models", "train", "tools")
# Roots; rooms whose functions are not entered (calls into them are counted as one op or kernel each); files left out.
JOURNEYS = {
    "solve": (["mo_solve_spd", "mo_backward", "mo_op_solve_spd"], (), r"tensor/(cuda|plain|files)/|train/|models/|tools/|/gradcheck|/print|/sample"),
    "step": (["mo_take_step", "mo_trainer_step", "invariant_encode", "invariant_readout"], ("tensor", "autograd", "ops"), r"tools/|train/run/(trainer|checkpoint|run_files)\.c"),
    "predict": (["predict_command"], ("tensor", "autograd", "ops"), r"tensor/|tools/(ranks|explain|eval|fit|bench)/"),
}
NAME = re.compile(r"[A-Za-z_]\w*")


def sources(revision):
    """Path and text of every C source of the library and the program, without comments and strings."""
    if revision:
        listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", revision, *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True)
        read = lambda path: subprocess.run(["git", "show", f"{revision}:{path}"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    else:
        listed = subprocess.run(["git", "ls-files", *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True)
        read = lambda path: (ROOT / path).read_text()
    blank = lambda match: "\n" * match.group().count("\n") or " "
    for path in listed.stdout.split():
        if re.search(r"\.[ch]$", path) and not re.search(r"tools/(python|examples|web)/|tensor/cuda/|/new/", path):
            yield path, re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, read(path), flags=re.S)


def definitions(text):
    """(name, body, lines) of what begins at the first column and ends with a brace there: functions, and tables."""
    for match in re.finditer(r"^(?![ }#/]|typedef|struct|enum|union)[^\n;]*(?:\n[ \t][^\n;{]*)*\{\n(.*?)^\}", text, flags=re.S | re.M):
        head = re.sub(r"__attribute__\(\(.*?\)\) *", "", match.group().split("{\n", 1)[0])
        called = re.search(r"(\w+)\s*\(", head)
        table = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=\s*$", head)
        found = table or called
        if found:
            yield found.group(1), match.group(1), match.group().count("\n") + 1, bool(table), head.startswith(("static", "INLINE"))
    for match in re.finditer(r"^(?:static |extern )?const \w+ (\w+)(?:\[[^\]]*\])* = \{([^\n].*?)\};", text, flags=re.S | re.M):
        yield match.group(1), match.group(2), 1, True, match.group().startswith("static")


class Tree:
    def __init__(self, revision):
        self.local, self.public, self.kernels = {}, {}, {}  # (path, name): words, lines, whether it is a function
        for path, text in sources(revision):
            for name, body, lines, table, static in definitions(text):
                words, before, _ = self.local.get((path, name), (set(), 0, True))
                self.local[path, name] = words | set(NAME.findall(body)), before + lines, not table
                if not static or path.endswith(".h") or name in ("invariant_encode", "invariant_readout"):
                    self.public.setdefault(name, (path, name))
            if path.startswith("tensor/cpu") and ".name" in text:
                self.kernels |= dict(re.findall(r"\.(\w+) = (\w+)", text))

    def reached(self, roots, closed, left_out):
        """Functions that can be reached; those of `closed` rooms are not entered."""
        seen, todo = set(), [self.public[root] for root in roots if root in self.public]
        while todo:
            item = todo.pop()
            path = item[0]
            if item in seen or item[1] == "mo_backend_cpu" or re.search(left_out, path) or path.split("/")[0] in closed:
                continue
            seen.add(item)
            for name in self.local[item][0]:
                for word in (name, self.kernels.get(name)):
                    next_item = (path, word) if (path, word) in self.local else self.public.get(word)
                    if next_item:
                        todo.append(next_item)
        return {item for item in seen if self.local[item][2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", help="a revision beside the working tree")
    parser.add_argument("--list", action="store_true", help="list the functions")
    parser.add_argument("journeys", nargs="*", default=list(JOURNEYS))
    o = parser.parse_args()
    for revision in [o.at, ""] if o.at else [""]:
        tree = Tree(revision)
        for journey in o.journeys:
            roots, closed, left_out = JOURNEYS.get(journey, (journey.split(","), (), r"^$"))
            found = tree.reached(roots, closed, left_out)
            lines = sum(tree.local[item][1] for item in found)
            print(f"{journey:8} {revision or 'here':10} {len(found):5} functions in {len({path for path, _ in found}):3} files, {lines:6} lines")
            for path, name in sorted(found) if o.list else ():
                print(f"    {path}: {name}")


if __name__ == "__main__":
    main()
