"""Rows with labels from a table or a file, for readouts: attributes as numbers, as `mochi fit TABLE --label COLUMN` has them."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any, NamedTuple

import numpy as np

from .. import convert, errors
from .._library import ffi, lib
from ..context import Context, default_context
from ..convert import rows as forms
from .graph import Graph

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


class Rows(NamedTuple):
    """Rows [n, d] with a label each, or none.

    Attributes
    ----------
    x : numpy.ndarray
        float32 [n, d] (arrays keep their dtype): words as columns of 0 and 1, gaps filled and marked, columns of units on one scale.
    y : numpy.ndarray or None
        int64 [n], the classes 0 .. C - 1; -1: unknown. None: the file has no labels.
    classes : numpy.ndarray
        The names or numbers of the classes of `y`, [C].
    names : list or None
        The names of the rows; None: they are called 0 .. n - 1.
    columns : list of str or None
        The names of the columns of `x`.
    notes : tuple of str
        What became of the columns of a table, and what marked labels as unknown.
    """

    x: np.ndarray
    y: np.ndarray | None
    classes: np.ndarray
    names: list | None
    columns: list[str] | None
    notes: tuple[str, ...]


def rows(source: Any, label: str | None = None, context: Context | None = None) -> Rows:
    """Reads rows and their labels.

    Parameters
    ----------
    source : str, path or pandas.DataFrame
        A table: a DataFrame, or a file of CSV or TSV with a header, Parquet, Feather, ARFF or AnnData (.h5ad; `label` is a column of
        obs). Or a file of arrays, which stay as they are: svmlight (.svm, .libsvm, .svmlight), MATLAB (.mat), SciPy's save_npz.
    label : str
        The column that has the labels; of a .mat file the variable. An empty field, NaN, "NA", "None", "null", "?" and a negative
        number mean that the label is unknown: such rows are those to predict.

    A column with a name of its own for each row (headed id, name, .._id, or first and a text; or an index) has the names of the
    rows. All others are attributes, as those of a graph's nodes (`graph`); dates are refused.

    Source: train/graphs/load_rows.c

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"age": [20, 31, 46, None], "member": ["yes", "no", "yes", "no"], "buys": ["tea", "milk", "tea", None]})
    >>> rows = mochi.rows(table, label="buys")
    >>> rows.columns, rows.x.shape, rows.y.tolist(), rows.classes.tolist()
    (['age', 'member', 'age missing'], (4, 3), [1, 0, 1, -1], ['milk', 'tea'])
    """
    context = context or default_context()
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _of_frame(context, forms.spread(source), label, "rows")
    if not isinstance(source, (str, os.PathLike)):
        raise errors.InvalidError(f"rows: {type(source).__name__}, expected a path or a DataFrame of pandas")
    path = pathlib.Path(source)
    if str(path).lower().endswith(TABLES):
        return _of_table(context, path, label)
    if not path.exists():
        raise errors.FileError(f"{path}: no such file")
    try:
        table = forms.table_of(path, label)
        if table is not None:
            return _of_frame(context, table, label, path.name)
        X, y = forms.arrays_of(path, label)
        number, classes = (None, np.empty(0)) if y is None else forms.numbered(path, y)
    except convert.Refused as error:
        raise errors.FormatError(str(error)) from error
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(convert.needed(path, error), name=error.name) from error
    return Rows(X, number, classes, None, None, ())


def _of_frame(context, table, label, name):
    """The library reads a table from a file, so that there is one rule for its columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.csv"
        forms.write_table(table, path)
        try:
            return _of_table(context, path, label)
        except errors.Error as error:
            raise type(error)(str(error).replace(str(path), name)) from None


def _of_table(context, path, label):
    options = ffi.new("mo_feature_options *")
    column = ffi.NULL if label is None else ffi.new("char[]", str(label).encode())
    made = context.call(lib.gate_mo_rows_open, context._pointer, ffi.new("char[]", os.fsencode(path)), column, options)
    with Graph(context, made) as read:
        p = read._live()
        notes = tuple(ffi.string(text).decode() for text in (p.left_out, p.recoded, p.scaled) if text)
        x = read.x
        assert x is not None  # the library refuses a table without attributes
        return Rows(x, read.y, read.classes, read.names, read.columns, notes)
