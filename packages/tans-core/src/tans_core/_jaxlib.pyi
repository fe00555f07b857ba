"""Types of the names that `_jaxlib.py` takes from jaxlib, whose wheel has none."""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

type Tree = Any
type KeyPath = tuple[Any, ...]

JAXLIB_VERSION: int
jaxlib_core: Any
pretty_printer: Any
xla_client: Any
jax_jit: Any
weak_value_interner: Callable[[Callable[..., Any]], Callable[..., Any]]
set_tracer_class: Callable[[type], None]
get_traceback: Callable[[], Traceback | None]
unset: Any

def format_document(document: Any, width: int) -> str: ...
def trace_context() -> tuple[Any, ...]: ...
def weakref_lru_cache(
    cache_context_fn: Callable[[], Any], fn: Callable[..., Any], maxsize: int = 2048
) -> Any: ...

class Config:
    def __init__(
        self, name: str, value: Any, *, include_in_jit_key: bool, include_in_trace_context: bool
    ) -> None: ...
    name: str
    value: Any
    def get_global(self) -> Any: ...
    def get_local(self) -> Any: ...
    def set_global(self, value: Any) -> None: ...
    def set_local(self, value: Any) -> None: ...
    def swap_local(self, value: Any) -> Any: ...

class Traceback:
    frames: Sequence[Any]
    def as_python_traceback(self) -> TracebackType: ...

class Array:
    aval: Any
    __array_priority__: int

class ArrayImpl(Array):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, index: Any) -> ArrayImpl: ...
    _check_and_rearrange: Any
    _npy_value: Any

class Sharding:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class NamedSharding(Sharding):
    mesh: Any
    spec: Any

class SingleDeviceSharding(Sharding): ...
class GSPMDSharding(Sharding): ...

class JaxRuntimeError(RuntimeError):
    error_code: int
    error_message: str

class PyTreeDef:
    num_leaves: int
    num_nodes: int
    def unflatten(self, leaves: Iterable[Any], /) -> Tree: ...
    def flatten_up_to(self, tree: Tree, /) -> list[Any]: ...
    def compose(self, inner: PyTreeDef, /) -> PyTreeDef: ...
    def children(self) -> list[PyTreeDef]: ...
    def node_data(self) -> tuple[type, Any] | None: ...

class PyTreeRegistry:
    __name__: str
    def flatten(
        self, tree: Tree, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]: ...
    def flatten_with_path(
        self, tree: Tree, leaf_predicate: Callable[[KeyPath, Any], bool] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]: ...
    def flatten_one_level(self, tree: Tree) -> tuple[Iterable[Any], Any] | None: ...
    def flatten_one_level_with_keys(
        self, tree: Tree
    ) -> tuple[Iterable[tuple[Any, Any]], Any] | None: ...
    def register_node(
        self,
        type: type,
        to_iterable: Callable[[Any], tuple[Iterable[Any], Any]],
        from_iterable: Callable[[Any, Any], Any],
        to_iterable_with_keys: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
    ) -> None: ...
    def register_dataclass_node(
        self, type: type, data_fields: Sequence[str], meta_fields: Sequence[str]
    ) -> None: ...
    def is_node(self, type: type) -> bool: ...

class SequenceKey:
    def __init__(self, idx: int) -> None: ...
    idx: int

class DictKey:
    def __init__(self, key: Any) -> None: ...
    key: Any

class GetAttrKey:
    def __init__(self, name: str) -> None: ...
    name: str

class FlattenedIndexKey:
    def __init__(self, key: int) -> None: ...
    key: int

class _PytreeModule:
    PyTreeRegistry: type[PyTreeRegistry]
    PyTreeDef: type[PyTreeDef]
    SequenceKey: type[SequenceKey]
    DictKey: type[DictKey]
    GetAttrKey: type[GetAttrKey]
    FlattenedIndexKey: type[FlattenedIndexKey]
    def all_leaves(self, registry: PyTreeRegistry, iterable: Iterable[Any], /) -> bool: ...
    def treedef_tuple(
        self, registry: PyTreeRegistry, defs: Sequence[PyTreeDef], /
    ) -> PyTreeDef: ...

pytree: _PytreeModule
