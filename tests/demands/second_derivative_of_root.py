"""Does the root of an equation have a Hessian?

Asked: https://github.com/patrick-kidger/optimistix/issues/151
Answer: Yes: the adjoint of `root` is itself made of ops, so any order exists. For x² = y at y = 4 the second derivative is
-1/4 y^(-3/2).
"""

import numpy as np

import mochi
from demand import needs, tell

mp = needs("mpmath")
mp.mp.dps = 40
root = lambda y: mochi.root(lambda x, y: x * x - y, np.ones(1), [y]).sum()  # noqa: E731
ours = mochi.grad(lambda y: mochi.grad(root)(y).sum())(np.array([4.0])).item()
tell(float(mp.diff(lambda y: mp.findroot(lambda x: x * x - y, 2), 4, 2)), ours, "an error since JAX 0.7")
