"""transformers: the Trainer, generation, pipelines."""

import pytest
import torch
import transformers
from transformers import Trainer, TrainingArguments

from . import words

MODELS = {
    "gpt2": (words.gpt2, words.Texts),
    "llama": (words.llama, words.Texts),
    "bert": (words.bert, words.Texts),
    "t5": (words.t5, words.Texts),
    "vit": (words.vit, words.Images),
}


class Watched(Trainer):
    """Whose steps compute nothing on the CPU."""

    watch = None

    def training_step(self, *args, **named):
        if self.watch is None:
            return super().training_step(*args, **named)
        with self.watch():
            return super().training_step(*args, **named)


def trainer(folder, model, data, watch=None, **options):
    torch.manual_seed(0)
    options = {"logging_steps": 1, "save_strategy": "no", "num_train_epochs": 2} | options
    arguments = TrainingArguments(
        str(folder),
        per_device_train_batch_size=8,
        report_to=[],
        disable_tqdm=True,
        learning_rate=1e-3,
        **options,
    )
    made = Watched(model(), arguments, train_dataset=data(), eval_dataset=data(16))
    made.watch = watch
    return made


def losses(trained):
    return torch.tensor([each["loss"] for each in trained.state.log_history if "loss" in each])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_trains_as_on_the_cpu(tmp_path, nothing_on_the_cpu, name):
    here = trainer(tmp_path, *MODELS[name], nothing_on_the_cpu)
    assert here.args.device.type == here.model.device.type == "acme"
    here.train()
    there = trainer(tmp_path, *MODELS[name], use_cpu=True)
    assert there.args.device.type == there.model.device.type == "cpu"
    there.train()
    torch.testing.assert_close(losses(here), losses(there), rtol=1e-4, atol=1e-4)
    assert here.evaluate()["eval_loss"] == pytest.approx(there.evaluate()["eval_loss"], rel=1e-4)


@pytest.mark.parametrize(("option", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_mixed_precision(tmp_path, nothing_on_the_cpu, option, dtype):
    here = trainer(tmp_path, *MODELS["gpt2"], nothing_on_the_cpu, **{option: True})
    dtypes = set()
    layer = here.model.transformer.h[0].mlp.c_fc
    layer.register_forward_hook(lambda _, inputs, result: dtypes.add(result.dtype))
    here.train()
    assert dtypes == {dtype}
    assert next(here.model.parameters()).dtype == torch.float32
    assert (here.accelerator.scaler is not None) == (option == "fp16")
    there = trainer(tmp_path, *MODELS["gpt2"], use_cpu=True)
    there.train()
    torch.testing.assert_close(losses(here), losses(there), rtol=2e-2, atol=2e-2)


def test_a_checkpoint_is_resumed_with_its_random_numbers(tmp_path):
    def with_dropout():
        return words.gpt2(dropout=0.1)

    whole = trainer(tmp_path, with_dropout, words.Texts, save_strategy="epoch")
    whole.train()
    resumed = trainer(tmp_path, with_dropout, words.Texts)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert torch.equal(losses(whole), losses(resumed))


def test_the_integration_may_come_after_the_import(run):
    printed = run(
        """
        import torch
        from transformers import Trainer, TrainingArguments
        import torch_outback.integrations

        torch_outback.integrations.enable("transformers")
        print("FOUND", TrainingArguments("out", bf16=True).device)
        """,
        OUTBACK_INTEGRATIONS="",
    )
    assert "FOUND acme" in printed


_RANKS = """
    import torch
    from tests.libraries import words
    from transformers import Trainer, TrainingArguments

    torch.manual_seed(0)
    arguments = TrainingArguments(
        "out", per_device_train_batch_size=4, num_train_epochs=2, logging_steps=1, report_to=[],
        disable_tqdm=True, learning_rate=1e-3, save_strategy="no", {options}
    )
    trainer = Trainer(words.gpt2(), arguments, train_dataset=words.Texts())
    trainer.train()
    assert next(trainer.model.parameters()).device == trainer.accelerator.device
    assert (arguments.world_size, trainer.accelerator.device.type) == (2, "acme")
    if arguments.process_index == 0:
        losses = [it["loss"] for it in trainer.state.log_history if "loss" in it]
        print("LOSSES", type(trainer.model_wrapped).__name__, *losses)
"""


@pytest.mark.parametrize(
    ("options", "wrapped"),
    [
        ("", "DistributedDataParallel"),
        ("bf16=True", "DistributedDataParallel"),
        ("fsdp=True", "FSDPGPT2LMHeadModel"),
        ("fsdp=True, bf16=True", "FSDPGPT2LMHeadModel"),
    ],
)
def test_two_processes_train_as_one(tmp_path, run, options, wrapped):
    printed = run(_RANKS.format(options=options), ranks=2).splitlines()
    found = next(line.split() for line in printed if line.startswith("LOSSES"))
    alone = trainer(tmp_path, words.gpt2, words.Texts)
    alone.train()
    assert found[1] == wrapped
    close = {"rtol": 2e-2, "atol": 2e-2} if "bf16" in options else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(torch.tensor(list(map(float, found[2:]))), losses(alone), **close)


def test_a_pipeline_on_the_device(nothing_on_the_cpu):
    class Letters(transformers.PreTrainedTokenizer):
        """One word for each letter, so that no file is needed."""

        def __init__(self, **named):
            super().__init__(eos_token="~", pad_token="~", **named)

        @property
        def vocab_size(self):
            return 100

        def get_vocab(self):
            return {chr(33 + i): i for i in range(94)}

        def _tokenize(self, text):
            return list(text)

        def _convert_token_to_id(self, token):
            return ord(token) - 33

        def _convert_id_to_token(self, index):
            return chr(33 + index)

    torch.manual_seed(0)
    model = words.gpt2().eval()
    texts = {}
    for device in ("cpu", "acme"):
        pipe = transformers.pipeline(
            "text-generation", model=model, tokenizer=Letters(), device=device
        )
        assert pipe.device.type == model.device.type == device
        texts[device] = pipe("hello", max_new_tokens=8, do_sample=False)
    assert texts["cpu"] == texts["acme"]
    last = torch.acme.device_count() - 1
    for given, expected in ((last, last), (None, last), (0, 0)):  # None: where the model is
        made = transformers.pipeline(
            "text-generation", model=model, tokenizer=Letters(), device=given
        )
        assert made.device == made.model.device == torch.device("acme", expected)
