"""Models of transformers: adapters, quantized layers, offload, trainers of other packages. What a
library refuses is tested too, so that it is noticed when it no longer does."""

import pytest
import torch

from .comparing import STEPS, agrees, tiny_llama, trained


def test_lora_of_peft_trains(tmp_path):
    peft = pytest.importorskip("peft")

    def program(on):
        config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])
        model = peft.get_peft_model(tiny_llama(), config).to(on)
        words = torch.randint(100, (2, 16)).to(on)
        losses = trained(model, lambda m: m(input_ids=words, labels=words).loss)
        model.save_pretrained(tmp_path / on)
        again = peft.PeftModel.from_pretrained(model.unload(), tmp_path / on).merge_and_unload()
        return losses, again(input_ids=words).logits

    agrees(program)


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_four_bit_layer_of_bitsandbytes(kind):
    nn = pytest.importorskip("bitsandbytes.nn")

    def program(on):
        model = nn.Linear4bit(64, 32, quant_type=kind, compute_dtype=torch.float32).to(on)
        data = torch.randn(4, 64).to(on).requires_grad_()
        result = model(data)
        assert model.weight.dtype == torch.uint8
        return result, torch.autograd.grad(result.square().sum(), data)

    agrees(program, rtol=1e-3, atol=1e-3)


def test_lora_trains_on_four_bits(tmp_path):
    pytest.importorskip("bitsandbytes")
    peft = pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    tiny_llama().save_pretrained(tmp_path)
    words = torch.randint(100, (2, 16))

    def losses_on(on):
        model = transformers.AutoModelForCausalLM.from_pretrained(
            tmp_path,
            device_map=on,
            quantization_config=transformers.BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_compute_dtype=torch.float32
            ),
        )
        assert model.device.type == on
        assert model.model.layers[0].mlp.up_proj.weight.dtype == torch.uint8
        config = peft.LoraConfig(target_modules=["q_proj", "v_proj"])
        model = peft.get_peft_model(peft.prepare_model_for_kbit_training(model), config)
        data = words.to(on)
        return [it.item() for it in trained(model, lambda m: m(data, labels=data).loss)]

    expected, found = losses_on("cpu"), losses_on("acme")
    assert found[0] == pytest.approx(expected[0], rel=1e-3)
    assert found[-1] < found[0]


def test_eight_bit_layer_of_bitsandbytes():
    nn = pytest.importorskip("bitsandbytes.nn")
    plain = torch.nn.Linear(64, 32)
    data = torch.randn(4, 64)
    model = nn.Linear8bitLt(64, 32, has_fp16_weights=False)
    model.load_state_dict(plain.state_dict())
    result = model.to("acme")(data.to("acme"))
    assert model.weight.dtype == torch.int8
    assert model.weight.device.type == result.device.type == "acme"
    torch.testing.assert_close(result.cpu(), plain(data), rtol=0, atol=0.03)


@pytest.mark.parametrize("name", ["Adam8bit", "AdamW8bit", "Lion8bit"])
def test_optimizers_of_bitsandbytes_train(name):
    optimizers = pytest.importorskip("bitsandbytes.optim")

    def program(on):
        model = torch.nn.Linear(128, 64).to(on)
        optimizer = getattr(optimizers, name)(model.parameters(), lr=1e-2)
        data = torch.randn(8, 128).to(on)
        losses = trained(model, lambda m: m(data).square().mean(), optimizer)
        assert optimizer.state[model.weight]["state1"].dtype == torch.uint8
        return losses

    agrees(program, rtol=1e-3)


def test_paged_optimizers_of_bitsandbytes_want_cuda():
    optimizers = pytest.importorskip("bitsandbytes.optim")
    model = torch.nn.Linear(512, 512).to("acme")
    optimizer = optimizers.PagedAdamW8bit(model.parameters())
    model(torch.ones(1, 512, device="acme")).sum().backward()
    with pytest.raises(RuntimeError, match="cget_managed_ptr"):
        optimizer.step()


@pytest.mark.parametrize("offloaded", ["cpu", "disk"])
def test_offload_of_transformers(offloaded, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    torch.manual_seed(0)
    model = tiny_llama(num_hidden_layers=6).eval()
    model.save_pretrained(tmp_path / "model")
    size = model.get_memory_footprint()
    room = {0: int(size * 0.6), "cpu": 10**9 if offloaded == "cpu" else 0}
    placed = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "model", device_map="auto", max_memory=room, offload_folder=tmp_path / "folder"
    )
    assert set(placed.hf_device_map.values()) == {0, offloaded}
    words = torch.randint(3, 100, (2, 8))
    found = placed(input_ids=words.to("acme")).logits
    assert found.device.type == "acme"
    torch.testing.assert_close(found.cpu(), model(input_ids=words).logits, rtol=1e-4, atol=1e-5)
    options = {"max_new_tokens": 5, "do_sample": False}
    expected = model.generate(words, **options)
    assert placed.generate(words.to("acme"), **options).cpu().equal(expected)


