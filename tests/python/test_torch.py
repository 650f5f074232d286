"""mochi.torch: values and gradients are compared with formulas written in PyTorch and by gradcheck; lifetimes of tapes;
and training beside PyTorch's solver."""

import gc
import resource
import threading
import weakref

import mochi
import pytest

torch = pytest.importorskip("torch")
import mochi.torch as mt  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

REAL = torch.float64
SECOND_ORDER = [name for name in mochi.head_names() if mochi.head(name)._pointer.order > 1]


def episode(batch=(2,), n_s=6, n_q=4, d=3, classes=2, seed=0):
    g = torch.Generator().manual_seed(seed)
    Zs = torch.randn(*batch, n_s, d, dtype=REAL, generator=g).requires_grad_()
    Zq = torch.randn(*batch, n_q, d, dtype=REAL, generator=g).requires_grad_()
    return Zs, (torch.arange(n_s) % classes).expand(*batch, n_s), Zq


def plain_ridge(Zs, Ys, Zq, lam):
    K = Zs @ Zs.mT + lam * torch.eye(Zs.shape[-2], dtype=Zs.dtype)
    return Zq @ (Zs.mT @ torch.linalg.solve(K, Ys))


def one_hot(label, classes=2):
    return torch.nn.functional.one_hot(label, classes).to(REAL)


