"""Stubs for type checkers: mochi/ops.pyi, and mochi/tensor.pyi with the ops that are methods of Tensor.

What the methods are is known when ops.py is written; the rest of tensor.pyi is tensor.pyi of this folder.
"""

import pathlib

import operations

HERE = pathlib.Path(__file__).resolve().parent
HEADING = '''"""Every op of the library with its types. Written by tools/python/door/stubs.py."""

from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike, DTypeLike

from .random import Random
from .sparse import Sparse
from .tensor import Tensor

'''
# Of the arguments that stand for something else than the number that C takes.
TYPES = {
    "mo_reduced NAME": "bool", "const int64_t *NAME": "int | Sequence[int]",
    "const int *NAME": "Sequence[int]", "mo_dtype NAME": "DTypeLike", "mo_random *NAME": "Random", "const mo_csr *NAME": "Sparse",
    "mo_triangle NAME": 'Literal["lower", "lower_transposed", "upper", "upper_transposed"]',
    "mo_intercept NAME": 'bool | Literal["none", "free"]',
    "double NAME": "float", "int NAME": "int", "int64_t NAME": "int",
}  # fmt: skip
# Where tensor.pyi has the methods.
PLACE = "    # METHODS\n"


def type_of(argument):
    """The type of an argument."""
    if argument.is_tensor:
        return "ArrayLike"
    if argument.kind == "mo_axes NAME":  # a set, of which None is all, or one axis
        return "int | Sequence[int] | None" if argument.default == "None" else "int"
    return "Sequence[ArrayLike]" if argument.is_list else TYPES[argument.kind]


def stub(op, found, method=False):
    """The line of an op, or of the method."""
    parts = []
    for a, default in operations.given(found):
        if method and not parts:
            parts.append(a.name)  # self
            continue
        own = type_of(a)
        if default == "None" and not own.endswith("None"):
            own += " | None"
        parts.append(f"{a.name}: {own}" + ("" if default is None else f" = {default}"))
    outputs = sum(a.is_output for a in found)
    result = f"tuple[{', '.join(['Tensor'] * outputs)}]" if outputs else "Tensor"
    return f"def {op}({', '.join(parts)}) -> {result}: ...\n"


def ops(root):
    """The text of mochi/ops.pyi."""
    known = sorted(operations.functions_of(root))
    names = ["__all__ = [\n", *(f'    "{op}",\n' for op, _ in known), "]\nMETHODS: tuple[str, ...]\n\n"]
    return HEADING + "".join([*names, *(stub(op, found) for op, found in known)])


def tensor(root):
    """The text of mochi/tensor.pyi."""
    methods = [
        f"    {stub(op, found, method=True)}" for op, found in operations.functions_of(root) if operations.is_method(found)
    ]
    before, place, after = (HERE / "tensor.pyi").read_text().partition(PLACE)
    if not place:
        raise RuntimeError(f"tensor.pyi: expected a line {PLACE.strip()!r}")
    return before + "".join(methods) + after
