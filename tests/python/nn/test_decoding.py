from __future__ import annotations

import itertools
import math

import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("sentencode.nn")

from hypothesis import given, settings
from hypothesis import strategies as st

END = 0


class Markov(nn.Decoder):
    """The next word depends on the previous word and on the sentence's table, which is the memory.

    The state has the words so far as well: after a wrong reordering they would be those of another.
    """

    def __init__(self):
        super().__init__()
        self.rows = []

    def start(self, memory):
        (tables,) = memory
        return [tables, torch.zeros(len(tables), 0, dtype=torch.int64)]

    def step(self, ids, state):
        tables, words = state
        self.rows.append(len(ids))
        assert len(tables) == len(ids)
        words = torch.cat([words, ids[:, None]], 1)
        # The logits depend on all words so far, so that beams that mix hypotheses up are detected.
        shift = torch.sin(words.double().cumsum(1).sum(1, keepdim=True) * torch.arange(tables.shape[1]))
        return tables[torch.arange(len(ids)), ids] + 0.3 * shift, [tables, words]


def tables(batch, words, seed):
    generator = torch.Generator().manual_seed(seed)
    return 1.5 * torch.randn(batch, words, words, generator=generator, dtype=torch.float64)


def log_p(table, first, words):
    """log p of a sentence including its end."""
    total, before, so_far = 0.0, first, [first]
    for word in (*words, END):
        shift = torch.sin(
            torch.tensor(so_far).double().cumsum(0).sum() * torch.arange(table.shape[0], dtype=torch.float64)
        )
        total += (table[before] + 0.3 * shift).log_softmax(0)[word].item()
        before = word
        so_far.append(word)
    return total


def enumeration(table, first, max_length, penalty):
    """All sentences, the best first."""
    candidates = []
    for length in range(max_length + 1):
        for words in itertools.product(range(1, len(table)), repeat=length):
            score = log_p(table, first, words) / ((6 + length) / 6) ** penalty
            candidates.append((score, words))
    return sorted(candidates, reverse=True)


def hypotheses_of(decoded, row):
    return [
        (score, tuple(ids[:length]))
        for ids, length, score in zip(
            decoded.ids[row].tolist(),
            decoded.lengths[row].tolist(),
            decoded.scores[row].tolist(),
            strict=True,
        )
        if length >= 0
    ]


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10000),
    words=st.integers(2, 4),
    max_length=st.integers(1, 3),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0, -0.5]),
    best=st.integers(1, 6),
)
def test_a_large_beam_equals_enumeration(seed, words, max_length, penalty, best):
    table = tables(3, words, seed)
    first = torch.tensor([1, 0, words - 1])
    decoded = nn.beam_search(
        Markov(),
        [table],
        first,
        end=END,
        max_length=max_length,
        beam=words**max_length + 1,
        best=min(best, words**max_length),
        length_penalty=penalty,
    )
    for row in range(3):
        expected = enumeration(table[row], first[row].item(), max_length, penalty)
        hypotheses = hypotheses_of(decoded, row)
        expected = expected[: min(best, words**max_length)]
        assert len(hypotheses) == len(expected)
        for (score, ids), (right, sentence) in zip(hypotheses, expected, strict=True):
            assert ids == sentence
            assert math.isclose(score, right, abs_tol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("words", [63, 64, 200, 1000])
def test_the_most_likely_of_many_words(words, dtype):
    class Once(nn.Decoder):
        """Its second word is the end."""

        def start(self, memory):
            return [*memory, torch.zeros(len(memory[0]), 1)]

        def step(self, ids, state):
            logits, step = state
            ends = torch.full_like(logits, -math.inf)
            ends[:, END] = 3
            return torch.where(step > 0, ends, logits), [logits, step + 1]

    generator = torch.Generator().manual_seed(words)
    logits = 3 * torch.randn(3, words, generator=generator, dtype=dtype)
    logits[1, 5:] = -math.inf  # fewer words than hypotheses
    logits[:, END] -= 20
    decoded = nn.beam_search(Once(), [logits], torch.tensor([1, 1, 1]), end=END, max_length=2, beam=7, best=7)
    for row in range(3):
        top = logits[row].double().log_softmax(0).topk(8)
        expected = [
            (score, (word,))
            for score, word in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            if word != END and score > -math.inf
        ]
        hypotheses = [pair for pair in hypotheses_of(decoded, row) if pair[1]]
        assert [ids for _, ids in hypotheses] == [ids for _, ids in expected][: len(hypotheses)]
        assert len(hypotheses) >= min(6, len(expected))
        for (score, _), (right, _) in zip(hypotheses, expected, strict=False):
            assert math.isclose(score, right, abs_tol=1e-4)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10000), beam=st.integers(1, 4), penalty=st.sampled_from([0.0, 1.0]))
