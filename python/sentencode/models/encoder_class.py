"""Parameters, signature and docstring of an encoder class, from its network, its task and the trainer."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection
from typing import Any

from .. import _nn
from ..core_encoder import NEURAL_KINDS
from ..training import TrainingOptions
from .cpp_network import CppNetwork, documented
from .python_network import register
from .task import SentenceTask

__all__ = [
    *("AS_PUBLISHED", "OPTIMIZER_EPSILON", "arguments", "network_defaults", "preset_values"),
    *("register_encoder", "shared_defaults"),
]

OPTIMIZER_EPSILON = "optimizer_epsilon"  # the trainer's `epsilon`, as networks have an option of that name
_EARLY_STOPPING: dict[str, Any] = {"validation_fraction": 0.1, "stop_after": 5}  # unless a preset differs
AS_PUBLISHED: dict[str, Any] = dict.fromkeys(_EARLY_STOPPING)  # in the presets of papers
_OTHERS = frozenset(
    {
        *("Average", "Concatenation", "DictRep", "LAES", "ParagraphVec", "SIF", "TrainedAverage", "USIF"),
        "Whitening",
    }
)


def arguments(kind: Any) -> dict[str, Any]:
    """The arguments of a class's constructor with their defaults, without *args and **kwargs."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {parameter.name: parameter.default for parameter in parameters if parameter.kind not in variadic}


def network_defaults(encoder: Any) -> dict[str, Any]:
    """The parameters of an encoder class that are options of its network, with their defaults.

    The default of an option that a preset or other parameters decide is None.
    """
    return _undecided(encoder, _network_parameters(encoder))


def shared_defaults(encoder: Any) -> dict[str, Any]:
    """The parameters of an encoder class that are those of its task and the trainer, with their defaults.

    The default of one that a preset decides is None.
    """
    return _undecided(encoder, _shared_parameters(encoder))


def preset_values(encoder: Any) -> dict[str, Any]:
    """The values of the parameters that presets decide: the encoder's preset's, or else the class's.

    ValueError if there is no such preset.
    """
    preset, presets = encoder.preset, encoder._presets
    if not isinstance(preset, str) or preset not in presets:
        raise ValueError(f"preset must be one of {sorted(presets)}, got {preset!r}")
    kind = type(encoder)
    defaults = {**_network_parameters(kind), **_shared_parameters(kind), **_EARLY_STOPPING}
    return {**{name: defaults.get(name) for name in _decided(kind)}, **_EARLY_STOPPING, **presets[preset]}


def _decided(encoder: Any) -> set[str]:
    return {name for preset in encoder._presets.values() for name in preset}


def _undecided(encoder: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    decided = {*encoder._computed, *_decided(encoder)}
    return {name: None if name in decided else default for name, default in defaults.items()}


def _network_parameters(encoder: Any) -> dict[str, Any]:
    options = _options_with_defaults(encoder.network_class)
    return {encoder._renamed.get(name, name): options[name] for name in encoder._network_options}


def _shared_parameters(encoder: Any) -> dict[str, Any]:
    training = {**TrainingOptions.defaults(), **encoder.training_defaults}
    training[OPTIMIZER_EPSILON] = training.pop("epsilon")
    return {**encoder.task_class.parameters, **training}


def register_encoder(encoder: Any, reserved: Collection[str]) -> None:
    """Makes the options of a class's network its parameters, and lets `load` read its files.

    ValueError if its name is that of a built-in encoder, or an option in Python has a `reserved` name.
    """
    name, module, network = encoder.__name__, encoder.__module__, encoder.network_class
    before = getattr(NEURAL_KINDS.get(name), "__module__", module)
    is_builtin = before.startswith("sentencode.") or name in _OTHERS
    if is_builtin and not module.startswith("sentencode."):
        raise ValueError(f"there is an encoder named {name!r} already: choose another name")
    if before != module:
        warnings.warn(
            f"{module}.{name} takes the place of {before}.{name}: files of either are read by it",
            UserWarning,
            stacklevel=3,
        )
    NEURAL_KINDS[name] = encoder
    _nn.register_kind(name)
    sized = encoder.task_class.sized if issubclass(network, CppNetwork) else ()
    encoder._network_options = tuple(n for n in _options_with_defaults(network) if n not in sized)
    if issubclass(network, CppNetwork):
        _describe(encoder)
        return
    for option in encoder._network_options:
        if option in reserved:
            raise ValueError(
                f"{name}: the network's option {option!r} has the name of something that every encoder has: "
                "choose another one"
            )
    register(name, network)


def _options_with_defaults(network: Any) -> dict[str, Any]:
    if issubclass(network, CppNetwork):
        return {name: option.default for name, option in network.options.items()}
    return {n: default for n, default in arguments(network).items() if default is not inspect.Parameter.empty}


def _describe(encoder: Any) -> None:
    """Completes signature, types and docstring of a class with the options of its network of C++."""
    shared, defaults = shared_defaults(encoder), encoder._defaults()
    options = []
    for name in encoder._network_options:
        if name in shared:
            continue
        parameter, option = encoder._renamed.get(name, name), encoder.network_class.options[name]
        default = defaults[parameter]
        annotation = f"{option.annotation} | None" if default is None else option.annotation
        text = option.text
        if default is None and parameter not in encoder._computed:  # a preset may set it
            text = f"{text} None: {option.default!r}, or the preset's."
        options.append(option._replace(name=parameter, default=default, annotation=annotation, text=text))
    encoder.__doc__ = documented(encoder.__doc__, options)
    presets = f"Literal[{', '.join(map(repr, encoder._presets))}]"
    declared = {name: a for name, a in inspect.get_annotations(encoder).items() if a != "Any"}
    encoder.__annotations__ = {
        **{option.name: option.annotation for option in options},
        **{"preset": presets, **declared},
    }
    task = encoder.task_class.parameters.keys() - {*SentenceTask.parameters, *encoder._network_options}
    names = [name for name in defaults if name in task or (name == "preset" and len(encoder._presets) > 1)]
    empty, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    vectors, annotation = defaults["vectors"], "Vectors"
    if vectors is not empty:
        annotation = "Vectors | None"
    encoder.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                "vectors", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=vectors, annotation=annotation
            ),
            *(
                inspect.Parameter(o.name, keyword, default=o.default, annotation=o.annotation)
                for o in options
            ),
            *(inspect.Parameter(name, keyword, default=defaults[name]) for name in names),
            inspect.Parameter("shared", inspect.Parameter.VAR_KEYWORD, annotation="Any"),
        ]
    )
