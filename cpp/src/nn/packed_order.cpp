#include "nn/packed_order.h"

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace sentencode::nn {
namespace {

using at::Tensor;

constexpr std::int64_t kSentencesOfPart = 8;  // at least

struct OrderHolder : torch::CustomClassHolder {
  explicit OrderHolder(std::shared_ptr<const PackedOrder> held) : order(std::move(held)) {}
  std::shared_ptr<const PackedOrder> order;
};

}  // namespace

Tensor PackedOrder::Part::index() const {
  return at::from_blob(const_cast<std::int64_t*>(sentences.data()), {std::ssize(sentences)}, at::kLong);
}

PackedOrder::PackedOrder(const Tensor& lengths, std::int64_t batch, std::int64_t time,
                         std::int64_t directions) {
  std::vector<std::int64_t> words(static_cast<std::size_t>(batch), time);  // of each sentence
  if (lengths.defined()) {
    const Tensor here = lengths.cpu().contiguous();
    std::copy_n(here.const_data_ptr<std::int64_t>(), batch, words.begin());
  }
  const auto length = [&](std::int64_t b) { return words[static_cast<std::size_t>(b)]; };
  std::vector<std::int64_t> longest_first, packed;
  for (std::int64_t b = 0; b < batch; ++b) {
    if (length(b) > 0) longest_first.push_back(b);
  }
  std::ranges::stable_sort(longest_first, std::greater<>(), length);
  const std::int64_t sentences = std::ssize(longest_first);
  const std::int64_t most = directions == 0 ? 1 : (at::get_num_threads() + directions - 1) / directions;
  const std::int64_t count =
      sentences == 0 ? 0 : std::clamp<std::int64_t>(sentences / kSentencesOfPart, 1, most);
  for (std::int64_t number = 0; number < count; ++number) {
    Part& part = parts.emplace_back();
    // Every count-th sentence, so that all parts have long and short ones.
    for (std::int64_t i = number; i < sentences; i += count) {
      part.sentences.push_back(longest_first[static_cast<std::size_t>(i)]);
    }
    std::int64_t n = std::ssize(part.sentences);
    for (std::int64_t t = 0; t < length(part.sentences[0]); ++t) {
      while (length(part.sentences[static_cast<std::size_t>(n - 1)]) <= t) --n;
      part.batch_sizes.push_back(n);
      part.first_rows.push_back(std::ssize(packed));
      for (std::int64_t i = 0; i < n; ++i) {
        packed.push_back(part.sentences[static_cast<std::size_t>(i)] * time + t);
      }
    }
  }
  positions = at::tensor(packed, at::kLong);
}

at::IValue to_ivalue(const std::shared_ptr<const PackedOrder>& order) {
  return at::IValue::make_capsule(c10::make_intrusive<OrderHolder>(order));
}

std::shared_ptr<const PackedOrder> to_packed_order(const at::IValue& value) {
  return c10::static_intrusive_pointer_cast<OrderHolder>(value.toCapsule())->order;
}

}  // namespace sentencode::nn
