"""Can I differentiate through a solver, know whether it converged, and have the gradient tested by finite differences?

Asked: https://github.com/OpenSCvx/OpenSCvx/issues/494
Answer: Yes: `Report` has `converged`, the residual and the iterations, also of the adjoint systems, and `gradcheck` compares
the gradient through the solver, and the gradient of that gradient, with differences. Too few iterations are an error.
"""

import numpy as np

import mochi
from demand import tell


def solved(a, **options):
    return mochi.minimize(lambda x, a: (x**4).sum() + ((x - a) ** 2).sum(), np.zeros(3), [a], **options)


report = mochi.Report()
with mochi.Tape():
    solved(mochi.parameter([3.0, -1.0, 0.5], dtype="float64"), report=report)
check = mochi.gradcheck(lambda a: solved(a, tolerance=1e-13).sum(), [np.array([3.0, -1.0, 0.5])])
try:
    with mochi.Tape():
        solved(mochi.parameter([3.0, -1.0, 0.5], dtype="float64"), iterations=1)
    refused = False
except mochi.NumericalError:
    refused = True
good = report.converged and check.passed and refused
tell(
    "converged, checked twice, refused early",
    good or f"{report} {check} {refused}",
    "dropped",
    now=f"largest error of a derivative {check.error:.0e}",
)
