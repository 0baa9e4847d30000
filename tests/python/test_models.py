"""Models that are Python objects: dicts, configurations of transformers, modules of torch. Those of the
packages themselves are tried where they are installed; stand-ins have the same attributes."""

import concurrent.futures
import contextlib
import json
import os
import tempfile
import unittest
import warnings

import support

import ppsim

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
OPTIONS = {key: value for key, value in support.SMALL.items() if key != "model"}


class Config:
    """What a configuration of transformers has."""

    def __init__(self, values):
        self.values = values

    def to_dict(self):
        return {
            **self.values,
            "id2label": {0: "LABEL_0"},
            "transformers_version": "5",
            "use_cache": True,
            "dtype": object(),
        }


class Weight:
    def __init__(self, *shape):
        self.shape = shape


class Module:
    """What a torch.nn.Module has. Keyword arguments are children and weights."""

    def __init__(self, **members):
        self.members = {k: v for k, v in members.items() if isinstance(v, (Module, Weight))}
        vars(self).update(members)

    def children(self):
        return [m for m in self.members.values() if isinstance(m, Module)]

    def modules(self):
        yield self
        for child in self.children():
            yield from child.modules()

    def named_parameters(self, prefix=""):
        for name, member in self.members.items():
            if isinstance(member, Weight):
                yield prefix + name, member
            else:
                yield from member.named_parameters(prefix + name + ".")


class Linear(Module):
    def __init__(self, outputs, inputs):
        super().__init__(weight=Weight(outputs, inputs))


class Embedding(Linear):
    pass


class ModuleList(Module):
    pass


def decoder(layers=8, hidden=1024, heads=16, kv=256, ffn=2816, vocab=32000):
    def layer():
        return Module(
            attention=Module(
                n_heads=heads,
                wq=Linear(hidden, hidden),
                wk=Linear(kv, hidden),
                wv=Linear(kv, hidden),
                wo=Linear(hidden, hidden),
            ),
            feed_forward=Module(w1=Linear(ffn, hidden), w2=Linear(hidden, ffn), w3=Linear(ffn, hidden)),
            norm=Module(weight=Weight(hidden)),
        )

    return Module(
        embedding=Embedding(vocab, hidden),
        layers=ModuleList(**{str(i): layer() for i in range(layers)}),
        output=Linear(vocab, hidden),
        max_seq_len=2048,
    )


class Models(unittest.TestCase):
    def step(self, model):
        return ppsim.plan(model=model, seq_length=2048, **OPTIONS)

    def test_the_same_model_has_the_same_step(self):
        expected = self.step(LLAMA)
        self.assertGreater(expected.step_ns, 0)
        for model in (Config(LLAMA), Module(config=Config(LLAMA)), decoder()):
            plan = self.step(model)
            self.assertEqual(plan.step_ns, expected.step_ns, type(model))
            self.assertEqual(plan.memory(0), expected.memory(0), type(model))

    def test_a_model_has_the_same_name_everywhere(self):
        """Whatever descriptors are open, and in threads: that of a file of its name."""
        named = {**LLAMA, "_name_or_path": "owner/tiny-llama"}
        texts = [self.step(model).text for model in (LLAMA, named, Config(named))]
        self.assertTrue(texts[0].startswith("model ("), texts[0])
        self.assertTrue(texts[1].startswith("tiny-llama ("), texts[1])
        self.assertEqual(texts[2], texts[1])
        expected = self.step(LLAMA).json
        with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _ in range(120):
                stack.enter_context(open(os.devnull, "rb"))
            self.assertEqual(self.step(LLAMA).json, expected)
            self.assertEqual({plan.json for plan in pool.map(self.step, [LLAMA] * 8)}, {expected})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(LLAMA, file)
            self.assertEqual(self.step(path).text, texts[0])

    def test_numbers_of_numpy(self):
        import numpy as np

        config = {key: np.int64(v) if type(v) is int else v for key, v in LLAMA.items()}
        config["rms_norm_eps"] = np.float64(1e-5)
        config["tie_word_embeddings"] = np.bool_(False)
        self.assertEqual(self.step(config), self.step(LLAMA))

    def test_what_cannot_be_measured_is_refused(self):
        odd = decoder()
        odd.layers.members["3"] = Module(weight=Weight(5, 5))
        experts = decoder()
        experts.layers.members["0"].members["experts"] = Module(weight=Weight(8, 64, 64))
        for model, why in (
            (Module(), "no list of layers"),
            (odd, "not all alike"),
            (experts, "three dimensions"),
        ):
            with self.assertRaises(ppsim.InputError) as raised:
                self.step(model)
            self.assertIn("give its config.json", raised.exception.reason)
            if model is not experts:
                self.assertIn(why, raised.exception.reason)

    def test_no_model(self):
        for model in (object(), 7.5j):
            self.assertRaises(ppsim.UsageError, self.step, model)

    def test_transformers(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("transformers is not installed")
        values = {k: v for k, v in LLAMA.items() if k not in ("architectures", "model_type")}
        with warnings.catch_warnings():
            warnings.simplefilter("error", ppsim.PpsimWarning)  # no key is without a meaning
            plan = self.step(transformers.LlamaConfig(**values))
        self.assertEqual(plan.step_ns, self.step(LLAMA).step_ns)
        for kind in (
            "Qwen3Config",
            "MistralConfig",
            "Gemma2Config",
            "GPT2Config",
            "Qwen3MoeConfig",
        ):
            with self.subTest(kind):
                self.assertGreater(
                    ppsim.plan(model=getattr(transformers, kind)(), pp=2, tp=2, schedule="1f1b").step_ns,
                    0,
                )

    def test_torch(self):
        try:
            import torch
            import transformers
        except ImportError:
            self.skipTest("torch and transformers are not installed")
        values = {k: v for k, v in LLAMA.items() if k not in ("architectures", "model_type")}
        with torch.device("meta"):
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**values))
        expected = self.step(LLAMA)
        self.assertEqual(self.step(model).step_ns, expected.step_ns)
        model.config = None  # by its weights
        model.max_seq_len = 2048
        for layer in model.model.layers:
            layer.self_attn.num_heads = 16
        self.assertEqual(self.step(model).step_ns, expected.step_ns)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ppsim.PpsimWarning)
    unittest.main()
