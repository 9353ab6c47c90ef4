#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings.h"
#include "paths.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/training/example_builder.h"
#include "sentencode/training/example_file.h"
#include "sentencode/training/example_key.h"

namespace sentencode {
namespace {

using File = ExampleFile;

/// A read-only view of mapped memory, which keeps the file.
template <typename T>
py::array_t<T> view(std::span<const T> values, const py::object& owner) {
  py::array_t<T> array(static_cast<py::ssize_t>(values.size()), values.data(), owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::object labels_of(const py::object& self) {
  const auto& file = self.cast<const File&>();
  if (file.labels() == Labels::int64) return view(file.int_labels(), self);
  if (file.labels() == Labels::float32) return view(file.float_labels(), self);
  return py::none();
}

FieldOptions field_options(std::string name, const Tokenizer& tokenizer,
                           std::shared_ptr<const Vocabulary> vocabulary, std::string begin, std::string end,
                           std::string_view unknown_words, std::string unknown, std::int64_t min_length,
                           std::int64_t max_length, std::string_view too_long) {
  return {std::move(name),
          tokenizer,
          std::move(vocabulary),
          std::move(begin),
          std::move(end),
          parse_enum<UnknownWords>(unknown_words),
          std::move(unknown),
          min_length,
          max_length,
          parse_enum<TooLong>(too_long)};
}

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

void add(ExampleBuilder& self, const py::list& fields, const std::vector<bool>& starts_document,
         const std::optional<Array<std::int64_t>>& int_labels,
         const std::optional<Array<float>>& float_labels) {
  std::vector<SentencesArgument> arguments;
  ExampleBuilder::Rows rows;
  for (const py::handle field : fields) arguments.emplace_back(py::reinterpret_borrow<py::object>(field));
  for (const auto& argument : arguments) rows.fields.push_back(argument.get());
  rows.starts_document = &starts_document;
  if (int_labels) rows.int_labels = {int_labels->data(), static_cast<std::size_t>(int_labels->size())};
  if (float_labels)
    rows.float_labels = {float_labels->data(), static_cast<std::size_t>(float_labels->size())};
  const WithoutGil release;
  self.add(rows);
}

std::vector<std::vector<std::string>> names_of(const std::vector<std::vector<Path>>& files) {
  std::vector<std::vector<std::string>> names;
  for (const auto& field : files) names.emplace_back(field.begin(), field.end());
  return names;
}

std::shared_ptr<File> build(ExampleBuilder& builder, const std::vector<std::vector<Path>>& paths,
                            const py::object& progress) {
  BuildProgress report;
  if (!progress.is_none()) {
    report = [&](std::int64_t read, std::int64_t total) {
      const WithGil gil;
      call(progress, read, total);
    };
  }
  const WithoutGil release;
  return std::const_pointer_cast<File>(build_examples(builder, names_of(paths), report));
}

}  // namespace

void bind_examples(py::module_& m) {
  py::class_<File, std::shared_ptr<File>>(m, "ExampleFile", "Examples as ids in a mapped file.")
      .def_static(
          "open",
          [](const Path& path, bool verify) {
            return std::const_pointer_cast<File>(File::open(path, verify));
          },
          py::arg("path"), py::arg("verify") = true, Release())
      .def("__len__", &File::size)
      .def_property_readonly("fields",
                             [](const File& self) {
                               std::vector<std::string> names;
                               for (const auto& field : self.fields()) names.push_back(field.name);
                               return names;
                             })
      .def(
          "vocabulary_size",
          [](const File& self, std::string_view field) { return self.field(field).vocabulary_size; },
          py::arg("field"))
      .def(
          "ids",
          [](const py::object& self, std::string_view field) {
            return view(self.cast<const File&>().field(field).ids, self);
          },
          py::arg("field"))
      .def(
          "offsets",
          [](const py::object& self, std::string_view field) {
            return view(self.cast<const File&>().field(field).offsets, self);
          },
          py::arg("field"))
      .def_property_readonly("labels", &labels_of)
      .def_property_readonly("path", [](const File& self) { return Path{self.path()}; })
      .def_property_readonly("config", &File::config)
      .def_property_readonly("key", &File::key);

  py::class_<FieldOptions>(m, "FieldOptions", "How texts become the ids of one field.")
      .def(py::init(&field_options), py::kw_only(), py::arg("name"), py::arg("tokenizer"),
           py::arg("vocabulary"), py::arg("begin"), py::arg("end"), py::arg("unknown_words"),
           py::arg("unknown"), py::arg("min_length"), py::arg("max_length"), py::arg("too_long"));
  py::class_<Neighbour>(m, "Neighbour", "A field made of the context of a sentence.")
      .def(py::init([](const FieldOptions& field, std::int64_t offset, std::int64_t words) {
             return Neighbour{field, offset, words};
           }),
           py::arg("field"), py::kw_only(), py::arg("offset"), py::arg("words"));
  py::class_<ExampleOptions>(m, "ExampleOptions", "Options of a file of examples.")
      .def(py::init([](std::vector<FieldOptions> fields, std::vector<Neighbour> neighbours,
                       std::string_view labels, std::string source, std::int64_t shard_examples) {
             return ExampleOptions{std::move(fields), std::move(neighbours), parse_enum<Labels>(labels),
                                   std::move(source), shard_examples};
           }),
           py::kw_only(), py::arg("fields"), py::arg("neighbours"), py::arg("labels"), py::arg("source"),
           py::arg("shard_examples"));
  py::class_<ContentDigest>(m, "ContentDigest", "A digest of batches of sentences.")
      .def(py::init<>())
      .def("add", with_sentences(&ContentDigest::add), py::arg("sentences"))
      .def(
          "add_bytes",
          [](ContentDigest& self, const py::bytes& bytes) {
            self.add(std::as_bytes(std::span(std::string_view(bytes))));
          },
          py::arg("bytes"))
      .def("hex", &ContentDigest::hex);
  py::class_<ExampleBuilder>(m, "ExampleBuilder", "Builds a file of examples from batches.")
      .def(py::init([](const Path& path, const ExampleOptions& options, const std::string& key) {
             return new ExampleBuilder(path, options, key);
           }),
           py::arg("path"), py::arg("options"), py::arg("key"), Release())
      .def_property_readonly("done", &ExampleBuilder::done)
      .def_property_readonly("damage", &ExampleBuilder::damage)
      .def_property_readonly("first_row", &ExampleBuilder::first_row)
      .def("add", &add, py::arg("fields"), py::kw_only(), py::arg("starts_document"),
           py::arg("int_labels") = py::none(), py::arg("float_labels") = py::none())
      .def(
          "finish", [](ExampleBuilder& self) { return std::const_pointer_cast<File>(self.finish()); },
          Release())
      .def("close", &ExampleBuilder::close, Release());
  m.def("examples_key", &examples_key, py::arg("options"), py::arg("sources"), Release());
  m.def(
      "digest_of_files",
      [](const std::vector<std::vector<Path>>& files) { return digest_of_files(names_of(files)); },
      py::arg("files"), Release());
  m.def("build_examples", &build, py::arg("builder"), py::arg("files"), py::arg("progress") = py::none());
}

}  // namespace sentencode
