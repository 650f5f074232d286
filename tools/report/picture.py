#!/usr/bin/env python3
"""Draws accuracy against labels a class, the mean over graphs, as the page of mochi-report would: the picture of the README.

Usage: picture.py OUT.svg EVAL.jsonl ..    lines of `mochi eval --json`, one file a graph
"""

import collections
import json
import pathlib
import sys

import report

NAMES = {"trained": "best", "random": "untrained", "hop": "best hop", "x0": "raw features"}
STYLE = """<style>svg{font-family:sans-serif;--ink:#222;--grid:#ddd;--s1:#1f5fbf;--s3:#b8860b;--s4:#8a8a8a;--s5:#2e8b57}
@media(prefers-color-scheme:dark){svg{--ink:#ddd;--grid:#444;--s1:#7fb2ff;--s3:#e0b040;--s4:#a0a0a0;--s5:#6fcf97}}</style>"""
COLOURS = {"trained": 1, "random": 5, "hop": 3, "x0": 4}


def means(files):
    """{features: {k: mean over the files}}."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            row = json.loads(line)
            if row.get("metric") == "accuracy" and row.get("features") in NAMES and "mean" in row:
                found[row["features"]][row["k"]].append(row["mean"])
    return {features: {k: sum(v) / len(v) for k, v in by.items()} for features, by in found.items()}


def main(out, *files):
    mean = means(files)
    series = [(NAMES[f], COLOURS[f], "line+", sorted(mean[f].items())) for f in NAMES if f in mean]
    names = [(NAMES[f], 64, mean[f][64] - 2.2 * (f == "random") + (f == "trained")) for f in mean]
    made = report.chart("", "labels of each class", "accuracy, %", series, names, xscale="log", xticks=[1, 2, 4, 16, 64],
                        xlim=(0.9, 190), ylim=(30, 80))
    pathlib.Path(out).write_text(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 420 290'>\n{STYLE}{made['svg']}</svg>\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
