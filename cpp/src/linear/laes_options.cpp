#include "sentencode/linear/laes_options.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sentencode/error.h"

namespace sentencode {
namespace {

using Options = LaesOptions;

// The names of options, in the order of their values.
constexpr std::array<std::string_view, 3> kModes{"hidden", "reconstruction", "residual"};
constexpr std::array<std::string_view, 3> kDirections{"forward", "backward", "both"};
constexpr std::array<std::string_view, 2> kCombines{"sum", "concat"};
constexpr std::array<std::string_view, 2> kStates{"recursive", "projection"};

template <typename Value, std::size_t N>
Value value_named(const char* option, const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string all;
    for (const auto known : names) all += concat(all.empty() ? "'" : ", '", known, "'");
    throw InvalidInput(concat(option, " must be one of ", all, ", got '", name, "'"));
  }
  return static_cast<Value>(found - names.begin());
}

}  // namespace

std::string_view name_of(Options::Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view name_of(Options::Direction direction) {
  return kDirections[static_cast<std::size_t>(direction)];
}
std::string_view name_of(Options::Combine combine) { return kCombines[static_cast<std::size_t>(combine)]; }
std::string_view name_of(Options::State state) { return kStates[static_cast<std::size_t>(state)]; }
Options::Mode mode_named(std::string_view name) { return value_named<Options::Mode>("mode", kModes, name); }
Options::Direction direction_named(std::string_view name) {
  return value_named<Options::Direction>("direction", kDirections, name);
}
Options::Combine combine_named(std::string_view name) {
  return value_named<Options::Combine>("combine", kCombines, name);
}
Options::State state_named(std::string_view name) {
  return value_named<Options::State>("state", kStates, name);
}

}  // namespace sentencode
