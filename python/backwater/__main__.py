"""Entry point of `backwater` and of `python -m backwater`."""

from typing import NoReturn

from backwater import entry


def command() -> None:
    from backwater import cli  # Takes a tenth of a second, in which signals are heard already.

    cli.main()


def main() -> NoReturn:
    entry.enter(command)


if __name__ == "__main__":
    main()
