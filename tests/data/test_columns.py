"""Each kind of column, by hand; then what holds for all of them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import QuantileTransformer, RobustScaler

from mgae.cli.app import main
from mgae.data.columns.base import ColumnEncoder, from_plain, to_plain
from mgae.data.columns.choosing import KINDS, choose_encoder
from mgae.data.columns.numbers import Number, usual_scale

RNG = np.random.default_rng(0)


def fitted(values: object, choice: str = "auto", kind: pa.DataType | None = None) -> ColumnEncoder:
    return choose_encoder("f", pa.chunked_array([pa.array(values, kind)]), choice)


def encoded(encoder: ColumnEncoder, values: object, kind: pa.DataType | None = None) -> np.ndarray:
    return encoder.values(pa.chunked_array([pa.array(values, kind)]))


def test_a_number_is_scaled_by_median_and_spread() -> None:
    encoder = fitted([10.0, 20.0, 30.0, 40.0, 50.0])
    spread = 20 / 1.3489795  # of the quartiles, to that of a normal distribution
    expected = (np.array([0.0, 30.0, 50.0]) - 30) / spread
    np.testing.assert_allclose(encoded(encoder, [0.0, 30.0, 50.0])[:, 0], expected, rtol=1e-5)
    # What a new node brings is cut off, so that it cannot drown the rest.
    assert encoded(encoder, [1e12])[0, 0] == 6


def test_a_heavy_tail_goes_by_quantiles() -> None:
    incomes = np.exp(RNG.normal(10, 1.5, 400))
    encoder = fitted(incomes)
    assert isinstance(encoder, Number) and encoder.scale == "quantile"
    values = encoded(encoder, incomes)[:, 0]
    assert abs(values.mean()) < 0.01 and abs(values.std() - 1) < 0.01
    assert np.abs(values).max() <= np.sqrt(3) + 1e-6
    assert (np.argsort(values) == np.argsort(incomes)).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=60, unique=True), st.data())
def test_scalers_agree_with_scikit_learn(numbers: list[float], data: st.DataObject) -> None:
    new = data.draw(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9))
    column, fresh = np.array(numbers)[:, None], np.array(new)[:, None]
    quantile = QuantileTransformer(n_quantiles=min(200, len(numbers)), random_state=0).fit(column)
    ours = fitted(numbers, "quantile")
    expected = (quantile.transform(fresh) - 0.5) * np.sqrt(12)
    np.testing.assert_allclose(encoded(ours, new), expected, atol=1e-5)
    robust = RobustScaler(unit_variance=True).fit(column)
    expected = np.clip(robust.transform(fresh), -6, 6)
    np.testing.assert_allclose(encoded(fitted(numbers, "robust"), new), expected, atol=1e-5)


def test_zeros_and_ones_and_mostly_zeros_keep_their_zeros() -> None:
    assert encoded(fitted([0, 1, 1, 0]), [1, 0]).tolist() == [[1], [0]]
    counts = fitted([0, 0, 0, 0, 2, 6])
    # 4 is the median of what is not zero: log2(1 + 4/4) = 1.
    np.testing.assert_allclose(encoded(counts, [0, 4, -4, 12])[:, 0], [0, 1, -1, 2], rtol=1e-6)


def test_missing_numbers_stand_in_the_middle_and_are_marked() -> None:
    encoder = fitted([1.0, 2.0, None, 3.0])
    assert encoder.names == ("f", "f (missing)")
    assert encoded(encoder, [2.0, None]).tolist() == [[0, 0], [0, 1]]


def test_mixed_cells_are_numbers_if_nearly_all_are() -> None:
    texts = [*(str(k) for k in range(3, 40)), "$ 1,200.50", "12 %", "unknown"]
    encoder = fitted(texts)
    assert isinstance(encoder, Number) and "of these 1 no numbers: unknown" in encoder.what
    assert encoded(encoder, ["1,200.50"])[0, 0] == encoded(encoder, [1200.5])[0, 0]


def test_a_decimal_comma_is_one_in_every_cell_and_in_those_of_new_nodes() -> None:
    encoder = fitted([*(f"{k},5" for k in range(30)), "1.418,64", "2.500", "1,200"])
    assert isinstance(encoder, Number) and encoder.what.endswith("; with a decimal comma")
    facts, arrays = to_plain(encoder)
    again = from_plain(KINDS, json.loads(json.dumps(facts)), arrays)
    assert again.reads_text  # so that a file with 1.500 alone is not read as 1.5
    cells = ["1.418,64", "1.500", "1,200"]
    np.testing.assert_array_equal(encoded(again, cells), encoded(encoder, [1418.64, 1500.0, 1.2]))


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["3/4/2024", "5/6/2024"], "; day/month/year, as far as one can tell"),
        (["3/14/2024", "5/6/2024"], "in the week"),
        (["3/4/24", "15/6/24"], "in the week"),
    ],
)
def test_day_and_month_that_might_change_places_are_said(texts: list[str], what: str) -> None:
    encoder = fitted(texts)
    assert encoder.kind == "date" and encoder.what.endswith(what)


@pytest.mark.parametrize(
    "dates",
    [
        [datetime.date(2020, 1, 1), datetime.date(2024, 7, 1), datetime.date(2022, 2, 3)],
        ["2020-01-01", "2024-07-01", "2022-02-03"],
        ["01.01.2020", "01.07.2024", "03.02.2022"],
        ["1/1/2020 1:00 AM", "7/1/2024 3:04 PM", "2/13/2022 9:59 PM"],
        ["01-Jan-20", "01-Jul-24", "03-Feb-22"],
    ],
)
def test_dates_are_days_and_cycles(dates: list[object]) -> None:
    encoder = fitted(dates)
    assert encoder.names[1:3] == ("f (sin of the year)", "f (cos of the year)")
    new_year = encoded(encoder, dates)[0]
    assert abs(new_year[1]) < 0.02 and new_year[2] > 0.99
    assert np.argmax(encoded(encoder, dates)[:, 0]) == 1


def test_texts_with_the_same_words_are_near_and_others_are_not() -> None:
    colors, sizes = ("red green blue", "large small tiny")
    texts = [
        f"{RNG.choice(colors.split())} and {RNG.choice(colors.split())} n{k}" for k in range(40)
    ]
    texts += [f"{RNG.choice(sizes.split())} or {RNG.choice(sizes.split())} m{k}" for k in range(40)]
    encoder = fitted(texts)
    assert encoder.kind == "text" and len(encoder.names) <= 32
    one, same, other = encoded(encoder, ["red and blue", "blue and red", "tiny or large"])
    assert one @ same > 0.9 * (one @ one) and abs(one @ other) < 0.1 * (one @ one)
    assert encoded(encoder, ["nothing"]).any() == False  # noqa: E712
    # All texts together vary as much as one scaled number.
    assert encoded(encoder, texts).var(axis=0).sum() == pytest.approx(1, abs=0.01)


def test_many_values_are_hashed_and_the_same_again() -> None:
    values = [f"town {RNG.integers(150)}" for _ in range(600)]
    encoder = fitted(values)
    assert encoder.kind == "hash" and encoded(encoder, values).shape == (600, 64)
    assert (encoded(encoder, values[:5]) == encoded(encoder, values)[:5]).all()
    assert not encoded(encoder, [None], pa.string()).any()


WHAT = {
    "constant": ([7] * 30, "left out: it is always 7"),
    "one word": (["x"] * 30, "left out: it is always x"),
    "numbering": (list(range(100, 130)), "look like an id by another name"),
    "codes": ([f"k{n:03d}x" for n in range(30)], "look like an id by another name"),
    "empty": ([None] * 30, "left out: it is empty"),
}


@pytest.mark.parametrize("case", WHAT)
def test_what_says_nothing_is_left_out_with_the_reason(case: str) -> None:
    values, reason = WHAT[case]
    encoder = fitted(values)
    assert encoder.names == () and reason in encoder.what


@pytest.mark.parametrize("choice", ["robust", "category", "hash", "text", "none"])
def test_a_choice_of_the_user_wins(choice: str) -> None:
    encoder = fitted([str(n) for n in range(30)], choice)
    assert encoder.names and encoder.kind == ("number" if choice in ("robust", "none") else choice)


def test_a_choice_that_does_not_fit_is_refused() -> None:
    for choice, reason in {"date": "holds no dates", "quantile": "holds no numbers"}.items():
        with pytest.raises(ValueError, match=reason):
            fitted(["ann", "bob"], choice)


cells = st.one_of(
    st.lists(st.floats(-1e30, 1e30) | st.none(), min_size=1, max_size=40),
    st.lists(st.text(max_size=12) | st.none(), min_size=1, max_size=40),
    st.lists(st.booleans() | st.none(), min_size=1, max_size=40),
    st.lists(st.datetimes(datetime.datetime(1900, 1, 1)) | st.none(), min_size=1, max_size=40),
)


@settings(max_examples=60, deadline=None)
@given(values=cells)
def test_any_column_becomes_finite_numbers_also_after_it_was_stored(values: list[object]) -> None:
    encoder = fitted(values)
    first = encoded(encoder, values)
    assert first.shape == (len(values), len(encoder.names)) and np.isfinite(first).all()
    facts, arrays = to_plain(encoder)
    again = from_plain(KINDS, json.loads(json.dumps(facts)), arrays)
    np.testing.assert_array_equal(encoded(again, values), first)
    assert again.names == encoder.names


def test_the_usual_scale() -> None:
    assert usual_scale(np.array([0.0, 1, 1])) == "none"
    assert usual_scale(np.array([0.0, 0, 0, 5])) == "sparse"
    assert usual_scale(RNG.normal(50, 10, 300)) == "robust"
    assert usual_scale(np.array([1.0, 2, 3, 4, 5, 1e9])) == "quantile"
    assert usual_scale(np.array([1.0, 1, 1, 1, 2])) == "quantile"


ODD = {
    "joined": "a date, as a number of days",
    "revenue": "a number with a heavy tail, by its quantile",
    "version": "left out: it is always 3",
    "code": "left out: 60 different values in 60 rows look like an id by another name",
    "remark": "text, the TF-IDF of",
    "score": "of these 2 no numbers: unknown, n.a.",
    "active": "zeros and ones, as they are",
    "empty": "left out: it is empty",
}


def test_inspect_has_a_line_for_each_odd_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    words = ["late", "early", "often", "never", "calls", "mails", "buys", "returns", "pays", "asks"]
    rows = []
    for k in range(60):
        day = datetime.date(2015, 1, 1) + datetime.timedelta(int(rng.integers(3000)))
        odd = {3: "unknown", 9: "n.a."}.get(k, f"{rng.normal(5, 2):.2f}")
        remark = " ".join(rng.choice(words, 5))
        cells = [
            f"n{k}",
            f"{day:%d.%m.%Y}",
            f"{np.exp(rng.normal(20, 4)):.0f}",
            "3",
            f"c-{k:04d}-q",
        ]
        rows.append(",".join([*cells, remark, odd, str(rng.random() < 0.5), ""]))
    header = ",".join(["id", *ODD])
    (tmp_path / "nodes.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    edges = "\n".join(["source,target", *(f"n{k},n{(k * 7 + 1) % 60}" for k in range(60))])
    (tmp_path / "edges.csv").write_text(edges, encoding="utf-8")
    command = ["inspect", f"{tmp_path}/edges.csv", "--features", f"{tmp_path}/nodes.csv"]
    with pytest.raises(SystemExit, match="0"):
        main(command)
    lines = capsys.readouterr().out.splitlines()
    for name, became in ODD.items():
        (line,) = [line for line in lines if line.startswith(f"  column {name}")]
        assert became in line
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--json", "--set", "features.columns.code=hash"])
    inspected = json.loads(capsys.readouterr().out)
    became = {one["column"]: one["became"] for one in inspected["columns"]}
    assert became["code"] == "a category of 60 values, hashed into 64 columns"
