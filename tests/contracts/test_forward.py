"""`forward` of every part says what its compiled code computes, in any namespace."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

import homes
import zoo
from bochner import KernelClassifier, KernelRegressor, kernels, methods
from bochner._core.ops import ArrayOps, Ops, Unsupported
from bochner._core.sklearn_steps import column_kinds
from bochner._core.steps import DATES, NUMBERS, TEXT, Table, forward
from bochner.export.onnx_graph import OPERATORS
from bochner.preprocessing import DateParts, Numbers, Texts

pandas = pytest.importorskip("pandas")

NAMESPACES = {"numpy": np, "array_api_strict": array_api_strict}
MODELS = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
del MODELS["nystroem_angular"]  # a kernel without distances is Python code
NYSTROEM = ("classifier", "regressor", "pca")
CALLS = {
    "features": "transform",
    "components": "transform",
    "label": "predict",
    "prediction": "predict",
    "scores": "decision_function",
    "probabilities": "predict_proba",
}


def tolerance_of(name):
    """In units of rounding: what a model does to the rounding of its steps."""
    if name == "laplacian":  # Cauchy frequencies: phases in the thousands
        return 1e3
    # features of Nyström are whitened, which magnifies nearly dependent ones
    return 3e6 if name in NYSTROEM or name.startswith("nystroem") else 100


def computed(part, xp, X):
    """All outputs of a part, as NumPy arrays."""
    ops = ArrayOps(xp, X.dtype)
    outputs = part.outputs(ops, xp.asarray(X))
    return {name: np.asarray(values) for name, values in outputs.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize("name", MODELS)
def test_forward_is_what_compiled_code_computes(name, namespace, dtype):
    X = zoo.rows(f"dense-{dtype}")
    rows = zoo.rows(f"dense-{dtype}", seed=1)[:20]
    model = zoo.fitted(MODELS[name], X)
    tolerance = tolerance_of(name) * np.finfo(dtype).eps
    for output, values in computed(model, NAMESPACES[namespace], rows).items():
        expected = getattr(model, CALLS[output])(rows)
        expected = expected.toarray() if hasattr(expected, "toarray") else expected
        assert values.shape == expected.shape, output
        if expected.dtype.kind != "f":
            assert_array_equal(values, expected)
            continue
        assert values.dtype == dtype
        bound = tolerance * max(1, np.abs(expected).max())
        assert_allclose(values, expected, rtol=0, atol=bound, err_msg=output)


def test_linear_maps_stay_structured():
    """`forward` of a structure never multiplies by a matrix of its full size."""

    class Counting(ArrayOps):
        def matmul(self, x, y):
            assert min(np.size(x), np.size(y)) < 200 * 100 / 4
            return super().matmul(x, y)

    X = np.random.default_rng(0).normal(size=(3, 200))
    for name in ("sorf", "fastfood", "circulant"):
        model = getattr(methods, name)(200, random_state=0).fit(X)
        assert_allclose(model.forward(Counting(), X), model.transform(X), atol=1e-12)


def test_every_operation_has_a_name_in_onnx():
    """Each operation of one name that `Ops` declares is an operator of the graph."""
    asked = set()

    class Asked(Ops):
        def _call(self, name, *operands, **options):
            asked.add(name)

    for name, method in vars(Ops).items():
        code = getattr(method, "__code__", None)
        if code is not None and "_call" in code.co_names:
            getattr(Asked(), name)(*[1] * (code.co_argcount - 1))
    assert asked == OPERATORS.keys()


def test_standard_deviations():
    X = zoo.rows("dense-float32")
    model = KernelRegressor(methods.sorf(64, random_state=0)).fit(X, zoo.numbers())
    std = model.forward_std(ArrayOps(dtype="float32"), X)
    assert std.dtype == np.float32
    assert_allclose(std, model.predict(X, return_std=True)[1], rtol=1e-5)


@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        RobustScaler(),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        PowerTransformer(),
        SimpleImputer(add_indicator=True),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        OneHotEncoder(max_categories=3, sparse_output=False),
        TargetEncoder(),
    ],
    ids=lambda step: repr(step)[:40],
)
def test_steps_of_scikit_learn(step, namespace):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(60, 3)).astype(np.float64)
    y = rng.integers(0, 2, size=60)
    if isinstance(step, SimpleImputer):
        X[::7] = np.nan
    xp = NAMESPACES[namespace]
    step = step.fit(X, y)
    values = forward(step, ArrayOps(xp), xp.asarray(X))
    assert_allclose(np.asarray(values), step.transform(X), atol=1e-12)


def test_columns_of_text_and_dates():
    frame = pandas.DataFrame(homes.columns())
    texts = make_pipeline(Texts(), OneHotEncoder(handle_unknown="ignore"))
    step = ColumnTransformer(
        [
            ("text", texts, ["city"]),
            ("dates", DateParts(), ["sold"]),
            ("numbers", Numbers(), ["rooms"]),
        ]
    ).fit(frame)
    city = frame[["city"]].fillna("").to_numpy(dtype=object)
    sold = pandas.to_datetime(frame["sold"]).to_numpy().astype("M8[s]")
    columns = {
        TEXT: city,
        DATES: sold.astype(np.int64)[:, None],
        NUMBERS: frame[["rooms"]].to_numpy(dtype=np.float64),
    }
    kinds = column_kinds(step)
    table = Table(tuple(columns.get(kind) for kind in kinds), tuple(kinds))
    expected = step.transform(frame)
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    assert_allclose(forward(step, ArrayOps(), table), expected, atol=1e-9)
    with pytest.raises(Unsupported, match="Text has no arrays in array_api_strict"):
        forward(step, ArrayOps(array_api_strict), table)


def test_labels_without_text_are_class_numbers():
    X = zoo.rows("dense-float64")
    names = np.array(["no", "yes"])[zoo.labels()]
    model = KernelClassifier(16, random_state=0).fit(X, names)
    strict = computed(model, array_api_strict, X)["label"]
    assert_array_equal(model.classes_[strict], model.predict(X))


def test_kernels_without_operations_are_refused():
    law = kernels.Matern(0.8, 1.0).unit_law()
    with pytest.raises(Unsupported, match=r"nu = 0\.5, 1\.5, .* got nu=0\.8"):
        law.forward(ArrayOps(), np.ones(3))
