#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sentencode/models/head.h"
#include "sentencode/models/sentence_network.h"

namespace sentencode::models {

/// A network whose rows a head learns from. Examples are of one sentence or of several, each a field of words
/// that are places among `words`; these are read as NeuralEncoder reads them, so that what is trained on is
/// what is encoded later. All sentences of a batch are encoded together, and each distinct word's row is made
/// once.
class SupervisedModel : public training::Model {
 public:
  SupervisedModel(std::shared_ptr<SentenceNetwork> network, std::shared_ptr<Head> head, Words words);

  training::Loss loss(const training::TensorBatch& batch) override;
  std::vector<std::string> figures() const override { return network_->head_figures(); }
  /// Those of network and head. Words are what they are made from, and no part of a checkpoint.
  training::NamedTensors parameter_tensors() const override;
  training::NamedTensors other_tensors() const override;

 private:
  Sequences sentences_of(const training::TensorBatch& batch) const;             // [sides B, T, F]
  at::Tensor rows_of(const at::Tensor& ids, const at::Tensor& host_ids) const;  // [...] -> [..., F]

  std::shared_ptr<SentenceNetwork> network_;
  std::shared_ptr<Head> head_;
  Words words_;
  bool makes_rows_;
};

}  // namespace sentencode::models
