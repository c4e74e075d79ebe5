"""What a run says when it cannot go on. Neither the key nor the texts of a request are ever in it."""

from typing import Any

from tendril_assets.errors import GatewayError, GatewayRefused, InsufficientCredits
from tendril_assets.quoting import quotes
from tendril_assets.resources.gateway_ask import Ask
from tendril_assets.resources.gateway_run import Endpoint
from tendril_assets.resources.replies import Action, Reply


def refusal(reply: Reply, endpoint: Endpoint, ask: Ask) -> GatewayError:
    """A status that every other request would get too."""
    said = _quotable(reply.message, endpoint.api_key, ask.request.body)
    if reply.action is Action.NO_CREDIT:
        message = f"{endpoint.base_url} answered 402, insufficient credits{said}. Add credits and run the step again."
        return InsufficientCredits(message, status=402)
    message = (
        f"{endpoint.base_url} refused model {ask.request.body.get('model')!r} with status {reply.http_status}{said}. "
        f"Asking again does not change that: {_remedy(reply.http_status or 0)}, then run the step again."
    )
    return GatewayRefused(message, status=reply.http_status)


def no_connection(reply: Reply, endpoint: Endpoint, ask: Ask, is_first: bool) -> GatewayError:
    """Nothing was ever reached, or what was reached cannot be trusted. ``is_first``: nothing ever went out in this run."""
    attempts = "1 attempt" if ask.attempts == 1 else f"{ask.attempts} attempts"
    return GatewayError(
        f"no connection to {endpoint.base_url} after {attempts}: {reply.detail}. "
        f"{'Nothing was asked. ' if is_first else ''}Check the base URL, the network and the proxy settings, then run "
        "the step again."
    )


def down(reply: Reply, endpoint: Endpoint, in_a_row: int) -> GatewayError:
    """Request after request was given up on."""
    last = reply.detail if reply.http_status is None else f"{reply.status}, HTTP status {reply.http_status}"
    return GatewayError(
        f"{in_a_row} requests in a row failed at {endpoint.base_url} after all their attempts (the last: {last}): "
        "gateway or model seem to be down. Run the step again later: only open requests are asked.",
        status=reply.http_status,
    )


def _remedy(status: int) -> str:
    if 300 <= status < 400:
        return "it is a redirect, and the key goes to no other address; name the final one in TENDRIL_LLM_BASE_URL"
    if status in (400, 422):
        return "check model name, provider pin and the parameters of judge.llm in the collection's specification"
    if status == 401:
        return "check TENDRIL_LLM_API_KEY, and that it is a key of this gateway"
    if status == 404:
        return "check base URL, model name and provider pin"
    return "check base URL, key, model name and provider pin"


def _quotable(message: str | None, secret: str, body: dict[str, Any]) -> str:
    """The gateway's own words for an exception; nothing where they hold the key or quote the request's texts."""
    if message is None or secret in message:
        return ""
    if quotes(message, "".join(str(m.get("content", "")) for m in body.get("messages", ()))):
        return ""
    return f' ("{" ".join(message.split())}")'
