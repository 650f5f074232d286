#!/usr/bin/env python3
"""`mochi explain`: every topic of its list, on its own numbers, on drawn ones and as a page; the reader's matrix; the
questions of --step. Figures on pages are compared with closed forms computed here.

Usage: test_cli_explain.py MOCHI"""
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

MOCHI = sys.argv[1]
WITHOUT_NUMBERS = ("shift", "hull")
# What a lesson must say: the line that carries its idea.
LINES = {
    "solve": "A_bar = -B_bar X^T", "triangular": "L_bar = tril(-B_bar X^T)", "cholesky": "M = L^-T Phi",
    "lu": "C_bar = L^-T S U^-T", "qr": "A_bar = (Q_bar + Q copyltu(M)) R^-T", "eigh": "A_bar = (M + M^T) / 2",
    "logdet": "A_bar = y_bar A^-T", "least_squares": "A_bar = E W^T - B_bar X^T", "matmul": "B_bar = A^T C_bar",
    "softmax_cross_entropy": "x_bar = (P - T) / n", "logistic": "X_bar = -(R U^T + S[E] W^T)",
    "ridge": "lambda_bar = trace K_bar", "leave_one_out": "K_bar = sym(-G G_bar G)",
    "svm": "lambda_bar = <U, Y> - <W_bar, W> / lambda", "implicit": "u = J^-T x_bar",
    "unrolled": "w_1_bar = (I - h A)^T w_2_bar", "neumann": "check: u - u_{16} = (I - h A^T)^{16} u",
    "second_order": "mo_jvp of G along V = A_bar", "shift": "accuracy: prototypes 50 %, ridge with an intercept 100 %",
    "hull": "0.50 p_A + 0.50 p_C",
}


def run(*words, answers=""):
    return subprocess.run([MOCHI, "explain", *words], input=answers, capture_output=True, text=True)


def told(*words, answers=""):
    done = run(*words, answers=answers)
    assert done.returncode == 0 and not done.stderr, f"explain {words}: {done.returncode}, {done.stderr}"
    return done.stdout


def refused(code, part, *words):
    done = run(*words)
    assert done.returncode == code, f"explain {words}: ended with {done.returncode}, expected {code}"
    assert done.stderr.count("\n") == 1 and part in done.stderr, f"explain {words}: {done.stderr!r}, expected {part!r}"


def file_of(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return path


def npy(rows):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    body = b"".join(struct.pack("<d", v) for row in rows for v in row)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


# ---- pages ----

def number(cell):
    return float("".join(cell.itertext()).replace("\u2212", "-"))


def matrix(math):
    return [[number(cell) for cell in row.findall("mtd")] for row in math.iter("mtr")]


def page_of(folder, *words):
    path = os.path.join(folder, "page.html")
    assert told(*words, "--html", path) == ""
    text = open(path, encoding="utf-8").read()
    page = ElementTree.fromstring(text)
    assert not list(page.iter("script")) and not re.search(r"https?:|\bsrc=|\bhref=|url\(|@import", text), words
    assert page.find("head/meta[@name='viewport']") is not None and list(page.iter("math")), words
    assert "@media print" in text and not re.search(r"\b(nan|inf)\b", text), words
    return page


def figures(page):
    """Every matrix of a page by its caption, the first of a name."""
    found = {}
    for figure in page.iter("figure"):
        caption = " ".join("".join(figure.find("figcaption").itertext()).split())
        found.setdefault(caption, matrix(figure))
    return found


def compare_columns(page, topic):
    """A line has its value, the same by differences, and the difference: numbers of four digits agree."""
    lines = [e for e in page.iter() if e.get("class") == "adjoint"]
    for line in lines:
        left, right, difference = (matrix(f) for f in line.iter("figure"))
        for a, b, d in zip(sum(left, []), sum(right, []), sum(difference, [])):
            assert abs(a - b) <= 2e-4 + 0.02 * (abs(a) >= 1e3) * abs(a), (topic, a, b)
            assert 0 <= d <= 1e-6 * max(1, max(abs(v) for v in sum(left, []))), (topic, d)
    return lines


def close(a, b, within=6e-5):
    assert len(a) == len(b) and all(len(x) == len(y) for x, y in zip(a, b)), (a, b)
    assert all(abs(x - y) <= within for r, s in zip(a, b) for x, y in zip(r, s)), (a, b)


def product(A, B):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*B)] for row in A]


# ---- the tests ----

def every_topic_agrees_and_fits_a_terminal(folder):
    listed = told().splitlines()
    assert [line.split()[0] for line in listed] == list(LINES), listed
    for topic, part in LINES.items():
        text = told(topic)
        assert part in text, f"{topic}: without {part!r}"
        assert max(map(len, text.splitlines())) <= 80, topic
        assert '"' not in text and "`" not in text and "nan" not in text.split(), topic
        assert topic in WITHOUT_NUMBERS or "with no factorization in backward" in " ".join(text.split()), topic


