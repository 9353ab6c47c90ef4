"""Paragraph vectors (Le and Mikolov 2014), by gensim."""

from __future__ import annotations

import copy
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from ._extras import require
from .checks import checked_bool, checked_float, checked_int
from .core_encoder import CoreEncoder, checked_keys, parsed_params, plain
from .progress import progress
from .tensor_file import Tensors, read_tensors, write_tensors
from .text.corpus import Corpus, repeatable
from .text.inputs import TEXT_AT_ONCE, unit_of
from .text.tokenizer import Tokenizer, chosen_tokenizer
from .text.vocabulary import Vocabulary
from .threads import num_threads
from .vectors.train import Epochs

__all__ = ["ParagraphVec"]

Floats = npt.NDArray[np.float32]

_BATCH = 1 << 14
_PRESETS: dict[str, dict[str, Any]] = {
    "small": {
        "vector_size": 100,
        "window": 5,
        "epochs": 10,
        "min_count": 2,
        "negative": 5,
        "sample": 1e-4,
        "dbow_words": True,
    },
    "paper": {
        "vector_size": 400,
        "window": 10,
        "epochs": 20,
        "min_count": 1,
        "negative": 0,
        "sample": 0.0,
        "dbow_words": False,
    },
}


class ParagraphVec(CoreEncoder):
    """Paragraph vectors (Le and Mikolov 2014): an embedding that is trained to predict the sentence's words.

    `fit` trains word vectors, and a vector for each sentence, by gensim's Doc2Vec (`pip install
    'sentencode[train]'`). `encode` then fixes all weights and trains a vector for each new sentence in the
    same way. Its random numbers depend on `seed` and on the sentence only, so the embedding is the same in
    every batch and process. `fit` is reproducible with one thread (`se.set_num_threads(1)`). It needs
    memory for a vector of each sentence.

    Args:
        mode: "dbow" predicts words from the sentence's vector; "dm" from the mean of that vector and those of
            the neighbouring words.
        preset: Values of the parameters that are None. "small" is for text of up to a million sentences;
            "paper" has the 400 dimensions, the window and the hierarchical softmax of the paper, which states
            no number of epochs.
        vector_size: Dimension of embeddings. None: 100, or 400 with "paper".
        window: Words to each side, for "dm" and `dbow_words`. None: 5, or 10.
        epochs: Passes over the corpus. None: 10, or 20.
        inference_epochs: Passes over a sentence in `encode`. None: 50, or `epochs` if that is more.
        min_count: Minimum count of a word. None: 2, or 1.
        negative: Noise words for each word; 0: hierarchical softmax. None: 5, or 0.
        sample: Threshold of the probability above which words are left out at random; 0: none are. None:
            1e-4, or 0.
        dbow_words: Whether "dbow" also trains word vectors by skip-gram. None: yes, or no with "paper".
        learning_rate: Initial learning rate, which falls linearly to 0.0001.
        tokenizer: As for `Average`, without "auto".
        lowercase: Whether to lower-case.
        seed: Seed of everything random.

    Example:
        >>> import sentencode as se
        >>> texts = ["a man plays a guitar", "a man plays a flute", "the dog sleeps", "the cat sleeps"] * 5
        >>> encoder = se.ParagraphVec("dbow", vector_size=8).fit(texts)
        >>> encoder.encode(["the man sleeps", "unknown"]).shape
        (2, 8)
    """

    _model: _Model

    def __init__(
        self,
        mode: Literal["dbow", "dm"] = "dbow",
        *,
        preset: Literal["small", "paper"] = "small",
        vector_size: int | None = None,
        window: int | None = None,
        epochs: int | None = None,
        inference_epochs: int | None = None,
        min_count: int | None = None,
        negative: int | None = None,
        sample: float | None = None,
        dbow_words: bool | None = None,
        learning_rate: float = 0.025,
        tokenizer: Any = "words",
        lowercase: bool = True,
        seed: int = 0,
    ) -> None:
        self.mode = mode
        self.preset = preset
        self.vector_size = vector_size
        self.window = window
        self.epochs = epochs
        self.inference_epochs = inference_epochs
        self.min_count = min_count
        self.negative = negative
        self.sample = sample
        self.dbow_words = dbow_words
        self.learning_rate = learning_rate
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.seed = seed

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        self._check_fitted()
        return int(self._model.options["vector_size"])

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Train on sentences, which are read once to count words, and once in each epoch.

        Args:
            sentences: Sentences, a `Corpus`, or the name of a text file, a folder or a glob; an iterator is
                read into a list.
            y: Ignored.
            show_progress_bar: Whether to show a progress bar. None: if the logger "sentencode" shows
                information, or, after a second, in a terminal or a notebook.

        Returns:
            The encoder itself.

        Raises:
            ImportError: gensim is not installed.
            ValueError: A parameter is invalid, or no word is frequent enough.
        """
        require("gensim", "train")
        options, tokenizer = self._options(), self._new_tokenizer()
        sentences = repeatable(sentences)
        corpus = sentences if isinstance(sentences, Corpus) else Corpus(sentences)
        counter = _core.VocabularyCounter(tokenizer.core())
        with progress(show_progress_bar, "counting words", unit_of(corpus), interactive=True) as bar:
            show = bar is not None
            for batch in corpus.batches(_BATCH, text=TEXT_AT_ONCE, on_progress=bar):
                counter.add(tokenizer.prepare(batch))
        vocabulary = Vocabulary._of(counter.finish(min_count=options["min_count"], max_size=0))
        if not vocabulary:
            raise ValueError(
                f"ParagraphVec: no word of the {counter.sentences:,} sentences occurs "
                f"{options['min_count']} times or more; give more text or a smaller min_count"
            )
        doc2vec = _doc2vec(options, dict(vocabulary.most_common()), counter.sentences)
        epochs = Epochs(corpus, tokenizer, options["epochs"], show)
        doc2vec.train(_Documents(epochs), total_examples=counter.sentences, epochs=options["epochs"])
        # What inference reads: "dbow" has no use for word vectors.
        tensors = {"output": doc2vec.syn1neg if options["negative"] else doc2vec.syn1}
        if options["mode"] == "dm":
            tensors["input"] = doc2vec.wv.vectors
        self._adopt(_Model(options, vocabulary.words, np.array(vocabulary.counts), tensors), tokenizer)
        return self

    def _encode_into(self, batch: Any, out: Floats) -> None:
        doc2vec = copy.copy(self._doc2vec())  # which shares the arrays, not the random numbers
        options, index = self._model.options, doc2vec.wv.key_to_index
        for row, tokens in zip(out, self._fitted_tokenizer(batch), strict=True):
            known = [token for token in tokens if token in index]
            row[:] = _inferred(doc2vec, known, options) if known else 0

    def _doc2vec(self) -> Any:
        """The model of gensim, without sentences."""
        model, cached = self._model, self.__dict__.get("_cached")
        if cached is None or cached[0] is not model:
            doc2vec = _doc2vec(model.options, dict(zip(model.words, model.counts.tolist(), strict=True)), 0)
            if model.options["negative"]:
                doc2vec.syn1neg = model.tensors["output"]
            else:
                doc2vec.syn1 = model.tensors["output"]
            doc2vec.wv.vectors = model.tensors.get("input", doc2vec.wv.vectors)
            cached = self._cached = model, doc2vec
        return cached[1]

    def _options(self) -> dict[str, Any]:
        """The checked parameters, with the values of the preset."""
        for name, allowed in (("mode", ("dbow", "dm")), ("preset", tuple(_PRESETS))):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"ParagraphVec: {name} must be {allowed[0]!r} or {allowed[1]!r}, "
                    f"got {getattr(self, name)!r:.40}"
                )
        preset = _PRESETS[self.preset]
        values = {name: preset[name] if (now := getattr(self, name)) is None else now for name in preset}
        options: dict[str, Any] = {"mode": self.mode}
        for name, least in (
            ("vector_size", 1),
            ("window", 1),
            ("epochs", 1),
            ("min_count", 1),
            ("negative", 0),
        ):
            options[name] = checked_int(f"ParagraphVec: {name}", values[name], least, 2**31 - 1)
        passes = max(50, options["epochs"]) if self.inference_epochs is None else self.inference_epochs
        return options | {
            "inference_epochs": checked_int("ParagraphVec: inference_epochs", passes, 1, 2**31 - 1),
            "sample": checked_float("ParagraphVec: sample", values["sample"], 0),
            "dbow_words": checked_bool("ParagraphVec: dbow_words", values["dbow_words"]),
            "learning_rate": checked_float("ParagraphVec: learning_rate", self.learning_rate, 0, above=True),
            "seed": checked_int("ParagraphVec: seed", self.seed, 0),
        }

    def _new_tokenizer(self) -> Tokenizer:
        return chosen_tokenizer("ParagraphVec", self.tokenizer, self.lowercase, compounds=True)

    def _adopt(self, model: _Model, tokenizer: Tokenizer) -> None:
        self._fitted_tokenizer, self._model = tokenizer, model
        self._fitted_params = self.get_params(deep=False)

    def _identity(self) -> Any:
        self._check_fitted()
        model = self._model
        tokenizer = self._fitted_tokenizer.to_config()
        return model.options, model.words, model.counts, model.tensors, tokenizer

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cached"}

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the encoder to a file for `sentencode.load`.

        It is a safetensors file with checksums and the parameters as JSON. It is written atomically, and
        contains no code. Programs in C++ cannot read it.

        Args:
            path: File, which is replaced.

        Raises:
            NotFittedError: The encoder was not fitted, or its parameters have changed since.
            OSError: The file cannot be written.
        """
        self._check_fitted()
        self._check_tokenizer_name()
        model = self._model
        spelled = [word.encode() for word in model.words]
        tensors = {
            **model.tensors,
            "counts": model.counts,
            "words": np.frombuffer(b"".join(spelled), np.uint8),
            "ends": np.cumsum([len(word) for word in spelled], dtype=np.int64),
        }
        params = {
            **self.get_params(deep=False),
            **model.options,  # not the preset's, which may change
            "tokenizer": self._fitted_tokenizer.to_config(),
        }
        text = json.dumps({name: plain(value) for name, value in params.items()})
        metadata = {"format": "sentencode", "format_version": "2", "kind": "ParagraphVec"}
        write_tensors(path, tensors, metadata | {"config": "{}", "params": text})

    @classmethod
    def _open(cls, path: str) -> Any:
        """What `load` needs of a file."""
        params = json.loads(_core.encoder_config(path))["params"]
        tokenizer = SimpleNamespace(subwords=None)  # they are in the parameters
        return SimpleNamespace(params=params, tensors=read_tensors(path), tokenizer=tokenizer)

    @classmethod
    def _read_params(cls, model: Any) -> dict[str, Any]:
        return checked_keys(cls, parsed_params(model), set(cls._defaults()))

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], tokenizer: Tokenizer, *, trust: bool) -> Any:
        encoder = cls(**{**params, "tokenizer": tokenizer})
        options, tensors = encoder._options(), dict(model.tensors)
        counts, ends, spelled = (tensors.pop(name) for name in ("counts", "ends", "words"))
        content, begins = spelled.tobytes(), np.concatenate([ends[:0], [0], ends[:-1]])
        words = [content[begin:end].decode() for begin, end in zip(begins, ends, strict=True)]
        shapes = {name: tensors[name].shape for name in tensors}
        expected = ["input", "output"] if options["mode"] == "dm" else ["output"]
        if shapes != dict.fromkeys(expected, (len(words), options["vector_size"])):
            raise ValueError(f"tensors {shapes} do not fit {len(words)} words and {options}")
        if len(set(words)) < len(words) or counts.shape != ends.shape or (counts < 1).any():
            raise ValueError("words must be distinct, each with a count of at least 1")
        encoder._adopt(_Model(options, words, counts, tensors), encoder._new_tokenizer())
        return encoder


