"""The exact kernel machines that features stand in for: n² memory, n³ time.

They are scikit-learn's, C or α chosen among a few on a fifth of the rows.
"""

from __future__ import annotations

from typing import Any

from .task import CLASSIFICATION

COSTS = [1, 10, 100]
PENALTIES = [1, 0.1, 0.01]


def exact_machine(task: str, gamma: float) -> Any:
    """A support vector machine, or kernel ridge on centred targets."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, ShuffleSplit
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    held_out = ShuffleSplit(1, test_size=0.2, random_state=0)
    if task == CLASSIFICATION:
        return GridSearchCV(
            SVC(gamma=gamma), {"C": COSTS}, cv=held_out, error_score="raise"
        )
    ridge = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=gamma),
        {"alpha": PENALTIES},
        cv=held_out,
        error_score="raise",
    )
    return TransformedTargetRegressor(ridge, transformer=StandardScaler())


def exact_code(task: str, gamma: float) -> tuple[list[str], str]:
    """Imports, and Python for the same."""
    imports = ["from sklearn.model_selection import GridSearchCV, ShuffleSplit"]
    split = "ShuffleSplit(1, test_size=0.2, random_state=0)"
    held_out = f"cv={split}, error_score='raise'"
    if task == CLASSIFICATION:
        imports.append("from sklearn.svm import SVC")
        return (
            imports,
            f"GridSearchCV(SVC(gamma={gamma}), {{'C': {COSTS}}}, {held_out})",
        )
    imports += [
        "from sklearn.compose import TransformedTargetRegressor",
        "from sklearn.kernel_ridge import KernelRidge",
        "from sklearn.preprocessing import StandardScaler",
    ]
    ridge = f"KernelRidge(kernel='rbf', gamma={gamma})"
    search = f"GridSearchCV({ridge}, {{'alpha': {PENALTIES}}}, {held_out})"
    return (
        imports,
        f"TransformedTargetRegressor({search}, transformer=StandardScaler())",
    )