def drawn_numbers_agree_at_every_size(folder):
    for topic in LINES:
        if topic in WITHOUT_NUMBERS:
            continue
        texts = {told(topic, "--n", str(n), "--seed", str(n % 2)) for n in (2, 5, 7)}
        assert len(texts) == 3 and told(topic, "--seed", "1") == told(topic, "--seed", "1") != told(topic), topic
        assert max(len(line) for text in texts for line in text.splitlines()) <= 80, topic


def every_page_is_xml_without_script_or_request(folder):
    for topic in LINES:
        lines = compare_columns(page_of(folder, topic), topic)
        assert topic in WITHOUT_NUMBERS or len(lines) >= 1, topic
    page = page_of(folder, "solve", "--step")
    assert len(list(page.iter("details"))) == 2 and not list(page_of(folder, "solve").iter("details"))


# What MathML writes in place of a formula's words and signs.
TYPED = {"\u2212": "-", "\u2211": "sum", "\u2218": "o", "\u221e": "inf", "\u21d2": "=>", "\u2192": "->", "\u2264": "<=",
         "\u2265": ">=", "\u2026": "..", "\u27e8": "<", "\u27e9": ">", "\u00af": "bar", "\u03b1": "alpha", "\u03b2": "beta",
         "\u03b5": "epsilon", "\u03b7": "eta", "\u03b8": "theta", "\u03ba": "kappa", "\u03bb": "lambda", "\u03bc": "mu",
         "\u03c0": "pi", "\u03c1": "rho", "\u03c6": "phi", "\u03a6": "Phi", "\u03a0": "Pi"}
PAIRS = {"(": ")", "[": "]", "\u27e8": "\u27e9"}


def without_layout(text):
    return re.sub(r"[\s_^{}\"\u00a0]", "", text)


def reads(math):
    """A formula as it was typed, without the marks of its layout. A bar stands behind the index of what it is over."""
    return without_layout("".join(TYPED.get(c, c) for c in "".join(math.itertext())))


def brackets_match(math):
    """In every part of a formula each bracket closes the one that opened last, and no mark of the layout is left."""
    for part in math.iter():
        opened = []
        for sign in (e.text for e in part if e.tag == "mo"):
            if sign in PAIRS:
                opened.append(PAIRS[sign])
            elif sign in PAIRS.values():
                assert opened and opened.pop() == sign, ("".join(math.itertext()), sign)
            else:
                assert sign not in ("{", "}", "`", '"'), ("".join(math.itertext()), sign)
        assert not opened, "".join(math.itertext())


def every_formula_is_read_whole(folder):
    """All that a page sets as mathematics stands on the terminal too, sign by sign."""
    scripts = {}
    for topic in LINES:
        typed, count = without_layout(told(topic)), 0
        for words in [[topic]] + [[topic, "--step"]] * (topic not in WITHOUT_NUMBERS):
            for math in page_of(folder, *words).iter("math"):
                assert not list(math.iter("merror")), "".join(math.itertext())
                brackets_match(math)
                if math.find(".//mtable") is None:
                    text = reads(math)
                    assert text in typed or text.replace("bar", "") in typed.replace("bar", ""), (topic, text)
                    count += 1
                for sub in [e for e in math.iter() if e.tag in ("msub", "msubsup")]:
                    scripts.setdefault(topic, set()).add(reads(sub[1]))
        assert count > (0 if topic in WITHOUT_NUMBERS else 3), topic
    assert scripts["triangular"] == {"i", "j", "ij", "ii", "j<i"}, scripts["triangular"]
    assert "j<k" in scripts["neumann"] and all(len(s) < 4 for s in scripts["neumann"]), scripts["neumann"]


def figures_are_those_of_closed_forms(folder):
    A = [[4.0, 2.0], [2.0, 5.0]]
    own = file_of(folder, "A.csv", "# mine\n4, 2\n2; 5\n")
    found = figures(page_of(folder, "cholesky", "--matrix", own))
    close(found["A"], A)
    close(found["L"], [[2, 0], [1, 2]])
    found = figures(page_of(folder, "logdet", "--matrix", own))
    close(found["A\u22121"], [[5 / 16, -2 / 16], [-2 / 16, 4 / 16]])
    close(found["left side"], [[2.7725887]])  # log 16
    found = figures(page_of(folder, "solve", "--matrix", file_of(folder, "A.npy", npy([[0.0, 2.0], [4.0, 1.0]]))))
    close(found["P"], [[0, 1], [1, 0]])
    close(found["L"], [[1, 0], [0, 1]])
    close(product([[0, 2], [4, 1]], found["left side"]), found["B"], 5e-4)
    found = figures(page_of(folder, "eigh", "--matrix", file_of(folder, "E.csv", "2 1\n1 3\n")))
    close(found["w"], [[(5 - 5 ** 0.5) / 2, (5 + 5 ** 0.5) / 2]])
    found = figures(page_of(folder, "qr", "--matrix", file_of(folder, "Q.txt", "3 0\n4 5\n")))
    close(found["R"], [[5, 4], [0, 3]])
    found = figures(page_of(folder, "least_squares", "--matrix", file_of(folder, "ones.csv", "1\n1\n1\n1\n1\n")))
    close(found["X"], [[sum(sum(found["B"], [])) / 5]], 2e-4)  # the mean


