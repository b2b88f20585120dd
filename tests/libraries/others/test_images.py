"""Images. What a library refuses is tested too, so that it is noticed
when it no longer does."""

import pytest
import torch
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from .comparing import agrees, perceptron, trained


def test_filters_and_losses_of_kornia():
    kornia = pytest.importorskip("kornia")

    def program(on):
        images = torch.rand(2, 3, 24, 24).to(on).requires_grad_()
        angle = torch.tensor([30.0, -45.0]).to(on)
        blurred = kornia.filters.gaussian_blur2d(images, (5, 5), (1.5, 1.5))
        results = [
            blurred,
            kornia.filters.sobel(images),
            kornia.filters.median_blur(images, (3, 3)),
            kornia.color.rgb_to_hsv(images),
            kornia.color.rgb_to_lab(images),
            kornia.geometry.transform.rotate(images, angle),
            kornia.geometry.transform.resize(images, (16, 16)),
            kornia.morphology.dilation(images, torch.ones(3, 3).to(on)),
            kornia.losses.ssim_loss(images, blurred, 5),
            kornia.feature.harris_response(images),
            kornia.enhance.equalize(images.detach()),
        ]
        total = sum(it.sum() for it in results[:6])
        points = torch.rand(1, 8, 2).to(on)
        homography = kornia.geometry.find_homography_dlt(points, points * 2 + 1)
        return results, torch.autograd.grad(total, images), homography

    agrees(program, rtol=1e-3, atol=1e-4)


def test_augmentations_of_kornia():
    augmentation = pytest.importorskip("kornia.augmentation")

    def program(on):
        chain = augmentation.AugmentationSequential(
            augmentation.RandomHorizontalFlip(p=1.0),
            augmentation.Normalize(torch.full((3,), 0.5), torch.full((3,), 0.2)),
            augmentation.CenterCrop(16),
            data_keys=["input", "mask"],
        ).to(on)
        return chain(torch.rand(2, 3, 24, 24).to(on), torch.rand(2, 1, 24, 24).round().to(on))

    agrees(program)


def test_network_of_monai_trains():
    pytest.importorskip("monai")
    from monai.inferers import sliding_window_inference
    from monai.losses import DiceCELoss
    from monai.metrics import DiceMetric
    from monai.networks.nets import UNet

    def program(on):
        model = UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1).to(on)
        images = torch.randn(2, 1, 16, 16).to(on)
        kinds = torch.randint(2, (2, 1, 16, 16)).to(on)
        loss = DiceCELoss(to_onehot_y=True, softmax=True)
        losses = trained(model, lambda m: loss(m(images), kinds))
        model.eval()
        with torch.no_grad():
            whole = sliding_window_inference(
                torch.randn(1, 1, 24, 24).to(on), (16, 16), 2, model, mode="gaussian"
            )
        metric = DiceMetric(num_classes=2)
        metric(model(images).argmax(1, keepdim=True), kinds)
        return losses, whole, metric.aggregate()

    agrees(program)


def test_transforms_of_monai_run_on_the_device():
    transforms = pytest.importorskip("monai.transforms")

    def program(on):
        chain = transforms.Compose(
            [
                transforms.EnsureTyped("image", device=torch.device(on)),
                transforms.ScaleIntensityd("image"),
                transforms.Rotate90d("image"),
                transforms.Zoomd("image", zoom=1.5),
                transforms.Affined("image", rotate_params=0.3, padding_mode="zeros"),
                transforms.GaussianSmoothd("image", sigma=1.0),
                transforms.Resized("image", (20, 20)),
                transforms.NormalizeIntensityd("image"),
            ]
        )
        image = chain({"image": torch.rand(1, 16, 16)})["image"]
        return image.as_tensor()

    agrees(program, rtol=1e-3, atol=1e-4)


def test_mixed_precision_of_monai_is_for_cuda():
    engines = pytest.importorskip("monai.engines")
    pytest.importorskip("ignite")
    model = perceptron().to("acme")
    seen = set()
    model[0].register_forward_hook(lambda layer, inputs, output: seen.add(output.dtype))
    rows = [{"image": torch.randn(8), "label": torch.tensor(1)}] * 4
    with pytest.warns(UserWarning, match="CUDA is not available"):
        engines.SupervisedTrainer(
            torch.device("acme"),
            1,
            torch.utils.data.DataLoader(rows, batch_size=4),
            model,
            torch.optim.SGD(model.parameters(), lr=0.1),
            torch.nn.CrossEntropyLoss(),
            amp=True,
        ).run()
    assert seen == {torch.float32}


