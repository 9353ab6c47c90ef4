#include "sentencode/models/networks.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "sentencode/error.h"

namespace sentencode::models {
namespace {

using nlohmann::json;

/// Takes options out of JSON: every one has to be there, and nothing else.
class Reader {
 public:
  explicit Reader(const json& config) : left_(config) { left_.erase("network"); }

  template <typename T>
  void operator()(const char* name, T& value) const {
    const auto place = left_.find(name);
    ST_CHECK(place != left_.end(), InvalidInput, "network: ", name, " is missing");
    try {
      if constexpr (std::is_enum_v<T>) {
        parse(place->template get<std::string>(), value);
      } else {
        // JSON would make a truth of a number, and a whole number of any.
        const bool fits = !std::is_arithmetic_v<T> || place->is_boolean() == std::is_same_v<T, bool>;
        ST_CHECK(fits && (!std::is_integral_v<T> || !place->is_number_float()), InvalidInput,
                 "network: ", name, " cannot be ", place->dump());
        value = place->template get<T>();
      }
    } catch (const json::exception&) {
      throw InvalidInput(concat("network: ", name, " cannot be ", place->dump()));
    }
    left_.erase(place);
  }

  void finish() const {
    ST_CHECK(left_.empty(), InvalidInput, "network: unknown option '", left_.begin().key(), "'");
  }

 private:
  mutable json left_;
};

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

/// {"network": kind, and every option}
template <typename Options>
std::string written(const char* kind, const Options& options) {
  json config{{"network", kind}};
  for_options(options, [&](const char* name, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      config[name] = name_of(value);
    } else {
      config[name] = value;
    }
  });
  return config.dump();
}

}  // namespace

std::string SentenceNetwork::config() const {
  std::string found;
  for_networks([&](const auto& kind) {
    using Network = typename std::remove_cvref_t<decltype(kind)>::Network;
    if (typeid(*this) == typeid(Network)) {
      found = written(kind.network, static_cast<const Network&>(*this).options());
    }
  });
  ST_CHECK(!found.empty(), Unsupported, name(), " has no config: it is none of the networks of this library");
  return found;
}

std::shared_ptr<SentenceNetwork> make_network(const std::string& config) {
  const json given = json::parse(config, nullptr, /*allow_exceptions=*/false);
  ST_CHECK(given.is_object() && given.contains("network") && given["network"].is_string(), InvalidInput,
           "network must be a JSON object with the name of one, got ", config.substr(0, 60));
  const auto name = given["network"].get<std::string>();
  std::shared_ptr<SentenceNetwork> found;
  for_networks([&](const auto& kind) {
    using Kind = std::remove_cvref_t<decltype(kind)>;
    if (name != kind.network && (kind.formerly.empty() || name != kind.formerly)) return;
    const Reader read(given);
    typename Kind::Options options;
    for_options(options, read);
    read.finish();
    found = std::make_shared<typename Kind::Network>(options);
  });
  if (found == nullptr) {
    const MakeNetwork make = registered(name);
    ST_CHECK(make != nullptr, InvalidInput, "network: unknown kind ", given["network"].dump());
    found = make(config);
  }
  return found;
}

bool is_of_table(const std::string& network) {
  bool found = false;
  for_networks([&](const auto& kind) {
    found |= network == kind.network || (!kind.formerly.empty() && network == kind.formerly);
  });
  return found;
}

void register_network(const std::string& network, MakeNetwork make) {
  ST_CHECK(!is_of_table(network), InvalidInput, "there is a network named '", network,
           "' already: choose another name");
  const std::scoped_lock lock(registry_mutex);
  registry()[network] = std::move(make);
}

std::string default_config(const std::string& network) {
  std::string found;
  for_networks([&](const auto& kind) {
    if (network == kind.network) {
      found = written(kind.network, typename std::remove_cvref_t<decltype(kind)>::Options{});
    }
  });
  ST_CHECK(!found.empty(), InvalidInput, "there is no network named '", network, "'");
  return found;
}

}  // namespace sentencode::models
