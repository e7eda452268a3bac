"""A table as they come: text, gaps, dates, truth values, odd names, an empty column."""

from __future__ import annotations

import numpy as np

CITIES = ["Ulm", "Köln", "São Paulo", "東京", "a, b", "it's", " ", "missing"]


def columns(n: int = 160, seed: int = 0) -> dict[str, list]:
    """Cells of Python by name; None where missing."""
    rng = np.random.default_rng(seed)
    streets = [f"street {i}" for i in range(200)]  # more than there are columns for
    start = np.datetime64("1955-03-01T00:00:00")
    sold = start + rng.integers(0, 2_000_000_000, n).astype("m8[s]")
    return {
        "rooms": gaps(rng.integers(1, 9, n).tolist(), 5),
        "living area (m²)": gaps(rng.gamma(9, 12, n).tolist(), 7),
        "garden": (rng.random(n) < 0.4).tolist(),
        "heated": gaps((rng.random(n) < 0.4).tolist(), 6),
        "city": gaps(rng.choice(CITIES, n).tolist(), 4),
        "<script>": rng.choice(["<b>", "</script>", "&amp;"], n).tolist(),
        "street": rng.choice(streets, n).tolist(),
        "postal code": gaps(rng.integers(1000, 1009, n).tolist(), 9),
        "sold": gaps(sold.tolist(), 8),
        "built": gaps([one.date() for one in sold.tolist()], 3),
        "renovated": [None] * n,
    }


def gaps(cells: list, every: int) -> list:
    """The same cells, some of them missing."""
    return [None if i % every == 1 else cell for i, cell in enumerate(cells)]


def target(n: int = 160) -> np.ndarray:
    rooms = [cell or 0 for cell in columns(n)["rooms"]]
    garden = columns(n)["garden"]
    return np.where(np.add(rooms, np.multiply(3, garden)) > 5, "dear", "cheap")


KINDS = {
    "rooms": "numbers",
    "living area (m²)": "numbers",
    "garden": "numbers",
    "heated": "numbers",
    "city": "categories",
    "<script>": "categories",
    "street": "categories",
    "postal code": "categories",
    "sold": "dates",
    "built": "dates",
}
"""With postal codes named as categories."""
