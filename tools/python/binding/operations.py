"""The text of mochi/ops.py: a function of Python for every op that ops/ops.h declares.

Names, inputs and comments are those of the header; formula and adjoint those of the table in ops/ADJOINTS.md.
"""

import ast
import pathlib
import re
import textwrap

import adjoints
import headers

# Inputs for which the header allows NULL: they are optional in Python.
OPTIONAL = {"linear": {"b"}}
DEFAULTS = {
    "axis": "-1", "smoothing": "0.0", "correction": "0", "epsilon": "1e-12", "before": "0", "after": "0", "b": "0.0",
    "rcond": "-1.0",
}  # fmt: skip
OWN_DEFAULTS = {
    ("layer_norm", "epsilon"): "1e-5", ("concat", "axis"): "0", ("stack", "axis"): "0", ("clamp", "b"): None,
    ("slice", "axis"): None, ("pad", "axis"): None, ("with_axis", "axis"): None,
}  # fmt: skip
# Formulas that the header omits as well known.
FORMULAS = {
    "add": "A + B", "sub": "A - B", "mul": "A B, entry by entry", "div": "A / B, entry by entry", "neg": "-X",
    "exp": "e^X", "log": "The natural logarithm", "sqrt": "The square root", "square": "X^2", "relu": "max(X, 0)",
    "tanh": "The hyperbolic tangent", "sigmoid": "1 / (1 + e^-X)", "sum": "The sum over axes; None: all",
    "mean": "The mean over axes; None: all", "logsumexp": "log of the sum of e^X over axes; None: all",
    "cumsum": "Sums of the entries up to each one, along an axis", "softmax": "e^X divided by its sum along an axis",
    "log_softmax": "log softmax(X) along an axis", "reshape": "X in another shape; one size may be -1",
}  # fmt: skip
# Integer inputs, and the function that converts them: lists become int64.
INDICES = {"index": "_index", "offset": "_index", "labels": "_labels", "target": "_labels"}
ENUMS = {"mo_triangle": "triangle", "mo_intercept": "intercept"}
# Functions that take functions or structs are written by hand (mochi/solvers.py, mochi/functions.py).
BY_HAND = {"mo_register_ops", "mo_solve_check"}
# Arguments whose Python type differs from the number that C takes.
TYPES = {
    "mo_reduced NAME": "bool", "const int64_t *NAME": "int | Sequence[int]",
    "const int *NAME": "Sequence[int]", "mo_dtype NAME": "DTypeLike", "mo_random *NAME": "Random", "const mo_csr *NAME": "Sparse",
    "mo_triangle NAME": 'Literal["lower", "lower_transposed", "upper", "upper_transposed"]',
    "mo_intercept NAME": 'bool | Literal["none", "free"]',
    "double NAME": "float", "int NAME": "int", "int64_t NAME": "int",
}  # fmt: skip
HEADING = '''"""Every op of the library, as ops/ops.h declares it. Written by tools/python/binding/operations.py.

An input is a tensor, an array, or a number; arrays and numbers are copied to the tape as constants. A tensor knows its
tape; where all inputs are leaves, the op is recorded on the tape that is open (``with mochi.Tape():``). Leading axes
".." are batch axes; "broadcast" is NumPy's.
"""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike, DTypeLike

from ._library import ffi as _ffi
from ._library import lib as _lib
from .inputs import axes_of as _axes
from .inputs import choice_of as _choice
from .inputs import dtype_of as _dtype
from .inputs import index_of as _index
from .inputs import input_of as _in
from .inputs import labels_of as _labels
from .inputs import list_of as _list
from .inputs import optional_of as _optional
from .inputs import room as _room
from .inputs import shape_of as _shape
from .inputs import tape_of as _tape_of
from .random import Random
from .sparse import Sparse
from .tape import current_tape as _current
from .tensor import Tensor

'''


def commented(header):
    """{function: (comment, files of its section, the words of the section)}"""
    found, files, words, above = {}, "", "", ""
    for declaration, comment in headers.commented(header):
        clean = " ".join(re.sub(r"\n \* ?", "\n", comment).split())
        if declaration.startswith("MO_API"):
            name = re.search(r"\b(mo_\w+)\s*\(", declaration).group(1)
            found[name] = (clean or above, files, words.strip())
            continue
        above = "" if declaration else clean
        if clean.startswith("----"):
            files, _, words = clean.strip("- ").partition(":")
            above = ""
    return found


def formulas(page):
    """{op: (formula, adjoint)} of the rows of ops/ADJOINTS.md that have one op."""
    return {ops[0]: (title.split("`")[-1].strip(", "), adjoint) for ops, title, _, adjoint, _ in adjoints.rows(page) if len(ops) == 1}


