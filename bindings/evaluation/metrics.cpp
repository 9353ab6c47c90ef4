#include "sentencode/evaluation/metrics.h"

#include <pybind11/numpy.h>

#include <string_view>

#include "arrays.h"
#include "bindings.h"
#include "sentencode/error.h"

namespace sentencode {
namespace {

using Scores = py::array_t<double, py::array::c_style>;

std::span<const double> span_of(const Scores& scores, const char* name) {
  ST_CHECK(scores.ndim() == 1, InvalidInput, name, " must have one dimension, got ", scores.ndim());
  return {scores.data(), static_cast<std::size_t>(scores.size())};
}

template <double (*Function)(std::span<const double>, std::span<const double>)>
double correlation_of(const Scores& x, const Scores& y) {
  const auto a = span_of(x, "x"), b = span_of(y, "y");
  const WithoutGil release;
  return Function(a, b);
}

}  // namespace

void bind_metrics(py::module_& m) {
  m.def("pearson", &correlation_of<&pearson>, py::arg("x").noconvert(), py::arg("y").noconvert());
  m.def("spearman", &correlation_of<&spearman>, py::arg("x").noconvert(), py::arg("y").noconvert());
  m.def(
      "cosine_of_pairs",
      [](const py::array& a, const py::array& b) {
        const ConstMatrixView left = matrix_view(a, "a"), right = matrix_view(b, "b");
        Scores out(left.rows());
        const std::span<double> scores(out.mutable_data(), static_cast<std::size_t>(left.rows()));
        {
          const WithoutGil release;
          cosine_of_pairs(left, right, scores);
        }
        return out;
      },
      py::arg("a").noconvert(), py::arg("b").noconvert());
  m.def(
      "bootstrap",
      [](const Scores& x, const Scores& y, std::string_view correlation, std::int64_t resamples,
         std::uint64_t seed) {
        const auto a = span_of(x, "x"), b = span_of(y, "y");
        const Correlation kind = parse_enum<Correlation>(correlation);
        const std::vector<double> correlations = [&] {
          const WithoutGil release;
          return bootstrap(kind, a, b, {resamples, seed});
        }();
        return array_of(correlations);
      },
      py::arg("x").noconvert(), py::arg("y").noconvert(), py::arg("correlation"), py::arg("resamples"),
      py::arg("seed"));
  m.def(
      "percentile_interval",
      [](const Scores& values, double confidence) {
        const auto span = span_of(values, "values");
        const Interval interval = percentile_interval({span.begin(), span.end()}, confidence);
        return py::make_tuple(interval.low, interval.high);
      },
      py::arg("values").noconvert(), py::arg("confidence"));
}

}  // namespace sentencode
