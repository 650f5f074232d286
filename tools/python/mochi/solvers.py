"""Iterative solvers; the health of solutions by factorization; checks of derivatives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import arrays, checked, errors
from ._library import ffi, lib
from .context import Context, default_context
from .inputs import input_of, list_of, tape_of
from .tape import Tape
from .tensor import Tensor, constant, parameter

MOST_PAIRS = 32


class Report:
    """A solver's figures; for a batch, the worst of its systems.

    Backward adds the figures of the adjoint systems.

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
        self._struct = ffi.new("mo_solver_report *")

    def __reduce__(self):
        return _report, (bytes(ffi.buffer(self._struct)),)

    iterations = property(lambda self: self._struct.iterations)
    residual = property(lambda self: self._struct.residual)
    converged = property(lambda self: self._struct.converged)
    adjoint_iterations = property(lambda self: self._struct.adjoint_iterations)
    adjoint_residual = property(lambda self: self._struct.adjoint_residual)
    adjoint_systems = property(lambda self: self._struct.adjoint_systems)
    missed = property(lambda self: self._struct.missed)

    def __repr__(self):
        return f"mochi.Report(iterations={self.iterations}, residual={self.residual:.3g}, converged={self.converged})"


def _report(figures):
    report = Report()
    ffi.memmove(report._struct, figures, len(figures))
    return report


# The options of mo_implicit, by the names in its struct.
OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "batch_axes": checked.whole, "symmetric": checked.flag, "dense_limit": lambda what, n: checked.whole(what, n, -1),
    "tolerance": lambda what, x: checked.real(what, x, 0), "iterations": checked.whole, "restart": checked.whole,
    "residual": lambda what, x: checked.real(what, x, -1), "accept": checked.flag,
}  # fmt: skip


def _fill(options, tape, residual, jacobian, report, named):
    """Writes the options of mo_implicit; names are those of its struct. The state is (F, dF/dx)."""
    for name, value in named.items():
        if name not in OPTIONS:
            raise TypeError(f"an unknown option {name!r}")
        setattr(options, name, OPTIONS[name](name, value))
    if jacobian is not None:
        options.jacobian = lib.binding_jacobian
    if report is not None:
        options.report = tape._holds(report)._struct
    options.state = tape._holds(ffi.new_handle(tape._holds((residual, jacobian))))


def implicit(
    residual: Callable[..., Tensor],
    solution: ArrayLike,
    theta: Tensor | Sequence[ArrayLike],
    jacobian: Callable[..., Tensor] | None = None,
    report: Report | None = None,
    **options: Any,
) -> Tensor:
    """A w with residual(w, *theta) = 0, found by any means, as a function of theta: differentiable any number of times.

    Its differential is dw = -(dF/dw)^-1 (dF/dtheta) dtheta, whichever method found w. No gradient flows to `solution`. `root`
    and `minimize` also find w.

    Parameters
    ----------
    residual : callable
        F(w, *theta), of the shape of w, written with ops. Every tensor that needs a gradient belongs in theta; one that F reads
        from outside is refused, as its gradient would be lost.
    solution : Tensor or array
        w. A residual above the option `residual` raises `NumericalError`.
    theta : Tensor, or a sequence
        12 at most.
    jacobian : callable
        dF/dw [.., m, m], without gradient; None: by vjps of F.
    report : Report
        Receives the figures.
    **options
        batch_axes, symmetric, dense_limit, tolerance, iterations, restart, residual, accept: as in `mo_implicit_options` of
        ops/ops.h, for the adjoint systems.

    Source: ops/solvers/implicit.c; Krantz and Parks 2002; Blondel et al. 2022

    Examples
    --------
    >>> a = mochi.parameter([8.0, 27.0], dtype="float64")
    >>> with mochi.Tape() as tape:
    ...     root = mochi.implicit(lambda w, a: w * w * w - a, np.cbrt([8.0, 27.0]), [a])
    ...     (gradient,) = tape.grad(root.sum(), [a])
    >>> root.numpy().round(6).tolist(), (1 / gradient.numpy()).round(6).tolist()
    ([2.0, 3.0], [12.0, 27.0])
    """
    theta = [theta] if isinstance(theta, Tensor) else theta
    tape = tape_of(solution, *theta)
    pointers, n = list_of(theta, tape)
    o = ffi.new("mo_implicit_options *")
    _fill(o, tape, residual, jacobian, report, options)
    x = input_of(solution, tape, theta[0] if theta else None)
    result = lib.gate_mo_implicit(tape._gate, tape._pointer, x, lib.binding_residual, pointers, n, o)
    return Tensor(result, tape) if result else tape._fail()


