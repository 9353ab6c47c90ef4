#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "sentencode/nn/sequences.h"
#include "sentencode/training/model.h"

namespace sentencode::models {

using nn::Sequences;

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

  /// Its kind and options as JSON, of which `make_network` makes a network alike, with other weights: by the
  /// table of networks.h, if it is one of these.
  virtual std::string config() const;
};

}  // namespace sentencode::models
