"""Does the prediction of a row depend on the other rows of the call?

Asked: https://github.com/PriorLabs/TabPFN/issues/800
Answer: No: a query meets the support rows alone. Products of one row and of many are summed in other orders, so that float32
logits may differ in their last digits, as any BLAS makes them.
"""

import numpy as np

import mochi
from demand import tell

rng = np.random.default_rng(0)
Zs, Zq = (rng.normal(size=(n, 16)) + 2 * np.eye(4, 16)[np.arange(n) % 4] for n in (40, 100))
Ys = np.eye(4)[np.arange(40) % 4]
worst = 0.0
for name in ("ridge", "logistic_penalised", "svm", "lda", "prototype_euclidean"):
    fitted = mochi.head(name).fitted(Zs.astype("float32"), Ys.astype("float32"))
    whole = fitted(Zq.astype("float32"))
    alone = np.concatenate([fitted(Zq[i : i + 1].astype("float32")) for i in range(100)])
    worst = max(worst, float(np.abs(whole - alone).max() / np.abs(whole).max()))
tell("differences below 1e-6", worst < 1e-6 or f"{worst:.1e}", "0.0015 of 259", now=f"largest {worst:.1e} of the largest")
