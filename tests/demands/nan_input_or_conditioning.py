"""When a solve fails, was the input NaN, or is the matrix badly conditioned?

Asked: https://github.com/patrick-kidger/lineax/issues/81
Answer: The error says which: "holds a value that is not finite" or "is singular (pivot 2 is 0)"; `solve_check` has -1 or the
pivot for each item, and the reciprocal condition.
"""

import numpy as np

import mochi
from demand import tell

said = []
for A in ([[np.nan, 0], [0, 1]], [[1.0, 1], [1, 1]]):
    try:
        with mochi.Tape():
            mochi.ops.solve(np.array(A), np.ones((2, 1)))
        said.append("solved")
    except mochi.NumericalError as error:
        said.append("input" if "not finite" in str(error) else "singular" if "singular" in str(error) else str(error))
tell("input, singular", ", ".join(said), "one failure for both")
