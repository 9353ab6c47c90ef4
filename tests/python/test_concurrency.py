"""Several threads at once: nothing hangs, nothing is half there, Ctrl-C is heard, and Python ends.

Each test is a process of its own: a hang of threads that wait for Python's lock stops everything in it.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sentencode._extras import nn_folders

ROOT = Path(__file__).parents[2]
needs_nn = pytest.mark.skipif(not nn_folders(), reason="without the neural half")

# Encoders that are large enough for fit to check for Ctrl-C.
PREPARED = """
    import itertools, os, sys, threading, time
    import numpy as np
    import sentencode as se
    from sentencode._extras import nn_folders

    sys.setswitchinterval(1e-4)
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(500)]
    vectors = se.WordVectors.from_array(words, random.standard_normal((500, 96), dtype=np.float32))
    corpora = [[" ".join(random.choice(words, 12)) for _ in range(3000)] for _ in range(2)]
    texts = corpora[0][:40]
    makers = {
        "SIF": lambda: se.SIF(vectors, components=9),
        "USIF": lambda: se.USIF(vectors),
        "LAES": lambda: se.LAES(vectors, hidden=20, direction="both"),
    }

    def started(*functions):
        threads = [threading.Thread(target=function, daemon=True) for function in functions]
        for thread in threads:
            thread.start()
        return threads
"""


def run(code, *arguments, timeout=100, ignored=""):
    """What such a process prints. One that hangs, dies or complains is a failure."""
    program = textwrap.dedent(PREPARED) + textwrap.dedent(code)
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stderr.replace(ignored, "")) == (0, "")
    return done.stdout


GETTERS = """
    encoder = makers[sys.argv[1]]().fit(corpora[0])
    getters = [lambda: encoder.fitted, lambda: encoder.dim, lambda: encoder.n_sentences_, encoder.fingerprint,
               lambda: repr(encoder), encoder._repr_html_, lambda: encoder._model.statistics(),
               lambda: encoder._model.params, lambda: encoder.encode(texts)]
    names = ("components_", "singular_values_", "factors_", "n_tokens_")
    getters += [lambda name=name: getattr(encoder, name) for name in names if hasattr(encoder, name)]
    failures = []
    end = time.monotonic() + 3

    def repeat(function):
        try:
            while time.monotonic() < end:
                function()
        except BaseException as failure:
            failures.append(failure)

    def fit():
        encoder.partial_fit(corpora[1])
        encoder.encode(texts)

    def look():
        for getter in getters:
            getter()

    first, others = (fit, look) if sys.argv[2] == "fits" else (look, fit)
    threads = started(*[lambda: repeat(others)] * 2)
    repeat(first)  # the main thread checks for Ctrl-C
    for thread in threads:
        thread.join()
    assert not failures, failures
