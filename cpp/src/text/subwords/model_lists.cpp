#include "text/subwords/model_lists.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "json_depth.h"
#include "sentencode/error.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

/// Reads JSON from left to right. Functions return false where the text is not of the expected form.
class Scanner {
 public:
  Scanner(std::string_view text, std::deque<std::string>& unescaped)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), unescaped_(unescaped) {}

  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  void return_to(std::size_t position) { at_ = begin_ + position; }

  char peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  bool take(char c) {
    if (peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }

  bool string(std::string_view& out) {
    if (!take('"')) return false;
    const char* const first = at_;
    bool escaped = false;
    for (skip_plain(); at_ != end_ && *at_ != '"'; ++at_, skip_plain()) {
      if (static_cast<unsigned char>(*at_) < ' ') return false;
      if (*at_ != '\\') continue;
      escaped = true;
      if (++at_ == end_) return false;
    }
    if (at_ == end_) return false;
    out = {first, static_cast<std::size_t>(at_++ - first)};
    if (!escaped) return true;
    const auto json = nlohmann::json::parse(first - 1, at_, nullptr, false);
    if (!json.is_string()) return false;
    out = unescaped_.emplace_back(json.get_ref<const std::string&>());
    return true;
  }

  bool whole(std::int32_t& out) {
    std::uint64_t value = 0;
    peek();
    if (!digits(value, true) || value > std::numeric_limits<std::int32_t>::max()) return false;
    out = static_cast<std::int32_t>(value);
    return true;
  }

  bool number(double& out) {
    std::uint64_t all = 0;
    int exponent = 0;
    const bool negative = take('-');
    if (!digits(all, true)) return false;
    if (at_ != end_ && *at_ == '.') {
      const char* const first = ++at_;
      if (!digits(all, false)) return false;
      exponent -= static_cast<int>(at_ - first);
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      if (++at_ != end_ && *at_ == '+') ++at_;
      int shift = 0;
      const auto [after, error] = std::from_chars(at_, end_, shift);
      if (error != std::errc() || std::abs(shift) > 1000) return false;
      at_ = after;
      exponent += shift;
    }
    const auto value = serde_number(all, exponent, negative);
    if (value) out = *value;
    return value && std::isfinite(out);
  }

  /// Calls member(key) at each value, which it must read.
  template <typename Member>
  bool object(const Member& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    std::string_view key;
    do {
      if (!string(key) || !take(':') || !member(key)) return false;
    } while (take(','));
    return take('}');
  }
  template <typename Item>
  bool array(const Item& item) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!item()) return false;
    } while (take(','));
    return take(']');
  }

  /// Skips a value that is valid: its brackets and strings are matched, all else is not checked.
  bool skip() {
    std::int64_t depth = 0;
    std::string_view ignored;
    do {
      const char c = peek();
      if (at_ == end_) return false;
      if (c == '"') {
        if (!string(ignored)) return false;
      } else {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        ++at_;
      }
    } while (depth > 0 || !ends_value(peek()));
    return true;
  }

 private:
  /// Skips eight characters at once that are neither quotes, backslashes nor control characters.
  void skip_plain() {
    constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = kOnes << 7;
    const auto zeros = [](std::uint64_t x) { return (x - kOnes) & ~x; };  // bit 7 of the lowest zero byte
    for (; end_ - at_ >= 8; at_ += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, at_, sizeof eight);
      const std::uint64_t special =
          (zeros(eight ^ kOnes * '"') | zeros(eight ^ kOnes * '\\') | ((eight - kOnes * ' ') & ~eight)) &
          kHigh;
      if (special == 0) continue;
      at_ += std::countr_zero(special) / 8;
      return;
    }
  }
  static bool ends_value(char c) { return c == ',' || c == '}' || c == ']'; }
  bool digits(std::uint64_t& value, bool whole) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 10 - 1;
    const char* const first = at_;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (value > kMost) return false;
      value = 10 * value + static_cast<std::uint64_t>(*at_ - '0');
    }
    return at_ != first && !(whole && *first == '0' && at_ - first > 1);
  }

  const char *const begin_, *at_, *const end_;
  std::deque<std::string>& unescaped_;
};

