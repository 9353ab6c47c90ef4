#include "sentencode/training/example_options.h"

#include <cstddef>

#include "sentencode/error.h"

namespace sentencode {
namespace {

constexpr std::string_view kUnknownNames[] = {"symbol", "drop_word", "drop_example"};
constexpr std::string_view kTooLongNames[] = {"drop", "truncate"};

template <typename E, std::size_t n>
E value_named(std::string_view name, std::string_view what, const std::string_view (&names)[n]) {
  std::string expected;
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<E>(i);
    expected += concat(expected.empty() ? "'" : ", '", names[i], "'");
  }
  throw InvalidInput(concat(what, ": expected one of ", expected, ", got '", name, "'"));
}

}  // namespace

std::string_view name_of(UnknownWords unknown) { return kUnknownNames[static_cast<std::size_t>(unknown)]; }
std::string_view name_of(TooLong too_long) { return kTooLongNames[static_cast<std::size_t>(too_long)]; }
UnknownWords unknown_words_named(std::string_view name) {
  return value_named<UnknownWords>(name, "unknown_words", kUnknownNames);
}
TooLong too_long_named(std::string_view name) {
  return value_named<TooLong>(name, "too_long", kTooLongNames);
}

}  // namespace sentencode
