from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data import load_graph
from mgae.data.splits.nodes import folds, labeled_nodes, node_split

PROPERTY = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**20)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def labels(count: int, seed: int) -> torch.Tensor:
    """Classes 0 to 3, and -1 for about a fifth of the nodes."""
    return torch.randint(-1, 4, (count,), generator=seeded(seed))


def test_a_label_of_minus_one_is_none() -> None:
    assert labeled_nodes(torch.tensor([2, -1, 0, -1, 1])).tolist() == [0, 2, 4]


def test_a_row_with_an_unknown_label_is_none() -> None:
    y = torch.tensor([[0.0, 1.0], [torch.nan, 1.0], [1.0, 0.0], [torch.nan, torch.nan]])
    assert labeled_nodes(y).tolist() == [0, 2]


def test_a_row_of_zeros_is_a_label() -> None:
    assert labeled_nodes(torch.zeros(3, 4, dtype=torch.long)).tolist() == [0, 1, 2]


@PROPERTY
@given(count=st.integers(2, 8), extra=st.integers(0, 40), seed=seeds)
def test_folds_test_each_node_once_and_train_on_the_others(
    count: int, extra: int, seed: int
) -> None:
    nodes = np.arange(count + extra) * 3 + 1
    parts = list(folds(nodes, count, seed))
    assert len(parts) == count
    assert sorted(np.concatenate([test for _, test in parts])) == nodes.tolist()
    for train, test in parts:
        assert sorted([*train, *test]) == nodes.tolist()
    sizes = [len(test) for _, test in parts]
    assert max(sizes) - min(sizes) <= 1


def test_folds_are_shuffled_by_their_seed() -> None:
    nodes = np.arange(50)
    first, same, other = (
        np.concatenate([test for _, test in folds(nodes, 5, seed)]) for seed in (0, 0, 1)
    )
    assert first.tolist() == same.tolist()
    assert first.tolist() != other.tolist()
    assert set(first[:10]) != set(nodes[:10])


def test_fewer_labeled_nodes_than_folds_are_refused() -> None:
    with pytest.raises(GraphError, match="5 folds need as many labeled nodes, got 4"):
        list(folds(np.arange(4), 5, 0))


def test_the_public_split_is_used_where_there_is_one() -> None:
    cora = load_graph("cora")
    parts = node_split(cora, cora.y, seeded())
    assert [len(parts[part]) for part in ("train", "val", "test")] == [140, 500, 1000]
    for part, nodes in parts.items():
        assert torch.equal(torch.from_numpy(nodes), cora[f"{part}_mask"].nonzero().squeeze(1))


def test_one_missing_mask_makes_it_random() -> None:
    mask = torch.arange(50) < 5
    graph = Data(y=torch.zeros(50, dtype=torch.long), train_mask=mask, val_mask=mask)
    parts = node_split(graph, graph.y, seeded())
    assert sorted(np.concatenate(list(parts.values()))) == list(range(50))


def test_a_random_split_has_ten_ten_and_eighty_percent() -> None:
    y = torch.zeros(50, dtype=torch.long)
    parts = node_split(Data(y=y), y, seeded())
    assert {part: len(nodes) for part, nodes in parts.items()} == {"train": 5, "val": 5, "test": 40}


@PROPERTY
@given(count=st.integers(20, 80), seed=seeds)
def test_a_random_split_holds_each_labeled_node_once(count: int, seed: int) -> None:
    y = labels(count, seed)
    parts = node_split(Data(y=y), y, seeded(seed))
    assert list(parts) == ["train", "val", "test"]
    assert sorted(np.concatenate(list(parts.values()))) == labeled_nodes(y).tolist()


def test_a_random_split_follows_its_generator() -> None:
    graph = Data(y=torch.zeros(50, dtype=torch.long))
    first, same, other = (
        node_split(graph, graph.y, seeded(seed))["test"].tolist() for seed in (0, 0, 1)
    )
    assert first == same
    assert sorted(first) != sorted(other)


def test_several_public_splits_and_empty_parts_are_refused() -> None:
    y = torch.zeros(6, dtype=torch.long)
    several = torch.ones(6, 2, dtype=torch.bool)
    graph = Data(y=y, train_mask=several, val_mask=several, test_mask=several)
    with pytest.raises(GraphError, match="several node splits"):
        node_split(graph, y, seeded())
    one, none = torch.ones(6, dtype=torch.bool), torch.zeros(6, dtype=torch.bool)
    with pytest.raises(GraphError, match="val_mask has no labeled node"):
        node_split(Data(y=y, train_mask=one, val_mask=none, test_mask=one), y, seeded())
