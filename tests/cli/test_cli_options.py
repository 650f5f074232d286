#!/usr/bin/env python3
"""Runs every option of every command: an option in --help must have the effect that options.txt says, and be refused
where it has none.

Usage: test_cli_options.py MOCHI [COMMAND .. | - COMMAND ..]
  COMMAND  the commands to test; after - the commands to leave out"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TABLE = SOURCE / "tests/cli/options.txt"
ACTIONS = ("list", "info", "get", "verify", "convert")  # of data
# Input files of the lines, each with the command that makes it.
MADE = {"@/y.npy": "embed --weights none --data enzymes --out @/Z.npy --labels @/y.npy --quiet",
        "@/done": "RUN_OF --quiet --out @/done",
        "@/own": "RUN_OF --quiet --encoder $/encoder_good.so --recipe paper --out @/own",
        "@/kept.safetensors": "predict --data mutag --labels @/seeds.csv --save @/kept.safetensors --quiet",
        "@/rows.safetensors": "fit @/Z.npy @/y.npy --head ridge --save @/rows.safetensors --quiet"}
SUITE = "seeds 2\nmutag:gc %d\n"
WRITTEN = {"prices.csv": "size,price\n1,2\n2,4\n3,7\n4,\n", "pairs.csv": "from,to\n0,5000\n7,9\n", "A.csv": "2,1\n0,3\n", "numbers.csv": "0,1.5\n1,9\n2,4\n3,0.5\n4,2\n5,30\n6,3\n7,1\n8,8\n9,5\n10,2.5\n", "seeds.csv": "graph,label\n0,a\n1,b\n2,b\n3,a\n4,b\n5,a\n",
           "few.txt": "".join(f"{i}\n" for i in range(0, 600, 2)), "rest.txt": "".join(f"{i}\n" for i in range(1, 600, 6)),
           "one.suite": SUITE % 4, "two.suite": SUITE % 8,
           "people.csv": "age,kind\n" + "".join(f"{20 + i * 7 % 40 + 9 * (i % 2)},{'abc'[i % 2] if i % 3 else ''}\n" for i in range(60)),
           "units/edges.csv": "from,to\n" + "".join(f"n{i},n{(i + step) % 60}\n" for i in range(60) for step in (1, 7)),
           "units/labels.csv": "node,label\n" + "".join(f"n{i},{'ab'[i // 30]}\n" for i in range(60)),
           "units/features.csv": "name,age,income\n" + "".join(f"n{i},{20 + i * 7 % 40},{90 + i * i // 8}\n" for i in range(60))}
# Output that differs between equal runs: times, and the command line itself.
CHANGING = re.compile(r'"(?:command|seconds|ms)":(?:\[[^]]*\]|[^,}\n]*)')


class Option:
    def __init__(self, command, text):
        what, *self.lines = [part.strip() for part in text.split(" | ")]
        self.command, (self.name, self.effect, *part) = command, what.split(" ", 2)
        self.part = part[0].replace("\\n", "\n") if part else None
        self.refused = []


def read_table():
    """The table's rows, and the abbreviations with which lines may begin."""
    options, names, command = [], {}, None
    for line in TABLE.read_text().splitlines():
        if line.startswith("== "):
            command = line[3:]
        elif line.startswith("! "):
            options[-1].refused.append(line[2:])
        elif " = " in line and not command and not line.startswith("#"):
            name, text = line.split(" = ")
            first, *rest = text.split(" ")
            names[name] = " ".join([names.get(first, first), *rest])
        elif line and not line.startswith("#"):
            options.append(Option(command, line))
    return options, names


