# Written by tools/stubs.py: change the bindings, then run `make stubs`.
"""
The compiled half of sentencode that needs torch.
"""

from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import os
import sentencode._core
import torch
import torch.distributed.distributed_c10d
import typing

__all__: list[str] = [
    "AddNorm",
    "AdditiveAttention",
    "AttentionPooling",
    "Autoencoder",
    "CNNLSTMAutoencoderNetwork",
    "CharacterCnn",
    "Classifier",
    "Communicator",
    "ConditionalGRU",
    "ContextNetwork",
    "Convolution",
    "Decoder",
    "DenoisingNetwork",
    "Evaluating",
    "Features",
    "FeedForward",
    "FolderOwner",
    "GeneralizedPoolingNetwork",
    "Head",
    "LAESOnDevice",
    "LSTMAutoencoderNetwork",
    "LatentAutoencoder",
    "MaskedPooling",
    "MeanMaxNetwork",
    "Model",
    "ModuleNode",
    "MultiHeadAttention",
    "NeuralEncoder",
    "Positions",
    "PythonModel",
    "PythonNetwork",
    "RecurrentStack",
    "RowRegression",
    "SentenceNetwork",
    "SkipThoughtsNetwork",
    "SupervisedModel",
    "Trainer",
    "TranslationNetwork",
    "WordEmbedding",
    "WordSoftmax",
    "WritingNetwork",
    "beam_search",
    "check_limit",
    "checkpoint_weights",
    "default_config",
    "draw_negatives",
    "expected_counts",
    "fit_logistic",
    "greedy_search",
    "group_communicator",
    "head_penalty",
    "local_communicator",
    "log_uniform_distribution",
    "make_head",
    "make_network",
    "noisy",
    "num_threads",
    "own_folder",
    "register_kind",
    "register_network",
    "sample",
    "sampled_softmax_loss",
    "score",
    "set_num_threads",
    "softmax_loss",
    "solve_laes_on_device",
    "torch_version",
]

class LAESOnDevice:
    """
    Sums for a LAES, made on a device by torch.
    """
    def __init__(self, like: sentencode._core.LAES, device: str) -> None: ...
    def add(self, sentences: typing.Any) -> None: ...
    def merge_into(self, encoder: sentencode._core.LAES) -> None: ...

class Features:
    """
    The rows that classifiers are fitted to.
    """
    @typing.overload
    def __init__(self, embeddings: torch.Tensor) -> None:
        """
        The embeddings [n, d] themselves.
        """
    @typing.overload
    def __init__(
        self,
        embeddings: torch.Tensor,
        first: torch.Tensor,
        second: torch.Tensor,
        parts: collections.abc.Sequence[str],
    ) -> None:
        """
        Of pairs of embeddings u, v: 'u', 'v', '|u-v|' and 'u*v', those that are wanted side by side.
        """
    def block(
        self, begin: typing.SupportsInt | typing.SupportsIndex, end: typing.SupportsInt | typing.SupportsIndex
    ) -> torch.Tensor:
        """
        [end - begin, dim], float32.
        """
    def part(self, index: torch.Tensor) -> Features:
        """
        Some of the rows, of the same embeddings.
        """
    @property
    def dim(self) -> int: ...
    @property
    def rows(self) -> int: ...

class ModuleNode:
    """
    One module of a C++ tree, with its own tensors.
    """
    def buffers(self) -> list[tuple[str, torch.Tensor]]:
        """
        Names and tensors of this module alone.
        """
    def children(self) -> list[tuple[str, ModuleNode]]:
        """
        Names and nodes, one level down.
        """
    def parameters(self) -> list[tuple[str, torch.Tensor]]:
        """
        Names and tensors of this module alone.
        """
    def train(self, mode: bool) -> None:
        """
        Sets the mode of this module and all below it.
        """
    @property
    def name(self) -> str: ...

