#include "sentencode/training/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "sentencode/enum_names.h"
#include "sentencode/error.h"

namespace sentencode::training {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"adam", "adamw", "sgd", "rmsprop", "adagrad"};

/// The values of a gradient, to be changed in place; for a sparse one those of its rows, each row once [k,
/// D].
at::Tensor gradient_values(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  if (!gradient.is_sparse()) return gradient;
  if (!gradient.is_coalesced()) parameter.mutable_grad() = gradient.coalesce();
  return parameter.grad()._values();
}

std::optional<at::Tensor> as_optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// Tensors of one scalar type, as the fused kernels take them.
struct Lists {
  std::vector<at::Tensor> parameters, gradients, steps;
  std::array<std::vector<at::Tensor>, 2> moments;

  std::vector<at::Tensor> written(std::size_t i) const {
    std::vector<at::Tensor> tensors{parameters[i]};
    for (const auto& moment : moments) {
      if (!moment.empty()) tensors.push_back(moment[i]);
    }
    return tensors;
  }
};

/// A contiguous copy that a step changes instead of a tensor or of its rows.
struct Copy {
  at::Tensor original, rows, copy;  // [V, D]; [k] int64, undefined: all rows; [k, D]
};

/// Step `i` of SGD, RMSprop or Adagrad, by the operations of torch.optim in their order.
void unfused_step(const OptimizerOptions& options, const Lists& lists, std::size_t i, double rate) {
  const at::Tensor& p = lists.parameters[i];
  at::Tensor g = lists.gradients[i];
  if (options.weight_decay != 0) g = g.add(p, options.weight_decay);
  if (options.name == "sgd") {
    p.add_(options.momentum == 0 ? g : lists.moments[0][i].mul_(options.momentum).add_(g), -rate);
    return;
  }
  const at::Tensor& square = lists.moments[0][i];
  if (options.name == "adagrad") {
    square.addcmul_(g, g);
  } else {
    constexpr double kAlpha = 0.99;
    square.mul_(kAlpha).addcmul_(g, g, 1 - kAlpha);
  }
  const at::Tensor root = square.sqrt().add_(options.epsilon);
  if (options.momentum == 0) {
    p.addcdiv_(g, root, -rate);
  } else {
    p.add_(lists.moments[1][i].mul_(options.momentum).addcdiv_(g, root), -rate);
  }
}

}  // namespace

void OptimizerOptions::check() const {
  if (std::ranges::find(kNames, name) == kNames.end()) refuse_name("optimizer", kNames, name);
  ST_CHECK(beta1 >= 0 && beta1 < 1, InvalidInput, "beta1 must be in [0, 1), got ", beta1);
  ST_CHECK(beta2 >= 0 && beta2 < 1, InvalidInput, "beta2 must be in [0, 1), got ", beta2);
  ST_CHECK(momentum >= 0 && momentum < 1, InvalidInput, "momentum must be in [0, 1), got ", momentum);
  ST_CHECK(momentum == 0 || name == "sgd" || name == "rmsprop", InvalidInput, "momentum: ", name,
           " has none");
  ST_CHECK(epsilon >= 0 && std::isfinite(epsilon), InvalidInput, "epsilon must not be negative, got ",
           epsilon);
  ST_CHECK(weight_decay >= 0 && std::isfinite(weight_decay), InvalidInput,
           "weight_decay must not be negative, got ", weight_decay);
  if (!sparse_rows) return;
  ST_CHECK(name != "rmsprop", InvalidInput,
           "sparse_rows: optimizer must be 'adam', 'adamw', 'sgd' or 'adagrad', got 'rmsprop'");
  ST_CHECK(momentum == 0 && weight_decay == 0, InvalidInput,
           "sparse_rows: momentum and weight_decay must be 0, because they change rows without a gradient; "
           "got ",
           momentum, " and ", weight_decay);
}

Optimizer::Optimizer(const NamedTensors& parameters, const OptimizerOptions& options) : options_(options) {
  options_.check();
  for (const auto& [name, tensor] : parameters) {
    if (tensor.requires_grad()) parameters_.emplace_back(name, tensor);
  }
  ST_CHECK(!parameters_.empty(), InvalidInput, "there is no parameter to train: none requires a gradient");
  states_.resize(parameters_.size());
  if (is_adam()) {
    moment_names_ = {"exp_avg", "exp_avg_sq"};
  } else if (options_.name != "sgd") {
    moment_names_ = {options_.name == "rmsprop" ? "square_avg" : "sum"};
  }
  if (options_.momentum > 0) moment_names_.emplace_back("momentum_buffer");
}

