#include "sentencode/linear/linear_encoder.h"

#include "linear/loaders.h"
#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/linear/average.h"
#include "sentencode/linear/laes.h"
#include "sentencode/linear/sif.h"
#include "sentencode/linear/trained_average.h"
#include "sentencode/linear/usif.h"

namespace sentencode {
namespace {

template <typename T>
std::unique_ptr<LinearEncoder> load_as(const SavedModel& saved) {
  return T::load(saved);
}

using Loader = std::unique_ptr<LinearEncoder> (*)(const SavedModel&);
const std::map<std::string, Loader> kLoaders{{"Average", load_as<Average>},
                                             {"LAES", load_as<Laes>},
                                             {"SIF", load_as<Sif>},
                                             {"TrainedAverage", load_as<TrainedAverage>},
                                             {"USIF", load_as<Usif>}};

std::unique_ptr<LinearEncoder> load_linear(const SavedModel& saved) {
  const auto loader = kLoaders.find(saved.kind);
  saved.check(loader != kLoaders.end(), "holds an encoder of the unknown kind '", saved.kind, "'");
  auto encoder = saved.valid([&] { return loader->second(saved); });
  encoder->set_params(saved.params);
  return encoder;
}

}  // namespace

const std::map<std::string, EncoderLoader>& linear_loaders() {
  static const auto loaders = [] {
    std::map<std::string, EncoderLoader> by_kind;
    for (const auto& [kind, _] : kLoaders) {
      by_kind[kind] = [](const std::string& path, const LoadOptions& options) -> std::unique_ptr<Encoder> {
        return load_linear(SavedModel::open(path, options));
      };
    }
    return by_kind;
  }();
  return loaders;
}

void LinearEncoder::check_out(const Sentences& sentences, const MatrixView& out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind(), ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
  sentences.check();
}

ModelContents LinearEncoder::contents(const SaveOptions& options, const std::string& path) const {
  ModelContents contents;
  contents.add(words_, options.vectors, path);
  write(contents, options);
  return contents;
}

void LinearEncoder::save(const std::string& path, const SaveOptions& options) const {
  contents(options, path).save(path, kind(), params());
}

std::string LinearEncoder::to_bytes(bool statistics) const {
  return contents({SaveOptions::Vectors::omitted, statistics}, {}).to_bytes(kind(), params());
}

std::unique_ptr<LinearEncoder> LinearEncoder::from_bytes(std::string bytes,
                                                         std::shared_ptr<const WordVectors> vectors) {
  const auto file = std::make_shared<const std::string>(std::move(bytes));
  SavedModel saved =
      SavedModel::read(SafeTensors::parse(file, std::as_bytes(std::span(*file)), "an encoder in memory"));
  saved.options.vectors = std::move(vectors);
  return load_linear(saved);
}

}  // namespace sentencode
