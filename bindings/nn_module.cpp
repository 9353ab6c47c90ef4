#include <torch/csrc/Exceptions.h>
#include <torch/version.h>

#include "errors.h"
#include "module.h"
#include "nn_bindings.h"

SENTENCODE_MODULE(_nn, m) {
  m.doc() = "The compiled half of sentencode with torch.";
  m.attr("torch_version") = TORCH_VERSION;
  // Defines exceptions, word vectors, tokenizers and encoders.
  sentencode::bind_errors(pybind11::module_::import("sentencode._core"));
  // Errors of torch, also where _core calls _nn.
  pybind11::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(std::move(error));
    } catch (python_error& e) {
      e.restore();
    } catch (const c10::Error&) {
      torch::translate_exception_to_python(std::current_exception());
    }
  });
  sentencode::bind_gil(m);
  sentencode::bind_interrupts(m);
  sentencode::bind_threads(m);
  sentencode::bind_laes_on_device(m);
  sentencode::bind_logistic(m);
  sentencode::bind_module_node(m);
  sentencode::bind_communicator(m);
  sentencode::bind_model(m);
  sentencode::bind_trainer(m);
  sentencode::bind_add_norm(m);
  sentencode::bind_additive_attention(m);
  sentencode::bind_attention(m);
  sentencode::bind_character_cnn(m);
  sentencode::bind_conditional_gru(m);
  sentencode::bind_convolution(m);
  sentencode::bind_decoding(m);
  sentencode::bind_embedding(m);
  sentencode::bind_evaluating(m);
  sentencode::bind_generalized_pooling(m);
  sentencode::bind_masked_pooling(m);
  sentencode::bind_recurrent(m);
  sentencode::bind_softmax_loss(m);
  sentencode::bind_heads(m);
  sentencode::bind_neural_encoder(m);
  sentencode::bind_supervised(m);
  sentencode::bind_writing_network(m);
  sentencode::bind_autoencoder(m);
  sentencode::bind_networks(m);
  sentencode::bind_generalized_pooling_network(m);
  sentencode::bind_translation_network(m);
  sentencode::bind_denoising(m);
  sentencode::bind_python_network(m);
}
