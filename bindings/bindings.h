// Functions that define the classes of `_core`, each in the file of its class.
#pragma once

#include <pybind11/pybind11.h>

#include "gil.h"

namespace sentencode {

namespace py = pybind11;

void bind_average(py::module_& m);
void bind_batcher(py::module_& m);
void bind_common_directions(py::module_& m);
void bind_corpus(py::module_& m);
void bind_distillation(py::module_& m);
void bind_encoder(py::module_& m);
void bind_examples(py::module_& m);
void bind_interrupts(py::module_& m);
void bind_gil(py::module_& m);
void bind_laes(py::module_& m);
void bind_linear_encoder(py::module_& m);
void bind_files(py::module_& m);
void bind_frequencies(py::module_& m);
void bind_metrics(py::module_& m);
void bind_parallel(py::module_& m);
void bind_read_vectors(py::module_& m);
void bind_safetensors(py::module_& m);
void bind_search(py::module_& m);
void bind_sentences(py::module_& m);
void bind_sif(py::module_& m);
void bind_split_sentences(py::module_& m);
void bind_tokenizer(py::module_& m);
void bind_train_table(py::module_& m);
void bind_training(py::module_& m);
void bind_usif(py::module_& m);
void bind_version(py::module_& m);
void bind_vocabulary(py::module_& m);
void bind_vocabulary_counter(py::module_& m);
void bind_word_vectors(py::module_& m);

}  // namespace sentencode
