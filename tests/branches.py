#!/usr/bin/env python3
"""tests/branches.py - branches of readers that no test takes, each with the class of its reason in untaken_branches.txt.

Usage: tests/branches.py [--update] COVERAGE.json      in the source folder; COVERAGE.json by `gcovr --json`

Fails where a reader has an untaken branch on a line that the list lacks, where the list has a line that the reader lacks,
and where a class is none of those that the list explains. A line is known by its file and its text, so that other lines may
move. --update writes the list anew: rows that still hold are kept, new ones get the class '?', which a person replaces.
"""
import json
import pathlib
import re
import sys

LIST = pathlib.Path("tests/untaken_branches.txt")
# The files that read what another program may have written.
READERS = re.compile(
    r"tensor/files/(?!.*write|npy_text)|tensor/shared_object|models/load_|tools/data/manifest\.|tools/eval/(compare|results)\.|"
    r"tools/report/report_(input|predictions_input)|tools/train/digests|train/episodes/(pool|division)_file|"
    r"train/evaluation/suite_file|train/features/(hop_file|cache)\.|train/fit/(embeddings|label_)|train/run/(checkpoint|weights|weights_model)\.|"
    r"train/graphs/(attributed/|gml_tokens|graph_names|graph_open|labels|load_|node_names|npz_members|table_reader|text_reader|words)"
)


def untaken(path):
    """The lines of readers with a branch that was never taken, and the numbers of branches and of those taken."""
    found, branches, taken = {}, 0, 0
    for file in json.load(open(path))["files"]:
        if not READERS.match(file["file"]) or not pathlib.Path(file["file"]).exists():
            continue
        text = pathlib.Path(file["file"]).read_text().splitlines()
        for line in file["lines"]:
            counts = [b["count"] for b in line["branches"]]
            branches += len(counts)
            taken += sum(c > 0 for c in counts)
            if 0 in counts:
                found[file["file"], text[line["line_number"] - 1].strip()] = True
    return list(found), branches, taken


def read_list():
    """The classes with their reasons, and the class of each listed line."""
    classes, rows = {}, {}
    head, body = LIST.read_text().split("\n\n", 1)
    for line in head.splitlines():
        if m := re.match(r"(\w+): ", line):
            classes[m[1]] = line
    for line in body.splitlines():
        file, reason, text = line.split(" | ", 2)
        rows[file, text] = reason
    return classes, rows


def main(arguments):
    update = arguments[:1] == ["--update"]
    found, branches, taken = untaken(arguments[-1])
    classes, rows = read_list()
    if update:
        head = LIST.read_text().split("\n\n")[0]
        kept = [f"{file} | {rows.get((file, text), '?')} | {text}" for file, text in found]
        LIST.write_text(head + "\n\n" + "\n".join(kept) + "\n")
        classes, rows = read_list()
    faults = [f"{file}: no test takes every branch of: {text}" for file, text in found if (file, text) not in rows]
    for (file, text), reason in rows.items():
        there = pathlib.Path(file)
        if not there.exists() or text not in (line.strip() for line in there.read_text().splitlines()):
            faults.append(f"{file}: the list has a line that is gone: {text}")
        if reason not in classes:
            faults.append(f"{file}: '{reason}' is no class of the list: {text}")
    print("\n".join(faults))
    print(f"{taken} of {branches} branches of readers taken; {len(found)} lines with an untaken one, {len(rows)} in the list, {len(faults)} faults")
    return bool(faults) or branches < 1000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
