"""memshim capture of text generation, which a token ends that no kernel computed: the upper end is the length limit."""

import json

import pytest
from captured import capture, decode

from memshim import binary

torch = pytest.importorskip("torch")

ZOO = """
import torch
from torch import nn

WORDS, WIDTH, LIMIT, END = 8000, 256, 40, 7

class Text(nn.Module):
    def __init__(self, ends=True, beams=1):
        super().__init__()
        self.ends, self.beams = ends, beams
        self.words, self.out = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)

    def choose(self, scores):
        return scores.argmax(-1)

    def forward(self, tokens):
        tokens = tokens.repeat_interleave(self.beams, 0)
        going = torch.ones(len(tokens), dtype=torch.int64, device=tokens.device)
        kept = []
        for _ in range(LIMIT):
            x = self.words(tokens[:, -1])
            kept.append(x.repeat(1, 64))  # as keys and values are
            tokens = self.extend(tokens, self.out(x))
            going = going & (tokens[:, -1] != END)
            if self.ends and going.max() == 0:  # end
                break
        return tokens

    def extend(self, tokens, scores):
        return torch.cat([tokens, self.choose(scores)[:, None]], 1)

class Sampled(Text):
    def choose(self, scores):
        return torch.multinomial(scores.softmax(-1), 1)[:, 0]

class Beams(Text):
    def extend(self, tokens, scores):
        rows = len(tokens) // self.beams
        best = scores.log_softmax(-1).view(rows, -1).topk(self.beams).indices
        beam = best // WORDS + self.beams * torch.arange(rows, device=best.device)[:, None]
        return torch.cat([tokens[beam.flatten()], (best % WORDS).view(-1, 1)], 1)

def greedy(): return Text()
def greedy_to_the_limit(): return Text(ends=False)
def sampled(): return Sampled()
def sampled_to_the_limit(): return Sampled(ends=False)
def beams(): return Beams(beams=3)
def beams_to_the_limit(): return Beams(ends=False, beams=3)
"""
END = next(i for i, line in enumerate(ZOO.splitlines(), 1) if line.endswith("# end"))


pytestmark = pytest.mark.usefixtures("pretend_gpu")


def recorded(folder, name):
    p = capture(folder, f"zoo.py:{name}", "--input", "int64[4,8]", "--on", "t4", "-o", f"{name}.rec", "--fresh")
    assert p.returncode == 0, p.stderr
    return decode(folder / f"{name}.rec")[0]


def judged(folder, name, allocated):
    (folder / "memspec.yaml").write_text(
        "version: 1\ndefaults: {device: t4}\n"
        f"models: {{it: {{artifact: {name}.rec, budget: {{allocated: {allocated}}}}}}}\n"
    )
    said = binary.call("check", str(folder / "memspec.yaml"), "--format", "json")
    return json.loads(said.out)["cases"][0]


@pytest.mark.parametrize("name", ["greedy", "sampled", "beams"])
def test_the_upper_end_of_generation_is_its_length_limit(folder, name):
    ended, whole = recorded(folder, name), recorded(folder, f"{name}_to_the_limit")
    limit = max(p["allocated"] for p in whole["phases"])
    found = [max(p["allocated"] for p in r["phases"]) for r in [ended, *ended["values"]["runs"]] if "phases" in r]
    assert max(found) == limit and min(found) < limit - 10 * 4 * 256 * 64 * 4, "30 tokens less, at least"
    assert [line["line"] for line in ended["values"]["lines"]] == [END]
    kept, broken = judged(folder, name, limit), judged(folder, name, limit - 1)
    assert (kept["outcome"], broken["outcome"]) == ("pass", "inconclusive")
    assert f"zoo.py:{END}" in broken["findings"][0]["why"]