class Outcome:
    """What a line printed and wrote, and its exit code."""

    def __init__(self, runner, line):
        self.place = f"run{runner.runs}"
        runner.runs += 1
        first, *rest = line.split()
        words = " ".join([runner.names.get(first, first), *rest]).split()
        folder = str(runner.folder)
        words = [(folder + w[1:] if w.startswith("@") else w).replace("#", f"{folder}/{self.place}").replace("$", runner.plugins) for w in words]
        run = subprocess.run([runner.mochi, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
        self.raw, self.err, self.code = run.stdout, run.stderr, run.returncode
        self.out = CHANGING.sub("", run.stdout).replace(self.place, "#")
        self.folder = runner.folder

    def file(self, ending):
        path = self.folder / (self.place + ending)
        if ending.endswith(("json", "jsonl")) and path.is_file():
            return CHANGING.sub("", path.read_text()).replace(self.place, "#")
        return path.read_bytes() if path.is_file() else None

    def bytes(self, ending):
        return sum(p.stat().st_size for p in (self.folder / (self.place + ending)).rglob("*") if p.is_file())


def has_effect(o, base, line):
    if o.effect in ("COSTS", "DEFAULTS"):
        return base.out == line.out if o.part is None else base.file(o.part) == line.file(o.part) is not None
    return {"CHANGES": lambda: base.out != line.out,
            "SAYS": lambda: o.part in line.out and o.part not in base.out,
            "LACKS": lambda: o.part in base.out and o.part not in line.out,
            "SILENCES": lambda: base.out and not line.out,
            "HUSHES": lambda: base.err and not line.err,
            "FILE_OF": lambda: base.file(o.part) != line.file(o.part),
            "FOLDER_OF": lambda: base.bytes(o.part) != line.bytes(o.part)}.get(o.effect, lambda: True)()


class Runner:
    def __init__(self, mochi, options, names, folder):
        self.mochi, self.options, self.names, self.folder = os.path.abspath(mochi), options, names, folder
        self.plugins, self.runs, self.wrong = os.environ.get("MOCHI_PLUGINS", ""), 0, []
        self.bases, self.repeated = {}, set()

    def run(self, line):
        return Outcome(self, line)

    def prepare(self):
        """Makes the input files."""
        for name, text in WRITTEN.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        lines = " ".join(" ".join([*o.lines, *o.refused, ""]) for o in self.options)
        lines += " ".join(self.names[word] for word in set(lines.split()) & set(self.names))
        for name, line in MADE.items():
            if name in lines:
                made = self.run(line)
                assert made.code == 0, f"{line}: {made.err}"
                if name.endswith(".jsonl"):
                    (self.folder / name[2:]).write_text(made.raw)

    def without(self, o):
        """The line's result without the option, which is cached; the second run must be equal to the first."""
        line = o.lines[0]
        if line not in self.bases:
            self.bases[line] = self.run(line)
        base = self.bases[line]
        if (base.code == 0) == (o.effect == "PASSES"):
            self.wrong.append(f"{line}, without --{o.name}: exit code {base.code}")
        file = o.effect == "FILE_OF" and base.file(o.part) is not None
        if (file or o.effect == "CHANGES") and line not in self.repeated:
            self.repeated.add(line)
            again = self.run(line)
            if (base.file(o.part) != again.file(o.part)) if file else base.out != again.out:
                self.wrong.append(f"{line} has another result each time")
        return base

    def look_at_effect(self, o):
        line = self.run(" ".join(o.lines))
        expected = o.effect == "FAILS"
        if line.code != expected or (expected and o.part not in line.err):
            self.wrong.append(f"{' '.join(o.lines)}: exit code {line.code}: {line.err}")
        base = self.without(o)
        if not has_effect(o, base, line):
            self.wrong.append(f"{o.lines}: the option has not the effect {o.effect}: {base.out[:400]} | {line.out[:400]}")

    def look_at_refusals(self, o):
        """The line must be refused: exit code 2, nothing on standard output, and one line on standard error that names
        the option."""
        for line in o.refused:
            r = self.run(line)
            if r.code != 2 or r.out or r.err.count("\n") != 1 or f"--{o.name}" not in r.err:
                self.wrong.append(f"{line}: exit code {r.code}, '{r.out}{r.err}'; expected 2 and one line with --{o.name}")

    def commands(self):
        """The commands that the program lists, and the actions of data."""
        listed = re.findall(r"^  ([a-z-]+)  ", self.run("--help").out, re.M)
        assert len(listed) >= 13, listed
        return [c for c in listed if c not in ("data", "mochi")] + [f"data {a}" for a in ACTIONS]

    def look_for_forgotten(self, table):
        """Every option in --help has a row in the table, and every row an option."""
        for command in self.commands():
            help = self.run(f"{command} --help")
            found = set(re.findall(r"^      --([a-z0-9-]+)", help.out, re.M)) - {"usage"}
            rows = {o.name for o in table if o.command == command}
            if help.code or found != rows:
                self.wrong.append(f"mochi {command} --help: {found ^ rows} are not in both its options and the table")
        known = set(self.commands())
        self.wrong += [f"the table has {o.command}, which is no command" for o in table if o.command not in known]


def main():
    mochi, *words = sys.argv[1:]
    table, names = read_table()
    others = words[:1] == ["-"]
    options = [o for o in table if not words or (o.command in words) != others]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mochi-options-"))
    runner = Runner(mochi, options, names, folder)
    try:
        runner.prepare()
        for o in options:
            if o.lines:
                runner.look_at_effect(o)
            elif o.effect == "ELSEWHERE" and f"--{o.name}" not in (SOURCE / "tests/cli" / o.part).read_text():
                runner.wrong.append(f"{o.part} gives no --{o.name}")
            runner.look_at_refusals(o)
        runner.look_for_forgotten(table)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(*runner.wrong, sep="\n")
    print(f"{len(options)} options, {runner.runs} command lines: {max(len(options) - len(runner.wrong), 0)} passed, "
          f"{len(runner.wrong)} failed")
    return 1 if runner.wrong or not options else 0


if __name__ == "__main__":
    sys.exit(main())