def implicit_solve(
    residual: Callable[..., Tensor],
    b: ArrayLike,
    w: ArrayLike,
    theta: Tensor | Sequence[ArrayLike],
    transposed: bool = False,
    jacobian: Callable[..., Tensor] | None = None,
    report: Report | None = None,
    **options: Any,
) -> Tensor:
    """J^-1 b or J^-T b, where J = dF/dw at (w, theta) is known as graph code for F alone; differentiable in b, w and theta.

    A Newton step, an influence function, the gradient of an outer loss. Small systems are factored, large ones solved by products
    with J. Parameters as of `implicit`; b and w have one shape.

    Source: ops/solvers/implicit_solve.c

    Examples
    --------
    >>> with mochi.Tape():
    ...     step = mochi.implicit_solve(lambda w: w * w - 2.0, np.array([1.0, -7.0]), np.array([1.0, 3.0]), [])
    >>> step.numpy().round(6).tolist()
    [0.5, -1.166667]
    """
    theta = [theta] if isinstance(theta, Tensor) else theta
    tape = tape_of(b, w, *theta)
    pointers, n = list_of(theta, tape)
    o = ffi.new("mo_implicit_options *")
    _fill(o, tape, residual, jacobian, report, options)
    right, at = input_of(b, tape, w), input_of(w, tape, b)
    flag = checked.flag("implicit_solve: transposed", transposed)
    result = lib.gate_mo_implicit_solve(tape._gate, tape._pointer, right, at, lib.binding_residual, pointers, n, flag, o)
    return Tensor(result, tape) if result else tape._fail()


METHODS = {"lbfgs": lib.gate_mo_lbfgs, "projected_gradient": lib.gate_mo_projected_gradient}


def _solved(solver, f, x0, theta, tolerance, iterations, memory, unrolled, jacobian, report, named):
    """The result of a solver of the library."""
    theta = [theta] if isinstance(theta, Tensor) else theta
    tape = tape_of(x0, *theta)
    pointers, n = list_of(theta, tape)
    o = ffi.new("mo_solver_options *")
    o.tolerance = 0 if tolerance is None else checked.real("tolerance", tolerance, 0)
    o.iterations = 0 if iterations is None else checked.whole("iterations", iterations, 1)
    o.memory = 0 if memory is None else checked.whole("memory", memory, 1, MOST_PAIRS)
    o.unrolled = checked.flag("unrolled", unrolled)
    for name in ("tolerance", "iterations"):  # of the linear systems, as the solver has its own
        if name in named:
            raise TypeError(f"{name} is given twice")
        if "adjoint_" + name in named:
            named[name] = named.pop("adjoint_" + name)
    _fill(o.implicit, tape, f, jacobian, report, named)
    x = input_of(x0, tape, theta[0] if theta else None)
    result = solver(tape._gate, tape._pointer, x, lib.binding_residual, pointers, n, o)
    return Tensor(result, tape) if result else tape._fail()


