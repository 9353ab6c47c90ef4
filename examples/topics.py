"""Topics of the built-in sentences with BERTopic: python examples/topics.py.

Needs bertopic. Its default steps, UMAP and HDBSCAN, can be used as well; PCA and k-means start faster.
"""

from __future__ import annotations

from importlib import resources

from bertopic import BERTopic
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import sentencode as se

QUERY = "A storm at sea"


def main() -> None:
    """Finds topics, and the one that is nearest to a text."""
    sentences = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    topics = BERTopic(
        embedding_model=make_pipeline(se.Average(se.WordVectors.default())),
        umap_model=PCA(5, random_state=0),
        hdbscan_model=KMeans(12, n_init=3, random_state=0),
        vectorizer_model=CountVectorizer(stop_words="english"),
    )
    topics.fit(sentences)
    for name in topics.get_topic_info()["Name"]:
        print(name)
    (best,), _ = topics.find_topics(QUERY, top_n=1)
    print(f"{QUERY}: {topics.get_topic_info(best)['Name'][0]}")


if __name__ == "__main__":
    main()
