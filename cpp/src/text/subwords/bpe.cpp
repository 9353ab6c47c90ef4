#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "large_pages.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "text/subwords/byte_tokens.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/model.h"
#include "text/subwords/word_cache.h"

namespace sentencode {
namespace {

constexpr std::uint32_t kNoRank = 0xFFFFFFFF;

/// A hash table from pairs of adjacent tokens to the token that replaces them.
class Merges {
 public:
  struct Merge {
    std::uint32_t rank = kNoRank;  // merges of lower rank are done first
    std::int32_t id = -1;
  };

  void reserve(std::size_t merges) { slots_.resize(std::bit_ceil(std::max<std::size_t>(16, 2 * merges))); }

  void set(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[find(key(left, right))];
    slot = {key(left, right), merge};
  }
  void prefetch(std::int32_t left, std::int32_t right) const {
    __builtin_prefetch(&slots_[home(key(left, right))]);
  }
  Merge operator()(std::int32_t left, std::int32_t right) const {
    return slots_[find(key(left, right))].merge;
  }

 private:
  static constexpr std::uint64_t kNone = 0xFFFFFFFFFFFFFFFF;  // ids are not negative
  struct Slot {
    std::uint64_t key = kNone;
    Merge merge;
  };

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t home(std::uint64_t key) const {
    return (key ^ key >> 29) * 0x9E3779B97F4A7C15 >> 32 & (slots_.size() - 1);
  }
  /// The slot of a key, or the empty one where it belongs.
  std::size_t find(std::uint64_t key) const {
    std::size_t i = home(key);
    while (slots_[i].key != key && slots_[i].key != kNone) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  std::vector<Slot, LargePages<Slot>> slots_;
};

/// Byte-pair encoding (Sennrich 2016): begins with characters and merges the adjacent pair of the lowest
/// rank, the leftmost one of equal pairs, until no pair can be merged.
class Bpe final : public CachedModel {
 public:
  Bpe(const JsonFields& fields, ModelLists&& lists)
      : prefix_(fields.has("continuing_subword_prefix") ? fields.text("continuing_subword_prefix") : ""),
        suffix_(fields.has("end_of_word_suffix") ? fields.text("end_of_word_suffix") : ""),
        fuse_unknown_(fields.flag("fuse_unk", false)),
        ignore_merges_(fields.flag("ignore_merges", false)) {
    ST_CHECK(!fields.has("dropout") || fields.at("dropout") == 0, Unsupported,
             "tokenizer.json: ", fields.name_of("dropout"), " is ", JsonFields::shown(fields.at("dropout")),
             ": tokens would be random; expected null or 0");
    const std::string field = fields.name_of("merges");
    const MergeList merges =
        lists.merges ? *std::move(lists.merges) : MergeList(merges_in(fields.array("merges"), field));
    parallel_for(0, 2, 1, [&](std::int64_t table, std::int64_t) {
      if (table == 0) {
        vocabulary_ = SubwordVocabulary(tokens_of(fields, std::move(lists.ids)));
      } else {
        merges_.reserve(merges.size());
      }
    });
    if (fields.flag("byte_fallback", false)) bytes_ = ByteTokens(vocabulary_);
    if (fields.has("unk_token")) {
      unknown_token_ = fields.text("unk_token");
      unknown_id_ = vocabulary_.id(*unknown_token_);
    }
    read_merges(merges, field);
    for (std::size_t code = 0; code < characters_.size(); ++code) {
      char bytes[4];
      characters_[code] = vocabulary_.id({bytes, encode_utf8(static_cast<char32_t>(code), bytes)});
    }
  }

  const SubwordVocabulary& vocabulary() const override { return vocabulary_; }
  std::int32_t unknown_id() const override { return unknown_id_; }

