"""Benchmarks: ours and peers in one run, as ratios. `python -m benchmarks --help`."""