def test_narrow_beams_report_true_scores_and_do_not_depend_on_the_batch(seed, beam, penalty):
    table, first = tables(4, 6, seed), torch.tensor([1, 2, 3, 0])
    options = {"end": END, "max_length": 7, "beam": beam, "best": beam, "length_penalty": penalty}
    decoded = nn.beam_search(Markov(), [table], first, **options)
    for row in range(4):
        hypotheses = hypotheses_of(decoded, row)
        assert hypotheses
        assert hypotheses == sorted(hypotheses, key=lambda pair: -pair[0])
        assert len({ids for _, ids in hypotheses}) == len(hypotheses)
        for score, ids in hypotheses:
            right = log_p(table[row], first[row].item(), ids) / ((6 + len(ids)) / 6) ** penalty
            assert math.isclose(score, right, abs_tol=1e-5)
            assert END not in ids
        alone = nn.beam_search(Markov(), [table[row : row + 1]], first[row : row + 1], **options)
        assert hypotheses_of(alone, 0) == hypotheses


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10000))
def test_greedy_takes_the_likeliest_word_and_is_a_beam_of_one(seed):
    table, first = tables(5, 6, seed), torch.tensor([1, 2, 3, 0, 5])
    decoded = nn.greedy_search(Markov(), [table], first, end=END, max_length=12)
    beam = nn.beam_search(Markov(), [table], first, end=END, max_length=12, beam=1)
    for row in range(5):
        decoder = Markov()
        state, word, words, total = decoder.start([table[row : row + 1]]), first[row].item(), [], 0.0
        for _ in range(12):
            logits, state = decoder.step(torch.tensor([word]), state)
            word = logits[0].argmax().item()
            total += logits[0].log_softmax(0)[word].item()
            if word == END:
                break
            words.append(word)
        ((score, ids),) = hypotheses_of(decoded, row)
        assert list(ids) == words
        assert math.isclose(score, total, abs_tol=1e-5)
        if len(words) < 12:
            assert hypotheses_of(beam, row)[0][1] == ids


def test_finished_sentences_leave():
    # The second sentence ends at once; the first one after three words.
    table = torch.full((2, 5, 5), -20.0, dtype=torch.float64)
    table[0, [1, 2, 3, 4], [2, 3, 4, 0]] = 20
    table[1, :, 0] = 20
    decoder = Markov()
    decoded = nn.greedy_search(decoder, [table], torch.tensor([1, 1]), end=END)
    assert decoded.ids.tolist() == [[[2, 3, 4]], [[0, 0, 0]]]
    assert decoded.lengths.tolist() == [[3], [0]]
    assert decoder.rows == [2, 1, 1, 1]
    decoder = Markov()
    nn.beam_search(decoder, [table], torch.tensor([1, 1]), end=END, beam=2)
    assert decoder.rows[:2] == [2, 2]  # all hypotheses of a beam start equal


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, 0), (0.5, 0), (2.0, 0), (1.0, 2)])
def test_samples_have_the_models_distribution(temperature, top_k):
    table = tables(1, 5, 3)[:, 1:2].expand(-1, 5, -1)
    count = 20000
    decoded = nn.sample(
        Markov(),
        [table.expand(count, -1, -1)],
        torch.full((count,), 2),
        end=END,
        max_length=1,
        temperature=temperature,
        top_k=top_k,
        seed=5,
    )
    shift = torch.sin(2 * torch.arange(5, dtype=torch.float64))
    logits = (table[0, 0] + 0.3 * shift) / temperature
    if top_k:
        logits[logits < logits.topk(top_k).values[-1]] = -torch.inf
    expected = logits.softmax(0)
    samples = torch.where(decoded.lengths[:, 0] == 0, END, decoded.ids[:, 0, 0])
    seen = torch.bincount(samples, minlength=5).double() / count
    error = (expected * (1 - expected) / count).sqrt()
    assert ((seen - expected).abs() <= 4 * error + 1e-12).all()