  void append_ids(std::string_view word, std::vector<std::int32_t>& ids) const override {
    if (!splits_at_spaces_) return CachedModel::append_ids(word, ids);
    if (ignore_merges_) {
      if (const std::int32_t id = vocabulary_.id(word); id >= 0) return ids.push_back(id);
    }
    std::array<std::string_view, 32> parts;
    while (!word.empty()) {
      std::size_t count = 0;
      for (; count < parts.size() && !word.empty(); ++count) {
        // To the first space mark after another character.
        std::size_t end = 0;
        while (word.substr(end).starts_with(kSpaceMark)) end += kSpaceMark.size();
        end = std::min(word.size(), word.find(kSpaceMark, end));
        parts[count] = word.substr(0, end);
        word.remove_prefix(end);
      }
      CachedModel::append_ids(std::span<const std::string_view>(parts).first(count), ids);
    }
  }
  void append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const override {
    if (!splits_at_spaces_) return CachedModel::append_ids(words, ids);
    for (const std::string_view word : words) append_ids(word, ids);
  }

 private:
  static constexpr std::string_view kSpaceMark = "\u2581";

  struct MergeIds {
    std::int32_t left = -1, right = -1, merged = -1;  // -1: the line of the version
  };

  void read_merges(const MergeList& merges, const std::string& field) {
    constexpr std::size_t kBlock = MergeList::kBlock, kBlocks = 8;  // whose ids are in memory
    std::atomic<bool> splits = prefix_.empty() && suffix_.empty() && vocabulary_.id(kSpaceMark) >= 0 &&
                               !unknown_token_.value_or("").ends_with(kSpaceMark);
    std::vector<MergeIds> ids;
    std::uint32_t rank = 0;
    for (std::size_t first = 0; first < merges.size(); first += kBlocks * kBlock) {
      ids.assign(std::min(kBlocks * kBlock, merges.size() - first), {});
      parallel_for(0, std::ssize(ids), kBlock, [&](std::int64_t begin, std::int64_t end) {
        const auto offset = static_cast<std::size_t>(begin), size = static_cast<std::size_t>(end - begin);
        const std::size_t block = (first + offset) / kBlock;
        if (!find_tokens(merges, block, field, std::span(ids).subspan(offset, size))) splits = false;
      });
      constexpr std::size_t kAhead = 16;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i + kAhead < ids.size()) merges_.prefetch(ids[i + kAhead].left, ids[i + kAhead].right);
        if (ids[i].left >= 0) merges_.set(ids[i].left, ids[i].right, {rank++, ids[i].merged});
      }
    }
    splits_at_spaces_ = splits;
  }

  /// Looks up the tokens of a block of merges. Returns whether none of them joins a character and a following
  /// space mark.
  bool find_tokens(const MergeList& all, std::size_t block, const std::string& field,
                   std::span<MergeIds> merge_ids) const {
    // Parts of several merges are looked up together, to overlap accesses to memory.
    constexpr std::size_t kAtOnce = SubwordVocabulary::kAtOnce / 2;
    std::array<std::string_view, 2 * kAtOnce> parts;
    std::array<std::int32_t, 2 * kAtOnce> ids;
    bool splits = true;
    std::int32_t last = -1;  // merged token
    all.for_each_chunk<kAtOnce>(block, [&](std::size_t first, std::span<const MergeList::Merge> merges) {
      for (std::size_t k = 0; k < merges.size(); ++k) {
        parts[2 * k] = merges[k].first;
        parts[2 * k + 1] = merges[k].second;
      }
      vocabulary_.find(std::span(parts).first(2 * merges.size()), ids);
      for (std::size_t k = 0; k < merges.size(); ++k) {
        const std::string_view left = parts[2 * k], right = parts[2 * k + 1];
        if (left.data() == nullptr) continue;
        const auto name = [&] { return concat("tokenizer.json: ", field, "[", first + k, "]"); };
        const auto check = [&](std::int32_t id, std::string_view token) {
          ST_CHECK(id >= 0, FormatError, name(), ": the vocabulary does not have '", token, "'");
        };
        ST_CHECK(!left.empty() && right.size() > prefix_.size(), Unsupported, name(), ": '", left, "' and '",
                 right, "'; a part is empty, which is not supported");
        check(ids[2 * k], left);
        check(ids[2 * k + 1], right);
        last = merged_id(left, right.substr(prefix_.size()), last);
        if (last < 0) check(last, std::string(left).append(right.substr(prefix_.size())));
        merge_ids[first + k - block * MergeList::kBlock] = {ids[2 * k], ids[2 * k + 1], last};
        if (right.starts_with(kSpaceMark) && !left.ends_with(kSpaceMark)) splits = false;
      }
    });
    return splits;
  }

