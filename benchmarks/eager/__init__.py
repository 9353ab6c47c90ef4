"""The networks once more, in plain PyTorch and as one would write them first: batches padded to the longest
sentence, all logits at once. They are what ours are measured against, and what tests compare them with:
parameters have the same names."""
