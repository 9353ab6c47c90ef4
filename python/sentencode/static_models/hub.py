"""Downloads static models from the Hugging Face Hub, and uploads them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .folders import is_wordllama, weights_of

__all__ = ["static_path", "upload"]

_NAME = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")  # user/name
_REPOSITORY = re.compile(r"([\w][\w.-]*/)?[\w][\w.-]*")  # without a user, that of the login
_OF_ENCODERS = (".sentencode", ".safetensors")
_DESCRIPTIONS = ["config.json", "config_sentence_transformers.json", "modules.json"]
_TOKENIZERS = ["tokenizer.json", "*/tokenizer.json"]


def static_path(name: str) -> Path | None:
    """Where the files of a static model are, after a download if necessary; None: it is none.

    Args:
        name: Folder, weights of WordLlama, or `user/name` on the Hub if there is no such path, nor a folder
            `user`.

    Raises:
        OSError: The model cannot be downloaded.
        FormatError: The model on the Hub is not a static one.
    """
    path = Path(name)
    if path.exists():
        return path if path.is_dir() or is_wordllama(path) else None
    if _NAME.fullmatch(name) and path.suffix not in _OF_ENCODERS and not path.parent.exists():
        return _downloaded(name)
    return None


def _downloaded(name: str) -> Path:
    hub = _hub(name)
    try:
        folder = Path(hub.snapshot_download(name, allow_patterns=_DESCRIPTIONS + _TOKENIZERS))
    except Exception as error:  # of whichever HTTP library the client uses
        raise _failed(name, error) from error
    weights = weights_of(folder)  # an error before a large model of another kind is downloaded
    try:
        # The folder is named by its commit.
        hub.hf_hub_download(name, weights, revision=folder.name)
    except Exception as error:
        raise _failed(name, error) from error
    return folder


def _failed(name: str, error: Exception) -> OSError:
    return FileNotFoundError(
        2,
        "there is no such file or folder, and the Hugging Face Hub does not give such a model "
        f"({_reason(error)})",
        name,
    )


def _reason(error: Exception) -> str:
    first = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {first}"


def _hub(name: str) -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise FileNotFoundError(
            2, "there is no such file or folder; models of the Hub need pip install huggingface_hub", name
        ) from None
    return huggingface_hub


def upload(folder: str, repository: str, *, private: bool) -> str:
    """Uploads a folder, and returns its address. Files of a static model that it lacks are deleted.

    Raises:
        ImportError: huggingface_hub is not installed.
        OSError: The Hub refuses it, or cannot be reached.
        ValueError: The repository has no valid name.
    """
    if not isinstance(repository, str) or not _REPOSITORY.fullmatch(repository):
        raise ValueError(f"repository must be a name such as 'user/name', got {repository!r:.60}")
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise ImportError("push_to_hub needs huggingface_hub: pip install huggingface_hub") from None
    from .writing import WRITTEN

    api = HfApi()
    stale = sorted(WRITTEN - set(os.listdir(folder)))
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            commit_message="Add a static embedding model",
            delete_patterns=[*stale, *(f"{name}/*" for name in stale)],
        )
    except Exception as error:  # of whichever HTTP library the client uses
        raise OSError(
            f"{repository}: the Hugging Face Hub refuses the model, or cannot be reached ({_reason(error)})"
        ) from error
    return f"{api.endpoint}/{repository}"
