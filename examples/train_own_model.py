"""Trains your own PyTorch model with the trainer: python examples/train_own_model.py [folder].

The model predicts the words of the next sentence from the bag of words of a sentence. After Ctrl-C, the same
command resumes.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import resources

import torch
from torch import Tensor, nn

import sentencode as se
from sentencode.training import Batcher, CsvLog, Examples, TensorBatch, Trainer


class NextWords(nn.Module):
    """Predicts p(next words | z), where z is the mean of a sentence's word embeddings."""

    def __init__(self, words: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, dim)
        self.out = nn.Linear(dim, words)

    def encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The embeddings z [B, dim] of sentences [B, T]."""
        weights = mask.unsqueeze(2) / mask.sum(1)[:, None, None]  # [B, T, 1]
        return (self.table(ids) * weights).sum(1)

    def loss(self, batch: TensorBatch) -> tuple[Tensor, int]:
        """The summed loss over the words of the next sentences, and their number."""
        z = self.encode(batch.ids["tokens"], batch.mask["tokens"])  # [B, dim]
        log_p = self.out(z).log_softmax(1).gather(1, batch.ids["next"])  # [B, T]
        mask = batch.mask["next"]
        return -log_p[mask].sum(), int(mask.sum())


def main() -> None:
    """Builds examples, trains, and prints the validations."""
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    books = str(resources.files("sentencode") / "data/demo_sentences.txt")
    vocabulary = se.Vocabulary.from_corpus(books, min_count=3)
    examples = Examples.build(books, vocabulary, neighbours={"next": 1}, path=f"{folder}/books.examples")
    torch.manual_seed(0)
    model = NextWords(examples.vocabulary_size(), 32)

    trainer = Trainer(
        model,
        Batcher(examples, batch_size=32, seed=1),
        Batcher(examples, mode="plain", batch_size=256, shuffle=False),
        learning_rate=3e-3,
        schedule="inverse_sqrt",
        warmup=20,
        clip_norm=1.0,
        max_epochs=3,
        checkpoints=f"{folder}/checkpoints",
        callbacks=[CsvLog(f"{folder}/log.csv")],
    )
    history = trainer.run(show_progress_bar=sys.stderr.isatty())
    for validation in history.validations:
        print(f"step {validation.step}: loss {validation.loss:.3f}{' (best)' if validation.best else ''}")
    trainer.load_best()


if __name__ == "__main__":
    main()
