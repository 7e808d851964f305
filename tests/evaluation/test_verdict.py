"""The sentence for each case, from figures given by hand."""

from __future__ import annotations

import pytest

from mgae.evaluation.bootstrap import Difference
from mgae.evaluation.certainty import Certainty
from mgae.evaluation.verdict import Standing, Verdict, judge


def apart(mean: float, low: float, high: float) -> Difference:
    return Difference(mean, low, high, (high - low) / 4)


def verdict(
    *,
    ours: float = 81.0,
    interval: tuple[float, float] = (78.0, 84.0),
    differences: dict[str, Difference] | None = None,
    units: int = 500,
    auc: tuple[float, Difference] | None = None,
) -> Verdict:
    """Judge recall@10 beside heuristics that ours differs from as given."""
    differences = differences or {}
    figures = {name: {"recall@10": ours - one.mean} for name, one in differences.items()}
    measured, intervals = {"recall@10": ours}, {"recall@10": interval}
    by_metric = {name: {"recall@10": one} for name, one in differences.items()}
    if auc is not None:
        measured["auc"], intervals["auc"] = auc[0], (auc[0] - 2, auc[0] + 2)
        for name in differences:
            figures[name]["auc"] = auc[0] - auc[1].mean
            by_metric[name]["auc"] = auc[1]
    chance = {"recall@10": 1.0, "auc": 50.0}
    certainty = Certainty(intervals, {}, by_metric, chance, units)
    return judge(Standing(measured, figures, certainty), "recall@10")


def test_better_than_every_heuristic() -> None:
    result = verdict(
        differences={
            "personalized-pagerank": apart(8, 5, 11),
            "common-neighbors": apart(20, 16, 24),
        }
    )
    assert (result.kind, result.heuristic, result.is_bad) == (
        "better",
        "personalized-pagerank",
        False,
    )
    assert result.text == (
        "beats every heuristic: recall@10 81.0 against 73.0 (personalized PageRank), "
        "difference +8.0 (95%: +5.0 to +11.0)"
    )


def test_worse_than_one_is_not_worth_it() -> None:
    result = verdict(differences={"l3": apart(-3, -4, -2), "katz": apart(9, 8, 10)})
    assert (result.kind, result.heuristic, result.is_bad) == ("worse", "l3", True)
    assert result.text == (
        "not worth it here: use L3 (recall@10 84.0 against our 81.0), "
        "difference −3.0 (95%: −4.0 to −2.0)"
    )


def test_level_is_said_of_the_one_that_is_not_beaten() -> None:
    """The best on average is beaten for sure; another is not, by its wider interval."""
    result = verdict(differences={"l3": apart(1, 0.5, 1.5), "katz": apart(2, -1, 5)})
    assert (result.kind, result.heuristic) == ("level", "katz")
    assert "level with Katz: recall@10 81.0 against 79.0" in result.text
    assert result.text.endswith("the difference is within chance")


@pytest.mark.parametrize(("auc", "kind"), [(51.0, "chance"), (60.0, "better")])
def test_chance_is_said_only_if_the_auc_tells_nothing_either(auc: float, kind: str) -> None:
    result = verdict(
        ours=1.2,
        interval=(0.5, 2.0),
        differences={"l3": apart(0.9, 0.1, 1.8)},
        auc=(auc, apart(0.5, 0.1, 1)),
    )
    assert result.kind == kind
    if kind == "chance":
        assert result.is_bad
        assert result.text == (
            "no better than chance: do not use these scores; recall@10 1.2 (95%: 0.5 to 2.0) "
            "against 1.0 by guessing"
        )


def test_chance_names_a_heuristic_that_is_better() -> None:
    result = verdict(ours=1.2, interval=(0.5, 2.0), differences={"l3": apart(-30, -35, -25)})
    assert result.text.endswith(", L3 has 31.2")


def test_too_few_edges_tell_nothing() -> None:
    result = verdict(units=19, differences={"l3": apart(30, 20, 40)})
    assert (result.kind, result.is_bad) == ("unclear", False)
    assert result.text == "too few to tell: 19 held-out edges, recall@10 81.0 against 51.0 (L3)"


def test_without_a_heuristic_nothing_is_claimed() -> None:
    result = verdict()
    assert (result.kind, result.heuristic) == ("alone", None)
    assert "no heuristic was measured beside it" in result.text


def test_another_metric_that_tells_otherwise_is_named() -> None:
    better = verdict(differences={"l3": apart(8, 5, 11)}, auc=(90.0, apart(-4, -5, -3)))
    assert better.text.endswith("; by auc it is worse, 90.0 against 94.0 (L3)")
    worse = verdict(differences={"l3": apart(-8, -11, -5)}, auc=(90.0, apart(4, 3, 5)))
    assert worse.text.endswith("; by auc it is better, 90.0 against 86.0 (L3)")
    both = verdict(differences={"l3": apart(-8, -11, -5)}, auc=(90.0, apart(-4, -5, -3)))
    assert "auc" not in both.text
