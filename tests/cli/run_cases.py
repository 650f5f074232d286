#!/usr/bin/env python3
"""Runs command lines of the program; checks their output, files and exit codes. Usage: run_cases.py MOCHI FILE.cases [CLAIM]

    == CLAIM               starts a case; all cases of a file share a folder, which is removed at the end
    $ COMMAND              bash runs it in that folder, where `mochi` is the program. It must exit with 0 unless a line `!` follows.
                           Lines that begin with two spaces continue it
    ! CODE TEXT            the exit code; if TEXT is given, standard error has one line, which holds it
    > TEXT     >! TEXT     standard output holds the text, or does not
    2> TEXT    2>! TEXT    standard error does, or does not; its lines about long phases are removed before
    * WORDS => CHECK       puts WORDS in the place of `{}` in the last command, which was not run because of it; CHECK: one of the above
    ? EXPRESSION           a Python expression that must be true; `out`, `err`, `code` are the last command's, J its lines as JSON; more
                           names are in class Scope
    : STATEMENT            a Python statement

In TEXT, \\n, \\t, \\r and \\xHH are these characters. `#` begins a comment. A case that starts `skip unless COMMAND` is skipped, saying so.
Lines before the first case start each.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zipfile

PHASE = re.compile(r"^mochi [^\n]*, \d+ s\n", re.M)
ESCAPE = re.compile(r"\\(?:([ntr\\])|x([0-9a-f]{2}))")


class Wrong(Exception):
    def __str__(self):
        return super().__str__()[:2000]


def unescaped(text):
    return ESCAPE.sub(lambda m: chr(int(m[2], 16)) if m[2] else {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}[m[1]], text)


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Wrong(f"a member twice: {pairs}")
    return members


class Scope(dict):
    """The names that expressions can use."""

    def __init__(self, folder, environment):
        super().__init__(vars(__import__("math")))
        self.folder, self.environment = folder, environment
        self.update(struct=struct, re=re, json=json, os=os, folder=str(folder), source=environment["SOURCE"], program=environment["PATH"].split(":")[0] + "/mochi", out="", err="", code=0)
        for name in ("read", "raw", "write", "same", "exists", "names", "members", "npy", "rows", "number", "tensors", "metadata", "graph", "refuses"):
            self[name] = getattr(self, name)

    def read(self, name):
        return (self.folder / name).read_text(errors="surrogateescape")

    def raw(self, name):
        return (self.folder / name).read_bytes()

    def write(self, name, data):
        (self.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode(errors="surrogateescape"))

    def same(self, a, b):
        return self.raw(a) == self.raw(b)

    def exists(self, name):
        return (self.folder / name).exists()

    def names(self, name):
        return sorted(os.listdir(self.folder / name))

    def members(self, o, names):
        """Whether the object has exactly these members."""
        return sorted(o) == sorted(names.split(","))

    def number(self, text, before):
        """The number that follows the first `before` in a text."""
        return float(re.match(r"\s*([-+.\de]+|nan|inf)", text[text.index(before) + len(before):])[0])

    def npy(self, name, descr, shape, values):
        """Writes an array in NumPy's format; values: its numbers or its bytes."""
        if not isinstance(values, bytes):
            kind = {"f4": "f", "f8": "d", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u8": "Q", "u4": "I", "u2": "H", "u1": "B"}
            values = struct.pack((">" if descr[0] == ">" else "<") + f"{len(values)}{kind[descr[1:]]}", *values)
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
        self.write(name, b"\x93NUMPY\x01\0\x76\0" + f"{header:117}\n".encode() + values)

    def rows(self, separation):
        """Writes Z.npy and Z8.npy, 90 rows of 4 around three centres, and y.npy, their classes 0, 1, 2 in turn."""
        state, values = 7, []
        for i in range(360):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            values.append(separation * (i % 4 == i // 4 % 3) + (state >> 40) / 2**24)
        self.npy("Z.npy", "<f4", (90, 4), values)
        self.npy("Z8.npy", "<f8", (90, 4), values)
        self.npy("y.npy", "<i8", (90,), [i % 3 for i in range(90)])
        return values

    def refuses(self, command, *parts):
        """Whether each command exits with 1 and prints to standard error one line that holds the parts."""
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, stdin=subprocess.DEVNULL)
        said = done.stderr.decode(errors="surrogateescape")
        if done.returncode != 1 or said.count("\n") != 1 or not all(part in said for part in parts):
            raise Wrong(f"{command}: ended with {done.returncode}, expected 1 and {parts}: {said}")
        return True

    def graph(self, name):
        """The arrays that `mochi data convert` makes of a graph, by name. Added: `edges`, its pairs u < v, and
        `left_out`, the messages on what it left out."""
        path = self.folder / "graph.npz"
        done = subprocess.run(["mochi", "data", "convert", name, path], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise Wrong(f"{name}: {done.stderr}")
        arrays = {"left_out": done.stderr}
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                data = archive.read(member)
                start = 10 + struct.unpack("<H", data[8:10])[0]
                kind = {"f4": "f", "f8": "d", "i8": "q", "i4": "i", "u1": "B"}[re.search(rb"'descr': '.(\w+)'", data)[1].decode()]
                arrays[member[:-4]] = [value for (value,) in struct.iter_unpack("<" + kind, data[start:])]
        for key in ("names_text", "class_names_text"):
            if key in arrays:
                arrays[key] = bytes(arrays[key]).decode().split("\0")[:-1]
        rows = [u for u, (a, b) in enumerate(zip(arrays["adj_indptr"], arrays["adj_indptr"][1:])) for _ in range(b - a)]
        arrays["edges"] = list(zip(rows, arrays["adj_indices"]))
        path.unlink()
        return arrays

    def tensors(self, name, metadata, arrays):
        """Writes a file of tensors with mochi's digests; arrays: {name: (type, shape, bytes)}."""
        header, at = {"__metadata__": metadata}, 0
        for key, (kind, shape, data) in arrays.items():
            header[key] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        self.stamp(name, header, b"".join(data for _, _, data in arrays.values()))

    def metadata(self, name, change=None):
        """Returns a tensor file's metadata; if `change` is given, applies it to the metadata and writes the file
        again."""
        data = self.raw(name)
        (n,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + n])
        if change:
            change(header["__metadata__"])
            self.stamp(name, header, data[8 + n :])
        return header["__metadata__"]

    def stamp(self, name, header, data):
        header["__metadata__"] = {k: v for k, v in header["__metadata__"].items() if not k.startswith("xxh3_")}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        self.write(name, struct.pack("<Q", len(text)) + text + data)
        subprocess.run(["mochi", "data", "convert", name, name], cwd=self.folder, env=self.environment, check=True, capture_output=True)


class Runner:
    def __init__(self, folder, environment):
        self.scope, self.environment = Scope(folder, environment), environment
        self.command, self.code = None, 0

    def run(self, command):
        """Runs a command; its exit code is checked after its lines have been read."""
        for name in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # which nohup or a script's background may have ignored
            signal.signal(name, signal.SIG_DFL)
        done = subprocess.run(["bash", "-c", command], cwd=self.scope.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)
        out, err = (text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr))
        self.code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        self.scope.update(out=out, err=PHASE.sub("", err), code=self.code, lines=out.splitlines())
        try:
            self.scope["J"] = [json.loads(line, object_pairs_hook=unique) for line in out.splitlines()]
        except json.JSONDecodeError:
            self.scope["J"] = None
        self.command, self.looked = command, False

    def ended(self):
        """The last command must have ended with 0 unless a line `!` said otherwise."""
        if self.command and not self.looked and self.code:
            raise Wrong(f"ended with {self.code}: {self.scope['err']}")
        self.command = None

    def check(self, line):
        kind, _, text = line.partition(" ")
        text = unescaped(text)
        out, err = self.scope["out"], self.scope["err"]
        if kind == "!":
            code, _, part = text.partition(" ")
            self.looked = True
            if self.code != int(code):
                raise Wrong(f"ended with {self.code}, expected {code}: {err}")
            if part and (err.count("\n") != 1 or part not in err):
                raise Wrong(f"expected one line with '{part}', found '{err}'")
        elif kind in (">", "2>", ">!", "2>!"):
            if (text in (err if kind[0] == "2" else out)) == kind.endswith("!"):
                raise Wrong(f"expected {'no ' if kind.endswith('!') else ''}'{text}' in '{err if kind[0] == '2' else out}'")
        elif kind == "?":
            if not eval(line[2:], self.scope):
                raise Wrong(f"false; standard output '{out}', standard error '{err}'")
        else:
            raise Wrong("neither a command nor a check")

    def line(self, line):
        if line.startswith("$ "):
            self.ended()
            self.template = line[2:]
            if "{}" not in line:
                self.run(line[2:])
        elif line.startswith("* "):
            self.ended()
            words, _, check = line[2:].partition(" => ")
            self.run(self.template.replace("{}", words.strip()))
            self.check(check)
        elif line.startswith(": "):
            exec(line[2:], self.scope)
        else:
            self.check(line)


def cases_of(path):
    """The claims, each with its lines and their numbers in the file."""
    cases, everywhere = [], []
    for at, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("== "):
            cases.append((line[3:], everywhere[:]))
        elif line.startswith("  ") and cases[-1][1]:
            cases[-1][1][-1] = (cases[-1][1][-1][0], cases[-1][1][-1][1] + "\n" + line)
        elif line and not line.startswith("#"):
            (cases[-1][1] if cases else everywhere).append((at, line))
    return cases


def main():
    program, path = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mochi-cli-"))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        (folder / "bin").mkdir()
        if wrapper := os.environ.get("MESON_EXE_WRAPPER"):  # a program for another processor, under an emulator
            (folder / "bin/mochi").write_text(f'#!/bin/sh\nexec {wrapper} {program} "$@"\n')
            (folder / "bin/mochi").chmod(0o755)
        else:
            (folder / "bin/mochi").symlink_to(program)
        (folder / "work").mkdir()
        environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", SOURCE=str(pathlib.Path(__file__).resolve().parents[2]))
        runner = Runner(folder / "work", environment)
        for claim, lines in cases_of(path):
            if len(sys.argv) > 3 and sys.argv[3] not in claim:
                continue
            result = "passed"
            try:
                for at, line in lines:
                    if line.startswith("skip unless "):
                        if subprocess.run(["bash", "-c", line[12:]], env=environment, capture_output=True).returncode:
                            result, claim = "skipped", f"{claim}: unless {line[12:]}"
                            break
                    else:
                        runner.line(line)
                at, line = lines[-1]
                runner.ended()
            except Exception as wrong:
                result = "failed"
                print(f"{path}:{at}: {line}\n    {type(wrong).__name__ if not isinstance(wrong, Wrong) else 'wrong'}: {wrong}")
            runner.command = None
            counts[result] += 1
            print(f"{result}: {claim}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    sys.exit(1 if counts["failed"] else 77 if not counts["passed"] else 0)


main()
