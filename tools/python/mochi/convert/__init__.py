"""Graphs and rows as other programs write them: read here, and written in the forms that every door of mochi reads.

    python3 -m mochi.convert GRAPH OUT.npz
    python3 -m mochi.convert ROWS OUT.csv|OUT.npz|OUT.npy [--label NAME]

GRAPH is a file or a folder; `FORMS` lists what is read, and `form_of` recognises it. Names of nodes and weights of edges are kept.
ROWS are for `mochi readouts` (rows.py): a table becomes .csv, an array .npz with Z and y, or .npy without labels; NAME is that of the
labels, where a file does not say which they are.
Needs NumPy, and for most forms networkx, SciPy or pandas: what is missing is named. The package stands alone, so that it also
runs as a folder, `python3 FOLDER/convert IN OUT.npz`, where no `mochi` is installed.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from . import matrices, networks, releases, rows
from .archive import write_npz, write_whole
from .unpickle import Refused

__all__ = ["FORMS", "Form", "Refused", "convert", "form_of", "main", "members_of", "needed"]
OTHER_NAMES = {"sklearn": "scikit-learn"}  # of a module's package in PyPI
NOT_IN_DEBIAN = {"pyarrow"}  # 12


class Form(NamedTuple):
    """A form of graphs: its name, whether a path is of it, and the members of mochi's .npz for a path."""

    name: str
    fits: Callable[[pathlib.Path], bool]
    read: Callable[[pathlib.Path], dict[str, Any]]


FORMS = [Form(*form) for form in (*networks.FORMS, *releases.FORMS, *matrices.FORMS, *networks.OF_FOLDERS)]


def form_of(path) -> Form | None:
    """The form of a file or folder; None: it is none of these, or one that mochi reads itself."""
    path = pathlib.Path(path)
    return next((form for form in FORMS if form.fits(path)), None)


def members_of(path) -> dict[str, Any]:
    """The members of mochi's .npz. Raises `Refused`, OSError, or ModuleNotFoundError for a package that is not there."""
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    form = form_of(path)
    if not form:
        known = ", ".join(form.name for form in FORMS)
        raise Refused(f"{path}: expected one of {known}; found none of them (npz, tables and TU folders are read as they are)")
    return form.read(path)


def needed(source, error) -> str:
    """The sentence on a package that is not there."""
    module = error.name.partition(".")[0]
    package = OTHER_NAMES.get(module, module)
    debian = "" if module in NOT_IN_DEBIAN else f" (Debian: apt-get install python3-{module})"
    return f"{source} needs {package}: pip install {package}{debian}"


def convert(source, out, label=None) -> None:
    """Writes the graph as .npz, or rows for `mochi readouts`, whole or not at all; a Matrix Market file as .npy are features."""
    path = pathlib.Path(source)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    if label is not None or rows.are_rows(path) or (path.suffix == ".npz" and str(out).endswith(".npy")):
        rows.convert_rows(path, out, label)
    elif str(out).endswith(".npy"):
        import numpy

        table = matrices.features_of(path)
        write_whole(out, lambda file: numpy.save(file, table, allow_pickle=False))
    elif str(out).endswith(".npz"):
        write_npz(out, members_of(source))
    else:
        raise Refused(f"{out}: expected a name that ends in .npz, or in .npy for features")


def main(arguments) -> int | str:
    """Runs the command line; returns the exit status, or the line that says what is wrong."""
    words, label = list(arguments), None
    if "--label" in words[:-1]:
        at = words.index("--label")
        label = words[at + 1]
        del words[at : at + 2]
    if len(words) != 2 or words[0].startswith("-"):
        return f"{__doc__}\nForms: of graphs {', '.join(form.name for form in FORMS)}; of rows {', '.join(rows.NAMES)}."
    try:
        convert(words[0], words[1], label)
    except ModuleNotFoundError as error:
        return f"mochi.convert: {needed(words[0], error)}"
    except (Refused, OSError, EOFError) as error:
        return f"mochi.convert: {error}"
    return 0


if sys.version_info < (3, 9):
    raise ImportError("mochi.convert needs Python 3.9")
