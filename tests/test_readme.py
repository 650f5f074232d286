#!/usr/bin/env python3
"""Tests what the READMEs show: a block "$ command" prints what stands below it, in an installation as a user has it, and
every option of a shown command exists. (tests/lint.py: every file that they name is there.)

Usage: test_readme.py BUILD [--long] [--update]
  --long     commands whose comment names minutes are run as well
  --update   writes what was printed into the READMEs, instead of comparing

Figures are those of the BLAS core Haswell, which any x86-64 of level 3 can run; without it they are skipped (77). The
kernels are compiled for the processor that runs them, and a sum rounded in another order may move the last digit of a figure by
one. A last column "seconds" and names of temporary folders are not compared."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT.parent / "shared")) / "data"
DATA = SHARED if SHARED.exists() else ROOT / "tests" / "sources"
GUIDES = [ROOT / "README.md"] + sorted(p for folder in ("tensor", "autograd", "ops", "models", "train", "tools", "tests")
                                       for p in (ROOT / folder).rglob("*.md") if "sources" not in p.parts)
INDENT = "    "
SKIPPED = 77
failures = []


def claim(name, trouble):
    print(f"[  {'FAILED' if trouble else '    OK'}  ] {name}" + (f": {trouble}" if trouble else ""), flush=True)
    if trouble:
        failures.append(name)


class Block:
    """A command of a guide and the lines below it: guide.lines[first:stop]."""

    def __init__(self, guide, command, first, stop):
        self.guide, self.command, self.first, self.stop = guide, command, first, stop
        self.written = guide.lines[first:stop]
        self.long = re.search(r"#.*\b(minutes?|hours?)\b", command) is not None

    def expected(self):
        return [line[len(INDENT):].rstrip() for line in self.guide.lines[self.first:self.stop]]


class Guide:
    def __init__(self, path):
        self.path, self.lines = path, path.read_text().split("\n")
        self.blocks = []
        i = 0
        while i < len(self.lines):
            i += 1
            if not self.lines[i - 1].startswith(INDENT + "$ "):
                continue
            stop = i
            while stop < len(self.lines) and (not self.lines[stop] or self.lines[stop].startswith(INDENT)) and \
                    not self.lines[stop].startswith(INDENT + "$ "):
                stop += 1
            while not self.lines[stop - 1]:
                stop -= 1
            self.blocks.append(Block(self, self.lines[i - 1][len(INDENT) + 2:], i, stop))
            i = stop

    def code(self):
        """Splits indented blocks into lines, without the prompt."""
        return [re.sub(r"^\$ ", "", line[len(INDENT):]) for line in self.lines if line.startswith(INDENT)]


# ---- printed output ----

def one_apart(a, b):
    """Whether two words are equal, or numbers with equally many decimals that differ by one in the last."""
    if a == b:
        return True
    number = re.compile(r"^(-?\d+(?:\.(\d+))?)([%*,:;]*)$")
    x, y = number.match(a), number.match(b)
    if not x or not y or x[3].replace("*", "") != y[3].replace("*", "") or len(x[2] or "") != len(y[2] or ""):
        return re.sub(r"/tmp/tmp\.\w+", "", a) == re.sub(r"/tmp/tmp\.\w+", "", b)
    return abs(float(x[1]) - float(y[1])) < 1.5 * 10.0 ** -len(x[2] or "")


def comparable(lines):
    """The words of each line, without those of a last column "seconds"."""
    timed, out = False, []
    for line in lines:
        words = re.split(r"[\s,]+", line.strip())
        timed = bool(words) and (timed or words[-1] == "seconds")
        out.append(words[:-1] if timed else words)
    return out


def shown(expected, printed):
    """Returns the part of the output that the guide shows: all of it or, if its first line is "...", the lines from the first
    one that begins with the guide's next two words."""
    if not expected or expected[0] != "...":
        return printed
    starts = [i for i, line in enumerate(printed) if line.split()[:2] == expected[1].split()[:2]]
    return ["..."] + printed[starts[0]:] if starts else printed


def difference(expected, printed):
    a, b = comparable(expected), comparable(printed)
    for i in range(max(len(a), len(b))):
        if i >= len(a) or i >= len(b) or len(a[i]) != len(b[i]) or not all(map(one_apart, a[i], b[i])):
            return f"line {i + 1}: expected {expected[i] if i < len(a) else 'the end'!r}, " \
                   f"found {printed[i] if i < len(b) else 'the end'!r}"
    return None


