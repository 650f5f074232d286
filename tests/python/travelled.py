"""Run by `travel` in an environment that has only the wheel: the guide's lines on Cora, on each level of kernels."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

LEVELS = ("v2", "v3", "v4")
GUIDE = pathlib.Path(sys.argv[1]).read_text()
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:\n((?:    .*\n)+))?", GUIDE, re.S)


def guides_lines():
    """The kernels that ran, and what the lines on Cora print, checked against the guide."""
    code, said = next((code, said) for code, said in BLOCKS if 'mochi.graph("cora")' in code)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    from mochi import _library

    printed = out.getvalue().splitlines()
    expected = [line.strip() for line in said.splitlines()]
    # Other kernels round differently, so the classes of a few nodes and the last digits of the estimate may differ.
    assert printed[0].split(",")[0].startswith("expected accuracy 7"), printed
    assert abs(float(printed[1]) - float(expected[1])) < 0.01, (printed, expected)
    return f"{_library.EXTENSION} {printed[0]}; {printed[1]}"


def in_a_process(level):
    """Runs the lines on the kernels of a level, or on the import's choice if it is None."""
    environment = {k: v for k, v in os.environ.items() if k != "MOCHI_KERNELS"} | ({"MOCHI_KERNELS": level} if level else {})
    command = [sys.executable, "-I", __file__, sys.argv[1], "here"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def main():
    from mochi import _library

    flags = _library.processor()[0]
    here = [level for level in LEVELS if _library.LEVELS[level] <= flags]
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
