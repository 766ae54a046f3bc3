"""Whether fp16 gradients of a GPT model overflow at the loss scale of Megatron-LM's n-th iteration.

    pip install torch
    python3 bench/reference/megatron_overflow.py        a minute on two cores

Megatron-LM's dynamic scale begins at 2^32 (--initial-loss-scale) and is halved after
each overflow but the first (--hysteresis 2), so that iteration n has 2^(34-n) as long
as all overflow, the tenth 2^24. The model is the NCCL Trace Profiler's: 16 layers of
512, 8 heads, sequences of 1,024, initialised as --init-method-std 0.006 does. One
sequence of tokens, drawn as words are distributed (Zipf), gives a part of an
iteration's gradients; where that part is beyond fp16's largest number the whole is
an overflow too, but for sums that cancel. Gradients are computed in fp32 and scaled.
"""

import math

import torch
from torch import nn
from torch.nn import functional

LAYERS, HIDDEN, HEADS, SEQUENCE, WORDS = 16, 512, 8, 1024, 50304
MICROBATCH, STD, LARGEST = 4, 0.006, 65504
LAYOUTS = {"DP=4, 4 microbatches of a rank": 4, "TP=4 or PP=4, 16 microbatches": 16}


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.proj = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.fc1, self.fc2 = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        output = STD / math.sqrt(2 * LAYERS)
        for matrix, std in ((self.qkv, STD), (self.fc1, STD), (self.proj, output), (self.fc2, output)):
            nn.init.normal_(matrix.weight, 0, std)
            nn.init.zeros_(matrix.bias)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).view(1, SEQUENCE, HEADS, -1).transpose(1, 2).chunk(3, -1)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(attended.transpose(1, 2).reshape(1, SEQUENCE, HIDDEN))
        return x + self.fc2(functional.gelu(self.fc1(self.norm2(x))))


def gradients():
    """Of the sum of one sequence's losses, by parameter."""
    torch.manual_seed(42)
    words, positions = (nn.Parameter(torch.randn(n, HIDDEN) * STD) for n in (WORDS, SEQUENCE))
    model = nn.ModuleDict({"layers": nn.ModuleList(Layer() for _ in range(LAYERS)), "norm": nn.LayerNorm(HIDDEN)})
    tokens = torch.multinomial(1 / torch.arange(1.0, WORDS + 1), SEQUENCE + 1, replacement=True)
    x = (words[tokens[:-1]] + positions)[None]
    for layer in model["layers"]:
        x = layer(x)
    functional.cross_entropy(model["norm"](x)[0] @ words.t(), tokens[1:], reduction="sum").backward()
    named = dict(model.named_parameters(), words=words, positions=positions)
    return {name: p.grad for name, p in named.items()}


def main():
    found = gradients()
    name, largest = max(((n, g.abs().max().item()) for n, g in found.items()), key=lambda pair: pair[1])
    for layout, microbatches in LAYOUTS.items():
        mean = MICROBATCH * SEQUENCE * microbatches  # the loss is a mean over tokens and microbatches
        for n in (1, 5, 10):
            scaled = largest / mean * 2 ** (32 if n == 1 else 34 - n)
            print("%-32s iteration %2d: %-22s %.3g, %.1f times fp16's largest" % (layout, n, name, scaled, scaled / LARGEST))


if __name__ == "__main__":
    main()
