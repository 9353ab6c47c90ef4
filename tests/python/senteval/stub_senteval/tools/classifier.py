from __future__ import annotations

import numpy as np
import torch
from torch import nn

from .. import utils


class PyTorchClassifier:
    def __init__(self, inputs, classes, cudaEfficient=False):
        torch.manual_seed(1111)
        torch.cuda.manual_seed(1111)
        self.cudaEfficient = cudaEfficient
        self.model = nn.Sequential(nn.Linear(inputs, classes)).cuda()
        self.loss = nn.CrossEntropyLoss().cuda()
        function, options = utils.get_optimizer("adam")
        self.optimizer = function(self.model.parameters(), **options)

    def prepare_split(self, X, y, validation_data=None, validation_split=None):
        if validation_data is None:
            held_out = int(validation_split * len(X))
            validation_data = X[:held_out], y[:held_out]
            X, y = X[held_out:], y[held_out:]
        device = torch.device("cpu") if self.cudaEfficient else torch.device("cuda")
        return [
            torch.from_numpy(values).to(device, dtype=dtype)
            for values, dtype in zip((X, y, *validation_data), 2 * (torch.float32, torch.int64), strict=True)
        ]

    def fit(self, X, y, validation_data=None, validation_split=None):
        X, y, devX, devy = self.prepare_split(X, y, validation_data, validation_split)
        for _ in range(3):
            if self.cudaEfficient:
                X, y = X.cuda(), y.cuda()
            self.optimizer.zero_grad()
            self.loss(self.model(X), y).backward()
            self.optimizer.step()
        return self.score(devX, devy)

    def score(self, X, y):
        if not isinstance(X, torch.cuda.FloatTensor) or self.cudaEfficient:
            X, y = torch.FloatTensor(X).cuda(), torch.LongTensor(y).cuda()
        return np.mean((self.model(X).max(1)[1] == y).cpu().numpy())
