#include "sentencode/vectors/distill.h"

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "sentences.h"
#include "sentencode/text/vocabulary.h"
#include "sentencode/turn.h"

namespace sentencode {
namespace {

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast>;

/// Sums that several threads may use, one after the other.
class Shared {
 public:
  explicit Shared(Distillation sums) : sums_(std::move(sums)) {}

  std::int64_t dim() const { return sums_.dim(); }  // never changes

  /// body(sums), without Python's lock.
  template <typename Body>
  auto with(const Body& body) {
    const WithoutGil release;
    const auto turn = turn_.take();
    return body(sums_);
  }

 private:
  Distillation sums_;
  Turn turn_;
};

/// A const method of Distillation, as one of Shared.
template <auto Method, typename... Arguments>
auto method() {
  return [](Shared& self, const Arguments&... arguments) {
    return self.with([&](const Distillation& sums) { return (sums.*Method)(arguments...); });
  };
}

}  // namespace

void bind_distillation(py::module_& m) {
  const DistillOptions defaults;
  py::class_<Moments>(m, "Moments",
                      "Second moments of averaged word vectors, and of these and the teacher's embeddings.")
      .def_readonly("gram", &Moments::gram)
      .def_readonly("cross", &Moments::cross)
      .def("map", &Moments::map, py::arg("ridge"), Release(),
           "The matrix [dim, dim] that maps the averages to the teacher's embeddings.")
      .def("axes", &Moments::axes, py::arg("count"), Release(),
           "Principal axes of the averages [dim, count].");
  m.def("mapped", &mapped, py::arg("table"), py::arg("map"), Release(), "Product of a table and a map.");
  py::class_<Shared>(m, "Distillation", "Fits word vectors to a teacher's sentence embeddings.")
      .def(py::init([](const Vocabulary& vocabulary, const Tokenizer& tokenizer, const FloatArray& weights,
                       std::int64_t dim) {
             return std::make_unique<Shared>(Distillation(
                 vocabulary.words(), tokenizer, {weights.data(), weights.data() + weights.size()}, dim));
           }),
           py::arg("vocabulary"), py::arg("tokenizer"), py::arg("weights"), py::arg("dim"))
      .def_property_readonly("sentences", method<&Distillation::sentences>())
      .def_property_readonly("tokens", method<&Distillation::tokens>())
      .def(
          "add",
          [](Shared& self, const py::object& argument, const py::array& rows) {
            const SentencesArgument sentences(argument);
            const ConstMatrixView view = matrix_view(rows, "rows");
            self.with([&](Distillation& sums) { sums.add(sentences.get(), view); });
          },
          py::arg("sentences"), py::arg("rows"))
      .def(
          "merge",
          [](Shared& self, Shared& other) {
            // A copy, because two that are merged with each other at once would deadlock.
            const Distillation copy = other.with([](const Distillation& sums) { return sums; });
            self.with([&](Distillation& sums) { sums.merge(copy); });
          },
          py::arg("other"))
      .def("counts", method<&Distillation::counts>(), "Occurrences of each word.")
      .def("mean", method<&Distillation::mean>(), "Mean of the teacher's embeddings.")
      .def(
          "columns",
          [](Shared& self, const std::vector<std::int64_t>& dims) {
            return std::make_unique<Shared>(
                self.with([&](const Distillation& sums) { return sums.columns(dims); }));
          },
          py::arg("dims"), "The same problem for some dimensions of the teacher.")
      .def("moments", method<&Distillation::moments, Matrix>(), py::arg("table"),
           "Second moments of the averages of the table's rows.")
      .def("error", method<&Distillation::error, Matrix, VectorD>(), py::arg("table"), py::arg("mean"),
           "Fraction of the variance of the teacher's embeddings around `mean` that the table does not "
           "explain.")
      .def(
          "solve",
          [](Shared& self, const Matrix& prior, double penalty, double tolerance, std::int64_t iterations,
             const py::object& load, const py::object& save, const py::object& progress) {
            DistillOptions options{.penalty = penalty, .tolerance = tolerance, .iterations = iterations};
            if (!load.is_none()) {
              options.load = [&](std::int64_t first) -> std::optional<Distilled> {
                const WithGil gil;
                const py::object block = call(load, first);
                if (block.is_none()) return std::nullopt;
                auto [table, residual, steps] = block.cast<std::tuple<Matrix, double, std::int64_t>>();
                return Distilled{std::move(table), residual, steps};
              };
            }
            if (!save.is_none()) {
              options.save = [&](std::int64_t first, const Distilled& block) {
                const WithGil gil;
                call(save, first, block.table, block.residual, block.iterations);
              };
            }
            std::int64_t done = 0;
            if (!progress.is_none()) {
              options.progress = [&](std::int64_t more) {
                const WithGil gil;  // also guards `done`
                done += more;
                call(progress, done, self.dim());
              };
            }
            Distilled solution =
                self.with([&](const Distillation& sums) { return sums.solve(prior, options); });
            return py::make_tuple(std::move(solution.table), solution.residual, solution.iterations);
          },
          py::arg("prior"), py::kw_only(), py::arg("penalty") = defaults.penalty,
          py::arg("tolerance") = defaults.tolerance, py::arg("iterations") = defaults.iterations,
          py::arg("load") = py::none(), py::arg("save") = py::none(), py::arg("progress") = py::none(),
          "The table [words, dim], its residual, and the iterations. Columns are solved in blocks; "
          "`load(first column)` may return a solved block, `save(first column, *block)` gets the others.")
      .def(
          "digest",
          [](Shared& self, const Matrix& prior, double penalty, double tolerance, std::int64_t iterations) {
            const DistillOptions options{
                .penalty = penalty, .tolerance = tolerance, .iterations = iterations};
            return self.with([&](const Distillation& sums) { return sums.digest(prior, options); });
          },
          py::arg("prior"), py::kw_only(), py::arg("penalty") = defaults.penalty,
          py::arg("tolerance") = defaults.tolerance, py::arg("iterations") = defaults.iterations,
          "A hash of all that the solution depends on.");
}

}  // namespace sentencode
