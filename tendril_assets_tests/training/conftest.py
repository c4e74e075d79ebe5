"""Shared by the training tests: one tiny encoder, one thread."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tendril_assets_tests.training.toy import tiny_encoder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def encoder_without_dropout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("encoder_without_dropout"), dropout=0.0)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums in torch depend on the number of threads in the last digit; curves are compared between processes here."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
