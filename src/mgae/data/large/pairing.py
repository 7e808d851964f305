"""Number the pairs of sorted edges, so that both directions share one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mgae.data.growing import GrowingArray, chunks


def write_pair_of_edge(folder: Path, num_nodes: int) -> None:
    """Write for each edge in ``edge_index.npy`` the number of its pair in ``pairs.npy``.

    Pairs are in the order of their smaller and then their larger end, as are the edges from the
    larger to the smaller one; the others come up in that order for each smaller end.
    """
    source, target = np.load(folder / "edge_index.npy", "r", allow_pickle=False)
    count = np.zeros(num_nodes + 1, np.int64)
    for part in chunks(source.size):
        low = target[part][source[part] > target[part]]
        count[1:] += np.bincount(low, minlength=num_nodes)
    following = np.cumsum(count)[:-1]  # the number of the next pair of each smaller end
    before = 0
    with GrowingArray(folder / "pair_of_edge.npy") as file:
        for part in chunks(source.size):
            numbers = np.empty(part.stop - part.start, np.int64)
            is_down = source[part] > target[part]
            downward = int(is_down.sum())
            numbers[is_down] = np.arange(before, before + downward)
            before += downward
            low = source[part][~is_down]
            order = np.argsort(low, kind="stable")
            nodes, first, times = np.unique(low[order], return_index=True, return_counts=True)
            rank = np.arange(len(low)) - np.repeat(first, times)
            upward = np.empty(len(low), np.int64)
            upward[order] = following[low[order]] + rank
            following[nodes] += times
            numbers[~is_down] = upward
            file.append(numbers)
