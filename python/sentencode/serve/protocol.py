"""OpenAI's embeddings protocol: requests, responses and errors."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

__all__ = ["ApiError", "EmbeddingRequest", "json_bytes", "parsed_request", "response"]

_FIELDS = ("input", "model", "encoding_format", "dimensions", "user")


class ApiError(Exception):
    """An error that the client receives as JSON.

    Args:
        status: HTTP status.
        message: What was wrong, and what was expected.
        param: Field of the request that is wrong.
        code: Name of the error for programs.
        headers: Headers of the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code, self.headers = status, param, code, headers or {}

    @property
    def body(self) -> bytes:
        """The error as OpenAI's JSON."""
        kind = {429: "rate_limit_error", 500: "server_error"}.get(self.status, "invalid_request_error")
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return json_bytes({"error": error})


@dataclass(frozen=True)
class EmbeddingRequest:
    """A valid request: texts, the dimensions of their embeddings, and whether these are sent as base64."""

    texts: list[str]
    dimensions: int
    base64: bool


def parsed_request(body: bytes, model: str, dim: int, max_inputs: int) -> EmbeddingRequest:
    """The request of a JSON body.

    Args:
        body: JSON.
        model: Name of the model that is served.
        dim: Its dimensions.
        max_inputs: Largest number of texts.

    Raises:
        ApiError: The request is invalid; the message has the field, its value and what was expected.

    Example:
        >>> parsed_request(b'{"model": "m", "input": "A man.", "dimensions": 2}', "m", 3, 10)
        EmbeddingRequest(texts=['A man.'], dimensions=2, base64=False)
    """
    try:
        fields = require("orjson", "serve").loads(body)
    except ValueError as error:
        raise ApiError(400, f"the body is not valid JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ApiError(400, f"the body must be a JSON object, got {_shown(fields)}")
    for name in fields:
        if name not in _FIELDS:
            raise ApiError(400, f"unknown field {name!r:.60}; expected {', '.join(_FIELDS)}", name[:60])
    check_model(fields.get("model"), model)
    encoding = fields.get("encoding_format")
    if encoding not in (None, "float", "base64"):
        raise _invalid("encoding_format", "'float' or 'base64'", encoding)
    dimensions = fields.get("dimensions")
    if dimensions is None:
        dimensions = dim
    elif type(dimensions) is not int or not 1 <= dimensions <= dim:
        raise _invalid("dimensions", f"a whole number from 1 to {dim}", dimensions)
    if not isinstance(fields.get("user"), str | None):
        raise _invalid("user", "a string", fields["user"])
    return EmbeddingRequest(_texts(fields.get("input"), max_inputs), dimensions, encoding == "base64")


def check_model(name: object, model: str) -> None:
    """Raises an `ApiError` unless `name` is that of the model that is served."""
    if not isinstance(name, str):
        raise _invalid("model", repr(model), name)
    if name != model:
        message = f"model {name!r:.60} does not exist; this server has {model!r}"
        raise ApiError(404, message, "model", "model_not_found")


def _texts(value: Any, max_inputs: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        raise _invalid("input", "a string or a list of at least one", value)
    if len(value) > max_inputs:
        raise ApiError(400, f"input must be at most {max_inputs} strings, got {len(value)}", "input")
    kinds = set(map(type, value))
    if kinds == {str}:
        return value
    if kinds <= {int, list}:
        raise ApiError(
            400,
            "input must be text: token ids are those of another model's tokenizer "
            "(LangChain's OpenAIEmbeddings sends text with check_embedding_ctx_length=False)",
            "input",
        )
    i = next(i for i, text in enumerate(value) if type(text) is not str)
    raise _invalid(f"input[{i}]", "a string", value[i], "input")


def _invalid(name: str, expected: str, value: object, param: str | None = None) -> ApiError:
    return ApiError(400, f"{name} must be {expected}, got {_shown(value)}", param or name)


def _shown(value: object) -> str:
    """A value as JSON, shortened."""
    if value is None:
        return "nothing"
    try:
        return json_bytes(value)[:60].decode("utf-8", "replace")
    except TypeError:  # orjson reads more levels than it writes
        return "a value of too many levels"


def response(rows: npt.NDArray[np.float32], model: str, base64: bool) -> bytes:
    """The response with some embeddings.

    Args:
        rows: Embeddings, [n, dimensions].
        model: Name of the model.
        base64: Whether to send embeddings as base64 of float32, little-endian, instead of numbers.

    Example:
        >>> response(np.ones((1, 2), np.float32), "m", True)[24:]
        b'[{"object":"embedding","index":0,"embedding":"AACAPwAAgD8="}],"model":"m","usage":{...}}'
    """
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    end = json_bytes({"model": model, "usage": usage})
    if base64:
        return b"".join([*_base64_items(rows), b"],", end[1:]])
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return b"".join([b'{"object":"list","data":', json_bytes(data), b",", end[1:]])


def _base64_items(rows: npt.NDArray[np.float32]) -> list[bytes]:
    """The JSON of all embeddings as base64, in pieces; half the time of a dict for each.

    All rows are encoded by one call, each padded to a multiple of 3 bytes: its last `padding` characters then
    are those of zeros, and become "=".
    """
    count, size = len(rows), 4 * rows.shape[1]
    padding = -size % 3
    padded = np.zeros((count, size + padding), np.uint8)
    padded[:, :size] = rows.view(np.uint8)
    text = b2a_base64(padded.data, newline=False)
    width = len(text) // count
    kind = np.dtype({"names": ["text"], "formats": [f"S{width - padding}"], "itemsize": width})
    pieces = [b""] * (2 * count)
    pieces[0::2] = _openings(padding, 1 << (count - 1).bit_length())[:count]
    pieces[1::2] = np.frombuffer(text, kind)["text"].tolist()
    return [*pieces, b"=" * padding, b'"}']


@cache
def _openings(padding: int, count: int) -> list[bytes]:
    """What precedes the text of each embedding: the end of the previous one, and its own fields."""
    end = b"=" * padding + b'"},'
    first = b'{"object":"list","data":['
    return [
        b'%b{"object":"embedding","index":%d,"embedding":"' % (end if i else first, i) for i in range(count)
    ]


def json_bytes(value: object) -> bytes:
    """JSON of a value; NumPy's arrays are lists of numbers with the fewest digits."""
    orjson: Any = require("orjson", "serve")
    encoded: bytes = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return encoded
