"""The bootstrap in NumPy, the forms that are fast: the yardstick beside
BenchmarkAnalyze of engine/bootstrap.

    python3 bench/reference/bootstrap_numpy.py

Prints the best of 20 runs for B = 10,000 resamples of 100 pairs, one pair in
each block.
"""
import time

import numpy as np


def index_matrix(rng, base, with_, b):
    """Ratio of sums, percentile interval: draw all indices, gather twice."""
    i = rng.integers(0, len(base), size=(b, len(base)), dtype=np.int32)
    r = with_[i].sum(axis=1) / base[i].sum(axis=1) - 1
    return np.quantile(r, [0.025, 0.975])


def counts(rng, base, with_, b):
    """The same by counts of a multinomial distribution and a matrix product."""
    n = len(base)
    c = rng.multinomial(n, np.full(n, 1 / n), size=b).astype(float)
    r = (c @ with_) / (c @ base) - 1
    return np.quantile(r, [0.025, 0.975])


def studentised(rng, base, with_, b):
    """Mean of the pairs' overheads, studentised interval."""
    x = with_ / base - 1
    n = len(x)
    s = x[rng.integers(0, n, size=(b, n), dtype=np.int32)]
    t = (s.mean(axis=1) - x.mean()) / (s.std(axis=1, ddof=1) / np.sqrt(n))
    return x.mean() - np.quantile(t, [0.975, 0.025]) * x.std(ddof=1) / np.sqrt(n)


def everything(rng, base, with_, b):
    """Mean, total and median, percentile and studentised, from one drawing: most
    of what one Analyze does (it has BCa intervals of all three too)."""
    n = len(base)
    x = with_ / base - 1
    i = rng.integers(0, n, size=(b, n), dtype=np.int32)
    s, sb, sw = x[i], base[i], with_[i]
    total = sw.sum(axis=1) / sb.sum(axis=1)
    m = s.mean(axis=1)
    t = (m - x.mean()) / (s.std(axis=1, ddof=1) / np.sqrt(n))
    d = sw - total[:, None] * sb
    r = with_.sum() / base.sum()
    u = (total - r) / (np.sqrt(n / (n - 1) * (d * d).sum(axis=1)) / sb.sum(axis=1))
    return [np.quantile(v, [0.025, 0.05, 0.95, 0.975]) for v in (m, t, total - 1, u, np.median(s, axis=1))]


def best(f, runs=20):
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    rng = np.random.default_rng(1)
    pairs, b = 100, 10_000
    base = 2e8 * np.exp(0.1 * rng.standard_normal(pairs))
    with_ = base * (1.002 + 0.005 * rng.standard_normal(pairs))
    for f in (index_matrix, counts, studentised, everything):
        t = best(lambda: f(rng, base, with_, b))
        print(f"{f.__name__:<12} pairs={pairs} replicates={b} {t*1e3:7.2f} ms {pairs*b/t/1e6:7.1f} Mdraws/s")


if __name__ == "__main__":
    main()
