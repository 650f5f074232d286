"""Run by `travel` in an environment that has only the wheel: the guide's lines on Cora, on each level of kernels."""

import os
import pathlib
import re
import subprocess
import sys

LEVELS = ("v2", "v3", "v4")


def guides_lines():
    """The kernels that ran, and how many classes the lines on Cora find, compared with what the guide says."""
    guide = pathlib.Path(sys.argv[1]).read_text()
    code = next(code for code in re.findall(r"```python\n(.*?)```", guide, re.S) if 'mochi.graph("cora")' in code)
    lines = {}
    exec(code, lines)
    from mochi import _library

    cora, labels, classes = (lines[name] for name in ("cora", "labels", "classes"))
    others = [i for i in range(len(classes)) if i not in labels]
    found = 100 * sum(classes[i] == cora.y[i] for i in others) / len(others)
    expected = float(re.search(r"labels \d+ of \d+ are as predicted: ([\d.]+)%", guide)[1])
    # Other kernels round differently, so the classes of a few nodes may differ.
    assert abs(found - expected) < 1, (found, expected)
    return f"{_library.EXTENSION} {found:.1f}% of {len(others)}"


def in_a_process(level):
    """Runs the lines on the kernels of a level, or on the import's choice if it is None."""
    environment = {k: v for k, v in os.environ.items() if k != "MOCHI_KERNELS"} | ({"MOCHI_KERNELS": level} if level else {})
    command = [sys.executable, "-I", __file__, sys.argv[1], "here"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def main():
    from mochi import _library

    here = [level for level in LEVELS if _library.LEVELS[level] <= _library.instructions()]
    for level in here:
        found = in_a_process(level)
        print(f"{level}: {found}")
        assert found.startswith(f"mochi._kernels_{level} ")
    best = in_a_process(None)
    assert best.startswith(f"mochi._kernels_{here[-1]} "), best
    print(f"chosen: {here[-1]}; not on this processor: {', '.join(set(LEVELS) - set(here)) or 'none'}")
    data = pathlib.Path(_library._module.__file__).parent / "mochi-data"
    data.rename(data.with_name("elsewhere"))
    import mochi

    try:
        mochi.graph("cora")
    except mochi.Error:
        print("without the wheel's folder mochi-data there is no Cora: it came from the wheel")
    else:
        raise AssertionError("Cora came from elsewhere than the wheel: is a library of yours installed?")


if len(sys.argv) > 2:
    print(guides_lines())
else:
    main()
