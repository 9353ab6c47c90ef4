from __future__ import annotations

import inspect

from torch import optim


class dotdict(dict):  # noqa: N801
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


def get_optimizer(name):
    function = {"adam": optim.Adam, "rmsprop": optim.RMSprop}[name]
    arguments = inspect.getargspec(function.__init__)[0]
    assert arguments[:2] == ["self", "params"]
    return function, {}
