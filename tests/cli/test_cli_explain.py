#!/usr/bin/env python3
"""`mochi explain`: every topic of its list, on its own numbers, on drawn ones and as JSON; the reader's matrix; the
questions of --step, and how answers are judged. Figures are compared with closed forms computed here.

Usage: test_cli_explain.py MOCHI"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

MOCHI = sys.argv[1]
# What a lesson must say: the line that carries its idea.
LINES = {
    "solve": "A_bar = -B_bar X^T", "triangular": "L_bar = tril(-B_bar X^T)", "cholesky": "M = L^-T Phi",
    "lu": "C_bar = L^-T S U^-T", "qr": "A_bar = (Q_bar + Q copyltu(M)) R^-T", "eigh": "A_bar = (M + M^T) / 2",
    "logdet": "A_bar = y_bar A^-T", "least_squares": "A_bar = E W^T - B_bar X^T", "matmul": "B_bar = A^T C_bar",
    "softmax_cross_entropy": "x_bar = (P - T) / n", "logistic": "X_bar = -(R U^T + S[E] W^T)",
    "ridge": "lambda_bar = trace K_bar", "leave_one_out": "K_bar = sym(-G G_bar G)",
    "svm": "lambda_bar = <U, Y> - <W_bar, W> / lambda", "implicit": "u = J^-T x_bar",
    "unrolled": "w_1_bar = (I - h A)^T w_2_bar", "neumann": "check: u - u_{16} = (I - h A^T)^{16} u",
    "second_order": "mo_jvp of G along V = A_bar",
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


# ---- lessons as JSON ----

def lesson_of(*words):
    return json.loads(told(*words, "--json"))["blocks"]


def figures(blocks):
    """Every matrix of a lesson by its name, the first of a name."""
    found = {}
    for m in (m for b in blocks for m in b.get("matrices", [])):
        found.setdefault(m["name"], m["rows"])
    return found


def compare_columns(blocks, topic):
    """A line has its value and the same by differences, which agree."""
    lines = [b for b in blocks if b["kind"] in ("line", "agree")]
    for b in lines:
        left, right = (m["rows"] for m in b["matrices"])
        for x, y, d in zip(sum(left, []), sum(right, []), sum(b["differences"], [])):
            assert abs(x - y) <= 1e-6 * max(1, abs(x)), (topic, x, y)
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
        assert "with no factorization in backward" in " ".join(text.split()), topic


def drawn_numbers_agree_at_every_size(folder):
    for topic in LINES:
        texts = {told(topic, "--n", str(n), "--seed", str(n % 2)) for n in (2, 5, 7)}
        assert len(texts) == 3 and told(topic, "--seed", "1") == told(topic, "--seed", "1") != told(topic), topic
        assert max(len(line) for text in texts for line in text.splitlines()) <= 80, topic


def lines_of_every_topic_agree(folder):
    for topic in LINES:
        lines = compare_columns(lesson_of(topic), topic)
        assert len(lines) >= 1, topic


# What LaTeX writes in place of a formula's words and signs.
TYPED = (("\\;\\Rightarrow\\;", "=>"), ("\\to ", "->"), ("\\le ", "<="), ("\\ge ", ">="), ("\\dots ", ".."), ("\\langle ", "<"),
         ("\\rangle ", ">"), ("\\sum\\nolimits", "sum"), ("\\circ ", "o"), ("\\infty ", "inf"), ("\\mathrm{d}", "d"), ("\\,", ""),
         ("\\quad", ""), ("\\text", ""), ("\\operatorname", ""))


def without_layout(text):
    return re.sub(r"[\s_^{}\"\\\\]", "", text)


def reads(latex):
    """A formula as it was typed, without the marks of its layout. A bar stands before what it is over."""
    for to, typed in TYPED:
        latex = latex.replace(to, typed)
    return without_layout(latex)


def every_formula_is_read_whole(folder):
    """LaTeX has what is typed, sign by sign, and its braces match."""
    for topic in LINES:
        blocks = lesson_of(topic)
        pairs = [(b["text"], b["latex"]) for b in blocks if "latex" in b]
        pairs += [(m["name"], m["latex"]) for b in blocks for m in b.get("matrices", [])]
        pairs += [(p["formula"], p["latex"]) for b in blocks for p in b.get("parts", []) if isinstance(p, dict) and "formula" in p]
        for typed, latex in pairs:
            assert latex, typed
            depth = [latex[:i].count("{") - latex[:i].count("}") for i in range(len(latex) + 1)]
            assert min(depth) == 0 and depth[-1] == 0, (typed, latex)
            assert sorted(reads(latex)) == sorted(without_layout(typed)), (typed, latex)
            assert latex.count("\\bar{") == len(re.findall(r"_bar\b", typed)), (typed, latex)
        assert len(pairs) > 3, topic
    latex = {b["text"]: b["latex"] for b in lesson_of("triangular") + lesson_of("neumann") if "latex" in b}
    assert "\\sum\\nolimits_{{j<i}} L_{ij} X_{j}) / L_{ii}" in latex["X_i = (B_i - sum_{j<i} L_ij X_j) / L_ii"], latex
    assert latex["A_bar = -u w^T"] == "\\bar{A} = -u w^{T}", latex


def figures_are_those_of_closed_forms(folder):
    A = [[4.0, 2.0], [2.0, 5.0]]
    own = file_of(folder, "A.csv", "# mine\n4, 2\n2; 5\n")
    found = figures(lesson_of("cholesky", "--matrix", own))
    close(found["A"], A)
    close(found["L"], [[2, 0], [1, 2]])
    found = figures(lesson_of("logdet", "--matrix", own))
    close(found["A^-1"], [[5 / 16, -2 / 16], [-2 / 16, 4 / 16]])
    close(found["left side"], [[2.7725887]])  # log 16
    found = figures(lesson_of("solve", "--matrix", file_of(folder, "A.npy", npy([[0.0, 2.0], [4.0, 1.0]]))))
    close(found["P"], [[0, 1], [1, 0]])
    close(found["L"], [[1, 0], [0, 1]])
    close(product([[0, 2], [4, 1]], found["left side"]), found["B"], 5e-4)
    found = figures(lesson_of("eigh", "--matrix", file_of(folder, "E.csv", "2 1\n1 3\n")))
    close(found["w"], [[(5 - 5 ** 0.5) / 2, (5 + 5 ** 0.5) / 2]])
    found = figures(lesson_of("qr", "--matrix", file_of(folder, "Q.txt", "3 0\n4 5\n")))
    close(found["R"], [[5, 4], [0, 3]])
    found = figures(lesson_of("least_squares", "--matrix", file_of(folder, "ones.csv", "1\n1\n1\n1\n1\n")))
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
    done = run("solve", "--matrix", path("near.csv", "1,1\n1,1.0000001\n"))
    assert done.returncode == 1 and "an adjoint differs from its differences" in done.stderr, done.stderr


def what_has_no_effect_is_refused(folder):
    refused(2, "softmax_cross_entropy", "everything")
    refused(2, "expected one topic", "solve", "qr")
    refused(2, "expected a topic", "--n", "3")
    refused(2, "expected a topic", "--step")
    refused(2, "--n: the matrix of --matrix has its size", "solve", "--n", "3", "--matrix", "A.csv")
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


def a_formula_is_computed_and_judged(folder):
    def says(part, first, second="", topic="solve", before=4):
        text = told(topic, "--step", answers="\n" * before + f"{first}\n{second}\n")
        assert part in text, (first, second, part, text)
    for right in ("A^-T X_bar", "B_bar = A^-T X_bar", "(A^T)^-1 X_bar", "1 (A^-T) X_bar + 0 X_bar", "2 * A^-T X_bar / 2",
                  "solve(A^T, X_bar)", "I A^-T X_bar"):
        says("Right.", right)
    for wrong, part in (("A^-1 X_bar", "No: its first number is"), ("-A^-T X_bar", "No: The sign is the other one."),
                        ("2 A^-T X_bar", "No: This is twice"), ("(A^-T X_bar)^T", "No: This is its transpose."),
                        ("banana", "'banana' is no value that the lesson has shown"), ("B_bar", "'B_bar' is what is asked for"),
                        ("A_bar X", "'A_bar' is no value"), ("A X_bar^T", "matmul: "), ("(A X_bar", "expected ) before"),
                        ("A X_bar)", "expected an end at ')'"), ("A^4", "expected ^T, ^-1, ^-T, ^2 or ^3"), ("A +", "expected a value"),
                        ("solve(A)", "expected (X, Y)"), ("cholesky(3)", "cholesky: expected square matrices"),
                        ("A", "No: this is 3 x 3, where 3 x 1 is asked for"), ("B_bar =", " = ?")):
        says(part, wrong)
    says("Right.", "", "-B_bar X^T")
    says("Right.", "", "-(A^-T X_bar) X^T")
    says("No: This is its transpose.", "", "-X B_bar^T")
    text = told("ridge", "--step", answers="\n" * 4 + "Z1 W_bar\nK^-1 alpha_bar\nsym(-Y_bar alpha^T)\ntrace K_bar\n")
    assert text.count("Right.") >= 4, text


def main():
    tests = [every_topic_agrees_and_fits_a_terminal, drawn_numbers_agree_at_every_size,
             lines_of_every_topic_agree, every_formula_is_read_whole, figures_are_those_of_closed_forms,
             a_matrix_that_does_not_fit_is_named, what_has_no_effect_is_refused, step_asks_before_it_answers,
             a_formula_is_computed_and_judged]
    failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"[     OK ] {test.__name__}", flush=True)
            except (AssertionError, KeyError, ValueError) as error:
                failed += 1
                print(f"[ FAILED ] {test.__name__}: {error!r}", flush=True)
    return 1 if failed else 0


sys.exit(main())