@dataclass(frozen=True)
class _Model:
    """What was learnt: words, their counts, and gensim's matrices [V, vector_size]."""

    options: dict[str, Any]
    words: list[str]
    counts: npt.NDArray[np.int64]
    tensors: Tensors


class _Documents:
    """The sentences of each epoch with their index."""

    def __init__(self, epochs: Epochs) -> None:
        self.epochs = epochs

    def __iter__(self) -> Iterator[Any]:
        from gensim.models.doc2vec import TaggedDocument

        return (TaggedDocument(tokens, [i]) for i, tokens in enumerate(self.epochs))


def _doc2vec(options: dict[str, Any], counts: dict[str, int], sentences: int) -> Any:
    """A model of gensim for counted words, most frequent first, with initial weights."""
    require("gensim", "train")
    from gensim.models import KeyedVectors
    from gensim.models.doc2vec import Doc2Vec

    size = options["vector_size"]
    of_sentences = KeyedVectors(size, count=sentences)
    of_sentences.vectors = of_sentences.vectors[:0]  # or they would begin at zero, and never change
    doc2vec = Doc2Vec(
        dv=of_sentences,
        dm=int(options["mode"] == "dm"),
        dbow_words=int(options["dbow_words"]),
        vector_size=size,
        window=options["window"],
        alpha=options["learning_rate"],
        negative=options["negative"],
        hs=int(options["negative"] == 0),
        sample=options["sample"],
        seed=options["seed"] % 2**32,
        min_count=1,
        sorted_vocab=0,  # it would reverse words of equal counts
        workers=num_threads(),
    )
    doc2vec.build_vocab_from_freq(counts, corpus_count=sentences)
    return doc2vec


def _inferred(doc2vec: Any, words: list[str], options: dict[str, Any]) -> Floats:
    """`doc2vec.infer_vector(words)` with random numbers of the words, not of Python's hash of strings."""
    from gensim.models import doc2vec_inner

    size = options["vector_size"]
    seed = zlib.crc32(" ".join(words).encode(), options["seed"] % 2**32)
    doc2vec.random = np.random.RandomState(seed)
    vector: Floats = ((doc2vec.random.random_sample((1, size)) - 0.5) / size).astype(np.float32)
    # gensim would free buffers that are left out before it uses them.
    buffers = [np.zeros(size, np.float32) for _ in range(1 + doc2vec.dm)]
    fixed = {"doctag_vectors": vector, "doctags_lockf": np.ones(1, np.float32)}
    train = doc2vec_inner.train_document_dm if doc2vec.dm else doc2vec_inner.train_document_dbow
    for rate in np.linspace(doc2vec.alpha, doc2vec.min_alpha, options["inference_epochs"]):
        train(doc2vec, words, [0], rate, *buffers, learn_words=False, learn_hidden=False, **fixed)
    row: Floats = vector[0]
    return row
