#include "sentencode/models/networks.h"

#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "models/config.h"
#include "sentencode/error.h"
#include "sentencode/models/heads.h"

namespace sentencode::models {
namespace {

std::mutex registry_mutex;
std::map<std::string, MakeNetwork>& registry() {
  static std::map<std::string, MakeNetwork> networks;
  return networks;
}

/// The function registered by that name, or null. Callers call it without the lock: it may wait for the GIL.
MakeNetwork registered(const std::string& network) {
  const std::scoped_lock lock(registry_mutex);
  const auto entry = registry().find(network);
  return entry == registry().end() ? MakeNetwork() : entry->second;
}

}  // namespace

std::string SentenceNetwork::config() const {
  std::string config;
  for_networks([&](const auto& kind) {
    using Network = typename std::remove_cvref_t<decltype(kind)>::Network;
    if (typeid(*this) == typeid(Network)) {
      config = written_options("network", kind.network, static_cast<const Network&>(*this).options());
    }
  });
  ST_CHECK(!config.empty(), Unsupported, name(), " has no config: it is no network of this library");
  return config;
}

std::shared_ptr<SentenceNetwork> make_network(const std::string& config) {
  const nlohmann::json options = parsed_options("network", config);
  const auto name = options["network"].get<std::string>();
  std::shared_ptr<SentenceNetwork> network;
  for_networks([&](const auto& kind) {
    using Kind = std::remove_cvref_t<decltype(kind)>;
    if (name != kind.network && (kind.formerly.empty() || name != kind.formerly)) return;
    network =
        std::make_shared<typename Kind::Network>(read_options<typename Kind::Options>("network", options));
  });
  if (network == nullptr) {
    const MakeNetwork make = registered(name);
    ST_CHECK(make != nullptr, InvalidInput, "network: unknown kind ", options["network"].dump());
    network = make(config);
  }
  return network;
}

std::string name_in_table(const std::string& network) {
  std::string name;
  for_networks([&](const auto& kind) {
    if (network == kind.network || (!kind.formerly.empty() && network == kind.formerly)) name = kind.network;
  });
  return name;
}

void register_network(const std::string& network, MakeNetwork make) {
  ST_CHECK(name_in_table(network).empty(), InvalidInput, "there is a network named '", network,
           "' already: choose another name");
  const std::scoped_lock lock(registry_mutex);
  registry()[network] = std::move(make);
}

}  // namespace sentencode::models
