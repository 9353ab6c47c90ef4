#include "nn/ops/softmax_loss/op.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>

#include <limits>

#include "nn/checks.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/nn/softmax_loss.h"
#include "sentencode/nn/sparse_rows.h"

namespace sentencode::nn {
namespace {

using at::Tensor;
using softmax_loss_op::is_half;
using softmax_loss_op::Rows;

/// The type of h, or that of autocast.
at::ScalarType product_type(const Tensor& h) {
  const auto device = h.device().type();
  if (h.scalar_type() != at::kDouble && at::autocast::is_autocast_enabled(device)) {
    return at::autocast::get_autocast_dtype(device);
  }
  return h.scalar_type();
}

void check(const std::string& op, const Tensor& h, const Tensor& weight, const Tensor& bias,
           const Tensor& targets, const Tensor& row_weights) {
  check_tensor(op + ": h", h, Type::floating, {"...", "features"});
  check_tensor(op + ": weight", weight, Type::any, {"words", h.size(-1)});
  TORCH_CHECK_VALUE(weight.size(0) >= 1, op, ": weight must have at least 1 row");
  TORCH_CHECK_VALUE(
      at::autocast::is_autocast_enabled(h.device().type()) || weight.scalar_type() == h.scalar_type(), op,
      ": weight must have the type of h, ", h.dtype(), ", got ", weight.dtype());
  if (bias.defined()) check_tensor(op + ": bias", bias, Type::any, {weight.size(0)});
  const auto shape = h.sizes().slice(0, static_cast<std::size_t>(h.dim() - 1));
  check_tensor(op + ": targets", targets, Type::int64, shape);
  if (!row_weights.defined()) return;
  check_tensor(op + ": row_weights", row_weights, Type::boolean_or_floating, shape);
  TORCH_CHECK_VALUE(!row_weights.requires_grad(), op, ": row_weights must not require a gradient");
}

struct SelectedRows {
  Rows rows;
  Tensor positions;  // [N] among all rows, or undefined if all rows are selected
  Tensor tokens;     // [] int64, rows that count
};

/// On the CPU, the rows that count; elsewhere all rows, with weight 0 for the others, because the host does
/// not wait to know how many they are.
SelectedRows select_rows(const char* op, const Tensor& h, const Tensor& weight, const Tensor& bias,
                         const Tensor& targets, const Tensor& row_weights,
                         const SoftmaxLossOptions& options) {
  check(op, h, weight, bias, targets, row_weights);
  const at::ScalarType products = product_type(h), sums = is_half(products) ? at::kFloat : products;
  Rows rows{h.reshape({-1, h.size(-1)}),
            weight,
            bias,
            targets.reshape({-1}),
            {},
            products,
            sums,
            options.label_smoothing,
            options.chunk_rows};
  Tensor counts = rows.targets != options.ignore_index;  // [N]
  rows.weights = counts.to(sums);
  if (row_weights.defined()) {
    rows.weights = rows.weights * row_weights.reshape({-1}).to(sums);
    counts = rows.weights != 0;
  }
  const Tensor tokens = counts.sum();
  if (options.reduction == Reduction::mean) {
    const Tensor sum = rows.weights.sum();  // []
    rows.weights = rows.weights / sum.masked_fill(sum == 0, 1);
  }
  if (!h.is_cpu()) {
    rows.targets = rows.targets.masked_fill(counts.logical_not(), 0);
    return {rows, {}, tokens};
  }
  Tensor positions;
  if (tokens.item<std::int64_t>() < rows.h.size(0)) {
    positions = counts.nonzero().squeeze(1);
    for (Tensor* tensor : {&rows.h, &rows.targets, &rows.weights}) {
      *tensor = tensor->index_select(0, positions);
    }
  }
  if (rows.targets.numel() > 0) {
    const auto [least, most] = rows.targets.aminmax();
    const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
    TORCH_CHECK_VALUE(low >= 0 && high < weight.size(0), op, ": targets must be from 0 to ",
                      weight.size(0) - 1, " or ignore_index ", options.ignore_index, ", got ",
                      low < 0 ? low : high);
  }
  return {rows, positions, tokens};
}

}  // namespace

SoftmaxLoss softmax_loss(const Tensor& h, const Tensor& weight, const Tensor& b, const Tensor& targets,
                         const Tensor& row_weights, const SoftmaxLossOptions& options) {
  TORCH_CHECK_VALUE(options.label_smoothing >= 0 && options.label_smoothing < 1,
                    "softmax_loss: label_smoothing must be in [0, 1), got ", options.label_smoothing);
  TORCH_CHECK_VALUE(options.chunk_rows >= 0, "softmax_loss: chunk_rows must not be negative, got ",
                    options.chunk_rows);
  const auto [rows, positions, tokens] =
      select_rows("softmax_loss", h, weight, b, targets, row_weights, options);
  const std::vector<Tensor> outputs = softmax_loss_op::differentiable(rows);
  Tensor nll = outputs[1];  // [N]
  if (positions.defined()) {
    nll = at::zeros({targets.numel()}, nll.options()).index_copy_(0, positions, nll);
  } else if (!h.is_cpu()) {
    nll = nll.masked_fill(rows.weights == 0, 0);
  }
  return {outputs[0], nll.view(targets.sizes()), outputs[2], tokens};
}

Tensor sampled_softmax_loss(const Tensor& h, const Tensor& weight, const Tensor& b, const Tensor& targets,
                            const Negatives& negatives, const Tensor& row_weights,
                            const SoftmaxLossOptions& options) {
  const Rows rows = select_rows("sampled_softmax_loss", h, weight, b, targets, row_weights, options).rows;
  check_tensor("sampled_softmax_loss: the expected counts of negatives", negatives.expected, Type::any,
               {weight.size(0)});
  const std::int64_t count = negatives.ids.size(0);
  const Tensor sampled = to_device(negatives.ids, h.device());  // [k]
  // On a GPU, ids below 0 fill up the sample: the host does not know how many there are.
  const Tensor fill = sampled.is_cpu() ? Tensor() : sampled < 0;                                // [k]
  const Tensor ids = at::cat({fill.defined() ? sampled.clamp_min(0) : sampled, rows.targets});  // [k + N]
  const auto vectors = rows_of(weight, ids).split_with_sizes({count, rows.targets.size(0)});
  const Tensor products = at::mm(rows.h.to(rows.products), vectors[0].to(rows.products).t());      // [N, k]
  Tensor correction = negatives.expected.to(h.device()).to(rows.sums).index_select(0, ids).log();  // [k + N]
  if (b.defined()) correction = correction - rows_of(b, ids).to(rows.sums);
  Tensor z_sampled = products.to(rows.sums) - correction.slice(0, 0, count);  // [N, k]
  const Tensor z_target =
      (rows.h.to(rows.sums) * vectors[1].to(rows.sums)).sum(1) - correction.slice(0, count);  // [N]
  Tensor hidden = sampled.unsqueeze(0) == rows.targets.unsqueeze(1);  // [N, k], targets and ids that fill up
  if (fill.defined()) hidden = hidden.logical_or(fill);
  z_sampled = z_sampled.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  const Tensor z = at::cat({z_target.unsqueeze(1), z_sampled}, 1);  // [N, 1 + k]
  return ((z.logsumexp(1) - z_target) * rows.weights).sum();
}

}  // namespace sentencode::nn
