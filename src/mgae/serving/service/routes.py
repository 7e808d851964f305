"""Define the routes: what can be asked of a trained model."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import torch
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel

from mgae.core.errors import GraphError
from mgae.serving.answers import Recommendation
from mgae.serving.explanations import Why
from mgae.serving.predictor import Predictor
from mgae.serving.service import shapes
from mgae.serving.service.guard import segment_text
from mgae.serving.service.problems import documented
from mgae.serving.service.served import Runs, Served

Text = Annotated[
    str, Query(max_length=shapes.MOST_ID_LENGTH, description="a part of an id or title")
]
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


# Not in a thread: it takes a run as it is at this moment, and the whole request is about that one.
async def _served(
    request: Request,
    run: Annotated[
        str | None,
        Query(max_length=shapes.MOST_ID_LENGTH, description="which run; absent: the first"),
    ] = None,
) -> Served:
    runs: Runs = request.app.state.runs
    return runs[run]


Asked = Annotated[Served, Depends(_served)]


def model_routes() -> APIRouter:
    """Return the routes that ask a model."""
    router = APIRouter(responses=documented(401, 404, 422))
    _add_lookups(router)
    _add_rankings(router)
    _add_posts(router)
    return router


def _add_lookups(router: APIRouter) -> None:
    @router.get("/info", summary="What is served")
    async def _info(served: Asked) -> shapes.Info:
        return served.info

    @router.get("/nodes", summary="Find nodes by a part of their id or title")
    def _find(served: Asked, query: Text = "", limit: Some = 10) -> shapes.Matches:
        predictor = served.predictor
        nodes = predictor.find(query, limit)
        return shapes.Matches(query=query, nodes=nodes, titles=list(map(predictor.title, nodes)))

    @router.get("/nodes/{id}", summary="A node and its neighbors")
    def _node(served: Asked, id: Id, limit: Most = 100) -> shapes.Node:
        predictor, node = _known(served, id)
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

    # Written once, when the run was loaded.
    @router.get("/map", summary="Where the nodes lie on a plane", response_model=shapes.Map)
    async def _of_nodes(served: Asked, request: Request) -> Response:
        if served.map is None:
            raise HTTPException(404, "this method has no embeddings, so there is no map")
        packed = "gzip" in request.headers.get("accept-encoding", "")
        headers = {"Content-Encoding": "gzip"} if packed else {}
        text = served.map if packed else gzip.decompress(served.map)
        return Response(text, headers=headers, media_type="application/json")


def _add_rankings(router: APIRouter) -> None:
    @router.get(
        "/nodes/{id}/recommendations",
        summary="New links of a node, the likeliest first",
        response_model=shapes.Recommendations,
    )
    def _recommendations(
        served: Asked, id: Id, k: Count = 10, exact: Exact = None, why: Reasons = False
    ) -> Response:
        predictor, node = _known(served, id)
        links = _links(predictor.recommend(node, k, exact=exact))
        if why:
            reasons = predictor.why(node, [link.node for link in links])
            for link, reason in zip(links, reasons, strict=True):
                link.why = _why(reason)
        return _json(
            shapes.Recommendations(
                node=node, recommendations=links, rank_precision=predictor.rank_precision[:k]
            )
        )

    @router.get("/nodes/{id}/similar", summary="Nodes with the nearest embeddings")
    def _similar(served: Asked, id: Id, k: Count = 10) -> shapes.Similar:
        predictor, node = _known(served, id)
        near = [
            shapes.Near(node=other, title=predictor.title(other), cosine=value)
            for other, value in predictor.similar(node, k)
        ]
        return shapes.Similar(node=node, similar=near)


def _add_posts(router: APIRouter) -> None:
    @router.post("/score", summary="How likely links are", responses=documented(400, 413))
    def _score(served: Asked, asked: shapes.Pairs) -> shapes.Scores:
        if asked.why and len(asked.pairs) > shapes.MOST_EXPLAINED:
            raise GraphError(f"why: at most {shapes.MOST_EXPLAINED} pairs are compared at once")
        predictor = served.predictor
        scores = predictor.score_links(asked.pairs)
        columns = scores.logit.tolist(), scores.balanced_probability.tolist()
        compared = [_compared(predictor, *pair) if asked.why else None for pair in asked.pairs]
        return shapes.Scores(
            scores=[
                shapes.PairScore(
                    source=u,
                    target=v,
                    score=s,
                    balanced_probability=shapes.plain(p),
                    comparison=comparison,
                )
                for (u, v), s, p, comparison in zip(asked.pairs, *columns, compared, strict=True)
            ]
        )

    @router.post("/embed", summary="Embed unseen nodes", responses=documented(400, 413))
    def _embed(served: Asked, asked: shapes.NewNodes) -> shapes.EmbeddedNodes:
        predictor = served.predictor
        features = _features(asked.nodes)
        rows = _require_finite(predictor.embed_new(features, asked.edges))
        links: Mapping[Any, list[Recommendation]] = (
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


def _features(nodes: list[shapes.NewNode]) -> dict[Any, Any]:
    """Return the features of each new node, None where none are given."""
    features: dict[Any, Any] = {new.node: new.features for new in nodes}
    if len(features) < len(nodes):
        raise GraphError("nodes: two of the new nodes have the same id")
    return features


def _compared(predictor: Predictor, one: Any, other: Any) -> shapes.Comparison:
    (reason,) = predictor.why_scored(one, [other])
    numbers = [predictor.nodes.position(node) for node in (one, other)]
    cosine = (
        float(predictor.cosines(numbers[0], torch.tensor(numbers[1:])))
        if predictor.embeds
        else None
    )
    return shapes.Comparison(
        joined=predictor.joins(one, other),
        cosine=cosine,
        why=_why(reason),
    )


def _why(reason: Why) -> shapes.Why:
    return shapes.Why.model_validate(asdict(reason))


def _json(answer: BaseModel) -> Response:
    """Return an answer as it is: FastAPI would check it once more."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _known(served: Served, segment: str) -> tuple[Predictor, Any]:
    """Return the model, and the user's own id for a segment of the path."""
    text, predictor = segment_text(segment), served.predictor
    if not predictor.knows(text):
        raise HTTPException(404, f"unknown node {text!r}: GET /nodes?query= finds ids")
    return predictor, predictor.nodes.id_of(text)


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
