"""Lightning's Trainer and Fabric."""

import pickle
import re

import lightning
import pytest
import torch
from lightning.fabric import Fabric
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


class Network(lightning.LightningModule):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(16, 64), torch.nn.Dropout(dropout), torch.nn.Linear(64, 4)
        )
        self.losses, self.dtypes = [], set()

    def training_step(self, batch, _):
        x, kinds = batch
        result = self.layers(x)
        self.dtypes.add(result.dtype)
        loss = functional.cross_entropy(result, kinds)
        self.log("loss", loss, sync_dist=True)
        self.losses.append(loss.detach().cpu().float())
        return loss

    def validation_step(self, batch, _):
        x, kinds = batch
        self.log("accuracy", (self.layers(x).argmax(1) == kinds).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def data():
    torch.manual_seed(1)
    return DataLoader(TensorDataset(torch.randn(64, 16), torch.randint(4, (64,))), 8)


def fit(accelerator, folder, epochs=2, checkpoint=None, dropout=0.0, **options):
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        accelerator=accelerator,
        max_epochs=epochs,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **options,
    )
    network = Network(dropout)
    trainer.fit(network, data(), data(), ckpt_path=checkpoint)
    return trainer, network


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [
        ("32-true", torch.float32),
        ("bf16-mixed", torch.bfloat16),
        ("16-mixed", torch.float16),
        ("bf16-true", torch.bfloat16),
    ],
)
def test_the_trainer_trains_as_on_the_cpu(tmp_path, precision, dtype):
    trainer, here = fit("acme", tmp_path, devices=1, precision=precision)
    assert trainer.strategy.root_device == torch.device("acme", 0)
    assert here.dtypes == {dtype}
    _, there = fit("cpu", tmp_path)
    close = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(
        torch.stack(here.losses), torch.stack(there.losses), rtol=close, atol=close
    )


def test_no_operator_of_a_step_is_on_the_cpu(tmp_path, nothing_on_the_cpu):
    class Watched(Network):
        def training_step(self, batch, i):
            with nothing_on_the_cpu():
                return functional.cross_entropy(self.layers(batch[0]), batch[1])

    trainer = lightning.Trainer(
        accelerator="acme", devices=1, max_steps=2, logger=False, default_root_dir=tmp_path
    )
    network = Watched()
    trainer.fit(network, data())
    assert trainer.global_step == 2


def test_a_checkpoint_is_loaded(tmp_path):
    trainer, whole = fit("acme", tmp_path, devices=1)
    saved = trainer.checkpoint_callback.best_model_path
    loaded = Network.load_from_checkpoint(saved, weights_only=False)
    for one, other in zip(loaded.parameters(), whole.parameters(), strict=True):
        assert torch.equal(one.cpu(), other.cpu())
    _, more = fit("acme", tmp_path, epochs=3, checkpoint=saved, devices=1)
    assert len(more.losses) == 8


@pytest.mark.parametrize("devices", [1, "1", [1], "1,", "auto", -1])
def test_which_devices(tmp_path, devices):
    trainer = lightning.Trainer(accelerator="acme", devices=devices, logger=False)
    count = torch.acme.device_count()
    chosen = {1: [0], "1": [0], "1,": [1], "auto": range(count), -1: range(count)}
    indices = chosen[devices] if isinstance(devices, (int, str)) else devices
    assert trainer.strategy.root_device in [torch.device("acme", i) for i in indices]
    assert trainer.num_devices == len(indices)


def test_the_device_is_what_auto_means(tmp_path):
    assert lightning.Trainer(logger=False).accelerator.name() == "acme"
    assert Fabric(devices=1).device.type == "acme"


def test_an_instance_is_what_its_name_is():
    here = lightning.pytorch.accelerators.AcceleratorRegistry.get("acme")
    trainer = lightning.Trainer(accelerator=here, devices=1, logger=False)
    assert trainer.strategy.root_device.type == "acme"
    assert pickle.loads(pickle.dumps(trainer)).strategy.root_device.type == "acme"
    here = lightning.fabric.accelerators.ACCELERATOR_REGISTRY.get("acme")
    assert Fabric(accelerator=here, devices=1).device.type == "acme"


