"""Paper 000's mean-max autoencoder at its size, for the time that is left, from where the last call ended.

The encoder's half of the network is written as float16 in pieces that are small enough to be brought back.
`tools/gpu_check --evaluate` makes the encoder of them.
"""

from __future__ import annotations

import lzma
import time
from typing import Any

from cases import Recorder
from common import TOKENIZER, WORDS, Facts, gpu, options_of_part, read_json, text, word_vectors, write_json

PIECE = 15 * 2**20  # bytes of a file
VALIDATED = 2_000  # sentences
RESERVE = 20.0  # seconds for the checkpoint and the encoder
OPTIONS: dict[str, Any] = {
    "preset": "reference",  # the paper's public code
    "hidden": 2048,
    "vocabulary_size": WORDS,
    "batch_size": 64,
    "max_steps": 100_000,
    "max_epochs": None,
    "validate_every": 2_500,
    "save_every": 25_000,  # half a gigabyte; one is written at the end in any case
    **TOKENIZER,
}
SMALL = {
    "hidden": 64,
    "heads": 4,
    "vocabulary_size": 2_000,
    "max_steps": 60,
    "validate_every": 20,
    "save_every": 20,
}


def encoder_of(vectors: Any, rehearsal: bool, device: str, **change: Any) -> Any:
    import sentencode as se

    return se.MeanMaxAAE(vectors, **{**OPTIONS, **(SMALL if rehearsal else {}), "device": device, **change})


class Deadline(KeyboardInterrupt):
    """The trainer writes a checkpoint and stops, as for Ctrl-C."""


def main() -> None:
    import sentencode as se
    from sentencode.training import Callback

    args = options_of_part()
    facts, device = Facts(args), gpu(args)
    begin = time.monotonic()
    end = (
        begin + (min(args.seconds, 60) if args.rehearse else args.seconds) - (0 if args.rehearse else RESERVE)
    )
    recorder, path = Recorder(), args.work / "history.json"
    history = read_json(path) or {"steps": [], "validations": [], "seconds": 0.0}
    before = history["seconds"]
    if (
        history["steps"]
        and history["steps"][-1]["step"] >= (SMALL if args.rehearse else OPTIONS)["max_steps"]
    ):
        facts.put(**(read_json(args.work / "trained.json") or {}))
        return

    class Log(Callback):
        loss = tokens = examples = steps = 0
        first, started = 0, 0.0

        def on_step(self, trainer: Any, step: Any) -> None:
            now = time.monotonic()
            if not self.started:
                self.started, self.first = now, step.step
                for events in (history["steps"], history["validations"]):  # that were lost with a process
                    events[:] = [event for event in events if event["step"] < step.step]
            self.loss += step.loss * step.tokens
            self.tokens += step.tokens
            self.examples += step.examples
            self.steps += 1
            if step.step % (10 if args.rehearse else 500) == 0:
                history["steps"].append(
                    {
                        "step": step.step,
                        "epoch": step.epoch,
                        "loss": self.loss / self.tokens,
                        "sentences": self.examples,
                        "seconds": round(before + now - begin, 1),
                    }
                )
                self.loss = self.tokens = self.examples = 0
            if now > end:
                raise Deadline

        def on_validation(self, trainer: Any, validation: Any) -> None:
            history["validations"].append(
                {"step": validation.step, "loss": validation.loss, "accuracy": validation.accuracy}
            )
            history["seconds"] = round(before + time.monotonic() - begin, 1)
            write_json(path, history)
            facts.put(history=history)

        def on_end(self, trainer: Any) -> None:
            self.last = trainer.step

    log = Log()
    vectors = word_vectors(args)
    with lzma.open(args.kit / "data" / "text" / "books.valid.txt.xz", "rt", encoding="utf-8") as lines:
        valid = [line.rstrip("\n") for line in lines if line.strip()][: 100 if args.rehearse else VALIDATED]
    training = [line for line in text(args, 3_000 if args.rehearse else None) if line.strip()]
    facts.put(
        options=dict(OPTIONS),
        sentences=len(training),
        read_seconds=time.monotonic() - begin,
    )
    encoder = encoder_of(
        vectors, args.rehearse, device, **({} if args.rehearse else {"autocast": "bfloat16"})
    )
    ended = "all steps"
    try:
        encoder.fit(
            training, valid=valid, checkpoints=args.work / "checkpoints", keep_last=1, callbacks=[log]
        )
    except KeyboardInterrupt:
        ended = "time"
    history["seconds"] = round(before + time.monotonic() - begin, 1)
    write_json(path, history)
    network = recorder.model
    examples = recorder.batches.examples
    network.eval()
    result = {
        "ended": ended,
        "step": log.last,
        "history": history,
        "examples": len(examples),
        "vocabulary": examples.vocabulary_size(),
        "encoder": export(network, args),
        "version": se.__version__,
    }
    if log.steps > 1:
        seconds = time.monotonic() - log.started
        result["steps_per_second"] = (log.last - log.first) / seconds
    facts.put(**result)
    write_json(args.work / "trained.json", facts.values)


def export(network: Any, args: Any) -> dict[str, Any]:
    """Writes the weights that encoding reads, and says where each lies."""
    import numpy as np

    state = network.state_dict()
    config = network._config
    tensors = {name: t for name, t in state.items() if name.startswith("encoder.")}
    tensors["end"] = state["table.weight"][config["end"]]
    flat = [t.detach().float().cpu().numpy().astype(np.float16) for t in tensors.values()]
    content = b"".join(array.tobytes() for array in flat)
    for old in args.out.glob("encoder-*.bin"):
        old.unlink()
    files = []
    for number, begin in enumerate(range(0, len(content), PIECE)):
        files.append(f"encoder-{number}.bin")
        (args.out / files[-1]).write_bytes(content[begin : begin + PIECE])
    shapes = {name: list(array.shape) for name, array in zip(tensors, flat, strict=True)}
    return {"files": files, "shapes": shapes, "config": config}


if __name__ == "__main__":
    main()
