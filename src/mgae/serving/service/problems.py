"""Answer errors as RFC 9457 has them: one JSON object that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from mgae.core.errors import MGAEError, is_out_of_memory

MEDIA_TYPE = "application/problem+json"


class FieldProblem(BaseModel):
    """One value that is not as it must be."""

    field: str = Field(description="where it stands, as body.pairs.0")
    message: str


class Problem(BaseModel):
    """What went wrong."""

    type: str = Field("about:blank", description="the kind of problem; about:blank: its status")
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] | None = Field(None, description="the values that are wrong")


def problem(
    status: int,
    detail: str,
    errors: Sequence[FieldProblem] | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """Return the answer for a problem."""
    body = Problem(
        type="about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=None if errors is None else list(errors),
    )
    return JSONResponse(body.model_dump(exclude_none=True), status, headers, MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer besides its result, for the OpenAPI description."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: schema}}
        for status in statuses
    }


def _message(request: Request, item: dict[str, Any]) -> str:
    """Return what is wrong with a value, in words for whoever sent JSON."""
    if item["type"] not in ("model_attributes_type", "model_type", "dict_type"):
        return str(item["msg"]).replace("Input should be", "must be")
    sent = request.headers.get("content-type", "").partition(";")[0]
    if tuple(item["loc"]) == ("body",) and not sent.endswith("json"):
        return f"send JSON with the header Content-Type: application/json, got {sent or 'none'!r}"
    return "must be a JSON object"


def handle_problems(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, str(error.detail), headers=headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        # Never the value itself: it may be huge, or no text that can be sent back.
        errors = [
            FieldProblem(field=".".join(map(str, item["loc"])), message=_message(request, item))
            for item in error.errors()
        ]
        first = f"{errors[0].field}: {errors[0].message}" if errors else "invalid request"
        return problem(422, first, errors)

    @app.exception_handler(MGAEError)
    async def _refused(request: Request, error: MGAEError) -> JSONResponse:
        return problem(422, " ".join(str(error).split()))

    @app.exception_handler(Exception)
    async def _broken(request: Request, error: Exception) -> JSONResponse:
        if is_out_of_memory(error):
            return problem(503, "there is not enough memory for this request: ask for less")
        return problem(500, "something went wrong here; the service's log has more")
