"""The page on the service's routes, from its own OpenAPI description."""

from __future__ import annotations

from typing import Any

import torch
from scripts.docsite.tables import table
from torch_geometric.data import Data

from mgae import MGAE
from mgae.serving.service.application import create_app

_CURL = """```sh
# If the service was started with MGAE_TOKEN, every request needs it:
curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8000/info
curl 'http://127.0.0.1:8000/nodes/35/recommendations?k=3'
curl -H 'Content-Type: application/json' http://127.0.0.1:8000/score \\
    -d '{"pairs": [[35, 40], [35, 1365]]}'
curl -H 'Content-Type: application/json' http://127.0.0.1:8000/embed \\
    -d '{"nodes": [{"node": "new", "features": {"age": 31, "town": "Ulm"}}], "edges": [["new", 35]], "k": 5}'
```
"""  # noqa: E501 - as one pastes it


def routes() -> str:
    """Return the routes of the service, from its own OpenAPI description."""
    schema = _openapi()
    lines = [
        "# HTTP API\n",
        "What `mgae serve RUN` answers (extra `serve`), written from its OpenAPI description. A "
        "running service gives it at `/openapi.json` and shows it at `/docs`. How to reach it from "
        "outside, and the token: [use what was learned](../answers.md#look-at-it), [behind a proxy]"
        "(../proxy.md). Errors are `application/problem+json` with a `detail`.\n",
        _CURL,
    ]
    for path, operations in schema["paths"].items():
        for verb, one in operations.items():
            lines += [
                f"## {verb.upper()} {path}\n",
                f"{one['summary']}. {one.get('description', '')}\n",
            ]
            asked = [_asked(parameter) for parameter in one.get("parameters", [])]
            if asked:
                lines += table(("parameter", "in", "what it is"), asked)
            for title, shape in (("Body", one.get("requestBody")), ("Answer", _answer(one))):
                lines += _shape(title, shape, schema)
    lines.append("## What stands inside\n")
    for name, shape in schema["components"]["schemas"].items():
        if not name.startswith("HTTPValidation") and shape.get("properties"):
            lines += [f"### {name}\n", *_fields(shape)]
    return "\n".join(lines)


def _openapi() -> dict[str, Any]:
    nodes = torch.arange(40)
    ring = torch.stack([nodes, nodes.roll(1)])
    data = Data(edge_index=torch.cat([ring, ring.flip(0)], dim=1), num_nodes=40)
    predictor = MGAE(method="common-neighbors").fit(data).predictor()
    schema: dict[str, Any] = create_app(predictor).openapi()
    return schema


def _answer(operation: dict[str, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = operation["responses"]
    return next((one for code, one in responses.items() if code.startswith("2")), {})


def _asked(parameter: dict[str, Any]) -> tuple[str, str, str]:
    schema = parameter["schema"]
    default = f" [default: {schema['default']}]" if "default" in schema else ""
    text = parameter.get("description", schema.get("description", ""))
    return f"`{parameter['name']}`", parameter["in"], f"{text}{default}"


def _shape(title: str, holder: dict[str, Any] | None, schema: dict[str, Any]) -> list[str]:
    content = (holder or {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = content.get("$ref", "").rpartition("/")[2]
    if not name:
        return []
    return [f"{title}: [{name}](#{name.lower()})\n"]


def _fields(shape: dict[str, Any]) -> list[str]:
    fields = shape["properties"].items()
    rows = [(f"`{key}`", _kind(one), one.get("description", "")) for key, one in fields]
    return table(("field", "type", "what it is"), rows)


def _kind(one: dict[str, Any]) -> str:
    if "$ref" in one:
        name = str(one["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in one:
        return " or ".join(_kind(inner) for inner in one["anyOf"])
    if "prefixItems" in one:
        return f"[{', '.join(_kind(inner) for inner in one['prefixItems'])}]"
    if one.get("type") == "array":
        return f"list of {_kind(one.get('items', {}))}"
    return str(one.get("type", "any"))
