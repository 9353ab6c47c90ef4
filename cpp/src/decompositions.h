// Internal functions of dense.cpp and top_eigenpairs.cpp.
#pragma once

#include <cstdint>

#include "sentencode/dense.h"

namespace sentencode {

/// Replaces the rows of y [b, n], b <= n, by orthonormal ones q that span the same space; r [b, b] with
/// y = r^T q.
template <typename T>
RowMajor<T> orthonormalise_rows(RowMajor<T>& y);

/// Makes the component of largest absolute value of each row positive.
template <typename T>
void fix_signs(RowMajor<T>& vectors);

/// InvalidInput unless c is square and finite.
template <typename T>
void check_square(const RowMajor<T>& c);

/// Bytes of memory that top_eigenpairs needs in addition to the matrix.
template <typename T>
double top_eigenpairs_bytes(std::int64_t n, std::int64_t p);

}  // namespace sentencode
