"""Entry point of `python -m backwater.cli`."""

from backwater import entry
from backwater.cli import main

if __name__ == "__main__":
    entry.enter(main)
