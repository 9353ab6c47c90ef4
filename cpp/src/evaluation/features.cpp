#include "sentencode/evaluation/features.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "sentencode/error.h"

namespace sentencode {

namespace {

void check_embeddings(const at::Tensor& embeddings) {
  TORCH_CHECK_VALUE(embeddings.dim() == 2 && embeddings.is_floating_point(),
                    "embeddings must be floating point [n, d], got ", embeddings.dtype(), " ",
                    embeddings.sizes());
}

void check_index(const at::Tensor& index, const char* name, std::int64_t rows) {
  TORCH_CHECK_VALUE(index.dim() == 1 && index.scalar_type() == at::kLong, name, " must be int64 [n], got ",
                    index.dtype(), " ", index.sizes());
  if (index.numel() == 0) return;
  const auto low = index.min().item<std::int64_t>(), high = index.max().item<std::int64_t>();
  TORCH_CHECK_VALUE(low >= 0 && high < rows, name, " must hold numbers of rows, 0 to ", rows - 1, ", got ",
                    low, " to ", high);
}

}  // namespace

Features::Features(at::Tensor embeddings) : embeddings_(std::move(embeddings)) {
  check_embeddings(embeddings_);
}

Features::Features(at::Tensor embeddings, at::Tensor first, at::Tensor second,
                   const std::vector<std::string>& parts)
    : embeddings_(std::move(embeddings)), first_(std::move(first)), second_(std::move(second)) {
  check_embeddings(embeddings_);
  check_index(first_, "first", embeddings_.size(0));
  check_index(second_, "second", embeddings_.size(0));
  TORCH_CHECK_VALUE(first_.numel() == second_.numel(), "first and second must be equally long, got ",
                    first_.numel(), " and ", second_.numel());
  constexpr std::string_view kParts[] = {"u", "v", "|u-v|", "u*v"};  // in the order of Part
  for (const std::string& part : parts) {
    const auto* const name = std::ranges::find(kParts, part);
    ST_CHECK(name != std::end(kParts), InvalidInput,
             "parts of a pair's features are 'u', 'v', '|u-v|' and 'u*v', got '", part, "'");
    parts_.push_back(static_cast<Part>(name - kParts));
  }
  ST_CHECK(!parts_.empty(), InvalidInput, "a pair's features need at least one part");
}

std::int64_t Features::rows() const { return first_.defined() ? first_.size(0) : embeddings_.size(0); }

std::int64_t Features::dim() const {
  return embeddings_.size(1) * (first_.defined() ? std::ssize(parts_) : 1);
}

at::Tensor Features::block(std::int64_t begin, std::int64_t end) const {
  if (!first_.defined()) return embeddings_.slice(0, begin, end).to(at::kFloat);
  return joined(first_.slice(0, begin, end), second_.defined() ? second_.slice(0, begin, end) : second_);
}

at::Tensor Features::rows_at(const at::Tensor& index) const {
  if (!first_.defined()) return embeddings_.index_select(0, index).to(at::kFloat);
  return joined(first_.index_select(0, index), second_.defined() ? second_.index_select(0, index) : second_);
}

Features Features::part(const at::Tensor& index) const {
  check_index(index, "index", rows());
  Features chosen = *this;
  const std::int64_t count = index.size(0), begin = count > 0 ? index[0].item<std::int64_t>() : 0;
  if (!first_.defined() && index.equal(at::arange(begin, begin + count, index.options()))) {
    chosen.embeddings_ =
        embeddings_.slice(0, begin, begin + count);  // consecutive, as training splits are: no copy
    return chosen;
  }
  chosen.first_ = first_.defined() ? first_.index_select(0, index) : index;
  if (second_.defined()) chosen.second_ = second_.index_select(0, index);
  if (parts_.empty()) chosen.parts_ = {Part::first};
  return chosen;
}

at::Tensor Features::joined(const at::Tensor& first, const at::Tensor& second) const {
  const auto u = embeddings_.index_select(0, first).to(at::kFloat);  // [b, d]
  if (!second.defined()) return u;
  const auto v = embeddings_.index_select(0, second).to(at::kFloat);  // [b, d]
  std::vector<at::Tensor> columns;
  for (const Part part : parts_) {
    columns.push_back(part == Part::first        ? u
                      : part == Part::second     ? v
                      : part == Part::difference ? (u - v).abs()
                                                 : u * v);
  }
  return at::cat(columns, 1);  // [b, parts d]
}

}  // namespace sentencode
