"""Regular expressions compiled at their first use.

The rules hold several hundred of them. Compiled when the code location loads, they would double the time it takes, in
every step's process; most processes need few or none.
"""

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        """Asked for what is not here yet: compile, and take over what a pattern can do, so that this is called once."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        self.__dict__.update({known: getattr(compiled, known) for known in _KNOWN})
        return getattr(compiled, name)


_KNOWN = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Used like ``re.compile(source, flags)``, through methods and attributes; a faulty source raises at first use."""
    return cast(re.Pattern[str], _Lazy(source, int(flags)))
