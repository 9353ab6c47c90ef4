"""Learns from labelled pairs: python examples/learn_labels.py [train.tsv dev.tsv].

The files are those of SNLI or MultiNLI, or tab-separated: a label and two sentences. Without files, pairs are
generated, which only shows that it runs.
"""

from __future__ import annotations

import sys

import sentencode as se
from sentencode.evaluation import Labelled, read_labelled


def generated() -> Labelled:
    """Pairs of which the second sentence follows from the first, contradicts it, or neither."""
    who, what, where = (
        ("A man", "The dog", "A woman", "The cat"),
        ("sleeps", "runs", "sings"),
        ("park", "house"),
    )
    pairs, labels = [], []
    for person in who:
        for doing in what:
            for place in where:
                premise = f"{person} {doing} in the {place}."
                other = what[(what.index(doing) + 1) % len(what)]
                pairs += [
                    (premise, f"{person} {doing}."),
                    (premise, f"{person} {other}."),
                    (premise, "It is old."),
                ]
                labels += ["entailment", "contradiction", "neutral"]
    return Labelled(pairs, labels, 0)


def main() -> None:
    """Trains, evaluates on held-out pairs, and prints the attention of the heads."""
    options = {}
    if len(sys.argv) > 2:
        train, dev = read_labelled(sys.argv[1]), read_labelled(sys.argv[2])
    else:
        data = generated()
        train = Labelled(data.sentences[12:], data.labels[12:], 0)
        dev = Labelled(data.sentences[:12], data.labels[:12], 0)
        options = {"learning_rate": 5e-3, "batch_size": 16}
    # The paper's pooling, whose attention is printed; "mean_max", the default, learns from fewer examples.
    encoder = se.GeneralizedPooling(se.WordVectors.default(), pooling="generalized", **options)
    valid = dev.sentences, dev.labels
    encoder.fit(train.sentences, train.labels, valid=valid, show_progress_bar=sys.stderr.isatty())
    print(f"accuracy on {len(dev.labels)} new pairs: {encoder.score(dev.sentences, dev.labels):.2f}")
    print("classes:", ", ".join(encoder.classes_))
    print(encoder.confusion_matrix(dev.sentences, dev.labels))
    for word, weights in encoder.explain("A man sleeps in the park."):
        print(f"{word:>8} {'  '.join(f'{weight:.2f}' for weight in weights)}")


if __name__ == "__main__":
    main()
