"""Define the routes: what can be asked of a trained model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from fastapi import APIRouter, HTTPException, Path, Query, Response

from mgae.core.errors import GraphError
from mgae.serving.answers import Recommendation
from mgae.serving.maps import NodeMap
from mgae.serving.predictor import Predictor
from mgae.serving.service import shapes
from mgae.serving.service.guard import segment_text
from mgae.serving.service.problems import documented

Text = Annotated[str, Query(max_length=shapes.MOST_ID_LENGTH, description="a part of an id")]
Some = Annotated[int, Query(ge=1, le=shapes.MOST_SUGGESTIONS, description="how many at most")]
Id = Annotated[
    str,
    Path(
        max_length=shapes.MOST_ID_LENGTH, description="the node's own id; . and .. go as /node?id=."
    ),
]
Count = Annotated[int, Query(ge=1, le=shapes.MOST_K, description="how many")]
Exact = Annotated[
    bool | None, Query(description="rank all nodes, or candidates only; absent: by size")
]
Reasons = Annotated[bool, Query(description="say why, with what adds up to each score")]
Most = Annotated[
    int, Query(ge=0, le=shapes.MOST_NEIGHBORS, description="neighbors to list at most")
]
_SCALE = 65535


def model_routes(predictor: Predictor, info: shapes.Info, node_map: NodeMap | None) -> APIRouter:
    """Return the routes that ask the model."""
    router = APIRouter(responses=documented(401, 422))
    _add_lookups(router, predictor, info)
    _add_rankings(router, predictor)
    _add_posts(router, predictor)
    _add_map(router, predictor, node_map)
    return router


def _add_lookups(router: APIRouter, predictor: Predictor, info: shapes.Info) -> None:
    @router.get("/info", summary="What is served")
    def _info() -> shapes.Info:
        return info

    @router.get("/nodes", summary="Find nodes by a part of their id or title")
    def _find(query: Text = "", limit: Some = 10) -> shapes.Found:
        found = predictor.find(query, limit)
        return shapes.Found(query=query, nodes=found, titles=list(map(predictor.title, found)))

    @router.get("/nodes/{id}", summary="A node and its neighbors", responses=documented(404))
    def _node(id: Id, limit: Most = 100) -> shapes.Node:
        node = _known(predictor, id)
        neighbors = predictor.neighbors(node)
        shown = neighbors[:limit]
        return shapes.Node(
            node=node,
            title=predictor.title(node),
            attributes=predictor.attributes(node),
            degree=len(neighbors),
            neighbors=shown,
            neighbor_titles=list(map(predictor.title, shown)),
        )


def _add_rankings(router: APIRouter, predictor: Predictor) -> None:
    @router.get(
        "/nodes/{id}/recommendations",
        summary="New links of a node, the likeliest first",
        responses=documented(404),
    )
    def _recommendations(
        id: Id, k: Count = 10, exact: Exact = None, why: Reasons = False
    ) -> shapes.Recommendations:
        node = _known(predictor, id)
        links = _links(predictor.recommend(node, k, exact=exact))
        if why:
            reasons = predictor.why(node, [link.node for link in links])
            for link, reason in zip(links, reasons, strict=True):
                link.why = shapes.Why.model_validate(asdict(reason))
        return shapes.Recommendations(
            node=node, recommendations=links, rank_precision=predictor.rank_precision[:k]
        )

    @router.get(
        "/nodes/{id}/similar",
        summary="Nodes with the nearest embeddings",
        responses=documented(404),
    )
    def _similar(id: Id, k: Count = 10) -> shapes.Similar:
        node = _known(predictor, id)
        near = [
            shapes.Near(node=other, title=predictor.title(other), cosine=value)
            for other, value in predictor.similar(node, k)
        ]
        return shapes.Similar(node=node, similar=near)


def _add_posts(router: APIRouter, predictor: Predictor) -> None:
    @router.post("/score", summary="How likely links are", responses=documented(400, 413))
    def _score(asked: shapes.Pairs) -> shapes.Scores:
        scores = predictor.score_links(asked.pairs)
        columns = scores.logit.tolist(), scores.balanced_probability.tolist()
        return shapes.Scores(
            scores=[
                shapes.PairScore(source=u, target=v, score=s, balanced_probability=shapes.plain(p))
                for (u, v), s, p in zip(asked.pairs, *columns, strict=True)
            ]
        )

    @router.post("/embed", summary="Embed unseen nodes", responses=documented(400, 413))
    def _embed(asked: shapes.NewNodes) -> shapes.EmbeddedNodes:
        features = {new.node: new.features for new in asked.nodes}
        if len(features) < len(asked.nodes):
            raise GraphError("nodes: two of the new nodes have the same id")
        rows = _require_finite(predictor.embed_new(features, asked.edges))
        links: dict[Any, list[Recommendation]] = (
            predictor.recommend_new(features, asked.edges, asked.k, asked.side) if asked.k else {}
        )
        return shapes.EmbeddedNodes(
            nodes=[
                shapes.Embedded(
                    node=node, embedding=row, recommendations=_links(links.get(node, []))
                )
                for node, row in zip(features, rows.tolist(), strict=True)
            ]
        )


def _add_map(router: APIRouter, predictor: Predictor, node_map: NodeMap | None) -> None:
    # Written once: it is the same for everyone, and the longest answer there is.
    text = None if node_map is None else _map(predictor, node_map).model_dump_json()

    @router.get(
        "/map",
        summary="Where the nodes lie on a plane",
        response_model=shapes.Map,
        responses=documented(404),
    )
    async def _of_nodes() -> Response:
        if text is None:
            raise HTTPException(404, "this method has no embeddings, so there is no map")
        return Response(text, media_type="application/json")


def _map(predictor: Predictor, node_map: NodeMap) -> shapes.Map:
    texts, some = predictor.texts, pa.array(node_map.nodes)
    columns = {} if texts is None else texts.attributes
    attributes = {name: column.take(some).to_pylist() for name, column in columns.items()}
    x, y = (node_map.xy * _SCALE).round().astype(int).T.tolist()
    return shapes.Map(
        nodes=[predictor.node_ids[number] for number in node_map.nodes.tolist()],
        titles=None
        if texts is None or texts.titles is None
        else texts.titles.take(some).to_pylist(),
        attributes=attributes,
        x=x,
        y=y,
        group=node_map.groups.tolist(),
        groups=node_map.names,
        grouping=node_map.grouping,
        projection=node_map.projection,
        total=predictor.num_nodes,
    )


def _known(predictor: Predictor, segment: str) -> Any:
    """Return the user's own id for a segment of the path."""
    text = segment_text(segment)
    if not predictor.knows(text):
        raise HTTPException(404, f"unknown node {text!r}: GET /nodes?query= finds ids")
    return predictor.nodes.id_of(text)


def _links(recommended: list[Recommendation]) -> list[shapes.Link]:
    _require_finite(np.array([link.score for link in recommended]))
    return [
        shapes.Link(
            node=link.node,
            title=link.title,
            score=link.score,
            probability=shapes.plain(link.probability),
        )
        for link in recommended
    ]


def _require_finite(values: np.ndarray) -> np.ndarray:
    """Return numbers that JSON can hold; those of known nodes always are."""
    if not np.isfinite(values).all():
        raise GraphError("features are too large: what follows from them is not finite")
    return values
