#!/usr/bin/env python3
"""Compares the recipes `paper` and `paper++`, the suites, the pools and the evaluation with the article, setting by
setting.

article.json quotes the article in a few words; where the article leaves a value open, `reading` says what mochi
assumes. The recipes are read from the run.json of runs that are stopped as soon as it is written; the shares of the
evaluation are computed from its counts in `mochi eval`. If the article's text is present (MOCHI_SHARED, default
../shared), every quotation must occur in it.

Usage: test_article.py MOCHI"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

MOCHI = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "train", "data")
TASKS = ("nc", "lp", "gc")


def recipe(name):
    """The run that `mochi train --recipe NAME` would do, from the run.json that it writes before its first step."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run", "run.json")
        words = [MOCHI, "train", "--quiet", "--recipe", name, "--pool", "mutag", "--out", os.path.dirname(path)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(path) and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        said = process.communicate()[1]
        assert os.path.exists(path), f"{' '.join(words)}: {said.decode()}"
        run = json.load(open(path))
    run["settings"].setdefault("families", [1, 1, 1])  # only written if the weights differ
    return run


def lines(name):
    """A file's lines, split into words: a dict of settings by their first word, and the other lines."""
    words = [line.split() for line in open(os.path.join(DATA, name)) if line.strip() and line[0] != "#"]
    settings = {w[0]: w[1:] for w in words if w[0] in ("link_share", "families", "protocol", "seeds", "heads")}
    return settings, [w for w in words if w[0] not in settings]


def pool(name):
    """A pool's settings, and its data sets' names by task."""
    settings, graphs = lines(f"{name}.pool")
    graphs = [(w[0].split(":")[0], w[0].split(":")[1].split("+")) for w in graphs]
    read = {"link_share": float(settings["link_share"][0]), "families": dict(zip(TASKS, map(int, settings["families"])))}
    read.update({task: sorted(g for g, tasks in graphs if task in tasks) for task in TASKS}, graphs=graphs)
    return read


def suite(name):
    """A suite's settings; by task its data sets' names, and every k that any of them has."""
    settings, tasks = lines(f"{name}.suite")
    read = {"protocol": settings["protocol"][0], "seeds": int(settings["seeds"][0]), "heads": settings["heads"], "tasks": tasks}
    for task in TASKS:
        of = [t for t in tasks if t[0].endswith(":" + task)]
        read[task] = {"data": sorted(t[0].split(":")[0] for t in of), "k": sorted({int(k) for t in of for k in t[1:]})}
    return read


def evaluation():
    """The shares of examples that an evaluation of Cora and MUTAG uses, to two digits."""
    words = [MOCHI, "eval", "--weights", "none", "--dim", "8", "--data", "cora,mutag", "--head", "ridge", "--hop", "0",
             "--seeds", "1", "--shots", "4", "--json", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    data, tested = {}, {}
    for line in map(json.loads, done.stdout.splitlines()):
        if line["kind"] == "data":
            data[line["task"]] = line
        elif line["kind"] == "cell":
            tested[line["task"]] = line["n_test"]
    edges, held_out, links = data["lp"]["edges"], data["lp"]["held_out"], tested["lp"] / 2  # and as many non-edges
    return {"nc": {"test_share": round(tested["nc"] / data["nc"]["nodes"], 2)},
            "gc": {"test_share": round(tested["gc"] / data["gc"]["graphs"], 2)},
            "lp": {"test_share": round(links / edges, 2),
                   "fitted_share": round((held_out - links) / (edges - links), 2)}}


def member(document, key):
    for word in key.split("."):
        document = document[word]
    return document


def check_settings(entries):
    documents = {"paper": recipe("paper"), "paper++": recipe("paper++"), "pool": pool("paper"), "suite": suite("paper"),
                 "evaluation": evaluation()}
    wrong = []
    for entry in entries:
        for of in entry["of"]:
            found = member(documents[of], entry["key"])
            if found != entry["value"]:
                wrong.append(f"{of}: {entry['key']} is {found}, expected {entry['value']}: "
                             f"\"{entry.get('quotation', '')}\" {entry.get('reading', '')}")
    assert not wrong, "\n".join(wrong)


def check_offline():
    """The quick suite and pool are subsets of the full ones with the same settings."""
    whole, part = suite("paper"), suite("paper-offline")
    assert part["tasks"] and all(task in whole["tasks"] for task in part["tasks"])
    assert all(part[key] == whole[key] for key in ("protocol", "seeds", "heads"))
    whole, part = pool("paper"), pool("paper-offline")
    assert part["graphs"] and all(graph in whole["graphs"] for graph in part["graphs"])
    assert all(part[key] == whole[key] for key in ("link_share", "families"))


def check_quotations(entries):
    shared = os.environ.get("MOCHI_SHARED", os.path.join(HERE, "..", "..", "..", "shared"))
    texts = [" ".join(open(path).read().split()) for path in glob.glob(os.path.join(shared, "paper", "*.txt"))]
    if not texts:
        return "skipped: no article below MOCHI_SHARED, so its quotations were not looked for"
    quotations = [entry["quotation"] for entry in entries if "quotation" in entry]
    missing = [q for q in quotations if not any(q in text for text in texts)]
    assert not missing, "not in the article: " + "; ".join(missing)
    return f"{len(quotations)} quotations stand in the article"


def main():
    entries = json.load(open(os.path.join(HERE, "article.json")))
    for entry in entries:
        assert entry.get("quotation") or entry.get("reading"), f"{entry['key']}: neither quotation nor reading"
    check_settings(entries)
    check_offline()
    print(f"{len(entries)} settings are those of the article; {check_quotations(entries)}")


main()