def tiny_unet(**changes):
    diffusers = pytest.importorskip("diffusers")
    shape = {
        "sample_size": 8,
        "in_channels": 3,
        "out_channels": 3,
        "layers_per_block": 1,
        "block_out_channels": (8, 16),
        "norm_num_groups": 4,
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    return diffusers.UNet2DModel(**shape | changes)


def test_denoiser_of_diffusers_trains():
    diffusers = pytest.importorskip("diffusers")

    def program(on):
        model, scheduler = tiny_unet().to(on), diffusers.DDPMScheduler(100)
        images, noise = torch.randn(2, 3, 8, 8).to(on), torch.randn(2, 3, 8, 8).to(on)
        times = torch.randint(100, (2,)).to(on)
        noised = scheduler.add_noise(images, noise, times)
        return trained(model, lambda m: functional.mse_loss(m(noised, times).sample, noise))

    agrees(program)


@pytest.mark.parametrize("name", ["DDIMPipeline", "DDPMPipeline"])
def test_pipeline_of_diffusers_draws(name):
    diffusers = pytest.importorskip("diffusers")

    def program(on):
        scheduler = getattr(diffusers, name.replace("Pipeline", "Scheduler"))(100)
        pipeline = getattr(diffusers, name)(tiny_unet(), scheduler).to(on)
        pipeline.set_progress_bar_config(disable=True)
        assert pipeline.device.type == on
        generator = torch.Generator().manual_seed(0)
        result = pipeline(num_inference_steps=3, generator=generator, output_type="np")
        return result.images.tolist()

    agrees(program, rtol=1e-3, atol=1e-3)


def offloaded_images(how):
    """What a pipeline draws whose models `how(pipeline)` moves to the device when they run."""
    diffusers = pytest.importorskip("diffusers")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    text = transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            vocab_size=50,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=8,
        )
    )
    unet = diffusers.UNet2DConditionModel(
        sample_size=8,
        in_channels=4,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        cross_attention_dim=16,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    pipeline = diffusers.StableDiffusionPipeline(
        vae=vae.eval(),
        text_encoder=text.eval(),
        tokenizer=None,
        unet=unet.eval(),
        scheduler=diffusers.DDIMScheduler(100),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.set_progress_bar_config(disable=True)
    ran = set()
    for each in (unet, vae.decoder):
        each.register_forward_hook(
            lambda m, inputs, output: ran.update(
                it.device.type for it in tree_leaves(output) if isinstance(it, torch.Tensor)
            )
        )
    how(pipeline)
    images = pipeline(
        prompt_embeds=torch.linspace(-1, 1, 128).view(1, 8, 16),
        guidance_scale=1.0,
        num_inference_steps=3,
        generator=torch.Generator().manual_seed(0),
        output_type="np",
    ).images
    return torch.from_numpy(images), ran, {it.device.type for it in unet.parameters()}


@pytest.mark.parametrize(
    ("name", "rest"),
    [("enable_model_cpu_offload", "cpu"), ("enable_sequential_cpu_offload", "meta")],
)
def test_offload_of_diffusers(name, rest):
    expected, _, _ = offloaded_images(lambda it: None)
    found, ran, resting = offloaded_images(lambda it: getattr(it, name)(device="acme"))
    assert ran == {"acme"}
    assert resting == {rest}
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_group_offload_of_diffusers():
    def offload(pipeline):
        for each in (pipeline.unet, pipeline.vae):
            each.enable_group_offload(
                onload_device=torch.device("acme"),
                offload_device=torch.device("cpu"),
                offload_type="leaf_level",
                use_stream=True,
            )
        pipeline.text_encoder.to("acme")

    expected, _, _ = offloaded_images(lambda it: None)
    found, ran, _ = offloaded_images(offload)
    assert ran == {"acme"}
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
