"""The cheat sheet for users of PyTorch: both expressions of a row have the same values, and every name in it exists."""

import pathlib
import re

import mochi
import numpy as np
import pytest
from mochi import ops

try:
    import torch
except ImportError:
    torch = None

SHEET = (pathlib.Path(__file__).resolve().parents[2] / "tools/python/PYTORCH.md").read_text()
ROWS = re.findall(r"^\| `(.+)` \| `(.+)` \|$", SHEET.partition("## Gradients")[0], re.M)

rng = np.random.default_rng(0)
G = rng.normal(size=(2, 3, 3))
ARRAYS = {
    "A": G @ G.transpose(0, 2, 1) + np.eye(3), "B": rng.normal(size=(2, 3, 2)), "X": rng.normal(size=(4, 3)),
    "Y": rng.normal(size=(4, 3)), "label": np.array([0, 2, 1, 1]), "index": np.array([3, 0, 3]),
}  # fmt: skip


def results(code, names):
    found = eval(code, names)
    return found if isinstance(found, tuple) else (found,)


rows = pytest.mark.parametrize(("theirs", "ours"), ROWS, ids=[ours for _, ours in ROWS])


def ours_of(ours):
    """The values of a row's mochi expression, after a check that their gradients exist."""
    leaves = {name: mochi.parameter(a) if a.dtype.kind == "f" else a for name, a in ARRAYS.items()}
    with mochi.Tape() as tape:
        found = results(ours, {"ops": ops, "mochi": mochi, **leaves})
        for x in found:
            if x.requires_grad:
                bars = tape.grad(x, [leaves["X"], leaves["A"]], retain=True, allow_unused=True)
                assert all(np.isfinite(bar.numpy()).all() for bar in bars)
        return [x.numpy() for x in found]


@rows
def test_a_row_runs(theirs, ours):
    assert all(np.isfinite(value).all() for value in ours_of(ours))


@pytest.mark.skipif(torch is None, reason="no PyTorch")
@rows
def test_a_row_has_the_same_values(theirs, ours):
    names = {"torch": torch, "F": torch.nn.functional, **{name: torch.from_numpy(a) for name, a in ARRAYS.items()}}
    for a, b in zip(ours_of(ours), results(theirs, names), strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-10, atol=1e-12)


def test_rows_are_found():
    assert len(ROWS) == SHEET.partition("## Gradients")[0].count("\n| `") > 20


def test_every_name_of_the_sheet_is_there():
    names = set(re.findall(r"(?<![\w.])mochi\.([a-zA-Z_]\w*)", SHEET)) - {"torch"}
    assert {"Tape", "Op", "recompute"} <= names and all(hasattr(mochi, name) for name in names)
    for method in set(re.findall(r"\btape\.(\w+)", SHEET)):
        assert hasattr(mochi.Tape, method)
