"""The training of a neural encoder: from texts to a network, and a head, with trained weights."""

from __future__ import annotations

import json
import numbers
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..checks import checked_bool, checked_float, checked_int, checked_str
from ..code_digest import code_digest
from ..core_encoder import is_still
from ..distributed import communicator as all_processes
from ..nn.module import CppModule
from ..progress import progress
from ..text.corpus import repeatable
from ..text.inputs import unit_of
from ..text.sides import sides_of
from ..training import Examples, Trainer, TrainingOptions
from .device import usable_device
from .encoder_class import OPTIMIZER_EPSILON
from .fit_report import FitReport
from .heads import Classifier
from .held_out import held_out
from .prediction import TrainedHead
from .supervised import Supervised
from .task import Task, WordVectorsOf
from .transfer import copy_weights, frozen_names, word_tables

__all__ = ["check_options", "trained_encoder"]

_FEW = 2_000  # examples; with fewer, a classifier is trained on all, unless parameters need validations
_INTERVALS = 20, 500  # least and most steps between validations, if that is "auto"


def trained_encoder(
    encoder: Any, sentences: Any, y: Any, head: Any, *, stop: str | None, checkpoints: Any, **options: Any
) -> Any:
    """A fitted copy of a neural encoder; arguments are those of `NeuralEncoder.fit`."""
    training = encoder._stopped if stop == "now" and checkpoints is None else None
    if training is not None:
        began = training.encoder.get_params(deep=False)
        now = {**encoder.get_params(deep=False), "head": began["head"]}  # `fit` may have another head
        if changed := [name for name, value in began.items() if not is_still(now[name], value)]:
            raise ValueError(f"stop='now': {', '.join(changed)} changed after Ctrl-C: restore the old values")
        training.finish()
    else:
        fresh = type(encoder)(**encoder.get_params(deep=False))
        if head is not None:
            fresh.head = head
        fresh._unit_words = None
        if (init := options["init"]) is not None and fresh._word_vectors.oov != "subwords":
            fresh._unit_words = init.settings()["unit_words"]  # its weights expect such word vectors
        training = EncoderTraining(fresh, stop=stop, checkpoints=checkpoints, **options)
        try:
            training.run(sentences, list(y) if isinstance(y, Iterator) else y)
        except KeyboardInterrupt as error:
            error.args = error.args or (f"{training.name}: stopped before the first step",)
            encoder._stopped = training if training.finish else None
            raise
    encoder._stopped = None
    return training.encoder


def check_options(encoder: Any, *, valid: Any, checkpoints: Any, keep_last: int) -> None:
    """Raise what `fit` would raise before it reads a text; arguments are those of `NeuralEncoder.fit`."""
    fresh = type(encoder)(**encoder.get_params(deep=False))
    options: dict[str, Any] = {"init": None, "freeze": (), "stop": None, "show": False, "callbacks": ()}
    EncoderTraining(fresh, valid=valid, checkpoints=checkpoints, keep_last=keep_last, **options)


