"""``dagster dev`` without the warnings that a user of ``tendril ui`` can do nothing about.

``python -m tendril_assets.dagster_dev`` takes the arguments of ``dagster dev``. Three warnings are left out, each by its
own words: that ``dagster dev`` has a successor, that Dagster's library uses a parameter of its own that is in beta, and
that the ``dagster.yaml`` of the working directory is not the one in use, where both say the same, as in a checkout.
"""

import logging
import os
import runpy
import sys
import warnings
from pathlib import Path

# The beginnings of messages.
SUPERSEDED = "Function `dev_command` is superseded"
BETA = "Parameter `execution_type` of function `AssetsDefinition.__init__` is currently in beta"
_OTHER_SETTINGS = "Found a dagster instance configuration value (dagster.yaml) in the current folder"


def python_warnings(given: str | None) -> str:
    """``PYTHONWARNINGS`` for Dagster's services, which are processes of their own; ``given`` is what it was, and wins."""
    return ",".join(filter(None, [f"ignore:{BETA}", given]))


def is_news(record: logging.LogRecord) -> bool:
    """Whether a log line says something: not that settings are left unread which are the same as those in use."""
    if not record.getMessage().startswith(_OTHER_SETTINGS):
        return True
    in_use = Path(os.environ["DAGSTER_HOME"]) / "dagster.yaml"
    return not in_use.is_file() or in_use.read_bytes() != Path("dagster.yaml").read_bytes()


def main() -> None:
    """Run ``dagster dev`` in this process, with this process's arguments."""
    os.environ["PYTHONWARNINGS"] = python_warnings(os.environ.get("PYTHONWARNINGS"))
    warnings.filterwarnings("ignore", message=SUPERSEDED)
    logging.getLogger("dagster").addFilter(is_news)
    sys.argv[1:1] = ["dev"]
    runpy.run_module("dagster", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
