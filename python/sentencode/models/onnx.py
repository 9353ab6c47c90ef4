"""Neural encoders as ONNX models, which run without Sentencode and without torch."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .._extras import require
from ..files import as_path, make_folder, whole_file
from ..nn import Positions
from ..static_models.splitters import tokenizer_json, with_variants
from .core_model import read_rows
from .neural_encoder import NeuralEncoder

__all__ = ["export"]

_OPSET, _IR = 20, 9  # the first with Gelu
_RIGHT = {"direction": "Right"}
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}  # ONNX has i o f c and z r h; torch i f c o and r z h


def export(encoder: NeuralEncoder, folder: str | os.PathLike[str]) -> None:
    """Writes a fitted encoder as `model.onnx` and `tokenizer.json` into a folder.

    Both are as other libraries expect them: Hugging Face's `tokenizers` makes the inputs `input_ids` and
    `attention_mask` [batch, time], padded at the end. The output `sentence_embedding` [batch, dim] is that of
    `encode`.

    Args:
        encoder: Fitted encoder of a family of this package.
        folder: Folder; it is created, and files of these names are replaced.

    Raises:
        NotImplementedError: It is another encoder, reads words by their characters, has no sentence
            embedding, has `layer_norm`, its word vectors have `oov="random"` or `"subwords"`, or its
            tokenizer is none of "words", "punctuation" and "whitespace".
        ValueError: The model would have 2 GB or more, the largest size of a file of ONNX.
        ImportError: onnx is missing.
    """
    if encoder._onnx not in _GRAPHS:
        raise NotImplementedError(
            f"export: expected an encoder of a family of this package, got {type(encoder).__name__}"
        )
    oov, options = encoder.words_.oov, encoder.settings()
    if options.get("characters"):
        raise NotImplementedError(
            f"export: {type(encoder).__name__} with characters=True reads unknown words by their characters, "
            "but tokenizer.json gives all of them the same id"
        )
    if options.get("layer_norm"):
        raise NotImplementedError(
            f"export: ONNX has no GRU with layer normalisation; this {type(encoder).__name__} has "
            "layer_norm=True"
        )
    if oov not in ("skip", "zero", "mean"):
        raise NotImplementedError(
            f"export: expected word vectors with oov='skip', 'zero' or 'mean', got {oov!r}"
        )
    tokenizer, unknown = encoder.tokenizer_, oov != "skip"
    words, rows = with_variants(tokenizer.split, *read_rows(encoder))
    content = tokenizer_json(tokenizer.split, tokenizer.lowercase is True, words, unknown=unknown)
    if unknown:
        rows = np.concatenate([rows, _row_of_unknown(encoder, words)])
    content |= {
        "truncation": {**_RIGHT, "strategy": "LongestFirst", "stride": 0, "max_length": encoder.max_words}
    }
    padding = {"strategy": "BatchLongest", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
    content |= {"padding": {**_RIGHT, **padding, "pad_token": next(iter(content["model"]["vocab"]))}}
    state = {name: weight.cpu().numpy() for name, weight in encoder.network.state_dict().items()}
    end = state["table.weight"][encoder.network._config["end"]] if encoder._reads_end else None
    graph = _Graph(rows, end)
    parts = {name.removeprefix("encoder."): array for name, array in state.items()}
    model = graph.model(_GRAPHS[encoder._onnx](graph, parts, options), encoder.dim)
    target = make_folder(as_path(folder))
    for name, data in (("model.onnx", model), ("tokenizer.json", json.dumps(content).encode())):
        with whole_file(target / name) as file:
            file.write(data)


def _row_of_unknown(encoder: NeuralEncoder, words: Sequence[str]) -> npt.NDArray[np.float32]:
    """The row [1, features] of all other words."""
    unknown = "x" * (1 + max(map(len, words)))
    ((_, _, x, _),) = encoder._model.read_tokens([[unknown]], 1)
    row: npt.NDArray[np.float32] = x[:, 0].numpy()
    return row


class _Graph:
    """A graph of ONNX; calling it adds a node. `x` [B, T, E] are the word vectors.

    Args:
        rows: Vectors of all words, [words, E].
        end: Vector that follows the last word of a sentence, [E], if the network reads one.
    """

    def __init__(self, rows: npt.NDArray[np.float32], end: npt.NDArray[np.float32] | None) -> None:
        self.onnx: Any = require("onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.zero = self.constant(np.float32(0))
        self.least = self.constant(np.finfo(np.float32).min)  # not -inf: without words, a softmax were NaN
        nothing, none = self.constant(np.int64(0)), self.constant(np.int64(-1))
        ids = self("Where", self("Greater", "attention_mask", nothing), "input_ids", none)
        ids = self("Pad", ids, self.ints(0, 0, 0, 1), none)  # [B, T + 1], for the end; -1: no word
        time = self("Squeeze", self("Slice", self("Shape", ids), self.ints(1), self.ints(2)))
        self.positions = self("Range", nothing, time, self.constant(np.int64(1)))  # [T + 1]
        if end is not None:
            lengths = self("ReduceSum", self._at_least(ids, nothing), self.ints(1))  # [B, 1]
            # After the last word; a sentence without words has no end, either.
            is_end = self("And", self("Equal", self.positions, lengths), self("Greater", lengths, nothing))
            ids = self("Where", is_end, self.constant(np.int64(len(rows))), ids)
            rows = np.concatenate([rows, end[None]])
        words = self._at_least(ids, nothing)
        self.lengths = self(
            "Cast", self("ReduceSum", words, self.ints(1)), to=self.onnx.TensorProto.FLOAT
        )  # [B, 1]
        self.is_empty = self("Equal", self.lengths, self.zero)  # [B, 1]
        self.is_word = self("Unsqueeze", self("GreaterOrEqual", ids, nothing), self.ints(2))  # [B, T, 1]
        self.x = self("Gather", self.constant(rows), self("Max", ids, nothing))

    def _at_least(self, ids: str, least: str) -> str:
        """1 where an id is at least `least`, else 0."""
        return str(self("Cast", self("GreaterOrEqual", ids, least), to=self.onnx.TensorProto.INT64))

    def __call__(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any) -> str:
        """The name of a constant."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def linear(self, x: str, parts: dict[str, Any], name: str) -> str:
        y: str = self("MatMul", x, self.constant(parts[f"{name}.weight"].T))
        bias = parts.get(f"{name}.bias")
        return y if bias is None else self("Add", y, self.constant(bias))

    def embedding(self, rows: str) -> str:
        """Rows [B, dim]; zero for sentences without words."""
        return str(self("Where", self.is_empty, self.zero, rows))

    def positioned(self, x: str, positions: npt.NDArray[np.float32]) -> str:
        """The sum of x [B, T, E] and the first T positions."""
        time = self("Slice", self("Shape", x), self.ints(1), self.ints(2))
        return str(self("Add", x, self("Slice", self.constant(positions), self.ints(0), time, self.ints(0))))

    def norm(self, x: str, parts: dict[str, Any], name: str, epsilon: float = 1e-5) -> str:
        scale = [self.constant(parts[f"{name}.{part}"]) for part in ("weight", "bias")]
        return str(self("LayerNormalization", x, *scale, epsilon=epsilon))

    def feed_forward(self, x: str, parts: dict[str, Any], name: str) -> str:
        return self.linear(self("Relu", self.linear(x, parts, f"{name}.inner")), parts, f"{name}.outer")

    def attention(
        self, x: str, parts: dict[str, Any], name: str, heads: int, activation: str = "none"
    ) -> str:
        """Multi-head attention of the words to themselves, [B, T, H]."""
        hidden = len(parts[f"{name}.query.weight"])
        width = hidden // heads

        def projected(part: str, order: tuple[int, ...]) -> str:
            y = self.linear(x, parts, f"{name}.{part}")
            if activation != "none":
                y = self(activation.title(), y)  # Relu, Gelu, Tanh
            return str(self("Transpose", self("Reshape", y, self.ints(0, 0, heads, width)), perm=order))

        query, value = (projected(part, (0, 2, 1, 3)) for part in ("query", "value"))  # [B, heads, T, width]
        key = projected("key", (0, 2, 3, 1))  # [B, heads, width, T]
        scores = self("Mul", self("MatMul", query, key), self.constant(np.float32(width**-0.5)))
        words = self("Unsqueeze", self("Transpose", self.is_word, perm=[0, 2, 1]), self.ints(1))
        a = self("Softmax", self("Where", words, scores, self.least), axis=-1)  # [B, heads, T, T]
        joined = self("Transpose", self("MatMul", a, value), perm=[0, 2, 1, 3])
        h: str = self("Reshape", joined, self.ints(0, 0, hidden))
        return self.linear(h, parts, f"{name}.output") if f"{name}.output.weight" in parts else h

    def stack(self, x: str, parts: dict[str, Any], shortcuts: str = "none") -> tuple[str, str]:
        """States [B, T, D] of the top layer of LSTMs or GRUs, D of all directions; its last ones [B, D]."""
        hidden = parts["weight_hh_l0"].shape[1]
        kind = {4: "LSTM", 3: "GRU"}[len(parts["weight_hh_l0"]) // hidden]
        directions = ["", "_reverse"] if "weight_ih_l0_reverse" in parts else [""]
        options = {"hidden_size": hidden, "direction": ("forward", "bidirectional")[len(directions) - 1]}
        options |= {"linear_before_reset": 1} if kind == "GRU" else {}
        # Runtimes differ in sequences of length 0; the result of the padding is not used.
        lengths = self("Max", self("Squeeze", self.lengths, self.ints(1)), self.constant(np.float32(1)))
        lengths = self("Cast", lengths, to=self.onnx.TensorProto.INT32)

        def stacked(name: str) -> npt.NDArray[np.float32]:
            gates = (np.split(parts[f"{name}{direction}"], len(_GATES[kind])) for direction in directions)
            return np.stack([np.concatenate([part[i] for i in _GATES[kind]]) for part in gates])

        below: list[str] = []
        last = ""
        for layer in itertools.takewhile(lambda i: f"weight_ih_l{i}" in parts, itertools.count()):
            read = {"none": below[-1:] or [x], "input": [x, *below[-1:]], "all": [x, *below]}[shortcuts]
            bias = np.concatenate([stacked(f"bias_ih_l{layer}"), stacked(f"bias_hh_l{layer}")], 1)
            weights = (stacked(f"weight_ih_l{layer}"), stacked(f"weight_hh_l{layer}"), bias)
            y = self("Transpose", self("Concat", *read, axis=2), perm=[1, 0, 2])  # [T, B, features]
            h, last = self(kind, y, *map(self.constant, weights), lengths, outputs=2, **options)
            h = self("Transpose", h, perm=[2, 0, 1, 3])  # [B, T, directions, H]
            below.append(self("Reshape", h, self.ints(0, 0, -1)))
        last = self("Reshape", self("Transpose", last, perm=[1, 0, 2]), self.ints(0, -1))
        return below[-1], last

    def heads(self, h: str, parts: dict[str, Any], name: str, heads: int, activation: str) -> str:
        """Generalized pooling of states [B, T, D]: [B, heads, D]."""
        h = self("Where", self.is_word, h, self.zero)
        z = self(activation.title(), self.linear(h, parts, f"{name}.hidden"))  # [B, T, d_a or heads d_a]
        w2 = parts[f"{name}.score.weight"]
        if len(w2) == heads:  # scalars as weights
            scores = self.linear(z, parts, f"{name}.score")  # [B, T, heads]
            a = self("Softmax", self("Where", self.is_word, scores, self.least), axis=1)
            return str(self("MatMul", self("Transpose", a, perm=[0, 2, 1]), h))
        z = self("Transpose", self("Reshape", z, self.ints(0, 0, heads, -1)), perm=[0, 2, 1, 3])
        w2 = w2.reshape(heads, -1, w2.shape[1]).transpose(0, 2, 1)  # [heads, d_a, D]
        scores = self("MatMul", z, self.constant(w2))  # [B, heads, T, D]
        words = self("Unsqueeze", self.is_word, self.ints(1))
        a = self("Softmax", self("Where", words, scores, self.least), axis=2)
        weighted = self("Mul", a, self("Unsqueeze", h, self.ints(1)))
        return str(self("ReduceSum", weighted, self.ints(2), keepdims=0))

    def bound(self, symbols: npt.NDArray[np.float32]) -> None:
        """Puts a symbol before the first and after the last word of each sentence."""
        words = self("Where", self.is_word, self.x, self.zero)
        words = self("Pad", words, self.ints(0, 1, 0, 0, 1, 0), self.zero)
        time = self("Squeeze", self("Slice", self("Shape", words), self.ints(1), self.ints(2)))
        positions = self("Range", self.constant(np.int64(0)), time, self.constant(np.int64(1)))
        positions = self("Cast", self("Unsqueeze", positions, self.ints(0)), to=self.onnx.TensorProto.FLOAT)
        end = self("Add", self.lengths, self.constant(np.float32(1)))

        def at(position: str) -> str:
            return str(self("Unsqueeze", self("Equal", positions, position), self.ints(2)))  # [B, T, 1]

        begin, last = map(self.constant, symbols)
        self.x = self("Where", at(self.zero), begin, self("Where", at(end), last, words))
        self.is_word = self("Unsqueeze", self("LessOrEqual", positions, end), self.ints(2))
        self.lengths = self("Add", self.lengths, self.constant(np.float32(2)))

    def word_sum(self) -> str:
        """Sum of the words, divided by the square root of their number."""
        total = self("ReduceSum", self("Where", self.is_word, self.x, self.zero), self.ints(1), keepdims=0)
        count = self("Max", self.lengths, self.constant(np.float32(1)))
        return str(self("Div", total, self("Sqrt", count)))

    def pooled(self, h: str, pooling: str, mask: str | None = None) -> str:
        """Mean and maximum of the states of the words, or of a mask [B, T, 1]; zero if there are none."""
        mask = mask or self.is_word
        words = self("Where", mask, h, self.zero)
        total = self("ReduceSum", words, self.ints(1), keepdims=0)
        mean = self("Div", total, self("Max", self.lengths, self.constant(np.float32(1))))
        words = self("Where", mask, h, self.constant(np.float32(-np.inf)))
        largest = self("ReduceMax", words, self.ints(1), keepdims=0)
        largest = self("Where", self.is_empty, self.zero, largest)
        kinds = {"mean": [mean], "max": [largest], "mean_max": [mean, largest]}
        return str(self("Concat", *kinds[pooling], axis=1))

    def model(self, embeddings: str, dim: int) -> bytes:
        """The serialized model."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        self.nodes.append(helper.make_node("Identity", [embeddings], ["sentence_embedding"]))
        names = ("input_ids", "attention_mask")
        inputs = [helper.make_tensor_value_info(name, kinds.INT64, ["batch", "time"]) for name in names]
        outputs = [helper.make_tensor_value_info("sentence_embedding", kinds.FLOAT, ["batch", dim])]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="sentencode")
        if model.ByteSize() >= 2**31:
            raise ValueError(f"export: the model has {model.ByteSize()} bytes; expected less than 2 GB")
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def _sines(features: int, longest: int) -> npt.NDArray[np.float32]:
    """Sinusoidal positions [longest, features]."""
    positions: npt.NDArray[np.float32] = Positions(features)(torch.zeros(longest, features)).numpy()
    return positions


def _mean_max(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """MeanMaxEncoder: self-attention, feed-forward layer, pooling."""
    table = parts.get("positions.weight")
    longest = o["max_words"] + 1  # with the end
    if table is None:
        positions = _sines(parts["attention.query.weight"].shape[1], longest)
    else:
        positions = table[np.minimum(np.arange(longest), len(table) - 1)]
    x = g.positioned(g.x, positions)
    a = g.norm(g.attention(x, parts, "attention", o["heads"], o["projection"]), parts, "norm_a", o["epsilon"])
    h = g.norm(g("Add", g.feed_forward(a, parts, "feed_forward"), a), parts, "norm_h", o["epsilon"])
    return g.pooled(h, o["pooling"])


def _recurrent(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """LSTMs or GRUs, and pooling or the last state."""
    h, last = g.stack(g.x, parts)
    pooling = o.get("pooling", "last")
    return g.embedding(last) if pooling == "last" else g.pooled(h, pooling)


def _sum(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """FastSentNetwork: the sum of the word vectors."""
    return str(g("ReduceSum", g("Where", g.is_word, g.x, g.zero), g.ints(1), keepdims=0))


def _generalized_pooling(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """GeneralizedPoolingNetwork: stacked LSTMs, and attention or another pooling."""
    words = [g.word_sum()] if o["word_sum"] else []
    if o["boundaries"]:
        g.bound(parts["boundaries"])
    h, last = g.stack(g.x, parts, o["shortcuts"])
    if o["pooling"] == "last":
        v = last
    elif "pooling.hidden.weight" not in parts:
        v = g.pooled(h, o["pooling"])
    else:
        v = g.heads(h, parts, "pooling", o["heads"], o["attention_activation"])
        v = g("Reshape", v, g.ints(0, -1))
    return g.embedding(g("Concat", v, *words, axis=1))


def _translation(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """TranslationNetwork: GRUs or a Transformer, and inner attention or another pooling."""
    if o["architecture"].startswith("trf"):
        features = o["features"]
        x = g("Mul", g.x, g.constant(np.float32(features**0.5)))
        h = g.positioned(x, _sines(features, o["max_words"] + 1))
        for i in range(o["layers"]):
            a = g.attention(h, parts, f"{i}.attention", o["attention_heads"])
            a = g.norm(g("Add", a, h), parts, f"{i}.norm")
            inner = g.feed_forward(a, parts, f"{i}.position.feed_forward")
            h = g.norm(g("Add", inner, a), parts, f"{i}.position.norm")
    else:
        h, last = g.stack(g.x, parts)
    match o["architecture"].removesuffix("_ctx"):
        case "final":
            return g.embedding(last)
        case "avgpool" | "maxpool" as pooling:
            return g.pooled(h, {"avgpool": "mean", "maxpool": "max"}[pooling])
    if "inner.hidden.weight" not in parts:
        raise NotImplementedError(f"export: architecture={o['architecture']!r} has no sentence embedding")
    m = g.heads(h, parts, "inner", o["heads"], "tanh")
    if "project.weight" in parts:
        m = g.linear(m, parts, "project")
    return g.embedding(g("Reshape", m, g.ints(0, -1)))


def _convolutions(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """Convolutions: the largest value of each filter, over the windows within the sentence."""
    x = g("Transpose", g("Where", g.is_word, g.x, g.zero), perm=[0, 2, 1])  # [B, E, T]
    lengths = g("Cast", g.lengths, to=g.onnx.TensorProto.INT64)  # [B, 1]
    pooled = []
    for window in o["windows"]:
        weights = [g.constant(parts[f"convolution_{window}.{name}"]) for name in ("weight", "bias")]
        h = g("Transpose", g("Tanh", g("Conv", x, *weights, pads=[0, window - 1])), perm=[0, 2, 1])
        # A sentence that is shorter than the window has one.
        count = g("Max", g("Sub", lengths, g.constant(np.int64(window - 1))), g.constant(np.int64(1)))
        within = g("Unsqueeze", g("Less", g.positions, count), g.ints(2))  # [B, T, 1]
        pooled.append(g.pooled(h, "max", g("And", g.is_word, within)))
    return str(g("Concat", *pooled, axis=1))


_GRAPHS: dict[str, Callable[[_Graph, dict[str, Any], dict[str, Any]], str]] = {
    "mean_max": _mean_max,
    "recurrent": _recurrent,
    "sum": _sum,
    "convolutional": _convolutions,
    "generalized_pooling": _generalized_pooling,
    "translation": _translation,
}
