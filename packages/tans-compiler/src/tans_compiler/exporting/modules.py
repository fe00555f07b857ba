"""MLIR modules put together: a program for several platforms, a program inside of another."""

from collections.abc import Sequence
from typing import Any, Final

from tans_compiler._jaxlib import func, ir, with_static_shapes
from tans_xla import hlo

PLATFORM_INDEX: Final = "_platform_index"


def for_platforms(modules: Sequence[Any]) -> Any:
    """Return one module that runs one of several, all with equal types.

    Its main function takes the number of the platform first. Modules that are equal are kept once,
    and a module for which all are equal has no branch.
    """
    texts = [_text(m) for m in modules]
    kept = [i for i, text in enumerate(texts) if texts.index(text) == i]
    base = modules[0]
    mains = [
        rename_main(m, base, f"main_{number}") for number, m in enumerate(modules[i] for i in kept)
    ]
    branch_of = [kept.index(texts.index(text)) for text in texts]
    _dispatching_main(base, mains, branch_of)
    return base


def _text(module: Any) -> str:
    return module.operation.get_asm(enable_debug_info=False)


def rename_main(module: Any, into: Any, name: str) -> Any:
    """Move the functions of `module` into another; return the one that was ``main``, as `name`."""
    taken = {_symbol(op) for op in into.body.operations} if module is not into else set()
    main = None
    for operation in list(module.body.operations):
        symbol = _symbol(operation)
        if symbol == "main":
            new = name
        elif symbol in taken:
            new = _free(symbol, taken)
        else:
            new = symbol
        if new != symbol:
            ir.SymbolTable.replace_all_symbol_uses(symbol, new, module.operation)
            ir.SymbolTable.set_symbol_name(operation, new)
        taken.add(new)
        if symbol == "main":
            main = operation
            ir.SymbolTable.set_visibility(operation, "private")
        if module is not into:
            operation.detach_from_parent()
            into.body.append(operation)
    if main is None:
        raise ValueError("the module has no function main")
    return main


def _symbol(operation: Any) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _free(symbol: str, taken: set[str]) -> str:
    number = 0
    while f"{symbol}_{number}" in taken:
        number += 1
    return f"{symbol}_{number}"


def _dispatching_main(module: Any, mains: Sequence[Any], branch_of: Sequence[int]) -> None:
    inputs, results = list(mains[0].type.inputs), list(mains[0].type.results)
    index_type = ir.RankedTensorType.get((), ir.IntegerType.get_signless(32))
    kind = ([index_type, *inputs], results)
    main = func.FuncOp("main", kind, visibility="public", ip=ir.InsertionPoint(module.body))
    mark = {"jax.global_constant": hlo.string(PLATFORM_INDEX)}
    given = [_attributes(mains[0], "arg_attrs", i) for i in range(len(inputs))]
    main.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(mark), *given])
    if "res_attrs" in mains[0].attributes:
        main.attributes["res_attrs"] = mains[0].attributes["res_attrs"]
    with ir.InsertionPoint(main.add_entry_block()):
        index, *arguments = main.arguments
        if len(mains) == 1:
            func.return_(call(mains[0], arguments))
            return
        which = index if list(branch_of) == list(range(len(mains))) else _chosen(index, branch_of)
        case = hlo.op("stablehlo.case", results, [which], regions=len(mains))
        for number, function in enumerate(mains):
            with hlo.block(case, number, []):
                hlo.ret(call(function, arguments))
        func.return_(list(case.results))


def _chosen(index: Any, branch_of: Sequence[int]) -> Any:
    """Return the branch of the platform with a number."""
    chosen = hlo.op1("stablehlo.constant", index.type, (), {"value": _i32(branch_of[0], index)})
    for number, branch in enumerate(branch_of[1:], 1):
        same = hlo.op1(
            "stablehlo.compare",
            ir.RankedTensorType.get((), ir.IntegerType.get_signless(1)),
            [index, hlo.op1("stablehlo.constant", index.type, (), {"value": _i32(number, index)})],
            {"comparison_direction": hlo.comparison("EQ")},
        )
        other = hlo.op1("stablehlo.constant", index.type, (), {"value": _i32(branch, index)})
        chosen = hlo.op1("stablehlo.select", index.type, [same, other, chosen])
    return chosen


def _i32(value: int, like: Any) -> Any:
    element = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)
    return ir.DenseElementsAttr.get_splat(like.type, element)


def _attributes(function: Any, kind: str, i: int) -> Any:
    if kind not in function.attributes:
        return ir.DictAttr.get({})
    return ir.ArrayAttr(function.attributes[kind])[i]


def call(function: Any, arguments: Sequence[Any]) -> list[Any]:
    """Emit a call of a function of the same module."""
    callee = ir.FlatSymbolRefAttr.get(_symbol(function))
    results = list(function.type.results)
    return list(hlo.op("func.call", results, arguments, {"callee": callee}).results)


def constant_index(number: int) -> Any:
    """Emit the number of a platform."""
    index_type = ir.RankedTensorType.get((), ir.IntegerType.get_signless(32))
    element = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)
    value = ir.DenseElementsAttr.get_splat(index_type, element)
    return hlo.op1("stablehlo.constant", index_type, (), {"value": value})


def without_attributes(function: Any) -> None:
    """Drop what is said of a main function's arguments and results: it is no main any more."""
    for kind in ("arg_attrs", "res_attrs"):
        if kind in function.attributes:
            del function.attributes[kind]


def specialised(module: Any, in_types: Sequence[Any], out_types: Sequence[Any]) -> Any:
    """Return a module with symbolic shapes as one for arguments of these static types."""
    inner = rename_main(module, module, "symbolic_main")
    without_attributes(inner)
    wanted = list(inner.type.inputs)
    main = func.FuncOp(
        "main",
        (list(in_types), list(out_types)),
        visibility="public",
        ip=ir.InsertionPoint(module.body),
    )
    with ir.InsertionPoint(main.add_entry_block()):
        given = [converted(x, t) for x, t in zip(main.arguments, wanted, strict=True)]
        outs = call(inner, given)
        func.return_([converted(x, t) for x, t in zip(outs, out_types, strict=True)])
    return with_static_shapes(module, module.context)


def converted(x: Any, wanted: Any) -> Any:
    """Convert a value to a type, which may also forget or tell sizes."""
    return x if x.type == wanted else hlo.op1("stablehlo.convert", wanted, (x,))
