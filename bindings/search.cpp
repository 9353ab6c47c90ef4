#include "sentencode/search.h"

#include <algorithm>
#include <memory>

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

  py::class_<Ranges, std::shared_ptr<Ranges>>(m, "Ranges", "The range of each dimension in 256 steps.")
      .def(py::init([](const py::array& ranges) { return Ranges(matrix_view(ranges, "ranges")); }),
           py::arg("ranges").noconvert());
  m.def(
      "quantize",
      [](const py::array& rows, py::array& out, std::string_view precision, const Ranges* ranges) {
        const ConstMatrixView view = matrix_view(rows, "embeddings");
        const Precision stored = parse_enum<Precision>(precision);
        const StoredRows target = stored_view(out, stored, view.cols(), ranges, "out");
        ST_CHECK(out.writeable(), InvalidInput, "out is read-only");
        ST_CHECK(target.rows == view.rows(), InvalidInput, "out must have ", view.rows(), " rows, got ",
                 target.rows);
        auto* data = static_cast<std::byte*>(out.mutable_data());
        const WithoutGil release;
        quantize(view, stored, ranges, data, target.stride);
      },
      py::arg("rows").noconvert(), py::arg("out").noconvert(), py::arg("precision"),
      py::arg("ranges") = nullptr, "Writes embeddings in a precision.");
  m.def(
      "exact_similarities",
      [](const py::array& queries, const py::array& rows,
         const py::array_t<std::int64_t, py::array::c_style>& candidates, std::string_view similarity) {
        const ConstMatrixView left = matrix_view(queries, "queries"), right = matrix_view(rows, "rescore");
        const std::int64_t n = candidates.shape(0), count = candidates.shape(1);
        const Eigen::Map<const RowMajor<std::int64_t>> chosen(candidates.data(), n, count);
        ST_CHECK(n == left.rows() && (chosen.array() >= 0).all() && (chosen.array() < right.rows()).all(),
                 InvalidInput, "candidates must be row numbers for each query");
        py::array_t<double> out({n, count});
        const View<double> view(out.mutable_data(), n, count, Eigen::OuterStride<>(count));
        const Similarity measure = parse_enum<Similarity>(similarity);
        {
          const WithoutGil release;
          exact_similarities(left, right, chosen, measure, view);
        }
        return out;
      },
      py::arg("queries").noconvert(), py::arg("rows").noconvert(), py::arg("candidates").noconvert(),
      py::arg("similarity"), "The similarity, in float64, of each query with its candidates among the rows.");

  py::class_<NearestRows>(m, "NearestRows", "The rows of a stream that are most similar to each query.")
      .def(py::init([](const py::array& queries, std::int64_t k, std::string_view similarity) {
             return NearestRows(matrix_view(queries, "queries"), k, parse_enum<Similarity>(similarity));
           }),
           py::arg("queries").noconvert(), py::arg("k"), py::arg("similarity"))
      .def(
          "add",
          [](NearestRows& self, const py::array& rows, std::string_view precision, const Ranges* ranges) {
            const Precision stored = parse_enum<Precision>(precision);
            const bool packed = is_packed(stored);
            const StoredRows view = stored_view(
                rows, stored, packed || rows.ndim() != 2 ? self.dim() : rows.shape(1), ranges, "rows");
            const WithoutGil release;
            self.add(view);
          },
          py::arg("rows").noconvert(), py::arg("precision") = "float32", py::arg("ranges") = nullptr,
          "Adds the next rows of the stream, in any precision.")
      .def_property_readonly("rows", &NearestRows::rows)
      .def_property_readonly("dim", &NearestRows::dim)
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
