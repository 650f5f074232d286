"""Episodes of a labelled dataset for PyTorch's DataLoader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .. import checked, errors
from ..graphs.sources import number_classes


class EpisodeSampler(torch.utils.data.Sampler[list[int]]):
    """A ``batch_sampler``: each batch is the rows of one or several episodes, which `split` separates.

    An episode is `ways` classes drawn at random, with ways * shots support rows and ways * queries query rows, no row twice. It
    depends on the seed, the epoch and its own number alone, whatever the number of workers and ranks.

    Parameters
    ----------
    label : array_like
        Labels of the dataset's rows, as `mochi.graph` takes them; unlabelled rows are never drawn.
    ways, shots, queries : int
        Classes of an episode, and its support and query rows per class.
    episodes : int
        Number of episodes of an epoch.
    batch : int
        Episodes in a batch; the last one may have fewer.
    natural : bool
        False: each class has its `shots` and `queries` rows; smaller classes are not drawn. True: one support row of each class,
        then rows of all drawn classes as often as they occur.
    seed : int
        Of all draws.
    rank, ranks : int
        With ``DistributedDataParallel``: this process draws every `ranks`-th episode from number `rank` on.

    Examples
    --------
    >>> X, y = torch.arange(60.0).reshape(30, 2), torch.arange(30) % 3
    >>> sampler = mochi.torch.EpisodeSampler(y, ways=2, shots=3, queries=4, episodes=6, batch=2)
    >>> data = torch.utils.data.TensorDataset(X, y)
    >>> for rows, label in torch.utils.data.DataLoader(data, batch_sampler=sampler):
    ...     Zs, ys, Zq, yq = sampler.split(rows, label)
    >>> Zs.shape, yq.shape, len(sampler)
    (torch.Size([2, 6, 2]), torch.Size([2, 8]), 3)
    """

    def __init__(
        self, label: Any, ways: int = 5, shots: int = 5, queries: int = 15, episodes: int = 100, batch: int = 1,
        natural: bool = False, seed: int = 0, rank: int = 0, ranks: int = 1,
    ) -> None:  # fmt: skip
        label = label.numpy() if isinstance(label, torch.Tensor) else label
        number, _ = number_classes(label, len(label))
        self.ways, self.shots = checked.whole("EpisodeSampler: ways", ways, 1), checked.whole("EpisodeSampler: shots", shots, 1)
        self.queries, self.batch = (
            checked.whole("EpisodeSampler: queries", queries, 1), checked.whole("EpisodeSampler: batch", batch, 1),
        )  # fmt: skip
        self.episodes = checked.whole("EpisodeSampler: episodes", episodes, 1)
        self.ranks = checked.whole("EpisodeSampler: ranks", ranks, 1)
        self.seed, self.epoch = checked.whole("EpisodeSampler: seed", seed), 0
        self.rank = checked.whole("EpisodeSampler: rank", rank, 0, ranks - 1)
        self.natural = checked.flag("EpisodeSampler: natural", natural)
        rows = [np.flatnonzero(number == c) for c in range(number.max(initial=-1) + 1)]
        self._rows = rows if natural else [r for r in rows if len(r) >= shots + queries]
        fewest = sorted(map(len, self._rows))[:ways]
        if len(fewest) < ways:
            raise errors.InvalidError(
                f"EpisodeSampler: {len(fewest)} of {len(rows)} classes have {'rows' if natural else f'{shots + queries} rows'}, "
                f"expected {ways}"
            )
        if sum(fewest) < ways * (shots + queries):
            raise errors.InvalidError(
                f"EpisodeSampler: the {ways} smallest classes have {sum(fewest)} rows, expected {ways * (shots + queries)}"
            )

    def set_epoch(self, epoch: int) -> None:
        """Chooses the episodes of the next pass; without a call each pass has those of the next epoch."""
        self.epoch = checked.whole("EpisodeSampler: epoch", epoch)

    def __len__(self) -> int:
        return -(-len(range(self.rank, self.episodes, self.ranks)) // self.batch)

    def __iter__(self) -> Iterator[list[int]]:
        mine, epoch = range(self.rank, self.episodes, self.ranks), self.epoch
        self.epoch += 1
        for first in range(0, len(mine), self.batch):
            yield [int(row) for i in mine[first : first + self.batch] for row in self._episode(epoch, i)]

    def _episode(self, epoch, i):
        """The rows of episode i: the support, then the queries."""
        draw = np.random.default_rng((self.seed, epoch, i))
        rows = [draw.permutation(self._rows[c]) for c in draw.choice(len(self._rows), self.ways, replace=False)]
        n, m = self.ways * self.shots, self.ways * self.queries
        if self.natural:
            others = draw.permutation(np.concatenate([r[1:] for r in rows]))[: n + m - self.ways]
            return np.concatenate([[r[0] for r in rows], others])
        parts = slice(None, self.shots), slice(self.shots, self.shots + self.queries)
        return np.concatenate([r[part] for part in parts for r in rows])

    def split(self, rows: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(support rows [b, n, ..], their labels [b, n], query rows [b, m, ..], their labels [b, m]) of a batch of b episodes.

        rows are the batch's, or embeddings of them; labels become 0 to ways - 1, in rising order of the classes.
        """
        n, total = self.ways * self.shots, self.ways * (self.shots + self.queries)
        if len(rows) != len(label) or len(rows) % total:
            raise errors.InvalidError(
                f"EpisodeSampler: {len(rows)} rows and {len(label)} labels, expected a multiple of {total} of each"
            )
        label = torch.stack([torch.unique(own, return_inverse=True)[1] for own in label.reshape(-1, total)])
        rows = rows.reshape(len(label), total, *rows.shape[1:])
        return rows[:, :n], label[:, :n], rows[:, n:], label[:, n:]
