"""Build the whole service as an ASGI application."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

from mgae.data.datasets.loading import statistics
from mgae.runs.results import RunResult
from mgae.serving.maps import NodeMap
from mgae.serving.predictor import Predictor
from mgae.serving.service import shapes, telemetry
from mgae.serving.service.guard import Credentials, Guard
from mgae.serving.service.problems import Problem, handle_problems
from mgae.serving.service.routes import model_routes
from mgae.serving.templates import palette
from mgae.version import __version__

PAGE = Path(str(resources.files("mgae.serving.service") / "page"))
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def create_app(
    predictor: Predictor,
    token: str | None = None,
    hosts: frozenset[str] = LOOPBACK,
    test: dict[str, float] | None = None,
) -> FastAPI:
    """Return the service of a predictor.

    Args:
        predictor: the model; it is warmed up here, so that the first request does not wait.
        token: what every request but ``GET /health`` must bring; None: nothing.
        hosts: the names that the service answers to if there is no token.
        test: the run's test figures, in percent.
    """
    node_map = _warm_up(predictor)
    info = _info(predictor, node_map, test or {})
    app = FastAPI(
        title=f"mgae: {info.graph}",
        version=__version__,
        description="Neighbors, recommendations and embeddings of a trained graph autoencoder.",
        docs_url=None,  # both take their scripts from a CDN; /docs is ours
        redoc_url=None,
        lifespan=_lifespan,
    )
    metrics = telemetry.Telemetry(predictor.num_nodes)
    app.state.credentials = credentials = Credentials(token)
    handle_problems(app)
    app.include_router(model_routes(predictor, info, node_map))
    app.include_router(_own_routes(metrics, credentials))
    app.mount("/page", StaticFiles(directory=PAGE))
    _describe(app)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    app.add_middleware(Guard, credentials=credentials, hosts=hosts)
    app.add_middleware(telemetry.Measured, telemetry=metrics)
    return app


def _own_routes(metrics: telemetry.Telemetry, credentials: Credentials) -> APIRouter:
    """Return the routes that do not ask the model."""
    router = APIRouter()

    # Not in a thread, so that it answers while all threads are at work.
    @router.get("/health", summary="Whether the service is up")
    async def _health() -> shapes.Health:
        return shapes.Health()

    @router.get("/metrics", summary="Figures for Prometheus", response_class=PlainTextResponse)
    async def _metrics() -> Response:
        return Response(metrics.text(), media_type=telemetry.MEDIA_TYPE)

    @router.get("/", include_in_schema=False)
    async def _page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @router.get("/palette.css", include_in_schema=False)
    async def _palette() -> Response:
        return Response(palette(), media_type="text/css")

    @router.get("/docs", include_in_schema=False)
    async def _docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html")

    @router.post("/session", include_in_schema=False, status_code=204)
    async def _session(request: Request) -> Response:
        """Give a browser that has shown the token a cookie to come again with."""
        answer = Response(status_code=204)
        secure = request.url.scheme == "https"
        cookie = credentials.cookie, credentials.session
        answer.set_cookie(*cookie, httponly=True, samesite="strict", secure=secure)
        return answer

    return router


def _warm_up(predictor: Predictor) -> NodeMap | None:
    """Compute everything that is computed only once; return the map."""
    first = predictor.node_ids[0]
    predictor.neighbors(first)
    predictor.find("", 1)
    predictor.recommend(first, 1)
    if predictor.embeds:
        predictor.similar(first, 1)
    return predictor.map(shapes.MOST_MAP_POINTS)


def _info(predictor: Predictor, node_map: NodeMap | None, test: dict[str, float]) -> shapes.Info:
    config, graph = predictor.config, predictor.graph
    counts = statistics(graph)
    width = None if node_map is None else int(predictor.embed([predictor.node_ids[0]]).shape[1])
    return shapes.Info(
        graph=Path(config.graph).name,
        nodes=predictor.num_nodes,
        edges=counts["edges"],
        features=0 if graph.x is None else graph.x.size(1),
        directed=not graph.undirected,
        method=RunResult(config, ()).name,
        task=config.task,
        protocol=config.protocol,
        embedding_width=width,
        exact=predictor.ranks_all(),
        test=test,
        verdict=_worth(predictor),
        notes=predictor.notes,
        limits=shapes.LIMITS,
        version=__version__,
    )


def _worth(predictor: Predictor) -> shapes.Worth | None:
    verdict = predictor.verdict
    if verdict is None:
        return None
    return shapes.Worth(kind=verdict.kind, text=verdict.text, warning=verdict.is_bad)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # One thread per core, each with one of torch's (see `mgae serve`): more would only take the
    # cores from each other, and a request would wait longer for its own result.
    anyio.to_thread.current_default_thread_limiter().total_tokens = max(2, os.cpu_count() or 2)
    yield


def _describe(app: FastAPI) -> None:
    """Put our form of an error and the token into the OpenAPI description."""
    description: dict[str, Any] = app.openapi()
    schemas = description["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    template = "#/components/schemas/{model}"
    own = Problem.model_json_schema(ref_template=template)
    schemas.update(own.pop("$defs"))
    schemas["Problem"] = own
    bearer = {"type": "http", "scheme": "bearer", "description": "needed where --token is set"}
    description["components"]["securitySchemes"] = {"token": bearer}
    description["security"] = [{}, {"token": []}]
