"""Teachers by name: errors are reported at once."""

from __future__ import annotations

import itertools
import sys
import types

import pytest

import sentencode as se
from sentencode.cli import main
from sentencode.distill import distill, hub_name, teacher_named


class Model:
    """A replacement of sentence-transformers, whose loader requests the hub repeatedly."""

    cached: tuple[str, ...] = ()
    loaded: list[tuple[str, bool]] = []  # noqa: RUF012

    def __init__(self, name, local_files_only=False):
        Model.loaded.append((name, local_files_only))
        if local_files_only and name not in Model.cached:
            raise OSError(f"{name} is not in the cache")

    def bfloat16(self):
        return "bfloat16"


@pytest.fixture
def hub(monkeypatch):
    """A hub that has one model; `hub["reached"]` says whether it answers."""
    hub_module = pytest.importorskip("huggingface_hub")
    errors = pytest.importorskip("huggingface_hub.errors")
    state = {"reached": True, "asked": []}

    def model_info(_self, name, timeout):
        assert timeout <= 30
        state["asked"].append(name)
        if name.count("/") > 1 or name.startswith("."):
            raise errors.HFValidationError(name)
        if not state["reached"]:
            raise RuntimeError("Name or service not known")  # httpx's are no OSError
        if name not in ("sentence-transformers/mini", "org/mini"):
            raise errors.RepositoryNotFoundError.__new__(errors.RepositoryNotFoundError)

    monkeypatch.setattr(hub_module.HfApi, "model_info", model_info)
    monkeypatch.setitem(
        sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=Model)
    )
    monkeypatch.setattr(Model, "loaded", [])
    monkeypatch.setattr(Model, "cached", ())
    return state


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name(name, hub, tmp_path, capsys):
    with pytest.raises(ValueError, match="teacher must be a saved encoder, or a model's folder or name, got"):
        teacher_named(name)
    (tmp_path / "text.txt").write_text("a dog\n")
    command = ["distill", name, "--sentences", str(tmp_path / "text.txt"), "--out", str(tmp_path / "out")]
    assert main(command) == 1
    assert capsys.readouterr().err.startswith("sentencode: error: teacher must be")
    assert hub["asked"] == Model.loaded == []


@pytest.mark.parametrize("name", ["mini", "org/mini"])
def test_a_model_of_the_hub(name, hub):
    assert isinstance(teacher_named(name), Model)
    assert teacher_named(name, bfloat16=True) == "bfloat16"
    assert Model.loaded == 2 * [(name, False)]


def test_a_folder_is_not_requested(hub, tmp_path):
    assert isinstance(teacher_named(str(tmp_path)), Model)
    assert hub["asked"] == []


def test_a_mistyped_name_is_requested_once(hub):
    with pytest.raises(ValueError, match=r"org/minni: .* the Hugging Face Hub has no such model; the"):
        teacher_named("org/minni")
    assert hub["asked"] == ["org/minni"]
    assert Model.loaded == []


def test_a_mistyped_path(hub):
    with pytest.raises(FileNotFoundError, match="there is no such file or folder; the folder of a downl"):
        teacher_named("./models/mini/none")
    assert Model.loaded == []


def test_an_unreachable_hub_is_requested_once(hub, monkeypatch):
    hub["reached"] = False
    with pytest.raises(OSError, match=r"org/mini: .* cannot be reached \(Name or .* the folder of"):
        teacher_named("org/mini")
    assert hub["asked"] == ["org/mini"]
    assert Model.loaded == [("org/mini", True)]  # and not as a name, for a minute
    monkeypatch.setattr(Model, "cached", ("org/mini",))
    assert isinstance(teacher_named("org/mini"), Model)


def test_a_saved_encoder(hub, tmp_path):
    se.Average(se.WordVectors.from_dict({"a": [1.0]})).save(tmp_path / "a.sentencode")
    assert isinstance(teacher_named(str(tmp_path / "a.sentencode")), se.Average)
    assert hub["asked"] == []


def test_only_names_of_the_hub_are_names_of_teachers():
    for name in ("sentence-transformers/tiny", "tiny", "BAAI/bge-small-en-v1.5"):
        assert hub_name(named(name)) == name
    for other in ("c4283fe1" * 8, "/home/me/tiny", "./tiny", "a/b/c", "", 7, None, ["a/b"]):
        assert hub_name(named(other)) is None
    assert hub_name(object()) is None


def named(base_model):
    return types.SimpleNamespace(model_card_data=types.SimpleNamespace(base_model=base_model))


def test_an_encoder_of_sentencode_has_no_name(tmp_path, monkeypatch):
    words = [f"w{i}" for i in range(50)]
    teacher = se.Average({word: [float(i), 1.0] for i, word in enumerate(words)})
    sentences = [" ".join(pair) for pair in itertools.islice(itertools.combinations(words, 2), 300)]
    student = distill(teacher, sentences, penalty=1e-3, cache=False)
    assert student.teacher is None
    student.encoder.export(tmp_path / "student")
    card = (tmp_path / "student" / "README.md").read_text(encoding="utf-8")
    assert "base_model" not in card
    assert "## Teacher" not in card
    monkeypatch.setattr(type(teacher), "fingerprint", lambda self: "mine")  # looks like a name
    assert (
        hub_name(teacher) is hub_name(types.SimpleNamespace(model_card_data=teacher.model_card_data)) is None
    )