@pytest.mark.parametrize("natural", [False, True])
def test_episodes_of_a_data_loader(natural):
    """Support and queries are of the episode's classes alone and share no row; an episode depends on its number alone."""
    y = torch.arange(300) % 10
    y[y == 9] = torch.arange(30) % 9  # nine classes
    X = torch.stack([torch.arange(300.0), y.to(REAL)], 1)
    data = torch.utils.data.TensorDataset(X, y)
    sizes = {"ways": 4, "shots": 3, "queries": 5, "episodes": 10, "natural": natural, "seed": 3}
    sampler, seen = mt.EpisodeSampler(y, batch=4, **sizes), []
    for workers in (0, 2):
        sampler.set_epoch(0)
        batches = [sampler.split(*b) for b in torch.utils.data.DataLoader(data, batch_sampler=sampler, num_workers=workers)]
        assert [len(b[0]) for b in batches] == [4, 4, 2] and len(sampler) == 3
        seen.append([torch.cat(part) for part in zip(*batches, strict=True)])
    assert all(torch.equal(a, b) for a, b in zip(*seen, strict=True))
    Zs, ys, Zq, yq = seen[0]
    for i in range(10):
        rows = torch.cat([Zs[i], Zq[i]])
        classes = rows[:, 1].unique()
        assert len(rows[:, 0].unique()) == 32 and len(classes) == 4 and len(Zs[i]) == 12
        assert torch.equal(classes[torch.cat([ys[i], yq[i]])], rows[:, 1]) and len(ys[i].unique()) == 4
        if not natural:
            assert ys[i].bincount().tolist() == [3] * 4 and yq[i].bincount().tolist() == [5] * 4
    assert not natural or any(ys[i].bincount().tolist() != [3] * 4 for i in range(10))
    own = [list(mt.EpisodeSampler(y, rank=rank, ranks=3, **sizes)) for rank in range(3)]
    sampler = mt.EpisodeSampler(y, **sizes)
    alone, again = list(sampler), list(sampler)  # each pass is an epoch of its own
    assert [own[i % 3][i // 3] for i in range(10)] == alone != again
    sampler.set_epoch(1)
    assert list(sampler) == again


def test_episodes_that_cannot_be_drawn_are_refused():
    y = torch.tensor([0] * 30 + [1] * 30 + [2] * 3)
    for wrong, words in (
        ({"ways": 3}, "2 of 3 classes have 20 rows, expected 3"), ({"ways": 3, "natural": True}, "have 63 rows, expected 60"),
        ({"ways": 0}, "ways is 0"), ({"ways": 2, "rank": 2, "ranks": 2}, "rank is 2"), ({"ways": 2, "natural": 3}, "natural is 3"),
        ({"ways": 4, "natural": True}, "3 of 3 classes have rows, expected 4"), ({"ways": 2, "seed": -1}, "seed is -1"),
    ):  # fmt: skip
        if "63" in words:
            mt.EpisodeSampler(y, **wrong)  # 60 rows of 63: they suffice
            continue
        with pytest.raises(mochi.InvalidError, match=words):
            mt.EpisodeSampler(y, **wrong)
    with pytest.raises(mochi.InvalidError, match="smallest classes have 33 rows, expected 40"):
        mt.EpisodeSampler(y, ways=2, natural=True)
    sampler = mt.EpisodeSampler(y, ways=2)
    with pytest.raises(mochi.InvalidError, match="39 rows and 39 labels, expected a multiple of 40"):
        sampler.split(torch.zeros(39, 2), y[:39])
    unlabelled = [float("nan")] * 20 + [0.0] * 20 + [1.0] * 20
    assert all(row >= 20 for rows in mt.EpisodeSampler(unlabelled, ways=2) for row in rows)


@pytest.mark.parametrize("name", mochi.head_names())
def test_gradcheck_of_every_head(name):
    Zs, label, Zq = episode()
    assert gradcheck(lambda Zs, Zq: mt.readout(name, Zs, label, Zq), (Zs, Zq))


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_gradgradcheck_of_every_head(name):
    Zs, label, Zq = episode()
    assert gradgradcheck(lambda Zs, Zq: mt.readout(name, Zs, label, Zq), (Zs, Zq))


READOUTS = {name: (lambda *given, name=name, **options: mt.readout(name, *given, **options)) for name in mochi.head_names()}
READOUTS |= {"mt.ridge": mt.ridge, "mt.ridge, no bias": lambda *given, **options: mt.ridge(*given, bias=None, **options)}


def unlike(n_s=8, ways=4):
    """Two episodes in one batch: of 3 ways and 7 shots, and of 2 ways and 5 shots; the other rows are padding."""
    Zs, _, Zq = episode(n_s=n_s, d=5, seed=3)
    label = torch.stack([torch.arange(n_s) % 3, torch.arange(n_s) % 2])
    weight = torch.stack([torch.arange(n_s) < 7, torch.arange(n_s) < 5]).to(REAL)
    return Zs, label, Zq, {"ways": ways, "weight": weight}


@pytest.mark.parametrize("name", READOUTS)
def test_derivatives_with_absent_classes_and_padding(name):
    f, (Zs, label, Zq, options) = READOUTS[name], unlike()

    def logits(Zs, Zq):
        found = f(Zs, label, Zq, **options)
        assert found[0, :, 3].isinf().all() and found[1, :, 2:].isinf().all() and not found.isnan().any()
        return torch.cat([found[0, :, :3].flatten(), found[1, :, :2].flatten()])

    assert gradcheck(logits, (Zs, Zq))
    second = name not in mochi.head_names() or mochi.head(name)._pointer.order > 1
    assert not second or gradgradcheck(logits, (Zs, Zq))
    loss = torch.nn.functional.cross_entropy(f(Zs, label, Zq, **options).flatten(0, 1), torch.tensor([0, 1, 2, 0, 1, 1, 0, 0]))
    bars = torch.autograd.grad(loss, (Zs, Zq), create_graph=second)
    assert loss.isfinite() and all(bar.isfinite().all() for bar in bars)
    if second:
        again = torch.autograd.grad(sum(bar.square().sum() for bar in bars), (Zs, Zq))
        assert all(bar.isfinite().all() for bar in again)


@pytest.mark.parametrize("name", READOUTS)
def test_padded_episodes_are_their_own(name):
    f, (Zs, label, Zq, options) = READOUTS[name], unlike()
    junk, marks = Zs.detach().clone(), options["weight"] > 0
    junk[~marks] = torch.nan
    wrong = torch.where(marks, label, -100)
    found = f(junk, wrong, Zq, **options)
    masked = f(junk, wrong, Zq, ways=4, weight=marks)
    zeros = f(junk, torch.nn.functional.one_hot(label, 4).to(REAL) * marks[..., None], Zq)
    assert torch.equal(found, masked) and torch.equal(found, zeros)
    for b, (n, ways) in enumerate(((7, 3), (5, 2))):
        own = f(Zs[b, :n].detach(), label[b, :n], Zq[b])
        torch.testing.assert_close(found[b, :, :ways], own, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", READOUTS)
@pytest.mark.parametrize("mean", [100.0, 1e3])
def test_float32_rows_far_from_0(name, mean):
    """Gradients within 1e-3 of those of float64. Inner products themselves are lost there; and with a penalised intercept at
    1000 the logistic regression amplifies the rounding of the logits' adjoints, which are float32."""
    if name == "prototype_inner" or (name == "logistic_penalised" and mean > 100):
        return
    torch.manual_seed(1)
    label = torch.arange(20) % 4
    Zs = (torch.eye(4, 16)[label] * 2 + torch.randn(2, 20, 16) + mean).float()
    Zq, weight, bars = (torch.randn(2, 9, 16) + mean).float(), torch.randn(2, 9, 4), []
    for real in (torch.float32, REAL):
        rows = Zs.to(real).requires_grad_()
        p = (0.1 * READOUTS[name](rows, label.expand(2, 20), Zq.to(real))).softmax(-1)
        bars.append(torch.autograd.grad((p * weight.to(real)).sum(), rows)[0].to(REAL))
    assert (bars[0] - bars[1]).norm() <= 1e-3 * bars[1].norm()


def test_labels_have_a_gradient_in_the_svm():
    Zs, label, Zq = episode(n_s=9, d=4, classes=3)
    Ys = (0.7 * one_hot(label, 3) + 0.1).requires_grad_()  # within the simplex, as an active set of one-hot rows has kinks
    assert gradcheck(lambda Zs, Ys: mt.svm(Zs, Ys, Zq), (Zs, Ys))
    assert gradcheck(lambda Ys: mt.svm(Zs.detach(), Ys, Zq.detach()), (Ys,))


def test_what_cannot_be_fitted_is_named():
    Zs, label, Zq = episode(n_s=9, d=4, classes=3)
    bad = Zs.detach().clone()
    bad[1, 3, 2] = torch.nan
    for f in (mt.lda, mt.logistic, mt.svm):
        with pytest.raises(mochi.NumericalError, match="(episode|item|matrix) 1"):
            f(bad, label, Zq)
    raw = torch.tensor([1.0, 1e5, 1.0, 1e3], dtype=REAL) * Zs.detach()
    with pytest.raises(mochi.NumericalError, match="standardise the columns"):
        mt.svm(raw, label, Zq, lam=1e-3, max_iter=20)
    with pytest.raises(mochi.InvalidError, match="expected 4 columns"):
        mt.lda(Zs, one_hot(label, 3), Zq, ways=4)
    with pytest.raises(mochi.InvalidError, match="episode 1 has no support row"):
        mt.ridge(Zs, label, Zq, weight=torch.tensor([[1.0] * 9, [0.0] * 9]))


@pytest.mark.parametrize("d", [3, 7])  # for n = 5 rows: the primal and the dual system
@pytest.mark.parametrize("bias", [None, "penalised"])
def test_the_ridge_has_gradients_in_all_it_is_given(d, bias):
    Zs, label, Zq = episode(d=d)
    Ys, lam = one_hot(label).requires_grad_(), torch.tensor(2.0, dtype=REAL, requires_grad=True)
    for given in ((Zs, Ys, Zq, lam), (Zs, Ys, Zq.detach(), lam), (Zs.detach(), Ys.detach(), Zq, lam.detach())):
        assert gradcheck(mt.ridge, (*given, bias)) and gradgradcheck(mt.ridge, (*given, bias))


SPREAD = [((), (3,), 6, 7), ((3,), (), 6, 7), ((2, 1), (2, 3), 6, 7)]
ALIKE = [(batch, batch, n_s, 3) for batch in ((), (3,), (2, 3)) for n_s in (2, 6)]  # the dual and the primal system


@pytest.mark.parametrize("bias", [None, "penalised"])
@pytest.mark.parametrize(("of_support", "of_queries", "n_s", "d"), SPREAD + ALIKE)
def test_ridge_is_the_formula_for_any_axes_of_episodes(of_support, of_queries, n_s, d, bias):
    (Zs, label, _), (_, _, Zq) = (episode(axes, n_s, d=d) for axes in (of_support, of_queries))
    Ys = one_hot(label).requires_grad_()
    ours = mt.ridge(Zs, Ys, Zq, 1.5, bias)
    Xs, Xq = (with_ones(Zs), with_ones(Zq)) if bias else (Zs, Zq)
    theirs = plain_ridge(Xs, Ys, Xq, 1.5)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    g = torch.randn_like(ours)
    for a, b in zip(*(torch.autograd.grad(y, (Zs, Ys, Zq), g) for y in (ours, theirs)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_s", [2, 6])  # the dual and the primal system
@pytest.mark.parametrize("bias", [None, "penalised", "free"])
def test_targets_are_real_and_zeros_are_targets(n_s, bias):
    Zs, _, Zq = episode(n_s=n_s)
    Ys = torch.randn(2, n_s, 2, dtype=REAL, generator=torch.Generator().manual_seed(1))
    Ys[0, 0], Ys[1, :, 1] = 0, 0  # as labels, padding, and a class without a row
    lam = torch.tensor(2.0, dtype=REAL, requires_grad=True)
    weight = torch.rand(2, n_s, dtype=REAL, generator=torch.Generator().manual_seed(2)) + 0.5
    for w in (None, weight):
        own = torch.ones(2, n_s, 1, dtype=REAL) if w is None else w[..., None]
        mean = (lambda X: (own * X).sum(-2, keepdim=True) / own.sum(-2, keepdim=True)) if bias == "free" else lambda X: 0  # noqa: B023
        Xs, Xq = (with_ones(Zs), with_ones(Zq)) if bias == "penalised" else (Zs - mean(Zs), Zq - mean(Zs))
        expected = plain_ridge(own.sqrt() * Xs, own.sqrt() * (Ys - mean(Ys)), Xq, 2.0) + mean(Ys)
        torch.testing.assert_close(mt.ridge(Zs, Ys, Zq, lam, bias, weight=w, targets=True), expected)
    given = (Zs, Ys.requires_grad_(), Zq, lam)
    f = lambda Zs, Ys, Zq, lam: mt.ridge(Zs, Ys, Zq, lam, bias, targets=True)  # noqa: E731
    assert gradcheck(f, given) and gradgradcheck(f, given)
    assert torch.equal(torch.compile(f, backend="eager")(*given), f(*given))
    if bias is not None:
        head = {"penalised": "ridge", "free": "ridge_intercept"}[bias]
        torch.testing.assert_close(mt.readout(head, Zs, Ys, Zq, lam=lam, targets=True), f(*given))
    torch.testing.assert_close(mt.ridge(Zs, Ys, Zq, None, bias, targets=True), f(Zs, Ys, Zq, mt._penalty(Zs, Ys + 1)))
    for wrong in ({"ways": 2}, {"Ys": Ys[..., 0]}):
        with pytest.raises(mochi.InvalidError, match="expected .*no ways"):
            mt.ridge(**{"Zs": Zs, "Ys": Ys, "Zq": Zq, "bias": bias, "targets": True, **wrong})
    with pytest.raises(mochi.UnsupportedError, match="no real targets"):
        mt.readout("lda", Zs, Ys, Zq, targets=True)


@pytest.mark.parametrize("real", [torch.float32, REAL])
@pytest.mark.parametrize(("n_s", "d"), [(6, 37), (40, 21)])  # the dual and the primal system
def test_readouts_without_a_tape_are_those_with_one(real, n_s, d):
    """A penalty for each episode, rows that are parts of larger tensors, and a result that frees its memory at once."""
    g = torch.Generator().manual_seed(0)
    Z = torch.randn(3, n_s + 5, d + 2, dtype=real, generator=g)[..., 1:-1].requires_grad_()
    label, lam = one_hot((torch.arange(n_s) % 4).expand(3, n_s), 4).to(real), torch.tensor([0.5, 1, 2], dtype=real).requires_grad_()
    ones = torch.ones(3, n_s, dtype=real)  # weights go by the tape
    for f, inputs in (
        (lambda Z, w: mt.ridge(Z[:, :n_s], label, Z[:, n_s:], lam, None, weight=w), (Z, lam)),
        (lambda Z, w: mt.prototype(Z[:, :n_s], label, Z[:, n_s:], weight=w), (Z,)),
    ):
        ours, theirs = f(Z, None), f(Z, ones)
        bar = torch.randn(ours.shape, dtype=real, generator=g)
        for a, b in zip(*((y, *torch.autograd.grad(y, inputs, bar)) for y in (ours, theirs)), strict=True):
            assert (a - b).norm() <= (1e-5 if real is torch.float32 else 1e-13) * b.norm()
        gone = weakref.ref(ours)
        gc.disable()
        del ours, a
        assert gone() is None
        gc.enable()


def test_the_penalty_has_a_gradient():
    Zs, label, Zq = episode()
    lam = torch.tensor(2.0, dtype=REAL, requires_grad=True)
    assert gradcheck(lambda Zs, lam: mt.logistic(Zs, label, Zq, lam), (Zs, lam))
    assert gradcheck(lambda Zs, s: mt.lda(Zs, label, Zq, s), (Zs, torch.tensor(0.3, dtype=REAL, requires_grad=True)))


def with_ones(Z):
    return torch.cat([Z, torch.ones_like(Z[..., :1])], -1)


def test_the_named_heads_are_those_of_the_library():
    Zs, label, Zq = episode()
    for call, name in ((mt.logistic, "logistic"), (mt.svm, "svm"), (mt.lda, "lda"), (mt.prototype, "prototype_euclidean")):
        assert torch.equal(call(Zs, label, Zq), mt.readout(name, Zs, label, Zq))
    assert torch.equal(mt.ridge(Zs, label, Zq, 10.0, bias="free"), mt.readout("ridge_intercept", Zs, label, Zq))
    assert torch.equal(mt.prototype(Zs, label, Zq, "cosine"), mt.readout("prototype_cosine", Zs, label, Zq))
    own = mochi.Head("mine", logits=lambda Zs, Ys, Zq: Zq @ (Zs.mT @ Ys))
    mine, theirs = mt.readout(own, Zs[0], label[0], Zq[0]), Zq[0] @ (Zs[0].mT @ one_hot(label[0]))
    torch.testing.assert_close(mine, theirs)


def test_solves_and_implicit_functions():
    A = torch.randn(2, 4, 4, dtype=REAL).requires_grad_()
    B = torch.randn(2, 4, 3, dtype=REAL).requires_grad_()
    eye = torch.eye(4, dtype=REAL)
    for solve, matrix in ((mt.solve, lambda A: A + 4 * eye), (mt.solve_spd, lambda A: A @ A.mT + eye)):
        torch.testing.assert_close(solve(matrix(A), B), torch.linalg.solve(matrix(A), B))
        assert gradcheck(lambda A, B, s=solve, m=matrix: s(m(A), B), (A, B))
        assert gradgradcheck(lambda A, B, s=solve, m=matrix: s(m(A), B), (A, B))
    theta = torch.tensor([0.3, 1.7], dtype=REAL, requires_grad=True)

    def cube(theta):
        return mt.root(lambda w, theta: w * w * w + w - theta, torch.zeros(2, dtype=REAL), theta)

    w = cube(theta)
    torch.testing.assert_close(w**3 + w, theta)
    torch.testing.assert_close(torch.autograd.grad(w.sum(), theta)[0], 1 / (3 * w**2 + 1))
    assert gradcheck(cube, theta) and gradgradcheck(cube, theta)


def test_functions_of_ones_own_and_float32():
    f = mt.function(lambda x, y: mochi.ops.softmax(x, -1) @ y)
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2)
    torch.testing.assert_close(f(x, y), x.softmax(-1) @ y)
    g = torch.randn(3, 2)
    ours, theirs = torch.autograd.grad(f(x, y), x, g)[0], torch.autograd.grad(x.softmax(-1) @ y, x, g)[0]
    torch.testing.assert_close(ours, theirs)
    strided = torch.randn(4, 3).t().requires_grad_()
    torch.testing.assert_close(f(strided, y), strided.softmax(-1) @ y)


def test_backward_twice():
    Zs, label, Zq = episode()
    loss = mt.ridge(Zs, label, Zq).square().sum()
    first, again = (torch.autograd.grad(loss, Zs, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, again)


def derivatives(f, xs, order, backward):
    """Derivatives in xs up to an order: each is the gradient of the sum of the squares of those before it, and f(*xs)
    is the first."""
    found = [f(*xs)]
    for _ in range(order - 1):
        found = torch.autograd.grad(sum(g.square().sum() for g in found), xs, create_graph=True)
    loss = sum(g.square().sum() for g in found)
    if not backward:
        return torch.autograd.grad(loss, xs)
    for x in xs:
        x.grad = None
    loss.backward(inputs=xs)
    return [x.grad for x in xs]


def pairs():
    """Pairs of a function of mochi and the same one written in PyTorch, with inputs."""
    Zs, label, Zq = episode(n_s=4, n_q=2)
    lam, eye = torch.tensor(1.3, dtype=REAL, requires_grad=True), torch.eye(3, dtype=REAL)
    A, B = (torch.randn(2, 3, n, dtype=REAL, generator=torch.Generator().manual_seed(n)) for n in (3, 2))
    A, B = (A + 3 * eye).requires_grad_(), B.requires_grad_()
    ours = mt.function(lambda A, B: mochi.ops.tanh(A @ B) @ B.mT)
    return {
        "solve": (mt.solve, torch.linalg.solve, [A, B]),
        "solve_spd": (lambda A, B: mt.solve_spd(A @ A.mT, B), lambda A, B: torch.linalg.solve(A @ A.mT, B), [A, B]),
        "primal ridge": (
            lambda Zs, Zq, lam: mt.ridge(Zs, label, Zq, lam, None),
            lambda Zs, Zq, lam: plain_ridge(Zs, one_hot(label), Zq, lam),
            [Zs, Zq, lam],
        ),
        "dual ridge": (
            lambda Zs, Zq, lam: mt.ridge(Zs[:, :2], label[:, :2], Zq, lam),
            lambda Zs, Zq, lam: plain_ridge(with_ones(Zs[:, :2]), one_hot(label[:, :2]), with_ones(Zq), lam),
            [Zs, Zq, lam],
        ),
        "function": (ours, lambda A, B: torch.tanh(A @ B) @ B.mT, [A, B]),
    }


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("name", pairs())
def test_derivatives_of_any_order(name, order, backward):
    ours, theirs, xs = pairs()[name]
    for a, b in zip(derivatives(ours, xs, order, backward), derivatives(theirs, xs, order, False), strict=True):
        assert b.abs().max() > 1e-3
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8 * float(b.abs().max()))


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_third_derivatives_of_every_head(name):
    Zs, label, Zq = episode((), n_s=4, n_q=2)

    def second(Zs):
        (g,) = torch.autograd.grad(mt.readout(name, Zs, label, Zq).square().sum(), Zs, create_graph=True)
        return torch.autograd.grad(g.square().sum(), Zs, create_graph=True)[0]

    assert gradcheck(second, (Zs,), rtol=1e-4)


def test_what_is_no_input_is_refused():
    Zs, label, Zq = episode()
    with pytest.raises(mochi.UnsupportedError, match="on meta, expected one on the CPU"):
        mt.ridge(Zs.to("meta"), label, Zq)
    with pytest.raises(ValueError, match="head 'rigde'"):
        mt.readout("rigde", Zs, label, Zq)
    with pytest.raises(ValueError, match="bias 'no'"):
        mt.ridge(Zs, label, Zq, bias="no")
    with pytest.raises(ValueError):
        mt.ridge(Zs, label, Zq[..., :2])
    with pytest.raises(FloatingPointError):
        mt.solve_spd(-torch.eye(3, dtype=REAL), torch.ones(3, 1, dtype=REAL))
    logits = mt.ridge(Zs, label, Zq)
    with torch.no_grad():
        Zq += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        logits.sum().backward()


def resident_kib():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() // 1024


def test_memory_does_not_grow():
    Zs, label, Zq = episode((8,), 20, 20, 16)
    (g,) = torch.autograd.grad(mt.ridge(Zs, label, Zq).square().sum(), Zs, create_graph=True)
    torch.autograd.grad(g.square().sum(), Zs)  # two tapes live at once
    del g
    resident = []
    for step in range(2001):
        mt.ridge(Zs, label, Zq).square().mean().backward()
        if step % 500 == 0:
            resident.append(resident_kib())
    growth = [b - a for a, b in zip(resident, resident[1:], strict=False)]
    assert min(growth) < 256  # a leaked step would cost 20 KiB; the first steps may still grow, as allocators fill


def test_threads_have_contexts_of_their_own():
    Zs, label, Zq = episode()
    expected, found = mt.ridge(Zs, label, Zq), [None] * 4

    def work(i):
        found[i] = mt.ridge(Zs.detach().requires_grad_(), label, Zq)
        found[i].sum().backward()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(torch.equal(expected, x) for x in found)


def train(readout, steps=60):
    """R2-D2: learns an encoder and its readout's penalty over episodes of five classes; returns the loss of every
    step."""
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 8)).to(REAL)
    log_lam = torch.zeros((), dtype=REAL, requires_grad=True)
    optimizer = torch.optim.Adam([*encoder.parameters(), log_lam], 1e-2)
    losses = []
    for _ in range(steps):
        means = 2 * torch.randn(4, 5, 1, 12, dtype=REAL)  # four episodes
        X = means + torch.randn(4, 5, 8, 12, dtype=REAL)
        Z = encoder(X)
        Zs, Zq = Z[:, :, :3].reshape(4, 15, 8), Z[:, :, 3:].reshape(4, 25, 8)
        ys, yq = torch.arange(5).repeat_interleave(3), torch.arange(5).repeat_interleave(5)
        logits = readout(Zs, ys.expand(4, 15), Zq, log_lam.exp())
        loss = torch.nn.functional.cross_entropy(5 * logits.reshape(100, 5), yq.repeat(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def test_training_reaches_the_losses_of_pytorchs_solver():
    theirs = train(lambda Zs, label, Zq, lam: plain_ridge(Zs, one_hot(label, 5), Zq, lam))
    ours = train(lambda Zs, label, Zq, lam: mt.ridge(Zs, label, Zq, lam, bias=None))
    assert theirs[-10:].mean() < 0.8 * theirs[:10].mean()
    assert (ours - theirs).abs().max() < 1e-5


# ---- torch.func, torch.compile, autocast, modules ----


@pytest.fixture
def small():
    torch.manual_seed(0)
    Zs, Zq = torch.randn(6, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    return Zs, torch.eye(2, dtype=torch.float64).repeat(3, 1), Zq, torch.tensor(2.0, dtype=torch.float64)


def test_transforms_of_functions_give_the_twins_values(small):
    from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

    Zs, Ys, Zq, lam = small
    batch, lams = torch.randn(3, 6, 4, dtype=torch.float64), torch.tensor([1.0, 2, 3], dtype=torch.float64)
    results = []
    for ridge in (lambda *xs: mochi.torch.ridge(*xs, bias=None), plain_ridge):
        f = lambda Z, l: ridge(Z, Ys, Zq, l).square().sum()  # noqa: B023, E731, E741
        y = lambda Z: ridge(Z, Ys, Zq, lam)  # noqa: B023, E731
        results.append([
            *grad(f, (0, 1))(Zs, lam), vmap(f, (0, None))(batch, lam), vmap(grad(f), (0, None))(batch, lam),
            vmap(grad(f, 1), (0, None))(batch, lam), vmap(grad(f, 1), (0, 0))(batch, lams), jacrev(y)(Zs), jacfwd(y)(Zs),
            jvp(y, (Zs,), (torch.ones_like(Zs),))[1], vjp(y, Zs)[1](Zq[:, :2])[0], hessian(lambda Z: f(Z, lam))(Zs),  # noqa: B023
            grad(lambda Z: grad(f)(Z, lam).square().sum())(Zs),  # noqa: B023
        ])  # fmt: skip
    for i, (mine, theirs) in enumerate(zip(*results, strict=True)):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-10, msg=str(i))


def test_vmap_of_every_head_is_its_loop(small):
    from torch.func import functional_call, grad, vmap

    _, Ys, Zq, _ = small
    batch = torch.randn(3, 6, 4, dtype=torch.float64)
    for name in ("ridge", "ridge_intercept", "logistic", "svm", "lda", "prototype_euclidean"):
        g = grad(lambda Z: mochi.torch.readout(name, Z, Ys, Zq).square().sum())  # noqa: B023
        torch.testing.assert_close(vmap(g)(batch), torch.stack([g(Z) for Z in batch]))
    net = torch.nn.Linear(4, 3).double()
    p = dict(net.named_parameters())

    def loss(p, Z):
        return mochi.torch.ridge(functional_call(net, p, Z), Ys, functional_call(net, p, Zq)).square().sum()

    many = vmap(grad(loss), (None, 0))(p, batch)
    one = grad(loss)(p, batch[1])
    torch.testing.assert_close(many["weight"][1], one["weight"])


def test_compiled_functions_keep_their_graph():
    torch.manual_seed(0)
    Zs, Zq = torch.randn(2, 6, 4, requires_grad=True), torch.randn(2, 5, 4)
    Ys, lam = torch.eye(2).repeat(3, 1).expand(2, 6, 2).contiguous(), torch.tensor(2.0, requires_grad=True)
    m = mochi.torch
    label, mask = Ys.argmax(-1), torch.arange(6).expand(2, 6) < 5
    head = m.RidgeHead(1.0, learned=True)
    for f in (
        lambda: m.ridge(Zs, Ys, Zq, lam), lambda: m.ridge(Zs, Ys, Zq, 1.0, bias=None),
        lambda: m.ridge(Zs, Ys, Zq, lam, bias="free"),
        lambda: m.logistic(Zs, Ys, Zq, lam), lambda: m.prototype(Zs, Ys, Zq), lambda: head(Zs, Ys, Zq),
        lambda: m.ridge(Zs, label, Zq, lam, ways=2, weight=mask), lambda: m.lda(Zs, label, Zq, ways=2, weight=mask),
        lambda: m.solve_spd(Zs.mT @ Zs + torch.eye(4), Zq.mT), lambda: m.solve(Zs.mT @ Zs + torch.eye(4), Zq.mT),
    ):  # fmt: skip
        torch._dynamo.reset()
        eager = torch.autograd.grad(f().square().sum(), [Zs, lam], allow_unused=True)
        compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
        found = torch.autograd.grad(compiled().square().sum(), [Zs, lam], allow_unused=True)
        for a, b in zip(eager, found, strict=True):
            assert (a is None and b is None) or torch.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_autocast_computes_in_float32(small):
    Zs, Ys, Zq, _ = (x.float() for x in small)
    for dtype in (torch.bfloat16, torch.float16):
        low = Zs.to(dtype).requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = mochi.torch.ridge(low, Ys.to(dtype), Zq.to(dtype))
        assert logits.dtype == torch.float32
        logits.sum().backward()
        assert low.grad.dtype == dtype
        torch.testing.assert_close(logits, mochi.torch.ridge(low.detach().float(), Ys, Zq.to(dtype).float()))


def test_functions_take_numbers_and_keywords_and_give_several_results(small):
    Zs = small[0].requires_grad_()
    f = mochi.torch.function(lambda A, k, shift=0.0: (A * k + shift, (A * A).sum()))
    y, square = f(Zs, 3.0, shift=1.0)
    assert torch.equal(y, 3 * Zs + 1)
    (y.sum() + square).backward()
    torch.testing.assert_close(Zs.grad, 3 + 2 * Zs.detach())
    assert torch.autograd.gradcheck(f, (Zs, 2.0)) and torch.autograd.gradgradcheck(f, (Zs, 2.0))


def test_modules_learn_their_penalty(small):
    Zs, Ys, Zq, _ = small
    m = mochi.torch
    for head, expected in (
        (m.RidgeHead(2.0, bias=None), m.ridge(Zs, Ys, Zq, 2.0, bias=None)), (m.LogisticHead(2.0), m.logistic(Zs, Ys, Zq, 2.0)),
        (m.SVMHead(2.0), m.svm(Zs, Ys, Zq, 2.0)), (m.ProtoHead("cosine"), m.prototype(Zs, Ys, Zq, "cosine")),
    ):  # fmt: skip
        torch.testing.assert_close(head(Zs, Ys, Zq), expected)
        assert not list(head.parameters())
    torch.testing.assert_close(m.RidgeHead()(Zs, Ys, Zq), m.ridge(Zs, Ys, Zq))
    assert m.RidgeHead(learned=True).lam == 10 and repr(m.RidgeHead()) == "RidgeHead(lam=None, learned=False)"
    for kind in (m.RidgeHead, m.LogisticHead, m.SVMHead):
        head = kind(2.0, learned=True).double()
        head(Zs, Ys, Zq).square().sum().backward()
        assert head.log_lam.grad != 0 and "learned=True" in repr(head) and list(head.state_dict()) == ["log_lam"]


# ---- the default penalty of the ridge, dtypes, devices, and what a compiled function takes ----


@pytest.mark.parametrize("bias", [None, "penalised", "free"])
@pytest.mark.parametrize("n_s", [3, 8])
def test_the_default_penalty_follows_each_episode_and_has_derivatives(bias, n_s):
    from torch.func import grad, jacfwd, jacrev, vmap

    Zs, label, Zq = episode((3,), n_s=n_s, n_q=2)
    Ys = one_hot(label)
    for each, rows in zip(mt._penalty(Zs, Ys), Zs, strict=True):
        s = rows.detach().var(0, correction=0)
        assert each.item() == pytest.approx(0.3 * s.clamp(max=100 * s.sort().values[1]).sum().item())
    f = lambda Zs, Ys, Zq: mt.ridge(Zs, Ys, Zq, bias=bias)  # noqa: E731
    torch.testing.assert_close(f(Zs, Ys, Zq), mt.ridge(Zs, Ys, Zq, mt._penalty(Zs, Ys), bias))
    assert gradcheck(f, (Zs, Ys, Zq)) and gradgradcheck(f, (Zs, Ys, Zq))
    if bias != "penalised":
        torch.testing.assert_close(f(1e3 * Zs, Ys, 1e3 * Zq), f(Zs, Ys, Zq))
    plain = [x.detach() for x in (Zs, Ys, Zq)]
    loss = lambda *rows: f(*rows).square().sum()  # noqa: E731
    made, built = [], mt.nodes.Record.__init__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mt.nodes.Record, "__init__", lambda self, *given: [made.append(1), built(self, *given)][1])
        many = vmap(grad(loss))(*plain)
    assert len(made) <= 2  # the episodes of the map are one call of each node, though each has a penalty of its own
    torch.testing.assert_close(many, grad(loss)(*plain))
    torch.testing.assert_close(jacfwd(f)(*plain), jacrev(f)(*plain))


def test_the_default_penalty_is_of_the_rows_that_count():
    Zs, label, Zq = episode((3,), n_s=8, n_q=2)
    Ys, weight = one_hot(label), torch.ones(3, 8, dtype=REAL)
    expected = mt.ridge(Zs[:, :6], Ys[:, :6], Zq)
    weight[:, 6:] = 0
    torch.testing.assert_close(mt.ridge(1e3 * (1 - weight)[..., None] + Zs, Ys, Zq, weight=weight), expected)
    torch.testing.assert_close(mt.ridge(Zs, Ys * weight[..., None], Zq), expected)
    twice = torch.cat([Zs, Zs[:, :2]], 1), torch.cat([Ys, Ys[:, :2]], 1)
    weight[:] = 1
    weight[:, :2] = 2
    torch.testing.assert_close(mt.ridge(Zs, Ys, Zq, weight=weight), mt.ridge(*twice, Zq))


def test_rows_that_do_not_vary_have_a_penalty_too():
    Zs = torch.ones(4, 3, dtype=REAL, requires_grad=True)
    assert mt._penalty(Zs, torch.eye(4, dtype=REAL)) == 10
    (g,) = torch.autograd.grad(mt.ridge(Zs, torch.arange(4) % 2, Zs[:1]).sum(), Zs)
    assert g.isfinite().all()


HEADS = {"ridge": mt.ridge, "logistic": mt.logistic, "svm": mt.svm, "lda": mt.lda, "prototype": mt.prototype}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", HEADS)
def test_autocast_and_compile_together(name, backend):
    if backend == "inductor" and name != "ridge":
        pytest.skip("a compiler of C++ for each head; the graph is that of aot_eager")
    torch.manual_seed(0)
    encoder, Zs, Zq, Ys = torch.nn.Linear(4, 4), torch.randn(2, 6, 4), torch.randn(2, 5, 4), one_hot(torch.arange(6) % 2).float()

    def step():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = HEADS[name](encoder(Zs), Ys.expand(2, 6, 2), encoder(Zq))
            assert logits.dtype == torch.float32
            return logits.square().sum()

    torch._dynamo.reset()
    found = []
    for f in (step, torch.compile(step, fullgraph=True, backend=backend)):
        encoder.zero_grad()
        f().backward()
        found.append(encoder.weight.grad.clone())
    # The parts of a gradient that are summed in bfloat16 are rounded to 2^-8 each, in another order.
    torch.testing.assert_close(*found, rtol=0, atol=2**-6 * found[0].abs().max().item())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rows_of_16_bits_are_computed_in_float32(small, dtype):
    Zs, Ys, Zq, _ = (x.to(dtype) for x in small)
    for f in (*HEADS.values(), torch.compile(mt.ridge, fullgraph=True, backend="eager")):
        low = Zs.clone().requires_grad_()
        y = f(low, Ys, Zq)
        assert y.dtype == dtype and torch.equal(y, f(Zs.float(), Ys.float(), Zq.float()).to(dtype))
        y.sum().backward()
        assert low.grad.dtype == dtype and low.grad.isfinite().all()


def test_integer_one_hot_rows_are_labels_as_they_are(small):
    Zs, Ys, Zq, _ = small
    for rows in (Ys.long(), Ys.bool()):
        assert torch.equal(mt.ridge(Zs, rows, Zq), mt.ridge(Zs, Ys, Zq))
        assert torch.equal(mt.logistic(Zs.expand(2, 6, 4), rows.expand(2, 6, 2), Zq.expand(2, 5, 4))[1], mt.logistic(Zs, Ys, Zq))


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_penalty_in_a_tensor_is_checked_as_a_number(small, value):
    from torch.func import grad, vmap

    Zs, Ys, Zq, lam = small
    for name, key in (("ridge", "lam"), ("logistic", "lam"), ("svm", "lam"), ("lda", "shrinkage")):
        for given in (value, torch.tensor(value), torch.tensor(value, requires_grad=True)):
            with pytest.raises(ValueError, match=f"{name}: {key} is {value}"):
                HEADS[name](Zs, Ys, Zq, given)
    f = lambda lam: mt.ridge(Zs, Ys, Zq, lam).sum()  # noqa: E731
    alone, both = torch.tensor(value), torch.stack([lam, torch.tensor(value)])
    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True, backend="eager")
    for call, given in ((grad(f), alone), (vmap(f), both), (vmap(grad(f)), both), (compiled, alone)):
        with pytest.raises(ValueError, match=f"lam is {value}"):
            call(given)


@pytest.mark.parametrize("name", ["ridge", "logistic", "lda"])
def test_compiled_functions_are_transformed(small, name):
    from torch.func import grad, vmap

    Zs, Ys, Zq, lam = small
    lam = lam / 4 if name == "lda" else lam
    many, each = torch.stack([Zs, 1.5 * Zs, -Zs]), torch.stack([lam, 0.5 * lam, 0.9 * lam])
    f = lambda Zs, lam: HEADS[name](Zs, Ys, Zq, lam)  # noqa: E731
    g = grad(lambda Zs, lam: f(Zs, lam).square().sum(), (0, 1))
    for mapped, given in ((None, (many, lam)), (0, (many, each))):
        want = vmap(f, (0, mapped))(*given)
        for backend in ("eager", "aot_eager"):
            torch._dynamo.reset()
            whole = {"fullgraph": True, "backend": backend}
            torch.testing.assert_close(torch.compile(vmap(f, (0, mapped)), **whole)(*given), want)
            torch.testing.assert_close(vmap(torch.compile(f, backend=backend), (0, mapped))(*given), want)
            torch.testing.assert_close(torch.compile(g, **whole)(Zs, lam), g(Zs, lam))
    torch._dynamo.reset()
    solve = torch.compile(vmap(mt.solve_spd, (None, 0)), fullgraph=True, backend="aot_eager")
    A, B = torch.eye(4, dtype=Zs.dtype) + Zs.T @ Zs, torch.stack([Zs.T, 2 * Zs.T])
    torch.testing.assert_close(solve(A, B), torch.linalg.solve(A, B))


def test_what_a_compiled_function_takes(small):
    Zs, Ys, Zq, _ = (x.float() for x in small)
    label = Ys.argmax(-1)
    for name in ("ridge", "logistic"):
        torch._dynamo.reset()
        annealed = torch.compile(lambda lam: HEADS[name](Zs, Ys, Zq, lam), fullgraph=True, backend="eager")
        for step in range(20):  # beyond PyTorch's limit of 8 compilations
            torch.testing.assert_close(annealed(0.8**step), HEADS[name](Zs, Ys, Zq, 0.8**step))
    counted = lambda Zs: mt.ridge(Zs, torch.nn.functional.one_hot(label, 2), Zq)  # noqa: E731
    plain = lambda Zs: mt.ridge(Zs, label, Zq)  # noqa: E731
    torch.testing.assert_close(torch.compile(counted, fullgraph=True, backend="eager")(Zs), counted(Zs))
    torch.testing.assert_close(torch.compile(plain, backend="eager")(Zs), plain(Zs))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"one_hot\(Ys, C\)"):
        torch.compile(plain, fullgraph=True, backend="eager")(Zs)


def test_devices_and_dtypes_are_refused_in_the_callers_words(small):
    Zs, Ys, Zq, _ = small
    with pytest.raises(mochi.InvalidError, match="on cpu and on meta, expected one device"):
        mt.ridge(Zs, Ys, Zq.to("meta"))
    for f in (mt.ridge, mt.logistic):
        for labels in (Ys, Ys.argmax(-1)):
            with pytest.raises(mochi.UnsupportedError, match="on meta, expected one on the CPU"):
                f(Zs.to("meta"), labels.to("meta"), Zq.to("meta"))
    for dtype in (torch.int64, torch.complex128):
        with pytest.raises(TypeError, match=f"rows of {dtype}"):
            mt.ridge(Zs.to(dtype), Ys, Zq.to(dtype))


def test_every_name_has_an_example_that_runs():
    import doctest
    import re

    import numpy

    assert doctest.testmod(mochi.torch, extraglobs={"mochi": mochi, "np": numpy}, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    assert set(mochi.torch.__all__) <= set(re.findall(r"mt\.(\w+)", mochi.torch.__doc__))


def test_a_torch_that_cannot_register_ops_is_named():
    """As PyTorch 2.4, whose custom ops have no rule for vmap."""
    import subprocess
    import sys

    old = "import torch; del torch._library.custom_ops.CustomOpDef.register_vmap"
    done = subprocess.run([sys.executable, "-c", f"{old}\nimport mochi.torch"], capture_output=True, text=True)
    said = f"ImportError: mochi.torch expected PyTorch 2.5 or newer, whose custom ops have a rule for vmap; found {torch.__version__}"
    assert done.returncode == 1 and said in done.stderr, done.stderr
