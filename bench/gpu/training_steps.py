#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps of transformers on one GPU with PyTorch 2, and writes them as the table that `collsim calibrate
--from-training` fits a device to.

usage: training_steps.py [-o FILE.csv]

A step is forward and backward of one or more microbatches in bfloat16, with PyTorch's fused attention and nothing
compiled, and fused AdamW.  A row is the median of 3 to 9 steps after 2 to warm up.  Takes about two minutes on an H100;
what does not fit the GPU's memory is left out.  The optimizer's state has 16 bits a number: 8 bytes of memory for each
parameter, with its gradient.
"""
import argparse
import csv
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

VOCABULARY = 50304
# layers, hidden, heads, sequence, microbatch, how many of them, recompute.  Small ones tell what hosts and the starts of
# kernels cost; long sequences, attention.
CASES = [
    (12, 768, 12, 1024, 2, 4, "none"), (12, 768, 12, 1024, 8, 4, "none"), (12, 768, 12, 1024, 32, 2, "none"),
    (24, 1024, 16, 1024, 4, 4, "none"), (24, 1024, 16, 1024, 16, 2, "none"),
    (24, 1536, 12, 2048, 2, 4, "none"), (24, 1536, 12, 2048, 8, 2, "none"), (12, 1536, 12, 2048, 24, 1, "none"),
    (12, 2048, 16, 2048, 1, 4, "none"), (12, 2048, 16, 2048, 4, 2, "none"), (12, 2048, 16, 2048, 12, 1, "none"),
    (12, 2048, 16, 512, 16, 2, "none"), (12, 2048, 16, 512, 56, 1, "none"),
    (12, 2048, 16, 8192, 1, 2, "none"), (12, 2048, 16, 8192, 3, 1, "none"), (6, 2048, 16, 32768, 1, 1, "none"),
    (8, 4096, 32, 2048, 1, 4, "none"), (8, 4096, 32, 2048, 6, 1, "none"), (6, 4096, 32, 8192, 1, 2, "none"),
    (3, 8192, 64, 2048, 1, 4, "none"), (3, 8192, 64, 2048, 4, 2, "none"),
    (12, 2048, 16, 2048, 12, 1, "full"), (8, 4096, 32, 2048, 8, 1, "full"), (8, 4096, 32, 8192, 2, 1, "full"),
    (3, 8192, 64, 2048, 8, 1, "full"),
]
COLUMNS = ("source,tp,pp,dp,global_batch,micro_batch,hidden,heads,layers,seq,vocab,recompute,attention,iteration_s,peak_bytes")


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.keys, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, sequence, hidden = x.shape
        keys = self.keys(self.norm_1(x)).view(batch, sequence, 3, self.heads, hidden // self.heads)
        mixed = functional.scaled_dot_product_attention(*keys.permute(2, 0, 3, 1, 4), is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, sequence, hidden))
        return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, layers, hidden, heads, sequence, recompute):
        super().__init__()
        self.again = recompute == "full"
        self.tokens, self.places = nn.Embedding(VOCABULARY, hidden), nn.Embedding(sequence, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.logits = nn.Linear(hidden, VOCABULARY, bias=False)
        self.logits.weight = self.tokens.weight
        for weights in self.parameters():
            if weights.dim() > 1:
                nn.init.normal_(weights, std=0.02)

    def forward(self, x, y):
        values = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            values = checkpoint(block, values, use_reentrant=False) if self.again else block(values)
        logits = self.logits(self.norm(values)).float()
        return functional.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1))


def seconds_of_step(layers, hidden, heads, sequence, micro_batch, times, recompute):
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Transformer(layers, hidden, heads, sequence, recompute)
    torch.set_default_dtype(torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x = torch.randint(0, VOCABULARY, (micro_batch, sequence), device="cuda")
    y = torch.roll(x, -1, 1)

    def step():
        begin = time.perf_counter()
        for _ in range(times):
            model(x, y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    for _ in range(2):
        step()
    seen = []
    while len(seen) < 3 or (len(seen) < 9 and sum(seen) < 2.5):
        seen.append(step())
    return statistics.median(seen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("-o", "--output", metavar="FILE.csv", help="default: standard output")
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("training_steps.py: PyTorch finds no GPU")
    source = f"one {torch.cuda.get_device_name()}; PyTorch {torch.__version__}"
    with open(asked.output, "w", encoding="utf-8") if asked.output else sys.stdout as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS.split(","))
        for case in CASES:
            layers, hidden, heads, sequence, micro_batch, times, recompute = case
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            try:
                seconds = seconds_of_step(*case)
            except torch.cuda.OutOfMemoryError:
                print(f"{case}: does not fit the GPU's memory", file=sys.stderr)
                continue
            rows.writerow([source, 1, 1, 1, micro_batch * times, micro_batch, hidden, heads, layers, sequence, VOCABULARY,
                           recompute, "fused", f"{seconds:.6f}", torch.cuda.max_memory_allocated()])
            file.flush()


if __name__ == "__main__":
    main()