def root(
    residual: Callable[..., Tensor],
    x0: ArrayLike,
    theta: Tensor | Sequence[ArrayLike],
    tolerance: float | None = None,
    iterations: int | None = None,
    unrolled: bool = False,
    jacobian: Callable[..., Tensor] | None = None,
    report: Report | None = None,
    **options: Any,
) -> Tensor:
    """The x near x0 with residual(x, *theta) = 0, by Newton steps; differentiable in theta any number of times.

    Parameters
    ----------
    residual, theta, jacobian, report
        As of `implicit`.
    x0 : Tensor or array
        The start; no gradient flows to it.
    tolerance, iterations : float, int
        Bound of |F| / max(1, |x|), and most iterations; None: 1e-10 in float64, 1e-5 in float32; 1000.
    unrolled : bool
        Record and differentiate every iteration instead.
    **options
        Those of `implicit`; adjoint_tolerance and adjoint_iterations are for the linear systems.

    Source: ops/solvers/newton_krylov.c

    Examples
    --------
    >>> a = mochi.parameter([8.0, 27.0], dtype="float64")
    >>> with mochi.Tape() as tape:
    ...     root = mochi.root(lambda w, a: w * w * w - a, np.ones(2), [a])
    ...     (gradient,) = tape.grad(root.sum(), [a])
    >>> root.numpy().round(6).tolist(), (1 / gradient.numpy()).round(6).tolist()
    ([2.0, 3.0], [12.0, 27.0])
    """
    solver = lib.gate_mo_newton_krylov
    return _solved(solver, residual, x0, theta, tolerance, iterations, None, unrolled, jacobian, report, options)


def minimize(
    f: Callable[..., Tensor],
    x0: ArrayLike,
    theta: Tensor | Sequence[ArrayLike],
    method: str = "lbfgs",
    tolerance: float | None = None,
    iterations: int | None = None,
    memory: int | None = None,
    unrolled: bool = False,
    report: Report | None = None,
    **options: Any,
) -> Tensor:
    """The x that minimises f(x, *theta), one value per item; differentiable in theta any number of times.

    Parameters
    ----------
    method : str
        "lbfgs": over all x; "projected_gradient": over x >= 0 whose last axis sums to 1.
    memory : int
        For lbfgs only: number of pairs; None: 10.

    The others are those of `root`; |F| is the norm of the gradient. Source: ops/solvers/

    Examples
    --------
    >>> a = mochi.parameter([3.0, -1.0], dtype="float64")
    >>> with mochi.Tape() as tape:
    ...     x = mochi.minimize(lambda x, a: ((x - a) ** 2).sum() + (x * x).sum(), np.zeros(2), [a])
    ...     (gradient,) = tape.grad(x.sum(), [a])
    >>> x.numpy().round(6).tolist(), gradient.numpy().round(6).tolist()
    ([1.5, -0.5], [0.5, 0.5])
    """
    if method not in METHODS:
        raise errors.InvalidError(f"minimize: method {method!r}, expected one of {', '.join(METHODS)}")
    if memory is not None and method != "lbfgs":
        raise errors.InvalidError(f"minimize: memory is {memory!r} of {method}, expected it of lbfgs alone")
    return _solved(METHODS[method], f, x0, theta, tolerance, iterations, memory, unrolled, None, report, options)


class Health:
    """The result of `solve_check`: constants of the tape, one entry per matrix of the batch.

    Attributes
    ----------
    info : Tensor
        int32: 0; i > 0: leading minor i is not positive, or pivot i is 0; -1: A is not finite; -2: A is singular to
        working precision.
    rcond : Tensor
        1 / (|A| |A^-1|) in the 1-norm, from an inverse in float64; 0 for a singular matrix.
    residual : Tensor
        |A X - B| / (n eps |A| |X|): below about 10 for every good solve.
    error : Tensor
        The expected relative error of X and of gradients, eps / rcond; 1: no correct digit.
    """

    def __init__(self, struct: Any, tape: Tape) -> None:
        self.info, self.rcond, self.residual, self.error = (
            Tensor(getattr(struct, name), tape) for name in ("info", "rcond", "residual", "error")
        )


