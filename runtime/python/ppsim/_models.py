"""Describes models that are Python objects: configurations of transformers, modules of torch.

Neither package is imported: an object is recognised by what it can do. A configuration becomes the
``config.json`` that it would be saved as. A module without one is measured: its weights are looked
up by their shapes on the meta device, layer by layer, as a dense decoder with attention and an MLP.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from ppsim import _errors

# Of every transformers configuration, without a meaning for time or memory.
_generic = frozenset("""
    _attn_implementation _attn_implementation_internal _commit_hash _name_or_path
    bad_words_ids begin_suppress_tokens bos_token_id chunk_size_feed_forward
    cross_attention_hidden_size decoder_start_token_id diversity_penalty do_sample
    early_stopping encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty
    finetuning_task forced_bos_token_id forced_eos_token_id id2label initializer_range
    label2id length_penalty max_length min_length no_repeat_ngram_size num_beam_groups
    num_beams num_return_sequences output_attentions output_hidden_states output_scores
    pad_token_id prefix problem_type pruned_heads remove_invalid_values repetition_penalty
    return_dict return_dict_in_generate sep_token_id suppress_tokens task_specific_params
    temperature tf_legacy_loss tokenizer_class top_k top_p torchscript transformers_version
    typical_p use_bfloat16 use_cache dtype torch_dtype pretraining_tp
    """.split())


def plain_object(value: Any) -> Any:
    """Returns a number or a list in place of an object of numpy or torch, for JSON. Raises TypeError."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__}")


def _plain_or_text(value: Any) -> Any:
    """The same, and a text for what no number is, such as a data type."""
    return plain_object(value) if hasattr(value, "tolist") else str(value)


def model_name(model: Any) -> str:
    """Returns the name of a model that is an object: the last part of the name or path that transformers
    loaded it from (``_name_or_path``), or "model". The file that stands for it has this name, so that
    the same model has the same name everywhere."""
    config: Any = model if isinstance(model, dict) else getattr(model, "config", model)
    path = getattr(config, "_name_or_path", None)
    if path is None and callable(getattr(config, "to_dict", None)):
        config = config.to_dict()
    if path is None and isinstance(config, dict):
        path = config.get("_name_or_path")
    last = path.rstrip("/").rsplit("/", 1)[-1] if isinstance(path, str) else ""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in last)[:60]
    return name.lstrip("-.") or "model"


def model_json(model: Any) -> str:
    """Returns the JSON of a model: of a dict (a config.json or a ppsim.model), of a configuration of
    transformers, or of a torch.nn.Module. Raises InputError."""
    if isinstance(model, dict):
        return json.dumps(model, default=_plain_or_text)
    if callable(getattr(model, "named_parameters", None)):
        config = getattr(model, "config", None)
        if callable(getattr(config, "to_dict", None)):
            return _config_json(config)
        return json.dumps(_Module(model).describe())
    if callable(getattr(model, "to_dict", None)):
        return _config_json(model)
    raise _errors.UsageError(
        "--model",
        f"cannot be a {type(model).__name__}; give a name, a path, a dict, a configuration of "
        "transformers or a torch.nn.Module",
    )


def _config_json(config: Any) -> str:
    values = {key: value for key, value in config.to_dict().items() if key not in _generic}
    return json.dumps(values, default=_plain_or_text)


