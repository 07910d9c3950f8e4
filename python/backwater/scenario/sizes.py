"""Flow sizes: published tables, simple distributions, and the distribution of samples of yours.

>>> from backwater import sizes
>>> sizes.from_samples([100, 100, 300, 5000])["points"]["points"]
[[100.0, 0.5], [300.0, 0.75], [5000.0, 1.0]]
>>> sizes.table("google_rpc")
{'table': 'google_rpc'}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from backwater._core import InputError
from backwater.common.arrays import np
from backwater.scenario import typed
from backwater.scenario.builders import sizes_exponential as exponential
from backwater.scenario.builders import sizes_file as file
from backwater.scenario.builders import sizes_fixed as fixed
from backwater.scenario.builders import sizes_table as table
from backwater.scenario.builders import sizes_uniform as uniform

__all__ = ["cdf", "exponential", "file", "fixed", "from_samples", "table", "uniform"]

AT_MOST = 2000
"""Points of a distribution from samples. The error in probability is then at most 1 in 2,000."""


def cdf(points: Iterable[tuple[float, float]], *, linear: bool = True) -> typed.PointsSizes:
    """Returns the distribution with these points: sizes in bytes, and the share of flows up to that size.

    With `linear`, sizes between two points are interpolated. Without, a flow has the smallest listed size whose share
    suffices. A scenario refuses points that fall, or that do not end at 1.
    """
    pairs = [[float(size), float(share)] for size, share in points]
    return {"points": {"points": pairs, "linear": linear}}


def from_samples(samples: Any, *, at_most: int = AT_MOST) -> typed.PointsSizes:
    """Returns the distribution of these sizes, in bytes: a list, an array or a series.

    Each flow has one of the sampled sizes. With more than `at_most` different ones, it has those at evenly spaced
    shares, among them the largest.

    # Errors
    `InputError` if there is no sample, or one is below a byte or not finite.
    """
    try:
        values = np.sort(np.asarray(samples, dtype=float).ravel())
    except (TypeError, ValueError):
        raise InputError(f"from_samples: {samples!r:.60}: expected sizes in bytes, as a list or an array") from None
    if len(values) == 0:
        raise InputError("from_samples: no samples: expected one size at least")
    wrong = values[~np.isfinite(values) | (values < 1)]
    if len(wrong):
        raise InputError(f"from_samples: {wrong[0]:g}: expected sizes of one byte and more")
    different, counts = np.unique(values, return_counts=True)
    shares = np.cumsum(counts) / len(values)
    if len(different) > at_most:
        ranks = np.searchsorted(shares, np.arange(1, at_most + 1) / at_most - 1e-12)
        kept = np.unique(np.minimum(ranks, len(different) - 1))
        different, shares = different[kept], shares[kept]
    shares[-1] = 1.0
    return {
        "points": {
            "points": [list(pair) for pair in zip(different.tolist(), shares.tolist(), strict=True)],
            "linear": False,
        }
    }
