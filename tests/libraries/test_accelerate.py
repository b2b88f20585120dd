"""Hugging Face accelerate."""

import pytest
import torch
from accelerate import Accelerator, infer_auto_device_map
from accelerate.state import AcceleratorState
from accelerate.utils import find_executable_batch_size, get_max_memory, set_seed
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoModelForCausalLM

from . import words


@pytest.fixture(autouse=True)
def _no_state():
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def parts(accelerator, dropout=0.0):
    set_seed(0)
    layers = (torch.nn.Linear(16, 64), torch.nn.Dropout(dropout), torch.nn.Linear(64, 4))
    model = torch.nn.Sequential(*layers)
    data = TensorDataset(torch.randn(64, 16), torch.randint(4, (64,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return accelerator.prepare(model, optimizer, DataLoader(data, 8))


def train(accelerator, model, optimizer, loader):
    found = []
    for x, kinds in loader:
        with accelerator.accumulate(model):
            result = model(x)
            loss = functional.cross_entropy(result, kinds)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        found.append(loss.detach().float())
    return torch.stack(found).cpu()


@pytest.mark.parametrize("precision", ["no", "bf16", "fp16"])
@pytest.mark.parametrize("accumulated", [1, 2])
def test_a_loop_trains_as_on_the_cpu(precision, accumulated):
    options = {"gradient_accumulation_steps": accumulated}
    here = Accelerator(mixed_precision=precision, **options)
    assert here.device.type == "acme"
    assert (here.scaler is not None) == (precision == "fp16")
    found = train(here, *parts(here))
    AcceleratorState._reset_state(reset_partial_state=True)
    there = Accelerator(cpu=True, **options)
    close = 1e-5 if precision == "no" else 2e-2
    torch.testing.assert_close(found, train(there, *parts(there)), rtol=close, atol=close)


def test_no_operator_of_a_step_is_on_the_cpu(nothing_on_the_cpu):
    accelerator = Accelerator(mixed_precision="bf16")
    model, optimizer, loader = parts(accelerator)
    x, kinds = next(iter(loader))
    with nothing_on_the_cpu():
        train(accelerator, model, optimizer, [(x, kinds)])


def test_a_state_is_loaded_with_its_random_numbers(tmp_path):
    accelerator = Accelerator(mixed_precision="fp16")
    made = parts(accelerator, dropout=0.5)
    train(accelerator, *made)
    accelerator.save_state(str(tmp_path))
    first = train(accelerator, *made)
    accelerator.load_state(str(tmp_path))
    assert torch.equal(train(accelerator, *made), first)


_LAUNCHED = """
    import torch
    from accelerate import Accelerator
    from tests.libraries.test_accelerate import parts, train

    accelerator = Accelerator()
    model, optimizer, loader = parts(accelerator, dropout=0.5)
    before = train(accelerator, model, optimizer, loader)
    accelerator.save_state("state")
    accelerator.wait_for_everyone()
    accelerator.load_state("state")
    sums = accelerator.reduce(torch.ones(1, device=accelerator.device)).item()
    count, precision = accelerator.num_processes, accelerator.mixed_precision
    print(f"FOUND {accelerator.device} {count} {precision} {sums}\\n", end="", flush=True)
    accelerator.end_training()
"""
_LAUNCH = ("-m", "accelerate.commands.accelerate_cli", "launch")


def found(printed):
    return sorted(line[6:] for line in printed.splitlines() if line.startswith("FOUND"))


def test_launch_in_one_process(run):
    printed = run(_LAUNCHED, *_LAUNCH, "--num_processes=1", "--mixed_precision=bf16")
    assert found(printed) == ["acme 1 bf16 1.0"]


def test_launch_starts_a_process_for_each_device(run):
    printed = run(_LAUNCHED, *_LAUNCH, "--main_process_port=0", "--mixed_precision=fp16")
    assert found(printed) == ["acme:0 2 fp16 2.0", "acme:1 2 fp16 2.0"]


def test_a_process_without_a_device_is_refused(run):
    count = torch.acme.device_count() + 1
    options = (f"--num_processes={count}", "--main_process_port=0", "--multi_gpu")
    printed = run(_LAUNCHED, *_LAUNCH, *options, fails=True)
    assert f"there is no device for process {count - 1} of this machine: acme has" in printed


def test_the_default_configuration_is_of_the_device(run, tmp_path):
    run(
        """
        from accelerate.commands.config.default import write_basic_config

        write_basic_config(save_location="config.json")
        """
    )
    options = ("--main_process_port=0", f"--config_file={tmp_path / 'config.json'}")
    printed = run(_LAUNCHED, *_LAUNCH, *options)
    assert found(printed) == [f"acme:{i} 2 no 2.0" for i in range(2)]


def test_what_accelerate_says_of_the_machine(run):
    printed = run(
        """
        from accelerate.commands import env

        env.env_command(env.env_command_parser().parse_args([]))
        """
    )
    assert f"GPU type: {torch.acme.get_device_name()}" in printed


def test_launch_from_a_notebook(run):
    printed = run(
        """
        from accelerate import Accelerator, notebook_launcher

        def train():
            accelerator = Accelerator()
            print(f"FOUND {accelerator.device} {accelerator.num_processes}\\n", end="", flush=True)
            accelerator.end_training()

        notebook_launcher(train, num_processes=2)
        """
    )
    assert "Launching training on 2 ACMEs." in printed
    assert found(printed) == ["acme:0 2", "acme:1 2"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model on disk, words, and what it says of them."""
    folder = tmp_path_factory.mktemp("llama")
    torch.manual_seed(0)
    model = words.llama().eval()
    model.save_pretrained(folder)
    given = torch.randint(100, (2, 8))
    return folder, given, model(given).logits


@pytest.mark.parametrize(
    ("device_map", "memory", "places"),
    [
        ("auto", None, {"acme"}),
        ("auto", {0: "60KB", 1: "90KB"}, {"acme"}),
        ("auto", {0: "60KB", "cpu": "1GB"}, {"acme", "meta"}),
        ("auto", {0: "60KB", "cpu": "60KB"}, {"acme", "cpu", "meta"}),
        ("acme", None, {"acme"}),
        ({"": 0}, None, {"acme"}),
    ],
)
def test_a_model_that_is_placed_by_its_size(saved, tmp_path, device_map, memory, places):
    folder, given, expected = saved
    model = AutoModelForCausalLM.from_pretrained(
        folder, device_map=device_map, max_memory=memory, offload_folder=tmp_path
    )
    assert {it.device.type for it in model.parameters()} <= places
    assert "acme" in {it.device.type for it in model.parameters()}
    got = model(given.to("acme")).logits
    assert got.device.type == "acme"
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_the_memory_of_each_device_is_known():
    free = torch.acme.mem_get_info(0)[0]
    assert get_max_memory()[0] == pytest.approx(free, rel=0.2)
    assert 0 in infer_auto_device_map(words.llama()).values()


def test_a_batch_that_does_not_fit_gets_smaller():
    limit = 64 << 20
    torch.acme.empty_cache()
    total = torch.acme.mem_get_info(0)[1]
    torch.acme.set_per_process_memory_fraction(limit / total, 0)
    tried = []

    @find_executable_batch_size(starting_batch_size=128)
    def run(batch_size):
        tried.append(batch_size)
        torch.empty(batch_size << 20, dtype=torch.uint8, device="acme")
        return batch_size

    try:
        assert run() <= 64
    finally:
        torch.acme.set_per_process_memory_fraction(1.0, 0)
    assert tried[0] == 128
    assert len(tried) > 1
