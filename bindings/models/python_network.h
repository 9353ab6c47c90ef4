// A network that is written in Python, as the core's encoder and trainer see it.
#pragma once

#include <memory>
#include <string>

#include "py.h"
#include "sentencode/models/sentence_network.h"

namespace sentencode {

/// `parts` has
///   dim, features, config (JSON), figures (names)
///   ids (how many; 0: it makes no rows of words), characters (how many), alphabet
///   word_rows(vectors, known, ids, characters or None, evaluating) -> [W, F]
///   encode(x, lengths, mask, evaluating) -> [B, dim]; evaluating: as if not in training
///   end() -> [E] or None
///   loss(fields, labels), train(mode), parameters() and buffers(), as those of PythonModel
class PythonNetwork final : public models::SentenceNetwork {
 public:
  explicit PythonNetwork(py::object parts);
  ~PythonNetwork() override;
  PythonNetwork(const PythonNetwork&) = delete;
  PythonNetwork& operator=(const PythonNetwork&) = delete;

  std::int64_t dim() const override { return dim_; }
  std::int64_t features() const override { return features_; }
  std::string config() const override { return config_; }
  models::WordInputs word_inputs() const override { return inputs_; }
  at::Tensor word_rows(const models::Words& words) override;
  at::Tensor encode(const models::Sequences& sentences) override;
  at::Tensor end() const override;
  training::Loss loss(const training::TensorBatch& batch) override { return model_->loss(batch); }
  std::vector<std::string> figures() const override { return model_->figures(); }
  void train(bool on) override { model_->train(on); }
  training::NamedTensors parameter_tensors() const override { return model_->parameter_tensors(); }
  training::NamedTensors other_tensors() const override { return model_->other_tensors(); }
  const py::object& parts() const { return parts_; }

 private:
  py::object parts_;
  std::shared_ptr<training::Model> model_;
  std::int64_t dim_, features_;
  std::string config_;
  models::WordInputs inputs_;
};

}  // namespace sentencode
