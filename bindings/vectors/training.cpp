#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/text/vocabulary.h"
#include "sentencode/vectors/cooccurrence.h"
#include "sentencode/vectors/train.h"

namespace sentencode {
namespace {

template <typename T>
using Numbers = py::array_t<T, py::array::c_style>;

template <typename T>
std::vector<T> vector_of(const Numbers<T>& array, const char* name) {
  ST_CHECK(array.ndim() == 1 && (array.size() > 0 || std::string_view(name) != "offsets"), InvalidInput, name,
           " must have one dimension, and offsets a first number");
  return {array.data(), array.data() + array.size()};
}

template <typename T>
py::array_t<T> copy_of(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

}  // namespace

void bind_training(py::module_& m) {
  py::class_<SparseMatrix>(m, "SparseMatrix", "Counts of word pairs, by rows.")
      .def_property_readonly("shape",
                             [](const SparseMatrix& self) { return py::make_tuple(self.rows(), self.cols); })
      .def_property_readonly("nonzeros", &SparseMatrix::nonzeros)
      .def(
          "arrays",
          [](const SparseMatrix& self) {
            return py::make_tuple(copy_of(self.values), copy_of(self.columns), copy_of(self.offsets));
          },
          "Copies of values, columns and offsets, as for scipy.sparse.csr_matrix.");

  py::class_<CooccurrenceCounter>(m, "CooccurrenceCounter", "Counts co-occurrences of words.")
      .def(py::init([](const Vocabulary& vocabulary, const Tokenizer& tokenizer, int window,
                       std::string_view weight) {
             return CooccurrenceCounter(vocabulary.words(), tokenizer,
                                        {.size = window, .weight = parse_enum<WindowWeight>(weight)});
           }),
           py::arg("vocabulary"), py::arg("tokenizer"), py::kw_only(), py::arg("window"), py::arg("weight"))
      .def("add", with_sentences(&CooccurrenceCounter::add), py::arg("sentences"))
      .def(
          "add_counts",
          [](CooccurrenceCounter& self, const Numbers<float>& values, const Numbers<std::int32_t>& columns,
             const Numbers<std::int64_t>& offsets) {
            SparseMatrix counts;
            counts.cols = offsets.size() - 1;
            counts.values = vector_of(values, "values");
            counts.columns = vector_of(columns, "columns");
            counts.offsets = vector_of(offsets, "offsets");
            const WithoutGil release;
            self.add(counts);
          },
          py::arg("values"), py::arg("columns"), py::arg("offsets"),
          "Adds the finished counts of another counter of the same words, as of `arrays`.")
      .def("finish", &CooccurrenceCounter::finish, Release(), "Returns the counts and empties the counter.");

  const EmbeddingOptions defaults;
  m.def(
      "embed",
      [](SparseMatrix& counts, std::int64_t dim, double smoothing, double shift, double exponent,
         double length, int iterations, int oversampling, std::uint64_t seed, const py::object& progress) {
        std::function<void(std::int64_t, std::int64_t)> report;
        if (!progress.is_none()) {
          report = [&progress](std::int64_t done, std::int64_t total) {
            const WithGil gil;
            call(progress, done, total);
          };
        }
        const WithoutGil released;
        return embed(std::exchange(counts, {}), {.dim = dim,
                                                 .pmi = {.smoothing = smoothing, .shift = shift},
                                                 .exponent = exponent,
                                                 .length = length,
                                                 .svd = {.iterations = iterations,
                                                         .oversampling = oversampling,
                                                         .seed = seed,
                                                         .progress = std::move(report)}});
      },
      py::arg("counts"), py::arg("dim"), py::kw_only(), py::arg("smoothing") = defaults.pmi.smoothing,
      py::arg("shift") = defaults.pmi.shift, py::arg("exponent") = defaults.exponent,
      py::arg("length") = defaults.length, py::arg("iterations") = defaults.svd.iterations,
      py::arg("oversampling") = defaults.svd.oversampling, py::arg("seed") = defaults.svd.seed,
      py::arg("progress") = py::none(),
      "Word vectors [words, dim]: left singular vectors of positive PMI. Moves the counts.");
}

}  // namespace sentencode
