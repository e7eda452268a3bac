"""Preprocessing: tables of every type read the same, in Python and from files."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import bochner
import homes
from bochner import KernelClassifier, methods
from bochner.data import table_transformer
from bochner.export.archive import FileError
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

    refused(ValueError, r"names 'solt'.*did you mean 'sold'", frame, dates=["solt"])
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


ANSWERS = homes.target()


@pytest.fixture
def files(tmp_path):
    """The table as two CSV files, with the target among its columns."""
    frame = frames()["pandas"].assign(answer=ANSWERS)
    half = len(frame) // 2
    frame[:half].to_csv(tmp_path / "part-0.csv", index=False)
    frame[half:].to_csv(tmp_path / "part-1.csv", index=False)
    return str(tmp_path / "part-*.csv")


def test_pipelines_of_tables_take_streams(files, tmp_path):
    """Fitted, predicted and scored block by block, as on the whole table."""
    stream = bochner.blocks(files, target="answer", frames=True, rows=70)
    columns = for_table(stream, **CODES)
    assert kinds(columns) == homes.KINDS
    features = methods.rff(32, gamma=0.1, random_state=0)  # γ not of the first block
    model = Pipeline(
        [("columns", columns), ("model", learner().set_params(features=features))]
    ).fit(stream)
    rows = pandas.concat([X for X, _ in stream], ignore_index=True)
    y = np.concatenate([y for _, y in stream])
    whole = clone(model).fit(rows, y)
    # the sample is of all rows: only their order differs
    assert_allclose(model[0].transform(rows), whole[0].transform(rows), atol=1e-9)
    assert_allclose(model.predict_proba(stream), model.predict_proba(rows), atol=1e-12)
    assert_allclose(model[-1].coef_, whole[-1].coef_, atol=1e-4)
    assert model.score(stream) == model.score(rows, y) > 0.7
    bochner.save(model, tmp_path / "model.bochner")
    assert bochner.load(tmp_path / "model.bochner").score(stream) == model.score(
        rows, y
    )
    model[0].set_output(transform="pandas")
    assert model.fit(stream).score(stream) == model.score(rows, y)
    again = pickle.loads(pickle.dumps(clone(model).fit(stream)))
    assert again.score(stream) == model.score(rows, y)


def test_tables_of_streams_see_rows_of_all_blocks(monkeypatch):
    """The first block has one category and no number: the others count as much."""
    monkeypatch.setattr(table_transformer, "SAMPLE_ROWS", 60)
    n = 400
    frame = pandas.DataFrame(
        {
            "city": np.repeat(["Ulm", "Bonn", "Kiel", "Jena"], n // 4),
            "rooms": np.where(np.arange(n) < n // 4, np.nan, np.arange(n)),
        }
    )
    stream = bochner.blocks(frame, rows=n // 4)
    columns = for_table(stream)
    assert kinds(columns) == {"city": "categories", "rooms": "numbers"}
    codes = columns.fit(stream)["categories"][-1]
    assert list(codes.categories_[0]) == ["Bonn", "Jena", "Kiel", "Ulm"]
    mean = columns["numbers"][-1].mean_[0]
    # the gaps are filled in with a median near 250: 60 rows tell the mean to
    # 5 standard deviations, each 87 / √60 of the numbers
    assert abs(mean - 250) < 5 * 87 / np.sqrt(60)
    w = np.where(frame["city"] == "Bonn", 0.0, 1.0)
    weighed = bochner.blocks(frame, weight=w, rows=n // 4)
    assert "Bonn" not in columns.fit(weighed)["categories"][-1].categories_[0]


def test_pipelines_of_tables_take_dask_frames():
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    frame = frames()["pandas"].assign(answer=ANSWERS)
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = dd.from_pandas(frame, npartitions=4)
    columns = for_table(lazy, drop=["answer"], **CODES)
    assert kinds(columns) == homes.KINDS
    for output in ("default", "pandas"):
        columns.set_output(transform=output)
        model = Pipeline([("columns", columns), ("model", learner())])
        model.fit(lazy, lazy["answer"])
        whole = clone(model).fit(frame, ANSWERS)
        found = model.predict_proba(lazy).compute()
        assert_allclose(found, whole.predict_proba(frame), atol=1e-4)
        assert model.score(lazy, lazy["answer"]) == whole.score(frame, ANSWERS)
    some = lazy[lazy["rooms"] > 100]  # none
    assert model[0].transform(some).compute().shape == (0, model[-1].n_features_in_)


def test_samples_of_dask_frames_are_small(monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(table_transformer, "SAMPLE_ROWS", 40)
    frame = pandas.DataFrame({"a": np.arange(1000.0), "b": ["x", "y"] * 500})
    rows = table_transformer.rows_in_memory(dd.from_pandas(frame, npartitions=7))
    assert len(rows) == 40 and list(rows.columns) == ["a", "b"]
    assert len(np.unique(rows["a"])) == 40
    assert abs(rows["a"].mean() - 499.5) < 5 * 1000 / np.sqrt(12 * 40)


def test_steps_that_read_all_rows_name_the_way_out(files):
    numbers = {"target": "answer", "columns": ["rooms", "postal code"]}
    stream = bochner.blocks(files, **numbers).transformed(np.nan_to_num)
    scaled = make_pipeline(StandardScaler(), learner())
    way_out = r"KernelRegressor\(features=make_pipeline\(.*for_table.*transformed"
    with pytest.raises(TypeError, match=way_out):
        scaled.fit(stream)
    with pytest.raises(TypeError, match=way_out):
        ColumnTransformer([("numbers", StandardScaler(), [0])]).fit(stream)
    # and the ways out lead somewhere
    rows, y = next(iter(stream))
    scaled.fit(rows, y)
    found = scaled[-1].predict(stream.transformed(scaled[0].transform))
    assert len(found) == len(ANSWERS)
    inside = make_pipeline(StandardScaler(), methods.rff(32, random_state=0))
    model = KernelClassifier(inside, alpha=1.0).fit(stream)
    assert_allclose(model.features_[0].mean_, rows.mean(axis=0))  # of the first block
    assert len(model.predict(stream)) == len(ANSWERS)


@pytest.mark.parametrize("form", ["frame", "stream", "dask"])
def test_text_that_is_not_encoded_is_named(form, files):
    frame = frames()["pandas"][["rooms", "city"]].fillna({"rooms": 3})
    given, y = frame, ANSWERS
    if form == "stream":
        given, y = bochner.blocks(files, target="answer", frames=True), None
    elif form == "dask":
        dd = pytest.importorskip("dask.dataframe")
        given = dd.from_pandas(frame, npartitions=3)
    way_out = r"KernelClassifier: column '.*' of X holds text .*preprocessing.for_table"
    with pytest.raises(ValueError, match=way_out):
        learner().fit(given, y)
    if form == "frame":
        with pytest.raises(ValueError, match=r"RandomFeatures: column 'city' of X"):
            methods.rff(8).fit(frame)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            learner().fit(frame[["rooms"]], ANSWERS[:5])


def test_streams_that_for_table_cannot_take(files):
    arrays = bochner.blocks(files, target="answer", columns=["rooms"])
    with pytest.raises(TypeError, match=r"blocks of this stream are arrays.*frames=Tr"):
        for_table(arrays)
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="Dask array, which has no names"):
        for_table(da.ones((4, 2)))
    stream = bochner.blocks(files, target="answer", frames=True)
    once = bochner.blocks(iter(list(stream)))
    with pytest.raises(ValueError, match="can be walked only once"):
        Pipeline([("columns", for_table(stream)), ("model", learner())]).fit(once)


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
