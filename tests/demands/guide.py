#!/usr/bin/env python3
"""Runs the programs of this folder, in a Python that has mochi; or makes the page "Asked elsewhere" of their docstrings.

Usage: guide.py [--page FILE]      the build and tools/docs make the page
"""

import ast
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
GROUPS = {
    "Solves and their derivatives": """cholesky_solve_jvp cholesky_inverse_jvp solve_of_identity_151_two_threads
        lstsq_backward_ill_conditioned lstsq_of_collinear_columns lstsq_forward_mode""",
    "Batches": """row_alone_equals_row_in_batch large_batch_of_identities one_bad_item_in_a_batch batched_3x3_solve
        batched_qr""",
    "When something fails": """nan_input_or_conditioning singular_jacobian_at_start convergence_flag_and_finite_differences
        training_never_aborts""",
    "Higher derivatives": "second_derivative_of_root vmap_of_implicit second_derivatives",
    "Memory": "memory_told_and_bounded grad_keeps_what_the_tape_keeps queries_in_pieces",
    "Teaching and packages": "gradients_flowing_back wheel_for_314",
}
NAMES = " ".join(GROUPS.values()).split()
OPENING = """# Asked elsewhere

{count} questions that people asked of other projects. Behind each stands its program in `tests/demands/`, which asserts our answer, and
prints it beside the truth (a number by mpmath) and what the asker reported. Parts of {open} are not answered, and are marked so.
"""


def run(name):
    """(exit status, line) of a program."""
    done = subprocess.run([sys.executable, "-W", "ignore", HERE / f"{name}.py"], capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    return done.returncode, lines[-1] if lines else done.stderr[-2000:]


def page():
    """The page."""
    texts = {n: ast.get_docstring(ast.parse((HERE / f"{n}.py").read_text())) for n in NAMES}
    out = [OPENING.format(count=len(texts), open=sum("Not answered" in text for text in texts.values()))]
    for group, names in GROUPS.items():
        out.append(f"## {group}\n")
        for name in names.split():
            question, asked, answer = re.fullmatch(r"(.*?)\s+Asked: (\S+)\s+Answer: (.*)", texts[name], re.S).groups()
            project, number = re.fullmatch(r"https://github.com/[\w-]+/([\w.-]+)/\w+/(\d+)", asked).groups()
            first, *rest = re.split(r"(?<=[.])\s+(?=[A-Z])", answer)
            if "`" not in first:  # a reason, which the program opens with, and no name to call
                first = re.sub(r"^((?:Yes|No)\b[^:]*):.*", r"\1.", first, flags=re.S)
            answer = " ".join([first, *(sentence for sentence in rest if sentence.startswith("Not answered"))])
            said = f"**{question}** ([{project} {number}]({asked}), `{name}.py`) {answer}"
            out.append(textwrap.fill(said, 120, break_long_words=False, break_on_hyphens=False) + "\n")
    return "\n".join(out)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--page"]:
        pathlib.Path(sys.argv[2]).write_text(page())
        sys.exit()
    ran = {name: run(name) for name in NAMES}
    for name, (status, line) in ran.items():
        print(line if status in (0, 77) else f"{name}: failed\n{line}")
    sys.exit(any(status not in (0, 77) for status, _ in ran.values()))
