"""Compares measurements of runs with the expectations of their experiment. `experiments/README.md` describes the
language.

measured  single numbers from a run's tables    claims  expectations and their verdicts
panels    the numbers in a figure's panels
"""
