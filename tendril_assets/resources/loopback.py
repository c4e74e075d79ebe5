"""Which addresses are this machine's own: no proxy of the environment stands between."""

_NAMES = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str | None) -> bool:
    """Whether a URL's host, in small letters and without brackets, is this machine itself."""
    return host in _NAMES
