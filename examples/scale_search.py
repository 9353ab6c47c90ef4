"""Encodes a file into Parquet shards and searches them: python examples/scale_search.py FOLDER.

With usearch, faiss and DuckDB, each where it is installed (`pip install usearch faiss-cpu duckdb`).
"""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib import resources
from pathlib import Path

import numpy as np

import sentencode as se

QUERY = "A storm at sea."


def main(folder: Path) -> None:
    """Encodes, then searches by whatever there is."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    rows = (json.dumps({"id": i, "text": text}) for i, text in enumerate(lines))
    (folder / "in.jsonl").write_text("\n".join(rows), encoding="utf-8")
    sif = se.SIF(se.WordVectors.default()).fit(lines)
    sif.save(folder / "sif.sentencode")
    options = {"id": "id", "normalize": True, "workers": 1, "shard_size": "50KB"}
    count = se.scale.encode(folder / "sif.sentencode", folder / "in.jsonl", folder / "rows", **options)
    query = sif.encode(QUERY, normalize_embeddings=True)
    print(f"{count} rows in {len(se.scale.Embeddings(folder / 'rows').files)} files\n{QUERY}")

    for name, search in (("usearch", by_usearch), ("faiss", by_faiss), ("duckdb", by_duckdb)):
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed")
            continue
        hits = search(se.scale.Embeddings(folder / "rows"), query)
        print(f"{name}: {hits.scores[0]:.2f} {lines[hits.indices[0]]}")


def by_usearch(rows: se.scale.Embeddings, query: np.ndarray) -> se.Hits:
    """Searches an approximate index, which is saved to a file."""
    from usearch.index import Index

    index = Index(ndim=rows.dim, metric="cos")
    for ids, block in rows.batches():
        index.add(ids, block)
    matches = index.search(query, 3)
    return se.Hits(matches.keys.astype(np.int64), 1 - matches.distances)


def by_faiss(rows: se.scale.Embeddings, query: np.ndarray) -> se.Hits:
    """An exact index; others of faiss take rows in the same way."""
    import faiss

    index = faiss.IndexIDMap2(faiss.IndexFlatIP(rows.dim))
    for ids, block in rows.batches():
        index.add_with_ids(block, ids)
    scores, ids = index.search(query[np.newaxis], 3)
    return se.Hits(ids[0], scores[0])


def by_duckdb(rows: se.scale.Embeddings, query: np.ndarray) -> se.Hits:
    """A database, from the Parquet files as they are."""
    import duckdb

    kind = f"FLOAT[{rows.dim}]"
    columns = duckdb.execute(
        f"SELECT id, array_inner_product(embedding::{kind}, $query::{kind}) AS score "
        "FROM read_parquet($files) ORDER BY score DESC LIMIT 3",
        {"query": query.tolist(), "files": rows.files},
    ).fetchnumpy()
    return se.Hits(columns["id"], columns["score"])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "scale-search"))
