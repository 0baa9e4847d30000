"""A torch.nn.Module on the meta device is planned as the model that it is: ppsim.plan measures PyTorch's own
modules by their weights.

usage: test_python_models.py PPSIM   (the package: wheel.py)
"""
import warnings

import torch

import wheel

wheel.find()
import ppsim

OPTIONS = {"pp": 2, "schedule": "1f1b", "global_batch_size": 4, "micro_batch_size": 1, "seq_length": 2048}
HIDDEN, HEADS, KV, FFN, VOCAB, LAYERS = 1024, 16, 4, 2816, 32000, 8


class Attention(torch.nn.Module):
    """As in torchtitan's models: separate projections, grouped queries."""

    def __init__(self):
        super().__init__()
        self.n_heads = HEADS
        self.wq = torch.nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.wk = torch.nn.Linear(HIDDEN, HIDDEN // HEADS * KV, bias=False)
        self.wv = torch.nn.Linear(HIDDEN, HIDDEN // HEADS * KV, bias=False)
        self.wo = torch.nn.Linear(HIDDEN, HIDDEN, bias=False)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.feed_forward = torch.nn.ModuleDict(
            {name: torch.nn.Linear(*sizes, bias=False)
             for name, sizes in (("w1", (HIDDEN, FFN)), ("w2", (FFN, HIDDEN)), ("w3", (HIDDEN, FFN)))})
        self.attention_norm = torch.nn.RMSNorm(HIDDEN)
        self.ffn_norm = torch.nn.RMSNorm(HIDDEN)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.max_seq_len = 2048
        self.tok_embeddings = torch.nn.Embedding(VOCAB, HIDDEN)
        self.layers = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = torch.nn.RMSNorm(HIDDEN)
        self.output = torch.nn.Linear(HIDDEN, VOCAB, bias=False)


def main():
    warnings.simplefilter("ignore")
    config = {"model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": FFN, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": KV, "vocab_size": VOCAB,
              "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "tie_word_embeddings": False}
    with torch.device("meta"):
        module = Decoder()
    ours = ppsim.plan(model=module, **OPTIONS)
    known = ppsim.plan(model=config, **OPTIONS)
    assert ours.step_ns == known.step_ns, (ours.step_ns, known.step_ns)
    assert [ours.memory(r) for r in range(2)] == [known.memory(r) for r in range(2)]
    try:
        ppsim.plan(model=torch.nn.Linear(4, 4), **OPTIONS)
    except ppsim.InputError as refused:
        assert "no list of layers" in refused.reason, refused
    else:
        raise AssertionError("a single layer was planned as a model")
    print(f"a module of PyTorch {torch.__version__} is planned as its configuration is")


main()
