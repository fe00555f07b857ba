"""Promotion: the tables of the numpy specification, modes, errors and the memo."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tans_core import dtypes, promotion
from tans_core.config import enable_x64, numpy_dtype_promotion
from tans_core.errors import TypePromotionError

NAMES = {
    "b1": "bool",
    "i4": "int4",
    "u4": "uint4",
    "f8a": "float8_e4m3fn",
    "f8b": "float8_e5m2",
    "bf16": "bfloat16",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    **{f"c{n}": f"complex{n}" for n in (64, 128)},
}
WEAK = {"i*": int, "f*": float, "c*": complex}

X64_ON = """
b1 i4 u4 i8 i16 i32 i64 u8 u16 u32 u64 f8a f8b bf16 f16 f32 f64 c64 c128 i* f* c*
b1 b1 i4 u4 i8 i16 i32 i64 u8 u16 u32 u64 f8a f8b bf16 f16 f32 f64 c64 c128 i64* f64* c128*
i4 i4 i4 - - - - - - - - - - - - - - - - - i4 - -
u4 u4 - u4 - - - - - - - - - - - - - - - - u4 - -
i8 i8 - - i8 i16 i32 i64 i16 i32 i64 f64* f8a f8b bf16 f16 f32 f64 c64 c128 i8 f64* c128*
i16 i16 - - i16 i16 i32 i64 i16 i32 i64 f64* f8a f8b bf16 f16 f32 f64 c64 c128 i16 f64* c128*
i32 i32 - - i32 i32 i32 i64 i32 i32 i64 f64* f8a f8b bf16 f16 f32 f64 c64 c128 i32 f64* c128*
i64 i64 - - i64 i64 i64 i64 i64 i64 i64 f64* f8a f8b bf16 f16 f32 f64 c64 c128 i64 f64* c128*
u8 u8 - - i16 i16 i32 i64 u8 u16 u32 u64 f8a f8b bf16 f16 f32 f64 c64 c128 u8 f64* c128*
u16 u16 - - i32 i32 i32 i64 u16 u16 u32 u64 f8a f8b bf16 f16 f32 f64 c64 c128 u16 f64* c128*
u32 u32 - - i64 i64 i64 i64 u32 u32 u32 u64 f8a f8b bf16 f16 f32 f64 c64 c128 u32 f64* c128*
u64 u64 - - f64* f64* f64* f64* u64 u64 u64 u64 f8a f8b bf16 f16 f32 f64 c64 c128 u64 f64* c128*
f8a f8a - - f8a f8a f8a f8a f8a f8a f8a f8a f8a - - - - - - - f8a f8a -
f8b f8b - - f8b f8b f8b f8b f8b f8b f8b f8b - f8b - - - - - - f8b f8b -
bf16 bf16 - - bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 - - bf16 f32 f32 f64 c64 c128 bf16 bf16 c64
f16 f16 - - f16 f16 f16 f16 f16 f16 f16 f16 - - f32 f16 f32 f64 c64 c128 f16 f16 c64
f32 f32 - - f32 f32 f32 f32 f32 f32 f32 f32 - - f32 f32 f32 f64 c64 c128 f32 f32 c64
f64 f64 - - f64 f64 f64 f64 f64 f64 f64 f64 - - f64 f64 f64 f64 c128 c128 f64 f64 c128
c64 c64 - - c64 c64 c64 c64 c64 c64 c64 c64 - - c64 c64 c64 c128 c64 c128 c64 c64 c64
c128 c128 - - c128 c128 c128 c128 c128 c128 c128 c128 - - c128 c128 c128 c128 c128 c128 c128 c128 c128
i* i64* i4 u4 i8 i16 i32 i64 u8 u16 u32 u64 f8a f8b bf16 f16 f32 f64 c64 c128 i64* f64* c128*
f* f64* - - f64* f64* f64* f64* f64* f64* f64* f64* f8a f8b bf16 f16 f32 f64 c64 c128 f64* f64* c128*
c* c128* - - c128* c128* c128* c128* c128* c128* c128* c128* - - c64 c64 c64 c128 c64 c128 c128* c128* c128*
"""  # noqa: E501  (a table)
X64_OFF = """
b1 i8 i16 i32 u8 u16 u32 bf16 f16 f32 c64 i* f* c*
b1 b1 i8 i16 i32 u8 u16 u32 bf16 f16 f32 c64 i32* f32* c64*
i8 i8 i8 i16 i32 i16 i32 i32 bf16 f16 f32 c64 i8 f32* c64*
i16 i16 i16 i16 i32 i16 i32 i32 bf16 f16 f32 c64 i16 f32* c64*
i32 i32 i32 i32 i32 i32 i32 i32 bf16 f16 f32 c64 i32 f32* c64*
u8 u8 i16 i16 i32 u8 u16 u32 bf16 f16 f32 c64 u8 f32* c64*
u16 u16 i32 i32 i32 u16 u16 u32 bf16 f16 f32 c64 u16 f32* c64*
u32 u32 i32 i32 i32 u32 u32 u32 bf16 f16 f32 c64 u32 f32* c64*
bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32 f32 c64 bf16 bf16 c64
f16 f16 f16 f16 f16 f16 f16 f16 f32 f16 f32 c64 f16 f16 c64
f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 c64 f32 f32 c64
c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64
i* i32* i8 i16 i32 u8 u16 u32 bf16 f16 f32 c64 i32* f32* c64*
f* f32* f32* f32* f32* f32* f32* f32* bf16 f16 f32 c64 f32* f32* c64*
c* c64* c64* c64* c64* c64* c64* c64* c64 c64 c64 c64 c64* c64* c64*
"""


def operand(name):
    return WEAK[name] if name in WEAK else dtypes.native(NAMES[name])


def cases(table):
    header, *rows = [line.split() for line in table.strip().split("\n")]
    return [
        (row[0], column, cell) for row in rows for column, cell in zip(header, row[1:], strict=True)
    ]


def check(a, b, expected):
    if expected == "-":
        with pytest.raises(TypePromotionError):
            promotion.result_type(operand(a), operand(b))
        return
    weak = expected.endswith("*")
    dtype = dtypes.native(NAMES[expected.rstrip("*")])
    found = promotion.result_type(operand(a), operand(b), return_weak_type_flag=True)
    assert found == (dtype, weak)


@pytest.mark.parametrize(("a", "b", "expected"), cases(X64_ON))
def test_table_with_x64(a, b, expected):
    with enable_x64(True):
        check(a, b, expected)


@pytest.mark.parametrize(("a", "b", "expected"), cases(X64_OFF))
def test_table_without_x64(a, b, expected):
    check(a, b, expected)


def test_join_is_over_all_operands_at_once():
    with enable_x64(True):
        found = promotion.result_type(np.uint64, np.int64, np.float16)
    assert found == np.float16


def test_64_bit_operands_are_narrowed_without_x64():
    assert promotion.result_type(np.float64(1), np.ones(2)) == np.float32
    assert promotion.result_type(np.uint32(1), np.int32(1)) == np.int32


def test_promote_types_never_narrows():
    assert promotion.promote_types("uint64", "int32") == np.float64
    assert promotion.promote_types("uint64", "float16") == np.float16
    assert promotion.promote_types("int8", int) == np.int8
    assert promotion.promote_types(bool, int) == np.int64


STRICT = [
    (np.int8(1), np.int16(1), None),
    (np.int8(1), 1, "int8"),
    (True, 1, None),
    (1, 1.0, "float32"),
    (np.float32(1), 1, "float32"),
    (np.int32(1), 1.0, None),
    (np.bool_(True), 1.0, None),
    (1, 1j, "complex64"),
    (True, np.bool_(False), "bool"),
    (np.complex64(1), 1.0, "complex64"),
    (np.float32(1), 1j, None),
    (ml_dtypes.bfloat16(1), 1, "bfloat16"),
]


@pytest.mark.parametrize(("a", "b", "expected"), STRICT)
def test_strict_mode_allows_weak_joins_only(a, b, expected):
    with numpy_dtype_promotion("strict"):
        if expected is None:
            with pytest.raises(TypePromotionError, match="strict"):
                promotion.result_type(a, b)
        else:
            assert promotion.result_type(a, b) == dtypes.native(expected)


def test_errors_name_both_dtypes_and_a_remedy():
    with pytest.raises(TypePromotionError, match=r"float16 and float8_e4m3fn.*astype"):
        promotion.result_type(np.float16, ml_dtypes.float8_e4m3fn)
    with pytest.raises(ValueError, match="at least one"):
        promotion.result_type()
    with pytest.raises(TypeError, match=r"jnp\.asarray"):
        promotion.result_type([1, 2])
    with pytest.raises(TypeError, match="object"):
        promotion.result_type(object)


def test_a_join_that_raises_leaves_the_memo_unchanged():
    pair = (dtypes.native("float16"), False), (dtypes.native("float8_e5m2"), False)
    for _ in range(2):
        with pytest.raises(TypePromotionError):
            promotion.join(*pair)
    assert pair not in promotion._memo()


operands = st.sampled_from([operand(name) for name in (*NAMES, *WEAK)])


@given(st.lists(operands, min_size=1, max_size=4), st.randoms())
def test_order_and_repetition_of_operands_do_not_matter(values, random):
    def outcome(args):
        try:
            return promotion.result_type(*args, return_weak_type_flag=True)
        except TypePromotionError:
            return None

    shuffled = [*values, values[0]]
    random.shuffle(shuffled)
    assert outcome(values) == outcome(shuffled)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(WEAK, 2)))
def test_weak_operands_give_the_default_width(a, b):
    dtype, weak = promotion.result_type(WEAK[a], WEAK[b], return_weak_type_flag=True)
    assert weak
    assert dtype.itemsize == (8 if dtype.kind == "c" else 4)
