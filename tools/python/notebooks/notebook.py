"""Makes Jupyter notebooks from the pages of this folder: each block of Python becomes a code cell, the text between a text cell.

Usage: notebook.py PAGE.md... [--out FOLDER]      writes PAGE.ipynb into the folder, the current one if none is named
"""

import argparse
import json
import pathlib
import re


def cells(page):
    """(kind, source) of each cell of a page, in order."""
    for i, part in enumerate(re.split(r"^```python\n(.*?)^```$", page, flags=re.M | re.S)):
        if part.strip():
            yield ("code" if i % 2 else "markdown"), part.strip("\n")


def notebook(page):
    """The notebook of a page, as JSON."""
    own = {"code": {"outputs": [], "execution_count": None}, "markdown": {}}
    made = [{"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": source, **own[kind]}
            for i, (kind, source) in enumerate(cells(page))]  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Jupyter notebooks of pages")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", default=".", type=pathlib.Path)
    given = parser.parse_args()
    for path in given.pages:
        (given.out / path.name).with_suffix(".ipynb").write_text(notebook(path.read_text()) + "\n")