class Communicator:
    """
    All that a trainer knows of other processes.

    Every process calls the same methods in the same order, with tensors of the same shapes.
    Made by `sentencode.distributed.communicator`.
    """
    def all_gather(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """
        Returns the tensor of each process, in the order of ranks.
        """
    def all_reduce_mean(self, tensors: collections.abc.Sequence[torch.Tensor]) -> None:
        """
        Replaces each tensor by its mean over all processes, in place.
        """
    def barrier(self) -> None:
        """
        Returns when all processes are here.
        """
    def broadcast(
        self,
        tensors: collections.abc.Sequence[torch.Tensor],
        root: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None:
        """
        Replaces each tensor by that of process `root`, in place.
        """
    @property
    def rank(self) -> int:
        """
        This process, from 0.
        """
    @property
    def size(self) -> int:
        """
        How many processes there are.
        """

class Model:
    """
    What a trainer trains.
    """
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    @property
    def figures(self) -> list[str]:
        """
        Names of what a loss tells besides.
        """

class PythonModel(Model):
    """
    A model that is written in Python.
    """
    def __init__(self, parts: typing.Any) -> None:
        """
        parts has loss(fields, labels), train(mode), parameters() and buffers().
        """

class FolderOwner:
    """
    Holds a folder of checkpoints until it is left.
    """
    def __enter__(self) -> None: ...
    def __exit__(
        self, kind: typing.Any = None, error: typing.Any = None, traceback: typing.Any = None
    ) -> None: ...

class Trainer:
    """
    See sentencode.training.Trainer.
    """
    def __init__(
        self,
        model: Model,
        train: sentencode._core.Batcher,
        valid: sentencode._core.Batcher | None,
        communicator: Communicator,
        *,
        optimizer: str,
        beta1: typing.SupportsFloat | typing.SupportsIndex,
        beta2: typing.SupportsFloat | typing.SupportsIndex,
        momentum: typing.SupportsFloat | typing.SupportsIndex,
        epsilon: typing.SupportsFloat | typing.SupportsIndex,
        weight_decay: typing.SupportsFloat | typing.SupportsIndex,
        sparse_rows: bool,
        learning_rate: typing.SupportsFloat | typing.SupportsIndex,
        schedule: str,
        warmup: typing.SupportsInt | typing.SupportsIndex,
        schedule_steps: typing.SupportsInt | typing.SupportsIndex,
        schedule_end: typing.SupportsFloat | typing.SupportsIndex,
        decay: typing.SupportsFloat | typing.SupportsIndex,
        patience: typing.SupportsInt | typing.SupportsIndex,
        epoch_decay: typing.SupportsFloat | typing.SupportsIndex,
        least_rate: typing.SupportsFloat | typing.SupportsIndex,
        higher_is_better: bool,
        clip_norm: typing.SupportsFloat | typing.SupportsIndex,
        clip_each: typing.SupportsFloat | typing.SupportsIndex,
        max_steps: typing.SupportsInt | typing.SupportsIndex,
        max_epochs: typing.SupportsInt | typing.SupportsIndex,
        accumulate: typing.SupportsInt | typing.SupportsIndex,
        validate_every: typing.SupportsInt | typing.SupportsIndex,
        save_every: typing.SupportsInt | typing.SupportsIndex,
        stop_after: typing.SupportsInt | typing.SupportsIndex,
        validate_accuracy: bool,
        reload_best: bool,
        bad_steps: typing.SupportsInt | typing.SupportsIndex,
        read_every: typing.SupportsInt | typing.SupportsIndex,
        bfloat16: bool,
        seed: typing.SupportsInt | typing.SupportsIndex,
        settings: str,
        checkpoints: str | bytes | os.PathLike[str] | os.PathLike[bytes] | None,
        keep_last: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def load_best(self) -> bool:
        """
        Takes the best weights; whether there are any.
        """
    def own_folder(self) -> FolderOwner:
        """
        Holds the folder while it is entered; BlockingIOError if another training does.
        """
    def resume(self) -> bool:
        """
        From the last checkpoint; whether there was one.
        """
    def run(
        self,
        on_step: collections.abc.Callable,
        on_validation: collections.abc.Callable,
        validator: collections.abc.Callable | None,
        whole: collections.abc.Callable,
    ) -> None:
        """
        on_step(step, epoch, loss, accuracy, rate, norm, examples, tokens, figures), on_validation(step, loss, accuracy, score, best, decayed, figures), validator() -> score, whole(action): calls what Ctrl-C has to wait for.
        """
    @property
    def last_step(self) -> int:
        """
        The end, if it is not stopped before.
        """
    @property
    def scores(self) -> list[float]:
        """
        Of all validations.
        """
    @property
    def step(self) -> int:
        """
        Steps done.
        """
    @property
    def stopped_early(self) -> bool: ...

class AddNorm:
    """
    See sentencode.nn.AddNorm.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        epsilon: typing.SupportsFloat | typing.SupportsIndex,
        dropout: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...
    def forward(self, given: torch.Tensor, residual: torch.Tensor | None) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """

class AdditiveAttention:
    """
    See sentencode.nn.AdditiveAttention.
    """
    def __init__(
        self,
        query_features: typing.SupportsInt | typing.SupportsIndex,
        memory_features: typing.SupportsInt | typing.SupportsIndex,
        features: typing.SupportsInt | typing.SupportsIndex,
        bias: bool,
    ) -> None: ...
    def attend(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, key_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]: ...
    def forward(
        self, query: torch.Tensor, memory: torch.Tensor, key_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def project(
        self, memory: torch.Tensor, key_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]: ...

class MultiHeadAttention:
    """
    See sentencode.nn.MultiHeadAttention.
    """
    def __init__(
        self,
        query_features: typing.SupportsInt | typing.SupportsIndex,
        memory_features: typing.SupportsInt | typing.SupportsIndex,
        features: typing.SupportsInt | typing.SupportsIndex,
        heads: typing.SupportsInt | typing.SupportsIndex,
        activation: str,
        output_projection: bool,
        bias: bool,
        dropout: typing.SupportsFloat | typing.SupportsIndex,
        scale: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...
    def attend(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_mask: torch.Tensor | None,
        causal: bool,
    ) -> torch.Tensor: ...
    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_mask: torch.Tensor | None,
        causal: bool,
    ) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def project(
        self, key: torch.Tensor, value: torch.Tensor, key_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]: ...
    def with_weights(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_mask: torch.Tensor | None,
        causal: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]: ...

class FeedForward:
    """
    See sentencode.nn.FeedForward.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        hidden: typing.SupportsInt | typing.SupportsIndex,
        activation: str,
        dropout: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """

class CharacterCnn:
    """
    See sentencode.nn.CharacterCnn.
    """
    def __init__(
        self,
        alphabet: str,
        features: typing.SupportsInt | typing.SupportsIndex,
        filters: typing.SupportsInt | typing.SupportsIndex,
        windows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    ) -> None: ...
    def forward(self, characters: torch.Tensor) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    @property
    def dim(self) -> int: ...

class ConditionalGRU:
    """
    See sentencode.nn.ConditionalGRU.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        hidden: typing.SupportsInt | typing.SupportsIndex,
        memory_features: typing.SupportsInt | typing.SupportsIndex,
        attention: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def forward(
        self,
        x: torch.Tensor,
        state: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None,
        lengths: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def project(
        self, memory: torch.Tensor, memory_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]: ...
    def step(
        self,
        x: torch.Tensor,
        state: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        memory_mask: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]: ...

class Convolution:
    """
    See sentencode.nn.Convolution.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        filters: typing.SupportsInt | typing.SupportsIndex,
        window: typing.SupportsInt | typing.SupportsIndex,
        activation: str,
        padding: str,
    ) -> None: ...
    def empty_cache(
        self, batch: typing.SupportsInt | typing.SupportsIndex, like: torch.Tensor
    ) -> torch.Tensor: ...
    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def step(self, x: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]: ...

class Decoder:
    """
    See sentencode.nn.Decoder.
    """
    def __init__(self) -> None: ...
    def reorder(
        self, cache: collections.abc.Sequence[torch.Tensor], index: torch.Tensor
    ) -> list[torch.Tensor]: ...
    def start(
        self, given: collections.abc.Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]: ...
    def step(
        self,
        ids: torch.Tensor,
        memory: collections.abc.Sequence[torch.Tensor],
        cache: collections.abc.Sequence[torch.Tensor],
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor | None]: ...

class WordEmbedding:
    """
    See sentencode.nn.WordEmbedding.
    """
    def __init__(
        self,
        words: typing.SupportsInt | typing.SupportsIndex,
        features: typing.SupportsInt | typing.SupportsIndex,
        trainable: bool,
    ) -> None: ...
    def expand(self, vectors: torch.Tensor) -> None: ...
    def forward(self, ids: torch.Tensor) -> torch.Tensor: ...
    def load(self, vectors: torch.Tensor) -> None: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """

class Positions:
    """
    See sentencode.nn.Positions.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        kind: str,
        length: typing.SupportsInt | typing.SupportsIndex,
        beyond: str,
    ) -> None: ...
    def forward(self, x: torch.Tensor, begin: typing.SupportsInt | typing.SupportsIndex) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """

class Evaluating:
    """
    Within it no module of the core trains on this thread.
    """
    def __enter__(self) -> Evaluating: ...
    def __exit__(
        self, kind: typing.Any = None, error: typing.Any = None, traceback: typing.Any = None
    ) -> None: ...
    def __init__(self) -> None: ...

class AttentionPooling:
    """
    See sentencode.nn.AttentionPooling.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        hidden: typing.SupportsInt | typing.SupportsIndex,
        heads: typing.SupportsInt | typing.SupportsIndex,
        scores: str,
        activation: str,
        bias: bool,
    ) -> None: ...
    def composed(
        self, h: torch.Tensor, lengths: torch.Tensor | None = None, kernel: bool = False
    ) -> torch.Tensor: ...
    def forward(self, h: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def penalty(
        self,
        penalty: str,
        h: torch.Tensor | None,
        lengths: torch.Tensor | None,
        pooled: torch.Tensor | None,
        lambda_: typing.SupportsFloat | typing.SupportsIndex,
        batch_distance: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]: ...
    def weights(self, h: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor: ...

class MaskedPooling:
    """
    See sentencode.nn.MaskedPooling.
    """
    def __init__(self, pooling: str) -> None: ...
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """

class RecurrentStack:
    """
    See sentencode.nn.RecurrentStack.
    """
    def __init__(
        self,
        cell: str,
        features: typing.SupportsInt | typing.SupportsIndex,
        hidden: typing.SupportsInt | typing.SupportsIndex,
        layers: typing.SupportsInt | typing.SupportsIndex,
        bidirectional: bool,
        shortcuts: str,
        dropout: typing.SupportsFloat | typing.SupportsIndex,
        orthogonal: bool,
    ) -> None: ...
    def forward(
        self, x: torch.Tensor, lengths: torch.Tensor | None, state: collections.abc.Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def step(
        self, x: torch.Tensor, state: collections.abc.Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]: ...
    def zero_state(
        self, batch: typing.SupportsInt | typing.SupportsIndex, like: torch.Tensor
    ) -> list[torch.Tensor]: ...

class WordSoftmax:
    """
    See sentencode.nn.WordSoftmax.
    """
    def __init__(
        self,
        features: typing.SupportsInt | typing.SupportsIndex,
        words: typing.SupportsInt | typing.SupportsIndex,
        bias: bool,
        tied: bool,
        label_smoothing: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...
    def forward(
        self,
        h: torch.Tensor,
        targets: torch.Tensor,
        row_weights: torch.Tensor | None,
        table: torch.Tensor | None,
    ) -> tuple: ...
    def logits(self, h: torch.Tensor, table: torch.Tensor | None) -> torch.Tensor: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def sampled_loss(
        self,
        h: torch.Tensor,
        targets: torch.Tensor,
        ids: torch.Tensor,
        expected: torch.Tensor,
        row_weights: torch.Tensor | None,
        table: torch.Tensor | None,
    ) -> torch.Tensor: ...

class Head:
    """
    What is learnt from the rows of sentences.
    """
    def config(self) -> str:
        """
        Its kind and options as JSON.
        """
    def loss(
        self, rows: collections.abc.Sequence[torch.Tensor], labels: torch.Tensor | None
    ) -> tuple[torch.Tensor, float, torch.Tensor | None]: ...
    def node(self) -> ModuleNode:
        """
        The root of the module's tree.
        """
    def predict(self, rows: collections.abc.Sequence[torch.Tensor]) -> torch.Tensor: ...

class Classifier(Head):
    """
    See sentencode.Classifier.
    """
    def set_class_weights(self, weights: torch.Tensor) -> None: ...

class RowRegression(Head):
    """
    See sentencode.RowRegression.
    """
    def set_targets(self, rows: torch.Tensor) -> None: ...

class SentenceNetwork(Model):
    """
    What makes one vector of those of a sentence's words.
    """
    def config(self) -> str:
        """
        Its kind and options as JSON.
        """
    def encode(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor: ...
    @property
    def alphabet(self) -> str:
        """
        The characters that it tells apart.
        """
    @property
    def characters(self) -> int:
        """
        How many of a word's characters it asks for; 0: none.
        """
    @property
    def dim(self) -> int: ...
    @property
    def ids(self) -> int:
        """
        How many words' ids it asks for when it encodes; 0: none.
        """

class NeuralEncoder(sentencode._core.Encoder):
    """
    Words' vectors and a network.
    """

    params: str
    @staticmethod
    def load(
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes], options: sentencode._core.LoadOptions = ...
    ) -> NeuralEncoder: ...
    @staticmethod
    def padded(
        rows: collections.abc.Sequence[torch.Tensor],
        most: typing.SupportsInt | typing.SupportsIndex,
        like: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """
        What was read of several sentences, `most` words of each, as `like` is: x [B, T, F], lengths [B].
        """
    def __init__(
        self,
        kind: str,
        vectors: sentencode._core.WordVectors,
        tokenizer: sentencode._core.Tokenizer,
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.float32] | None,
        network: SentenceNetwork,
        max_words: typing.SupportsInt | typing.SupportsIndex,
        batch_tokens: typing.SupportsInt | typing.SupportsIndex,
        ids: collections.abc.Sequence[str] = [],
        unknown: typing.SupportsInt | typing.SupportsIndex = -1,
        head: Head = None,
    ) -> None:
        """
        Words and a network; ids: those that the network knows by theirs; unknown: that of all others; head: what was learnt from rows.
        """
    def read(self, tokens: collections.abc.Sequence[str]) -> tuple[list[int], torch.Tensor]:
        """
        Which of them the network reads, and as what [n, F].
        """
    def save(
        self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, vectors: bool = True
    ) -> None: ...
    @property
    def head(self) -> Head: ...
    @property
    def ids(self) -> list[str]: ...
    @property
    def max_words(self) -> int: ...
    @property
    def network(self) -> SentenceNetwork: ...
    @property
    def tokenizer(self) -> sentencode._core.Tokenizer: ...
    @property
    def unknown(self) -> int: ...
    @property
    def vectors(self) -> sentencode._core.WordVectors: ...
    @property
    def weights(self) -> numpy.typing.NDArray[numpy.float32] | None: ...

class SupervisedModel(Model):
    """
    A network whose rows a head learns from.
    """
    def __init__(
        self,
        network: SentenceNetwork,
        head: Head,
        vectors: torch.Tensor,
        known: torch.Tensor,
        ids: torch.Tensor,
        characters: torch.Tensor | None,
    ) -> None: ...

class WritingNetwork(SentenceNetwork):
    """
    See sentencode.models.WritingNetwork.
    """
    def load_words(self, rows: torch.Tensor) -> None: ...
    def loss(
        self, fields: collections.abc.Sequence[tuple[torch.Tensor, torch.Tensor]]
    ) -> tuple[torch.Tensor, float, torch.Tensor | None, torch.Tensor | None]: ...
    def set_word_counts(self, counts: torch.Tensor) -> None: ...

class Autoencoder(WritingNetwork, Decoder):
    """
    See sentencode.models.Autoencoder.
    """
    def decode(self, z: torch.Tensor, y: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor: ...
    def reconstruct(
        self,
        z: torch.Tensor,
        max_length: typing.SupportsInt | typing.SupportsIndex,
        beam: typing.SupportsInt | typing.SupportsIndex,
        best: typing.SupportsInt | typing.SupportsIndex,
        length_penalty: typing.SupportsFloat | typing.SupportsIndex,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]: ...

class LatentAutoencoder(Autoencoder):
    """
    An autoencoder whose decoder attends to rows of its code.
    """
    def attention(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor: ...

class CNNLSTMAutoencoderNetwork(Autoencoder):
    """
    See sentencode.models.CNNLSTMAutoencoderNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...

class TranslationNetwork(WritingNetwork, Decoder):
    """
    See sentencode.models.TranslationNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    def attention(
        self,
        given: collections.abc.Sequence[torch.Tensor],
        ids: torch.Tensor,
        lengths: torch.Tensor,
        layer: typing.SupportsInt | typing.SupportsIndex,
    ) -> torch.Tensor: ...
    def inner_attention(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor: ...
    def load_source_words(self, rows: torch.Tensor) -> None: ...
    def read(self, x: torch.Tensor, lengths: torch.Tensor) -> list[torch.Tensor]: ...

class GeneralizedPoolingNetwork(SentenceNetwork):
    """
    See sentencode.models.GeneralizedPoolingNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    def attention(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor: ...
    def load_words(self, rows: torch.Tensor) -> None: ...

class DenoisingNetwork(Autoencoder):
    """
    See sentencode.models.DenoisingNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...

class MeanMaxNetwork(LatentAutoencoder):
    """
    See sentencode.models.MeanMaxNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...

class LSTMAutoencoderNetwork(LatentAutoencoder):
    """
    See sentencode.models.LSTMAutoencoderNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...

class ContextNetwork(WritingNetwork, Decoder):
    """
    See sentencode.models.ContextNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...

class SkipThoughtsNetwork(WritingNetwork):
    """
    See sentencode.models.SkipThoughtsNetwork.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...

class PythonNetwork(SentenceNetwork):
    """
    A network that is written in Python.
    """
    def __init__(self, parts: typing.Any) -> None: ...
    @property
    def parts(self) -> typing.Any: ...

def beam_search(
    decoder: Decoder,
    memory: collections.abc.Sequence[torch.Tensor],
    first: torch.Tensor,
    end: typing.SupportsInt | typing.SupportsIndex,
    max_length: typing.SupportsInt | typing.SupportsIndex,
    beam: typing.SupportsInt | typing.SupportsIndex,
    best: typing.SupportsInt | typing.SupportsIndex,
    length_penalty: typing.SupportsFloat | typing.SupportsIndex,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """
    See sentencode.nn.beam_search.
    """

def check_limit(shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
    """
    ValueError where a file that is being read has not so many numbers.
    """

def checkpoint_weights(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> dict[str, torch.Tensor]:
    """
    The weights that a checkpoint holds, by name.
    """

def default_config(network: str) -> str:
    """
    The config of a network with all its options as they are by default.
    """

def draw_negatives(expected: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """
    See sentencode.nn.draw_negatives.
    """

def expected_counts(
    distribution: torch.Tensor, count: typing.SupportsInt | typing.SupportsIndex
) -> torch.Tensor:
    """
    See sentencode.nn.expected_counts.
    """

def fit_logistic(
    features: Features,
    targets: torch.Tensor,
    classes: typing.SupportsInt | typing.SupportsIndex,
    folds: torch.Tensor,
    fold: torch.Tensor,
    penalties: torch.Tensor,
    tolerance: typing.SupportsFloat | typing.SupportsIndex,
    gap: typing.SupportsFloat | typing.SupportsIndex,
    max_iterations: typing.SupportsInt | typing.SupportsIndex,
    max_bytes: typing.SupportsInt | typing.SupportsIndex,
    on_progress: typing.Any,
) -> dict:
    """
    Many logistic regressions on the same rows, solved together.
    """

def greedy_search(
    decoder: Decoder,
    memory: collections.abc.Sequence[torch.Tensor],
    first: torch.Tensor,
    end: typing.SupportsInt | typing.SupportsIndex,
    max_length: typing.SupportsInt | typing.SupportsIndex,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """
    See sentencode.nn.greedy_search.
    """

def group_communicator(group: torch.distributed.distributed_c10d.ProcessGroup) -> Communicator: ...
def head_penalty(
    heads: torch.Tensor, lambda_: typing.SupportsFloat | typing.SupportsIndex, batch_distance: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    See sentencode.nn.head_penalty.
    """

def local_communicator() -> Communicator: ...
def log_uniform_distribution(words: typing.SupportsInt | typing.SupportsIndex) -> torch.Tensor:
    """
    See sentencode.nn.log_uniform_distribution.
    """

def make_head(config: str) -> Head:
    """
    A head of the JSON that its config says, with weights of its own.
    """

def make_network(config: str) -> SentenceNetwork:
    """
    A network alike, with other weights, of the JSON that its config says.
    """

def noisy(
    x: torch.Tensor,
    lengths: torch.Tensor,
    drop_words: typing.SupportsFloat | typing.SupportsIndex,
    swap_words: typing.SupportsFloat | typing.SupportsIndex,
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    See sentencode.models.noisy.
    """

def num_threads() -> int: ...
def own_folder(folder: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> FolderOwner:
    """
    The same without a trainer.
    """

def register_kind(encoder: str) -> None:
    """
    Files of neural encoders of that kind are then read.
    """

def register_network(network: str, make: collections.abc.Callable) -> None:
    """
    Files with that network are then read: make(config) gives it.
    """

def sample(
    decoder: Decoder,
    memory: collections.abc.Sequence[torch.Tensor],
    first: torch.Tensor,
    end: typing.SupportsInt | typing.SupportsIndex,
    max_length: typing.SupportsInt | typing.SupportsIndex,
    temperature: typing.SupportsFloat | typing.SupportsIndex,
    top_k: typing.SupportsInt | typing.SupportsIndex,
    top_p: typing.SupportsFloat | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """
    See sentencode.nn.sample.
    """

def sampled_softmax_loss(
    h: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    targets: torch.Tensor,
    ids: torch.Tensor,
    expected: torch.Tensor,
    row_weights: torch.Tensor | None,
    reduction: str,
    ignore_index: typing.SupportsInt | typing.SupportsIndex,
) -> torch.Tensor:
    """
    See sentencode.nn.sampled_softmax_loss.
    """

def score(
    decoder: Decoder,
    memory: collections.abc.Sequence[torch.Tensor],
    first: torch.Tensor,
    ids: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """
    See sentencode.nn.score.
    """

def set_num_threads(threads: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    LibTorch's, too.
    """

def softmax_loss(
    h: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    targets: torch.Tensor,
    row_weights: torch.Tensor | None,
    label_smoothing: typing.SupportsFloat | typing.SupportsIndex,
    reduction: str,
    ignore_index: typing.SupportsInt | typing.SupportsIndex,
    chunk_rows: typing.SupportsInt | typing.SupportsIndex,
) -> tuple:
    """
    See sentencode.nn.softmax_loss.
    """

def solve_laes_on_device(encoder: sentencode._core.LAES, device: str) -> None:
    """
    LAES.solve, by torch on a device.
    """

torch_version: str
