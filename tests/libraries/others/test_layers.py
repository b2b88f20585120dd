"""Layers, optimizers, metrics, attributions. What a library refuses is tested too, so that it is
noticed when it no longer does."""

import pytest
import torch

from .comparing import agrees, perceptron, trained


def test_layers_of_einops_train():
    einops = pytest.importorskip("einops")
    layers = pytest.importorskip("einops.layers.torch")

    def program(on):
        model = torch.nn.Sequential(
            layers.Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4),
            layers.EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=48, d=16),
            layers.Reduce("b t d -> b d", "mean"),
        ).to(on)
        images = torch.randn(2, 3, 8, 8).to(on)
        losses = trained(model, lambda m: m(images).square().mean())
        packed, shapes = einops.pack([images, images[:, 0]], "b *")
        unpacked = einops.unpack(packed, shapes, "b *")
        repeated = einops.repeat(images, "b c h w -> b c (h 2) w")
        return losses, unpacked, repeated, einops.einsum(images, images, "b c h w, b d h w -> c d")

    agrees(program)


def test_schedulefree_trains():
    schedulefree = pytest.importorskip("schedulefree")

    def program(on):
        model = perceptron().to(on)
        data = torch.randn(32, 8).to(on)
        optimizer = schedulefree.AdamWScheduleFree(model.parameters(), lr=1e-2, warmup_steps=2)
        optimizer.train()
        losses = trained(model, lambda m: m(data).square().mean(), optimizer)
        optimizer.eval()
        return losses, model(data)

    agrees(program)


def test_torchmetrics_counts_on_the_device():
    torchmetrics = pytest.importorskip("torchmetrics")

    def program(on):
        kinds = torchmetrics.MetricCollection(
            {
                "accuracy": torchmetrics.Accuracy("multiclass", num_classes=3),
                "f1": torchmetrics.F1Score("multiclass", num_classes=3, average="macro"),
                "auroc": torchmetrics.AUROC("multiclass", num_classes=3),
                "confusion": torchmetrics.ConfusionMatrix("multiclass", num_classes=3),
                "precision": torchmetrics.AveragePrecision("multiclass", num_classes=3),
            }
        ).to(on)
        numbers = torchmetrics.MetricCollection(
            [
                torchmetrics.MeanSquaredError(),
                torchmetrics.PearsonCorrCoef(),
                torchmetrics.SpearmanCorrCoef(),
                torchmetrics.R2Score(),
            ]
        ).to(on)
        for _ in range(3):
            kinds.update(torch.randn(16, 3).softmax(1).to(on), torch.randint(3, (16,)).to(on))
            numbers.update(torch.randn(16).to(on), torch.randn(16).to(on))
        images = torchmetrics.image.StructuralSimilarityIndexMeasure(data_range=1.0).to(on)
        images.update(torch.rand(2, 3, 32, 32).to(on), torch.rand(2, 3, 32, 32).to(on))
        return dict(kinds.compute()), dict(numbers.compute()), images.compute()

    agrees(program)


@pytest.mark.parametrize(
    "name",
    ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig", "IntxWeightOnlyConfig"],
)
def test_quantized_layers_of_torchao(name):
    quantization = pytest.importorskip("torchao.quantization")

    def program(on):
        model = torch.nn.Sequential(
            torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32)
        ).to(on)
        quantization.quantize_(model, getattr(quantization, name)())
        assert type(model[0].weight) is not torch.nn.Parameter
        return model(torch.randn(4, 64).to(on))

    agrees(program)


def test_dynamic_float8_of_torchao_looks_for_cuda():
    quantization = pytest.importorskip("torchao.quantization")
    model = torch.nn.Sequential(torch.nn.Linear(64, 64)).to("acme", torch.bfloat16)
    with pytest.raises(AssertionError, match="requires CUDA compute capability"):
        quantization.quantize_(model, quantization.Float8DynamicActivationFloat8WeightConfig())


def test_attributions_of_captum():
    captum = pytest.importorskip("captum.attr")

    def program(on):
        model, data = perceptron().to(on), torch.randn(4, 8).to(on).requires_grad_()
        return [
            getattr(captum, name)(model).attribute(data, target=1)
            for name in ("IntegratedGradients", "DeepLift", "Saliency", "FeatureAblation")
        ]

    agrees(program)