class Argument:
    """One or two parameters of C as one of Python: its name, its default, and the expressions to pass on."""

    def __init__(self, op, kind, name):
        name = "lam" if name == "lambda" else name
        self.name, self.default, self.given, self.kind = name, DEFAULTS.get(name), [name], kind
        if (op, name) in OWN_DEFAULTS:
            self.default = OWN_DEFAULTS[op, name]
        self.is_tensor = kind == "mo_tensor *NAME"
        self.is_list = kind == "mo_tensor *const *NAME"
        self.is_output = kind == "mo_tensor **NAME"
        self.is_index = self.is_tensor and name in INDICES
        if self.is_tensor and name in OPTIONAL.get(op, ()):
            self.default = "None"
        elif self.is_tensor or self.is_list:
            self.default = None
        elif kind == "mo_axes NAME":
            self.default = "None" if name == "axes" else self.default
            self.name, self.given = "axis", ["_axes(axis)"]
        elif kind == "mo_reduced NAME":
            self.name, self.default, self.given = "keepdims", "False", ["bool(keepdims)"]
        elif kind == "const int64_t *NAME":
            self.given = ["*_shape(shape)"]
        elif kind == "const int *NAME":
            self.given = [f'_ffi.new("int[6]", list({name}))']
        elif kind == "mo_dtype NAME":
            self.name, self.given = "dtype", ["_dtype(dtype)"]
            self.default = '"float64"' if name == "real" else None
        elif kind == "mo_random *NAME":
            self.name, self.given = "random", ["random.position"]
        elif kind == "const mo_csr *NAME":
            self.given = [f"tape._holds({name})._live()"]
        elif kind.split()[0] in ENUMS:
            own = kind.split()[0]
            self.default = '"lower"' if own == "mo_triangle" else '"none"'
            self.given = [f'_choice("{own}", {name})']

    def expression(self, like):
        """The expression that passes the argument to the gate."""
        if not self.is_tensor:
            return ", ".join(self.given)
        how = "_optional" if self.default == "None" else INDICES[self.name] if self.is_index else "_in"
        return f"{how}({self.name}, tape, {like})"


def arguments(op, parameters):
    """The Python arguments for a function's parameters; None if a parameter is a C function."""
    found = []
    for kind, name in parameters:
        if "(*" in kind or kind.split()[0] in ("mo_graph_code", "mo_residual") or "options" in name:
            return None
        if (name == "ndim") or (name == "n" and found and found[-1].is_list) or name == "K":
            continue
        found.append(Argument(op, kind, name))
    return found


def given(found):
    """(argument, its default or None) in Python's order."""
    optional = False
    for a in sorted((a for a in found if not a.is_output), key=lambda a: a.name == "dtype"):
        optional = optional or a.default is not None
        yield a, a.default if a.default is not None else "None" if optional else None


def type_of(argument):
    """The type of an argument."""
    if argument.is_tensor:
        return "ArrayLike"
    if argument.kind == "mo_axes NAME":  # a set of axes, where None means all, or one axis
        return "int | Sequence[int] | None" if argument.default == "None" else "int"
    return "Sequence[ArrayLike]" if argument.is_list else TYPES[argument.kind]


def declared(op, found, method=False):
    """The `def` line of an op's function or method, without its colon."""
    parts = []
    for a, default in given(found):
        if method and not parts:
            parts.append(a.name)  # self
            continue
        own = type_of(a)
        if default == "None" and not own.endswith("None"):
            own += " | None"
        parts.append(f"{a.name}: {own}" + ("" if default is None else f" = {default}"))
    outputs = sum(a.is_output for a in found)
    result = f"tuple[{', '.join(['Tensor'] * outputs)}]" if outputs else "Tensor"
    return f"def {op}({', '.join(parts)}) -> {result}"


def is_method(found):
    """Whether the op is also a method of its first input."""
    return bool(found) and found[0].is_tensor and not found[0].is_index


def docstring(op, note, table):
    comment, files, words = note
    formula, adjoint = table.get(op, ("", ""))
    formula = formula if "=" in formula else ""
    listed = [f.strip() for f in files.replace(":", ",").split(",")]
    file = f"{op}.c" if f"{op}.c" in listed else listed[0]
    text = FORMULAS.get(op) or comment or f"{formula or op}: {words}"
    lines = textwrap.wrap(text, 112)
    if formula and formula not in text:
        lines += ["", *textwrap.wrap(formula, 112)]
    if adjoint and adjoint != "none":
        lines += ["", *textwrap.wrap(f"Adjoint: {adjoint}", 112)]
    lines += ["", f"Source: ops/{file}"]
    return "\n".join(f"    {line}".rstrip() for line in lines).strip()


