#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <cstddef>

#include "sentencode/distributed/communicator.h"
#include "sentencode/error.h"
#include "sentencode/training/model.h"

namespace sentencode::training {

/// Sums of the losses of several batches, on their device.
class LossSums {
 public:
  LossSums(at::Device device, std::size_t figures)
      : sum_(at::zeros({}, at::device(device).dtype(at::kDouble))),
        right_(sum_),
        figures_(at::zeros({static_cast<std::int64_t>(figures), 2}, sum_.options())) {}

  void add(const Loss& loss) {
    sum_ = sum_ + loss.sum.detach();
    if (loss.right.defined()) right_ = right_ + loss.right;
    has_accuracy_ &= loss.right.defined();
    count_ += loss.count;
    if (figures_.size(0) == 0) return;
    ST_CHECK(loss.figures.defined() && loss.figures.sizes() == figures_.sizes(), InvalidInput,
             "the loss must have the ", figures_.size(0),
             " figures that the model names, as sums and counts");
    figures_ = figures_ + loss.figures.detach();
  }

  /// Means over all processes, on the device [3 + F] double: loss, accuracy (NaN unless each loss has it),
  /// mean count of a process, figures.
  at::Tensor means(distributed::Communicator& communicator) const {
    const at::Tensor count = at::full_like(sum_, count_);
    const at::Tensor has_accuracy = at::full_like(sum_, has_accuracy_ ? 1.0 : 0.0);
    const at::Tensor all = at::cat({at::stack({sum_, right_, count, has_accuracy}), figures_.flatten()});
    communicator.all_reduce_mean({all});
    const at::Tensor no_accuracy = at::stack({all[0], all[3] * NAN});
    const at::Tensor loss_accuracy = at::where(all[3] == 1, all.slice(0, 0, 2), no_accuracy) / all[2];
    const at::Tensor figures = all.slice(0, 4).view({-1, 2});
    return at::cat({loss_accuracy, all.slice(0, 2, 3), figures.select(1, 0) / figures.select(1, 1)});
  }

 private:
  at::Tensor sum_, right_;  // [] double
  at::Tensor figures_;      // [F, 2] double
  double count_ = 0;
  bool has_accuracy_ = true;
};

}  // namespace sentencode::training
