from __future__ import annotations

import builtins
import os
import pickle
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from mgae.core.errors import GraphError
from mgae.data.datasets.pickles import checked_csr, read_pickle, read_tensors

ARRAYS = {
    "integers": np.arange(6, dtype=np.int64).reshape(3, 2),
    "halves": np.array([0.5, -1.5], dtype=np.float32),
    "doubles": np.array([[0.1]]),
    "small": np.array([7], dtype=np.int32),
    "flags": np.array([True, False]),
}


class Calls:
    """Pickles as a call, which an ordinary unpickler would make."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def evil(marker: Path) -> dict[str, Any]:
    """Things to pickle; each one, once called, leaves ``marker`` behind."""
    touch = f"touch {marker}"
    array = np.empty(1, dtype=object)
    array[0] = Calls(os.system, touch)
    return {
        "os.system": Calls(os.system, touch),
        "eval": Calls(builtins.eval, f"open({str(marker)!r}, 'w')"),
        "open": Calls(builtins.open, str(marker), "w"),
        "subprocess": Calls(subprocess.check_call, ["touch", str(marker)]),
        "a numpy function": Calls(np.savetxt, str(marker), [1.0]),
        "inside a list": [1, Calls(os.system, touch)],
        "inside a dictionary": {"edge": Calls(os.system, touch)},
        "inside an array": array,
        "nested": Calls(list, Calls(os.system, touch)),
    }


KINDS = list(evil(Path("marker")))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_comes_back(path: Path, name: str, protocol: int) -> None:
    path.write_bytes(pickle.dumps(ARRAYS[name], protocol))
    result = read_pickle(path)
    assert result.dtype == ARRAYS[name].dtype
    assert np.array_equal(result, ARRAYS[name])


@pytest.mark.parametrize("modules", [(b"", b""), (b"scipy.sparse._csr", b"scipy.sparse.csr")])
def test_a_sparse_matrix_comes_back_by_its_old_and_new_name(
    path: Path, modules: tuple[bytes, bytes]
) -> None:
    matrix = csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    content = pickle.dumps(matrix, 2).replace(b"numpy._core.", b"numpy.core.").replace(*modules)
    path.write_bytes(content)
    assert np.array_equal(read_pickle(path).toarray(), [[0, 2, 0], [1, 0, 3]])


def test_a_dictionary_of_lists_comes_back(path: Path) -> None:
    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    path.write_bytes(pickle.dumps(graph, 2))
    assert read_pickle(path) == graph


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_is_refused_and_not_made(tmp_path: Path, kind: str, protocol: int) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "file").write_bytes(pickle.dumps(evil(marker)[kind], protocol))
    with pytest.raises(GraphError, match=r"cannot read .*file: it names [\w.]+, and only arrays"):
        read_pickle(tmp_path / "file")
    assert not marker.exists()


def test_the_same_file_does_harm_where_nothing_guards(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    pickle.loads(pickle.dumps(evil(marker)["os.system"]))
    assert marker.exists()


HAND_WRITTEN = {
    "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x09lib.npyio\x93.",
    "a persistent id": b"Pstorage\n.",
    "an extension": b"\x80\x02\x82\x01.",
    "a class to be changed": b"\x80\x02cscipy.sparse.csr\ncsr_matrix\nN}U\x01aK\x01s\x86b.",
    "a matrix without its arrays": b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}b.",
    "a wrong rebuilding": b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R.",
    "text": b"hello",
    "nothing": b"",
}


@pytest.mark.parametrize("content", HAND_WRITTEN.values(), ids=HAND_WRITTEN)
def test_a_crooked_pickle_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(GraphError, match=r"cannot read .*file: \S+"):
        read_pickle(path)


@pytest.mark.parametrize("kept", [1, 20, 100, -1])
def test_a_cut_off_pickle_is_refused(path: Path, kept: int) -> None:
    path.write_bytes(pickle.dumps(ARRAYS["integers"], 2)[:kept])
    with pytest.raises(GraphError, match="cannot read"):
        read_pickle(path)


def test_a_missing_file_is_refused(path: Path) -> None:
    for read in (read_pickle, read_tensors):
        with pytest.raises(GraphError, match="No such file"):
            read(path)


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1])]
)
def test_a_sparse_matrix_with_indices_out_of_range_is_refused(
    path: Path, indices: list[int], indptr: list[int]
) -> None:
    with pytest.raises(ValueError, match="ind"):
        checked_csr(np.ones(2), np.array(indices), np.array(indptr), (2, 2))
    matrix = csr_matrix(np.eye(2))
    matrix.indices, matrix.indptr = np.array(indices), np.array(indptr)
    path.write_bytes(pickle.dumps(matrix, 2))
    with pytest.raises(GraphError, match="cannot read"):
        read_pickle(path)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_a_torch_file_comes_back_as_tensors(path: Path, zipped: bool, convert: Any) -> None:
    split = {name: convert(array) for name, array in ARRAYS.items()}
    torch.save(split, path, _use_new_zipfile_serialization=zipped)
    result = read_tensors(path)
    assert list(result) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert torch.equal(result[name], torch.from_numpy(array))


def test_a_torch_file_written_with_an_old_numpy_comes_back(path: Path) -> None:
    torch.save({"edge": ARRAYS["integers"]}, path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes().replace(b"numpy._core.", b"numpy.core."))
    assert read_tensors(path)["edge"].tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_torch_file_with_a_call_is_refused(tmp_path: Path, kind: str, zipped: bool) -> None:
    marker = tmp_path / "marker"
    content = {"edge": evil(marker)[kind]}
    torch.save(content, tmp_path / "file", _use_new_zipfile_serialization=zipped)
    with pytest.raises(GraphError) as refusal:
        read_tensors(tmp_path / "file")
    assert not marker.exists()
    assert "only arrays are admitted" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("content", [[1, 2], "text", {"edge": "text"}])
def test_a_torch_file_of_other_things_is_refused(path: Path, content: Any) -> None:
    torch.save(content, path)
    with pytest.raises(GraphError, match="cannot read"):
        read_tensors(path)


def test_what_was_admitted_for_one_file_is_not_admitted_after_it(path: Path) -> None:
    torch.save({"edge": ARRAYS["integers"]}, path)
    read_tensors(path)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)
