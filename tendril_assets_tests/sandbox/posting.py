"""Plain requests to the stand-in gateway."""

import httpx

from tendril_assets.sandbox.gateway import StandInGateway

HEADERS = {"Authorization": "Bearer any"}
# One client for all: making one loads the certificates, which takes longer than a request.
CLIENT = httpx.Client(trust_env=False, timeout=60)


def body(text: str = "Hallo", **fields: object) -> dict:
    return {"model": "toy/model", "max_tokens": 10, "messages": [{"role": "user", "content": text}], **fields}


def post(gateway: StandInGateway, payload: object, headers: dict[str, str] | None = None) -> httpx.Response:
    url = f"{gateway.base_url}/chat/completions"
    return CLIENT.post(url, json=payload, headers=HEADERS if headers is None else headers)
