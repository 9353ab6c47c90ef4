"""Neural encoders as ONNX models, which run without Sentencode and without torch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .._extras import require
from ..files import as_path, make_folder, whole_file
from ..nn import Positions
from ..static_models.splitters import tokenizer_json
from .neural_encoder import NeuralEncoder

__all__ = ["export"]

_OPSET, _IR = 20, 9  # the first with Gelu
_RIGHT = {"direction": "Right"}
_WORDS = 4096  # whose rows are read at a time
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}  # ONNX has i o f c and z r h; torch i f c o and r z h


def export(encoder: NeuralEncoder, folder: str | os.PathLike[str]) -> None:
    """Writes a fitted encoder as `model.onnx` and `tokenizer.json` into a folder.

    Both are as other libraries expect them: Hugging Face's `tokenizers` makes the inputs `input_ids` and
    `attention_mask` [batch, time], padded at the end. The output `sentence_embedding` [batch, dim] is that of
    `encode`.

    Args:
        encoder: Fitted autoencoder or context encoder of this package.
        folder: Folder; it is created, and files of these names are replaced.

    Raises:
        NotImplementedError: It is another encoder, its word vectors have another `oov` than "skip", or its
            tokenizer is neither "punctuation" nor "whitespace".
        ValueError: The model would have 2 GB or more, the largest size of a file of ONNX.
        ImportError: onnx is missing.
    """
    if encoder._onnx not in _GRAPHS:
        raise NotImplementedError(
            "export: expected an autoencoder or a context encoder of this package, got "
            f"{type(encoder).__name__}"
        )
    if encoder.words_.oov != "skip":
        raise NotImplementedError(
            f"export: expected word vectors with oov='skip', got {encoder.words_.oov!r}"
        )
    words, rows = _rows(encoder)
    tokenizer = encoder.tokenizer_
    content = tokenizer_json(tokenizer.split, tokenizer.lowercase is True, words, unknown=False)
    content |= {
        "truncation": {**_RIGHT, "strategy": "LongestFirst", "stride": 0, "max_length": encoder.max_words}
    }
    padding = {"strategy": "BatchLongest", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
    content |= {"padding": {**_RIGHT, **padding, "pad_token": next(iter(content["model"]["vocab"]))}}
    state = {name: weight.cpu().numpy() for name, weight in encoder.network.state_dict().items()}
    end = state["table.weight"][encoder.network._config["end"]] if encoder._reads_end else None
    graph = _Graph(rows, end)
    parts = {name.removeprefix("encoder."): array for name, array in state.items()}
    model = graph.model(_GRAPHS[encoder._onnx](graph, parts, encoder.settings()), encoder.dim)
    target = make_folder(as_path(folder))
    for name, data in (("model.onnx", model), ("tokenizer.json", json.dumps(content).encode())):
        with whole_file(target / name) as file:
            file.write(data)


def _rows(encoder: NeuralEncoder) -> tuple[list[str], npt.NDArray[np.float32]]:
    """All words that have a row, and the rows [words, features], as the network reads them."""
    words = list(dict.fromkeys([*encoder.words_.words, *encoder.vocabulary_.words]))
    known, rows = [], []
    for begin in range(0, len(words), _WORDS):
        part = words[begin : begin + _WORDS]
        for indices, _, x, _ in encoder._model.read_tokens([[word] for word in part], _WORDS):
            known += [part[i] for i in indices]
            rows.append(x[:, 0].numpy())
    return known, np.concatenate(rows)


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


def _mean_max(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """MeanMaxEncoder: self-attention, feed-forward layer, pooling."""
    heads, width = o["heads"], o["hidden"] // o["heads"]
    table = parts.get("positions.weight")
    features = parts["attention.query.weight"].shape[1]
    longest = o["max_words"] + 1  # with the end
    if table is None:
        positions = Positions(features)(torch.zeros(longest, features)).numpy()
    else:
        positions = table[np.minimum(np.arange(longest), len(table) - 1)]
    time = g("Slice", g("Shape", g.x), g.ints(1), g.ints(2))
    x = g("Add", g.x, g("Slice", g.constant(positions), g.ints(0), time, g.ints(0)))  # [B, T, E]

    def projected(name: str, order: tuple[int, ...]) -> str:
        y = g.linear(x, parts, f"attention.{name}")
        if o["projection"] != "none":
            y = g(o["projection"].title(), y)  # Relu, Gelu, Tanh
        return str(g("Transpose", g("Reshape", y, g.ints(0, 0, heads, width)), perm=order))

    query, value = (projected(name, (0, 2, 1, 3)) for name in ("query", "value"))  # [B, heads, T, H / heads]
    key = projected("key", (0, 2, 3, 1))  # [B, heads, H / heads, T]
    scores = g("Mul", g("MatMul", query, key), g.constant(np.float32(width**-0.5)))  # [B, heads, T, T]
    words = g("Unsqueeze", g("Transpose", g.is_word, perm=[0, 2, 1]), g.ints(1))  # [B, 1, 1, T]
    masked = g("Where", words, scores, g.constant(np.finfo(np.float32).min))
    joined = g("Transpose", g("MatMul", g("Softmax", masked, axis=-1), value), perm=[0, 2, 1, 3])
    a = g("Reshape", joined, g.ints(0, 0, o["hidden"]))  # [B, T, H]
    if "attention.output.weight" in parts:
        a = g.linear(a, parts, "attention.output")

    def norm(y: str, name: str) -> str:
        scale = [g.constant(parts[f"{name}.{part}"]) for part in ("weight", "bias")]
        return str(g("LayerNormalization", y, *scale, epsilon=o["epsilon"]))

    a = norm(a, "norm_a")
    inner = g("Relu", g.linear(a, parts, "feed_forward.inner"))
    return g.pooled(norm(g("Add", g.linear(inner, parts, "feed_forward.outer"), a), "norm_h"), o["pooling"])


def _recurrent(g: _Graph, parts: dict[str, Any], o: dict[str, Any]) -> str:
    """One layer of LSTM or GRU, in one direction or both, and pooling or the last state."""
    hidden = parts["weight_hh_l0"].shape[1]
    kind = {4: "LSTM", 3: "GRU"}[len(parts["weight_hh_l0"]) // hidden]
    directions = ["", "_reverse"] if "weight_ih_l0_reverse" in parts else [""]

    def stacked(name: str) -> npt.NDArray[np.float32]:
        gates = (np.split(parts[f"{name}_l0{direction}"], len(_GATES[kind])) for direction in directions)
        return np.stack([np.concatenate([part[i] for i in _GATES[kind]]) for part in gates])

    bias = np.concatenate([stacked("bias_ih"), stacked("bias_hh")], 1)
    weights = [g.constant(array) for array in (stacked("weight_ih"), stacked("weight_hh"), bias)]
    # Runtimes differ in sequences of length 0; the result of the padding is not used.
    lengths = g("Max", g("Squeeze", g.lengths, g.ints(1)), g.constant(np.float32(1)))
    lengths = g("Cast", lengths, to=g.onnx.TensorProto.INT32)
    x = g("Transpose", g.x, perm=[1, 0, 2])  # [T, B, E]
    options = {"hidden_size": hidden, "direction": ("forward", "bidirectional")[len(directions) - 1]}
    options |= {"linear_before_reset": 1} if kind == "GRU" else {}
    h, last = g(kind, x, *weights, lengths, outputs=2, **options)  # [T, directions, B, H], [directions, B, H]
    pooling = o.get("pooling", "last")
    if pooling != "last":
        states = g("Reshape", g("Transpose", h, perm=[2, 0, 1, 3]), g.ints(0, 0, -1))  # [B, T, directions H]
        return g.pooled(states, pooling)
    last = g("Reshape", g("Transpose", last, perm=[1, 0, 2]), g.ints(0, -1))  # [B, directions H]
    return str(g("Where", g.is_empty, g.zero, last))


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
    "convolutional": _convolutions,
}