def solve_check(A: ArrayLike, B: ArrayLike, X: ArrayLike, spd: bool = False) -> Health:
    """Checks the solution X of `ops.solve` for A and B, or of `ops.solve_or_nan` if matrices can be singular.

    Parameters
    ----------
    A, B, X : Tensor or array
        [.., n, n], [.., n, m] and the solution, all float32 or all float64.
    spd : bool
        X comes from `ops.solve_spd` or `ops.solve_spd_or_nan`; only the lower triangle of A is read.

    It costs an inverse in float64. Source: ops/composed/solve_health.c; Higham 2002

    Examples
    --------
    >>> A, B = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-5]], dtype="float32"), np.ones((2, 1), "float32")
    >>> with mochi.Tape():
    ...     health = mochi.solve_check(A, B, mochi.ops.solve_or_nan(A, B))
    ...     health.rcond.item() < 1e-5, health.error.item() > 0.01
    (True, True)
    """
    tape = tape_of(A, B, X)
    a, b, x = input_of(A, tape, B), input_of(B, tape, A), input_of(X, tape, A)
    struct = ffi.new("mo_solve_health *")
    if lib.gate_mo_solve_check(tape._gate, tape._pointer, a, b, x, checked.flag("solve_check: spd", spd), struct):
        return tape._fail()
    return Health(struct, tape)


@dataclasses.dataclass
class Check:
    """The result of a check of derivatives; true if it passed.

    Attributes
    ----------
    passed : bool
        Whether `error` is within the tolerance.
    error : float
        The largest relative error of a directional derivative.
    samples : int
        Number of derivatives compared.
    worst : str
        Sample, input and values at the largest error, or why the check failed.
    """

    passed: bool
    error: float
    samples: int
    worst: str

    @classmethod
    def run(cls, context: Context, function: Callable[..., Any], *arguments: Any) -> Check:
        """Calls a checker of the library. Drops the exceptions of functions at inputs that they may refuse."""
        result = context.call(function, *arguments)
        errors.drop(context.address)
        worst = ffi.string(result.worst).decode(errors="replace")
        return cls(getattr(result, "pass"), result.error, result.samples, worst)

    def __bool__(self) -> bool:
        return self.passed


def gradcheck(
    f: Callable[..., Tensor | Sequence[Tensor]],
    xs: Sequence[ArrayLike],
    order: int = 2,
    tolerance: float | None = None,
    seed: int = 0,
    context: Context | None = None,
) -> Check:
    """Compares derivatives of f with central differences in float64, along random directions.

    They are compared at xs and nearby, for each output and each choice of inputs that need a gradient; if f takes a batch, also
    at two points in a batch.

    Parameters
    ----------
    f : callable
        f(*xs) -> a tensor or several, written with ops. It is called often.
    xs : sequence of array_like
        Real inputs are perturbed, as float64; integers stay fixed.
    order : int
        1: the gradient; 2: the gradient, then the gradient of the gradient.
    tolerance : float
        Bound of the relative error; at order 2 the gradient must meet a tenth of it. None: 1e-6 at order 1, 1e-5 at order 2.

    Returns
    -------
    Check
        True if all agree; false also if none of xs is real.
    """
    context = context or default_context()
    arrays_of = [arrays.array_of(x, "float64") for x in xs]
    leaves = [
        parameter(a.astype(np.float64), context=context) if a.dtype.kind == "f" else constant(a, context=context)
        for a in arrays_of
    ]
    with Tape(context=context):
        results = f(*leaves)
    n_out = len(results) if isinstance(results, (list, tuple)) else 1
    tolerance = tolerance if tolerance is not None else (1e-6 if order == 1 else 1e-5)
    pointers = ffi.new("mo_tensor *[]", [leaf._live() for leaf in leaves])
    state = ffi.new_handle(f)
    given = lib.binding_function, state, pointers, len(leaves), n_out, order, tolerance, seed
    return Check.run(context, lib.gate_mo_check_function, context._pointer, *given)
