"""How and where this installation works: environment variables, read once, with one clear line per mistake.

=========================  =================================================================================
``TENDRIL_HOME``           data folder; default ``.tendril`` in the working directory
``TENDRIL_LANDING``        landing folder; default the sandbox, made below ``TENDRIL_HOME``
``TENDRIL_PROFILE``        overlay of the specification; default ``sandbox`` while the sandbox lands, none otherwise
``TENDRIL_LLM_BASE_URL``   gateway with OpenRouter's chat-completions protocol
``TENDRIL_LLM_API_KEY``    its key
``TENDRIL_SIMAP_BASE_URL`` another address of SIMAP's API than the specification's, such as a replay of it
``TENDRIL_HASH_KEY``       secret of the published identifiers, at least 32 bytes; the sandbox has its own
``TENDRIL_WORKERS``        processes that read, search and mask documents; default the number of cores
``TENDRIL_CONCURRENCY``    requests in flight at the gateway; default 64
``TENDRIL_PRICES``         price table (YAML, see ``judging/prices.yaml``) in place of the package's own, for models that the
                           gateway's list leaves out, or where it has none
``TENDRIL_MAX_USD``        hard cap in USD of each run, over all its steps that ask the gateway; default none
``TENDRIL_MAX_CALLS``      hard cap in HTTP calls of each run, over all its steps that ask; default none
=========================  =================================================================================
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

from tendril_assets.errors import MissingHashKey, SettingsError

SANDBOX_PROFILE = "sandbox"
# Public on purpose: identifiers made with it protect nothing, and a release made with it cannot be published.
SANDBOX_HASH_KEY = b"sandbox-identifiers-protect-nothing"
OPENROUTER = "https://openrouter.ai/api/v1"


@dataclass(frozen=True)
class Settings:
    home: Path
    landing: Path
    profile: str | None
    base_url: str
    api_key: str = field(repr=False)
    hash_key_text: str | None = field(repr=False)
    workers: int
    concurrency: int
    max_usd: Decimal | None
    max_calls: int | None
    simap_base_url: str | None = None
    price_table: Path | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "Settings":
        """Raises SettingsError naming the variable, its value and what it should be."""
        env = os.environ if env is None else env
        home = _folder(env, "TENDRIL_HOME", Path.cwd() / ".tendril")
        sandbox = home / "sandbox"
        landing = _folder(env, "TENDRIL_LANDING", sandbox)
        profile = env.get("TENDRIL_PROFILE") or (SANDBOX_PROFILE if landing == sandbox else None)
        return cls(
            home=home,
            landing=landing,
            profile=None if profile == "none" else profile,
            base_url=env.get("TENDRIL_LLM_BASE_URL") or OPENROUTER,
            api_key=env.get("TENDRIL_LLM_API_KEY", ""),
            hash_key_text=env.get("TENDRIL_HASH_KEY"),
            workers=_number(env, "TENDRIL_WORKERS", os.cpu_count() or 1),
            concurrency=_number(env, "TENDRIL_CONCURRENCY", 64),
            max_usd=_money(env, "TENDRIL_MAX_USD"),
            max_calls=_number(env, "TENDRIL_MAX_CALLS", 0) or None,
            simap_base_url=env.get("TENDRIL_SIMAP_BASE_URL") or None,
            price_table=_file(env, "TENDRIL_PRICES"),
        )

    @property
    def lands_sandbox(self) -> bool:
        return self.landing == self.home / "sandbox"

    @property
    def hash_key(self) -> bytes:
        """Raises MissingHashKey: none set and not the sandbox profile, or shorter than 32 bytes."""
        if self.hash_key_text is None or self.hash_key_text == "":
            if self.profile == SANDBOX_PROFILE:
                return SANDBOX_HASH_KEY
            raise MissingHashKey(
                "TENDRIL_HASH_KEY is not set: identifiers of your own landing folder need a secret of at least 32 bytes "
                "(for example from `openssl rand -hex 32`). Keep it: another key gives other identifiers."
            )
        key = self.hash_key_text.encode()
        if len(key) < 32:
            raise MissingHashKey(f"TENDRIL_HASH_KEY has {len(key)} bytes; at least 32 are needed")
        return key

    @property
    def is_sandbox(self) -> bool:
        """True where identifiers are made with the sandbox key; such a release cannot be published."""
        return self.profile == SANDBOX_PROFILE or self.hash_key == SANDBOX_HASH_KEY

    @property
    def warehouse(self) -> Path:
        return self.home / "warehouse.duckdb"

    @property
    def snapshot(self) -> Path:
        return self.home / "snapshot.duckdb"

    @property
    def ledger(self) -> Path:
        return self.home / "ledger"

    @property
    def artifacts(self) -> Path:
        return self.home / "artifacts"

    @property
    def release(self) -> Path:
        return self.home / "release"

    @property
    def reports(self) -> Path:
        return self.home / "reports"


def amount_in_usd(text: str) -> Decimal:
    """An amount in USD, exact. Raises ValueError where ``text`` is no finite number above zero."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount <= 0:
        raise ValueError(f"{text!r} should be an amount in USD above zero, for example 25.00")
    return amount


def _folder(env: Mapping[str, str], name: str, default: Path) -> Path:
    text = env.get(name)
    if not text:
        return default
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise SettingsError(
            f"{name}={text!r} is relative: give an absolute path, so that every process finds the same place"
        )
    return path


def _file(env: Mapping[str, str], name: str) -> Path | None:
    path = _folder(env, name, Path())
    if path == Path():
        return None
    if not path.is_file():
        raise SettingsError(f"{name}={str(path)!r} is no file")
    return path


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name)
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(f"{name}={text!r} should be a whole number of at least 1")
    return int(text)


def _money(env: Mapping[str, str], name: str) -> Decimal | None:
    text = env.get(name)
    if not text:
        return None
    try:
        return amount_in_usd(text)
    except ValueError as error:
        raise SettingsError(f"{name}={error}") from error
