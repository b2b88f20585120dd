"""Other people's models and libraries: the same losses, the same words, the same memory. Each test
needs the library that it names."""

import pytest
import torch
from torch.nn import functional

STEPS = 5


def losses_of(model, loss, on, dtype=None):
    """AdamW over the parameters that it may change; under autocast if there is a `dtype`."""
    model = model.to(on).train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast(on.type, dtype, enabled=dtype is not None):
            value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return losses


def of_images(model, size, batch=8, dtype=None):
    """A program that trains what `model` makes to tell ten kinds of images."""

    def program(on):
        made, images = model(), torch.randn(batch, 3, size, size).to(on)
        images = images.contiguous(memory_format=torch.channels_last)
        kinds = torch.randint(10, (batch,)).to(on)
        return losses_of(made, lambda m: functional.cross_entropy(m(images), kinds), on, dtype)

    return program


def of_words(model, dtype=None):
    """A program that trains what `model` makes, of transformers, to go on with a text."""

    def program(on):
        made, words = model(), torch.randint(1000, (4, 64)).to(on)
        return losses_of(made, lambda m: m(input_ids=words, labels=words).loss, on, dtype)

    return program


def llama():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=1000,
    )
    return transformers.LlamaForCausalLM(config)


@pytest.fixture
def half(other):
    """A dtype for autocast, where both devices have the same rules for it."""
    return None if other.type == "cpu" else torch.bfloat16


def test_resnet_of_torchvision(same, half):
    models = pytest.importorskip("torchvision").models
    same(of_images(lambda: models.resnet18(num_classes=10), 64, dtype=half))


def test_vision_transformer_of_timm(same, half):
    timm = pytest.importorskip("timm")
    make = timm.create_model
    same(of_images(lambda: make("vit_tiny_patch16_224", num_classes=10), 224, 2, dtype=half))


def test_gpt2_of_transformers(same, half):
    transformers = pytest.importorskip("transformers")
    options = {"n_layer": 2, "n_embd": 128, "n_head": 4, "vocab_size": 1000}
    # Dropout draws, which the CPU does otherwise.
    dropout = 0.0 if half is None else 0.1
    options |= dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    make = lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**options))  # noqa: E731
    same(of_words(make, half))


def test_t5_of_transformers(same):
    transformers = pytest.importorskip("transformers")
    config = transformers.T5Config(
        d_model=64, d_ff=128, d_kv=16, num_heads=4, num_layers=2, vocab_size=1000, dropout_rate=0.0
    )
    config.decoder_start_token_id = 0
    # Of three runs on an H200 with torch.cuda, one had other losses in the last bit.
    same(of_words(lambda: transformers.T5ForConditionalGeneration(config)), repeats=False)


def test_lora_of_peft(same):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    same(of_words(lambda: peft.get_peft_model(llama(), config)))


def test_llama_goes_on_with_a_text(same):
    def program(on):
        model, words = llama().to(on).eval(), torch.randint(1000, (2, 16)).to(on)
        return model.generate(words, max_new_tokens=20, do_sample=False)

    same(program)


@pytest.mark.draws
def test_llama_draws_words(same):
    def program(on):
        model, words = llama().to(on).eval(), torch.randint(1000, (2, 16)).to(on)
        return model.generate(words, max_new_tokens=20, do_sample=True)

    same(program)


def test_graph_network_of_torch_geometric(same):
    geometric = pytest.importorskip("torch_geometric.nn")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = geometric.GCNConv(16, 32), geometric.GATConv(32, 7)

        def forward(self, x, edges):
            return self.second(functional.relu(self.first(x, edges)), edges)

    def program(on):
        made, x = Network(), torch.randn(100, 16).to(on)
        edges, kinds = torch.randint(100, (2, 400)).to(on), torch.randint(7, (100,)).to(on)
        return losses_of(made, lambda m: functional.cross_entropy(m(x, edges), kinds), on)

    same(program)


def test_cupy_writes_the_devices_memory(device, other):
    if other.type != "cuda":
        pytest.skip("needs CUDA's memory, which is CuPy's")
    cupy = pytest.importorskip("cupy")
    x = torch.arange(1000.0, device=device)
    theirs = cupy.from_dlpack(x)
    theirs *= 2
    cupy.cuda.runtime.deviceSynchronize()
    assert torch.equal(x.cpu(), torch.arange(1000.0) * 2)


def test_jax_reads_the_devices_memory(device, other, monkeypatch):
    if other.type != "cuda":
        pytest.skip("needs CUDA's memory; JAX takes what is the CPU's by itself")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    theirs = jax.dlpack.from_dlpack(torch.arange(1000.0, device=device))
    assert float(theirs.sum()) == 499500
    assert torch.equal(torch.from_dlpack(theirs + 1).cpu(), torch.arange(1000.0) + 1)


def test_accelerate_takes_the_device_that_it_is_told(device, monkeypatch):
    accelerate = pytest.importorskip("accelerate")
    monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", f"{device}")
    accelerator = accelerate.Accelerator()
    model = torch.nn.Linear(8, 2)
    data = torch.utils.data.TensorDataset(torch.randn(16, 8), torch.randint(2, (16,)))
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters()), torch.utils.data.DataLoader(data, 8)
    )
    for x, kinds in loader:
        accelerator.backward(functional.cross_entropy(model(x), kinds))
        optimizer.step()
    assert x.device == model.weight.grad.device == device
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
