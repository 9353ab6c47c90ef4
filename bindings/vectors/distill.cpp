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

/// What several threads may hold: they take turns.
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

/// A method of the sums that changes nothing, as a method of what is shared.
template <auto Method, typename... Arguments>
auto method() {
  return [](Shared& self, const Arguments&... arguments) {
    return self.with([&](const Distillation& sums) { return (sums.*Method)(arguments...); });
  };
}

}  // namespace

void bind_distillation(py::module_& m) {
  const DistillOptions defaults;
  py::class_<Moments>(m, "Moments", "What averages of words have to do with the teacher's rows.")
      .def_readonly("own", &Moments::own)
      .def_readonly("teacher", &Moments::teacher)
      .def("map", &Moments::map, py::arg("ridge"), Release(),
           "The matrix [dim, dim] that brings the averages nearest to the teacher's rows.")
      .def("axes", &Moments::axes, py::arg("count"), Release(), "The averages' principal axes [dim, count].");
  m.def("mapped", &mapped, py::arg("table"), py::arg("map"), Release(), "Their product.");
  py::class_<Shared>(m, "Distillation", "Sums of a teacher's rows, and the word table that tells them best.")
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
            // A copy: two that are merged with each other would wait for each other's turn.
            const Distillation copy = other.with([](const Distillation& sums) { return sums; });
            self.with([&](Distillation& sums) { sums.merge(copy); });
          },
          py::arg("other"))
      .def("counts", method<&Distillation::counts>(), "How often each word was seen.")
      .def("mean", method<&Distillation::mean>(), "Of the teacher's rows.")
      .def(
          "of_columns",
          [](Shared& self, const std::vector<std::int64_t>& which) {
            return std::make_unique<Shared>(
                self.with([&](const Distillation& sums) { return sums.of_columns(which); }));
          },
          py::arg("which"))
      .def("moments", method<&Distillation::moments, Matrix>(), py::arg("table"),
           "Of the sentences' averages of the table's rows.")
      .def("error", method<&Distillation::error, Matrix, VectorD>(), py::arg("table"), py::arg("mean"),
           "The share of the teacher's rows, less `mean`, that the table does not tell.")
      .def(
          "solve",
          [](Shared& self, const Matrix& prior, double penalty, double tolerance, std::int64_t iterations,
             const py::object& kept, const py::object& keep, const py::object& progress) {
            DistillOptions options{.penalty = penalty, .tolerance = tolerance, .iterations = iterations};
            if (!kept.is_none()) {
              options.kept = [&](std::int64_t first) -> std::optional<Distilled> {
                const WithGil gil;
                const py::object found = call(kept, first);
                if (found.is_none()) return std::nullopt;
                auto [table, residual, steps] = found.cast<std::tuple<Matrix, double, std::int64_t>>();
                return Distilled{std::move(table), residual, steps};
              };
            }
            if (!keep.is_none()) {
              options.keep = [&](std::int64_t first, const Distilled& some) {
                const WithGil gil;
                call(keep, first, some.table, some.residual, some.iterations);
              };
            }
            std::int64_t done = 0;
            if (!progress.is_none()) {
              options.progress = [&](std::int64_t more) {
                const WithGil gil;  // which orders the calls
                done += more;
                call(progress, done, self.dim());
              };
            }
            Distilled found = self.with([&](const Distillation& sums) { return sums.solve(prior, options); });
            return py::make_tuple(std::move(found.table), found.residual, found.iterations);
          },
          py::arg("prior"), py::kw_only(), py::arg("penalty") = defaults.penalty,
          py::arg("tolerance") = defaults.tolerance, py::arg("iterations") = defaults.iterations,
          py::arg("kept") = py::none(), py::arg("keep") = py::none(), py::arg("progress") = py::none(),
          "The table [words, dim], its residual, and the iterations. Some columns at once, and for these "
          "`kept` is asked first, by the number of the first, and `keep` gets what was found.")
      .def(
          "digest",
          [](Shared& self, const Matrix& prior, double penalty, double tolerance, std::int64_t iterations) {
            const DistillOptions options{
                .penalty = penalty, .tolerance = tolerance, .iterations = iterations};
            return self.with([&](const Distillation& sums) { return sums.digest(prior, options); });
          },
          py::arg("prior"), py::kw_only(), py::arg("penalty") = defaults.penalty,
          py::arg("tolerance") = defaults.tolerance, py::arg("iterations") = defaults.iterations,
          "What tells the solution from that of another problem.");
}

}  // namespace sentencode
