"""One step and one encode of every family on both devices: loss, gradients and embeddings compared.

The step is plain gradient descent at a rate of 1, so that the change of a weight is its gradient. Nothing is
random, and TF32 is off: what differs is the order of sums.
"""

from __future__ import annotations

from typing import Any

from cases import Data, cases
from common import Facts, gpu, options_of_part

LOSS, GRADIENT, EMBEDDING = 1e-4, 2e-3, 1e-3  # the largest differences, relative


def main() -> None:
    import numpy as np
    import torch

    args = options_of_part()
    facts, device = Facts(args), gpu(args)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    data = Data(args, 600, 300)
    plain = {"optimizer": "sgd", "max_steps": 1, "batch_size": 32, "clip_norm": None, "schedule": "constant"}

    def compare(case: Any) -> dict[str, Any]:
        encoders: dict[tuple[str, bool], Any] = {}
        for where in ("cpu", device):
            for moves in (False, True):
                rate = 1.0 if moves else 1e-30
                encoder = data.make(case, case.small, where, **plain, learning_rate=rate)
                encoders[where, moves] = data.fit(case, encoder)
        weights = {
            key: {name: t.detach().double().cpu() for name, t in encoder.network.state_dict().items()}
            for key, encoder in encoders.items()
        }
        gradients = {
            where: {name: weights[where, False][name] - t for name, t in weights[where, True].items()}
            for where in ("cpu", device)
        }
        worst, total, apart = ("", 0.0), 0.0, 0.0
        largest = max(float(t.norm()) for t in gradients["cpu"].values())
        for name, expected in gradients["cpu"].items():
            difference, norm = float((gradients[device][name] - expected).norm()), float(expected.norm())
            total, apart = total + norm**2, apart + difference**2
            # Of a gradient that is all but zero, as a softmax's bias may be, the rounding is no share.
            worst = max(worst, (name, difference / max(norm, 1e-3 * largest)), key=lambda of: of[1])
        losses = [encoders[where, True].history_.steps[0].loss for where in ("cpu", device)]
        lines = data.encoded(case, 200)
        rows = {}
        if getattr(encoders["cpu", False], "encode", None) is not None:
            try:
                rows = {where: encoders[where, False].encode(lines) for where in ("cpu", device)}
            except (ValueError, NotImplementedError) as error:  # "attn" has no embedding
                rows = {}
                reason = str(error)[:200]
        embedding = None
        if rows:
            lengths = np.linalg.norm(rows["cpu"], axis=1)
            embedding = float(
                (np.linalg.norm(rows[device] - rows["cpu"], axis=1) / np.maximum(lengths, 1e-6)).max()
            )
        result = {
            "device": str(next(encoders[device, False].network.parameters()).device),
            "loss": losses,
            "loss_apart": abs(losses[1] - losses[0]) / abs(losses[0]),
            "gradient_norm": total**0.5,
            "gradient_apart": (apart / total) ** 0.5 if total else 0.0,
            "worst_gradient": [worst[0], worst[1]],
            "embedding_apart": embedding,
            **({} if rows else {"no embedding": reason}),
        }
        too_far = [
            f"{name} {result[name]:.1e} > {bound:.0e}"
            for name, bound in (
                ("loss_apart", LOSS),
                ("gradient_apart", GRADIENT),
                ("embedding_apart", EMBEDDING),
            )
            if result[name] is not None and not result[name] <= bound
        ]
        if total == 0.0:
            too_far.append("no gradient")
        if too_far:
            result["error"] = "; ".join(too_far)
        return result

    for name, case in cases().items():
        facts.attempt(name, lambda case=case: compare(case))
    facts.finish()


if __name__ == "__main__":
    main()
