"""The help of every command: examples that parse, a way to be quiet, nothing that is cut."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.console import Console

from mgae.cli.app import app, main
from mgae.cli.examples import EXAMPLES
from mgae.cli.printing import print_table, result_table
from mgae.core.errors import hint
from mgae.runs.results import RunResult, SeedResult, heading
from tests.runs.test_pipeline import config

ROOT: Any = typer.main.get_command(app)


def commands(group: Any = ROOT, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{above}{name}", command
        yield from commands(command, f"{name} ") if hasattr(command, "commands") else ()


def test_every_command_has_examples_and_can_be_quiet() -> None:
    names = {name for name, _ in commands()}
    assert names - {"datasets get"} == EXAMPLES.keys()
    for name, command in commands():
        assert any("-q" in option.opts for option in command.params), name
        assert command.epilog or " " in name, name


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_parse(name: str) -> None:
    for example in EXAMPLES[name]:
        program, command, *arguments = shlex.split(example)
        assert (program, command) == ("mgae", name)
        ROOT.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("option", ["-v", "-V", "--version"])
def test_the_version_in_each_way(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([option])
    assert not end.value.code
    assert capsys.readouterr().out.startswith("mgae ")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("gnc", "gcn"), ("sgae", "sage"), ("mgea", "mgae"), ("trian", "train"), ("mga", "mgae")],
)
def test_letters_that_changed_places_are_nearest(typed: str, meant: str) -> None:
    known = ["gin", "gcn", "gat", "sage", "gae", "mgae", "vgae", "train", "trial"]
    assert hint(typed, known) == f" (did you mean {meant}?)"


@pytest.mark.parametrize("width", [50, 60, 76, 200])
def test_no_figure_is_cut_in_a_narrow_terminal(width: int) -> None:
    names = ["auc", "ap", "mrr", "hard_mrr", "hard_hits@10", "recall@10", "known_auc"]
    seeds = [
        SeedResult(seed, dict.fromkeys(names, 91.25 + 7 * seed), {}, {}, 1, 1, 1.0)
        for seed in (0, 1)
    ]
    result = RunResult(config(runs=2, protocol="strict"), tuple(seeds))
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        print_table(console, result_table(result, None))
    text = captured.get()
    assert "…" not in text
    assert text.count("94.75 ± 4.95") == len(result.shown) >= 6
    assert all(heading(name) in text for name in result.shown)
    assert (text.count("mgae gcn") == 1) == (width == 200)
