#include "sentencode/models/networks.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "models/config.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

std::mutex registry_mutex;
std::map<std::string, MakeNetwork>& registry() {
  static std::map<std::string, MakeNetwork> networks;
  return networks;
}

/// What was registered by that name, or nothing. It is called without the lock: it may wait for Python's.
MakeNetwork registered(const std::string& network) {
  const std::scoped_lock lock(registry_mutex);
  const auto found = registry().find(network);
  return found == registry().end() ? MakeNetwork() : found->second;
}

}  // namespace

std::string SentenceNetwork::config() const {
  std::string found;
  for_networks([&](const auto& kind) {
    using Network = typename std::remove_cvref_t<decltype(kind)>::Network;
    if (typeid(*this) == typeid(Network)) {
      found = written_options("network", kind.network, static_cast<const Network&>(*this).options());
    }
  });
  ST_CHECK(!found.empty(), Unsupported, name(), " has no config: it is none of the networks of this library");
  return found;
}

std::shared_ptr<SentenceNetwork> make_network(const std::string& config) {
  const nlohmann::json given = parsed_options("network", config);
  const auto name = given["network"].get<std::string>();
  std::shared_ptr<SentenceNetwork> found;
  for_networks([&](const auto& kind) {
    using Kind = std::remove_cvref_t<decltype(kind)>;
    if (name != kind.network && (kind.formerly.empty() || name != kind.formerly)) return;
    found = std::make_shared<typename Kind::Network>(read_options<typename Kind::Options>("network", given));
  });
  if (found == nullptr) {
    const MakeNetwork make = registered(name);
    ST_CHECK(make != nullptr, InvalidInput, "network: unknown kind ", given["network"].dump());
    found = make(config);
  }
  return found;
}

std::string name_in_table(const std::string& network) {
  std::string found;
  for_networks([&](const auto& kind) {
    if (network == kind.network || (!kind.formerly.empty() && network == kind.formerly)) found = kind.network;
  });
  return found;
}

void register_network(const std::string& network, MakeNetwork make) {
  ST_CHECK(name_in_table(network).empty(), InvalidInput, "there is a network named '", network,
           "' already: choose another name");
  const std::scoped_lock lock(registry_mutex);
  registry()[network] = std::move(make);
}

std::string default_config(const std::string& network) {
  std::string found;
  for_networks([&](const auto& kind) {
    if (network == kind.network) {
      found =
          written_options("network", kind.network, typename std::remove_cvref_t<decltype(kind)>::Options{});
    }
  });
  ST_CHECK(!found.empty(), InvalidInput, "there is no network named '", network, "'");
  return found;
}

}  // namespace sentencode::models
