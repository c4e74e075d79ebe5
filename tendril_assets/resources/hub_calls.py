"""Calls of the Hugging Face hub's own client that end: with an answer, or with an error of ours that says what to do.

The client waits for ever where a server says nothing, repeats some calls and not others, and gives what went wrong as a
dozen kinds of exceptions, some with signed addresses in them. Here every call has a time limit, what may pass is tried
again (429, 408 and 5xx, cut connections, answers cut short), and what will not pass is told at once. No message holds the
token or an address with a query.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from tendril_assets.errors import HubConflict, HubRefused, HubUnavailable
from tendril_assets.resources.retry import retry_after_seconds

T = TypeVar("T")
ATTEMPTS = 6
FIRST_WAIT_S, MAX_WAIT_S = 1.0, 30.0
# Longer than this the hub is not waited for: the same command goes on later where this one ended.
RETRY_AFTER_CAP_S = 300.0
# Between two parts of an answer or of a file that is sent, not for a whole one.
TIMEOUT_S = 120.0
# The client repeats the making of a repository without end while the hub gives this answer.
_BUSY = "another conflicting operation is in progress"
_MAX_BUSY = 20
_SHOWN = 300

_ADVICE = {
    401: "the token is not valid (any more): make one with write access under Settings, Access Tokens on the hub, and set "
    "HF_TOKEN",
    402: "the hub wants to be paid first",
    403: "the token may not do this: it needs write access to the organisation and its repositories",
    404: "there is no such repository, or the token may not see it",
    413: "the hub takes no commit of this size",
}


@contextmanager
def bounded_client() -> Generator[None, None, None]:
    """Within the block the hub's client gives up waiting after ``TIMEOUT_S``, and does not wait or repeat without bound."""
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http as client_module

    busy = 0

    def look(response: Any) -> None:
        nonlocal busy
        if response.status_code == 409 and response.request.url.path.endswith("/api/repos/create"):
            response.read()
            if _BUSY in response.text:
                busy += 1
                if busy > _MAX_BUSY:
                    raise HubUnavailable(
                        f"the hub is busy with another operation and said so {busy} times: run it again later",
                        status=409,
                    )
        asked = _retry_after(response)
        if response.status_code in (429, 503) and asked is not None and asked > RETRY_AFTER_CAP_S:
            raise HubUnavailable(
                f"the hub asks to wait {asked:,.0f} s, longer than is waited here ({RETRY_AFTER_CAP_S:,.0f} s): run the same "
                "command again then. What was sent stays there, and is not sent twice",
                status=response.status_code,
                retry_after=asked,
            )

    def limit(request: Any) -> None:
        # Of the client as a whole it would not hold: most calls say of themselves that they wait for ever.
        times = dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_S)
        request.extensions = {**request.extensions, "timeout": times}

    before = client_module._GLOBAL_CLIENT_FACTORY

    def factory() -> Any:
        client = before()
        hooks = client.event_hooks
        client.event_hooks = {
            "request": [*hooks.get("request", []), limit],
            "response": [*hooks.get("response", []), look],
        }
        return client

    set_client_factory(factory)
    try:
        yield
    finally:
        set_client_factory(before)


class Calls:
    """Makes calls, with a token that no message shows. ``sleep`` takes seconds; ``tell`` one line for people."""

    def __init__(
        self, token: str | None, sleep: Callable[[float], None], tell: Callable[[str], None], attempts: int = ATTEMPTS
    ) -> None:
        self._token, self._sleep, self._tell, self._attempts = token, sleep, tell, attempts

    def once(self, what: str, action: Callable[[], T]) -> T:
        """The answer.

        Raises:
            HubUnavailable: a failure that another attempt may not meet.
            HubConflict: 409 or 412.
            HubRefused: any other failure.
        """
        import httpx2
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        try:
            return action()
        except (HubUnavailable, HubConflict, HubRefused):
            raise
        except OfflineModeIsEnabled:
            raise HubRefused(
                f"{what}: the hub is not asked while HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set"
            ) from None
        except RuntimeError as error:
            # An upload of several files gives what went wrong with one of them as the cause.
            if isinstance(error.__cause__, HubUnavailable):
                raise error.__cause__ from None
            if isinstance(error.__cause__, HfHubHTTPError):
                self._answered(f"{what}: {error}", error.__cause__)
            if isinstance(error.__cause__, httpx2.HTTPError):
                raise HubUnavailable(self._clean(f"{what}: {error} ({error.__cause__!r})")) from None
            raise HubRefused(self._clean(f"{what}: {error!r}")) from error
        except HfHubHTTPError as error:
            self._answered(what, error)
        except (httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError, ConnectionError, TimeoutError) as error:
            # No answer, half a one, or the page of a server in between.
            raise HubUnavailable(self._clean(f"{what}: no whole answer ({error!r})")) from None
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise HubRefused(self._clean(f"{what}: {error!r}")) from error

    def again(self, what: str, action: Callable[[], T]) -> T:
        """The answer of a call that may be made twice; raises as ``once``, HubUnavailable after all attempts."""
        return self.retrying(what)(self.once, what, action)

    def retrying(self, what: str) -> Retrying:
        """Repeats what raises HubUnavailable, and says each time why and how long it waits."""

        def before_sleep(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            wait = state.next_action.sleep if state.next_action else 0.0
            self._tell(f"{error}; attempt {state.attempt_number} of {self._attempts}, next in {wait:,.0f} s")

        return Retrying(
            retry=retry_if_exception_type(HubUnavailable),
            stop=stop_after_attempt(self._attempts),
            wait=_wait,
            sleep=self._sleep,
            before_sleep=before_sleep,
            reraise=True,
        )

    def _answered(self, what: str, error: Any) -> NoReturn:
        response = error.response
        status, said = response.status_code, self._clean(error.server_message or "")
        where = f" [request {error.request_id}]" if error.request_id else ""
        message = f"{what}: the hub answered {status}{f' ({said})' if said else ''}{where}"
        if status in (408, 425, 429) or status >= 500:
            raise HubUnavailable(message, status=status, retry_after=_retry_after(response)) from None
        if status in (409, 412):
            raise HubConflict(message) from None
        advice = _ADVICE.get(status)
        if status == 404 or (status == 401 and not self._token):
            advice = _ADVICE[404]
        raise HubRefused(f"{message}{f'. {advice[0].upper()}{advice[1:]}' if advice else ''}", status=status) from None

    def _clean(self, text: str) -> str:
        """One line without the token, and without the query of an address, which may be a signature."""
        if self._token:
            text = text.replace(self._token, "***")
        words = (w.split("?", 1)[0] + "?..." if "://" in w and "?" in w else w for w in text.split())
        line = " ".join(words)
        return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def _retry_after(response: Any) -> float | None:
    return retry_after_seconds(response.headers.get("Retry-After"), datetime.now(UTC), float("inf"))


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, HubUnavailable) else None
    own = min(MAX_WAIT_S, FIRST_WAIT_S * 2 ** (state.attempt_number - 1))
    return own if asked is None else max(asked, FIRST_WAIT_S)