class EncoderTraining:
    """One training of a new encoder, which `run` makes fitted; arguments are those of `NeuralEncoder.fit`.

    Options are checked when it is constructed, before any text is read. After Ctrl-C without checkpoints,
    `finish` makes the encoder fitted with the weights so far; it is None before the first step.
    """

    finish: Callable[[], None] | None = None

    def __init__(
        self,
        encoder: Any,
        valid: Any,
        init: Any,
        freeze: Sequence[str],
        stop: str | None,
        show: bool | None,
        **trainer: Any,
    ) -> None:
        self.encoder, self.name, self.settings = encoder, type(encoder).__name__, encoder.settings()
        self.init, self.freeze, self.stop, self.show = init, freeze, stop, show
        self.valid, self.fraction = self._validation(valid)
        self.holds_out = not isinstance(valid, str) or encoder.validation_fraction is not None
        if stop not in (None, "now"):
            raise ValueError(f"stop must be None or 'now', got {stop!r:.40}")
        if stop == "now" and trainer["checkpoints"] is None:
            raise ValueError(
                f"stop='now': Ctrl-C has stopped no fit of this {self.name}; to make an encoder of "
                "checkpoints, give checkpoints=FOLDER"
            )
        encoder._check_vectors()
        self.device = usable_device(encoder.device)
        checked_int("max_words", encoder.max_words, 1)
        checked_int("keep_last", trainer["keep_last"], 1)
        words = WordVectorsOf(
            encoder._word_vectors, unit=checked_bool("unit_words", self.settings["unit_words"])
        )
        family: Any = encoder.task_class(self.name, self.settings, words, encoder._new_tokenizer())
        head = self.settings["head"]
        self.task: Task = family if head is None else Supervised(family, head, encoder.max_words)
        self.options = {**self._trainer_options(), **trainer}
        self._check_validation()
        smoothing = getattr(encoder, "label_smoothing", None)
        if head is not None and smoothing not in (0, type(encoder)._defaults().get("label_smoothing")):
            raise ValueError(f"label_smoothing={smoothing!r} has no effect on the training of a head")
        word_dropout = checked_float("word_dropout", encoder.word_dropout, 0, 1, below=True)
        if head is None and word_dropout:
            raise ValueError(f"word_dropout={word_dropout:g} is for the training of a head")
        if init is not None:
            init._check_fitted()
        network = encoder._make_network(self.task.sizes(None))
        encoder._core_network(network, head=head is not None)
        frozen_names(network, freeze)

    def run(self, sentences: Any, y: Any) -> None:
        """Trains the network, and makes the encoder fitted."""
        encoder, task = self.encoder, self.task
        train, valid = self._examples(sentences, y)
        if self.fraction and valid is None:  # there are too few examples
            self.fraction = 0.0
            self._check_validation()
            self.options |= self._trainer_options()
        vars(encoder).update(task.attributes())
        network, frozen = self._initial_network(train)
        model, head = network, None
        if isinstance(task, Supervised):
            model = task.model(network, encoder._core_network(network, head=True), train, self.device)
            classes = task.label_info if isinstance(task.label_info, list) else None
            head = TrainedHead(model.head, task.sides, classes)
            if self.init is not None:
                head.copy_weights(self.init._trained_head)
        state = (network, task.vocabulary, task.tokenizer, task.read_words())
        metric = self.options.pop("metric")
        if callable(metric):
            encoder._adopt(*state, head=head)  # the function encodes with the current weights
            function = metric
            metric = lambda _: function(encoder)  # noqa: E731
        processes = all_processes()
        part: dict[str, Any] = {"rank": processes.rank, "world": processes.size}
        batches = task.batcher(train, validating=False, **part)
        self._choose_intervals(len(batches))
        trainer = Trainer(
            model,
            batches,
            None if valid is None else task.batcher(valid, validating=True, **part),
            communicator=processes,
            settings=self._decisive_settings(network, frozen),
            metric=metric,
            **self.options,
        )
        report = self._report(trainer, train, valid)
        scored_by = "metric" if callable(metric) else metric

        def finish() -> None:
            encoder.history_ = trainer.history
            encoder.origin_ = None
            if valid is not None or callable(metric):
                self._load_best(trainer)
            report.result(trainer, scored_by, trainer.higher_is_better)
            model.eval()
            if isinstance(task, Supervised):
                task.forget(model)
            encoder._adopt(*state, head=head)

        if self.stop == "now":
            if not trainer.resume():
                raise ValueError(f"stop='now': {report.folder} holds no checkpoint of a step yet")
        else:
            try:
                trainer.run(show_progress_bar=self.show)
            except KeyboardInterrupt as error:
                error.args = error.args or (report.interrupted(trainer),)
                if self.options["checkpoints"] is None and trainer.step > 0:
                    self.finish = finish
                raise
            report.warn(trainer, scored_by, trainer.higher_is_better)
        finish()

    def _report(self, trainer: Trainer, train: Examples, valid: Examples | None) -> FitReport:
        """A report of the training, which receives its steps."""
        folder, bar = self.options["checkpoints"], self._progress("", "")
        report = FitReport(
            self.name,
            self.settings,
            bar.show,
            bar.delay,
            None if folder is None else os.fsdecode(folder),
            len(train),
            0 if valid is None else len(valid),
        )
        head = self.task.head if isinstance(self.task, Supervised) else None
        report.classifies = isinstance(head, Classifier)
        report.weighted = isinstance(head, Classifier) and head.class_weight is not None
        if report.classifies and (valid is not None or not report.weighted):
            classes, counts = np.unique(np.asarray(train.labels), return_counts=True)
            report.majority = float(
                np.mean((train if valid is None else valid).labels == classes[counts.argmax()])
            )
        if valid is not None and not self.options["validate_first"]:
            report.untrained = trainer.evaluate()[0]
        trainer.add_callback(report)
        return report

    def _validation(self, valid: Any) -> tuple[Any, float]:
        """Validation data, or None and the fraction of the training data that is held out."""
        if isinstance(valid, str) and valid == "auto":
            fraction, name = self.settings["validation_fraction"], "validation_fraction"
            if callable(self.encoder.metric):
                fraction = 0.0
        elif valid is None or isinstance(valid, numbers.Real):
            fraction, name = valid, "valid"
        else:
            return valid, 0.0
        return None, 0.0 if fraction is None else checked_float(name, fraction, 0, 0.5)

    @property
    def validates(self) -> bool:
        """Whether there is anything to validate by."""
        return self.valid is not None or self.fraction > 0 or callable(self.encoder.metric)

    def _examples(self, sentences: Any, y: Any) -> tuple[Examples, Examples | None]:
        """The training and validation examples."""
        task = self.task
        labelled = task.takes_labels and y is not None and isinstance(self.valid, tuple)
        if task.takes_labels and y is not None and self.valid is not None and not labelled:
            raise TypeError(f"valid must be a tuple (sentences, labels), got a {type(self.valid).__name__}")
        if labelled and len(self.valid) != 2:
            raise ValueError(f"valid must be a tuple (sentences, labels), got {len(self.valid)} values")
        valid, labels = self.valid if labelled else (self.valid, None)
        if isinstance(task, Supervised):
            sentences = sides_of(sentences, task.head.sentences)
            valid = None if valid is None else sides_of(valid, task.head.sentences)
            with self._progress("words", "sentences") as bar:
                task.learn_vocabulary(sentences, bar, valid or ())
        else:
            sentences = repeatable(sentences)
            valid = None if valid is None else repeatable(valid)
            with self._progress("words", unit_of(sentences)) as bar:
                task.learn_vocabulary(sentences, bar)
        with self._progress("ids", unit_of(sentences)) as bar:
            train = task.examples(sentences, y, bar)
        if valid is not None:
            try:
                return train, task.examples(valid, labels, None)
            except ValueError as error:
                if re.search(r"\bvalid\b", str(error)):
                    raise
                raise ValueError(f"valid: {error}") from error
        head = task.head if isinstance(task, Supervised) else None
        classifies = isinstance(head, Classifier)
        if classifies and len(train) < _FEW and not (self.holds_out or self._need_validations()):
            return train, None
        options = {"stratify": classifies, "blocks": head is None and train.labels is None}
        split = held_out(train, self.fraction, seed=self.settings["seed"], **options)
        return (train, None) if split is None else split

    def _progress(self, name: str, unit: str) -> progress:
        return progress(self.show, name, unit, interactive=True)

    def _initial_network(self, train: Examples) -> tuple[Any, list[str]]:
        """The network before training, on the device, and the names of its frozen weights."""
        encoder, task, init = self.encoder, self.task, self.init
        network = encoder._make_network(task.sizes(train))
        task.prepare(network, train)
        if init is not None:
            copy_weights(
                network,
                word_tables(network, encoder.task_class.table_words(encoder, task.vocabulary, network)),
                init.network,
                word_tables(init.network, init.task_class.table_words(init, init.vocabulary_, init.network)),
            )
        frozen = frozen_names(network, self.freeze)
        for name in frozen:
            network.get_parameter(name).requires_grad_(False)
        return network.to(self.device), frozen

    def _decisive_settings(self, network: Any, frozen: list[str]) -> dict[str, Any] | None:
        """What weights depend on besides the trainer's options: checkpoints, if there are any, must agree."""
        if self.options["checkpoints"] is None:
            return None
        settings = self.task.decisive(network)
        if not isinstance(network, CppModule):  # trainers read the config of those of C++
            settings["network"] = {
                **{"class": type(network).__name__, "code": code_digest(type(network))},
                **self.encoder._network_settings(self.settings),
            }
        elif self.settings["head"] is not None:
            settings["network"] = json.loads(network._cpp.config())
        if frozen:
            settings["frozen"] = frozen
        if self.init is not None:
            settings["init"] = self.init.fingerprint()
        return settings

    def _trainer_options(self) -> dict[str, Any]:
        """The trainer's options. Those of the preset that need validations are neutral without them."""
        settings = {**self.settings, "epsilon": self.settings[OPTIMIZER_EPSILON]}
        if not self.validates:
            neutral = {"decay": 1.0, "reload_best": False, "least_rate": None, "metric": "loss"}
            neutral |= {"stop_after": None, "patience": 1}
            preset = {name: value for name, value in neutral.items() if getattr(self.encoder, name) is None}
            settings |= preset
        options = {name: settings[name] for name in TrainingOptions.defaults()}
        if isinstance(every := options["validate_every"], str) and every != "auto":
            raise ValueError(f"validate_every must be a number of steps, None or 'auto', got {every!r:.40}")
        if (first := options["validate_first"]) == "auto":
            head = settings["head"]
            options["validate_first"] = self.init is not None or not (
                head is None or isinstance(head, Classifier)
            )
        else:
            checked_bool("validate_first", first)
        betas = options["betas"]
        if not isinstance(betas, Sequence | np.ndarray) or isinstance(betas, str) or len(betas) != 2:
            raise TypeError(f"betas must be two numbers, got {betas!r:.40} ({type(betas).__name__})")
        options["betas"] = tuple(
            checked_float(f"betas[{i}]", beta, 0, 1, below=True) for i, beta in enumerate(betas)
        )
        return options

    def _choose_intervals(self, batches: int) -> None:
        """Chooses how often to validate and to save, by the batches of an epoch."""
        options = self.options
        if options["validate_every"] == "auto":
            least, most = _INTERVALS
            steps = batches // checked_int("accumulate", options["accumulate"], 1)
            options["validate_every"] = min(max(least, steps), most)
        if options["save_every"] is None:
            options["save_every"] = options["validate_every"]

    def _load_best(self, trainer: Trainer) -> None:
        """Loads the best weights. If they are lost, the encoder gets the last ones, with a warning."""
        checkpoints = self.options["checkpoints"]
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
            f"{self.name}: {why}; the encoder has those of the last step, {trainer.step:,}. Put "
            "the file back from a copy and call fit again, or train in another folder",
            UserWarning,
            stacklevel=6,
        )

    def _check_validation(self) -> None:
        """Checks options that require validation data."""
        encoder = self.encoder
        metric, by_function = encoder.metric, callable(encoder.metric)
        if not (metric is None or by_function or checked_str("metric", metric) in ("loss", "accuracy")):
            again = ": files do not hold functions; set_params(metric=...)" if metric == "function" else ""
            raise ValueError(f"metric must be 'loss', 'accuracy' or a function, got {metric!r}{again}")
        for name in self._need_validations():
            if not self.validates:
                raise ValueError(
                    f"{name}={getattr(encoder, name)!r} needs validations: give fit valid=SENTENCES, or a "
                    "function as metric"
                )

    def _need_validations(self) -> list[str]:
        """The parameters that have a value which needs validations."""
        encoder = self.encoder
        decay, reload_best = encoder.decay, encoder.reload_best
        need = {
            "stop_after": bool(encoder.stop_after),
            "decay": decay is not None and checked_float("decay", decay, 0, 1, above=True) < 1,
            "reload_best": reload_best is not None and checked_bool("reload_best", reload_best),
            "metric": not callable(encoder.metric) and encoder.metric == "accuracy",
        }
        return [name for name, needs in need.items() if needs]