  /// Id of the token left + right; -1 if there is none. It is probably that of the last merge or the next
  /// one, as merges and their tokens often have the same order.
  std::int32_t merged_id(std::string_view left, std::string_view right, std::int32_t last) const {
    for (const std::int32_t guess : {last, last + 1}) {
      const std::string_view token = vocabulary_.token(guess);
      if (token.size() == left.size() + right.size() && token.starts_with(left) && token.ends_with(right))
        return guess;
    }
    return vocabulary_.id(std::string(left).append(right));
  }

  /// Both tokens of each merge, which is a list of two, or a string with one space. The line of the version
  /// has null pointers.
  static std::vector<MergeList::Merge> merges_in(const nlohmann::json& array, const std::string& field) {
    std::vector<MergeList::Merge> merges;
    for (const nlohmann::json& merge : array) {
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        merges.emplace_back(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>());
        continue;
      }
      const std::string_view line =
          merge.is_string() ? merge.get_ref<const std::string&>() : std::string_view();
      if (line.starts_with("#version")) {
        merges.emplace_back();
        continue;
      }
      const std::size_t space = line.find(' ');
      ST_CHECK(space != line.npos && line.find(' ', space + 1) == line.npos, FormatError,
               "tokenizer.json: ", field, "[", merges.size(),
               "] must be two tokens, or a string of two with one space between them, got ",
               JsonFields::shown(merge));
      merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    return merges;
  }

  void split(std::string_view word, std::vector<std::int32_t>& ids) const override {
    if (ignore_merges_ && !splits_at_spaces_) {
      if (const std::int32_t id = vocabulary_.id(word); id >= 0) return ids.push_back(id);
    }
    const std::size_t begin = ids.size();
    append_characters(word, ids);
    merge(ids, begin);
  }

  /// The token of a character, with the prefix and the suffix of its position. -1 if there is none.
  std::int32_t character_id(std::string_view character, bool first, bool last, std::string& token) const {
    token.clear();
    if (!first) token += prefix_;
    token += character;
    if (last) token += suffix_;
    return vocabulary_.id(token);
  }

  void append_characters(std::string_view word, std::vector<std::int32_t>& ids) const {
    const bool plain = prefix_.empty() && suffix_.empty();
    bool unknown = false;  // an unknown token waits: the next one may be fused with it
    const auto append_unknown = [&] {
      if (unknown) ids.push_back(unknown_id_);
      unknown = false;
    };
    std::string token;
    for (std::size_t begin = 0; begin < word.size();) {
      const CodePoint point = decode_utf8(word.substr(begin));
      const std::size_t end = begin + point.length;
      const std::string_view character = word.substr(begin, point.length);
      const std::int32_t id = !plain ? character_id(character, begin == 0, end == word.size(), token)
                              : point.code < characters_.size() ? characters_[point.code]
                                                                : vocabulary_.id(character);
      begin = end;
      const std::string_view bytes = plain ? character : token;
      if (id >= 0) {
        append_unknown();
        ids.push_back(id);
      } else if (bytes_.has_all(bytes)) {  // before a waiting unknown token, as in the package `tokenizers`
        for (const char byte : bytes) ids.push_back(bytes_[byte]);
      } else if (unknown_token_) {
        ST_CHECK(unknown_id_ >= 0, InvalidInput, "the tokenizer has no token for '", bytes,
                 "', and its model.unk_token '", *unknown_token_, "' is not in model.vocab");
        if (!fuse_unknown_) append_unknown();
        unknown = true;
      }
    }
    append_unknown();
  }

  /// Merges the ids from `begin` on.
  void merge(std::vector<std::int32_t>& ids, std::size_t begin) const {
    constexpr std::size_t kShort = 48;
    const std::size_t size = ids.size() - begin;
    if (size < 2) return;
    const std::span<std::int32_t> symbols = std::span(ids).subspan(begin);
    ids.resize(begin + (size <= kShort ? merge_short<kShort>(symbols) : merge_long(symbols)));
  }

