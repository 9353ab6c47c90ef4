#include "encoder.h"

#include "arrays.h"
#include "bindings.h"
#include "paths.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {
namespace {

constexpr std::int64_t kPiece = 1024;  // texts per piece of work

}  // namespace

void encode_into(const Encoder& encoder, const py::object& sentences, py::array out) {
  MatrixView view = writable_matrix_view(out, "out");
  if (!encoder.side_by_side() || !SentencesArgument::holds_texts(sentences)) {
    const SentencesArgument argument(sentences);
    const WithoutGil released;
    encoder.encode(argument.get(), view);
    return;
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sentences.ptr());
  ST_CHECK(view.rows() == count && view.cols() == encoder.dim(), InvalidInput, "out must be [", count, ", ",
           encoder.dim(), "], got [", view.rows(), ", ", view.cols(), "]");
  // Only one thread at a time can read Python objects; the others encode meanwhile.
  const WithoutGil released(/*computes=*/false);  // the pieces do
  parallel_for(0, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    const WithGil acquired;
    const SentencesArgument piece(sentences, begin, end);
    const WithoutGil working;
    encoder.encode(piece.get(), MatrixView(view.row(begin).data(), end - begin, view.cols(),
                                           Eigen::OuterStride<>(view.outerStride())));
  });
}

void bind_encoder(py::module_& m) {
  py::class_<Encoder, std::shared_ptr<Encoder>>(m, "Encoder", "Maps each sentence to an embedding.")
      .def_property_readonly("kind", &Encoder::kind)
      .def_property_readonly("dim", &Encoder::dim)
      .def_property_readonly("side_by_side", &Encoder::side_by_side)
      .def("encode_into", &encode_into, py::arg("sentences"), py::arg("out").noconvert(),
           "Writes embeddings to float32 [n, dim].");
  py::class_<LoadOptions>(m, "LoadOptions", "Options of load_encoder.")
      .def(py::init([](const std::shared_ptr<WordVectors>& vectors, bool trust_vectors, bool verify) {
             return LoadOptions{vectors, trust_vectors, verify};
           }),
           py::kw_only(), py::arg("vectors") = nullptr, py::arg("trust_vectors") = false,
           py::arg("verify") = true);
  m.def(
      "load_encoder",
      [](const Path& path, const LoadOptions& options) {
        return std::shared_ptr<Encoder>(load_encoder(path, options));
      },
      py::arg("path"), py::arg_v("options", LoadOptions{}, "..."), Release(),
      "Loads a saved encoder of any class.");
  m.def(
      "encoder_config", [](const Path& path) { return encoder_config(path); }, py::arg("path"), Release(),
      "The kind, config and params of a saved encoder, as JSON.");
}

}  // namespace sentencode