class _Module:
    """A torch.nn.Module, measured by the shapes of its parameters."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.name = type(module).__name__

    def refuse(self, why: str) -> _errors.InputError:
        return _errors.InputError(
            f"model {self.name}",
            f"{why}; give its config.json or a dict of a ppsim.model (docs/reference/formats.md) as model",
        )

    def describe(self) -> dict[str, Any]:
        """Returns its ppsim.model. Raises InputError where it is not a dense decoder."""
        layers = self.layers()
        vocab, hidden = self.embedding()
        shapes = [self.shapes(layer) for layer in layers]
        if any(shape != shapes[0] for shape in shapes):
            raise self.refuse("its layers are not all alike")
        matrices: dict[str, tuple[int, ...]] = {
            name: shape for name, shape in shapes[0].items() if len(shape) == 2
        }
        if any(len(shape) > 2 for shape in shapes[0].values()):
            raise self.refuse("its layers have weights of three dimensions, as experts have")
        attention, mlp = _split(matrices)
        heads = self.heads(layers[0])
        width, kv_width = self.attention(attention, hidden)
        if width % heads:
            raise self.refuse(f"its attention of width {width} does not divide into {heads} heads")
        head_dim = width // heads
        gated, ffn = self.mlp(mlp, hidden)
        return {
            "format": "ppsim.model",
            "version": 1,
            "name": "".join(c if c.isalnum() or c in "-_." else "-" for c in self.name.lower())[:60],
            "summary": f"torch.nn.Module {self.name}, measured",
            "source": "the shapes of its parameters",
            "layers": len(layers),
            "hidden": hidden,
            "heads": heads,
            "kv_heads": kv_width // head_dim,
            "head_dim": head_dim,
            "ffn": ffn,
            "vocab": vocab,
            "max_seq_length": self.longest(),
            "gated_mlp": gated,
            "rms_norm": not any("norm" in name and name.endswith("bias") for name in shapes[0]),
            "linear_bias": any(
                name.endswith("bias") and "norm" not in name and "ln" not in name for name in shapes[0]
            ),
            "tied_embeddings": self.is_tied(vocab),
            "learned_positions": self.has_positions(vocab, hidden),
            "dropout": any(
                type(m).__name__ == "Dropout" and getattr(m, "p", 0) > 0 for m in self.module.modules()
            ),
        }

    def layers(self) -> list[Any]:
        """The longest list of modules."""
        found: list[Any] = []
        for module in self.module.modules():
            if type(module).__name__ in ("ModuleList", "ModuleDict", "Sequential"):
                children = list(module.children())
                if len(children) > len(found):
                    found = children
        if not found:
            raise self.refuse("it has no list of layers")
        return found

    def embedding(self) -> tuple[int, int]:
        """Vocabulary and hidden size: of the largest embedding."""
        tables = [m.weight.shape for m in self.module.modules() if type(m).__name__ == "Embedding"]
        if not tables:
            raise self.refuse("it has no embedding")
        vocab, hidden = max(tables, key=lambda shape: shape[0])
        return int(vocab), int(hidden)

    def shapes(self, layer: Any) -> dict[str, tuple[int, ...]]:
        return {name: tuple(int(n) for n in p.shape) for name, p in layer.named_parameters()}

    def setting(self, owners: list[Any], names: tuple[str, ...]) -> Optional[int]:
        """The first attribute of these names that is a positive int."""
        for owner in owners:
            for name in names:
                value = getattr(owner, name, None)
                if isinstance(value, int) and value > 0:
                    return value
        return None

    def heads(self, layer: Any) -> int:
        owners = [*layer.modules(), self.module, getattr(self.module, "model_args", None)]
        heads = self.setting(owners, ("num_heads", "n_heads", "num_attention_heads", "n_head", "nhead"))
        if heads is None:
            raise self.refuse("no module of its layers says how many heads it has (num_heads or n_heads)")
        return heads

    def longest(self) -> int:
        owners = [self.module, getattr(self.module, "model_args", None)]
        return (
            self.setting(owners, ("max_seq_len", "max_seq_length", "max_position_embeddings", "block_size"))
            or 4096
        )

    def attention(self, matrices: dict[str, tuple[int, ...]], hidden: int) -> tuple[int, int]:
        """The widths of all query heads and of all key heads."""
        widths = [shape[0] if shape[1] == hidden else shape[1] for shape in matrices.values()]
        if len(widths) == 2 and max(widths) > min(widths):  # q, k and v in one matrix, and the output
            return min(widths), (max(widths) - min(widths)) // 2
        if len(widths) == 4:  # q, k, v and the output
            return max(widths), min(widths)
        raise self.refuse(
            f"its attention has {len(matrices)} weights, not 4 (q, k, v, output) or 2 (qkv, output)"
        )

    def mlp(self, matrices: dict[str, tuple[int, ...]], hidden: int) -> tuple[bool, int]:
        """Whether the MLP is gated, and its width."""
        widths = [shape[0] if shape[1] == hidden else shape[1] for shape in matrices.values()]
        if len(widths) == 3 and len(set(widths)) == 1:
            return True, widths[0]
        if len(widths) == 2 and len(set(widths)) == 1:
            return False, widths[0]
        if len(widths) == 2 and max(widths) == 2 * min(widths):  # gate and up in one matrix
            return True, min(widths)
        raise self.refuse(f"its MLP has weights of the widths {widths}, which is neither plain nor gated")

    def is_tied(self, vocab: int) -> bool:
        heads = [
            p for _, p in self.module.named_parameters() if len(p.shape) == 2 and int(p.shape[0]) == vocab
        ]
        return len(heads) == 1

    def has_positions(self, vocab: int, hidden: int) -> bool:
        tables = [m for m in self.module.modules() if type(m).__name__ == "Embedding"]
        return any(int(m.weight.shape[0]) != vocab and int(m.weight.shape[1]) == hidden for m in tables)


def _split(
    matrices: dict[str, tuple[int, ...]],
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Divides the matrices of a layer between attention and MLP, by the module that they are in."""
    attention = {n: s for n, s in matrices.items() if "attn" in n.lower() or "attention" in n.lower()}
    return attention, {n: s for n, s in matrices.items() if n not in attention}
