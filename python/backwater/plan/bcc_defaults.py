"""What a plan of BCC assumes where nobody says otherwise. The help of `plan bcc` names these values."""

LAMBDA = 0.72
"""For DCTCP; 1 for ECN*, which halves its window at any mark."""
PMAX = 0.1
TRIAL_FLOWS = 10_000
"""Flows of a run of the trial. All runs of the paper's pool take a minute on two processors."""
