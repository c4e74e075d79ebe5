"""What a call costs by its tokens: prices of a model, and the most a call can cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tendril_assets.errors import SettingsError

# What chat templates add around a message, generously.
_TOKENS_PER_MESSAGE = 64


@dataclass(frozen=True)
class Prices:
    """USD per prompt token, per completion token and per request.

    ``cached``: USD per prompt token read from the provider's prompt cache; None where it is not known, so that no
    discount is reckoned with.
    """

    prompt: Decimal = Decimal(0)
    completion: Decimal = Decimal(0)
    request: Decimal = Decimal(0)
    cached: Decimal | None = None

    def worst(self, body: Mapping[str, Any]) -> Decimal:
        """The most one call with this body can cost.

        A byte-level tokeniser makes at most one token of each UTF-8 byte, and ``max_tokens`` bounds the answer.
        """
        messages = body.get("messages", ())
        prompt = sum(len(str(m.get("content", "")).encode("utf-8", "replace")) + _TOKENS_PER_MESSAGE for m in messages)
        return self.request + self.prompt * prompt + self.completion * output_limit(body)


def output_limit(body: Mapping[str, Any]) -> int:
    """The body's limit on output tokens. Raises SettingsError where there is none: the cost would have no bound."""
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if type(limit) is not int or limit < 1:
        raise SettingsError("a request body has no max_tokens: without it a router reserves the model's maximum")
    return limit
