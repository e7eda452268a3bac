"""Preprocessing: tables of every type read the same, in Python and from files."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import bochner
import homes
from bochner import KernelClassifier, methods
from bochner.persistence import FileError
from bochner.preprocessing import DateParts, Numbers, Texts, for_table, kinds
from forging import changed

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

CODES = {"categories": ["postal code"]}
ZONES = st.integers(-14 * 60, 14 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)
MOMENTS = st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29))


def frames(seed=0):
    """The same table in every type that pandas and polars have for it."""
    cells = homes.columns(seed=seed)
    plain = pandas.DataFrame(cells)
    return {
        "pandas": plain,
        "objects": pandas.DataFrame(cells, dtype=object),
        "nullable": plain.convert_dtypes(),
        "arrow": polars.DataFrame(cells)
        .to_arrow()
        .to_pandas(types_mapper=pandas.ArrowDtype),
        "categorical": plain.astype({"city": "category", "street": "category"}),
        "polars": polars.DataFrame(cells),
    }


def learner():
    return KernelClassifier(methods.rff(32, random_state=0), loss="log", alpha=0.1)


def pipeline(frame):
    return Pipeline([("columns", for_table(frame, **CODES)), ("model", learner())])


def parts(moment):
    hour = moment.hour + (60 * moment.minute + moment.second) / 3600
    return [moment.year, moment.month, moment.day, moment.weekday(), hour]


@given(st.lists(st.none() | MOMENTS, min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_dates_are_those_of_python(moments):
    wanted = [[np.nan] * 5 if one is None else parts(one) for one in moments]
    for cells in (
        moments,
        [None if one is None else one.isoformat() for one in moments],
        np.array(moments, dtype="M8[us]"),
        polars.Series(moments, dtype=polars.Datetime("us")),
        polars.Series(moments, dtype=polars.Datetime("us")).dt.replace_time_zone("UTC"),
    ):
        one = isinstance(cells, polars.Series)
        table = cells.to_frame("when") if one else [[cell] for cell in cells]
        found = DateParts().fit_transform(table)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


@given(MOMENTS, ZONES)
@settings(max_examples=60, deadline=None)
def test_zones_are_converted_to_utc(moment, zone):
    moment = moment.replace(tzinfo=zone)
    wanted = [parts(moment.astimezone(datetime.UTC))]
    for cell in (moment, moment.isoformat()):
        found = DateParts().fit_transform([[cell]])
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_zones_of_columns_are_converted_too():
    times = pandas.to_datetime(["2024-07-01T00:30", None]).tz_localize("Europe/Berlin")
    wanted = [[2024, 6, 30, 6, 22.5], [np.nan] * 5]
    column = pandas.Series(times, name="when")
    arrow = column.astype(pandas.ArrowDtype(pyarrow.timestamp("us", "Europe/Berlin")))
    for one in (column, column.dt.as_unit("s"), arrow, column.astype(object)):
        assert_array_equal(DateParts().fit_transform(one.to_frame()), wanted)


def test_what_counts_as_a_missing_date():
    cells = [None, np.nan, pandas.NaT, pandas.NA, "", " ", np.datetime64("NaT", "D")]
    found = DateParts().fit_transform(np.array(cells, dtype=object)[:, None])
    assert np.isnan(found).all() and found.shape == (7, 5)
    empty = pandas.DataFrame({"a": [np.nan, np.nan], "b": [None, None]})
    assert np.isnan(DateParts().fit_transform(empty)).all()
    nothing = polars.DataFrame({"a": [None, None]})
    assert np.isnan(DateParts().fit_transform(nothing)).all()


def test_what_is_not_a_date_is_named():
    numbers = pandas.DataFrame({"when": ["2024-01-01"], "count": [20240101]})
    with pytest.raises(ValueError, match=r"column 'count' holds numbers \(int64\)"):
        DateParts().fit_transform(numbers)
    for cell in ("soon", "2024-02-30", 7, 1.5, True, "0001-01-01T00:00+01:00"):
        table = np.array([["2024-01-01"], [cell]], dtype=object)
        with pytest.raises(ValueError, match=r"DateParts: column 'x0', row 2 .*holds"):
            DateParts().fit_transform(table)
    with pytest.raises(ValueError, match=r"2-d array; got an array of shape \(1,\)"):
        DateParts().fit(["2024-01-01"])


def test_readers_keep_the_conventions_of_scikit_learn():
    frame = frames()["pandas"]
    for reader, names in (
        (DateParts(), ["sold", "built"]),
        (Texts(), ["city", "postal code"]),
        (Numbers(), ["rooms", "garden"]),
    ):
        with pytest.raises(NotFittedError):
            reader.transform(frame[names])
        with pytest.raises(NotFittedError):
            reader.get_feature_names_out()
        found = reader.fit(frame[names]).transform(frame[names])
        assert reader.n_features_in_ == 2
        assert reader.feature_names_in_.tolist() == names
        assert found.shape[1] == len(reader.get_feature_names_out())
        again = pickle.loads(pickle.dumps(reader)).transform(frame[names])
        assert_array_equal(again, found)
        with pytest.raises(NotFittedError):
            clone(reader).transform(frame[names])
        with pytest.raises(ValueError, match="feature names"):
            reader.transform(frame[names[::-1]])
        array = frame[names].to_numpy(dtype=object)
        nameless = clone(reader).fit(array)
        assert_array_equal(nameless.transform(array), found)
        with pytest.raises(ValueError, match="1 features"):
            nameless.transform(array[:, :1])
        for library in (pandas, polars):
            reader.set_output(transform=library.__name__)
            told = reader.transform(frame[names])
            assert isinstance(told, library.DataFrame)
            assert list(told.columns) == list(reader.get_feature_names_out())
    assert DateParts().fit(frame[["sold"]]).get_feature_names_out().tolist() == [
        *("sold_year", "sold_month", "sold_day", "sold_weekday", "sold_hour")
    ]


def test_text_is_the_same_whatever_came():
    cells = [1, 1.0, np.float32(1), np.int8(1), Decimal("1.0"), "1", np.str_("1"), -0.0]
    cells += [True, np.True_, 0.1, np.float32(0.1), Decimal("0.10"), np.inf, 2**60 + 1]
    cells += [None, np.nan, pandas.NA, pandas.NaT, float("nan"), Decimal("nan"), "é"]
    found = Texts().fit_transform(np.array(cells, dtype=object)[:, None]).ravel()
    assert found.tolist() == [
        *(["1"] * 7), "0", "True", "True", "0.1", "0.1", "0.1", "inf",
        *(str(2**60 + 1), *[""] * 6, "é"),
    ]  # fmt: skip
    assert {type(cell) for cell in found} == {str}
    large = [2**60 + 1, None, 2]
    for column in (
        pandas.DataFrame({"a": pandas.array(large, dtype="Int64")}),
        pandas.DataFrame({"a": pandas.array(large, dtype="int64[pyarrow]")}),
        polars.DataFrame({"a": large}),
    ):
        assert Texts().fit_transform(column).ravel().tolist() == [
            str(2**60 + 1),
            "",
            "2",
        ]
    floats = pandas.DataFrame({"a": [1.0, np.nan, 2.5]})
    assert Texts().fit_transform(floats).ravel().tolist() == ["1", "", "2.5"]


def test_numbers_in_any_form():
    cells = [1, True, None, pandas.NA, "2.5", "", Decimal("3.5"), np.nan, np.float32(4)]
    found = Numbers().fit_transform(np.array(cells, dtype=object)[:, None]).ravel()
    nan = np.nan
    assert_array_equal(found, [1, 1, nan, nan, 2.5, nan, 3.5, nan, 4])
    with pytest.raises(ValueError, match=r"Numbers: column 'a', row 2 .* holds 'ten'"):
        Numbers().fit_transform(pandas.DataFrame({"a": ["1", "ten"]}))


def test_every_type_of_table_gives_the_same_numbers():
    found = {}
    for name, frame in frames().items():
        columns = for_table(frame, **CODES)
        assert kinds(columns) == homes.KINDS, name
        found[name] = columns.fit_transform(frame)
        assert found[name].dtype == np.float64 and np.isfinite(found[name]).all()
        assert_array_equal(found[name], found["pandas"], err_msg=name)
        assert kinds(columns) == homes.KINDS
    names = columns.get_feature_names_out().tolist()
    assert names[:4] == list(homes.KINDS)[:4]
    assert "city_東京" in names and "city_" in names and "postal code_1000" in names
    assert len([name for name in names if name.startswith("street_")]) == 64
    assert names[-1] == "built_hour"


def test_later_tables_may_differ():
    for name, frame in frames().items():
        model = pipeline(frame).fit(frame, homes.target())
        wanted = model.decision_function(frame)
        order = list(frame.columns)[::-1]
        if name == "polars":
            more = frame.with_columns(polars.lit("?").alias("more"))
        else:
            more = frame.assign(more="?")
        assert_array_equal(model.decision_function(more[["more", *order]]), wanted)
        with pytest.raises(ValueError, match=r"columns are missing: .*city"):
            model.predict(frame[[name for name in order if name != "city"]])
    # columns change their types where nothing, or everything, is missing
    empty = pandas.DataFrame({name: [None] for name in frame.columns}, dtype=object)
    full = frames()["pandas"].dropna(subset=list(homes.KINDS)).convert_dtypes()
    assert np.isfinite(model.decision_function(empty)).all()
    assert len(model.predict(full)) == len(full)


def test_categories_never_seen_count_as_rare_ones_without_a_warning():
    frame = frames()["pandas"]
    columns = for_table(frame, **CODES).fit(frame)
    names = columns.get_feature_names_out().tolist()
    new = columns.transform(frame.assign(street="nowhere", city="Rom"))
    assert new[:, names.index("street_infrequent_sklearn")].all()
    assert not new[:, [name.startswith("city_") for name in names]].any()


def test_kinds_can_be_told():
    frame = frames()["pandas"].assign(day="2024-02-29", size="12.5")
    told = {"dates": ["day"], "numbers": ("size", "renovated"), "drop": "street"}
    found = kinds(for_table(frame, **told, categories=iter(["garden"])))
    assert found["day"] == "dates" and found["size"] == "numbers"
    assert found["garden"] == "categories" and found["renovated"] == "numbers"
    assert "street" not in found and found["postal code"] == "numbers"
    columns = for_table(frame, **told)
    assert np.isfinite(columns.fit_transform(frame)).all()
    for other in (StandardScaler(), ColumnTransformer([("numbers", "drop", ["a"])])):
        assert kinds(other) == {}


def test_what_for_table_cannot_take_is_named():
    frame = frames()["pandas"]

    def refused(error, match, *args, **options):
        with pytest.raises(error, match=match):
            for_table(*args, **options)

    refused(ValueError, r"dates names 'solt'.*perhaps 'sold'", frame, dates=["solt"])
    refused(
        ValueError, r"drop names 'zzz', and there is no .* column;", frame, drop="zzz"
    )
    both = {"numbers": ["rooms"], "drop": ["rooms"]}
    refused(ValueError, "'rooms' is in both numbers and drop", frame, **both)
    refused(TypeError, "must be a DataFrame .* got ndarray", np.ones((2, 2)))
    refused(TypeError, "got LazyFrame", polars.DataFrame({"a": [1]}).lazy())
    refused(ValueError, "name 0 is not text", pandas.DataFrame(np.ones((2, 2))))
    twice = pandas.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    refused(ValueError, "'a' is there twice", twice)
    refused(ValueError, "none of the 1 columns", pandas.DataFrame({"a": [None]}))
    for odd in ([1, 2], b"x", 1j, datetime.timedelta(1), {"a": 1}):
        table = pandas.DataFrame({"a": pandas.Series([None, odd], dtype=object)})
        refused(ValueError, r"column 'a' holds .* drop=\['a'\]", table)
    refused(ValueError, "column 'a'", pandas.DataFrame({"a": [pandas.Timedelta(1)]}))
    refused(ValueError, "column 'a'", polars.DataFrame({"a": [[1, 2]]}))


def test_folds_without_a_value_do_not_matter():
    frame = frames()["pandas"]
    frame["renovated"] = [2001.0] + [np.nan] * (len(frame) - 1)
    model = pipeline(frame)
    scores = cross_val_score(model, frame, homes.target(), cv=3, error_score="raise")
    assert np.isfinite(scores).all()  # and no warning, which would be an error
    rest = model.fit(frame[1:], homes.target()[1:])
    widths = [len(rest[0].get_feature_names_out()), rest[0].transform(frame).shape[1]]
    assert widths == [rest[-1].n_features_in_] * 2


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_saved_pipelines_predict_the_same_bits(output, tmp_path):
    path = tmp_path / "homes.bochner"
    every = frames()
    chosen = every if output == "default" else ("objects", "polars")
    for name in chosen:
        frame = every[name]
        model = pipeline(frame)
        model[:-1].set_output(transform=output)
        model.fit(frame, homes.target())
        bochner.save(model, path)
        again = bochner.load(path)
        for rows in (frame, frames(seed=1)[name]):
            wanted = model.predict_proba(rows)
            assert_array_equal(again.predict_proba(rows), wanted, err_msg=name)
        assert kinds(again[0]) == homes.KINDS
        names = model[0].get_feature_names_out()
        assert_array_equal(again[0].get_feature_names_out(), names)
        again.fit(frame, homes.target())
        assert_array_equal(again.predict(frame), model.predict(frame))


def test_readers_are_saved_by_themselves(tmp_path):
    frame = frames()["pandas"][["sold", "built"]]
    for reader in (DateParts(), Texts()):
        bochner.save(reader.fit(frame), tmp_path / "a.bochner")
        again = bochner.load(tmp_path / "a.bochner")
        assert type(again) is type(reader)
        assert_array_equal(again.transform(frame), reader.transform(frame))
        assert_array_equal(again.feature_names_in_, ["sold", "built"])


def test_forged_readers_are_refused(tmp_path):
    held, forged = tmp_path / "a.bochner", tmp_path / "b.bochner"
    bochner.save(DateParts().fit([["2024-01-01"]]), held)
    for name in ("transform", "parts", "_read"):
        changed(held, forged, edit=lambda model, n=name: model["state"].update({n: 1}))
        with pytest.raises(FileError, match=f"DateParts has no '{name}'"):
            bochner.load(forged)
