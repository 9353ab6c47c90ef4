#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sentencode/models/head.h"
#include "sentencode/models/sentence_network.h"

namespace sentencode::models {

/// A network and a head that is trained on its embeddings. Each field of an example is a sentence, whose ids
/// are rows of `words`, as `read_words` returns them: training reads words as encoding does. All sentences of
/// a batch are encoded together, and word_rows gets each distinct word once.
///
/// In training, each word is left out with the probability `word_dropout`: of all sentences of an example,
/// which would otherwise seem to differ by it. Each sentence keeps a word.
class SupervisedModel : public training::Model {
 public:
  SupervisedModel(std::shared_ptr<SentenceNetwork> network, std::shared_ptr<Head> head, Words words,
                  double word_dropout = 0);

  training::Loss loss(const training::TensorBatch& batch) override;
  /// Embeddings [fields B, dim] of all first sentences, all second ones, ..., without dropout and gradients.
  at::Tensor embed(const training::TensorBatch& batch);
  std::vector<std::string> figures() const override { return network_->head_figures(); }
  /// Parameters of network and head; `words` are not part of checkpoints.
  training::NamedTensors parameter_tensors() const override;
  training::NamedTensors other_tensors() const override;

 private:
  Sequences sentences_of(const training::TensorBatch& batch) const;             // [fields B, T, F]
  at::Tensor rows_of(const at::Tensor& ids, const at::Tensor& host_ids) const;  // [...] -> [..., F]

  std::shared_ptr<SentenceNetwork> network_;
  std::shared_ptr<Head> head_;
  Words words_;
  double word_dropout_;
  bool makes_rows_;
};

}  // namespace sentencode::models
