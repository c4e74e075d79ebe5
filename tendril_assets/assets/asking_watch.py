"""What an asking step tells while it runs: its progress file, log lines, and observations that the UI plots."""

from collections.abc import Mapping

import dagster as dg

from tendril_assets.progress_file import Every
from tendril_assets.resources.asking_progress import Standing, progress_folder, read_standings, write_standing
from tendril_assets.resources.gateway_run import COMPLETE, Progress
from tendril_assets.resources.ledger import Ledger

LOG_SECONDS = 5.0
OBSERVE_SECONDS = 30.0


class Watch:
    """The progress callback of one call of the gateway client.

    An observation logged through the context is in the event log at once, in every executor; one that is yielded would
    have to wait for the end of the step.
    """

    def __init__(self, context: dg.AssetExecutionContext, ledger: Ledger, standing: Standing) -> None:
        self._context, self._folder = context, progress_folder(ledger.folder)
        self.standing = standing
        self._logs, self._observes = Every(LOG_SECONDS), Every(OBSERVE_SECONDS)
        self._cannot_write = False
        self._write()

    def __call__(self, progress: Progress) -> None:
        self.standing = self.standing.at(progress)
        self._write()
        if self._logs():
            self._context.log.info(f"{self.standing.purpose}: {self.standing}")
        if self._observes():
            self._context.log_event(dg.AssetObservation(self._context.asset_key, metadata=numbers(self.standing)))

    def end(self, state: str) -> None:
        """Leave the last figures in the file, with how it ended."""
        self.standing = self.standing.ended(state)
        self._write()

    def _write(self) -> None:
        try:
            write_standing(self._folder, self.standing)
        except OSError as error:
            # The ledger decides whether asking can go on; a display must not end a run that is paid for.
            if not self._cannot_write:
                self._context.log.warning(f"the progress file in {self._folder} cannot be written: {error.strerror}")
            self._cannot_write = True


def tell_complete(context: dg.AssetExecutionContext, ledger: Ledger, standing: Standing) -> None:
    """Nothing is open: a file that says the step was cut off, or left requests open, is replaced. One that tells of a run
    that asked to the end stays: its figures say more."""
    left = read_standings(progress_folder(ledger.folder))
    same = (was for was in left if (was.collection, was.step) == (standing.collection, standing.step))
    if any(was.state != COMPLETE or was.left for was in same):
        Watch(context, ledger, standing).end(COMPLETE)


def numbers(standing: Standing) -> Mapping[str, int | float]:
    """A standing as numbers, which the UI plots over time. Money is a float here and a decimal text at the end."""
    money = {"cost_usd_so_far": standing.cost, "cost_usd_forecast": standing.cost_forecast}
    known = {
        "requests_done": standing.done,
        "requests_open": standing.open,
        "requests_failed": standing.failed,
        "http_calls": standing.calls,
        "calls_per_second": round(standing.calls_per_s, 2),
        "calls_in_flight": standing.in_flight,
        "calls_in_flight_limit": standing.limit,
        "times_told_to_wait": standing.rate_limited,
        "replies_of_unknown_cost": standing.cost_unknown,
        **{name: None if amount is None else float(amount) for name, amount in money.items()},
        "cached_share": standing.cached_share,
        "minutes_left": None if standing.eta_s is None else round(standing.eta_s / 60, 1),
    }
    return {name: value for name, value in known.items() if value is not None}
