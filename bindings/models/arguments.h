// Constructors of networks have a dozen arguments, most of them in common: each group is read in one place.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>

#include "sentencode/error.h"
#include "sentencode/models/autoencoder.h"
#include "sentencode/models/latent_attention.h"

namespace sentencode {

namespace py = pybind11;

/// Keyword arguments, every one of which is to be there and to be taken.
class Arguments {
 public:
  explicit Arguments(const py::kwargs& given) : left_(given.attr("copy")()) {}

  template <typename T>
  T take(const char* name) {
    if (!left_.contains(name)) throw py::type_error(concat("missing argument '", name, "'"));
    return left_.attr("pop")(name).cast<T>();
  }
  std::int64_t integer(const char* name) { return take<std::int64_t>(name); }
  double number(const char* name) { return take<double>(name); }
  bool truth(const char* name) { return take<bool>(name); }
  std::string text(const char* name) { return take<std::string>(name); }

  void finish() const {
    for (const auto& [name, value] : left_) {
      throw py::type_error(concat("unknown argument '", name.cast<std::string>(), "'"));
    }
  }

 private:
  py::dict left_;
};

inline models::AutoencoderOptions autoencoder_options(Arguments& given) {
  return {.words = given.integer("words"),
          .features = given.integer("features"),
          .begin = given.integer("begin"),
          .end = given.integer("end"),
          .trainable_words = given.truth("trainable_words"),
          .label_smoothing = given.number("label_smoothing"),
          .sampled_words = given.integer("sampled_words")};
}

inline models::LayerOptions layer_options(Arguments& given) {
  return {.hidden = given.integer("hidden"),
          .inner = given.integer("inner"),
          .heads = given.integer("heads"),
          .dropout = given.number("dropout"),
          .dropout_place = models::parse_dropout_place(given.text("dropout_place")),
          .projection = nn::parse_activation(given.text("projection")),
          .output_projection = given.truth("output_projection"),
          .epsilon = given.number("epsilon")};
}

/// The Python class of a network. `options(arguments)` gives what its constructor wants beside the words.
template <typename Network, typename Options>
py::class_<Network, models::Autoencoder, std::shared_ptr<Network>> bind_autoencoder_class(py::module_& m,
                                                                                          const char* name,
                                                                                          const char* doc,
                                                                                          Options options) {
  return py::class_<Network, models::Autoencoder, std::shared_ptr<Network>>(m, name, doc)
      .def(py::init([options](const py::kwargs& given) {
        Arguments arguments(given);
        const models::AutoencoderOptions words = autoencoder_options(arguments);
        const auto own = options(arguments);
        arguments.finish();
        return std::make_shared<Network>(words, own);
      }));
}

}  // namespace sentencode