def test_a_batch_that_does_not_fit_gets_smaller(tmp_path):
    class Big(Network):
        batch_size = 4

        def training_step(self, batch, i):
            if self.batch_size > 16:
                torch.empty(1 << 50, device=self.device)
            return super().training_step(batch, i)

        def train_dataloader(self):
            return DataLoader(data().dataset, self.batch_size)

        def val_dataloader(self):
            return data()

    trainer = lightning.Trainer(
        accelerator="acme", devices=1, max_epochs=1, logger=False, default_root_dir=tmp_path
    )
    tuner = lightning.pytorch.tuner.Tuner(trainer)
    assert tuner.scale_batch_size(Big(), mode="power", max_trials=5, steps_per_trial=1) == 16


@pytest.mark.parametrize("devices", [99, [99], [0, 0], "0,99", [-1, 0], "all", "", 1.0])
def test_devices_that_are_not_there_are_refused(devices):
    with pytest.raises(ValueError, match=r"acme has \d+ here"):
        lightning.Trainer(accelerator="acme", devices=devices)


def test_fabric(nothing_on_the_cpu):
    found = {}
    for accelerator in ("acme", "cpu"):
        fabric = Fabric(accelerator=accelerator, devices=1, precision="bf16-mixed")
        torch.manual_seed(0)
        model = torch.nn.Linear(16, 4)
        model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
        losses = []
        for x, kinds in fabric.setup_dataloaders(data()):
            loss = functional.cross_entropy(model(x), kinds)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().cpu().float())
        assert next(model.parameters()).device.type == accelerator
        found[accelerator] = torch.stack(losses)
    torch.testing.assert_close(found["acme"], found["cpu"], rtol=2e-2, atol=2e-2)


_RANKS = """
    import lightning, torch
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    from tests.libraries.test_lightning import fit

    def fp16_compress_hook(state, bucket):
        print("COMPRESSED", flush=True)
        return default_hooks.fp16_compress_hook(state, bucket)

    if __name__ == "__main__":
        trainer, network = fit("acme", "out", {options})
        strategy = type(trainer.strategy).__name__
        device, dtypes = trainer.strategy.root_device, network.dtypes
        print(f"FOUND {{device}} {{strategy}} {{len(network.losses)}} {{dtypes}}", flush=True)
"""


@pytest.mark.parametrize(
    ("options", "strategy", "dtype"),
    [
        ("devices=2", "DDPStrategy", torch.float32),
        ("devices=2, strategy='ddp', precision='bf16-mixed'", "DDPStrategy", torch.bfloat16),
        ("devices=2, strategy='ddp', precision='16-mixed'", "DDPStrategy", torch.float16),
        (
            "devices=2, strategy=lightning.pytorch.strategies.DDPStrategy("
            "ddp_comm_hook=fp16_compress_hook)",
            "DDPStrategy",
            torch.float32,
        ),
        ("devices=2, strategy='fsdp'", "FSDPStrategy", torch.float32),
        ("devices=2, strategy='fsdp', precision='bf16-mixed'", "FSDPStrategy", torch.bfloat16),
        ("devices=2, strategy='fsdp', precision='16-mixed'", "FSDPStrategy", torch.float16),
    ],
)
def test_two_processes(run, options, strategy, dtype):
    printed = run(_RANKS.format(options=options))
    lines = sorted(re.findall(r"FOUND .*?}", printed))
    assert lines == [f"FOUND acme:{i} {strategy} 8 {{{dtype}}}" for i in range(2)]
    assert ("COMPRESSED" in printed) == ("hook" in options)
    assert "CUDA is not available" not in printed  # of a scaler


def test_spawned_processes(run):
    printed = run(
        """
        from tests.libraries.test_lightning import fit

        if __name__ == "__main__":
            trainer, _ = fit("acme", "out", devices=2, strategy="ddp_spawn")
            print("FOUND", sorted(trainer.callback_metrics))
        """
    )
    assert "FOUND ['accuracy', 'loss']" in printed
