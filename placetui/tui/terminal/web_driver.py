"""How the dashboard draws in a browser's tab."""

from __future__ import annotations

from textual import messages
from textual.drivers.web_driver import WebDriver


class TabDriver(WebDriver):
    """Textual's own, which would run forever after the server has died."""

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())
