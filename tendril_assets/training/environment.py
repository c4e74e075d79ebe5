"""What the training process is given: no secret, no word of foreign processes, no more threads than processors.

Its job file says all that it needs, so nothing of this product's own settings is handed on, nothing that looks like a
secret, and nothing by which a library would look for other processes (``training.ranks``). What reaches the model hub
(``HF_*``, proxies, certificates), the GPU and the allocator passes as it is.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tendril_assets.training.ranks import is_of_a_group

# Settings of this product and of the orchestrator, among them the key of names and that of the language model.
_OWN = ("TENDRIL_", "DAGSTER_")
# A base model may be gated: the hub's own token stays.
_KEPT = frozenset({"HF_TOKEN", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN"})
_SECRET = re.compile(
    r"(?:^|_)(?:\w*KEYS?|\w*TOKENS?|\w*SECRETS?|\w*PASS(?:WORD|WD|PHRASE)?|PWD|CREDENTIALS?|AUTH|COOKIES?|DSN|"
    r"CONNECTION_STRING)(?:_|$)",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})
_PASSWORD_IN_URL = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
_PROXIES = re.compile(r"^\w+_proxy$|^HF_ENDPOINT$", re.IGNORECASE)
_CGROUP_2, _CGROUP_1 = Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")


def child_environment(given: Mapping[str, str], processes: int = 1) -> dict[str, str]:
    """The environment of the training process, from ``given``, the environment of the process that starts it.

    ``processes`` share ``usable_processors``. ``OMP_NUM_THREADS``, ``OMP_WAIT_POLICY`` and ``TOKENIZERS_PARALLELISM``
    stay as they are where they are set.
    """
    environment = {name: value for name, value in given.items() if not (_is_secret(name, value) or is_of_a_group(name))}
    processors = usable_processors()
    # One process with all processors is torch's own case: it knows cores from threads of cores.
    if processes > 1 or processors < _allowed():
        for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
            environment.setdefault(name, str(max(1, processors // processes)))
    # libgomp's threads spin while they wait for each other, and on shared processors for one that does not run: training on
    # two threads beside four other busy processes on two processors was 4 to 30 times faster without.
    if "GOMP_SPINCOUNT" not in environment:
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # The tokenisers warn at every fork, and the only forks here turn into other programs at once.
    environment.setdefault("TOKENIZERS_PARALLELISM", "true")
    return environment


def usable_processors() -> int:
    """Processors this process may run on: its affinity, and the quota of its container where that is smaller.

    torch and OpenMP look at the first alone, and with a quota start many times more threads than can run.
    """
    allowed, quota = _allowed(), _quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def _allowed() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quota() -> float | None:
    """Processors' worth of time that the control group grants, or None where it sets no limit or there is none.

    Linux: Documentation/admin-guide/cgroup-v2.rst, ``cpu.max`` = "<quota or max> <period>"; in version 1 a file each.
    """
    try:
        if _CGROUP_2.is_file():
            quota, period = _CGROUP_2.read_text(encoding="ascii").split()
            return None if quota == "max" else int(quota) / int(period)
        if _CGROUP_1.is_file():
            quota = _CGROUP_1.read_text(encoding="ascii").strip()
            period = _CGROUP_1.with_name("cpu.cfs_period_us").read_text(encoding="ascii").strip()
            return None if int(quota) < 0 else int(quota) / int(period)
    except (OSError, ValueError):
        return None  # another layout than the kernel's: the affinity decides alone
    return None


def _is_secret(name: str, value: str) -> bool:
    if name.upper() in _KEPT or name.upper() in _NOT_SECRET:
        return False
    if name.upper().startswith(_OWN) or _SECRET.search(name):
        return True
    return bool(_PASSWORD_IN_URL.search(value)) and not _PROXIES.match(name)
