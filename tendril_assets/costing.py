"""What ``tendril estimate`` prints: what the open judge requests will cost, before anything is sent."""

import polars as pl
from rich.console import Console

from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError, TendrilError
from tendril_assets.judging.budget import estimate
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway_client import fetch_prices
from tendril_assets.resources.gateway_run import Endpoint
from tendril_assets.resources.ledger import Ledger
from tendril_assets.settings import Settings


def show_estimate(settings: Settings, collection: str, console: Console) -> None:
    """Calls, tokens and money of the open judge requests, priced by the gateway's own list where it can be reached."""
    spec = collection_spec(collection, settings.profile)
    columns = ["request_key", "prompt_characters"]
    artifacts = Artifacts(root=str(settings.artifacts))
    if not artifacts.exchange(collection, "judge_requests").exists():
        raise SettingsError(
            f"no judge requests of {collection} yet: run `tendril run {collection}_candidates` first; all it pays for are "
            "the summaries the queries are worded with"
        )
    requests = artifacts.read_frame(collection, "judge_requests", columns)
    answered = Ledger(settings.ledger).answered_keys() if settings.ledger.is_dir() else set()
    waiting = requests.filter(~pl.col("request_key").is_in(pl.Series(list(answered), dtype=pl.String).implode()))
    try:
        prices, listed = (
            fetch_prices(Endpoint(settings.base_url, settings.api_key)),
            f"price list of {settings.base_url}",
        )
    except TendrilError as error:
        prices, listed = {}, str(error)
    figure = estimate(waiting, spec.judge.llm, prices)
    console.print(f"{collection}: {requests.height:,} judge requests, {waiting.height:,} open ({spec.judge.llm.model})")
    if waiting.is_empty():
        console.print("nothing is open, so nothing has to be paid")
        return
    console.print(f"about {figure.prompt_tokens:,} prompt and {figure.completion_tokens:,} completion tokens")
    if figure.usd is None:
        console.print(f"price unknown: {listed}; that is not a price of zero", markup=False)
    else:
        console.print(f"about {figure.usd:.4f} USD, at most {figure.usd_cap:.4f} USD ({listed})", markup=False)
