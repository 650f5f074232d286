"""Does a root finder that starts where the Jacobian is singular say so?

Asked: https://github.com/patrick-kidger/optimistix/issues/204
Answer: Yes: `root` raises "the Jacobian dF/dx is singular to working precision". It does not add that this is the first
step.
"""

import numpy as np

import mochi
from demand import tell

x = mochi.parameter([1.0, 2.0], dtype="float64")
try:
    with mochi.Tape():
        ours = str(mochi.root(lambda y, x: (y - x) ** 2, np.array([2.0, 2.0]), [x]).numpy())
except mochi.NumericalError as error:
    ours = "singular Jacobian" if "the Jacobian dF/dx is singular" in str(error) else str(error)
tell("singular Jacobian", ours, "an error of the linear solver")
