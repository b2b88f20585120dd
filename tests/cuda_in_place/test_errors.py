"""What goes wrong on a device with CUDA's kernels: the errors say where, in CUDA's words."""

import re

import pytest

# The training loop reads its loss after some steps: as a rule it is there that work is found out
# to have failed. No layer uses cuBLAS, which would say it with a word of its own.
BROKEN = """
    layers = torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.LayerNorm(8)
    model = torch.nn.Sequential(*layers).acme()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(4, 8).acme()
    found = []
    for step in range(50):
        try:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            loss.item()
        except RuntimeError as error:
            found.append((type(error).__name__, str(error)))
    for name, text in found[:3]:
        print(name, text.replace(chr(10), " | "))
    try:
        torch.acme.synchronize()
    except RuntimeError as error:
        print("then", str(error).replace(chr(10), " | "))
"""


@pytest.mark.parametrize(
    ("number", "words"),
    [(700, "an illegal memory access was encountered"), (710, "device-side assert triggered")],
)
def test_an_error_in_the_middle_of_training_names_operator_device_and_cuda_s_words(
    on_device, number, words
):
    done = on_device(BROKEN, FAKE_CUDART_FAULTS=f"@kernel:60={number}")
    first, *_, last = done.output.splitlines()
    assert first.startswith("AcceleratorError ") and words in first
    assert re.search(r"in aten::[\w.]+ on acme:0", first), first
    # Each later use fails with the same words, and the process ends in order.
    assert last.startswith("then ") and words in last


def test_out_of_memory_has_torch_cuda_s_words(on_device):
    done = on_device("""
        def refusal(device):
            try:
                torch.empty(1 << 40, dtype=torch.uint8, device=device)
            except torch.OutOfMemoryError as error:
                return str(error)

        torch.ones(1, device="acme")
        assert refusal("acme") == refusal("cuda")
        print(refusal("acme"))
        assert torch.ones(4, device="acme").shape == (4,)  # and it goes on
    """)
    assert done.output.startswith("CUDA out of memory. Tried to allocate 1024.00 GiB")


def test_a_driver_that_is_too_old_leaves_no_devices_and_says_so(on_device):
    done = on_device(
        """
        assert torch.acme.device_count() == 0 and not torch.acme.is_available()
        try:
            torch.ones(3, device="acme")
        except RuntimeError as error:
            print(error)
        """,
        FAKE_CUDA_INIT_ERROR="35",
        FAKE_CUDA_DRIVER_VERSION="11000",
    )
    assert "cudaErrorInsufficientDriver (35)" in done.output


def test_a_device_that_cuda_hides_is_out_of_range(on_device):
    done = on_device(
        """
        assert torch.acme.device_count() == torch.cuda.device_count() == 1
        try:
            torch.ones(3, device="acme:1")
        except RuntimeError as error:
            print(error)
        """,
        CUDA_VISIBLE_DEVICES="1",
    )
    assert "acme:1" in done.output and "1 device" in done.output
