"""A small model of transformers for each kind, and texts for them."""

import torch
import transformers

_WORDS = 100
_SMALL = {"vocab_size": _WORDS, "num_hidden_layers": 2, "num_attention_heads": 2}
_WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def gpt2(dropout: float = 0.0) -> torch.nn.Module:
    drop = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    sizes = {"n_layer": 2, "n_embd": 32, "n_head": 2, "vocab_size": _WORDS, "n_positions": 32}
    config = transformers.GPT2Config(**sizes, **drop, bos_token_id=1, eos_token_id=2)
    return transformers.GPT2LMHeadModel(config)


def llama() -> torch.nn.Module:
    config = transformers.LlamaConfig(
        **_SMALL, hidden_size=32, intermediate_size=64, num_key_value_heads=1
    )
    return transformers.LlamaForCausalLM(config)


def bert() -> torch.nn.Module:
    config = transformers.BertConfig(
        **_SMALL, **_WITHOUT_DROPOUT, hidden_size=32, intermediate_size=64
    )
    return transformers.BertForMaskedLM(config)


def t5() -> torch.nn.Module:
    config = transformers.T5Config(
        vocab_size=_WORDS, d_model=32, d_ff=64, d_kv=16, num_heads=2, num_layers=2, dropout_rate=0.0
    )
    config.decoder_start_token_id = 0
    return transformers.T5ForConditionalGeneration(config)


def vit() -> torch.nn.Module:
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 32, "patch_size": 8}
    config = transformers.ViTConfig(
        **sizes, **_WITHOUT_DROPOUT, hidden_size=32, intermediate_size=64, num_labels=4
    )
    return transformers.ViTForImageClassification(config)


class Texts(torch.utils.data.Dataset):
    def __init__(self, count: int = 32) -> None:
        generator = torch.Generator().manual_seed(0)
        self._words = torch.randint(3, _WORDS, (count, 16), generator=generator)

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self._words[i], "labels": self._words[i]}


class Images(torch.utils.data.Dataset):
    def __init__(self, count: int = 32) -> None:
        generator = torch.Generator().manual_seed(0)
        self._images = torch.randn(count, 3, 32, 32, generator=generator)
        self._kinds = torch.randint(4, (count,), generator=generator)

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {"pixel_values": self._images[i], "labels": self._kinds[i]}