/// Both tokens of a merge: a list of two, or a string with one space.
bool read_merge(Scanner& scanner, MergeList::Merge& merge) {
  if (scanner.peek() == '[') {
    return scanner.take('[') && scanner.string(merge.first) && scanner.take(',') &&
           scanner.string(merge.second) && scanner.take(']');
  }
  std::string_view line;
  if (!scanner.string(line) || line.starts_with("#version")) return false;
  const std::size_t space = line.find(' ');
  if (space == line.npos || line.find(' ', space + 1) != line.npos) return false;
  merge = {line.substr(0, space), line.substr(space + 1)};
  return true;
}

}  // namespace

std::optional<double> serde_number(std::uint64_t digits, int exponent, bool negative) {
  static const std::array<double, 309> powers = [] {
    std::array<double, 309> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::strtod(concat("1e", i).c_str(), nullptr);
    return table;
  }();
  const auto power = static_cast<std::size_t>(std::abs(exponent));
  if (power >= powers.size()) return std::nullopt;
  const double all = std::copysign(static_cast<double>(digits), negative ? -1.0 : 1.0);
  return exponent < 0 ? all / powers[power] : all * powers[power];
}

std::size_t MergeList::parse(std::size_t position, std::span<Merge> merges,
                             std::deque<std::string>& unescaped) const {
  Scanner scanner(text_, unescaped);
  scanner.return_to(position);
  for (Merge& merge : merges) {
    read_merge(scanner, merge);
    scanner.take(',');
  }
  return scanner.position();
}

std::optional<nlohmann::json> without_lists(std::string_view text, ModelLists& lists) {
  Scanner scanner(text, lists.unescaped);
  std::string rest;        // the text without lists
  std::size_t copied = 0;  // up to this position
  const auto read = [&](auto& list, const char* empty, const auto& items) {
    const std::size_t begin = scanner.position();
    if (!items(list.emplace())) {
      list.reset();
      scanner.return_to(begin);
      return scanner.skip();
    }
    rest.append(text.substr(copied, begin - copied)).append(empty);
    copied = scanner.position();
    return true;
  };
  const auto reserve = [&](auto& values) {
    constexpr std::size_t kBytes = 16;  // of an item, about
    values.reserve((text.size() - scanner.position()) / kBytes);
  };
  const auto ids = [&](auto& values) {
    reserve(values);
    return scanner.object([&](std::string_view token) {
      std::int32_t id = 0;
      if (!scanner.whole(id)) return false;
      values.emplace_back(id, token);
      return true;
    });
  };
  const auto scores = [&](ScoredTokens& values) {
    reserve(values.tokens);
    reserve(values.scores);
    return scanner.array([&] {
      return scanner.take('[') && scanner.string(values.tokens.emplace_back()) && scanner.take(',') &&
             scanner.number(values.scores.emplace_back()) && scanner.take(']');
    });
  };
  const auto merges = [&](MergeList& list) {
    std::vector<std::size_t> block_positions;
    std::size_t count = 0;
    const std::size_t unescaped = lists.unescaped.size();
    const bool valid = scanner.array([&] {
      if (count++ % MergeList::kBlock == 0) block_positions.push_back(scanner.position());
      MergeList::Merge merge;
      const bool good = read_merge(scanner, merge);
      lists.unescaped.resize(unescaped);  // without those of the merge
      return good;
    });
    list = MergeList(text, std::move(block_positions), count);
    return valid;
  };
  bool model = false, vocabulary = false, merged = false;
  const auto model_field = [&](std::string_view key) {
    if (key == "vocab") {
      if (std::exchange(vocabulary, true)) return false;
      return scanner.peek() == '{' ? read(lists.ids, "{}", ids) : read(lists.scores, "[]", scores);
    }
    if (key == "merges") return !std::exchange(merged, true) && read(lists.merges, "[]", merges);
    return scanner.skip();
  };
  const bool read_all = scanner.object([&](std::string_view key) {
    if (key != "model" || scanner.peek() != '{') return scanner.skip();
    return !std::exchange(model, true) && scanner.object(model_field);
  });
  if (!read_all || find_invalid_utf8(text) != text.npos) return std::nullopt;
  rest.append(text.substr(copied));
  check_json_depth(rest, "tokenizer.json");
  auto content = nlohmann::json::parse(rest, nullptr, false);
  if (!content.is_object()) return std::nullopt;
  return content;
}

}  // namespace sentencode
