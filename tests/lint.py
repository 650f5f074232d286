#!/usr/bin/env python3
"""tests/lint.py - rules that no other test checks: includes go one way, and only ops/ calls kernels; nothing in the
library prints, exits or aborts; only run_tasks has threads; every function, constant and file that a guide names
exists; the table of adjoints has every op, and its links lead to the code; codespell, if it is installed, finds no
misspelt word.

Usage: tests/lint.py      from any folder; needs no build"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/python/binding"))
import adjoints  # noqa: E402  reads the table of ops/ADJOINTS.md

LIBRARY = ("tensor", "autograd", "ops", "models", "train")
TRAIN = ("graphs", "svd", "features", "episodes", "evaluation")
ARROWS = (  # a room includes only rooms to its left
    ("", (*LIBRARY, "tools")),
    ("train/", (*TRAIN, "run")),
    ("train/", (*TRAIN, "fit")),
    ("train/", (*TRAIN, "few_shot")),
)
KERNEL = re.compile(r"\bmo_(kernels|fits)_of\b|->backend->")
# Calls that write to the process's own streams or end the process.
PRINTS = re.compile(r"(?<![\w.>])(?:v?printf|puts|putchar|perror|exit|_exit|abort|quick_exit)\s*\(|\bstd(?:out|err)\b")


def without_comments(text):
    """Blanks comments and strings of C; every line stays where it was."""
    blank = lambda m: "\n" * m[0].count("\n")
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S))


def sources():
    for top in (*LIBRARY, "tools", "tests"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in (".c", ".h", ".cu", ".cuh", ".cpp") and file.is_file():
                yield file.relative_to(ROOT).as_posix(), file.read_text()


def room_of(path, prefix, rooms):
    rest = path[len(prefix):].split("/")
    return rest[0] if path.startswith(prefix) and len(rest) > 1 and rest[0] in rooms else None


def faults_of_includes(path, text):
    for prefix, rooms in ARROWS:
        here = room_of(path, prefix, rooms)
        for included in re.findall(r'^#include "([^"]+)"', text, re.M) if here else ():
            there = room_of(included, prefix, rooms)
            if there and rooms.index(there) > rooms.index(here):
                yield f"{path}: includes {included}, against the arrow"
    if path.split("/")[0] in ("models", "train", "tools") and KERNEL.search(text):
        yield f"{path}: calls a kernel, which ops alone may"
    if re.search(r'^#include [<"](cuda|cublas|cusolver|cudnn)', text, re.M) and \
            not path.startswith(("tensor/cuda/", "tests/", "tools/bench/")):
        yield f"{path}: includes a header of CUDA outside tensor/cuda/"


def faults_of_output(path, text):
    if path.startswith(tuple(f"{room}/" for room in LIBRARY)):
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            if PRINTS.search(line):
                yield f"{path}:{number}: prints or ends the process: {line.strip()}"


def faults_of_threads(path, text):
    allowed = ("tensor/cpu/tasks.c", "tensor/cpu/fast/threads.c")
    if path.startswith(tuple(f"{room}/" for room in LIBRARY)) and path not in allowed and \
            re.search(r"^\s*#\s*pragma omp parallel|\bomp_get_thread_num\b", without_comments(text), re.M):
        yield f"{path}: a parallel region outside run_tasks"


def faults_of_addresses(path, text):
    """A head is asked by the fields of its table, not by its address."""
    if not path.startswith("tests/") and re.search(r"[!=]= *&mo_(head|own|readout)", without_comments(text)):
        yield f"{path}: compares a head's address"


def faults_of_guides(known):
    """Lists the names in backquotes that guides have and no source has: mo_function, MO_CONSTANT, file.c."""
    below = [p for top in (*LIBRARY, "tools", "tests", ".ci") for p in (ROOT / top).rglob("*")]
    files = {p.name for p in [*below, *ROOT.iterdir()]}
    for guide in [ROOT / "README.md", *sorted(p for p in below if p.suffix == ".md" and "sources" not in p.parts)]:
        path, text = guide.relative_to(ROOT).as_posix(), guide.read_text()
        for name in sorted(set(re.findall(r"\b(?:mo|MO)_\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))):
            prefix = name.endswith("_") and any(k.startswith(name) for k in known)
            if name not in known and not prefix and len(name) > 4:  # mo_x is a placeholder
                yield f"{path}: {name} is in no source"
        for name in sorted(set(re.findall(r"`([\w./+-]+\.(?:c|h|cu|cpp|py|md|sh|build|scd))`", text))):
            if len(pathlib.Path(name).stem) > 1 and not (guide.parent / name).exists() and not (ROOT / name).exists() and \
                    ("/" in name or name not in files):  # x.c is a placeholder
                yield f"{path}: {name} is not there"


def faults_of_adjoints():
    """Lists ops that the table of ops/ADJOINTS.md lacks, and links of the page that do not lead to a vjp."""
    ops = ROOT / "ops"
    text = (ops / "ADJOINTS.md").read_text()
    known = {name for row in adjoints.rows(text) for name in re.findall(r"`(\w+)`", " ".join(row[1:4]))}
    link = r"\[(\w+)\]\(([\w/]+\.c)\)"
    for function, file in re.findall(link, text):
        if not (ops / file).exists() or f"\nstatic void {function}(mo_vjp " not in (ops / file).read_text():
            yield f"ops/ADJOINTS.md: {file} has no vjp of the name {function}"
    for file in sorted(ops.rglob("*.c")):
        for name in re.findall(r'^    \.name = "(\w+)"', file.read_text(), re.M):
            if name not in known:
                yield f"ops/ADJOINTS.md: the table of adjoints lacks {name}"


def faults_of_version():
    """The version stands in tensor.h; the build and the page of changes repeat it."""
    version = re.search(r'MO_VERSION "([^"]+)"', (ROOT / "tensor/tensor.h").read_text())[1]
    for path, repeated in (("meson.build", f"version: '{version}'"), ("tools/guides/changes.md", f"\n## {version}\n")):
        if repeated not in (ROOT / path).read_text():
            yield f"{path}: is not of version {version}, which tensor/tensor.h declares"


def faults_of_top_level():
    """The top level is the rooms, the build and what describes them; a command run there leaves nothing behind."""
    known = {*LIBRARY, "tools", "tests", "meson.build", "meson_options.txt", "README.md", "LICENSE"}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    for name in sorted({path.split("/")[0] for path in listed} - known):
        if not name.startswith("."):
            yield f"{name}: at the top level, where {', '.join(sorted(known))} alone belong"


def faults_of_spelling():
    """Lists what codespell finds in sources, guides and tests; nothing if it is not installed."""
    files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.cu", "*.py", "*.md", "*.js", "*.html", "*.cases"], cwd=ROOT,
                           capture_output=True, text=True, check=False).stdout.split()
    if files and shutil.which("codespell"):
        words = "numer,trian,paht,coo,nd,fo,ontext"  # a journal's title, and words of tests and codes
        yield from subprocess.run(["codespell", "-L", words, *files], cwd=ROOT, capture_output=True, text=True,
                                  check=False).stdout.splitlines()


def main():
    known, faults, count = set(), [], 0
    for path, text in sources():
        count += 1
        known.update(re.findall(r"\b(?:mo|MO)_\w+", text))
        faults += [*faults_of_includes(path, text), *faults_of_output(path, text), *faults_of_threads(path, text),
                   *faults_of_addresses(path, text)]
    faults += [*faults_of_guides(known), *faults_of_adjoints(), *faults_of_version(), *faults_of_top_level(),
               *faults_of_spelling()]
    print(*faults, f"{count} sources, {len(faults)} faults", sep="\n")
    return 1 if faults or count < 100 else 0


sys.exit(main())
