r"""Time of every sample [s]: the board's `millis()` made monotone, or the moment at which the line arrived.

    t ← t + (m − m′ mod 2³²)/1000        while that step is shorter than an hour
    t ← t + (h − h′)                     otherwise: the board was restarted, its count began anew

m, m′ are this and the last count of the board [ms], h, h′ the arrival of this and the last line by the host's clock
[s]. `millis()` overflows every 49.7 days; the step modulo 2³² does not notice.
"""

__all__ = ["MILLIS", "Clock"]

MILLIS = 2**32
"""`millis()` counts up to this and begins anew."""
_LONGEST_STEP_MS = 3_600_000


class Clock:
    """Monotone seconds since the first sample."""

    def __init__(self) -> None:
        # Milliseconds are summed by themselves: whole numbers stay exact over months.
        self._by_host_s, self._by_board_ms = 0.0, 0.0
        self._millis: float | None = None
        self._host_s: float | None = None

    def at(self, host_s: float, millis: float | None = None) -> float:
        """Time of a sample [s], never before that of the last one.

        Arguments:
            host_s: when the line arrived, by a monotone clock of the host [s].
            millis: count of the board [ms], if the line carries it.
        """
        if self._host_s is not None:
            self._advance(max(host_s - self._host_s, 0.0), millis)
        self._millis, self._host_s = millis, host_s
        return self._by_host_s + self._by_board_ms / 1000

    def _advance(self, host_step_s: float, millis: float | None) -> None:
        if millis is not None and self._millis is not None:
            step_ms = (millis - self._millis) % MILLIS
            if step_ms <= _LONGEST_STEP_MS:
                self._by_board_ms += step_ms
                return
        self._by_host_s += host_step_s
