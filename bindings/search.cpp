#include "sentencode/search.h"

#include <algorithm>

#include "arrays.h"
#include "bindings.h"
#include "sentencode/error.h"

namespace sentencode {

void bind_search(py::module_& m) {
  m.def(
      "normalize_rows",
      [](py::array rows) {
        const MatrixView view = writable_matrix_view(rows, "rows");
        const WithoutGil release;
        normalize_rows(view);
      },
      py::arg("rows").noconvert(), "Divides every row by its length, in place; a zero row stays zero.");
  m.def(
      "similarities",
      [](const py::array& a, const py::array& b, std::string_view similarity) {
        const ConstMatrixView left = matrix_view(a, "a"), right = matrix_view(b, "b");
        const Similarity measure = parse_enum<Similarity>(similarity);
        py::array_t<float> out({left.rows(), right.rows()});
        const MatrixView view = writable_matrix_view(out, "out");
        {
          const WithoutGil release;
          similarities(left, right, measure, view);
        }
        return out;
      },
      py::arg("a").noconvert(), py::arg("b").noconvert(), py::arg("similarity"),
      "The similarity of every row of a with every row of b.");

  py::class_<NearestRows>(m, "NearestRows", "The rows of a stream that are most similar to each query.")
      .def(py::init([](const py::array& queries, std::int64_t k, std::string_view similarity) {
             return NearestRows(matrix_view(queries, "queries"), k, parse_enum<Similarity>(similarity));
           }),
           py::arg("queries").noconvert(), py::arg("k"), py::arg("similarity"))
      .def(
          "add",
          [](NearestRows& self, const py::array& rows) {
            const ConstMatrixView view = matrix_view(rows, "rows");
            const WithoutGil release;
            self.add(view);
          },
          py::arg("rows").noconvert(), "Adds the next rows of the stream.")
      .def_property_readonly("rows", &NearestRows::rows)
      .def(
          "result",
          [](const NearestRows& self) {
            const std::int64_t k = std::min(self.k(), self.rows());
            py::array_t<std::int64_t> indices({self.queries(), k});
            py::array_t<float> scores({self.queries(), k});
            self.result(
                View<std::int64_t>(indices.mutable_data(), self.queries(), k, Eigen::OuterStride<>(k)),
                writable_matrix_view(scores, "scores"));
            return py::make_tuple(indices, scores);
          },
          "Indices int64 and similarities float32, both [queries, min(k, rows)], best first.");
}

}  // namespace sentencode