def test_samples_depend_only_on_seed_and_row():
    table, first = tables(1, 6, 0).expand(8, -1, -1), torch.ones(8, dtype=torch.int64)
    options = {"end": END, "max_length": 20}
    torch.manual_seed(0)
    one = nn.sample(Markov(), [table], first, seed=1, **options)
    torch.manual_seed(9)
    same = nn.sample(Markov(), [table], first, seed=1, **options)
    other = nn.sample(Markov(), [table], first, seed=2, **options)
    fewer = nn.sample(Markov(), [table[:3]], first[:3], seed=1, **options)
    assert [hypotheses_of(one, i) for i in range(8)] == [hypotheses_of(same, i) for i in range(8)]
    assert [hypotheses_of(one, i) for i in range(8)] != [hypotheses_of(other, i) for i in range(8)]
    assert [hypotheses_of(one, i) for i in range(3)] == [hypotheses_of(fewer, i) for i in range(3)]
    assert len({hypotheses_of(one, i)[0][1] for i in range(8)}) > 1


def test_a_low_temperature_is_greedy():
    table, first = tables(4, 6, 1), torch.tensor([1, 2, 3, 4])
    cold = nn.sample(Markov(), [table], first, end=END, max_length=9, temperature=1e-4)
    greedy = nn.greedy_search(Markov(), [table], first, end=END, max_length=9)
    assert torch.equal(cold.ids, greedy.ids)


def test_no_sentences():
    nothing = torch.zeros(0, dtype=torch.int64)
    for search in (nn.greedy_search, nn.sample, nn.beam_search):
        assert search(Markov(), [tables(0, 3, 0)], nothing, end=END).ids.shape == (0, 1, 0)


@pytest.mark.parametrize(
    ("search", "change", "message"),
    [
        (nn.greedy_search, {"first": torch.zeros(2)}, r"first must be int64 \[batch\], got float \[2\]"),
        (nn.greedy_search, {"end": 6}, "end must be from 0 to 5, got 6"),
        (nn.greedy_search, {"max_length": 0}, "max_length must be at least 1, got 0"),
        (nn.sample, {"temperature": 0.0}, "temperature must be positive, got 0"),
        (nn.sample, {"top_k": -1}, "top_k must not be negative, got -1"),
        (nn.beam_search, {"best": 6}, "best from 1 to beam, got 5 and 6"),
        (nn.beam_search, {"end": -1}, "end must be from 0 to 5, got -1"),
    ],
)
def test_wrong_arguments_are_value_errors(search, change, message):
    arguments = {"first": torch.tensor([1, 2]), "end": END} | change
    with pytest.raises(ValueError, match=message):
        search(Markov(), [tables(2, 6, 0)], **arguments)


def test_errors_of_a_decoder_arrive():
    class Broken(nn.Decoder):
        def start(self, memory):
            raise KeyError("no memory")

        def step(self, ids, state):
            return torch.zeros(7, 3), state

    with pytest.raises(KeyError, match="no memory"):
        nn.greedy_search(Broken(), [], torch.tensor([1]), end=END)

    class Misshapen(Broken):
        def start(self, memory):
            return []

    with pytest.raises(ValueError, match=r"logits must be \[2, words\], got \[7, 3\]"):
        nn.greedy_search(Misshapen(), [], torch.tensor([1, 1]), end=END)