"""


@pytest.mark.parametrize("main_thread", ["fits", "looks"])
@pytest.mark.parametrize("kind", ["SIF", "USIF", "LAES"])
def test_one_thread_fits_while_others_encode(kind, main_thread):
    run(GETTERS, kind, main_thread)


@pytest.mark.parametrize("kind", ["SIF", "USIF", "LAES"])
def test_encoding_while_fitting_uses_the_old_or_the_new_fit(kind):
    run(
        """
        se.set_num_threads(1)
        encoder = makers[sys.argv[1]]().fit(corpora[0])
        items = [encoder.encode(texts), makers[sys.argv[1]]().fit(corpora[1]).encode(texts)]
        seen = set()

        def encode():
            while thread.is_alive():
                rows = encoder.encode(texts)
                values = [i for i, expected in enumerate(items) if np.allclose(rows, expected, atol=1e-6)]
                seen.update(values or ["neither"])

        def fit():
            for i in range(1, 9):
                encoder.fit(corpora[i % 2])

        thread, = started(fit)
        encode()
        assert seen == {0, 1}, seen
        """,
        kind,
    )


# Of small networks, and of how they are trained.
NETWORKS = {
    "MeanMaxAAE": {"hidden": 8, "heads": 2},
    "RNNCNN": {"hidden": 8, "channels": 8, "inner": 8},
    "SkipThoughts": {"hidden": 8},
    "FastSent": {},
    "HierarchicalCNN": {"hidden": 8, "filters": 4, "paragraph_length": 2},
    "CompoundNMT": {"hidden": 8, "decoder_hidden": 8, "attention": 8, "heads": 2},
}
SIDES = {"CompoundNMT": 2}  # number of arguments of fit
QUICK = {"max_steps": 3, "batch_size": 8, "validate_every": None}


@needs_nn
@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_encodes_while_another_is_trained(kind, tmp_path):
    pytest.importorskip("torch")
    run(
        f"""
        se.set_cache_dir({str(tmp_path)!r})
        kind, made, sides = se.{kind}, {NETWORKS[kind] | QUICK}, {SIDES.get(kind, 1)}
        encoder = kind(vectors, **made).fit(*[corpora[0][:60]] * sides)
        before = encoder.encode(texts)
        encoder.network.train()  # left in training mode
        failures = []

        def encode():
            while thread.is_alive():
                rows = encoder.encode(texts)
                if thread.is_alive() and not np.allclose(rows, before, atol=1e-6):
                    failures.append("not as before")
                encoder.fingerprint(), encoder.fitted, repr(encoder)

        other = kind(vectors, **made)
        thread, = started(lambda: [other.fit(*[corpora[1][:60]] * sides) for _ in range(3)])
        others = started(encode, encode)
        encode()
        for one in others:  # `thread` stays the one that fits
            one.join()
        assert not failures
        assert encoder.network.training
        """,
        timeout=200,
    )


@needs_nn
def test_many_threads_translate_while_another_encoder_is_trained(tmp_path):
    pytest.importorskip("torch")
    run(
        f"""
        se.set_cache_dir({str(tmp_path)!r})
        kind, made = se.CompoundNMT, {NETWORKS["CompoundNMT"] | QUICK}
        nmt = kind(vectors, **made).fit(corpora[0][:60], corpora[1][:60])
        ways = [
            lambda: nmt.translate(texts[:12], beam=3, max_length=9),
            lambda: nmt.translate(texts[:12], sample=True, max_length=9),
            lambda: nmt.translate(texts[0], beam=1, max_length=9),
            lambda: [round(p, 3) for p in nmt.score(texts[:12], texts[12:24])],
            lambda: nmt.alignment(texts[0], texts[1])[2].round(4).tolist(),
            lambda: nmt.position_weights(texts[:12]).round(4).tolist(),
        ]
        before = [way() for way in ways]
        failures = []

        def repeat(way, expected):
            rounds = 0
            try:
                while thread.is_alive() or rounds == 0:
                    assert way() == expected, "not as before"
                    rounds += 1
            except BaseException as failure:
                failures.append(failure)

        def save():
            nmt.save({str(tmp_path / "nmt")!r})
            return se.load({str(tmp_path / "nmt")!r}).translate(texts[:12], beam=3, max_length=9)

        other = kind(vectors, **made)
        thread, = started(lambda: [other.fit(corpora[1][:60], corpora[0][:60]) for _ in range(3)])
        others = started(*[lambda way=way, of=of: repeat(way, of) for way, of in zip(ways, before)])
        repeat(save, before[0])
        for one in others:
            one.join()
        assert not failures, failures
        """,
        timeout=200,
    )


@needs_nn
@pytest.mark.parametrize("kind", [kind for kind in NETWORKS if kind not in SIDES])
def test_a_network_encodes_and_is_saved_while_its_vocabulary_grows(kind, tmp_path):
    pytest.importorskip("torch")
    run(
        f"""
        se.set_cache_dir({str(tmp_path)!r})
        names = {NETWORKS[kind] | QUICK}
        encoder = se.{kind}(vectors, trainable_words=True, vocabulary_size=300, **names).fit(corpora[0][:200])
        tables = [se.WordVectors.from_array(words, random.standard_normal((500, n))) for n in (40, 96)]
        items = [encoder.expand_vocabulary(table).encode(texts) for table in tables]
        assert not np.allclose(*items, atol=1e-2)
        failures, seen = [], set()

        def of_one(rows):
            values = [i for i, expected in enumerate(items) if np.allclose(rows, expected, atol=1e-6)]
            seen.update(values)
            assert values, "rows of neither"

        def save(path):
            encoder.save(path)
            of_one(se.load(path).encode(texts))

        def repeat(function, *given):
            try:
                while threads is None or threads[0].is_alive():
                    function(*given)
            except BaseException as failure:
                failures.append(failure)

        def grow():
            for i in range(60):
                encoder.expand_vocabulary(tables[i % 2])
                time.sleep(0.02)

        path, threads = {str(tmp_path / "model")!r}, None
        threads = started(grow, *[lambda: repeat(lambda: of_one(encoder.encode(texts)))] * 2)
        repeat(save, path)
        for thread in threads:
            thread.join()
        assert not failures, failures
        assert seen == {{0, 1}}, seen
        """,
        timeout=200,
    )


@pytest.mark.parametrize("kind", ["SIF", "USIF"])
def test_no_thread_waits_for_the_gil_under_the_lock_of_an_encoder(kind):
    run(
        """
        model = makers[sys.argv[1]]().fit(corpora[0])._model
        statistics = model.statistics()
        end = time.monotonic() + 2
        look = lambda: [(model.fitted, model.params) for _ in iter(lambda: time.monotonic() < end, False)]
        threads = started(look, look)
        while time.monotonic() < end:
            model.set_statistics(statistics)
            model.solve()  # the main thread checks for Ctrl-C
        for thread in threads:
            thread.join()
        """,
        kind,
    )


def test_other_threads_do_not_use_up_the_main_threads_looks_for_ctrl_c(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("w1\n" * 50_000, encoding="utf-8")
    shown = run(
        f"""
        import signal
        se.set_num_threads(1)
        encoder = se.Average(vectors)
        short = next(iter(se.Corpus({str(path)!r}).batches(50_000)))
        stop = []
        look = lambda: [encoder.encode(short) for _ in iter(lambda: bool(stop), True)]  # looks all the time
        threads = started(look, look, look)
        long = [" ".join(corpora[0][:40])] * 60_000  # looks seldom
        out = np.full((len(long), encoder.dim), np.nan, np.float32)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            encoder.encode(long, out=out)
        except KeyboardInterrupt:
            print(np.isfinite(out[:, 0]).mean())
        stop.append(True)
        for thread in threads:
            thread.join()
        """
    )
    assert float(shown) < 0.8  # it did not go on to the end


# A fork for each end: Python and its modules are loaded once. A child that hangs is ended by its alarm.
ENDS = """
    import signal
    loops = {loops}
    ends = []
    for i in range({count}):
        if os.fork() == 0:
            signal.alarm(60)
            se.set_num_threads(2)
            started(*[lambda loop=loop: [loop() for _ in itertools.count()] for loop in loops])
            time.sleep(0.02 + 0.01 * i)
            sys.exit(0)
        ends.append(os.waitstatus_to_exitcode(os.wait()[1]))
    assert set(ends) <= {accepted}, ends
