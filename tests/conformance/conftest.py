"""Makes the product importable for its tests, and what they break for its workers."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))

from product import Product  # noqa: E402

from conformance.run import Servers  # noqa: E402


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """What forks the workers of all tests: its imports take seconds."""
    with Servers() as servers:
        yield servers


@pytest.fixture(scope="session")
def product(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Product:
    return Product(servers, tmp_path_factory.mktemp("product"))
