"""What people asked of other projects: the programs of tests/demands, and the page made of them."""

import pathlib
import re
import sys

import pytest

DEMANDS = pathlib.Path(__file__).resolve().parents[1] / "demands"
sys.path.insert(0, str(DEMANDS))
import guide  # noqa: E402


@pytest.mark.parametrize("name", guide.NAMES)
def test_a_demand_is_answered(name):
    status, line = guide.run(name)
    if status == 77:
        pytest.skip(line)
    assert status == 0, line
    assert re.fullmatch(rf"{name}: truth .+, ours .+, peer as reported .+", line)


def test_the_guide_has_every_demand():
    assert sorted(guide.NAMES) == sorted(p.stem for p in DEMANDS.glob("*.py") if p.stem not in ("demand", "guide"))
    assert [name for name in guide.NAMES if f"`{name}.py`" not in guide.page()] == []
