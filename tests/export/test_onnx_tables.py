"""ONNX of tables: one input per column, and what the model says of the same cells."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

import bochner
import homes
from bochner import KernelClassifier, KernelRegressor, methods
from bochner.preprocessing import DateParts, Numbers, Texts, for_table

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

NAT = np.iinfo(np.int64).min
FIRST = int(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC).timestamp())
LAST = int(datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC).timestamp())
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}


def exported(model, path, **options):
    bochner.onnx.export(model, path, **options)
    onnx.checker.check_model(str(path), full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def feed(session, frame):
    """Inputs as a server would make them."""
    found = {}
    for one in session.get_inputs():
        assert one.shape == ["n", 1]
        cells = [[None if pandas.isna(c) else c] for c in frame[one.name].to_list()]
        if one.type == "tensor(string)":
            found[one.name] = Texts().fit_transform(cells)
        elif one.type == "tensor(int64)":
            moments = [[None if c is None else np.datetime64(c, "s")] for [c] in cells]
            found[one.name] = np.array(moments, dtype="M8[s]").astype(np.int64)
        else:
            numbers = Numbers().fit_transform(cells)
            found[one.name] = numbers.astype(FLOATS[one.type])
    return found


def run(session, frame):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed(session, frame)), strict=True))


def learner(**options):
    features = methods.rff(32, random_state=0)
    return KernelClassifier(features, loss="log", alpha=0.1, **options)


def pipeline(frame):
    columns = for_table(frame, categories=["postal code"])
    return Pipeline([("columns", columns), ("model", learner())])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_graph_of_a_table_says_what_the_model_says(library, dtype, tmp_path):
    made = {"pandas": pandas, "polars": polars}[library].DataFrame
    frame = made(homes.columns())
    model = pipeline(frame).fit(frame, homes.target())
    session = exported(model, tmp_path / "a.onnx", dtype=dtype)
    other = made(homes.columns(seed=1) | {"city": ["never seen"] * 160})
    gone = made({name: [None] for name in homes.columns()})
    bound = {"float32": 1e-5, "float64": 1e-9}[dtype]
    for rows in (frame, other, frame[:1], gone):
        found = run(session, rows)
        scores = model.decision_function(rows)
        sure = np.abs(scores) > bound
        assert_array_equal(found["label"][sure], model.predict(rows)[sure])
        assert_allclose(found["scores"], scores, atol=bound)
        assert_allclose(found["probabilities"], model.predict_proba(rows), atol=bound)
        if dtype == "float64":
            assert sure.all()


def test_what_the_file_says_of_columns(tmp_path):
    frame = pandas.DataFrame(homes.columns())
    model = pipeline(frame).fit(frame, homes.target())
    session = exported(model, tmp_path / "a.onnx")
    types = {"numbers": "double", "categories": "string", "dates": "int64"}
    found = {one.name: one.type for one in session.get_inputs()}
    assert found == {n: f"tensor({types[k]})" for n, k in homes.KINDS.items()}
    made = onnx.load(tmp_path / "a.onnx")
    opsets = {one.domain: one.version for one in made.opset_import}
    assert opsets == {"": 18, "ai.onnx.ml": 3}
    told = {one.key: one.value for one in made.metadata_props}
    assert json.loads(told["bochner.columns"]) == list(frame.columns)
    kinds = json.loads(told["bochner.kinds"])
    assert kinds == {n: k.replace("categories", "text") for n, k in homes.KINDS.items()}


def test_all_numbers_stay_one_tensor(tmp_path):
    frame = pandas.DataFrame(homes.columns())[["rooms", "garden", "living area (m²)"]]
    model = make_pipeline(for_table(frame), learner()).fit(frame, homes.target())
    session = exported(model, tmp_path / "a.onnx")
    X = frame.to_numpy(dtype=np.float64)
    [scores] = session.run(["scores"], {"X": X})
    assert_allclose(scores, model.decision_function(frame), atol=1e-12)
    made = onnx.load(tmp_path / "a.onnx")
    assert [one.domain for one in made.opset_import] == [""]


@pytest.fixture(scope="module")
def calendar(tmp_path_factory):
    """A graph of nothing but dates, two columns of them."""
    cells = np.array([["2024-01-01", "2024-01-01"]])
    model = ColumnTransformer([("dates", DateParts(), [0, 1])]).fit(cells)
    return exported(model, tmp_path_factory.mktemp("dates") / "a.onnx")


def parts_of(calendar, first, second):
    columns = {"x0": first, "x1": second}
    given = {n: np.array(c, dtype=np.int64)[:, None] for n, c in columns.items()}
    wanted = np.column_stack(list(given.values())).view("M8[s]")
    [found] = calendar.run(None, given)
    return found, DateParts().fit_transform(wanted)


@given(st.lists(st.integers(FIRST, LAST) | st.just(NAT), min_size=1, max_size=30))
@settings(max_examples=80, deadline=None)
def test_dates_of_any_second(calendar, seconds):
    assert_array_equal(*parts_of(calendar, seconds, seconds[::-1]))


def test_every_day_of_two_eras(calendar):
    """The calendar repeats itself after 400 years; these lie around 1970."""
    ends = np.array(["1600-01-01", "2400-01-01"], dtype="M8[D]").astype(np.int64)
    days = np.arange(*ends)
    assert len(days) == 2 * 146_097
    assert_array_equal(*parts_of(calendar, days * 86_400, days * 86_400 + 86_399))


def words(n, seed):
    rng = np.random.default_rng(seed)
    draws = rng.geometric(0.25, (n, 2))
    return pandas.DataFrame(
        {
            "word": [f"w{i}" for i in draws[:, 0]],
            "size": np.where(draws[:, 1] == 2, np.nan, draws[:, 1].astype(float)),
        }
    )


@pytest.mark.parametrize("unknown", ["infrequent_if_exist", "ignore"])
@pytest.mark.parametrize(
    "rare",
    [
        {},
        {"max_categories": 3},
        {"max_categories": 1},
        {"min_frequency": 12},
        {"min_frequency": 40, "max_categories": 50},
    ],
    ids=str,
)
def test_rare_categories_of_text_and_numbers_together(unknown, rare, tmp_path):
    encoder = OneHotEncoder(handle_unknown=unknown, sparse_output=False, **rare)
    both = ColumnTransformer([("codes", encoder, ["word", "size"])])
    model = both.fit(words(120, seed=0))
    new = pandas.DataFrame({"word": ["?", "w1", "w99"], "size": [77.0, np.nan, 1.0]})
    session = exported(model, tmp_path / "a.onnx")
    for rows in (words(120, seed=0), words(120, seed=1), new):
        found = run(session, rows)["features"]
        assert_array_equal(found, model.transform(rows))
    numbers = make_pipeline(encoder, methods.rff(8, random_state=0))
    X = words(120, seed=0)[["size"]].to_numpy()
    session = exported(numbers.fit(X), tmp_path / "b.onnx")
    X = np.append(X, [[77.0]], axis=0)
    [found] = session.run(None, {"X": X})
    assert_allclose(found, numbers.transform(X), atol=1e-12)


@pytest.mark.parametrize("kind", ["continuous", "binary", "multiclass"])
def test_target_encoders_of_text_and_numbers_together(kind, tmp_path):
    rows = words(120, seed=0)
    y = {
        "continuous": np.sin(np.arange(120.0)),
        "binary": np.arange(120) % 2,
        "multiclass": np.array(["a", "b", "c"])[np.arange(120) % 3],
    }[kind]
    encoder = TargetEncoder(target_type=kind)
    both = ColumnTransformer([("codes", encoder, ["word", "size"])]).fit(rows, y)
    new = pandas.DataFrame({"word": ["?", "w1", "w99"], "size": [77.0, np.nan, 1.0]})
    session = exported(both, tmp_path / "a.onnx")
    for frame in (rows, words(120, seed=1), new):
        found = run(session, frame)["features"]
        assert_allclose(found, both.transform(frame), atol=1e-12)
    numbers = make_pipeline(clone(encoder), methods.rff(8, random_state=0))
    X = rows[["size"]].to_numpy()
    session = exported(numbers.fit(X, y), tmp_path / "b.onnx")
    X = np.append(X, [[77.0]], axis=0)
    [found] = session.run(None, {"X": X})
    assert_allclose(found, numbers.transform(X), atol=1e-9)
    text = make_pipeline(clone(encoder), methods.rff(8)).fit(rows[["word"]], y)
    with pytest.raises(TypeError, match="TargetEncoder has text for categories"):
        exported(text, tmp_path / "c.onnx")


def test_other_ways_to_take_text(tmp_path):
    frame = pandas.DataFrame(homes.columns())
    frame["city"] = frame["city"].astype(object).where(frame["city"].notna(), None)
    codes = OneHotEncoder(handle_unknown="ignore")
    absent = SimpleImputer(missing_values=None, strategy="constant", fill_value="none")
    inner = ColumnTransformer(
        [("text", codes, ["<script>"]), ("numbers", StandardScaler(), ["garden"])]
    )
    ways = {
        "alone": [("a", codes, ["city"])],
        "filled": [("a", make_pipeline(absent, codes), ["city", "<script>"])],
        "nested": [("a", make_pipeline(inner), ["garden", "<script>"])],
        "frozen": [("a", FrozenEstimator(codes.fit(frame[["city"]])), ["city"])],
        "beside": [("a", codes, ["city"]), ("b", "passthrough", ["garden"])],
        "twice": [
            ("a", codes, ["city"]),
            ("b", make_pipeline(Texts(), codes), ["city"]),
        ],
    }
    y = np.arange(len(frame)) % 7
    for name, steps in ways.items():
        columns = ColumnTransformer(steps, sparse_threshold=0)
        before = make_pipeline("passthrough", make_pipeline(columns))
        features = methods.rff(16, random_state=0)
        model = make_pipeline(before, KernelRegressor(features, alpha=0.1))
        session = exported(model.fit(frame, y), tmp_path / "a.onnx")
        found = run(session, frame)["prediction"]
        assert_allclose(found, model.predict(frame), atol=1e-9, err_msg=name)


def test_columns_may_be_called_anything_but_outputs(tmp_path):
    names = ["X", "constant_0", "Concat_0", "LabelEncoder_2", "", "label", "scores"]
    rows = {name: ["a", "b", None, "b"] for name in names}
    y = np.array([0, 1, 0, 1])

    def fitted(names):
        frame = pandas.DataFrame({name: rows[name] for name in names})
        return frame, make_pipeline(for_table(frame), learner()).fit(frame, y)

    frame, model = fitted(names[:4])
    found = run(exported(model, tmp_path / "a.onnx"), frame)
    assert_allclose(found["scores"], model.decision_function(frame), atol=1e-12)
    for name in ("label", "scores"):
        with pytest.raises(ValueError, match=f"column '{name}' is called like an out"):
            bochner.onnx.export(fitted([name])[1], tmp_path / "b.onnx")
    with pytest.raises(ValueError, match="a column is called ''"):
        bochner.onnx.export(fitted([""])[1], tmp_path / "b.onnx")


def test_what_tables_cannot_be_exported_is_named(tmp_path):
    frame = pandas.DataFrame(homes.columns())
    path = tmp_path / "a.onnx"

    def refused(match, *steps):
        model = ColumnTransformer([(f"{i}", *s) for i, s in enumerate(steps)])
        with pytest.raises(TypeError, match=match):
            bochner.onnx.export(model.fit(frame), path)
        assert not path.exists()

    codes, texts = OneHotEncoder(), Texts()
    years = make_pipeline(texts, Numbers())
    refused(
        "'postal code' is taken as text and as numbers",
        (make_pipeline(texts, codes), ["postal code"]),
        (Numbers(), ["postal code"]),
    )
    refused("Numbers takes numbers, and here .* text", (years, ["postal code"]))
    refused("OneHotEncoder with drop", (OneHotEncoder(drop="first"), ["<script>"]))
    marked = SimpleImputer(strategy="most_frequent", add_indicator=True)
    refused("without add_indicator", (marked, ["<script>"]))
    most = SimpleImputer(missing_values=None, strategy="most_frequent")
    mixed = frame[["<script>", "rooms"]].fillna({"rooms": 2}).astype(object)
    frame[mixed.columns] = mixed
    refused(r"fills in \[.*, .*\] here", (make_pipeline(most, codes), list(mixed)))
    refused("part '0' .* gives text or dates", (texts, ["city"]))
    refused("part '0' .* gives text or dates", (most, ["<script>"]))
    frame["city"] = pandas.Series(["", None, "Ulm", "Ulm"] * 40, dtype=object)
    refused("several categories for missing cells", (codes, ["city"]))
    dates = make_pipeline(DateParts(), methods.rff(8)).fit(frame[["sold"]].dropna())
    with pytest.raises(TypeError, match=r"DateParts takes columns.* ColumnTransformer"):
        bochner.onnx.export(dates, path)
