#include "sentencode/linear/linear_encoder.h"

#include "linear/loaders.h"
#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/linear/average.h"
#include "sentencode/linear/laes.h"
#include "sentencode/linear/sif.h"
#include "sentencode/linear/usif.h"

namespace sentencode {
namespace {

template <typename Kind>
std::unique_ptr<LinearEncoder> load_as(const SavedModel& saved) {
  return Kind::load(saved);
}

using Loader = std::unique_ptr<LinearEncoder> (*)(const SavedModel&);
const std::map<std::string, Loader> kKinds{
    {"Average", load_as<Average>}, {"LAES", load_as<Laes>}, {"SIF", load_as<Sif>}, {"USIF", load_as<Usif>}};

std::unique_ptr<LinearEncoder> load_linear(const SavedModel& saved) {
  const auto kind = kKinds.find(saved.kind);
  saved.check(kind != kKinds.end(), "holds an encoder of the unknown kind '", saved.kind, "'");
  auto encoder = saved.valid([&] { return kind->second(saved); });
  encoder->set_params(saved.params);
  return encoder;
}

}  // namespace

const std::map<std::string, EncoderLoader>& linear_loaders() {
  static const auto loaders = [] {
    std::map<std::string, EncoderLoader> result;
    for (const auto& [kind, loader] : kKinds) {
      result[kind] = [](const std::string& path, const LoadOptions& options) -> std::unique_ptr<Encoder> {
        return load_linear(SavedModel::open(path, options));
      };
    }
    return result;
  }();
  return loaders;
}

void LinearEncoder::check_out(const Sentences& sentences, const MatrixView& out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind(), ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
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
  const auto keep = std::make_shared<const std::string>(std::move(bytes));
  SavedModel saved =
      SavedModel::read(SafeTensors::parse(keep, std::as_bytes(std::span(*keep)), "an encoder in memory"));
  saved.options.vectors = std::move(vectors);
  return load_linear(saved);
}

}  // namespace sentencode
