#include "nn/ragged.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>

namespace sentencode::nn {
namespace {

using at::Tensor;

constexpr std::int64_t kFewSentences = 8;  // of a part, at least

/// Copies rows of words: `copy(row of [B T], packed row)`.
template <typename Copy>
void for_words(const std::vector<Part>& parts, std::int64_t time, const Copy& copy) {
  for (const Part& part : parts) {
    for (std::int64_t t = 0; t < part.longest(); ++t) {
      for (std::int64_t i = 0; i < part.there[static_cast<std::size_t>(t)]; ++i) {
        copy(part.sentences[static_cast<std::size_t>(i)] * time + t,
             part.first[static_cast<std::size_t>(t)] + i);
      }
    }
  }
}

}  // namespace

Parts::Parts(const Tensor& lengths, std::int64_t batch, std::int64_t time, std::int64_t directions,
             std::int64_t count)
    : batch_(batch), time_(time), directions_(directions) {
  std::vector<std::int64_t> long_as(static_cast<std::size_t>(batch), time);
  if (lengths.defined()) {
    const Tensor given = lengths.cpu().contiguous();
    std::copy_n(given.const_data_ptr<std::int64_t>(), batch, long_as.begin());
  }
  const auto length = [&](std::int64_t b) { return long_as[static_cast<std::size_t>(b)]; };
  std::vector<std::int64_t> order;  // without those that have no word
  for (std::int64_t b = 0; b < batch; ++b) {
    if (length(b) > 0) order.push_back(b);
  }
  std::ranges::stable_sort(order, std::greater<>(), length);
  // Every p-th sentence, so that all parts have long and short ones.
  const std::int64_t most = (at::get_num_threads() + directions - 1) / directions;
  if (count == 0) count = std::clamp<std::int64_t>(std::ssize(order) / kFewSentences, 1, most);
  for (std::int64_t p = 0; p < count && !order.empty(); ++p) {
    Part& part = parts_.emplace_back(p);
    for (std::int64_t i = p; i < std::ssize(order); i += count) {
      part.sentences.push_back(order[static_cast<std::size_t>(i)]);
    }
    auto n = std::ssize(part.sentences);
    part.first.push_back(words_);
    for (std::int64_t t = 0; t < length(part.sentences[0]); ++t) {
      while (length(part.sentences[static_cast<std::size_t>(n - 1)]) <= t) --n;
      part.there.push_back(n);
      words_ += n;
      part.first.push_back(words_);
    }
  }
}

Tensor Parts::pack(const Tensor& x) const {
  const Tensor from = x.contiguous();
  Tensor packed = at::empty({words_, x.size(2)}, x.options().requires_grad(false));
  const auto bytes = static_cast<std::size_t>(x.size(2) * x.element_size());
  const auto* const source = static_cast<const char*>(from.const_data_ptr());
  auto* const target = static_cast<char*>(packed.mutable_data_ptr());
  for_words(parts_, time_, [&](std::int64_t row, std::int64_t word) {
    std::memcpy(target + static_cast<std::size_t>(word) * bytes,
                source + static_cast<std::size_t>(row) * bytes, bytes);
  });
  return packed;
}

Tensor Parts::pad(const Tensor& packed) const {
  Tensor x = words_ == batch_ * time_ ? at::empty({batch_, time_, packed.size(1)}, packed.options())
                                      : at::zeros({batch_, time_, packed.size(1)}, packed.options());
  const auto bytes = static_cast<std::size_t>(packed.size(1) * packed.element_size());
  const auto* const source = static_cast<const char*>(packed.const_data_ptr());
  auto* const target = static_cast<char*>(x.mutable_data_ptr());
  for_words(parts_, time_, [&](std::int64_t row, std::int64_t word) {
    std::memcpy(target + static_cast<std::size_t>(row) * bytes,
                source + static_cast<std::size_t>(word) * bytes, bytes);
  });
  return x;
}

void Parts::for_each(const std::function<void(const Part&, std::int64_t)>& run) const {
  at::parallel_for(0, std::ssize(parts_) * directions_, 1, [&](std::int64_t from, std::int64_t to) {
    const c10::InferenceMode guard;
    for (std::int64_t item = from; item < to; ++item) {
      run(parts_[static_cast<std::size_t>(item / directions_)], item % directions_);
    }
  });
}

}  // namespace sentencode::nn
