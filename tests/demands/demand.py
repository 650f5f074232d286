"""What every program of this folder does: prints its line and ends with 1 if our answer is not the truth."""

import importlib
import pathlib
import sys
import time

NAME = pathlib.Path(sys.argv[0]).stem


def text(x):
    """A number to five digits; a text as it is."""
    return x if isinstance(x, str) else f"{x:.5g}"


def tell(truth, ours, peer, near=1e-9, now=None):
    """Prints the line; ours: True (the truth), a number, equal to `near`, or a text. `now` is what differs between machines."""
    ours = truth if str(ours) == "True" else ours
    same = ours == truth if isinstance(truth, str) else abs(ours - truth) <= near * max(1, abs(truth))
    print(f"{NAME}: truth {text(truth)}, ours {text(ours)}, peer as reported {text(peer)}" + (f"; now: {now}" if now else ""))
    sys.exit(not same)


def least(f, times=7):
    """The least processor time of a call, in ms."""

    def one():
        start = time.process_time()
        f()
        return 1e3 * (time.process_time() - start)

    return min(one() for _ in range(times))


def needs(module):
    """The module; without it the program says so and ends with 77, which is a skip."""
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"{NAME}: skipped: no {module} here")
        sys.exit(77)


def torch_now(answer):
    """What the PyTorch at hand answers, with its version; None without it."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    try:
        return f"PyTorch {torch.__version__.split('+')[0]} {answer(torch)}"
    except Exception as error:
        return f"PyTorch {torch.__version__.split('+')[0]} raises {type(error).__name__}"
