// Functions that define the classes of `_nn`, each in the file of its class.
#pragma once

#include <pybind11/pybind11.h>

namespace sentencode {

namespace py = pybind11;

void bind_add_norm(py::module_& m);
void bind_additive_attention(py::module_& m);
void bind_attention(py::module_& m);
void bind_autoencoder(py::module_& m);
void bind_character_cnn(py::module_& m);
void bind_communicator(py::module_& m);
void bind_conditional_gru(py::module_& m);
void bind_convolution(py::module_& m);
void bind_decoding(py::module_& m);
void bind_denoising(py::module_& m);
void bind_embedding(py::module_& m);
void bind_evaluating(py::module_& m);
void bind_heads(py::module_& m);
void bind_interrupts(py::module_& m);
void bind_generalized_pooling(py::module_& m);
void bind_generalized_pooling_network(py::module_& m);
void bind_translation_network(py::module_& m);
void bind_gil(py::module_& m);
void bind_laes_on_device(py::module_& m);
void bind_logistic(py::module_& m);
void bind_masked_pooling(py::module_& m);
void bind_model(py::module_& m);
void bind_module_node(py::module_& m);
void bind_networks(py::module_& m);
void bind_neural_encoder(py::module_& m);
void bind_python_network(py::module_& m);
void bind_recurrent(py::module_& m);
void bind_softmax_loss(py::module_& m);
void bind_supervised(py::module_& m);
void bind_threads(py::module_& m);
void bind_trainer(py::module_& m);
void bind_writing_network(py::module_& m);

}  // namespace sentencode
