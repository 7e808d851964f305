"""Pages that are written from the code: command line, settings, HTTP routes, examples."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
import typer
from torch_geometric.data import Data

from mgae import MGAE
from mgae.cli.app import app
from mgae.registry import METHODS, PARTS
from mgae.runs.reference import Setting, all_settings
from mgae.serving.service.application import create_app

ROOT = Path(__file__).parents[2]
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


def command_line() -> str:
    """Return every command with its arguments and options."""
    root: Any = typer.main.get_command(app)
    lines = [
        "# Command line\n",
        "As `mgae COMMAND --help` has it; this page is written from the same source. A problem "
        "that you can solve is one line on stderr and exit code 2. `--set` takes any of the "
        "[settings](settings.md).\n",
    ]
    for panel, commands in groupby(root.commands.values(), lambda one: one.rich_help_panel):
        lines.append(f"## {panel}\n")
        for command in commands:
            for name, one in _leaves(command.name, command):
                lines += _command(name, one)
    return "\n".join(lines)


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if getattr(command, "invoke_without_command", True):
        yield name, command
    for inner in getattr(command, "commands", {}).values():
        yield from _leaves(f"{name} {inner.name}", inner)


def _command(name: str, command: Any) -> list[str]:
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    usage = " ".join(_argument(one) for one in arguments)
    rows = [_parameter(one) for one in shown if one.name != "help"]
    lines = [
        f"### mgae {name}\n",
        f"{_prose(command.help)}\n",
        f"    mgae {name} [OPTIONS] {usage}\n",
    ]
    return [*lines, *_table(("", "", "what it does"), rows)]


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    name += "..." if parameter.nargs != 1 else ""
    return name if parameter.required else f"[{name}]"


def _parameter(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`", "", _prose(parameter.help)
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    help_text, default = _prose(parameter.help), parameter.default
    if (
        "default:" not in help_text
        and default not in (None, False, (), [])
        and not callable(default)
    ):
        help_text += f" [default: {default}]"
    kind = parameter.type_descriptor.annotation
    value = "" if parameter.is_flag else parameter.metavar or getattr(kind, "__name__", str(kind))
    return names, f"`{value}`" if value else "", help_text


def settings() -> str:
    """Return every setting of a configuration, section by section."""
    lines = [
        "# Settings\n",
        "What `config.toml`, `--set SECTION.NAME=VALUE` and `mgae.RunConfig` take; `mgae settings` "
        "prints the same, `mgae settings --schema` the JSON schema. Methods and presets have "
        "defaults of their own: those of a run stand in its `config.toml`.\n",
    ]
    for section, listed in groupby(all_settings(), lambda one: one.section):
        lines.append(f"## {section}\n")
        if section == "run":
            lines.append("In no section: `--set runs=3`, or at the top of the file.\n")
        rows = [_setting(one) for one in listed]
        lines += _table(("setting", "default", "allowed", "what it does"), rows)
    lines.append("## Names of parts and methods\n")
    for registry in (METHODS, *PARTS.values()):
        lines.append(f"### {registry.what}\n")
        lines += _table(
            ("name", "what it is"), [(f"`{one.name}`", one.summary) for one in registry]
        )
    return "\n".join(lines)


def _setting(one: Setting) -> tuple[str, str, str, str]:
    of = f" ({', '.join(one.kinds)})" if one.kinds else ""
    return f"`{one.name}`{of}", one.default, one.allowed, one.help


def http() -> str:
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
                lines += _table(("parameter", "in", "what it is"), asked)
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
    return _table(("field", "type", "what it is"), rows)


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


def examples() -> str:
    """Return the example scripts with their first lines as titles."""
    lines = ["# Examples\n", "Short scripts in `examples/`, each run by the tests.\n"]
    for path in sorted((ROOT / "examples").glob("[a-z]*.py")):
        source = path.read_text(encoding="utf-8")
        title, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
        body = re.sub(r'\A""".*?"""\n+(from __future__[^\n]*\n+)?', "", source, flags=re.DOTALL)
        lines += [f"## {path.name}\n", f"{title}\n{rest}\n", f"```python\n{body}```\n"]
    return "\n".join(lines)


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [_row(titles), _row(("---",) * len(titles)), *map(_row, rows)]
    return ["\n".join(lines) + "\n"]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _prose(text: str | None) -> str:
    return (text or "").replace("\\[", "[").replace("\b", "").strip()


PAGES: dict[str, Callable[[], str]] = {
    "reference/command-line.md": command_line,
    "reference/settings.md": settings,
    "reference/http.md": http,
    "examples.md": examples,
}
