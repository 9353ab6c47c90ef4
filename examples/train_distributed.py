"""Trains one model in several processes, and resumes when one of them dies.

    python -m sentencode.distributed.torchrun --standalone --nproc-per-node 2 --max-restarts 1 \
      examples/train_distributed.py FOLDER

With `--die-at 12`, the last process kills itself once after that step: torchrun restarts all processes, and
they resume from the last checkpoint. On several machines, all must share FOLDER.
`sentencode.distributed.torchrun` is torchrun, except that restarted processes never wait for a dead one.
"""

from __future__ import annotations

import argparse
import os
import signal
from importlib import resources

import torch
import torch.distributed
from torch import Tensor, nn

import sentencode as se
from sentencode.distributed import init_process_group
from sentencode.training import Batcher, Callback, CsvLog, Examples, Step, TensorBatch, Trainer


class Missing(nn.Module):
    """Predicts each word of a sentence from the mean of its word embeddings."""

    def __init__(self, words: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, dim)
        self.out = nn.Linear(dim, words)

    def loss(self, batch: TensorBatch) -> tuple[Tensor, int]:
        """The summed loss over all words, and their number."""
        ids, mask = batch.ids["tokens"], batch.mask["tokens"]
        mean = (self.table(ids) * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)  # [B, dim]
        log_p = self.out(mean).log_softmax(1).gather(1, ids)  # [B, T]
        return -log_p[mask].sum(), int(mask.sum())


class Dies(Callback):
    """Kills the last process after a step, once: torchrun counts restarts."""

    def __init__(self, step: int | None) -> None:
        self.step = step if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0" else None

    def on_step(self, trainer: Trainer, step: Step) -> None:
        """As a machine that fails would: nothing is said, nothing is tidied up."""
        if step.step == self.step and trainer.rank == trainer.world - 1:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Every process runs this."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--die-at", type=int)
    chosen = parser.parse_args()

    cuda = torch.cuda.is_available()
    init_process_group("nccl" if cuda else "gloo")  # torch's, which listens on the loopback address alone
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    device = torch.device("cuda" if cuda else "cpu")  # the GPU of this process
    try:
        os.makedirs(chosen.folder, exist_ok=True)
        books = str(resources.files("sentencode") / "data/demo_sentences.txt")
        vocabulary = se.Vocabulary.from_corpus(books, min_count=3)
        # All processes build the same file: the first one does it, the others wait for it.
        examples = Examples.build(books, vocabulary, path=f"{chosen.folder}/books.examples")
        torch.manual_seed(0)
        model = Missing(examples.vocabulary_size(), 32).to(device)  # weights: those of the first process
        trainer = Trainer(
            model,
            Batcher(examples, batch_size=64, seed=1, rank=rank, world=world),
            max_steps=chosen.steps,
            save_every=5,
            checkpoints=f"{chosen.folder}/checkpoints",
            callbacks=[CsvLog(f"{chosen.folder}/log.csv"), Dies(chosen.die_at)],
        )
        history = trainer.run()
        if rank == 0 and history.steps:
            first, last = history.steps[0], history.steps[-1]
            print(f"{world} processes, steps {first.step} to {last.step}, loss {last.loss:.4f}")
    finally:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
