#pragma once

#include <cstdint>

#include "sentencode/enum_names.h"

namespace sentencode {

struct LaesOptions {
  enum class Mode { hidden, reconstruction, residual };  // section V.A, V.B, V.C
  enum class Direction { forward, backward, both };      // section V.D
  enum class Combine { sum, concat };                    // eq. 7 and 8, if direction is both
  enum class State {
    recursive,   // h_t = A x_t + B h_(t-1), as the paper encodes
    projection,  // U^T [x_l; x_(l-1); ...], the best p-dimensional code of the words; equal at full rank
  };

  std::int64_t hidden = 150;  // n_h
  Mode mode = Mode::residual;
  Direction direction = Direction::forward;
  Combine combine = Combine::sum;
  bool center = false;  // subtract the mean word vector; reconstructions add it again
  State state = State::recursive;
  std::int64_t max_length = 64;  // words of a sentence used by fit: memory grows with its square
};

constexpr EnumNames<3> enum_names(LaesOptions::Mode) {
  return {"mode", {"hidden", "reconstruction", "residual"}};
}
constexpr EnumNames<3> enum_names(LaesOptions::Direction) {
  return {"direction", {"forward", "backward", "both"}};
}
constexpr EnumNames<2> enum_names(LaesOptions::Combine) { return {"combine", {"sum", "concat"}}; }
constexpr EnumNames<2> enum_names(LaesOptions::State) { return {"state", {"recursive", "projection"}}; }

}  // namespace sentencode
