#!/usr/bin/env python3
"""No source of the library and the program, except the kernels of tensor/cpu, converts a number to another type
implicitly: gcc -Wconversion, with which a size that is cut short or changes its sign has to be written down as a cast.

Usage: tests/test_conversions.py BUILD"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("tensor/", "autograd/", "ops/", "models/", "train/", "tools/")
KERNELS = "tensor/cpu/"  # there `real` is float or double, and fabs, sqrt and exp have either type
READERS = ("tensor/files/", "train/graphs/", "train/run/", "tools/data/", "tools/predict/")


def sources(build):
    """Returns the compiler command of each source file, by its path from the root."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if path.startswith(ROOMS) and not path.startswith(KERNELS) and path.endswith(".c"):
            commands[path] = entry
    return commands


def conversions(entry):
    """Returns gcc's warnings on one source."""
    words, arguments = shlex.split(entry["command"]), []
    skip = False
    for word in words[1:] if words[0].endswith("ccache") else words:
        if skip or word in ("-o", "-MQ", "-MF"):
            skip = not skip
        elif word not in ("-c", "-MD", "-Werror") and not word.startswith(("-O", "-fsanitize", "-fdiagnostics-color")):
            arguments.append(word)
    done = subprocess.run(arguments + ["-fsyntax-only", "-Wconversion"], cwd=entry["directory"], capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if "conversion]" in line or " error: " in line]
    return lines + ([f"{entry['file']}: exit status {done.returncode}"] if done.returncode else [])


def main():
    build = pathlib.Path(sys.argv[1])
    commands = sources(build)
    compiler = shlex.split(next(iter(commands.values()))["command"])
    version = subprocess.run(compiler[:2] + ["--version"] if compiler[0].endswith("ccache") else [compiler[0], "--version"],
                             capture_output=True, text=True).stdout
    if "Free Software Foundation" not in version:
        print("skipped: no gcc, whose -Wconversion differs from that of other compilers")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [line for lines in pool.map(conversions, commands.values()) for line in lines]
    print(*found, sep="\n", end="\n" if found else "")
    readers = sum(path.startswith(READERS) for path in commands)
    print(f"{len(commands)} sources, {readers} of them in rooms of readers, {len(found)} conversions")
    return bool(found) or readers < 40


if __name__ == "__main__":
    sys.exit(main())
