#!/usr/bin/env python3
"""Makes tables of train/evaluation/results whose graphs are not embedded, or compares them; and their means in RESULTS.md.

Usage: tests/results.py MOCHI TABLE [ROW ..] [--update] [--cache FOLDER]
  TABLE      nodes, sets, training or refit
  ROW        graphs (default: all of them, which takes an hour or two)
  --update   writes what comes out into the table and the page, instead of comparing with them

Graphs lie in $MOCHI_SHARED/data (default ../shared/data); without it nothing is compared (77). Figures are compared to
the digit that is printed, but for one unit of it: sums are rounded in another order on other processors. Columns that
Mochi does not compute (logistic regression, GraphAny) stay as they are."""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "tools/report"))
import report  # noqa: E402
PAGE = ROOT / "train" / "evaluation" / "RESULTS.md"
FOLDER = PAGE.parent / "results"
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

# (heading above the means, files by graph, options of mochi eval, the k that are shown, computed columns). A column is a
# feature, or two whose difference is shown, with half its interval beside it.
TABLES = {
    "nodes": ("## Twenty-five graphs", ALIKE | OTHERS, "--task nc --episodes 40 --shots 1,2,4,16,64", (4, 16, 64),
              {"best": "trained", "untrained": "random", "best hop ridge": "hop", "hop 0 ridge": "x0"}),
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


def cells(column, of, figures, k):
    """The cells of a column in the row of k, {name: text}."""
    mean, pair = figures
    if isinstance(of, str):
        return {f"{column} %": f"{mean[of, k]:.1f}"}
    difference, half = pair[(*of, k)]
    return {f"{column} points": f"{difference:+.1f}", f"± {column}": f"{half:.1f}"}


def equal(written, found):
    return written == found or "" not in (written, found) and abs(float(written) - float(found)) < 0.11


def mean_of(rows, column, shots):
    """The means of a column at each k, as the page has them; a dash where a graph has no figure."""
    name = next(name for name in (f"{column} %", f"{column} points") if name in rows[0])
    out = []
    for k in shots:
        figures = [row[name] for row in rows if row["k"] == str(k)]
        if "" in figures:
            return "–"
        out.append(("%+.1f" if name.endswith("points") else "%.1f") % (sum(map(float, figures)) / len(figures)))
    return ", ".join(out)


def of_page(rows, heading, shots):
    """The page with the means of the rows, and what differed."""
    lines, wrong = PAGE.read_text().split("\n"), []
    start = next(i for i, line in enumerate(lines) if line.startswith(heading))
    head = next(i for i in range(start, len(lines)) if lines[i].startswith("| "))
    names, at = [cell.strip() for cell in lines[head].strip("|").split("|")], head + 2
    while lines[at].startswith("|"):
        row = [cell.strip() for cell in lines[at].strip("|").split("|")]
        some = [r for r in rows if "ten" not in row[0] or r["graph"] in ALIKE]
        found = [row[0]] + [mean_of(some, name, shots) for name in names[1:]]
        wrong += [f"{row[0]}, {name}: the page has {a}, its table {b}" for name, a, b in zip(names, row, found) if a != b]
        lines[at] = "| " + " | ".join(found) + " |"
        at += 1
    return "\n".join(lines), wrong


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
    table = FOLDER / f"{o.table}.csv"
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    wrong, compared = [], 0
    for name in dict.fromkeys(row["graph"] for row in rows):
        path = find(files[name]) if not o.rows or name in o.rows else None
        figures = evaluate(o.mochi, path, options, o.cache) if path else None
        for row in (row for row in rows if path and row["graph"] == name):
            for column, of in columns.items():
                for cell, found in cells(column, of, figures, int(row["k"])).items():
                    compared += 1
                    if not equal(row[cell], found):
                        wrong.append(f"{name}, k = {row['k']}, {cell}: the table has {row[cell]}, found {found}")
                        row[cell] = found
            print(*row.values(), sep=",", flush=True)
    page, of_means = of_page(rows, heading, shots)
    if o.update:
        PAGE.write_text(page)
        with open(table, "w", newline="") as file:
            out = csv.DictWriter(file, rows[0], lineterminator="\n")
            out.writeheader()
            out.writerows(rows)
    print(*wrong, *of_means, f"{compared} cells compared, {len(wrong)} differ", sep="\n")
    return 1 if (wrong + of_means and not o.update) or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
