#!/usr/bin/env python3
"""Makes the tables of train/evaluation/RESULTS.md whose graphs are not embedded, a row a graph, or compares them.

Usage: tests/results.py MOCHI TABLE [ROW ..] [--update] [--cache FOLDER]
  TABLE      nodes, sets, training or refit
  ROW        first cells of its rows (default: all of them, which takes an hour or two)
  --update   writes what comes out into the page, instead of comparing with it

Graphs lie in $MOCHI_SHARED/data (default ../shared/data); without it nothing is compared (77). Figures are compared to
the digit that is printed, but for one unit of it: sums are rounded in another order on other processors. Columns that
Mochi does not compute (logistic regression, GraphAny) stay as they are."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "tools/report"))
import report  # noqa: E402
PAGE = ROOT / "train" / "evaluation" / "RESULTS.md"
DATA = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT.parent / "shared")) / "data"
SKIPPED = 77

ALIKE = {"ACM": "acm", "Photo": "amazon_electronics_photo", "BlogCatalog": "blogcatalog", "CiteSeer, full": "citeseer_full",
         "Cora ML": "cora_ml", "DBLP": "dblp", "Facebook pages": "facebook_pages", "CiteSeer": "planetoid_citeseer",
         "Cora": "planetoid_cora", "PubMed": "planetoid_pubmed"}
OTHERS = {"Actor": "actor", "Brazil's airports": "brazil_airports", "Chameleon": "chameleon",
          "Chameleon, filtered": "chameleon_filtered", "Cornell": "cornell", "Europe's airports": "europe_airports",
          "Amherst": "fb100_Amherst41", "Reed": "fb100_Reed98", "Minesweeper": "minesweeper", "polblogs": "polblogs",
          "Texas, 4 classes": "texas_4_classes", "Twitch DE": "twitch_DE", "Twitch ES": "twitch_ES", "Twitch FR": "twitch_FR",
          "Twitch PTBR": "twitch_PTBR"}
SETS = ("AIDS BZR DHFR ENZYMES IMDB-BINARY IMDB-MULTI KKI Letter-high MSRC_9 MUTAG Mutagenicity PROTEINS PTC_FM PTC_FR PTC_MM "
        "PTC_MR Peking_1 SYNTHETICnew").split()

# (heading above a table, files by row, options of mochi eval, the k that are shown, computed columns). A column is a
# feature, or two whose difference is shown.
TABLES = {
    "nodes": ("## Twenty-five graphs", ALIKE | OTHERS, "--task nc --episodes 40 --shots 1,2,4,16,64", (4, 16, 64),
              {"best": "trained", "untrained": "random", "best hop, ridge": "hop", "hop 0, ridge": "x0"}),
    "sets": ("## Graph sets", {name: name for name in SETS}, "--task gc --episodes 30 --shots 4,16,64 --transductive yes",
             (4, 16, 64), {"best": "trained", "inductive - best": ("trained-T", "trained"), "untrained": "random",
              "best hop": "hop", "raw features": "x0"}),
    "training": ("## What training buys", ALIKE, "--weights best,free --task nc --episodes 20 --shots 4,16,64", (4, 16, 64),
                 {"best - free": ("best", "free"), "best - untrained": ("best", "random")}),
    "refit": ("## Refitted on its own predictions", ALIKE | OTHERS, "--task nc --episodes 10 --shots 1,2,4,16 --transductive auto",
              (1, 2, 4, 16), {"best": "trained", "refitted where chosen": "trained+T?"}),
}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def find(name):
    found = [p for p in DATA.rglob(name + "*") if p.name in (name, name + ".npz")]
    return found[0] if found else None


def evaluate(mochi, path, options, cache):
    """Returns the figures of a graph: {(features, k): mean}, {(features, other, k): (difference, half interval)}."""
    words = [mochi, "eval", "--data", str(path), *options.split(), "--protocol", "episode", "--metric", "accuracy", "--json",
             "--quiet"] + (["--cache", cache] if cache else [])
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    cells = {(item["features"], item["k"]): item for item in map(json.loads, run.stdout.splitlines()) if item["kind"] == "cell"}
    pair = {(a, b, k): report.difference(cells[a, k], cells[b, k])[:2] for a, k in cells for b, other in cells if other == k and a != b}
    return {key: item["mean"] for key, item in cells.items()}, pair


def render(column, figures, shots):
    mean, pair = figures
    if isinstance(column, str):
        return ", ".join(f"{mean[column, k]:.1f}" for k in shots)
    return ", ".join("%+.1f ± %.1f" % pair[(*column, k)] for k in shots)


def numbers(cell):
    return [float(x) for x in re.findall(r"[-+]?\d+\.\d+", cell)]


def equal(written, found):
    a, b = numbers(written), numbers(found)
    return len(a) == len(b) and all(abs(x - y) < 0.11 for x, y in zip(a, b))


def means(rows, of_the_ten, names, columns):
    """Returns the means over all graphs of the computed columns, {place: text}."""
    rows = [row for row in rows if not row[0].startswith(("mean", "of")) and (not of_the_ten or row[0] in ALIKE)]
    out = {}
    for column, of in columns.items():
        place, paired = names.index(column), isinstance(of, tuple)
        figures = [numbers(row[place])[::2 if paired else 1] for row in rows]
        out[place] = ", ".join(("%+.1f" if paired else "%.1f") % (sum(x) / len(rows)) for x in zip(*figures))
    return out


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1].split("\n")[0])
    parser.add_argument("mochi")
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--cache")
    o = parser.parse_args()
    heading, files, options, shots, columns = TABLES[o.table]
    if not DATA.is_dir():
        print(f"results: no data in {DATA}: nothing is compared")
        return SKIPPED
    lines = PAGE.read_text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(heading))
    head = next(i for i in range(start, len(lines)) if lines[i].startswith("| "))
    names, wrong, compared = cells(lines[head]), [], 0
    at = head + 2
    while lines[at].startswith("|"):
        row = cells(lines[at])
        name = row[0].replace(", of the pool", "")
        path = find(files[name]) if name in files and (not o.rows or name in o.rows) else None
        if path:
            figures = evaluate(o.mochi, path, options, o.cache)
            for column, of in columns.items():
                found, place = render(of, figures, shots), names.index(column)
                same = equal(row[place], found)
                compared += 1
                if not same:
                    wrong.append(f"{name}, {column}: the page has {row[place]}, found {found}")
                row[place] = row[place] if same else found
            print("| " + " | ".join(row) + " |", flush=True)
            lines[at] = "| " + " | ".join(row) + " |"
        at += 1
    for i in range(head + 2, at):
        row = cells(lines[i])
        if row[0].startswith(("mean", "of the ten")):
            mean = means([cells(line) for line in lines[head + 2:i]], row[0].startswith("of the ten"), names, columns)
            for place, found in mean.items():
                compared += 1
                if not equal(row[place], found):
                    wrong.append(f"{row[0]}, {names[place]}: the page has {row[place]}, its rows {found}")
                    row[place] = found
            lines[i] = "| " + " | ".join(row) + " |"
    if o.update:
        PAGE.write_text("\n".join(lines))
    print(*wrong, f"{compared} cells compared, {len(wrong)} differ", sep="\n")
    return 1 if (wrong and not o.update) or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
