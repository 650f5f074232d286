"""Training from Python: the weights equal the program's byte by byte; progress, Ctrl-C, and resumed runs."""

import inspect
import json
import os
import signal
import subprocess
import sys
import threading

import mochi
import numpy as np
import pytest
from mochi.graphs.recipes import Recipe

PROGRAM = os.environ.get("MOCHI_PROGRAM", "")
program = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="no program mochi beside the library")
SMALL = {"pool": ["mutag"], "steps": 4, "k": (2, 4), "q": 3}


@program
@pytest.mark.parametrize("recipe", ["best", "paper"])
def test_the_program_writes_the_same_bytes(tmp_path, recipe):
    own = {} if recipe == "best" else {"dim": 16}
    run = mochi.train(tmp_path / "a", recipe=recipe, progress=False, **SMALL, **own)
    command = [PROGRAM, "train", "--recipe", recipe, "--pool", "mutag", "--steps", "4", "--k", "2:4", "--q", "3:3", "--quiet"]
    command += [word for name, value in own.items() for word in (f"--{name}", str(value))]
    subprocess.run([*command, "--out", tmp_path / "b"], check=True, capture_output=True)
    assert run.finished and [step.step for step in run.history] == [0, 1, 2, 3]
    a, b = ((tmp_path / name / "weights.safetensors").read_bytes() for name in "ab")
    assert a == b
    settings = [json.loads((tmp_path / name / "run.json").read_text())["settings"] for name in "ab"]
    assert settings[0] == settings[1]


@program
@pytest.mark.parametrize("recipe", ["best", "paper", "paper++", "released"])
def test_the_recipes_are_the_programs(tmp_path, recipe):
    """train/run/recipe.c and mochi/graphs/recipes.py agree on every setting except steps and dim, which the test
    passes."""
    own = {"steps": 1} if recipe == "best" else {"steps": 1, "dim": 16}
    words = [word for name, value in own.items() for word in (f"--{name}", str(value))]
    command = [PROGRAM, "train", "--recipe", recipe, "--pool", "mutag", "--quiet", "--out", tmp_path / "run", *words]
    subprocess.run(command, check=True, capture_output=True)
    theirs = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert json.loads(Recipe(recipe, ["mutag"], **own).text()) == theirs


def test_a_run_is_loaded_and_read(tmp_path):
    mutag = mochi.graph("mutag")
    steps = []
    run = mochi.train(tmp_path / "run", **{**SMALL, "pool": [(mutag, "gc")]}, progress=steps.append, head="ridge", lr=0.1)
    assert steps == run.history and steps[0].steps == 4 and set(steps[0].accuracy) == {"gc"} and "step 1 of 4" in str(steps[0])
    assert [step.lr for step in steps] == pytest.approx([mochi.cosine(0.1, 0.0, i, 4) for i in range(4)])
    trained = run.load()
    assert trained.recipe == "best" and np.isfinite(trained.embed(mutag)).all()
    before, after = mochi.load("best").parameters, trained.parameters
    assert any(not np.array_equal(before[name], after[name]) for name in before if name in after)


def test_a_run_stops_and_goes_on_to_the_same_weights(tmp_path):
    whole = mochi.train(tmp_path / "whole", progress=False, **SMALL)
    part = mochi.train(tmp_path / "part", progress=lambda step: step.step < 1, **SMALL)
    assert not part.finished and len(part.history) == 2
    with pytest.raises(mochi.StateError, match="not finished"):
        part.load()
    with pytest.raises(LookupError, match="mine"):
        mochi.train(tmp_path / "part", progress=raises(LookupError("mine")), resume=True, **SMALL)
    rest = mochi.train(tmp_path / "part", progress=False, resume=True, **SMALL)
    assert rest.finished and [step.step for step in rest.history] == [3]
    a, b = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "part"))
    assert a == b and whole.finished


def own_ridge(name):
    """A head written in Python as the library's ridge is, in float32 and float64."""

    def logits(Zs, Ys, Zq, lam):
        A, B = mochi.ops.append_ones(Zs), mochi.ops.append_ones(Zq)
        return (B @ A.mT) @ mochi.ops.solve_spd(mochi.ops.add_diag(A @ A.mT, lam), Ys)

    return mochi.Head(name, logits=logits, parameters={"lambda": (10.0, 0.0, 1e6)})


