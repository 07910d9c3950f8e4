"""Quantiles of Student's t distribution and of the beta distribution, which intervals over seeds need.

Source: NIST Digital Library of Mathematical Functions, 8.17.4 and 8.17.22 (the continued fraction), evaluated by the
method of Lentz, "Generating Bessel functions in Mie scattering calculations using continued fractions", 1976.

```text
I_x(a, b) = x^a (1-x)^b / (a B(a, b)) / (1 + d1 / (1 + d2 / (1 + ...)))   for x <= (a+1) / (a+b+2)
I_x(a, b) = 1 - I_(1-x)(b, a)                                             beyond
P(|T| > t) with n degrees of freedom:  I_x(n/2, 1/2),  x = n / (n + t^2)
```

SciPy has these functions too. It takes 143 MB, and nothing else of it is used. The tests compare them with SciPy's.
"""

from __future__ import annotations

import functools
import math

TERMS = 10_000
TINY = 1e-300
"""In place of 0 in a denominator."""
CLOSE = 1e-16
"""Relative change of the fraction at which it has converged."""


@functools.cache
def students_t(freedom: int, share: float) -> float:
    """Returns the value below which this share of Student's t distribution lies. `share` is above a half."""
    outside = beta(freedom / 2, 0.5, 2 * (1 - share))
    inside = beta(0.5, freedom / 2, 2 * share - 1)  # 1 - outside would lose digits.
    return math.sqrt(freedom * inside / outside)


@functools.cache
def beta(a: float, b: float, share: float) -> float:
    """Returns the value below which this share of the beta distribution lies: by bisection, to the last bit."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if beta_below(a, b, middle) < share else (low, middle)


def beta_below(a: float, b: float, x: float) -> float:
    """Returns the share of the beta distribution below `x`: the regularized incomplete beta function I_x(a, b)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(b, a, 1 - x)
    front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(front) / (a * fraction(a, b, x))


def fraction(a: float, b: float, x: float) -> float:
    """Returns 1 + d1 / (1 + d2 / (1 + ...)), from the front."""
    value, upper, lower = 1.0, 1.0, 0.0
    for term in range(1, TERMS):
        m = term // 2
        if term % 2:
            part = -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / ((1 + part * x * lower) or TINY)
        upper = (1 + part * x / upper) or TINY
        value *= upper * lower
        if abs(upper * lower - 1) <= CLOSE:
            break
    return value
