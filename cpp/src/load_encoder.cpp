// Depends on all encoders of the core, as encoder.h does not.
#include "linear/loaders.h"

#include <map>
#include <mutex>
#include <utility>

#include "saved_model.h"
#include "sentencode/encoder.h"
#include "sentencode/error.h"

namespace sentencode {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, EncoderLoader> loaders = linear_loaders();
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void register_encoder(const std::string& kind, EncoderLoader loader) {
  const std::lock_guard lock(registry().mutex);
  registry().loaders[kind] = loader;
}

std::unique_ptr<Encoder> load_encoder(const std::string& path, const LoadOptions& options) {
  const SavedModel saved = SavedModel::read(SafeTensors::open(path));
  EncoderLoader loader = nullptr;
  {
    const std::lock_guard lock(registry().mutex);
    const auto entry = registry().loaders.find(saved.kind);
    saved.check(entry != registry().loaders.end(), "holds an encoder of the unknown kind '", saved.kind,
                "'; import the module that registers it");
    loader = entry->second;
  }
  return loader(path, options);
}

std::string encoder_config(const std::string& path) {
  const SavedModel saved = SavedModel::read(SafeTensors::open(path));
  return nlohmann::json{{"kind", saved.kind}, {"config", saved.config}, {"params", saved.params}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sentencode
