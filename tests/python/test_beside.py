"""Arrays, graphs and tables as other libraries make them (JAX, networkx, pandas, PyTorch Geometric); run by
run_beside."""

import ctypes

import mochi
import numpy as np
import pytest
from mochi import ops

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [2, 0], [1, 1], [3, 0]])
X = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [0, 0, 0]], np.float32)
Y = np.array([0, 1, 0, -1])


def same(a, b):
    return [a._live().hash[i] for i in (0, 1)] == [b._live().hash[i] for i in (0, 1)]


# ---- JAX ----


def test_an_array_of_jax_comes_in_at_its_address():
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.arange(12, dtype="float32").reshape(3, 4)
    leaf = mochi.constant(x)
    assert leaf.shape == (3, 4) and leaf.dtype == "float32"
    inside = np.asarray(leaf).__array_interface__["data"][0]
    assert inside == x.unsafe_buffer_pointer()
    with mochi.Tape():
        assert ops.sum(leaf).item() == 66


def test_a_result_goes_to_jax_and_its_gradient_too():
    jax = pytest.importorskip("jax")
    W = mochi.parameter(np.arange(6, dtype="float32").reshape(2, 3))
    with mochi.Tape() as tape:
        result = W * W
        (gradient,) = tape.grad(result.sum(), [W])
        there = [jax.numpy.from_dlpack(t) for t in (result, gradient)]
        assert there[0].unsafe_buffer_pointer() == np.asarray(result).__array_interface__["data"][0]
    tape.reset()
    np.testing.assert_array_equal(there[0], np.arange(6).reshape(2, 3) ** 2)  # the exported value outlives its tape
    np.testing.assert_array_equal(there[1], 2 * np.arange(6).reshape(2, 3))


def test_gradients_are_those_of_jax():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(8, 5)).astype("float32"), rng.normal(size=(8, 2)).astype("float32")

    def theirs(Z):
        return (jax.numpy.linalg.solve(Z.T @ Z + jax.numpy.eye(5), Z.T @ Y) ** 2).sum()

    leaf = mochi.parameter(Z)
    with mochi.Tape() as tape:
        loss = ops.square(ops.solve_spd(ops.add_diag(leaf.T @ leaf, 1.0), leaf.T @ Y)).sum()
        (ours,) = tape.grad(loss, [leaf])
        np.testing.assert_allclose(ours.numpy(), jax.grad(theirs)(Z), rtol=2e-4, atol=2e-5)


# ---- PyTorch Geometric ----


def test_data_of_pyg_becomes_a_graph():
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    train = torch.tensor([True, False, True, False])
    square = mochi.graph(EDGES, x=X, y=Y)
    made = mochi.graph(data.Data(edge_index=torch.tensor(EDGES.T), x=torch.tensor(X), y=torch.tensor(Y), train_mask=train))
    assert same(made, square) and made.division("train").tolist() == train.tolist()
    bare = mochi.graph(data.Data(edge_index=torch.tensor(EDGES.T), num_nodes=9))
    assert (bare.nodes, bare.edges, bare.x, bare.y) == (9, 5, None, None)
    own = data.Data(edge_index=torch.tensor(EDGES.T), num_nodes=4, colour=torch.tensor(X), side=torch.tensor(Y))
    assert same(mochi.graph(own, x="colour", y="side"), square)
    needs = torch.tensor(X, requires_grad=True)
    assert same(mochi.graph(data.Data(edge_index=torch.tensor(EDGES.T), x=needs, y=torch.tensor(Y))), square)


def test_graphs_of_pyg_become_a_set():
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    graphs = [data.Data(edge_index=torch.tensor(EDGES.T), x=torch.tensor(X), y=torch.tensor([c])) for c in (5, 7, 5)]
    made = mochi.graph_set(graphs)
    assert (made.graphs, made.nodes, made.y.tolist(), made.classes.tolist()) == (3, 12, [0, 1, 0], [5, 7])


def test_the_karate_club_of_pyg_is_that_of_networkx():
    datasets, networkx = pytest.importorskip("torch_geometric.datasets"), pytest.importorskip("networkx")
    theirs = mochi.graph(datasets.KarateClub()[0])
    ours = mochi.graph(networkx.karate_club_graph())
    for a, b in zip(theirs.adjacency, ours.adjacency, strict=True):
        assert np.array_equal(a, b)
    assert theirs.y.max() == 3 and theirs.division("train").sum() == 4
    fit = mochi.load("best").few_shot(mochi.graph(datasets.KarateClub()[0]), theirs.division("train"))
    assert fit.predict().shape == (34,)


# ---- memory that another library frees ----


def test_memory_of_a_foreign_array_lives_as_long_as_its_tensor():
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.ones(1000, dtype="float32") * 3
    address = x.unsafe_buffer_pointer()
    leaf = mochi.constant(x)
    del x
    assert ctypes.c_float.from_address(address).value == 3.0 and leaf.numpy().sum() == 3000
