"""Pages that are written from the code: command line, settings, examples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from scripts.docsite.tables import table

from mgae.cli.app import app
from mgae.registry import METHODS, PARTS
from mgae.runs.reference import Setting, all_settings

ROOT = Path(__file__).parents[2]


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
    return [*lines, *table(("", "", "what it does"), rows)]


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
        lines += table(("setting", "default", "allowed", "what it does"), rows)
    lines.append("## Names of parts and methods\n")
    for registry in (METHODS, *PARTS.values()):
        lines.append(f"### {registry.what}\n")
        lines += table(("name", "what it is"), [(f"`{one.name}`", one.summary) for one in registry])
    return "\n".join(lines)


def _setting(one: Setting) -> tuple[str, str, str, str]:
    of = f" ({', '.join(one.kinds)})" if one.kinds else ""
    return f"`{one.name}`{of}", one.default, one.allowed, one.help


def examples() -> str:
    """Return the example scripts with their first lines as titles."""
    lines = ["# Examples\n", "Short scripts in `examples/`, each run by the tests.\n"]
    for path in sorted((ROOT / "examples").glob("[a-z]*.py")):
        source = path.read_text(encoding="utf-8")
        title, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
        body = re.sub(r'\A""".*?"""\n+(from __future__[^\n]*\n+)?', "", source, flags=re.DOTALL)
        lines += [f"## {path.name}\n", f"{title}\n{rest}\n", f"```python\n{body}```\n"]
    return "\n".join(lines)


def _prose(text: str | None) -> str:
    return (text or "").replace("\\[", "[").replace("\b", "").strip()
