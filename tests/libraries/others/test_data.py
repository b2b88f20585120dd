"""Files and collections of tensors. What a library refuses is tested too, so that it is noticed
when it no longer does."""

import pytest
import torch

from .comparing import agrees, perceptron


@pytest.mark.parametrize("index", [0, 1])
def test_safetensors_loads_by_index(index, tmp_path):
    files = pytest.importorskip("safetensors.torch")
    saved = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.ones(2, dtype=torch.bfloat16)}
    path = tmp_path / "saved.safetensors"
    files.save_file({name: it.to("acme") for name, it in saved.items()}, path)
    for name, it in files.load_file(path, device=index).items():
        assert it.device == torch.device("acme", index)
        assert it.cpu().equal(saved[name])


@pytest.mark.parametrize("device", ["acme", "acme:1", torch.device("acme", 1)], ids=str)
def test_safetensors_refuses_the_name(device, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    files = pytest.importorskip("safetensors.torch")
    path = tmp_path / "saved.safetensors"
    files.save_file({"a": torch.ones(2, device="acme")}, path)
    with pytest.raises(safetensors.SafetensorError, match="is invalid"):
        safetensors.safe_open(path, "pt", device=device)


def test_models_are_saved_by_safetensors(tmp_path):
    files = pytest.importorskip("safetensors.torch")
    model, again = perceptron().to("acme"), perceptron().to("acme")
    files.save_model(model, tmp_path / "model.safetensors")
    files.load_model(again, tmp_path / "model.safetensors")
    assert all(it.device.type == "acme" for it in again.parameters())
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        assert one.equal(other)
    read = files.load(files.save({"a": model[0].weight}))
    assert read["a"].equal(model[0].weight.cpu())


def test_rows_of_datasets_are_on_the_device():
    datasets = pytest.importorskip("datasets")
    rows = {"words": [[1, 2, 3], [4, 5, 6]], "value": [0.5, 1.5], "name": ["a", "b"]}
    formatted = datasets.Dataset.from_dict(rows).with_format("torch", device="acme")
    assert formatted[0]["words"].device.type == "acme"
    assert formatted[:]["words"].tolist() == rows["words"]
    assert formatted[:]["value"].device.type == "acme"
    factor = torch.tensor(2.0, device="acme")
    doubled = formatted.map(lambda row: {"value": row["value"] * factor})
    assert doubled[:]["value"].device.type == "acme"
    assert doubled[:]["value"].tolist() == [1.0, 3.0]
    batches = list(torch.utils.data.DataLoader(formatted, batch_size=2))
    assert batches[0]["words"].device.type == "acme"


def test_iterable_rows_of_datasets_take_no_device():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"value": [0.5, 1.5]})
    assert next(iter(rows.to_iterable_dataset().with_format("torch")))["value"].device.type == "cpu"
    with pytest.raises(TypeError, match="device"):
        rows.to_iterable_dataset().with_format("torch", device="acme")
    with pytest.raises(NotImplementedError, match="formatted dataset"):
        rows.with_format("torch", device="acme").to_iterable_dataset()


def test_metric_of_evaluate_takes_tensors_of_the_device(tmp_path):
    evaluate = pytest.importorskip("evaluate")
    datasets = pytest.importorskip("datasets")

    class Accuracy(evaluate.Metric):
        def _info(self):
            features = datasets.Features(
                {"predictions": datasets.Value("int32"), "references": datasets.Value("int32")}
            )
            return evaluate.MetricInfo(description="", citation="", features=features)

        def _compute(self, predictions, references):
            return {"accuracy": sum(a == b for a, b in zip(predictions, references, strict=True))}

    metric = Accuracy(cache_dir=str(tmp_path))
    metric.add_batch(
        predictions=torch.tensor([1, 2, 3], device="acme"),
        references=torch.tensor([1, 0, 3], device="acme"),
    )
    assert metric.compute() == {"accuracy": 2}


def test_tensordict_moves_and_computes(tmp_path):
    tensordict = pytest.importorskip("tensordict")
    modules = pytest.importorskip("tensordict.nn")

    def program(on):
        rows = tensordict.TensorDict({"a": torch.randn(4, 3), "b": {"c": torch.arange(4)}}, [4])
        moved = rows.to(on)
        model = modules.TensorDictModule(torch.nn.Linear(3, 2), ["a"], ["y"]).to(on)
        computed = model(moved)
        moved.select("a", ("b", "c")).memmap(tmp_path / on)
        read = tensordict.TensorDict.load_memmap(tmp_path / on, device=on)
        assert moved.device.type == read.device.type == on
        stacked = torch.stack([moved, moved]).consolidate()
        return computed["y"], read["a"], stacked["b", "c"]

    agrees(program)
