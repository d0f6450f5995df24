"""The command `eventide`, and `python -m eventide`: how it is stopped is settled before anything large is loaded."""

from eventide.cli.stopping import stop_at_once


def main() -> None:
    """Load the command line, and run it."""
    stop_at_once()
    from eventide.cli import app

    app.main()


if __name__ == "__main__":
    main()
