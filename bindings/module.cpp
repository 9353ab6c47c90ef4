#include "module.h"

#include "bindings.h"
#include "errors.h"

SENTENCODE_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "The compiled half of sentencode without torch.";
  // In order of dependence, so that signatures name classes.
  sentencode::define_errors(m);
  sentencode::bind_errors(m);
  sentencode::bind_gil(m);
  sentencode::bind_interrupts(m);
  sentencode::bind_parallel(m);
  sentencode::bind_version(m);
  sentencode::bind_files(m);
  sentencode::bind_safetensors(m);

  sentencode::bind_sentences(m);
  sentencode::bind_split_sentences(m);
  sentencode::bind_tokenizer(m);
  sentencode::bind_corpus(m);
  sentencode::bind_vocabulary(m);
  sentencode::bind_vocabulary_counter(m);

  sentencode::bind_word_vectors(m);
  sentencode::bind_frequencies(m);
  sentencode::bind_read_vectors(m);
  sentencode::bind_training(m);
  sentencode::bind_distillation(m);

  sentencode::bind_examples(m);
  sentencode::bind_batcher(m);

  sentencode::bind_encoder(m);
  sentencode::bind_linear_encoder(m);
  sentencode::bind_average(m);
  sentencode::bind_train_table(m);
  sentencode::bind_common_directions(m);
  sentencode::bind_sif(m);
  sentencode::bind_usif(m);
  sentencode::bind_laes(m);

  sentencode::bind_metrics(m);
  sentencode::bind_search(m);
}
