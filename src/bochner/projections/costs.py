"""Measured costs that choices between structures rest on: float32, two cores.

`python -m benchmarks auto` prints the first three again, `python -m benchmarks
compression` what they say about rows of structured maps beside what is measured.
"""

DENSE_NS, CSR_NS = 0.012, 0.155
"""Nanoseconds per multiply-add of a matrix, for dense and for CSR rows."""

BUTTERFLY_NS = 0.031
"""Nanoseconds per output and stage of a Hadamard transform."""

FFT_NS = 2.5
"""Nanoseconds per output of a circulant."""

DENSE_BYTES = 1 << 30
"""A dense matrix beyond this is no choice where a structured map will do."""
