"""Whoever writes the training loop. What a library refuses is tested too, so that it is noticed
when it no longer does."""

import importlib
import importlib.util

import pytest
import torch
from torch.nn import functional

from .comparing import STEPS, agrees, perceptron


def test_engines_of_ignite_train_and_evaluate():
    engine = pytest.importorskip("ignite.engine")
    metrics = pytest.importorskip("ignite.metrics")

    def program(on):
        model = perceptron().to(on)
        batches = [(torch.randn(8, 8), torch.randint(3, (8,))) for _ in range(STEPS)]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        trainer = engine.create_supervised_trainer(
            model, optimizer, functional.cross_entropy, device=on
        )
        losses = []
        trainer.add_event_handler(
            engine.Events.ITERATION_COMPLETED, lambda it: losses.append(it.state.output)
        )
        trainer.run(batches, max_epochs=2)
        evaluator = engine.create_supervised_evaluator(
            model,
            {
                "accuracy": metrics.Accuracy(device=on),
                "loss": metrics.Loss(functional.cross_entropy, device=on),
                "confusion": metrics.ConfusionMatrix(3, device=on),
            },
            device=on,
        )
        found = evaluator.run(batches).metrics
        confusion = found.pop("confusion")
        return losses, found, confusion.cpu().tolist()

    agrees(program)


def test_mixed_precision_of_ignite_is_for_cuda():
    engine = pytest.importorskip("ignite.engine")
    model = perceptron().to("acme")
    seen = set()
    model[0].register_forward_hook(lambda layer, inputs, output: seen.add(output.dtype))
    trainer = engine.create_supervised_trainer(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        functional.cross_entropy,
        device="acme",
        amp_mode="amp",
    )
    with pytest.warns(UserWarning, match="CUDA is not available"):
        trainer.run([(torch.randn(8, 8), torch.randint(3, (8,)))])
    assert seen == {torch.float32}


def test_classifier_of_skorch_trains():
    skorch = pytest.importorskip("skorch")

    def program(on):
        data, kinds = torch.randn(64, 8).numpy(), torch.randint(3, (64,)).numpy()
        net = skorch.NeuralNetClassifier(
            perceptron(),
            criterion=torch.nn.CrossEntropyLoss,
            max_epochs=3,
            batch_size=16,
            lr=0.1,
            iterator_train__shuffle=False,
            train_split=None,
            verbose=0,
            device=on,
        )
        net.fit(data, kinds)
        assert next(net.module_.parameters()).device.type == on
        return net.history[:, "train_loss"], torch.tensor(net.predict_proba(data)).tolist()

    agrees(program)


def test_agent_of_stable_baselines_trains():
    agents = pytest.importorskip("stable_baselines3")

    def program(on):
        agent = agents.DQN(
            "MlpPolicy",
            "CartPole-v1",
            learning_starts=50,
            train_freq=4,
            batch_size=16,
            policy_kwargs={"net_arch": [16]},
            seed=0,
            device=on,
        )
        agent.learn(200)
        assert agent.device.type == on
        return list(agent.q_net.parameters())

    agrees(program, rtol=1e-3, atol=1e-4)


def test_policy_gradient_of_stable_baselines_trains(tmp_path):
    agents = pytest.importorskip("stable_baselines3")
    agent = agents.PPO("MlpPolicy", "CartPole-v1", n_steps=64, n_epochs=2, seed=0, device="acme")
    agent.learn(128)
    agent.save(tmp_path / "agent.zip")
    again = agents.PPO.load(tmp_path / "agent.zip", device="acme")
    on_cpu = agents.PPO.load(tmp_path / "agent.zip", device="cpu")
    seen = torch.randn(32, 4).numpy()
    assert agent.device.type == again.device.type == "acme"
    chosen, expected = (it.predict(seen, deterministic=True)[0] for it in (again, on_cpu))
    assert (chosen == expected).all()


def test_model_of_ray_goes_where_it_is_told(tmp_path):
    train = pytest.importorskip("ray.train")
    ray = pytest.importorskip("ray.train.torch")

    def loop():
        assert ray.get_device() == torch.device("cpu")
        found = []
        for where in (torch.device("acme", 1), True):
            model = ray.prepare_model(torch.nn.Linear(4, 2), move_to_device=where)
            found.append(str(model.weight.device))
        train.report({"found": found})

    result = ray.TorchTrainer(
        loop,
        scaling_config=train.ScalingConfig(num_workers=0),
        run_config=train.RunConfig(storage_path=str(tmp_path)),
    ).fit()
    assert result.metrics["found"] == ["acme:1", "cpu"]


def test_torchtitan_finds_the_device(monkeypatch):
    utils = pytest.importorskip("torchtitan.tools.utils")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert utils.device_type == "acme"
    assert utils.device_module is torch.acme
    assert utils.get_local_device() == torch.device("acme", 1)


def test_torchtitan_wants_a_newer_torch():
    utils = pytest.importorskip("torchtitan.distributed.utils")
    assert "set_timeout" in utils.set_pg_timeouts.__code__.co_names
    assert not hasattr(torch.distributed, "set_timeout")


@pytest.mark.skipif(importlib.util.find_spec("triton") is not None, reason="triton is installed")
def test_models_of_torchtitan_want_triton():
    pytest.importorskip("torchtitan")
    with pytest.raises(ModuleNotFoundError, match="triton"):
        importlib.import_module("torchtitan.models.llama3")