@pytest.mark.parametrize("recipe", ["best", "paper"])
def test_a_head_of_python_is_trained_through(tmp_path, recipe):
    own = own_ridge(f"trained_ridge_{recipe.strip('+')}")
    assert own.check(), own.check().worst
    size = {} if recipe == "best" else {"dim": 16}
    runs = [
        mochi.train(tmp_path / name, recipe=recipe, head=head, lam=3.0, progress=False, **SMALL, **size)
        for name, head in (("own", own), ("theirs", "ridge"))
    ]
    assert all(run.finished for run in runs)
    losses = [[step.loss for step in run.history] for run in runs]
    np.testing.assert_allclose(*losses, rtol=1e-3)
    assert json.loads((tmp_path / "own" / "run.json").read_text())["settings"]["head"] == own.name
    mutag = mochi.graph("mutag")
    rows = [run.load().embed(mutag) for run in runs]
    np.testing.assert_allclose(*rows, rtol=2e-2, atol=1e-3)
    fit = runs[0].load().few_shot(mutag, np.arange(188) < 40, head=own)
    assert np.isfinite(fit.logits()).all() and fit.estimate.held_out == 40


def test_a_head_of_python_is_scored_beside_the_librarys():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    Z = 2 * np.eye(4)[y] + rng.normal(size=(120, 4))
    rows = mochi.few_shot_score(Z, y, [own_ridge("scored_ridge"), "ridge"], shots=(2, 8), episodes=10, queries=10, lam=10.0)
    by_head = {head: [row["accuracy"] for row in rows if row["head"] == head] for head in ("scored_ridge", "ridge")}
    assert by_head["scored_ridge"] == by_head["ridge"] and by_head["ridge"][1] > 60


def test_an_exception_of_a_head_ends_the_training(tmp_path):
    def broken(Zs, Ys, Zq):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        mochi.train(tmp_path / "run", head=mochi.Head("broken_in_training", logits=broken), progress=False, **SMALL)


def raises(exception):
    def progress(step):
        raise exception

    return progress


def test_ctrl_c_stops_behind_a_step(tmp_path):
    def progress(step):
        if step.step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background job starts with SIGINT ignored
    try:
        run = mochi.train(tmp_path / "run", progress=progress, **{**SMALL, "steps": 50})
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert not run.finished and 2 <= len(run.history) <= 3
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_another_thread_trains(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(mochi.train(tmp_path / "run", progress=False, **SMALL)))
    thread.start()
    thread.join()
    assert found[0].finished


def test_progress_is_a_bar_or_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    mochi.train(tmp_path / "lines", **SMALL)
    said = capsys.readouterr().out
    assert "features: mutag:gc" in said and "step 4 of 4: loss" in said
    monkeypatch.undo()
    pytest.importorskip("tqdm")
    mochi.train(tmp_path / "bar", **SMALL)
    assert "4/4" in capsys.readouterr().err


def test_wrong_arguments_say_so(tmp_path):
    for wrong, message in (
        ({"recipe": "worst"}, "expected 'paper'"), ({"temperature": "hot"}, "expected logit or embed"),
        ({"steps": 0}, "steps is 0"), ({"pool": ["no-such-graph"]}, "no-such-graph"), ({"head": "none"}, "expected one of"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mochi.train(tmp_path / "run", progress=False, **{**SMALL, **wrong})
    best, paper = {"recipe": "best"}, {"recipe": "paper", "dim": 8}
    for without_effect, message in (
        ({**best, "layers": 2}, "layers is 2: the recipe best has its own encoder"), ({**best, "dropout": 0.5}, "dropout is 0.5: "),
        ({**best, "lam": 2.0}, "name another head or recipe"), ({**best, "temperature": "embed"}, "temperature is 'embed': "),
        ({**paper, "lam": 2.0, "head": "prototype_inner"}, "no parameter of that name"), ({**paper, "lam": -1}, "lam is -1"),
        ({**paper, "lam": 0}, "lam is 0: expected a number above 0"),
        ({**paper, "lam": float("nan")}, "lam is nan"), ({**best, "lr": 0.01, "lr_min": 0.1}, "lr_min is 0.1: expected at most the rate of lr"),
        ({**best, "lr_min": float("inf")}, "lr_min is inf"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mochi.train(tmp_path / "run", progress=False, **{**SMALL, **without_effect})
    with pytest.raises(TypeError, match="unknown option 'stpes'"):
        mochi.train(tmp_path / "run", stpes=3)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("")
    with pytest.raises(mochi.Error, match="mine.txt|empty"):
        mochi.train(tmp_path / "full", progress=False, **SMALL)


def test_every_setting_is_a_keyword():
    """What the program writes to run.json under "settings" can be given to `mochi.train`, and comes out unchanged."""
    for name in ("paper", "best"):
        settings = json.loads(Recipe(name, ["mutag"]).text())
        given = {key.replace("lambda", "lam"): value for key, value in settings.items() if key not in ("recipe", "pool")}
        assert len(given) > 12 and json.loads(Recipe(name, ["mutag"], **given).text()) == settings
        assert set(given) <= set(inspect.signature(mochi.train).parameters)
        other = json.loads(Recipe(name, ["mutag"], weight_decay=0.5, steps=None, k=(3, 4), attributes="raw").text())
        assert (other["weight_decay"], other["k"], other["attributes"]) == (0.5, [3, 4], "raw")
