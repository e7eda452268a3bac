"""Runs inside PyTorch's own environment: one pass of learning for every line read.

Usage: python -m benchmarks.torch_worker ROWS.npz M BATCH RATE; the model is
`CompactMap`'s: cosines of learned frequencies and phases, the squared hinge, Adam
(fused).
"""

import sys
import time

import numpy as np
import torch


def main():
    path, M, batch, rate = sys.argv[1:]
    arrays = np.load(path)
    X = torch.from_numpy(arrays["X"])
    y = torch.from_numpy(arrays["y"].astype(np.int64))
    torch.manual_seed(0)
    size = (2 / (X.shape[1] * float(X.var()))) ** 0.5
    W = torch.nn.Parameter(size * torch.randn(X.shape[1], int(M)))
    b = torch.nn.Parameter(2 * np.pi * torch.rand(int(M)))
    B = torch.nn.Parameter(torch.zeros(int(M), 10))
    intercept = torch.nn.Parameter(torch.zeros(10))
    groups = [
        {"params": [W], "lr": float(rate) * size},
        {"params": [b], "lr": float(rate)},
        {"params": [B, intercept], "lr": float(rate) * int(M) ** (-2 / 3)},
    ]
    solver = torch.optim.Adam(groups, fused=True)

    def one_pass():
        order = torch.randperm(len(X))
        for start in range(0, len(X), int(batch)):
            rows = order[start : start + int(batch)]
            labels = y[rows][:, None]
            S = torch.cos(torch.addmm(b, X[rows], W)) @ B + intercept
            missing = torch.relu(S - S.gather(1, labels) + 1)
            loss = missing.scatter(1, labels, 0.0).square().sum(dim=1).mean()
            solver.zero_grad(set_to_none=True)
            loss.backward()
            solver.step()

    torch.cos(torch.addmm(b, X[:500], W)).sum().backward()  # wake what sleeps
    solver.zero_grad(set_to_none=True)
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        one_pass()
        print(time.perf_counter() - start, flush=True)


main()
