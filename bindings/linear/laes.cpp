#include "sentencode/linear/laes.h"

#include "bindings.h"
#include "linear/arguments.h"
#include "sentences.h"

namespace sentencode {
namespace {

std::shared_ptr<Laes> make(const VectorsArgument& vectors, const Tokenizer& tokenizer,
                           const WeightsArgument& weights, std::int64_t hidden, std::string_view mode,
                           std::string_view direction, std::string_view combine, bool center,
                           std::string_view state, std::int64_t max_length) {
  return std::make_shared<Laes>(words_of(vectors, tokenizer, weights),
                                LaesOptions{.hidden = hidden,
                                            .mode = parse_enum<LaesOptions::Mode>(mode),
                                            .direction = parse_enum<LaesOptions::Direction>(direction),
                                            .combine = parse_enum<LaesOptions::Combine>(combine),
                                            .center = center,
                                            .state = parse_enum<LaesOptions::State>(state),
                                            .max_length = max_length});
}

py::dict options(const Laes& self) {
  const LaesOptions& options = self.options();
  py::dict result;
  result["hidden"] = options.hidden;
  result["mode"] = name_of(options.mode);
  result["direction"] = name_of(options.direction);
  result["combine"] = name_of(options.combine);
  result["center"] = options.center;
  result["state"] = name_of(options.state);
  result["max_length"] = options.max_length;
  return result;
}

py::dict parameters(Laes& self, std::string_view direction) {
  const auto m = [&] {
    const WithoutGil release;
    self.solve();
    return self.autoencoder(parse_enum<Reading>(direction));
  }();
  py::dict result;
  result["A"] = array_of(m->a);
  result["B"] = array_of(m->b);
  result["U"] = m->u.size() > 0 ? py::object(array_of(m->u)) : py::none();
  result["singular_values"] = array_of(m->singular_values);
  result["center"] = m->centre.size() > 0 ? py::object(array_of(m->centre)) : py::none();
  result["longest"] = m->longest;
  result["rank"] = m->rank;
  return result;
}

py::array_t<float> states(Laes& self, const py::object& sentence, std::string_view direction) {
  const SentencesArgument one(py::make_tuple(sentence), "sentence");
  Matrix h;
  {
    const WithoutGil release;
    self.solve();
    h = self.states(one.get(), parse_enum<Reading>(direction));
  }
  return array_of(std::move(h));
}

py::array_t<float> decode(Laes& self,
                          const py::array_t<float, py::array::c_style | py::array::forcecast>& state,
                          std::int64_t length, std::string_view direction) {
  ST_CHECK(state.ndim() == 1, InvalidInput, "state must have one dimension, got ", state.ndim());
  const Vector h = Eigen::Map<const Vector>(state.data(), state.size());
  Matrix x;
  {
    const WithoutGil release;
    self.solve();
    x = self.decode(h, length, parse_enum<Reading>(direction));
  }
  return array_of(std::move(x));
}

std::vector<double> reconstruction_error(Laes& self, const py::object& sentences,
                                         const std::vector<std::int64_t>& hidden,
                                         std::string_view direction) {
  const SentencesArgument argument(sentences);
  const WithoutGil release;
  self.solve();
  return self.reconstruction_error(argument.get(), hidden, parse_enum<Reading>(direction));
}

py::list select(Laes& self, const py::object& first, const py::object& second, const ScoresArgument& scores,
                const std::vector<std::int64_t>& hidden) {
  const SentencesArgument one(first, "first"), two(second, "second");
  const auto gold = scores_of(scores);
  const std::vector<Curve> curves = [&] {
    const WithoutGil release;
    self.solve();
    return self.select(one.get(), two.get(), gold, hidden);
  }();
  py::list result;
  for (const Curve& curve : curves) result.append(dict_of(curve));
  return result;
}

py::object statistics(const Laes& self) {
  py::dict result;
  auto states = [&] {
    const WithoutGil release;
    return self.statistics();
  }();
  for (PrefixGram::State& state : states) {
    py::dict one;
    one["gram"] = array_of(std::move(state.gram));
    one["sums"] = array_of(std::move(state.sums));
    one["counts"] = array_of(state.counts);
    one["sentences"] = state.sentences;
    one["tokens"] = state.tokens;
    one["waiting_ids"] = array_of(state.waiting.ids);
    one["waiting_offsets"] = array_of(state.waiting.offsets);
    result[state.reading == Reading::forward ? "forward" : "backward"] = one;
  }
  return result.empty() ? py::object(py::none()) : result;
}

void set_statistics(Laes& self, const py::dict& from) {
  std::vector<PrefixGram::State> states;
  for (const Reading reading : {Reading::forward, Reading::backward}) {
    const char* name = reading == Reading::forward ? "forward" : "backward";
    if (!from.contains(name)) continue;
    const auto one = from[name].cast<py::dict>();
    states.push_back({.reading = reading,
                      .dim = self.words().dim(),
                      .max_length = self.options().max_length,
                      .sentences = one["sentences"].cast<std::int64_t>(),
                      .tokens = one["tokens"].cast<std::int64_t>(),
                      .gram = matrix_in<double>(one, "gram"),
                      .sums = matrix_in<double>(one, "sums"),
                      .counts = vector_in<std::int64_t>(one, "counts"),
                      .waiting = {vector_in<std::int32_t>(one, "waiting_ids"),
                                  vector_in<std::int64_t>(one, "waiting_offsets")}});
  }
  const WithoutGil release;
  self.set_statistics(std::move(states));
}

}  // namespace

void bind_laes(py::module_& m) {
  py::class_<Laes, LinearEncoder, std::shared_ptr<Laes>>(m, "LAES", "The linear autoencoder for sequences.")
      .def(py::init(&make), py::arg("vectors"), py::arg("tokenizer"), py::arg("weights"), py::kw_only(),
           py::arg("hidden"), py::arg("mode"), py::arg("direction"), py::arg("combine"), py::arg("center"),
           py::arg("state"), py::arg("max_length"))
      .def_property_readonly("options", &options)
      .def_property_readonly("solved", py::cpp_function(&Laes::solved, Release()),
                             "Whether the parameters are up to date.")
      .def_property_readonly("sentences_seen", py::cpp_function(&Laes::sentences_seen, Release()))
      .def_property_readonly("tokens_seen", py::cpp_function(&Laes::tokens_seen, Release()))
      .def("merge", &Laes::merge, py::arg("other"), Release())
      .def("parameters", &parameters, py::arg("direction"),
           "A, B, U (of state 'projection'), singular_values, center, longest and rank of one direction.")
      .def("states", &states, py::arg("sentence"), py::arg("direction"),
           "States after each known word, in reading order.")
      .def("decode", &decode, py::arg("state"), py::arg("length"), py::arg("direction"))
      .def("reconstruction_error", &reconstruction_error, py::arg("sentences"), py::arg("hidden"),
           py::arg("direction"), "|X - X~| / |X| for every hidden size.")
      .def("select", &select, py::arg("first"), py::arg("second"), py::arg("scores"), py::arg("hidden"),
           "Pearson correlations of the pairs' cosines with the scores, for every hidden size and "
           "combination.")
      .def(
          "resized",
          [](Laes& self, std::int64_t hidden, std::string_view direction, std::string_view combine) {
            return std::shared_ptr<Laes>(self.resized(hidden, parse_enum<LaesOptions::Direction>(direction),
                                                      parse_enum<LaesOptions::Combine>(combine)));
          },
          py::arg("hidden"), py::arg("direction"), py::arg("combine"), Release())
      .def(
          "variant",
          [](Laes& self, std::int64_t hidden, std::string_view mode, std::string_view direction,
             std::string_view combine) {
            return std::shared_ptr<Laes>(self.variant(hidden, parse_enum<LaesOptions::Mode>(mode),
                                                      parse_enum<LaesOptions::Direction>(direction),
                                                      parse_enum<LaesOptions::Combine>(combine)));
          },
          py::arg("hidden"), py::arg("mode"), py::arg("direction"), py::arg("combine"), Release())
      .def("statistics", &statistics, "Statistics of each direction; None: loaded without.")
      .def("set_statistics", &set_statistics, py::arg("statistics"));
}

}  // namespace sentencode
