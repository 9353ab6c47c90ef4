// The conditional GRU on CPUs, over packed sentences, with a gradient.
//
// op.cpp has the checks, autograd.cpp the gradient, cpu.cpp the passes over the words, attention.cpp the
// attention of one word.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "nn/packed_order.h"
#include "sentencode/nn/conditional_gru.h"

namespace sentencode::nn {

/// The weights of a ConditionalGRU: of both GRUs as for LibTorch's functions (W, U, b_W, b_U), and the
/// attention's query W [A, H] and score v [1, A], undefined without attention.
struct ConditionalWeights {
  std::vector<at::Tensor> word, context;
  at::Tensor query, score;
};

/// Whether the functions below support these tensors: all float or all double on the CPU, without autocast.
bool supports_conditional_gru(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                              const ConditionalWeights& weights);

/// ConditionalGRU::forward as one autograd function. Threads process sentences independently; products that
/// need no state, and those of the weights' gradients, are of all words at once. Saves a few rows per word;
/// backward computes the tanh of the attention again. It cannot be differentiated twice.
///   x [N, E], rows of `order`; state [B, H]; memory of `project`; memory_mask [B, S] bool or undefined
///   -> states [N, H], contexts [N, D], weights [N, S]; without attention only the states
ConditionalStates conditional_gru(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                                  const at::Tensor& memory_mask,
                                  const std::shared_ptr<const PackedOrder>& order,
                                  const ConditionalWeights& weights);

/// ConditionalGRU::step without gradients; threads process hypotheses independently.
ConditionalStates conditional_gru_step(const at::Tensor& x, const at::Tensor& state, const KeysValues& memory,
                                       const at::Tensor& memory_mask, const ConditionalWeights& weights);

namespace conditional_gru_op {

/// The inputs, in the order of their gradients; empty tensors without attention.
enum Input : std::size_t {
  kX,
  kState,
  kKeys,
  kValues,
  kWordW,
  kWordU,
  kWordBiasW,
  kWordBiasU,
  kContextW,
  kContextU,
  kContextBiasW,
  kContextBiasU,
  kQuery,
  kScore,
  kInputs,
};

/// The outputs, and what is saved for backward; contexts, weights and queries are empty without attention.
enum Output : std::size_t {
  kStates,        // [N, H], s_t
  kContexts,      // [N, D]
  kWeights,       // [N, S]
  kQueries,       // [N, A], W s'_t
  kIntermediate,  // [N, H], s'_t
  kWordGates,     // [N, 4 H]
  kContextGates,  // [N, 4 H]
};

/// `inputs` are contiguous; `mask` [B, S] is contiguous or undefined. -> the tensors of Output
std::vector<at::Tensor> forward_cpu(const PackedOrder& order, const std::vector<at::Tensor>& inputs,
                                    const at::Tensor& mask);
/// `grads` are the gradients of states, contexts and weights -> the gradients of the inputs.
std::vector<at::Tensor> backward_cpu(const PackedOrder& order, const std::vector<at::Tensor>& inputs,
                                     const at::Tensor& mask, const std::vector<at::Tensor>& outputs,
                                     const std::vector<at::Tensor>& grads, bool needs_grad_x);

/// forward_cpu as a function with a gradient -> states, contexts, weights
std::vector<at::Tensor> differentiable(const std::vector<at::Tensor>& inputs, const at::Tensor& mask,
                                       const std::shared_ptr<const PackedOrder>& order);

}  // namespace conditional_gru_op
}  // namespace sentencode::nn
