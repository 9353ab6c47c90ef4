#include "nn/word_order.h"

#include <ATen/Functions.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace sentencode::nn {
namespace {

using at::Tensor;

constexpr std::int64_t kFewSentences = 8;  // of a part, at least

struct KeptOrder : torch::CustomClassHolder {
  explicit KeptOrder(std::shared_ptr<const WordOrder> given) : order(std::move(given)) {}
  std::shared_ptr<const WordOrder> order;
};

}  // namespace

WordOrder::WordOrder(const Tensor& lengths, std::int64_t batch, std::int64_t time, std::int64_t directions) {
  std::vector<std::int64_t> long_as(static_cast<std::size_t>(batch), time);
  if (lengths.defined()) {
    const Tensor given = lengths.cpu().contiguous();
    std::copy_n(given.const_data_ptr<std::int64_t>(), batch, long_as.begin());
  }
  const auto length = [&](std::int64_t b) { return long_as[static_cast<std::size_t>(b)]; };
  std::vector<std::int64_t> order;
  for (std::int64_t b = 0; b < batch; ++b) {
    if (length(b) > 0) order.push_back(b);
  }
  std::ranges::stable_sort(order, std::greater<>(), length);
  places = at::empty({std::accumulate(long_as.begin(), long_as.end(), std::int64_t{0})}, at::kLong);
  auto* place = places.mutable_data_ptr<std::int64_t>();
  if (order.empty()) return;
  // Every p-th sentence, so that all parts have long and short ones.
  const std::int64_t most = directions == 0 ? 1 : (at::get_num_threads() + directions - 1) / directions;
  const std::int64_t count = std::clamp<std::int64_t>(std::ssize(order) / kFewSentences, 1, most);
  std::int64_t row = 0;
  for (std::int64_t number = 0; number < count; ++number) {
    Part& part = parts.emplace_back();
    for (std::int64_t i = number; i < std::ssize(order); i += count) {
      part.sentences.push_back(order[static_cast<std::size_t>(i)]);
    }
    std::int64_t n = std::ssize(part.sentences);
    for (std::int64_t t = 0; t < length(part.sentences[0]); ++t) {
      while (length(part.sentences[static_cast<std::size_t>(n - 1)]) <= t) --n;
      part.there.push_back(n);
      part.first.push_back(row);
      row += n;
      for (std::int64_t i = 0; i < n; ++i) *place++ = part.sentences[static_cast<std::size_t>(i)] * time + t;
    }
  }
}

at::IValue kept_order(const std::shared_ptr<const WordOrder>& order) {
  return at::IValue::make_capsule(c10::make_intrusive<KeptOrder>(order));
}

std::shared_ptr<const WordOrder> order_in(const at::IValue& value) {
  return c10::static_intrusive_pointer_cast<KeptOrder>(value.toCapsule())->order;
}

}  // namespace sentencode::nn