def pointers(found):
    """Lines that find the tape and the pointers of the inputs; fast if all are tensors."""
    inputs = [a for a in found if a.is_tensor]
    lists = [a for a in found if a.is_list]
    near = [a.name for a in inputs] + [f"*{a.name}" for a in lists]
    like = {a.name: next((b.name for b in inputs if b is not a), "None") for a in inputs}
    slow = [f"tape = _tape_of({', '.join(near)})"]
    slow += [f"{a.name}_ = {a.expression(like[a.name])}" for a in inputs]
    if lists or any(a.default == "None" for a in inputs) or not inputs:
        return slow + [f"{a.name}_, {a.name}_count = _list({a.name}, tape)" for a in lists]
    fast = [f"tape = {' or '.join(f'{a.name}._tape' for a in inputs)} or _current()"]
    fast += [f"{a.name}_ = {a.name}._pointer if {a.name}._frame.alive else {a.name}._gone()" for a in inputs]
    return ["try:", *(f"    {line}" for line in fast), "except AttributeError:", *(f"    {line}" for line in slow)]


def body(op, found):
    given = ["tape._gate", "tape._pointer"]
    for a in found:
        if a.is_list:
            given += [f"{a.name}_", f"{a.name}_count"]
        elif a.is_tensor:
            given.append(f"{a.name}_")
        elif not a.is_output:
            given += a.given
    outputs = sum(a.is_output for a in found)
    lines = pointers(found)
    if outputs:
        lines.append(f"out = _room({outputs})")
        given += [f"out + {i}" for i in range(outputs)]
        lines.append(f"_lib.gate_mo_{op}({', '.join(given)})")
        lines.append("tape._check()")
        lines.append(f"return {', '.join(f'Tensor(out[{i}], tape)' for i in range(outputs))}")
    else:
        lines.append(f"result = _lib.gate_mo_{op}({', '.join(given)})")
        lines.append("return Tensor(result, tape) if result else tape._fail()")
    return "\n".join(f"    {line}" for line in lines)


def functions_of(root):
    """(op, arguments) of every op that has no function of C among its inputs."""
    text = headers.without_attributes(re.sub(r"/\*.*?\*/", " ", (root / "ops/ops.h").read_text(), flags=re.S))
    text = re.sub(r"#(define|include|ifndef|endif)[^/;]*?(?=MO_API|typedef|enum)", " ", text).replace("MO_API", " ")
    for _, name, parameters in headers.functions(text):
        if name in BY_HAND or not parameters or parameters[0][1] != "t":
            continue
        found = arguments(name[3:], parameters[1:])
        if found is not None:
            yield name[3:], found


def module(root):
    """The text of mochi/ops.py."""
    notes = commented((root / "ops/ops.h").read_text())
    table = formulas((root / "ops/ADJOINTS.md").read_text())
    names, methods, parts = [], [], []
    for op, found in functions_of(root):
        names.append(op)
        if is_method(found):
            methods.append(op)
        parts.append(f'{declared(op, found)}:\n    """{docstring(op, notes["mo_" + op], table)}\n    """\n{body(op, found)}\n')
    lists = [
        "__all__ = [\n" + "".join(f'    "{n}",\n' for n in sorted(names)) + "]\n",
        "# Those whose first input is a tensor are its methods too.\nMETHODS: tuple[str, ...] = (\n"
        + "".join(f'    "{n}",\n' for n in methods) + ")\n",
    ]  # fmt: skip
    return HEADING + "\n\n".join([*lists, *parts])


def declarations(node):
    """A module or class of Python without what its functions do, as the lines of a stub."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and (part.returns or part.name == "__init__"):
            part.body = [ast.Expr(ast.Constant(...))]
            yield from ast.unparse(part).split("\n")
        elif isinstance(part, ast.ClassDef):
            yield f"class {part.name}{f'({ast.unparse(part.bases[0])})' if part.bases else ''}:"
            yield from ("    " + line for line in declarations(part))
            yield from [f"    # {part.name}"]
        elif isinstance(part, ast.AnnAssign):
            yield f"{ast.unparse(part.target)}: {ast.unparse(part.annotation)}"


def methods(root):
    """The text of mochi/tensor.pyi: the declarations of mochi/tensor.py, in whose Tensor are those of tensor.pyi of this folder, the
    binary operators and the ops that are methods."""
    here, own = pathlib.Path(__file__), {"reshape"}  # declared in tensor.pyi itself
    modules = here.parents[1] / "mochi"
    heading, _, attached = here.with_name("tensor.pyi").read_text().partition("# MODULE\n")
    binary = re.findall(r"Tensor\.(__(?!n?eq|ne__|neg|abs|contains|getitem|array)\w+__)[ ,]", (modules / "operators.py").read_text())
    lines = [f"    def {op}(self, b: ArrayLike) -> Tensor: ...\n" for op in binary]
    listed = ((op, found) for op, found in functions_of(root) if is_method(found) and op not in own)
    lines += [f"    {declared(op, found, method=True)}: ...\n" for op, found in listed]
    attached = attached.replace("    # METHODS\n", "".join(lines))
    module = "\n".join(declarations(ast.parse((modules / "tensor.py").read_text()))) + "\n"
    return heading + module.replace("    # Tensor\n", attached)