class Installation:
    def __init__(self, build, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", folder], check=True, capture_output=True)
        package = next(self.folder.rglob("mochi.pc"))
        prefix = folder + re.search("^prefix=(.*)", package.read_text(), re.M)[1]
        self.here = self.folder / "here"  # the folder in which the commands run
        self.here.mkdir()
        for name in ("tools", "train"):
            (self.here / name).symlink_to(ROOT / name)
        self.environment = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8", MOCHI_DATA=str(DATA),
                                MOCHI_EMBEDDED=f"{prefix}/share/mochi/data", MOCHI_CACHE=f"{folder}/cache",
                                LD_LIBRARY_PATH=str(package.parent.parent), PKG_CONFIG_PATH=str(package.parent),
                                PKG_CONFIG_SYSROOT_DIR=folder, OPENBLAS_CORETYPE="Haswell", ONEDNN_MAX_CPU_ISA="AVX2")

    def run(self, command):
        here = ROOT if command.startswith("tools/") else self.here
        return subprocess.run(["bash", "-c", command], cwd=here, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)

    def missing(self, command):
        """Returns the data sets and files of weights that a command names and that are missing."""
        known = {line.split()[0] for line in self.run("mochi data list").stdout.splitlines()}
        known |= {path.stem for path in (ROOT / "train/data").glob("*.pool")}
        named = re.findall(r"--(?:data|pool) ([a-z0-9,-]+)", command)
        weights = [path for path in re.findall(r"--weights (\S+[.]safetensors)", command) if not (self.here / path).exists()]
        return [name for words in named for name in words.split(",") if name not in known] + weights


def check_figures(guides, place, options):
    if not shutil.which("pkg-config"):
        print("skipped: figures, no pkg-config, which the commands find an installation by")
        return False
    core = re.search(r'"blas_core": ?"(\w+)"', place.run("mochi eval --weights none --hop 0 --dim 4 --data mutag --shots 2 --seeds 1 --quiet --json").stdout)
    if not core or core[1] != "Haswell":
        print(f"skipped: figures, expected the BLAS core Haswell, found {core[1] if core else 'none'}")
        return False
    if '"onednn":""' in place.run("mochi eval --weights none --hop 0 --dim 4 --data mutag --shots 2 --seeds 1 --quiet --json").stdout.replace(" ", ""):
        print("skipped: figures, which are those of oneDNN's products; this build has none")
        return False
    for guide in guides:
        for block in guide.blocks:
            check_block(block, place, options)
        for block in reversed(guide.blocks):
            guide.lines[block.first:block.stop] = block.written
        if options.update and guide.blocks:
            guide.path.write_text("\n".join(guide.lines))
    return True


def check_block(block, place, options):
    name = f"{block.guide.path.relative_to(ROOT)}: {block.command}"
    missing = place.missing(block.command)
    if missing or block.long and not options.long:
        print(f"[  SKIPPED ] {name}: " + (f"no {', '.join(missing)}" if missing else "--long runs it"))
        return
    done = place.run(block.command)
    printed = shown(block.expected(), [line.rstrip() for line in done.stdout.strip("\n").split("\n")] if done.stdout else [])
    if done.returncode:
        claim(name, f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    elif options.update:
        block.written = [(INDENT + line).rstrip() for line in printed]
        print(f"[  WRITTEN ] {name}")
    else:
        claim(name, difference(block.expected(), printed))


# ---- names ----

def check_options(guides, place):
    """Checks that every option shown after `mochi COMMAND` is in the command's --help."""
    helps = {}
    for guide in guides:
        unknown = []
        for line in guide.code():
            words = re.sub(r"#.*", "", line).split()
            command = next((words[i + 1] for i in range(len(words) - 1) if words[i].endswith("mochi") and words[i + 1][0] != "-"), None)
            if command is None or not command.isalpha() or command.isupper():
                continue
            if command not in helps:
                helps[command] = place.run(f"mochi {shlex.quote(command)} --help").stdout
                helps[command] += place.run(f"mochi {shlex.quote(command)} get --help").stdout if command == "data" else ""
            options = [w.split("=")[0] for w in words if re.match("--[a-z]", w)]
            unknown += [f"{command} {o}" for o in options if not re.search(re.escape(o) + r"\b(?!-)", helps[command])]
        claim(f"{guide.path.relative_to(ROOT)}: options exist", ", ".join(unknown))


class Options:
    def __init__(self, words):
        unknown = [w for w in words if w.startswith("-") and w not in ("--long", "--update")]
        if unknown or len([w for w in words if not w.startswith("-")]) != 1:
            sys.exit(__doc__.strip())
        self.build = next(w for w in words if not w.startswith("-"))
        self.long, self.update = "--long" in words, "--update" in words


def main():
    options = Options(sys.argv[1:])
    guides = [Guide(path) for path in GUIDES]
    with tempfile.TemporaryDirectory() as folder:
        place = Installation(options.build, folder)
        check_options(guides, place)
        compared = check_figures(guides, place, options)
    print(f"{len(failures)} failed")
    sys.exit(bool(failures) or (0 if compared else SKIPPED))


main()