void Optimizer::step(double rate, const GradientScale& scale) {
  const at::NoGradGuard guard;
  std::map<at::ScalarType, Lists> lists_of_types;
  std::vector<Copy> copies;
  // Kernels require contiguous memory; of a sparse gradient they see its rows alone.
  const auto contiguous = [&](const at::Tensor& tensor, const at::Tensor& rows) {
    if (!rows.defined() && tensor.is_contiguous()) return tensor;
    copies.push_back({tensor, rows, rows.defined() ? tensor.index_select(0, rows) : tensor.contiguous()});
    return copies.back().copy;
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].second;
    if (!tensor.grad().defined()) continue;
    State& state = states_[i];
    if (!state.step.defined()) {
      state.step = at::zeros({}, tensor.options().dtype(at::kFloat).requires_grad(false));
      for (std::size_t m = 0; m < moment_names_.size(); ++m)
        state.moments.push_back(at::zeros_like(tensor, at::MemoryFormat::Contiguous));
    }
    Lists& lists = lists_of_types[tensor.scalar_type()];
    const at::Tensor values = gradient_values(tensor);
    const at::Tensor rows = tensor.grad().is_sparse() ? tensor.grad()._indices()[0] : at::Tensor();  // [k]
    lists.parameters.push_back(contiguous(tensor, rows));
    lists.gradients.push_back(values.contiguous());
    lists.steps.push_back(state.step);
    for (std::size_t m = 0; m < state.moments.size(); ++m)
      lists.moments[m].push_back(contiguous(state.moments[m], rows));
  }
  for (const auto& [type, lists] : lists_of_types) {
    if (scale.skip.defined()) {
      at::_foreach_add_(lists.steps, 1 - scale.skip);
    } else {
      at::_foreach_add_(lists.steps, 1);
    }
    const bool fused = is_adam() || (options_.name == "sgd" && scale.skip.defined());
    at::Tensor divisor = scale.divisor;
    if (divisor.defined() && (!fused || type == at::kDouble)) {  // fused kernels have a float divisor
      at::_foreach_mul_(lists.gradients, divisor.reciprocal());
      divisor = at::Tensor();
    }
    if (divisor.defined()) divisor = divisor.to(at::kFloat);
    const OptimizerOptions& o = options_;
    if (is_adam()) {
      const auto adam = o.name == "adam" ? &at::_ops::_fused_adam_::call : &at::_ops::_fused_adamw_::call;
      adam(lists.parameters, lists.gradients, lists.moments[0], lists.moments[1], {}, lists.steps, rate,
           o.beta1, o.beta2, o.weight_decay, o.epsilon, /*amsgrad=*/false, /*maximize=*/false,
           as_optional(divisor), as_optional(scale.skip));
    } else if (fused) {
      at::_ops::_fused_sgd_::call(lists.parameters, lists.gradients, lists.moments[0], o.weight_decay,
                                  o.momentum, rate, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                                  /*is_first_step=*/false, as_optional(divisor), scale.skip);
    } else {
      for (std::size_t i = 0; i < lists.parameters.size(); ++i) {
        std::vector<at::Tensor> before;
        if (scale.skip.defined()) {
          for (const at::Tensor& tensor : lists.written(i)) before.push_back(tensor.clone());
        }
        unfused_step(o, lists, i, rate);
        // Restores what a skipped step has written, without waiting for the device.
        const std::vector<at::Tensor> written = lists.written(i);
        for (std::size_t t = 0; t < before.size(); ++t)
          written[t].copy_(at::where(scale.skip.to(at::kBool), before[t], written[t]));
      }
    }
  }
  for (const auto& [original, rows, copy] : copies) {
    if (rows.defined()) {
      original.index_copy_(0, rows, copy);
    } else {
      original.copy_(copy);
    }
  }
}

void Optimizer::zero_grad() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
}

NamedTensors Optimizer::state() const {
  NamedTensors tensors;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    const State& state = states_[i];
    if (!state.step.defined()) continue;
    if (options_.name != "sgd") tensors.emplace_back("step." + name, state.step.to(at::kLong));
    for (std::size_t m = 0; m < moment_names_.size(); ++m)
      tensors.emplace_back(moment_names_[m] + "." + name, state.moments[m]);
  }
  return tensors;
}

void Optimizer::restore(const std::map<std::string, at::Tensor>& saved) {
  const at::NoGradGuard guard;
  std::vector<std::string> members = moment_names_;
  if (options_.name != "sgd") members.insert(members.begin(), "step");
  std::size_t used = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    const auto key = [&, &parameter = name](const std::string& member) { return member + "." + parameter; };
    states_[i] = {};
    const auto is_saved = [&](const std::string& member) { return saved.contains(key(member)); };
    if (std::ranges::none_of(members, is_saved)) continue;
    states_[i].step = at::zeros({}, tensor.options().dtype(at::kFloat).requires_grad(false));
    for (const std::string& member : members) {
      ST_CHECK(is_saved(member), FormatError, "optimizer state: ", key(member), " is missing");
      const at::Tensor& value = saved.at(key(member));
      ++used;
      if (member == "step") {
        ST_CHECK(value.numel() == 1 && value.scalar_type() == at::kLong, FormatError,
                 "optimizer state: ", key(member), " must be one int64");
        states_[i].step.fill_(value.item<std::int64_t>());
        continue;
      }
      ST_CHECK(value.sizes() == tensor.sizes(), FormatError, "optimizer state: ", key(member), " has shape ",
               value.sizes(), ", its parameter ", tensor.sizes());
      states_[i].moments.push_back(value.to(tensor.options()).clone(at::MemoryFormat::Contiguous));
    }
  }
  ST_CHECK(used == saved.size(), FormatError, "optimizer state: only ", used, " of ", saved.size(),
           " tensors belong to ", options_.name, " and these parameters");
}

Clipped clip(const NamedTensors& parameters, const at::Tensor& factor, const Clipping& clipping) {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> gradients;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.grad().defined()) gradients.push_back(gradient_values(tensor));
  }
  if (gradients.empty()) return {at::zeros_like(factor), factor.reciprocal()};
  at::Tensor norms = at::stack(at::_foreach_norm(gradients, 2)).to(at::kDouble) * factor;  // [tensors]
  const at::Tensor norm = norms.norm();
  at::Tensor scale = factor;
  if (clipping.each_norm > 0) {
    const at::Tensor scales = (clipping.each_norm / norms.clamp_min(1e-30)).clamp_max(1) * factor;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i].mul_(scales[static_cast<std::int64_t>(i)]);
    norms = norms.clamp_max(clipping.each_norm);
    scale = at::ones_like(factor);
  }
  if (clipping.global_norm > 0) {
    scale = scale * (clipping.global_norm / norms.norm().clamp_min(1e-30)).clamp_max(1);
  }
  return {norm, scale.reciprocal()};
}

}  // namespace sentencode::training
