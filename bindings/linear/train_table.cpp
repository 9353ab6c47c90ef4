#include "sentencode/linear/train_table.h"

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "sentencode/error.h"
#include "sentencode/linear/trained_average.h"
#include "vectors/arguments.h"

namespace sentencode {
namespace {

template <typename T>
using Numbers = py::array_t<T, py::array::c_style>;

std::span<const std::int64_t> span_of(const Numbers<std::int64_t>& numbers) {
  return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

template <typename T>
std::vector<T> vector_of(const Numbers<T>& numbers) {
  return {numbers.data(), numbers.data() + numbers.size()};
}

}  // namespace

void bind_train_table(py::module_& m) {
  py::class_<TableHead, std::shared_ptr<TableHead>>(m, "TableHead", "A loss on averaged word vectors.")
      .def(py::init([](std::string_view kind, std::int64_t dim, std::int64_t sides, std::int64_t outputs,
                       double unit, double scale, double pair_scale, double margin,
                       std::string_view distance) {
             return TableHead({.kind = parse_enum<HeadKind>(kind),
                               .dim = dim,
                               .sides = sides,
                               .outputs = outputs,
                               .unit = unit,
                               .scale = scale,
                               .pair_scale = pair_scale,
                               .margin = margin,
                               .distance = parse_enum<Distance>(distance)});
           }),
           py::arg("kind"), py::kw_only(), py::arg("dim"), py::arg("sides"), py::arg("outputs") = 0,
           py::arg("unit") = 1, py::arg("scale") = 20, py::arg("pair_scale") = 1, py::arg("margin") = 0.2,
           py::arg("distance") = "cosine")
      .def_property(
          "weights", [](const TableHead& self) { return array_of(self.weights()); },
          [](TableHead& self, const Numbers<float>& weights) {
            ST_CHECK(weights.size() == self.weights().size(), InvalidInput, "weights must be [",
                     self.weights().size(), "], got [", weights.size(), "]");
            self.weights() = Eigen::Map<const Vector>(weights.data(), weights.size());
          })
      .def_property_readonly("config",
                             [](const TableHead& self) {
                               const TableHeadOptions& o = self.options();
                               return py::dict(py::arg("kind") = name_of(o.kind), py::arg("dim") = o.dim,
                                               py::arg("sides") = o.sides, py::arg("outputs") = o.outputs,
                                               py::arg("unit") = o.unit, py::arg("scale") = o.scale,
                                               py::arg("pair_scale") = o.pair_scale,
                                               py::arg("margin") = o.margin,
                                               py::arg("distance") = name_of(o.distance));
                             })
      .def(
          "predict",
          [](const TableHead& self, const std::vector<Matrix>& u) {
            const WithoutGil released;
            return self.predict(u);
          },
          py::arg("u"), "Probabilities, embeddings [B, K], cosines or differences [B, 1].")
      .def(
          "loss",
          [](const TableHead& self, const std::vector<Matrix>& u, const Matrix& y) {
            const WithoutGil released;
            return self.loss(u, y);
          },
          py::arg("u"), py::arg("y"), "Sum of the losses of examples.")
      .def(
          "fit",
          [](TableHead& self, const std::vector<Matrix>& u, const Matrix& y, double c) {
            const WithoutGil released;
            return self.fit(u, y, c);
          },
          py::arg("u"), py::arg("y"), py::arg("c"),
          "Minimises the mean loss and |W|^2 / (2 C n); returns the number of iterations.");

  py::class_<TableExamples, std::shared_ptr<TableExamples>>(m, "TableExamples", "Ids and labels of examples.")
      .def(py::init([](const std::vector<std::pair<Numbers<std::int32_t>, Numbers<std::int64_t>>>& sides,
                       Matrix y) {
             TableExamples examples{.y = std::move(y)};
             for (const auto& [ids, offsets] : sides) {
               examples.sides.push_back({.ids = vector_of(ids), .offsets = vector_of(offsets)});
             }
             return examples;
           }),
           py::arg("sides"), py::arg("y"), "Of each side, ids and offsets of the sentences' words.")
      .def("__len__", &TableExamples::size);

  py::class_<TableTrainer>(m, "TableTrainer", "Trains a table of word vectors and a head.")
      .def(py::init([](std::shared_ptr<TableExamples> examples, Matrix table, const TableHead& head,
                       double learning_rate, double head_learning_rate, double anchor, double word_dropout,
                       std::int64_t batch_size, std::int64_t steps, double warm_up, bool normalize,
                       std::uint64_t seed) {
             return std::make_unique<TableTrainer>(
                 std::move(examples), std::move(table), head,
                 TableTrainingOptions{.learning_rate = learning_rate,
                                      .head_learning_rate = head_learning_rate,
                                      .anchor = anchor,
                                      .word_dropout = word_dropout,
                                      .batch_size = batch_size,
                                      .steps = steps,
                                      .warm_up = warm_up,
                                      .normalize = normalize,
                                      .seed = seed});
           }),
           py::arg("examples"), py::arg("table"), py::arg("head"), py::kw_only(), py::arg("learning_rate"),
           py::arg("head_learning_rate"), py::arg("anchor"), py::arg("word_dropout"), py::arg("batch_size"),
           py::arg("steps"), py::arg("warm_up"), py::arg("normalize"), py::arg("seed"))
      .def(
          "epoch",
          [](TableTrainer& self, const Numbers<std::int64_t>& examples) {
            const WithoutGil released;
            return self.epoch(span_of(examples));
          },
          py::arg("examples"), "Trains on some examples; returns their mean loss.")
      .def(
          "embeddings",
          [](const TableTrainer& self, const Numbers<std::int64_t>& examples) {
            const WithoutGil released;
            return self.embeddings(span_of(examples));
          },
          py::arg("examples"))
      .def(
          "predict",
          [](const TableTrainer& self, const Numbers<std::int64_t>& examples) {
            const WithoutGil released;
            return self.predict(span_of(examples));
          },
          py::arg("examples"))
      .def(
          "mean_loss",
          [](const TableTrainer& self, const Numbers<std::int64_t>& examples) {
            const WithoutGil released;
            return self.mean_loss(span_of(examples));
          },
          py::arg("examples"))
      .def_property_readonly("table", [](const TableTrainer& self) { return Matrix(self.table()); })
      .def_property_readonly("head", [](const TableTrainer& self) { return TableHead(self.head()); });

  py::class_<TrainedAverage, LinearEncoder, std::shared_ptr<TrainedAverage>>(
      m, "TrainedAverage", "The mean of word vectors that were trained with a head.")
      .def(py::init([](const VectorsArgument& vectors, const Tokenizer& tokenizer, const TableHead& head,
                       bool normalize) {
             return std::make_shared<TrainedAverage>(words_of(vectors, tokenizer, {}), head, normalize);
           }),
           py::arg("vectors"), py::arg("tokenizer"), py::arg("head"), py::kw_only(), py::arg("normalize"))
      .def_property_readonly("normalize", &TrainedAverage::normalize)
      .def_property_readonly("head", [](const TrainedAverage& self) { return TableHead(self.head()); });
}

}  // namespace sentencode
