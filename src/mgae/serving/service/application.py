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

from mgae.serving.predictor import Predictor
from mgae.serving.service import shapes, telemetry
from mgae.serving.service.guard import Credentials, Guard
from mgae.serving.service.problems import Problem, documented, handle_problems
from mgae.serving.service.routes import model_routes
from mgae.serving.service.served import Runs, Served
from mgae.serving.templates import palette
from mgae.version import __version__

PAGE = Path(str(resources.files("mgae.serving.service") / "page"))
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def create_app(
    *served: Served | Predictor, token: str | None = None, hosts: frozenset[str] = LOOPBACK
) -> FastAPI:
    """Return the service of some runs; a predictor alone is served without figures.

    Args:
        served: what is asked; requests that name no run mean the first.
        token: what every request but ``GET /health`` must bring; None: nothing.
        hosts: the names that the service answers to if there is no token.
    """
    runs = Runs(served)
    app = FastAPI(
        title=f"mgae: {', '.join(dict.fromkeys(one.info.graph for one in runs.all))}",
        version=__version__,
        description="Neighbors, recommendations and embeddings of a trained graph autoencoder.",
        docs_url=None,  # both take their scripts from a CDN; /docs is ours
        redoc_url=None,
        lifespan=_lifespan,
    )
    metrics = telemetry.Telemetry(runs.counts)
    app.state.runs = runs
    app.state.credentials = credentials = Credentials(token)
    handle_problems(app)
    app.include_router(model_routes())
    app.include_router(_own_routes(runs, metrics, credentials))
    app.mount("/page", StaticFiles(directory=PAGE))
    _describe(app)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    app.add_middleware(Guard, credentials=credentials, hosts=hosts)
    app.add_middleware(telemetry.Measured, telemetry=metrics)
    return app


def _own_routes(runs: Runs, metrics: telemetry.Telemetry, credentials: Credentials) -> APIRouter:
    """Return the routes that do not ask a model."""
    router = APIRouter()

    @router.get("/runs", summary="The runs that are served", responses=documented(401))
    async def _runs() -> shapes.Served:
        facts = ("run", "graph", "method")
        return shapes.Served(
            runs=[
                shapes.Run(**{fact: getattr(one.info, fact) for fact in facts}) for one in runs.all
            ]
        )

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
