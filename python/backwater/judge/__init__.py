"""What runs measured, held against what their experiment expects. `experiments/README.md` is the language.

measured  single numbers from a run's tables    claims  expectations and their verdicts
panels    the numbers that a figure's panels show
"""
