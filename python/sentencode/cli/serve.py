"""Serves embeddings over HTTP with the protocol of OpenAI.

Clients of OpenAI's API, such as LangChain, need the base URL, http://127.0.0.1:8000/v1 by default, and the
name of the model. The server also has /health, and /metrics for Prometheus. If SENTENCODE_API_KEY is set in
the environment, or with --api-key-file, clients must send a key. Ctrl-C and SIGTERM stop the server after it
has answered all requests in progress.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import streams
from .errors import UsageError
from .options import TRUST, add_options

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "serve"
HELP = "serve embeddings over HTTP, like OpenAI"
EXAMPLE = """
sentencode serve default
sentencode serve sif.sentencode --port 9000 --name my-model
sentencode serve sif.sentencode --host 0.0.0.0 --api-key-file keys.txt
"""

_VARIABLE = "SENTENCODE_API_KEY"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a saved encoder, a static model's folder or name on the Hub; default: the built-in vectors",
    )
    add_options(
        parser,
        {
            "--host ADDRESS": ("127.0.0.1", "address to listen on; 0.0.0.0 lets other machines connect"),
            "--port N": (8000, "port; 0 is any free one"),
            "--name NAME": (str, "name of the model in requests (default: the file's, without .sentencode)"),
            "--raw": (False, "embeddings as encode returns them; otherwise they have length 1"),
            "--api-key-file FILE": (
                Path,
                "file of the keys that clients may send, one per line; those that begin with # are comments",
            ),
            "--max-body BYTES": ("8MB", "largest body of a request"),
            "--max-inputs N": (2048, "largest number of texts of a request"),
            **TRUST,
            "--max-memory BYTES": ("256MB", "memory of requests in progress, beyond which more are refused"),
        },
    )


def run(options: argparse.Namespace) -> None:
    import sentencode as se

    keys = _keys(options.api_key_file)
    model = options.model
    if model == "default":
        encoder = se.Average(se.WordVectors.default())
    else:
        encoder = se.load(model, trust_tokenizer=options.trust_tokenizer)
    name = options.name or Path(os.path.abspath(model)).name.removesuffix(".sentencode")
    app = se.serve.App(
        encoder,
        name=name,
        keys=keys,
        normalize=not options.raw,
        max_body=options.max_body,
        max_inputs=options.max_inputs,
        max_memory=options.max_memory,
    )

    def started(url: str) -> None:
        streams.say(f"{name}: {type(encoder).__name__}, {encoder.dim} dimensions, at {url}/v1")
        if not keys and options.host not in ("127.0.0.1", "::1", "localhost"):
            streams.say(f"sentencode: warning: whoever reaches {options.host} can use it: there is no key")

    se.serve.run(app, options.host, options.port, on_start=started)


def _keys(path: Path | None) -> list[str]:
    """The keys of the environment and of a file."""
    from ..files import read_text

    keys = [] if _VARIABLE not in os.environ else [os.environ[_VARIABLE].strip()]
    if keys == [""]:
        raise UsageError(f"{_VARIABLE} is empty: unset it, or set a key")
    if path is not None:
        lines = [line.strip() for line in read_text(path).splitlines()]
        in_file = [line for line in lines if line and not line.startswith("#")]
        if not in_file:
            raise UsageError(f"{path}: expected a key, the file has none")
        if any(line.split() != [line] for line in in_file):
            raise UsageError(f"{path}: a key has white space; comments are lines of their own")
        keys += in_file
    return keys
