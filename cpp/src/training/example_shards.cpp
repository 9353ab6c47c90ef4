#include "training/example_shards.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <span>

namespace sentencode {
namespace {

/// Counting sort of examples by length, then by index.
std::vector<std::uint32_t> sorted_by_length(const std::vector<std::int64_t>& offsets) {
  const std::size_t n = offsets.size() - 1;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  std::vector<std::uint32_t> positions(static_cast<std::size_t>(longest) + 2);
  const auto length = [&](std::size_t i) { return static_cast<std::size_t>(offsets[i + 1] - offsets[i]); };
  for (std::size_t i = 0; i < n; ++i) ++positions[length(i) + 1];
  std::partial_sum(positions.begin(), positions.end(), positions.begin());
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[positions[length(i)]++] = static_cast<std::uint32_t>(i);
  return order;
}

template <typename T>
StreamedTensor streamed(const std::vector<T>& values) {
  return {dtype_of<T>(), {std::ssize(values)}, [&values](const ByteSink& sink) {
            sink(std::as_bytes(std::span(values)));
          }};
}

/// Buffers single values for a sink.
template <typename T>
class BufferedSink {
 public:
  explicit BufferedSink(const ByteSink& sink) : sink_(sink) { values_.reserve(kSize); }
  void push(T value) {
    values_.push_back(value);
    if (values_.size() == kSize) flush();
  }
  void flush() {
    sink_(std::as_bytes(std::span<const T>(values_)));
    values_.clear();
  }

 private:
  static constexpr std::size_t kSize = 1 << 13;
  const ByteSink& sink_;
  std::vector<T> values_;
};

void stream_offsets(const Shards& shards, std::size_t field, const ByteSink& sink) {
  BufferedSink<std::int64_t> out(sink);
  std::int64_t before = 0;
  out.push(0);
  for (const auto& shard : shards) {
    const auto offsets = shard->fields()[field].offsets;
    for (const std::int64_t offset : offsets.subspan(1)) out.push(before + offset);
    before += offsets.back();
  }
  out.flush();
}

/// Merges the sorted orders of the shards; examples of one length are in the order of shards.
void stream_by_length(const Shards& shards, const ByteSink& sink) {
  BufferedSink<std::uint32_t> out(sink);
  std::vector<std::size_t> positions(shards.size(), 0);
  for (;;) {
    std::optional<std::int64_t> length;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      const auto order = shards[s]->by_length();
      if (positions[s] == order.size()) continue;
      const std::int64_t next = shards[s]->fields()[0].length(order[positions[s]]);
      length = length ? std::min(*length, next) : next;
    }
    if (!length) break;
    std::int64_t before = 0;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      const auto order = shards[s]->by_length();
      const ExampleField& primary = shards[s]->fields()[0];
      for (; positions[s] < order.size() && primary.length(order[positions[s]]) == *length; ++positions[s]) {
        out.push(static_cast<std::uint32_t>(before + order[positions[s]]));
      }
      before += shards[s]->size();
    }
  }
  out.flush();
}

}  // namespace

std::int64_t examples_in(const Shards& shards) {
  std::int64_t n = 0;
  for (const auto& shard : shards) n += shard->size();
  return n;
}

void write_shard(const std::string& path, const std::vector<MadeField>& fields, Labels kind,
                 const MadeLabels& labels, const std::string& config, const std::string& key) {
  std::map<std::string, StreamedTensor> tensors;
  for (const MadeField& field : fields) {
    tensors[field.options.name + ".ids"] = streamed(field.ids);
    tensors[field.options.name + ".offsets"] = streamed(field.offsets);
  }
  if (kind == Labels::int64) tensors["labels"] = streamed(labels.ints);
  if (kind == Labels::float32) tensors["labels"] = streamed(labels.floats);
  const std::vector<std::uint32_t> by_length = sorted_by_length(fields[0].offsets);
  tensors["by_length"] = streamed(by_length);
  write_examples(path, tensors, config, key);
}

void merge_shards(const std::string& path, const Shards& shards, const std::vector<MadeField>& fields,
                  Labels labels, const std::string& config, const std::string& key) {
  const std::int64_t n = examples_in(shards);
  std::map<std::string, StreamedTensor> tensors;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    std::int64_t ids = 0;
    for (const auto& shard : shards) ids += std::ssize(shard->fields()[f].ids);
    const std::string& name = fields[f].options.name;
    tensors[name + ".ids"] = {DType::i32, {ids}, [&shards, f](const ByteSink& sink) {
                                for (const auto& shard : shards) sink(std::as_bytes(shard->fields()[f].ids));
                              }};
    tensors[name + ".offsets"] = {
        DType::i64, {n + 1}, [&shards, f](const ByteSink& sink) { stream_offsets(shards, f, sink); }};
  }
  if (labels != Labels::none) {
    const bool is_int = labels == Labels::int64;
    tensors["labels"] = {
        is_int ? DType::i64 : DType::f32, {n}, [&shards, is_int](const ByteSink& sink) {
          for (const auto& shard : shards) {
            sink(is_int ? std::as_bytes(shard->int_labels()) : std::as_bytes(shard->float_labels()));
          }
        }};
  }
  tensors["by_length"] = {
      DType::u32, {n}, [&shards](const ByteSink& sink) { stream_by_length(shards, sink); }};
  write_examples(path, tensors, config, key);
}

}  // namespace sentencode
