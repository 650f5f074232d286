"""Rows with labels, as `mochi readouts` and `mochi.rows` take them: tables become .csv, arrays .npz with Z and y, or .npy.

A form of tables is read as a pandas.DataFrame, whose columns the library reads as attributes; a form of arrays as numbers [n, d].
"""

import csv
import gzip
import re

import numpy

from .archive import is_unknown, require, write_npz, write_whole
from .unpickle import Refused

LARGEST = 2**32  # bytes of rows that were sparse

# ---- tables ----


def chosen(path, label, names):
    """Refuses a label that is none of the names; None: it is not asked for."""
    if label is not None:
        require(label in names, path, f"labels named {label!r}", f"{', '.join(map(str, list(names)[:12])) or 'none'}{', ..' if len(names) > 12 else ''}")


def spread(table):
    """A table whose columns of lists of numbers, all of one length, are a column for each number."""
    import pandas

    parts = []
    for i, name in enumerate(table.columns):
        values = table.iloc[:, i]
        if values.dtype == object and len(values) and all(isinstance(x, (list, tuple, numpy.ndarray)) for x in values) and len({len(x) for x in values}) == 1:
            values = pandas.DataFrame(numpy.stack([numpy.asarray(x) for x in values]), index=table.index).add_prefix(f"{name}.")
        parts.append(values)
    return pandas.concat(parts, axis=1) if parts else table


def _read_by_pandas(kind):
    def read(path, label):
        import pandas

        try:
            return getattr(pandas, f"read_{kind}")(path)
        except ImportError as error:
            raise ModuleNotFoundError("pandas needs pyarrow", name="pyarrow") from error
        except (ValueError, OSError) as error:
            raise Refused(f"{path}: expected a table of pandas' to_{kind} ({error})") from error

    return read


ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"[^"]*"|\S+)\s+(.*)""", re.I)


def _read_arff(path, label):
    """ARFF as Weka writes it; SciPy's reader has no texts, and no quotes in rows."""
    import pandas

    columns, rows = {}, []
    with opened(path) as lines:
        for line in lines:
            found = ATTRIBUTE.match(line.strip())
            if found:
                columns[found[1].strip("'\"")] = found[2].lower().startswith(("num", "real", "int"))
            elif line.lower().startswith("@data"):
                break
        body = [line for line in lines if line.strip() and not line.startswith("%")]
    mark = '"' if any('"' in line for line in body) and not any("'" in line for line in body) else "'"
    for row in csv.reader(body, quotechar=mark, escapechar="\\", skipinitialspace=True):
        row = [text.strip() for text in row]
        require(len(row) == len(columns) and not row[0].startswith("{"), path, f"{len(columns)} values in a row, as there are attributes", ",".join(row))
        for text, (name, numeric) in zip(row, columns.items()):
            require(not numeric or text == "?" or number_of(text) is not None, path, f"numbers as {name}", text)
        rows.append(row)
    require(rows, path, "ARFF with rows below @data", "none")
    return pandas.DataFrame(rows, columns=list(columns))


def number_of(text):
    try:
        return float(text)
    except ValueError:
        return None


def _read_anndata(path, label):
    import anndata
    import pandas

    try:
        cells = anndata.read_h5ad(path)
    except (ValueError, OSError, KeyError) as error:
        raise Refused(f"{path}: expected a file of AnnData ({error})") from error
    require(label is not None, path, "the column of obs with the labels, --label NAME", f"no name; it has {', '.join(cells.obs.columns) or 'none'}")
    chosen(path, label, cells.obs.columns)
    cells.var_names_make_unique()
    table = pandas.DataFrame(dense(path, cells.X), index=cells.obs_names, columns=cells.var_names)
    return table.assign(**{label: cells.obs[label].astype(str).where(cells.obs[label].notna())})


