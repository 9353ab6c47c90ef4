// Options of networks by name. Each family lists its own once, beside them, by a function
//   for_options(options, visit): visit(name, member) for each
// and files, bindings and Python's signatures are read and written by these lists.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "sentencode/nn/generalized_pooling.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/pooling.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

template <typename T, typename Options>
concept OptionsOf = std::same_as<std::remove_const_t<T>, Options>;

// Choices have names. Those of one family have theirs beside them.
inline void parse(std::string_view name, nn::Pooling& choice) { choice = nn::parse_pooling(name); }
inline void parse(std::string_view name, nn::Activation& choice) { choice = nn::parse_activation(name); }
inline void parse(std::string_view name, nn::Cell& choice) { choice = nn::parse_cell(name); }
inline void parse(std::string_view name, nn::Shortcuts& choice) { choice = nn::parse_shortcuts(name); }
inline void parse(std::string_view name, nn::Penalty& choice) { choice = nn::parse_penalty(name); }
inline std::string_view name_of(nn::Pooling choice) { return nn::pooling_name(choice); }
inline std::string_view name_of(nn::Activation choice) { return nn::activation_name(choice); }
inline std::string_view name_of(nn::Cell choice) { return nn::cell_name(choice); }
inline std::string_view name_of(nn::Shortcuts choice) { return nn::shortcuts_name(choice); }
inline std::string_view name_of(nn::Penalty choice) { return nn::penalty_name(choice); }

}  // namespace sentencode::models