def a_matrix_that_does_not_fit_is_named(folder):
    def path(name, content):
        return file_of(folder, name, content)
    refused(1, "expected a square matrix for A of `explain solve`; got 2 x 3", "solve", "--matrix",
            path("wide.csv", "1,2,3\n4,5,6\n"))
    refused(1, "expected a symmetric matrix", "cholesky", "--matrix", path("skew.csv", "1,2\n3,4\n"))
    refused(1, "expected at least as many rows as columns", "qr", "--matrix", path("flat.csv", "1,2,3\n4,5,6\n"))
    refused(1, "expected zeros above the diagonal", "triangular", "--matrix", path("full.csv", "1,2\n3,4\n"))
    refused(1, "line 2: expected 2 numbers", "solve", "--matrix", path("ragged.csv", "1,2\n3\n"))
    refused(1, "line 1: expected numbers", "solve", "--matrix", path("words.csv", "a,b\n"))
    refused(1, "line 1: expected numbers", "solve", "--matrix", path("nan.csv", "nan,1\n1,2\n"))
    refused(1, "found none", "solve", "--matrix", path("empty.csv", "\n# nothing\n"))
    refused(1, "at most 8 rows and columns", "solve", "--matrix", path("large.csv", ("1 " * 9 + "\n") * 9))
    refused(1, "at most 8 rows and columns", "solve", "--matrix", path("large.npy", npy([[1.0] * 9] * 9)))
    refused(1, "expected finite numbers", "solve", "--matrix", path("nan.npy", npy([[float("nan")]])))
    refused(1, "none.csv", "solve", "--matrix", os.path.join(folder, "none.csv"))
    refused(1, "cholesky: ", "cholesky", "--matrix", path("indefinite.csv", "1,2\n2,1\n"))
    refused(1, "solve: ", "solve", "--matrix", path("singular.csv", "1,2\n2,4\n"))
    refused(1, "none/page.html", "solve", "--html", os.path.join(folder, "none/page.html"))
    done = run("solve", "--matrix", path("near.csv", "1,1\n1,1.0000001\n"))
    assert done.returncode == 1 and "an adjoint differs from its differences" in done.stderr, done.stderr


def what_has_no_effect_is_refused(folder):
    refused(2, "softmax_cross_entropy", "everything")
    refused(2, "expected one topic", "solve", "qr")
    refused(2, "expected a topic", "--n", "3")
    refused(2, "expected a topic", "--step")
    refused(2, "--n: the matrix of --matrix has its size", "solve", "--n", "3", "--matrix", "A.csv")
    refused(2, "--seed: hull has its own numbers", "hull", "--seed", "1")
    refused(2, "--n", "solve", "--n", "8")
    refused(2, "--n", "solve", "--n", "1")


def step_asks_before_it_answers(folder):
    plain, asked = told("solve"), told("solve", "--step")
    assert asked.index("Enter goes on") < asked.index("B_bar = A^-T"), asked
    rest = asked.replace("  -- Enter goes on --\n", "")
    assert rest.replace("\n", "") == plain.replace("\n", "")  # standard input is at its end: the lesson goes on by itself
    enters = "\n" * 4
    text = told("solve", "--step", answers=enters + "2 -2 3\n1\n")
    assert text.index("B_bar = ?") < text.index("Right.") < text.index("1. B_bar = A^-T X_bar"), text
    assert "1 numbers, where 3 x 3 are asked for" in text, text
    assert "1 of 3 are right" in told("solve", "--step", answers=enters + "2, 2, 2\n")
    text = told("solve", "--step", answers=enters + "B_bar = A^-T X_bar\n\n")
    assert "are right" not in text and "Right" not in text and text.count(" = ?") == 2, text


def main():
    tests = [every_topic_agrees_and_fits_a_terminal, drawn_numbers_agree_at_every_size,
             every_page_is_xml_without_script_or_request, every_formula_is_read_whole, figures_are_those_of_closed_forms,
             a_matrix_that_does_not_fit_is_named, what_has_no_effect_is_refused, step_asks_before_it_answers]
    failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"[     OK ] {test.__name__}", flush=True)
            except (AssertionError, KeyError, ValueError, ElementTree.ParseError) as error:
                failed += 1
                print(f"[ FAILED ] {test.__name__}: {error!r}", flush=True)
    return 1 if failed else 0


sys.exit(main())
