"""Files that the guide names: random, but laid out as the real ones; those of SentEval are as long."""

from __future__ import annotations

import gzip
import lzma
import shutil
from importlib import resources
from pathlib import Path

import numpy as np

from sentencode.evaluation.data.senteval import _TASKS

STUB = Path(__file__).parents[1] / "senteval" / "stub_senteval"
TEXT = "the cat saw a dog . the man was king and the woman ran . good ship , bad sea : it sank in the rain"
WORDS = list(dict.fromkeys(TEXT.split()))
CLASSES = ("DESC:manner", "HUM:ind", "LOC:city", "NUM:date", "ENTY:animal", "ABBR:exp")


def write_files(folder: Path) -> None:
    """Writes them all."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(len(WORDS), 300)).round(3).astype(str)
    glove = [" ".join([word, *row]) for word, row in zip(WORDS, rows, strict=True)]
    (folder / "glove.840B.300d.txt").write_text("\n".join(glove) + "\n")
    books = (resources.files("sentencode") / "data/demo_sentences.txt").read_bytes()
    (folder / "books.txt").write_bytes(books)
    (folder / "books").mkdir()
    (folder / "books" / "jungle.txt.xz").write_bytes(lzma.compress(books))
    with gzip.open(folder / "enwiki_vocab_min200.txt.gz", "wt") as file:
        file.writelines(f"{word} {1000 - i}\n" for i, word in enumerate(WORDS))
    pairs = ["5\tA ship was lost.\tThe vessel sank.", "1\tA ship was lost.\tGrandfather slept."]
    pairs += ["4\tHe ran.\tHe was running.", "2\tShe wept.\tShe was glad."]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    captions = [f"{i // 3}\t{_sentence(rng)}" for i in range(30)]
    (folder / "captions.tsv").write_text("\n".join(captions) + "\n")
    shutil.copytree(STUB, folder / "SentEval" / "senteval")
    _write_senteval(folder / "SentEval" / "data" / "downstream", rng)


def write_fasttext(path: Path) -> None:
    """A small model in fastText's format, written by gensim."""
    from gensim.models.fasttext import FastText, save_facebook_model

    sentences = [WORDS] * 20
    model = FastText(
        sentences, vector_size=20, min_count=1, bucket=500, min_n=5, max_n=5, epochs=1, workers=1
    )
    plain = path.with_suffix("")
    save_facebook_model(model, str(plain))
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


def _sentence(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, size=4))


def _write_senteval(folder: Path, rng: np.random.Generator) -> None:
    def write(path: str, lines: list[str]) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(lines) + "\n")

    def sizes(task: str) -> dict[str, int]:
        return dict(_TASKS[task].sizes)

    for task, ones, zeros in (
        ("MR", "rt-polarity.pos", "rt-polarity.neg"),
        ("CR", "custrev.pos", "custrev.neg"),
    ):
        size = sizes(task)["all"]
        write(f"{task}/{ones}", [f"good {_sentence(rng)}" for _ in range(size // 2)])
        write(f"{task}/{zeros}", [f"bad {_sentence(rng)}" for _ in range(size - size // 2)])
    for file, size in zip(("train_5500", "TREC_10"), sizes("TREC").values(), strict=True):
        write(
            f"TREC/{file}.label", [f"{CLASSES[i % 6]} {WORDS[i % 6]} {_sentence(rng)}" for i in range(size)]
        )
    for name, size in sizes("STS14").items():
        write(f"STS/STS14-en-test/STS.gs.{name}.txt", [f"{i % 6}" for i in range(size)])
        pairs = [f"{_sentence(rng)}\t{_sentence(rng)}" for _ in range(size)]
        write(f"STS/STS14-en-test/STS.input.{name}.txt", pairs)
    for split, size in sizes("STSBenchmark").items():
        lines = [f"a\tb\t2014\t{i}\t{i % 6}\t{_sentence(rng)}\t{_sentence(rng)}" for i in range(size)]
        write(f"STS/STSBenchmark/sts-{split}.csv", lines)
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    for file, size in zip(
        ("train", "trial", "test_annotated"), sizes("SICKRelatedness").values(), strict=True
    ):
        lines = [f"{i}\t{_sentence(rng)}\t{_sentence(rng)}\t{1 + i % 5}\tNEUTRAL" for i in range(size)]
        write(f"SICK/SICK_{file}.txt", [header, *lines])
