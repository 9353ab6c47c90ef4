"""Small saved files of every kind, and changes to their headers as damage or malice would make them."""

from __future__ import annotations

import json
import zlib

import numpy as np

import sentencode as se

WORDS = ["the", "cat", "sat", "on", "mat", "a", "big", "dog", "ran", "red"]
TEXTS = ["the cat sat on the mat", "a big dog ran", "the red cat", "a dog sat", "nothing here", "mat mat"]
STORAGES = ("float32", "float16", "int8")


def table(storage="float32", **options):
    rows = np.random.default_rng(3).normal(size=(len(WORDS), 4)).astype(np.float32)
    counts = list(range(10 * len(WORDS), 0, -10))
    return se.WordVectors.from_array(WORDS, rows, counts, storage=storage, **options)


def encoders():
    laes = {"hidden": 4, "max_length": 4}
    return {
        "average": se.Average(table("float16")),
        "sif": se.SIF(table(), components=1).fit(TEXTS),
        "usif": se.USIF(table("int8"), components=2).fit(TEXTS),
        "laes": se.LAES(table(), mode="hidden", **laes).fit(TEXTS),
        "laes-residual": se.LAES(table(), mode="residual", **laes).fit(TEXTS),
        "dict-rep": se.DictRep(table(), max_epochs=1, word_dropout=0).fit(TEXTS[:4], WORDS[:4]),
    }


ATTENDING = {"hidden": 8, "inner": 8, "heads": 2}
CONVOLVING = {"hidden": 8, "filters": 4, "windows": (1, 2)}
NEURAL = {
    "CNNLSTMAE": CONVOLVING,
    "CompositeCNN": CONVOLVING,
    "CompoundNMT": {"hidden": 3, "decoder_hidden": 4, "attention": 3, "heads": 2, "size": 4},
    "FastSent": {"autoencode": True},
    "GeneralizedPooling": {"hidden": 3, "heads": 2, "attention_hidden": 3, "character_filters": 2},
    "HierarchicalCNN": {**CONVOLVING, "paragraph_length": 3},
    "LSTMSDAE": {"hidden": 8},
    "MeanMaxAAE": ATTENDING,
    "RAE": ATTENDING,
    "RNNCNN": {"hidden": 4, "following_words": 3, "channels": 5, "inner": 4},
    "SkipThoughts": {"hidden": 4, "bidirectional": True},
}


def neural_encoder(name):
    encoder = getattr(se, name)(table(), **NEURAL[name], max_steps=4, batch_size=3, device="cpu")
    if name == "GeneralizedPooling":
        return encoder.fit(TEXTS * 4, list(range(len(TEXTS))) * 4, head=se.Classifier(hidden=3))
    if name == "CompoundNMT":
        return encoder.fit(TEXTS * 4, [text.upper() for text in TEXTS] * 4)
    return encoder.fit(TEXTS * 4)


def parts(content):
    """The header and the tensors of a safetensors file."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header, body):
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text + body


def without_checksums(content):
    """As files were before they had any."""
    header, body = parts(content)
    metadata = header["__metadata__"]
    for key in [key for key in metadata if key.startswith("checksum.")]:
        del metadata[key]
    metadata["version" if "version" in metadata else "format_version"] = "1"
    return joined(header, body)


def with_checksums(header, body):
    """A file with checksums of its new content."""
    metadata = header["__metadata__"]
    tensors = {name: one for name, one in header.items() if name != "__metadata__"}
    for key in [key for key in metadata if key.startswith("checksum.")]:
        del metadata[key]
    for name, one in tensors.items():
        begin, end = one["data_offsets"]
        metadata[f"checksum.tensor.{name}"] = f"{zlib.crc32(body[begin:end]):08x}"
    said = [text for key in sorted(metadata) for text in (key, metadata[key])]
    for name, one in sorted(tensors.items()):
        said += [name, one["dtype"], *map(str, one["shape"]), *map(str, one["data_offsets"])]
    metadata["checksum.header"] = f"{zlib.crc32(b''.join(text.encode() + bytes(1) for text in said)):08x}"
    return joined(header, body)


def changed(path, change):
    """The same file after `change(config, params)`."""
    header, body = parts(path.read_bytes())
    metadata = header["__metadata__"]
    config, params = json.loads(metadata["config"]), json.loads(metadata["params"])
    change(config, params)
    metadata["config"], metadata["params"] = json.dumps(config), json.dumps(params)
    path.write_bytes(with_checksums(header, body))
