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

/// The merges of a BPE model. The many ones of a text stay there, and are read in blocks.
class MergeList {
 public:
  using Merge = std::pair<std::string_view, std::string_view>;
  static constexpr std::size_t kBlock = 2048;

  MergeList() = default;
  explicit MergeList(std::vector<Merge> merges) : merges_(std::move(merges)), size_(merges_.size()) {}
  /// Merges of a JSON array. `begins` are the positions of the merges 0, kBlock, 2 kBlock, ... in the text.
  MergeList(std::string_view text, std::vector<std::size_t> begins, std::size_t size)
      : text_(text), begins_(std::move(begins)), size_(size) {}

  std::size_t size() const { return size_; }
  /// Calls use(first, merges) for the merges of a block, up to kMost at once. Thread-safe.
  template <std::size_t kMost, typename Use>
  void read(std::size_t block, const Use& use) const {
    std::array<Merge, kMost> merges;
    std::deque<std::string> unescaped;
    std::size_t at = begins_.empty() ? 0 : begins_[block];
    const std::size_t end = std::min(size_, (block + 1) * kBlock);
    for (std::size_t first = block * kBlock; first < end; first += kMost) {
      const auto some = std::span(merges).first(std::min(kMost, end - first));
      if (begins_.empty()) {
        std::ranges::copy(std::span(merges_).subspan(first, some.size()), some.begin());
      } else {
        at = read(at, some, unescaped);
      }
      use(first, std::span<const Merge>(some));
      unescaped.clear();
    }
  }

 private:
  /// Reads merges from a position on, and returns that of the next one.
  std::size_t read(std::size_t position, std::span<Merge> merges, std::deque<std::string>& unescaped) const;

  std::vector<Merge> merges_;
  std::string_view text_;
  std::vector<std::size_t> begins_;
  std::size_t size_ = 0;
};

/// The large lists of a tokenizer.json as arrays, which are read 20 times as fast as a tree. Strings are
/// views of the text, or of `unescaped`.
struct ModelLists {
  using Ids = std::vector<std::pair<std::int32_t, std::string_view>>;

  std::optional<Ids> ids;                                                  // model.vocab: {token: id}
  std::optional<std::vector<std::pair<double, std::string_view>>> scores;  // model.vocab: [[token, score]]
  std::optional<MergeList> merges;                                         // model.merges
  std::deque<std::string> unescaped;
};

/// The content of a tokenizer.json, in which those lists are empty that `lists` gets. Lists of another form
/// than usual remain. Nothing if the text is not valid, or has a field twice.
std::optional<nlohmann::json> without_lists(std::string_view text, ModelLists& lists);

}  // namespace sentencode
