"""What the training process is given: secrets stay behind, and processors are shared out."""

from pathlib import Path

import pytest

from tendril_assets.training import environment, ranks
from tendril_assets.training.environment import child_environment, usable_processors

SECRETS = {
    "TENDRIL_HASH_KEY": "k" * 32,
    "TENDRIL_LLM_API_KEY": "sk",
    "TENDRIL_HOME": "/data",
    "DAGSTER_CLOUD_API_TOKEN": "t",
    "DAGSTER_HOME": "/data/dagster",
    "OPENROUTER_API_KEY": "sk",
    "OPENAI_APIKEY": "sk",
    "AWS_SECRET_ACCESS_KEY": "s",
    "AWS_SESSION_TOKEN": "s",
    "GOOGLE_APPLICATION_CREDENTIALS": "/secret.json",
    "DB_PASSWORD": "p",
    "PGPASSWORD": "p",
    "MYSQL_PWD": "p",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "SENTRY_DSN": "d",
    "github_token": "g",
    "DATABASE_URL": "postgresql://user:password@host/db",
}
KEPT = {
    "PATH": "/bin",
    "PWD": "/work",
    "HOME": "/home/user",
    "HF_TOKEN": "hf",
    "HF_HOME": "/cache",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "0,1",
    "PYTORCH_ALLOC_CONF": "expandable_segments:True",
    "NCCL_DEBUG": "INFO",
    "https_proxy": "http://user:password@proxy:3128",
    "SSL_CERT_FILE": "/etc/ssl/ca.pem",
    "PYTHONPATH": "/code",
    "OMP_NUM_THREADS": "3",
    "KEYBOARD_LAYOUT": "ch",
}


def test_secrets_stay_behind_and_the_rest_passes() -> None:
    given = child_environment(SECRETS | KEPT)
    assert not set(SECRETS) & set(given)
    assert KEPT.items() <= given.items()


# What a scheduler, MPI, torchrun or accelerate exports, for another program than this.
OF_A_GROUP = {
    "RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "pod-0",
    "MASTER_PORT": "29500",
    "PMI_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "MPI_LOCALRANKID": "1",
    "MV2_COMM_WORLD_RANK": "1",
    "ACCELERATE_MIXED_PRECISION": "bf16",
    "TORCHELASTIC_RUN_ID": "none",
}


def test_no_word_of_other_processes_is_handed_on() -> None:
    kept = {"RANKING": "1", "MY_WORLD_SIZE": "4", "IMPI": "x", "LOCAL_TIME": "y"}
    given = child_environment(OF_A_GROUP | kept)
    assert not OF_A_GROUP.keys() & given.keys()
    assert kept.items() <= given.items()


def test_only_torchrun_makes_a_process_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OF_A_GROUP.items():
        monkeypatch.setenv(name, value)
    assert (ranks.announced_rank(), ranks.announced_size()) == (1, 4)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    assert (ranks.announced_rank(), ranks.announced_size()) == (None, 1)


def test_one_process_with_all_processors_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_allowed", lambda: 8)
    monkeypatch.setattr(environment, "_quota", lambda: None)
    assert child_environment({}) == {"TOKENIZERS_PARALLELISM": "true", "OMP_WAIT_POLICY": "PASSIVE"}
    for own in ({"OMP_WAIT_POLICY": "ACTIVE"}, {"GOMP_SPINCOUNT": "0"}):
        assert child_environment(own) == {"TOKENIZERS_PARALLELISM": "true", **own}
    assert child_environment({}, processes=3)["OMP_NUM_THREADS"] == "2"
    assert child_environment({}, processes=20)["OMP_NUM_THREADS"] == "1"
    assert child_environment({"OMP_NUM_THREADS": "5"}, processes=2)["OMP_NUM_THREADS"] == "5"


@pytest.mark.parametrize(
    ("limit", "processors"),
    [("max 100000", 64), ("250000 100000", 2), ("50000 100000", 1), ("6400000 50000", 64), ("?", 64)],
)
def test_a_container_s_quota_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, processors: int
) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(limit + "\n")
    monkeypatch.setattr(environment, "_CGROUP_2", file)
    monkeypatch.setattr(environment, "_allowed", lambda: 64)
    assert usable_processors() == processors
    threads = child_environment({}).get("OMP_NUM_THREADS")
    assert threads == (None if processors == 64 else str(processors))


def test_the_first_version_s_quota_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.cfs_quota_us").write_text("400000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(environment, "_CGROUP_2", tmp_path / "none")
    monkeypatch.setattr(environment, "_CGROUP_1", tmp_path / "cpu.cfs_quota_us")
    monkeypatch.setattr(environment, "_allowed", lambda: 64)
    assert usable_processors() == 4
    (tmp_path / "cpu.cfs_quota_us").write_text("-1\n")
    assert usable_processors() == 64
