#include "sentencode/models/supervised.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "nn/to_device.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/training/permutation.h"

namespace sentencode::models {

using at::Tensor;

namespace {

template <typename OrderedDict>
training::NamedTensors joined(const training::NamedTensors& network, const OrderedDict& head) {
  training::NamedTensors all;
  for (const auto& [name, tensor] : network) all.emplace_back("network." + name, tensor);
  for (const auto& item : head) all.emplace_back("head." + item.key(), item.value());
  return all;
}

/// Batches from Python may have tensors on the device alone.
Tensor on_host(const Tensor& host, const Tensor& device) { return host.defined() ? host : device.cpu(); }

/// The batch without the words that `word_dropout` leaves out.
training::TensorBatch with_word_dropout(training::TensorBatch batch, double word_dropout) {
  constexpr int kTries = 100;
  for (training::TokenTensors& field : batch.fields) {
    field.host_ids = on_host(field.host_ids, field.ids).clone(at::MemoryFormat::Contiguous);
    field.host_lengths = on_host(field.host_lengths, field.lengths).clone(at::MemoryFormat::Contiguous);
  }
  const Tensor bits = at::empty({batch.size}, at::kLong).random_();
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const auto length = [&](const training::TokenTensors& field) -> std::int64_t& {
      return field.host_lengths.mutable_data_ptr<std::int64_t>()[i];
    };
    const auto words = [&](const training::TokenTensors& field) {
      auto* const row = field.host_ids.mutable_data_ptr<std::int64_t>() + i * field.host_ids.size(1);
      return std::span(row, static_cast<std::size_t>(length(field)));
    };
    auto key = static_cast<std::uint64_t>(bits.const_data_ptr<std::int64_t>()[i]);
    const auto drops = [&](std::int64_t id) {
      return uniform(mixed(key, static_cast<std::uint64_t>(id))) < word_dropout;
    };
    const auto loses_all = [&](const auto& field) { return std::ranges::all_of(words(field), drops); };
    int tries = 0;
    while (std::ranges::any_of(batch.fields, loses_all) && ++tries < kTries) key = mixed(key, 0);
    if (tries == kTries) continue;
    for (const auto& field : batch.fields) {
      length(field) -= std::ssize(std::ranges::remove_if(words(field), drops));
    }
  }
  for (training::TokenTensors& field : batch.fields) {
    field.ids = nn::to_device(field.host_ids, field.ids.device());
    field.lengths = nn::to_device(field.host_lengths, field.lengths.device());
    field.full = false;
  }
  return batch;
}

}  // namespace

SupervisedModel::SupervisedModel(std::shared_ptr<SentenceNetwork> network, std::shared_ptr<Head> head,
                                 Words words, double word_dropout)
    : Model("SupervisedModel"),
      network_(register_module("network", std::move(network))),
      head_(register_module("head", std::move(head))),
      words_(std::move(words)),
      word_dropout_(word_dropout),
      makes_rows_(network_->word_inputs().ids > 0) {
  const std::int64_t count = words_.vectors.size(0);
  TORCH_CHECK_VALUE(words_.vectors.dim() == 2 && words_.vectors.size(1) == network_->features(),
                    "SupervisedModel: word vectors must be [words, ", network_->features(), "], got ",
                    words_.vectors.sizes());
  TORCH_CHECK_VALUE(words_.known.size(0) == count && words_.ids.size(0) == count &&
                        (network_->word_inputs().characters == 0 || words_.characters.defined()),
                    "SupervisedModel: known, ids and characters must be of ", count, " words");
}

Tensor SupervisedModel::rows_of(const Tensor& ids, const Tensor& host_ids) const {
  std::vector<std::int64_t> shape = ids.sizes().vec();
  const Tensor flat = ids.reshape({-1});
  Tensor rows;  // [words of the batch, F]
  if (makes_rows_) {
    // On the host: a device would have to be waited for to know their number.
    const auto [words, inverse, counts] =
        at::_unique2(host_ids.reshape({-1}), /*sorted=*/true, /*return_inverse=*/true);
    const Tensor distinct = nn::to_device(words, ids.device());
    const auto of = [&](const Tensor& x) { return x.defined() ? x.index_select(0, distinct) : x; };
    rows = network_->word_rows({of(words_.vectors), of(words_.known), of(words_.ids), of(words_.characters)})
               .index_select(0, nn::to_device(inverse, ids.device()));
  } else {
    rows = words_.vectors.index_select(0, flat);
  }
  shape.push_back(rows.size(1));
  return rows.view(shape);
}

Sequences SupervisedModel::sentences_of(const training::TensorBatch& batch) const {
  std::int64_t width = 0;
  for (const auto& field : batch.fields) width = std::max(width, field.ids.size(1));
  std::vector<Tensor> ids, lengths, host_ids, host_lengths;
  bool full = true;
  const auto padded = [&](const Tensor& x) { return at::constant_pad_nd(x, {0, width - x.size(1)}); };
  for (const auto& field : batch.fields) {
    ids.push_back(padded(field.ids));
    lengths.push_back(field.lengths);
    host_ids.push_back(padded(on_host(field.host_ids, field.ids)));
    host_lengths.push_back(on_host(field.host_lengths, field.lengths));
    full = full && field.full && field.ids.size(1) == width;
  }
  Tensor x = rows_of(at::cat(ids), at::cat(host_ids));  // [fields B, T, F]
  Tensor length = at::cat(lengths);                     // [fields B]
  Tensor host_length = at::cat(host_lengths);           // [fields B]
  if (const Tensor end = network_->end(); end.defined()) {
    x = at::constant_pad_nd(x, {0, 0, 0, 1});                             // [fields B, T + 1, F]
    const Tensor positions = at::arange(width + 1, length.options());     // [T + 1]
    const Tensor ends = (positions == length.unsqueeze(1)).unsqueeze(2);  // [fields B, T + 1, 1]
    x = at::where(ends, end.to(x), x);
    length = length + 1;
    host_length = host_length + 1;
  }
  return Sequences::of(x, length, full, host_length);
}

training::Loss SupervisedModel::loss(const training::TensorBatch& batch) {
  const auto sides = static_cast<std::int64_t>(batch.fields.size());
  const bool drops = word_dropout_ > 0 && nn::trains(*this);
  const Sequences sentences = sentences_of(drops ? with_word_dropout(batch, word_dropout_) : batch);
  Encoded encoded = network_->encode_for_head(sentences, sides);  // [fields B, dim]
  std::vector<Tensor> z;
  for (std::int64_t side = 0; side < sides; ++side) {
    z.push_back(encoded.rows.narrow(0, side * batch.size, batch.size));  // [B, dim]
  }
  training::Loss loss = head_->loss(z, batch.labels);
  if (encoded.penalty.defined()) loss.sum = loss.sum + loss.count * encoded.penalty;
  loss.figures = encoded.figures;
  return loss;
}

Tensor SupervisedModel::embed(const training::TensorBatch& batch) {
  const at::NoGradGuard no_gradients;
  const nn::Evaluating evaluating;
  return network_->encode(sentences_of(batch));
}

training::NamedTensors SupervisedModel::parameter_tensors() const {
  return joined(network_->parameter_tensors(), head_->named_parameters());
}

training::NamedTensors SupervisedModel::other_tensors() const {
  return joined(network_->other_tensors(), head_->named_buffers());
}

}  // namespace sentencode::models
