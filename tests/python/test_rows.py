"""Rows with labels in files that pandas, scikit-learn, SciPy and AnnData wrote: one table of customers, read alike by every door."""

import json
import os
import subprocess
import sys

import mochi
import mochi.sklearn as ms
import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
scipy = pytest.importorskip("scipy")
sklearn = pytest.importorskip("sklearn")
import scipy.io  # noqa: E402
import scipy.io.arff  # noqa: E402
import scipy.sparse  # noqa: E402
import sklearn.datasets  # noqa: E402

PROGRAM = os.environ.get("MOCHI_PROGRAM")


def customers(n=300, labelled=90):
    """A table whose income, city and membership tell who buys what; the truth of all, of whom some are not labelled."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 3, n)
    truth = np.array(["tea", "milk", "rice"])[kind]
    income = np.exp(10 + 0.5 * kind + 0.4 * rng.normal(size=n)).round()
    income[rng.random(n) < 0.1] = np.nan
    city = np.where(rng.random(n) < 0.5, np.array(["Rome", "Bonn, on the Rhine", "Oslo"])[kind], "Paris")
    member = np.where(rng.random(n) < np.array([0.2, 0.5, 0.8])[kind], "yes", "no")
    table = pandas.DataFrame({"customer_id": 100000000000 + rng.permutation(n) * 7919, "income": income, "age": rng.integers(18, 80, n), "city": city, "member": member})
    return table.assign(buys=np.where(np.arange(n) < labelled, truth, None)), truth


def right(rows, truth):
    """The share of the unlabelled rows that a readout on the labelled ones predicts right."""
    known = rows.y >= 0
    head = ms.LogisticHeadCV().fit(rows.x[known], rows.y[known])
    return np.mean(rows.classes[head.predict(rows.x[~known])] == truth[~known])


def same(a, b):
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(a.y, b.y)
    assert a.classes.tolist() == b.classes.tolist() and a.names == b.names and a.columns == b.columns


def test_a_table_of_customers_is_predicted_at_the_first_try():
    table, truth = customers()
    rows = mochi.rows(table, label="buys")
    assert rows.names == table.customer_id.tolist() and rows.x.shape == (300, 8)
    assert rows.columns == ["income", "age", "city=Bonn, on the Rhine", "city=Oslo", "city=Paris", "city=Rome", "member", "income missing"]
    assert rows.classes.tolist() == ["milk", "rice", "tea"] and (rows.y >= 0).sum() == 90
    assert np.abs(rows.x).max() <= 2.5 and any("customer_id has the names of the rows" in note for note in rows.notes)
    # By income, city and membership at once about 0.85 are told apart; by income alone 0.55, and unscaled fewer.
    assert right(rows, truth) > 0.78


def test_pandas_files_and_what_a_program_makes_of_them_are_the_table(tmp_path):
    table, _ = customers()
    want = mochi.rows(table, label="buys")
    table.to_csv(tmp_path / "plain.csv", index=False)
    table.to_csv(tmp_path / "index.csv")
    table.set_index("customer_id").to_csv(tmp_path / "named.csv")
    table.set_index("customer_id").rename_axis(None).to_csv(tmp_path / "nameless.csv")
    table.to_csv(tmp_path / "packed.csv.gz", index=False)
    table.to_csv(tmp_path / "tabs.tsv", index=False, sep="\t")
    table.to_csv(tmp_path / "excel.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n")
    table.to_csv(tmp_path / "na.csv", index=False, na_rep="NA", quoting=1)
    for name in ("plain.csv", "index.csv", "named.csv", "nameless.csv", "packed.csv.gz", "tabs.tsv", "excel.csv", "na.csv"):
        same(mochi.rows(tmp_path / name, label="buys"), want)
    table.astype({"city": "category", "member": "category", "income": "Float64"}).to_csv(tmp_path / "types.csv", index=False)
    same(mochi.rows(tmp_path / "types.csv", label="buys"), want)


@pytest.mark.parametrize(
    ("values", "classes"),
    [([1, 2, 3], [1, 2, 3]), ([1.0, 2.0, None], [1, 2]), ([True, False, True], ["False", "True"]), ([7, -1, 3], [3, 7]), (["1", "10", "9"], [1, 9, 10])],
)
def test_labels_are_numbers_reals_bools_or_texts(values, classes):
    rows = mochi.rows(pandas.DataFrame({"a": range(9), "c": np.array(values, object).tolist() * 3}), label="c")
    assert rows.classes.tolist() == classes
    told = [None if i < 0 else rows.classes[i].item() for i in rows.y]
    assert told == [None if v is None or v == -1 else type(classes[0])(v) for v in values] * 3


def test_what_is_no_table_of_rows_is_refused_in_words(tmp_path):
    table, _ = customers()
    for wrong, label, match in (
        (table, None, r"rows: expected the column of the labels.*label=NAME.*income, age"), (table, "bought", "expected a column named 'bought', found customer_id, income"),
        (table, "income", "real numbers are no classes|another label in each row"), (table[["customer_id", "buys"]], "buys", "expected a column of attributes"),
        (table.assign(since=pandas.Timestamp("2021-03-04")), "buys", "attribute since of .*a date has no zero"),
        (pandas.concat([table, table["age"]], axis=1), "buys", "each column once, found 'age' twice"),
    ):  # fmt: skip
        with pytest.raises(mochi.Error, match=match):
            mochi.rows(wrong, label=label)
    with pytest.raises(mochi.InvalidError, match="expected a path or a DataFrame"):
        mochi.rows(table.to_numpy(), label="buys")
    with pytest.raises(mochi.FileError):
        mochi.rows(tmp_path / "none.parquet", label="buys")
    (tmp_path / "rows.xyz").write_text("1")
    with pytest.raises(mochi.FormatError, match=r"rows\.xyz: expected rows as one of Parquet"):
        mochi.rows(tmp_path / "rows.xyz")
    (tmp_path / "bad.arff").write_text("@relation r\n@attribute a numeric\n@data\nx\n")
    (tmp_path / "short.arff").write_text("@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n2\n")
    (tmp_path / "bad.svm").write_text("1 a:b\n")
    (tmp_path / "bad.mat").write_bytes(b"MATLAB 7.3 MAT-file" + bytes(200))
    for name in ("bad.arff", "short.arff", "bad.svm", "bad.mat"):
        with pytest.raises(mochi.FormatError, match=f"{name}: expected"):
            mochi.rows(tmp_path / name)


def converted(path, out, *more):
    """Runs the command as it is printed, and returns what it wrote."""
    subprocess.run([sys.executable, "-B", "-m", "mochi.convert", path, out, *more], check=True)
    return out


def test_parquet_and_feather(tmp_path):
    pytest.importorskip("pyarrow")
    table, _ = customers()
    want = mochi.rows(table, label="buys")
    table.to_parquet(tmp_path / "a.parquet")
    table.set_index("customer_id").to_parquet(tmp_path / "b.parquet")
    table.to_feather(tmp_path / "c.feather")
    for name in ("a.parquet", "b.parquet", "c.feather"):
        same(mochi.rows(tmp_path / name, label="buys"), want)
        same(mochi.rows(converted(tmp_path / name, tmp_path / f"{name}.csv", "--label", "buys"), label="buys"), want)
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 4)).astype("f4")
    pandas.DataFrame({"text": [f"sentence {i}" for i in range(30)], "embedding": list(Z), "label": np.arange(30) % 3}).to_parquet(tmp_path / "z.parquet")
    rows = mochi.rows(tmp_path / "z.parquet", label="label")
    assert rows.names[:2] == ["sentence 0", "sentence 1"] and rows.columns == [f"embedding.{i}" for i in range(4)]
    np.testing.assert_array_equal(rows.x, Z)
    with pytest.raises(mochi.FormatError, match="expected labels named 'none'.*text"):
        mochi.rows(tmp_path / "z.parquet", label="none")
    pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}).to_parquet(tmp_path / "edges.parquet")  # edges are a table too
    with pytest.raises(mochi.UnsupportedError, match=r"found Parquet: convert it by .*edges\.csv'"):
        mochi.graph(tmp_path / "edges.parquet")
    assert mochi.graph(converted(tmp_path / "edges.parquet", tmp_path / "edges.csv")).names == ["a", "b", "c"]


def test_anndata(tmp_path):
    anndata = pytest.importorskip("anndata")
    X = np.random.default_rng(0).poisson(1.0, (20, 5)).astype("f4")
    cells = anndata.AnnData(scipy.sparse.csr_matrix(X), pandas.DataFrame({"type": ["B", "T", None, "T"] * 5}, index=[f"cell{i}" for i in range(20)]))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    rows = mochi.rows(tmp_path / "cells.h5ad", label="type")
    assert rows.names == cells.obs_names.tolist() and rows.classes.tolist() == ["B", "T"] and rows.y.tolist() == [0, 1, -1, 1] * 5
    with pytest.raises(mochi.FormatError, match="the column of obs with the labels.*type"):
        mochi.rows(tmp_path / "cells.h5ad")


def test_arff(tmp_path):
    (tmp_path / "w.arff").write_text(
        "% weather\n@RELATION w\n@ATTRIBUTE outlook {sunny, 'light rain'}\n@ATTRIBUTE 'the heat' NUMERIC\n@ATTRIBUTE note string\n@ATTRIBUTE play {yes, no}\n\n"
        "@DATA\nsunny,30,'a, b',no\n'light rain',?,c,yes\n%\nsunny,20,'Tom\\'s',yes\n'light rain',18,?,?\n"
    )
    rows = mochi.rows(tmp_path / "w.arff", label="play")
    assert rows.columns == ["the heat", "outlook=light rain", "outlook=sunny", "note missing", "the heat missing"]
    assert rows.classes.tolist() == ["no", "yes"] and rows.y.tolist() == [0, 1, 1, -1]
    same(mochi.rows(converted(tmp_path / "w.arff", tmp_path / "w.csv"), label="play"), rows)
    (tmp_path / "plain.arff").write_text("@relation p\n@attribute a real\n@attribute b {u,v}\n@attribute c integer\n@data\n1.5,u,3\n-2,v,4\n0.25,u,?\n")
    want = pandas.DataFrame(scipy.io.arff.loadarff(tmp_path / "plain.arff")[0])
    found = mochi.convert.rows.table_of(tmp_path / "plain.arff")
    assert found.columns.tolist() == want.columns.tolist() and found.b.tolist() == want.b.str.decode("utf-8").tolist()
    np.testing.assert_array_equal(found[["a", "c"]].replace("?", "nan").astype(float), want[["a", "c"]])


@pytest.mark.parametrize("ending", ["svm", "libsvm", "svmlight"])
def test_svmlight(tmp_path, ending):
    X = np.random.default_rng(0).normal(size=(40, 6)).round(3).astype("f4")
    X[np.abs(X) < 0.4] = 0
    y = np.where(X[:, 0] > 0, 1, -1)
    path = tmp_path / f"a.{ending}"
    sklearn.datasets.dump_svmlight_file(X, y, str(path))
    rows = mochi.rows(path)
    np.testing.assert_allclose(rows.x, X, rtol=1e-6)
    assert rows.classes.tolist() == [-1, 1] and (rows.classes[rows.y] == y).all()  # -1 is a class there
    with np.load(converted(path, tmp_path / "a.npz")) as made:
        np.testing.assert_array_equal(made["Z"], rows.x)
        np.testing.assert_array_equal(made["y"], rows.y)


def test_matlab(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = np.arange(30) % 3 + 1
    for name, given, label in (
        ("a.mat", {"X": X, "y": y}, None), ("b.mat", {"fea": scipy.sparse.csc_matrix(X), "gnd": y[:, None].astype(float), "note": "x"}, None),
        ("c.mat", {"X": X, "kind": np.array([["one"], ["two"], ["six"]], object)[y - 1], "y": y}, "kind"),
    ):  # fmt: skip
        scipy.io.savemat(tmp_path / name, given)
        rows = mochi.rows(tmp_path / name, label=label)
        np.testing.assert_array_equal(rows.x, X)
        assert rows.classes[rows.y].tolist() == (y.tolist() if label is None else [("one", "two", "six")[i - 1] for i in y])
    with np.load(converted(tmp_path / "b.mat", tmp_path / "b.npz")) as made:
        assert made["y"].tolist() == y.tolist()
    failed = subprocess.run([sys.executable, "-m", "mochi.convert", tmp_path / "c.mat", tmp_path / "c.npz", "--label", "kind"], capture_output=True, text=True)
    assert failed.returncode == 1 and "ends in .csv, as the labels are texts" in failed.stderr
    assert mochi.rows(converted(tmp_path / "c.mat", tmp_path / "c.csv", "--label", "kind"), label="label").classes.tolist() == ["one", "six", "two"]
    scipy.io.savemat(tmp_path / "d.mat", {"A": X, "B": X, "y": y})
    with pytest.raises(mochi.FormatError, match="one matrix of numbers with 30 rows, as there are labels, found A, B"):
        mochi.rows(tmp_path / "d.mat")


def test_sparse_rows_of_scipy(tmp_path):
    X = scipy.sparse.random_array((30, 30), density=0.2, rng=np.random.default_rng(0), format="csr", dtype="f4")
    scipy.sparse.save_npz(tmp_path / "X.npz", X)
    rows = mochi.rows(tmp_path / "X.npz")
    assert rows.y is None
    np.testing.assert_array_equal(rows.x, X.toarray())
    np.testing.assert_array_equal(np.load(converted(tmp_path / "X.npz", tmp_path / "X.npy")), X.toarray())


@pytest.mark.skipif(not PROGRAM, reason="the program is not named by MOCHI_PROGRAM")
def test_the_program_prints_the_lines_that_make_its_rows(tmp_path):
    """Its refusal of each form, pasted into a shell, gives rows that it fits."""
    n, rng = 60, np.random.default_rng(0)
    y = np.arange(n) % 3
    X = (rng.normal(size=(n, 4)) + 3 * np.eye(4)[y]).astype("f4")
    sklearn.datasets.dump_svmlight_file(X, y, str(tmp_path / "a.svm"))
    scipy.io.savemat(tmp_path / "b.mat", {"X": X, "kind": y})
    scipy.sparse.save_npz(tmp_path / "c.npz", scipy.sparse.csr_matrix(X))
    np.save(tmp_path / "y.npy", y)
    head = "".join(f"@attribute x{i} numeric\n" for i in range(4))
    (tmp_path / "d.arff").write_text(f"@relation r\n{head}@attribute kind {{0,1,2}}\n@data\n" + "".join(f"{','.join(map(str, row))},{c}\n" for row, c in zip(X, y, strict=True)))
    cases = [(["a.svm"], 1), (["b.mat", "--label", "kind"], 1), (["c.npz", "y.npy"], 1), (["d.arff", "--label", "kind"], 1)]
    try:
        pandas.DataFrame(X, columns=list("abcd")).assign(kind=y).to_parquet(tmp_path / "e.parquet")
        cases.append((["e.parquet", "--label", "kind"], 1))
    except ImportError:
        pass  # test_parquet_and_feather is skipped by name
    for words, code in cases:
        refused = subprocess.run([PROGRAM, "readouts", *words], cwd=tmp_path, capture_output=True, text=True)
        assert refused.returncode == code and "convert them by " in refused.stderr, words
        convert, fit = refused.stderr.split("convert them by ")[1].split(", then ")
        convert = convert.replace("python3", f"{sys.executable} -B", 1)
        subprocess.run(convert, shell=True, cwd=tmp_path, check=True)
        fit = fit.strip().replace("mochi", PROGRAM, 1) + " --head lda --shots 8 --queries 9 --json --quiet"
        line = subprocess.run(fit, shell=True, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.splitlines()[1]
        assert json.loads(line)["accuracy"] > 85


@pytest.mark.parametrize(
    ("name", "absent", "package"),
    [("a.parquet", "pyarrow", "pyarrow"), ("a.h5ad", "anndata", "anndata"), ("a.svm", "sklearn.datasets", "scikit-learn"), ("a.arff", "pandas", "pandas"), ("a.mat", "scipy.io", "scipy")],
)  # fmt: skip
def test_a_package_that_is_not_there_is_named_with_its_installation(tmp_path, name, absent, package):
    (tmp_path / name).write_text("x")
    hide = f"import sys; sys.modules[{absent!r}] = None; import mochi, mochi.convert as c\n"
    if package == "pyarrow":
        hide += "sys.modules['fastparquet'] = None\n"
    told = rf"{name} needs {package}: pip install {package}"
    converted = subprocess.run([sys.executable, "-c", hide + f"sys.exit(c.main([{name!r}, 'out.csv']))"], cwd=tmp_path, capture_output=True, text=True)
    assert converted.returncode == 1 and f"mochi.convert: {told}" in converted.stderr
    read = subprocess.run([sys.executable, "-c", hide + f"mochi.rows({name!r}, label='y')"], cwd=tmp_path, capture_output=True, text=True)
    assert f"ModuleNotFoundError: {told}" in read.stderr


def test_a_prototype_in_the_middle_of_others_is_inside_and_flagged():
    """Four classes at the corners of a square, a fifth near its middle; the plane's origin is the prototypes' mean."""
    place = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1), (0.1, 0.2)])
    y = np.arange(20) % 5
    Z = place[y] + (np.arange(20) // 5 - 1.5)[:, None] * 0.01
    found = mochi.diagnose(Z, y)
    assert found["inside"].tolist() == found["flagged"].tolist() == (~found["outer"]).tolist() == [False] * 4 + [True]
    assert np.allclose(np.hypot(found["x"], found["y"]), np.linalg.norm(place - place.mean(0), axis=1))
    assert (found["pairs"], found["missed"]) == (10, 2)  # the fifth lies on the same side as (1, 1) and (-1, 1) of the boundaries with them
    assert not mochi.diagnose(Z, np.where(y == 4, -1, y))["inside"].any()
