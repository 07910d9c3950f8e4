"""The judged claims of an experiment, as in `claims.json` and in `Results.claims`."""

from __future__ import annotations

from typing import Required, TypedDict


class Checked(TypedDict, total=False):
    """One comparison of a claim: its point, the measured value with its interval, the same in words, the verdict."""

    at: str
    measured: float | None
    text: str
    verdict: str
    low: float | None
    high: float | None


class Claim(TypedDict, total=False):
    """A claim with its verdict. A text is empty where it does not apply."""

    claim: Required[str]
    metric: str
    says: str
    expected: str
    measured: str
    verdict: Required[str]
    coverage: str
    without: str
    settling: str
    seeds_to_decide: int | None
    needs: str
    configured: str
    amended: list[str]
    note: str
    checks: list[Checked]