"""


def test_python_ends_while_daemon_threads_are_in_the_core():
    loops = """[
        lambda: se.SIF(vectors).fit(corpora[0]),
        lambda: se.LAES(vectors, hidden=20).fit(corpora[0]).encode(texts),
        lambda encoder=se.Average(vectors): encoder.encode(corpora[0]),
        lambda encoder=se.Average(vectors): encoder.encode([text.split() for text in texts]),
        lambda: se.similarity(np.ones((300, 96), np.float32), np.ones((300, 96), np.float32)),
        lambda: se.Vocabulary.from_corpus(corpora[0]),
    ]"""
    run(ENDS.format(loops=loops, count=12, accepted={0}))


def test_a_forked_process_does_not_wait_for_a_thread_that_it_lacks(monkeypatch):
    # With more, OpenBLAS may never return from fork while another thread computes.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    run(
        """
        import signal
        laes = se.LAES(vectors, hidden=20).fit(corpora[0])
        started(lambda: [laes.partial_fit(corpora[0]) for _ in itertools.count()])
        for _ in range(5):
            time.sleep(0.05)
            if os.fork() == 0:
                signal.alarm(60)
                laes.encode(texts[:2])
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        """
    )


def test_python_exits_while_a_daemon_thread_reports_progress(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"w{i} 1 2 3 4\n" for i in range(200_000)), encoding="utf-8")
    loops = f"""[
        lambda: se.WordVectors.load({str(path)!r}, cache=False, progress=lambda done, total: sum(range(999))),
        lambda: sum(range(9999)),
    ]"""
    run(ENDS.format(loops=loops, count=12, accepted={0}))


@needs_nn
@pytest.mark.parametrize(  # not where networks end: ARCHITECTURE.md
    ("kind", "loop"),
    [
        ("MeanMaxAAE", "fitted.encode(corpora[0])"),
        ("MeanMaxAAE", "fitted.reconstruct(texts)"),
        ("RNNCNN", "fitted.encode(corpora[0])"),
        ("CompoundNMT", "fitted.encode(corpora[0])"),
        ("CompoundNMT", "fitted.translate(texts)"),
    ],
)
def test_python_ends_while_a_daemon_thread_is_in_a_network(kind, loop, tmp_path):
    pytest.importorskip("torch")
    prepared = f"""
    se.set_cache_dir({str(tmp_path)!r})
    se.set_num_threads(1)  # OpenMP's threads would not be there in the children
    fitted = se.{kind}(vectors, **{NETWORKS[kind] | QUICK}).fit(*[corpora[0][:60]] * {SIDES.get(kind, 1)})
    """
    # Freeing a tensor takes the GIL in torch's bindings, which can abort: see ARCHITECTURE.md.
    accepted, message = {0}, ""
    if "translate" in loop or "reconstruct" in loop:
        accepted, message = {0, -int(signal.SIGABRT)}, "terminate called without an active exception\n"
    ends = ENDS.format(loops=f"[lambda: {loop}] * 2", count=6, accepted=accepted)
    run(prepared + ends, timeout=300, ignored=message)


def test_sub_interpreters_are_refused():
    interpreters = pytest.importorskip("_xxsubinterpreters")  # of Python 3.8 to 3.12
    del interpreters
    shown = run(
        """
        import _xxsubinterpreters
        other = _xxsubinterpreters.create()
        _xxsubinterpreters.run_string(other, '''if True:
            try:
                import sentencode as se
                se.num_threads()
            except ImportError as error:
                print(error, flush=True)
        ''')
        """
    )
    assert "sub-interpreter: use processes (multiprocessing)" in shown


def test_bindings_release_the_gil_in_one_place():
    """pybind11's guards let Python end a thread where that aborts the process: see bindings/gil.h."""
    pattern = re.compile(
        r"gil_scoped_|PyGILState_|PyEval_(Save|Restore)|PYBIND11_OVERRIDE|pybind11/functional\.h"
    )
    files = [path for path in ROOT.joinpath("bindings").rglob("*.[ch]*") if path.stem != "gil"]
    assert len(files) > 40
    texts = {str(path): path.read_text(encoding="utf-8") for path in files}
    assert [path for path, text in texts.items() if pattern.search(text)] == []
    # pybind11 enters a holder (unique_ptr) that an init function returns into its tables before the lock is
    # back, a bare pointer after it.
    inits = [
        init for text in texts.values() for init in re.findall(r"py::init\(.*?\n      \.", text, re.DOTALL)
    ]
    assert len(inits) > 10
    assert [init for init in inits if "make_" in init and "Release()" in init] == []


def test_threads_write_files_concurrently(tmp_path):
    code = """
        import sys, threading, time
        from sentencode.evaluation import Report, TaskResult
        report = Report("one", {"mine": TaskResult("mine", {"acc": 61.5, "ntest": 3}, {})}, {})
        end = time.monotonic() + 5
        def write(i):
            while time.monotonic() < end:
                report.to_json(f"{sys.argv[1]}/{i}")
        threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
