"""The frontier in NumPy, both ways that are fast: the yardstick beside BenchmarkAnalyze.

    python3 bench/reference/frontier_numpy.py

Prints the best of 20 runs for windows of several shapes.
d is [step][stage][rank], int64 nanoseconds.
"""
import time

import numpy as np


def vectorised(d):
    """Whole window at once: cumulative sums, maxima, differences, shares."""
    f = np.cumsum(d, axis=1).max(axis=2)
    a = np.diff(f, axis=1, prepend=0)
    return a.sum(axis=0) / f[:, -1].sum()


def looped(d):
    """One NumPy call per step and stage: less memory traffic for wide windows."""
    steps, stages, ranks = d.shape
    prefix = np.empty(ranks, np.int64)
    advance = np.zeros(stages, np.int64)
    makespan = 0
    for t in range(steps):
        prefix[:] = 0
        before = 0
        for s in range(stages):
            np.add(prefix, d[t, s], out=prefix)
            now = int(prefix.max())
            advance[s] += now - before
            before = now
        makespan += before
    return advance / makespan


def best(f, d, runs=20):
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        f(d)
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    rng = np.random.default_rng(1)
    for ranks, steps in [(128, 600), (4096, 600), (16384, 341)]:
        d = rng.integers(0, 10**9, size=(steps, 6, ranks), dtype=np.int64)
        assert np.allclose(vectorised(d), looped(d))
        for f in (vectorised, looped, np.sum):
            t = best(f, d)
            print(f"{f.__name__:<11} ranks={ranks} steps={steps} {t*1e3:8.2f} ms {d.nbytes/t/1e9:6.2f} GB/s")


if __name__ == "__main__":
    main()
