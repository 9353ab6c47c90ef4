from __future__ import annotations

from . import rank, sts, utils
from .tools import relatedness, validation


class SE:
    def __init__(self, params, batcher, prepare=None):
        self.params = utils.dotdict(params)
        self.params.setdefault("batch_size", 128)
        self.params.setdefault("usepytorch", True)
        self.batcher = batcher
        self.prepare = prepare or (lambda params, samples: None)

    def eval(self, name):
        if isinstance(name, list):
            self.results = {task: self.eval(task) for task in name}
            return self.results
        task = {
            "CR": validation.Binary,
            "ImageCaptionRetrieval": rank.Retrieval,
            "SICKRelatedness": relatedness.Relatedness,
            "SNLI": validation.Inference,
            "STS12": sts.Similarity,
        }[name]()
        self.params.current_task = name
        task.do_prepare(self.params, self.prepare)
        self.results = task.run(self.params, self.batcher)
        return self.results
