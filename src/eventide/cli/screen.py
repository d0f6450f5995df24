"""Where a running stream is shown and where its rows are printed: a terminal, or files and pipes."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from eventide.cli.live_view import View, row_line
from eventide.show.report import json_lines

_WIDEST = 120  # characters; a wider panel is harder to read


class Screen:
    """A live panel where standard error is a terminal, else a line now and then; rows go to standard output."""

    def __init__(self, view: View, *, as_json: bool, every: float) -> None:
        self.view = view
        self.console = Console(stderr=True, highlight=False)
        self.is_live = self.console.is_terminal
        self._as_json = as_json
        self._every = every
        self._live: Live | None = None
        self._last = (0.0, -1, "")
        self._printed = -1
        self.reader_is_gone = False
        self.lock = threading.Lock()  # the panel is drawn on a thread of its own

    def show(self) -> None:
        """Bring what is shown up to date."""
        now = time.time()
        if self.is_live:
            if self._live is None:
                # Rows go to standard output, never through the panel's console, unless both are this terminal.
                self._live = Live(get_renderable=self._panel, console=self.console, redirect_stdout=False)
                self._live.start()
            return
        shown_at, n_batches, status = self._last
        is_news = self.view.n_batches != n_batches and now - shown_at >= self._every
        if is_news or self.view.status != status:
            print(self.view.line(now), file=sys.stderr, flush=True)
            self._last = now, self.view.n_batches, self.view.status

    def close(self) -> None:
        """Leave the last panel where it is."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _panel(self) -> RenderableType:
        with self.lock:
            return self.view.panel(time.time(), min(self.console.width, _WIDEST))

    def take_in(self, query: Any) -> None:
        """Add the progress of a query since the last time."""
        reports = [json.loads(progress.json) for progress in query.recentProgress]
        with self.lock:
            for report in reports:
                self.view.add(report)

    def rows(self, batch: Any, number: int) -> None:
        """Print a micro-batch's rows; Spark calls this, again for a batch that was cut off by a restart."""
        table = batch.toArrow()
        if number <= self._printed or self.reader_is_gone:
            return
        lines = json_lines(table) if self._as_json else map(row_line, table.to_pylist())
        try:
            self._print(lines)
        except BrokenPipeError:
            self.reader_is_gone = True
        self._printed = number

    def _print(self, lines: Iterable[str]) -> None:
        if self._live is not None and sys.stdout.isatty():
            for line in lines:
                self.console.print(Text(line), soft_wrap=True)
            return
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()