def test_two_devices_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    model = tiny_llama(num_hidden_layers=4).eval()
    model.save_pretrained(tmp_path)
    size = model.get_memory_footprint()
    placed = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, device_map="auto", max_memory={0: int(size * 0.7), 1: size}
    )
    assert {it.device for it in placed.parameters()} == {
        torch.device("acme", 0),
        torch.device("acme", 1),
    }
    words = torch.randint(3, 100, (2, 8))
    found = placed(input_ids=words.to("acme")).logits
    torch.testing.assert_close(found.cpu(), model(input_ids=words).logits, rtol=1e-4, atol=1e-5)


WORDS = [
    *("[PAD]", "<s>", "</s>", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("a", "the", "dog", "cat", "sees", "hears", "red", "blue", "bird"),
]


def tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    model = tokenizers.models.WordLevel({it: at for at, it in enumerate(WORDS)}, "[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=16,
    )


@pytest.fixture
def encoder(tmp_path):
    """Makes a SentenceTransformer, the same each time, on the device that it is called with."""
    sentences = pytest.importorskip("sentence_transformers")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    transformers.BertModel(config).save_pretrained(tmp_path / "bert")
    tokenizer().save_pretrained(tmp_path / "bert")

    def make(on):
        words = modules.Transformer(str(tmp_path / "bert"))
        pooling = modules.Pooling(16)
        return sentences.SentenceTransformer(modules=[words, pooling], device=on)

    return make


SENTENCES = ["the dog sees a cat", "a red bird", "the cat hears the blue bird", "a dog"]


def test_sentences_are_encoded(encoder):
    def program(on):
        model = encoder(on)
        assert model.device.type == on
        found = model.encode(SENTENCES, convert_to_tensor=True)
        return found, model.similarity(found, found), model.encode(SENTENCES).tolist()

    agrees(program)


def test_sentence_transformer_trains(encoder, tmp_path):
    sentences = pytest.importorskip("sentence_transformers")
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    datasets = pytest.importorskip("datasets")
    rows = {"anchor": SENTENCES, "positive": SENTENCES[::-1]}

    def program(on):
        model = encoder(on)
        trainer = sentences.SentenceTransformerTrainer(
            model,
            sentences.SentenceTransformerTrainingArguments(
                tmp_path / on,
                use_cpu=on == "cpu",
                max_steps=STEPS,
                per_device_train_batch_size=2,
                logging_steps=1,
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=datasets.Dataset.from_dict(rows),
            loss=losses.MultipleNegativesRankingLoss(model),
        )
        trainer.train()
        assert model.device.type == on
        found = [it["loss"] for it in trainer.state.log_history if "loss" in it]
        assert len(found) == STEPS
        return found

    agrees(program, rtol=1e-3, atol=1e-3)


def arguments_of_trl(kind, path, on, **more):
    return kind(
        path / on,
        use_cpu=on == "cpu",
        bf16=False,
        max_steps=STEPS,
        per_device_train_batch_size=2,
        learning_rate=1e-3,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        **more,
    )


def test_fine_tuning_of_trl(tmp_path):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")

    def program(on):
        trainer = trl.SFTTrainer(
            tiny_llama(),
            arguments_of_trl(trl.SFTConfig, tmp_path, on, max_length=16),
            train_dataset=datasets.Dataset.from_dict({"text": SENTENCES * 2}),
            processing_class=tokenizer(),
        )
        trainer.train()
        assert trainer.model.device.type == on
        return [it["loss"] for it in trainer.state.log_history if "loss" in it]

    agrees(program, rtol=1e-3, atol=1e-3)


def test_preferences_of_trl(tmp_path):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    rows = {"prompt": SENTENCES, "chosen": SENTENCES[::-1], "rejected": ["bird bird"] * 4}

    def program(on):
        trainer = trl.DPOTrainer(
            tiny_llama(),
            tiny_llama(),
            args=arguments_of_trl(trl.DPOConfig, tmp_path, on, max_length=32),
            train_dataset=datasets.Dataset.from_dict(rows),
            processing_class=tokenizer(),
        )
        trainer.train()
        assert trainer.model.device.type == on
        return [it["loss"] for it in trainer.state.log_history if "loss" in it]

    agrees(program, rtol=1e-3, atol=1e-3)
