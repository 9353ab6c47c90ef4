#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "sentencode/training/model.h"

namespace sentencode::models {

/// Sentences as the vectors of their words, at the left.
struct Sequences {
  at::Tensor x;        // [B, T, E]; zero where there is no word
  at::Tensor lengths;  // [B] int64
  at::Tensor mask;     // [B, T] bool

  /// x may hold anything where there is no word.
  static Sequences of(const at::Tensor& x, const at::Tensor& lengths);
};

/// What makes one vector of those of a sentence's words. All that is not this is the same for every family:
/// where words' vectors come from, which sentences share a batch, how it is saved.
class SentenceNetwork : public training::Model {
 public:
  using Model::Model;

  virtual std::int64_t features() const = 0;  // E
  virtual std::int64_t dim() const = 0;
  /// -> [B, dim]. A sentence's row depends on nothing but the sentence.
  virtual at::Tensor encode(const Sequences& sentences) = 0;
  /// The vector behind a sentence's last word, [E]; undefined where sentences have no end.
  virtual at::Tensor end() const { return {}; }

  /// Its kind and options as JSON, of which `make_network` makes a network alike, with other weights.
  virtual std::string config() const = 0;
};

/// InvalidInput where the JSON is none, or has an unknown kind, key or value.
std::shared_ptr<SentenceNetwork> make_network(const std::string& config);

}  // namespace sentencode::models
