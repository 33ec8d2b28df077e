"""Raw values in, named tuples out, where every value is already of the type that its field is noted with.

pydantic judges the same annotations and explains what is wrong, and takes 200 ms and 17 MB to import: too much for a
hook that has 300 ms, and for a daemon. So it is asked only about what is not plainly right here.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

_KEEPS = {"ge": operator.ge, "gt": operator.gt, "le": operator.le}
_EXACT = 2**53  # whole numbers up to here are the same as floats


class Ge:
    """At least. As in annotated_types, which pydantic knows, and which takes 18 ms to import."""

    def __init__(self, ge: float) -> None:
        self.ge = ge


class Gt:
    """More than."""

    def __init__(self, gt: float) -> None:
        self.gt = gt


class Le:
    """At most."""

    def __init__(self, le: float) -> None:
        self.le = le


class UnsureError(Exception):
    """Not plainly right; it may be right all the same."""


def plainly(value: Any, kind: Any) -> Any:  # noqa: ANN401  # of any annotation
    """The value as its annotation has it: tables as named tuples, lists as tuples. Raises UnsureError."""
    origin, args = get_origin(kind), get_args(kind)
    if _is_table(kind) and type(value) is dict:
        return _table(value, kind)
    if origin is Annotated:
        return _bounded(plainly(value, args[0]), args[1:])
    if origin in (Union, types.UnionType):
        return _either(value, args)
    if origin is Literal and type(value) is str and value in args:
        return value
    if origin is tuple and type(value) is list:
        return tuple(plainly(item, args[0]) for item in value)
    if origin is dict and type(value) is dict:
        return {plainly(key, args[0]): plainly(item, args[1]) for key, item in value.items()}
    if kind is float and type(value) is int and abs(value) < _EXACT:
        return float(value)
    if type(value) is kind or (value is None and kind is types.NoneType):
        return value
    raise UnsureError


def no_tables(value: Any, kind: Any, name: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """The values, by name, that are none of the tables that their annotations have: pydantic takes lists for them."""
    if not _is_table(kind):
        for inside in (arg for arg in get_args(kind) if _is_table(arg)):
            for n, item in enumerate(value if isinstance(value, list) else ()):
                yield from no_tables(item, inside, f"{name}.{n}")
    elif not isinstance(value, dict):
        yield name, value
    else:
        hints = get_type_hints(kind, include_extras=True)
        for key in value.keys() & hints.keys():
            yield from no_tables(value[key], hints[key], f"{name}.{key}" if name else key)


def _is_table(kind: Any) -> bool:  # noqa: ANN401
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _table(values: dict[str, Any], kind: Any) -> Any:  # noqa: ANN401
    hints = get_type_hints(kind, include_extras=True)
    if not values.keys() <= hints.keys():
        raise UnsureError
    try:
        return kind(**{name: plainly(value, hints[name]) for name, value in values.items()})
    except TypeError as error:  # a field that has to be there is not
        raise UnsureError from error


def _bounded(value: Any, bounds: tuple[Any, ...]) -> Any:  # noqa: ANN401
    for bound in bounds:
        name = type(bound).__name__.lower()
        if not _KEEPS[name](value, getattr(bound, name)):
            raise UnsureError
    return value


def _either(value: Any, kinds: tuple[Any, ...]) -> Any:  # noqa: ANN401
    for kind in kinds:
        try:
            return plainly(value, kind)
        except UnsureError:
            continue
    raise UnsureError
