"""Linear systems with a policy for matrices that have no solution or a bad one, and what is known of each system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import checked, errors
from .._library import ffi, lib
from ..inputs import input_of, tape_of
from ..tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..tape import Tape

POLICIES = {
    "error": lib.MO_SOLVE_ERROR,
    "nan": lib.MO_SOLVE_NAN,
    "shift": lib.MO_SOLVE_SHIFT,
    "refine": lib.MO_SOLVE_REFINE,
}
WARNING_BYTES = 512


class Health:
    """What `solve_with` knows of its systems: constants of the tape, one entry per matrix of the batch.

    Attributes
    ----------
    info : Tensor
        int32: 0; i > 0: leading minor i is not positive, or pivot i is 0; -1: A is not finite; -2: A is singular to
        working precision.
    rcond : Tensor
        1 / (|A| |A^-1|) in the 1-norm, from an inverse in float64; 0 of a singular matrix.
    residual : Tensor
        |A X - B| / (n eps |A| |X|): below about 10 for every solve that went well.
    lam : Tensor
        On the diagonal of the A that was solved.
    error : Tensor
        The expected relative error of X and of gradients, eps / rcond; 1: no digit is right.
    """

    def __init__(self) -> None:
        self._struct = ffi.new("mo_solve_health *")
        self._tape: Tape | None = None

    def _tensor(self, name: str) -> Tensor:
        if self._tape is None:
            raise errors.InvalidError(f"Health.{name}: no solve has written it yet: solve_with(A, B, health=health)")
        return Tensor(getattr(self._struct, name), self._tape)

    @property
    def info(self) -> Tensor:
        """Why a system has no solution; 0: it has one."""
        return self._tensor("info")

    @property
    def rcond(self) -> Tensor:
        """The reciprocal condition of each matrix."""
        return self._tensor("rcond")

    @property
    def residual(self) -> Tensor:
        """The residual ratio of each solution."""
        return self._tensor("residual")

    @property
    def lam(self) -> Tensor:
        """What stands on the diagonal."""
        return self._tensor("lambda")

    @property
    def error(self) -> Tensor:
        """The expected relative error."""
        return self._tensor("error")

    def warning(self, limit: float = 0.0) -> str:
        """One line on the systems whose expected error is above the limit (0: 0.01), naming the worst; "" if none is."""
        context = self.error.context
        text = ffi.new("char[]", WARNING_BYTES)
        context.call(lib.gate_mo_solve_warning, self._struct, limit, text, WARNING_BYTES)
        return ffi.string(text).decode(errors="replace")


def solve_with(
    A: ArrayLike,
    B: ArrayLike,
    policy: str = "error",
    spd: bool = False,
    least_rcond: float = 0.0,
    shift: float = 0.0,
    largest_shift: float = 0.0,
    health: Health | None = None,
) -> Tensor:
    """X with A X = B as of `ops.solve` or `ops.solve_spd`, with the same bits where no matrix fails.

    Differentiable any number of times, with lambda held fixed.

    Parameters
    ----------
    A, B : Tensor or array
        [.., n, n] and [.., n, m], equal leading axes, both float32 or both float64.
    policy : str
        What becomes of a matrix that has no solution or falls below `least_rcond`. "error": NumericalError, naming it;
        "nan": its X and gradients are NaN; "shift": A + lambda I is solved in its place, for the smallest lambda of a
        geometric row that helps; "refine": residuals in float64, backward too.
    spd : bool
        A is symmetric positive definite; its lower triangle is read.
    least_rcond : float
        The least reciprocal condition; 0: whatever the factorization accepts.
    shift, largest_shift : float
        Of the policy "shift" alone: lambda is shift |A|, ten times that, and so on up to largest_shift |A|; 0: the epsilon of
        the dtype, 0.01.
    health : Health
        Where to write what is known of each system; it costs an inverse in float64.

    Source: ops/composed/solve_with.c, ops/solve_refined.c; Wilkinson 1963; Higham 2002

    Examples
    --------
    >>> A = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-5]], dtype="float32")
    >>> health = mochi.Health()
    >>> with mochi.Tape():
    ...     X = mochi.solve_with(A, np.ones((2, 1), "float32"), health=health)
    ...     health.rcond.item() < 1e-5, health.warning().startswith("solve")
    (True, True)
    """
    if policy not in POLICIES:
        raise errors.InvalidError(f"policy {policy!r}, expected one of {', '.join(POLICIES)}")
    bounds = {"least_rcond": least_rcond, "shift": shift, "largest_shift": largest_shift}
    bounds = {name: checked.real(f"solve_with: {name}", value, 0) for name, value in bounds.items()}
    if policy != "shift" and (bounds["shift"] or bounds["largest_shift"]):
        raise errors.InvalidError(f"solve_with: shift and largest_shift have no effect under the policy {policy!r}")
    tape = tape_of(A, B)
    o = ffi.new("mo_solve_options *", bounds)
    o.policy, o.spd = POLICIES[policy], checked.flag("solve_with: spd", spd)
    a, b = input_of(A, tape, B), input_of(B, tape, A)
    struct = health._struct if health is not None else ffi.NULL
    result = lib.gate_mo_solve_with(tape.gate, tape.pointer, a, b, o, struct)
    if not result:
        return tape.fail()
    if health is not None:
        health._tape = tape
    return Tensor(result, tape)
