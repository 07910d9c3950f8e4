"""Compares measurements of runs with the expectations of their experiment. `experiments/README.md` describes the
language.

measured  single numbers from a run's tables    claims  expectations and their verdicts
courses   how a number goes over a run          settled whether a longer run would give another number
panels    the numbers in a figure's panels
"""
