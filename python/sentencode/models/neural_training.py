"""Training of neural encoders."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks import checked_bool, checked_float, checked_int, checked_str
from ..code_digest import code_digest
from ..distributed import communicator as all_processes
from ..nn.module import CppModule
from ..progress import progress
from ..text.corpus import repeatable
from ..text.inputs import unit_of
from ..training import Callback, History, Trainer, TrainingOptions
from .neural_files import NeuralFiles
from .prediction import Learnt
from .python_network import core_network
from .supervised import Supervised, sides_of
from .task import WordVectorsOf
from .transfer import copy_weights, frozen_names, word_tables

__all__ = ["OPTIMIZER_EPSILON", "NeuralTraining"]

OPTIMIZER_EPSILON = "optimizer_epsilon"  # the parameter, as networks have an option "epsilon"
_TRAINING = tuple(TrainingOptions.defaults())


class NeuralTraining(NeuralFiles):
    """Training of a `NeuralEncoder`."""

    unit_words: Any
    max_words: Any
    metric: Any
    stop_after: Any
    decay: Any
    reload_best: Any
    head: Any
    history_: History
    # Defined in NeuralEncoder.
    _device: Callable[[], Any]
    _make_network: Callable[[dict[str, Any]], Any]
    _row_words: Callable[..., dict[str, list[Any]]]

    def fit(
        self,
        sentences: Any,
        y: Any = None,
        *,
        valid: Any = None,
        head: Any = None,
        init: Any = None,
        freeze: Sequence[str] = (),
        checkpoints: str | os.PathLike[str] | None = None,
        keep_last: int = 2,
        callbacks: Sequence[Callback] = (),
        show_progress_bar: bool | None = None,
    ) -> Any:
        """Train the network from scratch.

        If training fails or is interrupted, the encoder stays unchanged; with `checkpoints`, the same call
        resumes it. With `valid`, or a function as `metric`, the encoder gets the best weights of all
        validations.

        Args:
            sentences: Many sentences, or the name of a text file, a folder or a glob. They are read twice:
                for the vocabulary, and to become ids in a file of the cache. With a head, examples may be
                tuples of two or three sentences, an array or a data frame with as many columns.
            y: Labels, one for each sentence, if the network or the head is trained on them: classes, scores,
                embeddings of another encoder; else ignored.
            valid: Validation sentences, used every `validate_every` steps; with labels, a tuple of both.
            head: Sets the parameter `head`, such as `se.Classifier()`.
            init: A fitted neural encoder whose weights initialise this one's, where name and shape are the
                same. Word tables are copied word by word; other words keep their own initialisation. The head
                is copied if both have one of the same kind, shape and labels.
            freeze: Names of weights that are not trained: of a weight, a part of the network ("encoder"), or
                a pattern such as `"*.bias"`.
            checkpoints: A folder for the state of the training. A folder of a different run (other sentences,
                vectors or parameters) is refused. A resumed run may change where it ends (`max_steps`,
                `max_epochs`, `stop_after`), how often it validates (`validate_every`), and what has no effect
                on the weights (`device`, `max_words`). But a "linear" or "cosine" schedule fixes the end, and
                `decay` fixes how often it validates.
            keep_last: Number of checkpoints that stay in the folder, such as for
                `sentencode.models.average_checkpoints`.
            callbacks: Notified of every step and validation; see `sentencode.training`.
            show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.

        Returns:
            The encoder itself.

        Raises:
            TypeError: If a parameter has the wrong type.
            ValueError: If a parameter is out of range, there is no sentence to train on, or the checkpoints
                are of a different run.
            DivergedError: If the loss is not finite.

        Warns:
            UserWarning: If the file of the best weights in `checkpoints` is damaged or missing; the encoder
                then has the last ones.
        """
        fresh = type(self)(**self.get_params(deep=False))
        if head is not None:
            fresh.head = head
        fresh._train(sentences, y, valid, init, freeze, checkpoints, keep_last, callbacks, show_progress_bar)
        self.head = fresh.head
        self._take(fresh)
        return self

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Not available: `fit` with `checkpoints` resumes a run.

        Args:
            sentences: Ignored.
            y: Ignored.
            show_progress_bar: Ignored.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no partial_fit; fit(..., checkpoints=FOLDER) resumes a run"
        )

    def _train(
        self,
        sentences: Any,
        y: Any,
        valid: Any,
        init: Any,
        freeze: Sequence[str],
        checkpoints: Any,
        keep_last: int,
        callbacks: Sequence[Callback],
        show: bool | None,
    ) -> None:
        chosen = self.settings()
        self._check_vectors()
        device = self._device()
        checked_int("max_words", self.max_words, 1)
        checked_int("keep_last", keep_last, 1)
        words = WordVectorsOf(self._word_vectors, unit=checked_bool("unit_words", self.unit_words))
        task = self.task_class(type(self).__name__, chosen, words, self._new_tokenizer())
        head = chosen["head"]
        if head is not None:
            task = Supervised(task, head)  # type: ignore[arg-type]
        options = self._training_options(chosen, validates=valid is not None or callable(self.metric))
        self._check_validation(valid)
        begun = _encoder_of(init)
        # Reports wrong options before all sentences are read.
        trial = self._make_network(task.sizes(None))
        core_network(trial, type(self).__name__, self._network_settings(chosen), head=head is not None)
        frozen_names(trial, freeze)
        labelled = task.takes_labels and y is not None and isinstance(valid, tuple)
        texts, labels = valid if labelled else (valid, None)
        if isinstance(task, Supervised):
            sentences = sides_of(sentences, task.head.sentences)
            texts = None if valid is None else sides_of(texts, task.head.sentences)
            with progress(show, "words") as bar:
                task.learn_vocabulary(sentences, bar, texts or ())
        else:
            sentences = repeatable(sentences)
            texts = None if valid is None else repeatable(texts)
            with progress(show, "words", unit_of(sentences)) as bar:
                task.learn_vocabulary(sentences, bar)
        with progress(show, "ids", unit_of(sentences)) as bar:
            train = task.examples(sentences, y, bar)
        held_out = None if texts is None else task.examples(texts, labels, None)
        vars(self).update(task.attributes())
        network = self._make_network(task.sizes(train))
        task.prepare(network, train)
        if begun is not None:
            copy_weights(
                network,
                word_tables(network, self._row_words(task.vocabulary, network)),
                begun.network,
                word_tables(begun.network, begun._row_words(begun.vocabulary_, begun.network)),
            )
        frozen = frozen_names(network, freeze)
        for name in frozen:
            network.get_parameter(name).requires_grad_(False)
        network.to(device)
        model, learnt = network, None
        if isinstance(task, Supervised):
            core = core_network(network, type(self).__name__, self._network_settings(chosen), head=True)
            model = task.model(network, core, train, device)
            learnt = Learnt(
                model.head, task.sides, task.label_info if isinstance(task.label_info, list) else None
            )
            if begun is not None:
                learnt.begin_with(begun)
        metric = options.pop("metric")
        if callable(metric):
            # The function encodes with the current weights.
            self._adopt(network, task.vocabulary, task.tokenizer, task.read_words(), learnt=learnt)
            function = metric
            metric = lambda _: function(self)  # noqa: E731
        validates = held_out is not None or callable(metric)
        settings = None
        if checkpoints is not None:
            settings = task.decisive(network)
            if not isinstance(network, CppModule):  # trainers read the config of those of C++
                settings["network"] = {
                    **{"class": type(network).__name__, "code": code_digest(type(network))},
                    **self._network_settings(chosen),
                }
            elif head is not None:
                settings["network"] = json.loads(network._cpp.config())
            if frozen:
                settings["frozen"] = frozen
            if begun is not None:
                settings["init"] = begun.fingerprint()
        others = all_processes()
        sharing: dict[str, Any] = {"rank": others.rank, "world": others.size}
        trainer = Trainer(
            model,
            task.batcher(train, validating=False, **sharing),
            None if held_out is None else task.batcher(held_out, validating=True, **sharing),
            checkpoints=checkpoints,
            keep_last=keep_last,
            callbacks=callbacks,
            communicator=others,
            settings=settings,
            metric=metric,
            **options,
        )
        self.history_ = trainer.run(show_progress_bar=show)
        self.origin_ = None
        if validates:
            self._load_best(trainer, checkpoints)
        model.eval()
        if isinstance(task, Supervised):
            task.forget(model)
        self._adopt(network, task.vocabulary, task.tokenizer, task.read_words(), learnt=learnt)

    def _training_options(self, chosen: dict[str, Any], *, validates: bool) -> dict[str, Any]:
        """The trainer's options. Those of the preset that need validations are neutral without them."""
        if not validates:
            neutral = {"decay": 1.0, "reload_best": False, "least_rate": None, "metric": "loss"}
            of_preset = {name: neutral[name] for name in neutral if getattr(self, name) is None}
            chosen = {**chosen, **of_preset}
        options = {name: chosen[OPTIMIZER_EPSILON if name == "epsilon" else name] for name in _TRAINING}
        betas = options["betas"]
        if not isinstance(betas, Sequence | np.ndarray) or isinstance(betas, str) or len(betas) != 2:
            raise TypeError(f"betas must be two numbers, got {betas!r:.40} ({type(betas).__name__})")
        options["betas"] = tuple(
            checked_float(f"betas[{i}]", beta, 0, 1, below=True) for i, beta in enumerate(betas)
        )
        if options["save_every"] is None:
            options["save_every"] = options["validate_every"]
        return options

    def _load_best(self, trainer: Trainer, checkpoints: Any) -> None:
        """Loads the best weights. If they are lost, the finished training is kept, with a warning."""
        if checkpoints is None:  # the best weights are in memory
            trainer.load_best()
            return
        path = os.path.join(os.fsdecode(checkpoints), "best.safetensors")
        state = trainer.model.state_dict()
        last = {name: tensor.to("cpu", copy=True) for name, tensor in state.items()}
        try:
            if trainer.load_best() or not trainer._core.scores:
                return
            why = f"{path}, the weights of the best validation, is missing"
        except ValueError as error:  # the file is damaged, or of a different run
            trainer.model.load_state_dict(last)  # some may have been replaced
            why = f"the weights of the best validation cannot be read: {error}"
        warnings.warn(
            f"{type(self).__name__}: {why}; the encoder has those of the last step, {trainer.step:,}. Put "
            "the file back from a copy and call fit again, or train in another folder",
            UserWarning,
            stacklevel=4,
        )

    def _check_validation(self, valid: Any) -> None:
        """Checks options that require validation data before any text is read."""
        metric = (
            "loss" if self.metric is None or callable(self.metric) else checked_str("metric", self.metric)
        )
        if metric not in ("loss", "accuracy"):
            raise ValueError(f"metric must be 'loss', 'accuracy' or a function, got {self.metric!r}")
        required = {
            "stop_after": self.stop_after is not None,
            "decay": self.decay is not None and checked_float("decay", self.decay, 0, 1, above=True) < 1,
            "reload_best": self.reload_best is not None and checked_bool("reload_best", self.reload_best),
            "metric": self.metric == "accuracy",
        }
        for name, is_required in required.items():
            if is_required and valid is None and not callable(self.metric):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs validations: give fit valid=SENTENCES, or a "
                    "function as metric"
                )


def _encoder_of(init: Any) -> Any:
    """The encoder of `init`, checked."""
    if init is None:
        return None
    if not isinstance(init, NeuralTraining):
        raise TypeError(f"init must be a neural encoder, as se.load reads one, got {type(init).__name__}")
    init._check_fitted()
    return init
