"""The notebooks: every cell of a page runs; if nbclient and matplotlib are installed, the notebook made of the page has
its figures."""

import functools
import json
import os
import pathlib
import re
import sys
import types

import mochi
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools/python/notebooks"
sys.path.insert(0, str(FOLDER))
import notebook  # noqa: E402  splits a page into cells

NOTEBOOKS = sorted(FOLDER.glob("*.md"))
FIGURES = {"exercises": 0, "lecture": 1, "meta_learning": 0, "own_head": 0, "pitfalls": 2, "rank": 0}

OF_TORCH = ("meta_learning",)

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_all_notebooks_are_known():
    assert {path.stem for path in NOTEBOOKS} == set(FIGURES)


class NoFigure:
    """Replaces an axis, a figure or a legend of matplotlib; accepts every call."""

    def __call__(self, *args, **named):
        return NoFigure()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NoFigure()

    def __iter__(self):
        return iter(())


def subplots(rows=1, columns=1, **named):
    n = rows * columns
    return NoFigure(), NoFigure() if n == 1 else [NoFigure() for _ in range(n)]


@notebooks
def test_every_cell_runs(path, monkeypatch, capsys):
    """Runs a page's cells in this process as one script without figures; assertions in the notebooks check their
    results."""
    torch = pytest.importorskip("torch") if path.stem in OF_TORCH else None
    pyplot = types.SimpleNamespace(subplots=subplots)
    for name, module in (("matplotlib", types.SimpleNamespace(pyplot=pyplot)), ("matplotlib.pyplot", pyplot)):
        monkeypatch.setitem(sys.modules, name, module)
    before = mochi.default_context()
    names = {"__name__": "__main__"}
    try:
        for kind, source in notebook.cells(path.read_text()):
            if kind == "code":
                exec(compile(source, path.name, "exec"), names)
    finally:
        mochi.set_default_context(before)
        if torch:
            torch.set_default_dtype(torch.float32)
    said = capsys.readouterr().out
    assert said
    if path.stem == "pitfalls":
        expect_figures_of_another_program(names)
        expect_what_the_pitfalls_say(names)
    if path.stem == "lecture":
        rows = names["rows"]
        assert rows["unrolled"][-1][0] < 1e-6 and rows["implicit"][-1][0] < 1e-6
        assert rows["unrolled"][-1][2] > 10 * rows["implicit"][-1][2]
    if path.stem == "own_head":
        at_20 = {row["head"]: row["accuracy"] for row in names["table"] if row["k"] == 20}
        assert names["losses"][-1] < 0.75 * names["losses"][0] and at_20["kernel_ridge_trained"] > at_20["ridge"] + 20
    if path.stem == "exercises":
        expect_a_strict_judge(names, said, capsys)


def expect_a_strict_judge(names, said, capsys):
    """The page's empty functions are refused with a hint, its solutions accepted; a right value without its gradient
    and a result of another shape are refused too. An Op answers by its name; what has no name of an exercise is told so."""
    verdicts = re.findall(r"^(\w+): (not yet|right)", said, re.M)
    assert verdicts == [(name, what) for what in ("not yet", "right") for name in names["EXERCISES"]] and said.count("hint: ") == 10

    def weighted(X, y, lam, a):
        return names["weighted"](X.detach(), y, lam, a)

    right = names["leave_one_out"]

    def leave_one_out(X, y, lam):
        return right(X, y, lam).reshape(1, 4)

    assert not names["judge"](weighted) and not names["judge"](leave_one_out)
    assert names["judge"](names["congruence_op"])
    unnamed = [lambda X, y, lam, a: y, mochi.Op(lambda X: X, lambda Y_bar, Y, X: (Y_bar,), name="identity"), functools.partial(weighted)]
    for answer in unnamed:
        assert not names["judge"](answer)
    said = capsys.readouterr().out
    print(said)
    assert said.count(": not judged: ") == 3 and said.count("one of tempered, weighted, ") == 3 and "identity: not" in said


def expect_what_the_pitfalls_say(names):
    """Shifted prototypes fall to chance; A loses its recall though its prototype stays outside the hull; one temperature helps a
    little, the logistic much more."""
    means = {name: np.mean(values, 0) for name, values in names["origin"].items()}
    assert np.all(np.diff(means["prototype"]) <= 0) and means["prototype"][0] > 0.999 and means["prototype"][-1] == 0.5
    assert np.all(means["ridge"] > 0.999)
    m = {name: np.mean(values, 0) for name, values in names["hull"].items()}
    assert m["prototype_recall_A"][0] > 0.98 and m["prototype_recall_A"][-1] == 0 and m["prototype_recall_B"][-1] == 1
    assert abs(m["prototype_accuracy"][-1] - 2 / 3) < 1e-9 and m["ridge_accuracy"][-1] > m["prototype_accuracy"][-1] + 0.05
    assert np.all(abs(m["hull_distance"] - 1.5) < 0.2) and np.all((0.75 < m["ridge_recall_A"]) & (m["ridge_recall_A"] < 0.88))
    for of in names["calibration"].values():
        prototype, tempered, logistic = (np.array(of[f"ece_{name}"]) for name in ("prototype", "temperature", "logistic"))
        assert prototype.mean() > 1.3 * tempered.mean() and logistic.mean() < 0.003
        assert sum(prototype > tempered) >= 17 and sum(tempered > logistic) >= 17


def expect_figures_of_another_program(names):
    """Both programs' means are over 20 seeds with different draws: they differ by at most five standard errors of the difference,
    or 0.001 if the draws do not vary."""
    theirs = json.loads((ROOT / "tests/golden/synthetic.json").read_text())
    found = [(theirs["translation"][name], theirs["translation"].get(f"{name}_sd"), values) for name, values in names["origin"].items()]
    hull, sds = theirs["convex_hull"], theirs["convex_hull"]["sd"]
    found += [(hull[name], sds.get(name), values) for name, values in names["hull"].items() if name in hull]
    for setting, figures in names["calibration"].items():
        part = theirs["calibration"][setting]
        for name, values in figures.items():
            key = name.replace("logistic", "logreg")
            found.append((part[key], part.get("sd", {}).get(key), values))
    assert len(found) == 2 + 9 + 2 * 4 and list(names["T"]) == theirs["translation"]["t"] and list(names["DELTA"]) == hull["delta"]
    for mean, sd, values in found:
        error = np.hypot(np.std(values, axis=0, ddof=1), 0 if sd is None else sd) / np.sqrt(20)
        assert np.all(abs(np.mean(values, axis=0) - mean) <= 5 * error + 1e-3), (mean, np.mean(values, axis=0))


@notebooks
def test_the_notebook_is_a_page_with_figures(path, tmp_path):
    """Runs each notebook and checks its outputs; saves it if MOCHI_NOTEBOOK_PAGES names a folder."""
    for needed in ("nbclient", "ipykernel", "torch" if path.stem in OF_TORCH else "matplotlib"):
        pytest.importorskip(needed)
    import nbclient
    import nbformat

    made = nbformat.reads(notebook.notebook(path.read_text()), as_version=4)
    nbformat.validate(made)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(made, timeout=600, kernel_name="python3", resources=where).execute()
    outputs = [output for cell in made.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == FIGURES[path.stem]
    if os.environ.get("MOCHI_NOTEBOOK_PAGES"):
        nbformat.write(made, os.path.join(os.environ["MOCHI_NOTEBOOK_PAGES"], path.stem + ".ipynb"))
