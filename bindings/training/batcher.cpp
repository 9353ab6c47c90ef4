#include "sentencode/training/batcher.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "bindings.h"
#include "sentencode/training/batch_loader.h"

namespace sentencode {
namespace {

/// An array that owns a vector.
template <typename T>
py::array_t<T> array_of(std::vector<T>&& values, std::vector<py::ssize_t> shape) {
  auto* vector = new std::vector<T>(std::move(values));
  const py::capsule owner(vector, [](void* pointer) { delete static_cast<std::vector<T>*>(pointer); });
  return py::array_t<T>(std::move(shape), vector->data(), owner);
}
template <typename T>
py::array_t<T> array_of(std::vector<T>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return array_of(std::move(values), {size});
}

/// (epoch, step, total, numbers, [(ids, lengths, tokens), ...], int_labels, float_labels)
py::tuple tuple_of(Batch&& batch) {
  const auto size = static_cast<py::ssize_t>(batch.numbers.size());
  py::list fields;
  for (BatchField& field : batch.fields) {
    py::array ids = array_of(std::move(field.ids), {size, field.width});
    fields.append(py::make_tuple(std::move(ids), array_of(std::move(field.lengths)), field.tokens));
  }
  return py::make_tuple(batch.epoch, batch.step, batch.total, array_of(std::move(batch.numbers)), fields,
                        array_of(std::move(batch.int_labels)), array_of(std::move(batch.float_labels)));
}

}  // namespace

void bind_batcher(py::module_& m) {
  py::class_<Batcher, std::shared_ptr<Batcher>>(m, "Batcher", "Groups examples into batches.")
      .def(py::init([](std::shared_ptr<ExampleFile> examples, std::string_view mode,
                       std::vector<std::string> length_fields, std::int64_t batch_size,
                       std::vector<std::int64_t> bounds, std::int64_t buffer_batches, std::int64_t max_tokens,
                       bool shuffle, bool drop_short, std::uint64_t seed, std::int64_t pad, std::int64_t rank,
                       std::int64_t world,
                       const std::optional<py::array_t<std::uint32_t, py::array::c_style>>& numbers) {
             BatcherOptions options{parse_enum<BatchMode>(mode),
                                    std::move(length_fields),
                                    batch_size,
                                    std::move(bounds),
                                    buffer_batches,
                                    max_tokens,
                                    shuffle,
                                    drop_short,
                                    seed,
                                    pad,
                                    rank,
                                    world};
             if (numbers) options.numbers.assign(numbers->data(), numbers->data() + numbers->size());
             const WithoutGil release;  // it may have to sort
             return std::make_shared<Batcher>(std::move(examples), std::move(options));
           }),
           py::arg("examples"), py::kw_only(), py::arg("mode"), py::arg("length_fields"),
           py::arg("batch_size"), py::arg("bounds"), py::arg("buffer_batches"), py::arg("max_tokens"),
           py::arg("shuffle"), py::arg("drop_short"), py::arg("seed"), py::arg("pad"), py::arg("rank"),
           py::arg("world"), py::arg("numbers") = py::none())
      .def_property_readonly("steps", &Batcher::steps)
      .def(
          "batch",
          [](const Batcher& self, std::int64_t epoch, std::int64_t step) {
            return tuple_of(without_gil([&] { return self.batch(epoch, step); }));
          },
          py::arg("epoch"), py::arg("step"),
          "(epoch, step, total, numbers, [(ids, lengths, tokens), ...], int_labels, float_labels)");
  py::class_<BatchLoader>(m, "BatchLoader", "Prefetches batches.")
      .def(py::init([](std::shared_ptr<Batcher> batcher, std::int64_t epoch, std::int64_t step, int threads,
                       std::int64_t ahead) {
             return std::make_unique<BatchLoader>(std::move(batcher), BatchLoader::Position{epoch, step},
                                                  threads, ahead);
           }),
           py::arg("batcher").none(false), py::arg("epoch"), py::arg("step"), py::kw_only(),
           py::arg("threads"), py::arg("ahead"))
      .def("next", [](BatchLoader& self) { return tuple_of(without_gil([&] { return self.next(); })); });
}

}  // namespace sentencode
