"""Entry point of `backwater` and of `python -m backwater`."""

import signal
from typing import NoReturn

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the next imports ends the process without a traceback.

from backwater import entry


def command() -> None:
    from backwater import cli  # Takes a tenth of a second, in which signals are heard already.

    cli.main()


def main() -> NoReturn:
    entry.enter(command)


if __name__ == "__main__":
    main()
