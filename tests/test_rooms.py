#!/usr/bin/env python3
"""The rooms of the house: prints each folder with its numbers of source files and headers, and fails where a folder is a
drawer, an include goes against the arrow, a kernel is called from above ops/, or a file has more than 300 lines.

Usage: tests/test_rooms.py      From any folder; needs no build."""
import pathlib
import re
import sys

TRAIN = ("ranks", "graphs", "svd", "features", "episodes", "evaluation")
ARROWS = (  # a room includes what stands to its left
    ("", ("tensor", "autograd", "ops", "models", "train", "tools")),
    ("train/", (*TRAIN, "run")),
    ("train/", (*TRAIN, "fit")),
    ("train/", (*TRAIN, "few_shot")),
)
SOURCES = (".c", ".cu", ".cpp", ".py")
LONGEST_FILE = 300
KERNEL = re.compile(r"\bmo_(kernels|fits)_of\b|->backend->")


def most_sources(folder):
    return 50 if folder == "ops" or folder.split("/")[0] == "tests" else 25


def room_of(path, prefix, rooms):
    rest = path[len(prefix):].split("/")
    return rest[0] if path.startswith(prefix) and len(rest) > 1 and rest[0] in rooms else None


def faults_of(path, text):
    for prefix, rooms in ARROWS:
        here = room_of(path, prefix, rooms)
        for included in re.findall(r'^#include "([^"]+)"', text, re.M) if here else ():
            there = room_of(included, prefix, rooms)
            if there and rooms.index(there) > rooms.index(here):
                yield f"{path}: includes {included}, against the arrow"
    if path.split("/")[0] in ("models", "train", "tools") and KERNEL.search(text):
        yield f"{path}: calls a kernel, which ops alone may"
    if not path.startswith("tests/") and text.count("\n") > LONGEST_FILE:
        yield f"{path}: {text.count(chr(10))} lines, expected {LONGEST_FILE} at most"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    folders, faults = {}, []
    for top in ("tensor", "autograd", "ops", "models", "train", "tools", "tests"):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in (*SOURCES, ".h") or not file.is_file() or "__pycache__" in path:
                continue
            count = folders.setdefault(str(pathlib.PurePath(path).parent), [0, 0])
            count[file.suffix == ".h"] += 1
            faults += faults_of(path, file.read_text())
    for folder, (sources, headers) in sorted(folders.items()):
        print(f"{folder:24} {sources:3} sources {headers:3} headers")
        if sources > most_sources(folder):
            faults.append(f"{folder}: {sources} source files, expected {most_sources(folder)} at most")
    print(*faults, sep="\n")
    print(f"{len(folders)} folders, {len(faults)} faults")
    return 1 if faults or not folders else 0


sys.exit(main())
