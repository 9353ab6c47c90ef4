#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sentencode {

/// The number that the package `tokenizers` reads: digits * 10^exponent. Rust's serde_json divides all digits
/// by a power of ten, which may round twice; the last bit decides ties. Nothing if the exponent is too large.
std::optional<double> serde_number(std::uint64_t digits, int exponent, bool negative);

/// The merges of a BPE model. Those of a JSON text are not stored: they are parsed again, a block at a time.
class MergeList {
 public:
  using Merge = std::pair<std::string_view, std::string_view>;
  static constexpr std::size_t kBlock = 2048;

  MergeList() = default;
  explicit MergeList(std::vector<Merge> merges) : stored_(std::move(merges)), size_(stored_.size()) {}
  /// `size` merges of a JSON array, which are valid. The first ones of blocks are at `block_positions`.
  MergeList(std::string_view text, std::vector<std::size_t> block_positions, std::size_t size)
      : text_(text), block_positions_(std::move(block_positions)), size_(size) {}

  std::size_t size() const { return size_; }
  /// Calls use(index of the first one, merges) for the merges of a block, kChunk at a time. The strings are
  /// valid during the call. Thread-safe.
  template <std::size_t kChunk, typename Use>
  void for_each_chunk(std::size_t block, const Use& use) const {
    const bool stored = block_positions_.empty();
    const std::size_t end = std::min(size_, (block + 1) * kBlock);
    std::size_t position = stored ? 0 : block_positions_[block];
    std::array<Merge, kChunk> parsed;
    for (std::size_t first = block * kBlock; first < end; first += kChunk) {
      const std::size_t count = std::min(kChunk, end - first);
      std::deque<std::string> unescaped;
      if (!stored) position = parse(position, std::span(parsed).first(count), unescaped);
      use(first, std::span<const Merge>(stored ? stored_.data() + first : parsed.data(), count));
    }
  }

 private:
  /// Parses merges from a position on, and returns that of the next one.
  std::size_t parse(std::size_t position, std::span<Merge> merges, std::deque<std::string>& unescaped) const;

  std::vector<Merge> stored_;
  std::string_view text_;
  std::vector<std::size_t> block_positions_;
  std::size_t size_ = 0;
};

/// Tokens by id, and their log probabilities.
struct ScoredTokens {
  std::vector<std::string_view> tokens;
  std::vector<double> scores;
};

/// The large lists of a tokenizer.json, which are read 20 times as fast as a tree. Strings are views of the
/// text, or of `unescaped`.
struct ModelLists {
  using Ids = std::vector<std::pair<std::int32_t, std::string_view>>;

  std::optional<Ids> ids;              // model.vocab: {token: id}
  std::optional<ScoredTokens> scores;  // model.vocab: [[token, score]]
  std::optional<MergeList> merges;     // model.merges
  std::deque<std::string> unescaped;
};

/// The content of a tokenizer.json, in which those lists are empty that `lists` gets. Lists of another form
/// than usual remain. Nothing if the text is not valid, or has a field twice.
std::optional<nlohmann::json> without_lists(std::string_view text, ModelLists& lists);

}  // namespace sentencode