  /// Looks at all pairs for each merge: the fastest way for the size of words. Returns the number of ids that
  /// remain.
  template <std::size_t kShort>
  std::size_t merge_short(std::span<std::int32_t> ids) const {
    std::array<Merges::Merge, kShort> merges;  // of symbol i with the next one
    std::size_t size = ids.size();
    for (std::size_t i = 0; i + 1 < size; ++i) merges[i] = merges_(ids[i], ids[i + 1]);
    while (size > 1) {
      std::size_t best = 0;
      for (std::size_t i = 1; i + 1 < size; ++i) best = merges[i].rank < merges[best].rank ? i : best;
      if (merges[best].rank == kNoRank) break;
      ids[best] = merges[best].id;
      --size;
      for (std::size_t i = best + 1; i < size; ++i) {
        ids[i] = ids[i + 1];
        merges[i - 1] = merges[i];
      }
      if (best + 1 < size) merges[best] = merges_(ids[best], ids[best + 1]);
      if (best > 0) merges[best - 1] = merges_(ids[best - 1], ids[best]);
    }
    return size;
  }

  /// A queue of pairs, where pairs that have changed meanwhile are ignored.
  std::size_t merge_long(std::span<std::int32_t> ids) const {
    constexpr std::uint32_t kNone = 0xFFFFFFFF;
    const std::size_t size = ids.size();
    ST_CHECK(size < kNone, InvalidInput, "a word of ", size, " characters is too long");
    struct Symbol {
      std::uint32_t previous, next;
    };
    std::vector<Symbol> symbols(size);
    std::vector<std::uint64_t> pairs;  // rank, and position of the left symbol
    pairs.reserve(size);
    const auto pair = [&](std::uint64_t i, std::uint32_t next) {
      const std::uint32_t rank = merges_(ids[i], ids[next]).rank;
      return rank == kNoRank ? std::optional<std::uint64_t>() : std::uint64_t{rank} << 32 | i;
    };
    for (std::uint32_t i = 0; i < size; ++i) {
      symbols[i] = {i == 0 ? kNone : i - 1, i + 1 < size ? i + 1 : kNone};
      if (i + 1 == size) break;
      if (const auto first = pair(i, i + 1)) pairs.push_back(*first);
    }
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue(std::greater<>(),
                                                                                         std::move(pairs));
    constexpr std::int32_t kRemoved = -1;
    while (!queue.empty()) {
      const std::uint64_t top = queue.top();
      queue.pop();
      const auto i = static_cast<std::uint32_t>(top);
      const std::uint32_t next = symbols[i].next;
      if (ids[i] == kRemoved || next == kNone) continue;
      const Merges::Merge merge = merges_(ids[i], ids[next]);
      if (merge.rank != top >> 32) continue;
      ids[i] = merge.id;
      ids[next] = kRemoved;
      symbols[i].next = symbols[next].next;
      if (symbols[i].next != kNone) {
        symbols[symbols[i].next].previous = i;
        if (const auto right = pair(i, symbols[i].next)) queue.push(*right);
      }
      if (const std::uint32_t previous = symbols[i].previous; previous != kNone) {
        if (const auto left = pair(previous, i)) queue.push(*left);
      }
    }
    return static_cast<std::size_t>(std::remove(ids.begin(), ids.end(), kRemoved) - ids.begin());
  }

  SubwordVocabulary vocabulary_;
  Merges merges_;
  std::array<std::int32_t, 0x180>
      characters_{};  // ids of the first code points, among them those of ByteLevel
  std::string prefix_, suffix_;
  std::optional<std::string> unknown_token_;
  std::int32_t unknown_id_ = -1;
  bool fuse_unknown_, ignore_merges_;
  ByteTokens bytes_;
  /// No merge joins a character and a following space mark: words can be split there, and cached.
  bool splits_at_spaces_ = false;
};

}  // namespace

std::unique_ptr<const SubwordModel> bpe_model(const nlohmann::json& model, ModelLists&& lists) {
  return std::make_unique<const Bpe>(JsonFields(model, "model"), std::move(lists));
}

}  // namespace sentencode
