"""Solutions found by iterations, with the gradient of the implicit function theorem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import checked, errors
from .._library import ffi, lib
from ..callbacks import Equations
from ..inputs import input_of, list_of, tape_of
from ..tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

MAX_THETA = 12
MOST_PAIRS = 32


class Report:
    """What a solver has done; of a batch, the worst of its systems.

    Backward writes it too, so that figures of adjoint systems are there after it.

    Attributes
    ----------
    iterations : int
        Of the solver.
    residual : float
        |F(x)| / max(1, |x|) at its end.
    converged : bool
        Whether that is within the tolerance.
    adjoint_iterations, adjoint_residual, adjoint_systems : int, float, int
        Of the linear systems of backward.
    """

    def __init__(self) -> None:
        self._solver = ffi.new("mo_solver_report *")
        self._implicit = ffi.new("mo_implicit_report *")

    iterations = property(lambda self: self._solver.iterations)
    converged = property(lambda self: self._solver.converged)
    residual = property(lambda self: self._solver.residual or self._implicit.residual)
    adjoint_residual = property(lambda self: self._implicit.adjoint_residual)
    adjoint_iterations = property(lambda self: self._implicit.iterations)
    adjoint_systems = property(lambda self: self._implicit.systems)
    missed = property(lambda self: self._implicit.missed)

    def __repr__(self):
        return f"mochi.Report(iterations={self.iterations}, residual={self.residual:.3g}, converged={self.converged})"


# Of mo_implicit, by the names of its struct.
OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "batch_axes": checked.whole, "symmetric": checked.flag, "dense_limit": lambda what, n: checked.whole(what, n, -1),
    "tolerance": lambda what, x: checked.real(what, x, 0), "iterations": checked.whole, "restart": checked.whole,
    "residual": lambda what, x: checked.real(what, x, -1), "accept": checked.flag,
}  # fmt: skip


def _fill(options, tape, equations, report, named):
    """Writes the options of mo_implicit; names are those of its struct."""
    for name, value in named.items():
        if name not in OPTIONS:
            raise TypeError(f"an unknown option {name!r}")
        setattr(options, name, OPTIONS[name](name, value))
    if equations.jacobian is not None:
        options.jacobian = lib.door_jacobian
    if report is not None:
        options.report = tape.holds(report)._implicit
    options.state = tape.holds(ffi.new_handle(tape.holds(equations)))


def implicit(
    residual: Callable[..., Tensor],
    w0: ArrayLike,
    theta: Sequence[ArrayLike],
    solver: str | None = "newton_krylov",
    jacobian: Callable[..., Tensor] | None = None,
    report: Report | None = None,
    **options: Any,
) -> Tensor:
    """The w with residual(w, *theta) = 0 near w0, differentiable in theta any number of times.

    Its differential is dw = -(dF/dw)^-1 (dF/dtheta) dtheta, whichever method found w; no iteration is recorded.
    No gradient flows to w0.

    Parameters
    ----------
    residual : callable
        F(w, *theta), of the shape of w, written with ops. Every tensor that needs a gradient belongs in theta.
    w0 : Tensor or array
        Where the solver starts.
    theta : sequence of Tensor
        12 at most.
    solver : str
        "newton_krylov" for any F; "conjugate_gradients" or "gmres" for F(w) = A(theta) w - b(theta); None: w0 is the
        solution, found by any means.
    jacobian : callable
        dF/dw [.., m, m], without gradient; None: by vjps of F.
    report : Report
        Where to write what was done.
    **options
        batch_axes, symmetric, dense_limit, tolerance, iterations, restart, residual, accept: as of `mo_implicit_options`
        in ops/ops.h, of the adjoint systems.

    Source: ops/solvers/implicit.c; Krantz and Parks 2002; Blondel et al. 2022

    Examples
    --------
    >>> a = mochi.parameter([8.0, 27.0], dtype="float64")
    >>> with mochi.Tape() as tape:
    ...     root = mochi.implicit(lambda w, a: w * w * w - a, np.ones(2), [a])
    ...     (gradient,) = tape.grad(root.sum(), [a])
    >>> root.numpy().round(6).tolist(), (1 / gradient.numpy()).round(6).tolist()
    ([2.0, 3.0], [12.0, 27.0])
    """
    tape = tape_of(w0, *theta)
    equations = Equations(residual, jacobian)
    if solver is not None:
        return solve(solver, residual, w0, theta, jacobian=jacobian, report=report, implicit=options)
    pointers, n = _theta(theta, tape)
    o = ffi.new("mo_implicit_options *")
    _fill(o, tape, equations, report, options)
    x = input_of(w0, tape, theta[0] if theta else None)
    result = lib.gate_mo_implicit(tape.gate, tape.pointer, x, lib.door_residual, pointers, n, o)
    return Tensor(result, tape) if result else tape.fail()


SOLVERS = {
    "conjugate_gradients": lib.gate_mo_conjugate_gradients,
    "gmres": lib.gate_mo_gmres,
    "newton_krylov": lib.gate_mo_newton_krylov,
    "lbfgs": lib.gate_mo_lbfgs,
    "projected_gradient": lib.gate_mo_projected_gradient,
}


def solve(
    solver: str,
    f: Callable[..., Tensor],
    x0: ArrayLike,
    theta: Sequence[ArrayLike],
    tolerance: float = 0.0,
    iterations: int = 0,
    memory: int = 0,
    unrolled: bool = False,
    jacobian: Callable[..., Tensor] | None = None,
    report: Report | None = None,
    implicit: dict[str, Any] | None = None,
) -> Tensor:
    """The solution that a solver finds from x0, differentiable in theta any number of times.

    Parameters
    ----------
    solver : str
        "conjugate_gradients", "gmres", "newton_krylov": f is F(x, *theta), 0 at the solution. "lbfgs",
        "projected_gradient": f is f(x, *theta), one value per item, minimised freely or over the simplex.
    tolerance, iterations : float, int
        Of |F| / max(1, |x|), and how many at most; 0: the library's (1e-10 in float64, 1e-5 in float32; 1000).
    memory : int
        Of lbfgs alone, in pairs; 0: 10.
    unrolled : bool
        Record and differentiate every iteration instead.
    implicit : dict
        Options of the adjoint systems, as for `implicit`.

    Source: ops/solvers/
    """
    if solver not in SOLVERS:
        raise errors.InvalidError(f"solver {solver!r}, expected one of {', '.join(SOLVERS)}")
    if memory and solver != "lbfgs":
        raise errors.InvalidError(f"solve: memory is {memory!r} of {solver}, expected it of lbfgs alone")
    tape = tape_of(x0, *theta)
    pointers, n = _theta(theta, tape)
    o = ffi.new("mo_solver_options *")
    o.tolerance, o.iterations = checked.real("solve: tolerance", tolerance, 0), checked.whole("solve: iterations", iterations)
    o.memory, o.unrolled = checked.whole("solve: memory", memory, 0, MOST_PAIRS), checked.flag("solve: unrolled", unrolled)
    _fill(o.implicit, tape, Equations(f, jacobian), report, implicit or {})
    if report is not None:
        o.report = report._solver
    x = input_of(x0, tape, theta[0] if theta else None)
    result = SOLVERS[solver](tape.gate, tape.pointer, x, lib.door_residual, pointers, n, o)
    return Tensor(result, tape) if result else tape.fail()


def _theta(theta, tape):
    if len(theta) > MAX_THETA:
        raise errors.InvalidError(f"{len(theta)} tensors theta, expected {MAX_THETA} at most")
    return list_of(theta, tape)
