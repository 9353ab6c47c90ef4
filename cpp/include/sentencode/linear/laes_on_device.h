#pragma once

#include <memory>
#include <string>

#include "sentencode/linear/laes.h"
#include "sentencode/sentences.h"

namespace sentencode {

/// What Laes::partial_fit does, by torch on a device, such as "cuda": the sums G of sentences, which stay
/// there until they are merged. Products have the precision of Laes's own, and sums are double.
class LaesOnDevice {
 public:
  /// For an encoder with the words and options of this one; InvalidInput names the device that cannot be
  /// used.
  LaesOnDevice(std::shared_ptr<const Laes> like, const std::string& device);
  ~LaesOnDevice();

  /// Interrupted, or without the memory that it needs (InvalidInput), it leaves sums that cannot be used.
  void add(const Sentences& sentences);
  void merge_into(Laes& encoder) const;

 private:
  struct Sums;
  std::shared_ptr<const Laes> like_;
  std::unique_ptr<Sums> sums_;
};

/// What Laes::solve does, likewise: the recursion C_ij = G_ij + C_(i+1)(j+1), and C's eigenvectors, in double
/// and whole: about 33 (L n)^2 bytes. Of few sentences, Laes's own way is faster.
void solve_on_device(Laes& encoder, const std::string& device);

}  // namespace sentencode
