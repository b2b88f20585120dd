"""torch.package: modules on the device, and code that uses the methods."""

import io

import pytest
import torch
from torch import nn
from torch.package import PackageExporter, PackageImporter

pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
    pytest.mark.filterwarnings("ignore:.*torch.jit"),
]

CODE = """
import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x):
        x = x if x.is_acme else x.acme()
        return self.linear(x) + self.offset


def moved(x):
    return torch.Tensor.acme(x) + 1


METHOD = torch.Tensor.acme
"""


@pytest.fixture
def package():
    """An importer of what `fill` puts into a package."""

    def make(fill) -> PackageImporter:
        file = io.BytesIO()
        with PackageExporter(file) as exporter:
            exporter.extern(["torch.**", "torch_acme.**"])
            fill(exporter)
        file.seek(0)
        return PackageImporter(file)

    return make


def test_packaged_code_has_the_methods(package):
    importer = package(lambda exporter: exporter.save_source_string("code_in_package", CODE))
    code = importer.import_module("code_in_package")
    assert code.moved(torch.ones(1)).tolist() == [2]
    assert code.METHOD is torch.Tensor.acme
    network = code.Network().acme()
    assert network.linear.weight.is_acme and network(torch.ones(1, 2)).is_acme


def test_a_packaged_module_comes_back_on_the_device(package):
    first = package(lambda exporter: exporter.save_source_string("code_in_package", CODE))
    network = first.import_module("code_in_package").Network().acme()
    x = torch.ones(1, 2)
    expected = network(x)

    # A module whose class is in a package already: its code goes along.
    file = io.BytesIO()
    with PackageExporter(file, importer=[first, torch.package.sys_importer]) as exporter:
        exporter.extern("torch.**")
        exporter.intern("code_in_package")
        exporter.save_pickle("model", "model.pkl", network)
    for place, is_there in [(None, True), ("cpu", False), ("acme", True)]:
        file.seek(0)
        back = PackageImporter(file).load_pickle("model", "model.pkl", map_location=place)
        assert type(back) is not type(network)
        assert back.linear.weight.is_acme is is_there and back.offset.is_acme is is_there
        assert torch.equal(back.acme()(x).cpu(), expected.cpu())


def test_modules_of_torch_need_no_code(package):
    module = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1)).acme()
    importer = package(lambda exporter: exporter.save_pickle("model", "model.pkl", module))
    back = importer.load_pickle("model", "model.pkl")
    assert all(tensor.is_acme for tensor in back.state_dict().values())
    assert torch.equal(back[0].weight.cpu(), module[0].weight.cpu())


def test_tensors_that_share_memory_share_it_again(package):
    base = torch.arange(4.0).acme()

    def fill(exporter) -> None:
        exporter.save_pickle("data", "whole.pkl", {"whole": base, "part": base[1:3]})

    back = package(fill).load_pickle("data", "whole.pkl")
    back["whole"].zero_()
    assert back["part"].is_acme and back["part"].tolist() == [0, 0]


def test_bound_methods_and_devices_can_be_packaged(package):
    def fill(exporter) -> None:
        exporter.save_pickle("data", "move.pkl", [torch.ones(2).acme, torch.device("acme", 0)])

    move, device = package(fill).load_pickle("data", "move.pkl")
    assert move().is_acme and device == torch.device("acme", 0)


def test_resources_are_tensors_again(package):
    def fill(exporter) -> None:
        exporter.save_source_string("code_in_package", CODE)
        file = io.BytesIO()
        torch.save(torch.arange(3.0).acme(), file)
        exporter.save_binary("data", "tensor.pt", file.getvalue())
        exporter.save_text("data", "device.txt", "acme:0")

    importer = package(fill)
    tensor = torch.load(io.BytesIO(importer.load_binary("data", "tensor.pt")))
    assert tensor.is_acme and tensor.tolist() == [0, 1, 2]
    device = importer.load_text("data", "device.txt")
    assert importer.import_module("code_in_package").METHOD(torch.ones(1), device).is_acme


def test_a_script_module_in_a_package_stays_on_the_device(package):
    module = torch.jit.trace(nn.Linear(2, 1), torch.ones(1, 2)).acme()
    importer = package(lambda exporter: exporter.save_pickle("model", "model.pkl", module))
    back = importer.load_pickle("model", "model.pkl")
    assert all(parameter.is_acme for parameter in back.parameters())
    assert back(torch.ones(1, 2, device="acme")).is_acme
