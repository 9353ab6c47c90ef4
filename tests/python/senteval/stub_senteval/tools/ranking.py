from __future__ import annotations

import torch


class Ranking:
    def __init__(self, rows):
        torch.cuda.manual_seed(1111)
        self.rows = torch.FloatTensor(rows).cuda()

    def run(self):
        first = torch.cuda.LongTensor(range(0, len(self.rows), 5))
        return tuple(self.rows.index_select(0, first).sum(1).cpu().numpy())
