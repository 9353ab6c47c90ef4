#pragma once

#include <cstdint>
#include <string_view>

namespace sentencode {

struct LaesOptions {
  enum class Mode { hidden, reconstruction, residual };  // section V.A, V.B, V.C
  enum class Direction { forward, backward, both };      // section V.D
  enum class Combine { sum, concat };                    // eq. 7 and 8, where direction is both
  enum class State {
    recursive,   // h_t = A x_t + B h_(t-1), as the paper encodes
    projection,  // the words' best representation by p numbers, U^T [x_l; x_(l-1); ...]: the same at full
                 // rank
  };

  std::int64_t hidden = 150;  // n_h
  Mode mode = Mode::residual;
  Direction direction = Direction::forward;
  Combine combine = Combine::sum;
  bool center = false;  // the mean word is taken away before, and given back to reconstructions
  State state = State::recursive;
  std::int64_t max_length = 64;  // words of a sentence that are fitted to: memory grows with its square
};

std::string_view name_of(LaesOptions::Mode mode);
std::string_view name_of(LaesOptions::Direction direction);
std::string_view name_of(LaesOptions::Combine combine);
std::string_view name_of(LaesOptions::State state);
LaesOptions::Mode mode_named(std::string_view name);
LaesOptions::Direction direction_named(std::string_view name);
LaesOptions::Combine combine_named(std::string_view name);
LaesOptions::State state_named(std::string_view name);

}  // namespace sentencode
