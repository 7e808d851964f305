"""Write a run's network as two programs of plain operations: ONNX, or torch.export's files.

The encoder maps the features of the run's nodes to their embeddings; the edges stand in it as
arrays. The decoder maps two embeddings to a logit. Neither needs mgae where it runs.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mgae.core.encoders import LayeredEncoder
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.combined import CombinedModel
from mgae.core.methods.linkmodel import LinkModel
from mgae.core.ops.backend import plain_operations
from mgae.core.ops.sparse import SparseMatrix
from mgae.runs.featureuse import message_graph
from mgae.serving.outfiles import write_matrix
from mgae.serving.predictor import Predictor

_TOLERANCE = 1e-5  # relative to the largest value, in single floats
_PAIRS = 8  # that the decoder is traced with


class _Encode(nn.Module):
    def __init__(self, encoder: LayeredEncoder, graph: MessageGraph) -> None:
        super().__init__()
        self.encoder, self.graph = encoder, graph

    def forward(self, x: Tensor) -> Tensor:
        """Map the inputs [num_nodes, F] to the layers side by side [num_nodes, K·d]."""
        return torch.cat(self.encoder.propagate(x, self.graph, None), dim=1)


class _Decode(nn.Module):
    def __init__(self, model: LinkModel, undirected: bool) -> None:
        super().__init__()
        self.decoder, self.undirected = model.decoder, undirected
        self.depth = model.encoder.num_layers

    def forward(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Map embeddings of both ends [n, K·d] to logits [n]."""
        head, tail = (rows.unflatten(1, (self.depth, -1)) for rows in (heads, tails))
        if self.undirected:
            return self.decoder.score_both(head, tail)
        return self.decoder.score(head, tail, None)


def exported_network(predictor: Predictor) -> LinkModel:
    """Return the part of a run that can be exported as a network.

    Raises:
        UnsupportedError: if there is none.
    """
    method = predictor.method
    model = method.network if isinstance(method, CombinedModel) else method
    name = predictor.config.method.kind
    if not isinstance(model, LinkModel) or type(model).encode is not LinkModel.encode:
        raise UnsupportedError(
            f"--to onnx and torch are for a network of encoder and decoder, which method {name!r} "
            "is not: --to parquet, faiss or lancedb has its embeddings if it has any, "
            "mgae recommend --all -o FILE its links"
        )
    if not isinstance(model.encoder, LayeredEncoder):
        raise UnsupportedError(
            "this encoder is not one of mgae's layers, so export its module by torch itself"
        )
    return model


def notes_of(predictor: Predictor) -> list[str]:
    """Return what a user of the exported network should know."""
    if not isinstance(predictor.method, CombinedModel):
        return []
    weight = predictor.method.choice["link"].get("network", 0.0)
    return [
        "method 'combined' adds evidence, counted along the graph, which cannot be exported: "
        f"the logits are the network's alone, which enters the run's score with weight "
        f"{weight:.2g}; the embeddings are the run's"
    ]


@torch.no_grad()
def export_network(predictor: Predictor, folder: Path, form: str) -> list[Path]:
    """Write encoder, decoder, the encoder's inputs and the ids into a folder; check the figures.

    Args:
        predictor: the run.
        folder: exists already.
        form: "onnx" or "torch".

    Raises:
        UnsupportedError: if the run has no such network, or a package is missing.
    """
    model = exported_network(predictor)
    if form == "onnx":
        _require("onnx", "onnxscript")
    message = message_graph(predictor.config, predictor.graph)
    inputs = _dense(model.encoder.inputs.whole(message))
    expected = model.embed(message)
    numbers = torch.arange(_PAIRS)
    some = torch.stack([numbers, 3 * numbers + 1]) % message.num_nodes
    logits = model.score_links(model.encode(message), some)
    assert isinstance(model.encoder, LayeredEncoder)
    with plain_operations():
        # A copy, which keeps its edges as arrays: made here, before the program is traced.
        encode = _Encode(model.encoder, replace(message)).eval()
        decode = _Decode(model, message.undirected).eval()
        ends = expected[some[0]], expected[some[1]]
        _require_same(encode(inputs), expected)
        _require_same(decode(*ends), logits)
        pairs = torch.export.Dim("pairs")
        write = _write_onnx if form == "onnx" else _write_torch
        files = [
            write(encode, (inputs,), None, folder / "encoder", (["x"], ["embedding"])),
            write(
                decode, ends, ({0: pairs}, {0: pairs}), folder / "decoder",
                (["heads", "tails"], ["logit"]),
            ),
        ]  # fmt: skip
    np.save(folder / "x.npy", inputs.numpy(), allow_pickle=False)
    embeddings = folder / "embeddings.parquet"
    write_matrix(embeddings, predictor.nodes.column, expected.numpy())
    return [*files, folder / "x.npy", embeddings]


def _write_torch(
    module: nn.Module, given: tuple[Tensor, ...], dynamic: Any, path: Path, names: Any
) -> Path:
    program = torch.export.export(module, given, dynamic_shapes=dynamic)
    file = path.with_suffix(".pt2")
    torch.export.save(program, file)
    return file


def _write_onnx(
    module: nn.Module,
    given: tuple[Tensor, ...],
    dynamic: Any,
    path: Path,
    names: tuple[list[str], list[str]],
) -> Path:
    file = path.with_suffix(".onnx")
    program = torch.export.export(module, given, dynamic_shapes=dynamic)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            program,
            (),
            file,
            input_names=names[0],
            output_names=names[1],
            dynamo=True,
            verbose=False,
            external_data=False,
        )
    return file


def _dense(x: Any) -> Tensor:
    return x.to_dense() if isinstance(x, SparseMatrix) else x


def _require_same(computed: Tensor, expected: Tensor) -> None:
    """Assert that plain operations give what the run gives, to rounding."""
    scale = max(1.0, float(expected.abs().max()))
    assert float((computed - expected).abs().max()) <= _TOLERANCE * scale


def _require(*modules: str) -> None:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise UnsupportedError(f"--to onnx needs {' and '.join(missing)}: pip install 'mgae[onnx]'")
