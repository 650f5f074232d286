"""Do vmap, jacrev and hessian of torch.func go through an implicitly differentiated root?

Asked: https://github.com/metaopt/torchopt/issues/223
Answer: Yes, through `mochi.torch.root` and `mochi.torch.implicit`. The equation is the question's own, a x³ - x - 2 = 0.
"""

from demand import needs, tell

mp, torch = needs("mpmath"), needs("torch")
import mochi.torch  # noqa: E402

mp.mp.dps = 40


def root(a):
    return mochi.torch.root(lambda x, a: a * x * x * x - x - 2, torch.ones_like(a) + 0.5, a)


a = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
first = torch.func.vmap(torch.func.jacrev(root))(a).ravel()
second = torch.func.vmap(torch.func.hessian(root))(a).ravel()
exact = lambda a: mp.findroot(lambda x: a * x**3 - x - 2, 1.5)  # noqa: E731
truth = [[float(mp.diff(exact, v, n)) for v in (1, 2, 4)] for n in (1, 2)]
error = max((x - torch.tensor(t, dtype=x.dtype)).abs().max().item() for x, t in zip((first, second), truth, strict=True))
near = error < 1e-9
tell(
    f"{truth[0][0]:.6f}, {truth[1][0]:.6f}", f"{first[0]:.6f}, {second[0]:.6f}" if near else f"error {error:.0e}", "not supported"
)
