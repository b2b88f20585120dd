"""Makes the product importable for its tests, and what they break for its workers."""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))

from product import PLAIN, Plain, Product  # noqa: E402

from conformance.pytorch_tests.settings import SHARED_ON_DEVICE  # noqa: E402
from conformance.run import Servers  # noqa: E402
from conformance.running.forked import ForkServer  # noqa: E402

# What PyTorch's helpers for tests import, and that does not ask whether there is a backend: more
# than a second for each worker. A run of a user's imports it with the backend loaded, and so do the
# programs of test_pytorch_tests.py that show a failure again.
OF_THE_HELPERS = (
    *("torch._inductor.utils", "torch.utils.cpp_extension", "torch.onnx"),
    *(name for name in ("pytest", "expecttest", "hypothesis") if find_spec(name)),
)


class SharedServers(Servers):
    """Those of all tests."""

    def of(self, shared: tuple[str, ...], **environment: str) -> ForkServer:
        if shared == SHARED_ON_DEVICE:
            shared += OF_THE_HELPERS
        return super().of(shared, **environment)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """What forks the workers of all tests: its imports take seconds."""
    with SharedServers() as servers:
        yield servers


@pytest.fixture(scope="session")
def product(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Product:
    return Product(servers, tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="session")
def plain(product: Product) -> Plain:
    files = product.folder / "plain.json", product.folder / "plain.xml"
    return Plain(product(*PLAIN, f"--json={files[0]}", f"--junit={files[1]}"), *files)