def opened(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.name.endswith(".gz") else open(path, encoding="utf-8")


# ---- arrays ----


def dense(path, X):
    """Rows as an array, also if they are sparse."""
    if not hasattr(X, "toarray"):
        return numpy.asarray(X)
    bytes_needed = X.shape[0] * X.shape[1] * X.dtype.itemsize
    require(bytes_needed <= LARGEST, path, f"rows that take at most {LARGEST >> 30} GiB as an array", f"{bytes_needed / 2**30:.0f} GiB, [{X.shape[0]}, {X.shape[1]}]")
    return X.toarray()


def _read_svmlight(path, label):
    from sklearn.datasets import load_svmlight_file

    require(label is None, path, "no --label, as the first number of each line is the label", repr(label))
    try:
        X, y = load_svmlight_file(str(path), dtype=numpy.float32)
    except ValueError as error:
        raise Refused(f"{path}: expected lines 'label index:value ..' ({error})") from error
    return dense(path, X), y


MATLAB_LABELS = ("y", "Y", "label", "labels", "gnd", "target", "class", "classes")


def _read_matlab(path, label):
    """The variable `label`, or the one of a usual name, and the matrix that has a row for each of its values."""
    import scipy.io

    try:
        found = {name: value for name, value in scipy.io.loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError as error:
        raise Refused(f"{path}: expected a file of MATLAB up to version 7.2, found one of 7.3: save it by save(.., '-v7')") from error
    except (ValueError, TypeError, OSError) as error:
        raise Refused(f"{path}: expected a .mat file ({error})") from error
    names = ", ".join(f"{name} {list(value.shape)}" for name, value in found.items())
    usual = [name for name in MATLAB_LABELS if name in found]
    require(label in found if label is not None else len(usual) == 1, path, f"labels named {label!r}" if label is not None else "the variable with the labels, --label NAME", names)
    y = found.pop(usual[0] if label is None else label)
    y = numpy.array([x.item() if getattr(x, "size", 0) == 1 else "" for x in y.ravel()]) if y.dtype == object else y.ravel()
    fit = [name for name, value in found.items() if value.ndim == 2 and value.dtype.kind in "biuf" and value.shape[0] == len(y) and value.shape[1]]
    require(len(fit) == 1, path, f"one matrix of numbers with {len(y)} rows, as there are labels", f"{', '.join(fit) or 'none'} of {names}")
    return dense(path, found[fit[0]]), y


def _read_sparse(path, label):
    import scipy.sparse

    require(label is None, path, "no --label, as it has rows alone: the labels are an array beside it", repr(label))
    try:
        return dense(path, scipy.sparse.load_npz(path)), None
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path}: expected a matrix of scipy.sparse.save_npz ({error})") from error


def numbered(path, y):
    """Labels as numbers 0 .. C - 1, negative: unknown, and the classes; numbers of svmlight are all classes, and so are -1 and 1 alone."""
    if y.dtype.kind in "US":
        y = numpy.char.strip(y.astype(str))
        known = ~numpy.array([is_unknown(text) for text in y], bool)
    else:
        real = y.astype(float)
        known = ~numpy.isnan(real)
        whole = real[known] == numpy.floor(real[known])
        require(whole.all(), path, "classes, as real numbers are no classes", real[known][~whole][:1])
        y = numpy.where(known, real, 0).astype("<i8")
        if set(y[known].tolist()) != {-1, 1} and not path.name.removesuffix(".gz").endswith((".svm", ".libsvm", ".svmlight")):
            known &= y >= 0
    classes, number = numpy.unique(y[known], return_inverse=True)
    label = numpy.full(len(y), -1, "<i8")
    label[known] = number
    return label, classes


# ---- forms, and what is written ----

TABLES = {".parquet": ("Parquet", _read_by_pandas("parquet")), ".pq": ("Parquet", _read_by_pandas("parquet")),
          ".feather": ("Feather", _read_by_pandas("feather")), ".arff": ("ARFF", _read_arff), ".h5ad": ("AnnData", _read_anndata)}  # fmt: skip
ARRAYS = {".svm": ("svmlight", _read_svmlight), ".libsvm": ("svmlight", _read_svmlight), ".svmlight": ("svmlight", _read_svmlight),
          ".mat": ("MATLAB's .mat", _read_matlab), ".npz": ("SciPy's save_npz", _read_sparse)}  # fmt: skip
NAMES = list(dict.fromkeys(name for forms in (TABLES, ARRAYS) for name, _ in forms.values()))


def _of(forms, path):
    return next((form for ending, form in forms.items() if path.name.removesuffix(".gz").endswith(ending)), None)


def are_rows(path):
    """Whether a file is one of rows by its ending; an .npz can also be a graph."""
    return path.suffix != ".npz" and bool(_of(TABLES, path) or _of(ARRAYS, path))


def table_of(path, label=None):
    """A file of a form of tables as a pandas.DataFrame; None: it is of another form."""
    form = _of(TABLES, path)
    if not form:
        return None
    table = spread(form[1](path, label))
    chosen(path, label, table.columns)
    return table


def arrays_of(path, label=None):
    """Rows [n, d] and labels [n] (None: there are none) of a file of arrays."""
    form = _of(ARRAYS, path)
    if not form:
        raise Refused(f"{path}: expected rows as one of {', '.join(NAMES)}, a .csv or .tsv; found none of them")
    X, y = form[1](path, label)
    require(X.ndim == 2 and X.size and X.dtype.kind in "biuf", path, "rows [n, d] of numbers", f"{X.dtype} {list(X.shape)}")
    return X, y


def write_table(table, out):
    """Writes a table as CSV, with its index where that is more than row numbers."""
    import pandas

    plain = isinstance(table.index, pandas.RangeIndex) and table.index.name is None
    write_whole(out, lambda file: file.write(table.to_csv(index=not plain).encode()))


def convert_rows(path, out, label):
    """Writes the rows of a file for `mochi readouts`."""
    table = table_of(path, label)
    if table is not None:
        require(str(out).endswith(".csv"), out, "a name that ends in .csv for a table", "another")
        write_table(table, out)
        return
    X, y = arrays_of(path, label)
    require(y is not None or str(out).endswith(".npy"), path, "labels (rows alone become .npy)", "none")
    number, classes = (numpy.empty(0, "<i8"), numpy.empty(0)) if y is None else numbered(path, y)
    texts, negative = classes.dtype.kind in "US", any(str(c).startswith("-") for c in classes)
    if str(out).endswith(".csv"):
        import pandas

        require(texts or not negative, out, "a name that ends in .npz, as a negative class is unknown in a table", "another")
        write_table(pandas.DataFrame(X).add_prefix("x").assign(label=[classes[c] if c >= 0 else "" for c in number]), out)
    elif str(out).endswith(".npz"):
        require(not texts, out, "a name that ends in .csv, as the labels are texts", "another")
        write_npz(out, {"Z": X, "y": number if negative else numpy.array([classes[c] if c >= 0 else -1 for c in number], "<i8")})
    else:
        require(str(out).endswith(".npy"), out, "a name that ends in .npz, .csv or, for rows alone, .npy", "another")
        write_whole(out, lambda file: numpy.save(file, X, allow_pickle=False))
