// Handlers that tell what they were given.

#include <cstdint>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static int64_t calls = 0;

static ffi::Error Attributes(float f, double d, int64_t i, int32_t i32, bool b, std::string_view s,
                             ffi::Span<const double> a, ffi::ResultBuffer<ffi::F64> out) {
  double* o = out->typed_data();
  o[0] = f, o[1] = d, o[2] = i, o[3] = i32, o[4] = b, o[5] = s.size(), o[6] = a.size();
  return ffi::Error::Success();
}

// Adds 1, or 100 when the result shares the operand's buffer.
static ffi::Error AddInPlace(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  bool same = x.typed_data() == y->typed_data();
  for (int64_t i = 0; i < static_cast<int64_t>(x.element_count()); ++i) {
    y->typed_data()[i] = x.typed_data()[i] + (same ? 100.0f : 1.0f);
  }
  return ffi::Error::Success();
}

static ffi::Error Copy(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  ++calls;
  for (int64_t i = 0; i < static_cast<int64_t>(x.element_count()); ++i) {
    y->typed_data()[i] = x.typed_data()[i];
  }
  return ffi::Error::Success();
}

static ffi::Error Fail(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  return ffi::Error::InvalidArgument("nope");
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(KAttributes, Attributes,
                              ffi::Ffi::Bind()
                                  .Attr<float>("f")
                                  .Attr<double>("d")
                                  .Attr<int64_t>("i")
                                  .Attr<int32_t>("i32")
                                  .Attr<bool>("b")
                                  .Attr<std::string_view>("s")
                                  .Attr<ffi::Span<const double>>("a")
                                  .Ret<ffi::Buffer<ffi::F64>>());
#define UNARY ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>()
XLA_FFI_DEFINE_HANDLER_SYMBOL(KAddInPlace, AddInPlace, UNARY);
XLA_FFI_DEFINE_HANDLER_SYMBOL(KCopy, Copy, UNARY);
XLA_FFI_DEFINE_HANDLER_SYMBOL(KFail, Fail, UNARY);

extern "C" int64_t CopyCalls() { return calls; }
