"""Names for the types of the untyped objects that SQLAlchemy passes to a dialect. SQLAlchemy leaves the
methods that a dialect overrides untyped, and the objects of its trees differ between versions."""

from collections.abc import Callable
from typing import Any, TypeAlias

from sqlalchemy.sql.type_api import TypeEngine

#: A type of SQLAlchemy, of whatever values.
AnyType: TypeAlias = TypeEngine[Any]
#: A type, or its class, which stands for an instance without arguments.
TypeOrClass: TypeAlias = Any
#: An element of a statement's tree, or of the schema.
Element: TypeAlias = Any
#: A keyword that SQLAlchemy passes on from visitor to visitor, or to a cached method of an inspector.
Option: TypeAlias = Any
#: A Python value of a column or parameter.
Value: TypeAlias = Any
#: A function from one form of a value to another.
Processor: TypeAlias = Callable[[Any], Any]
#: A column, index or key as an inspector gives it, by the names of SQLAlchemy's ``ReflectedColumn`` etc.
Reflected: TypeAlias = dict[str, Any]
#: The keywords of :func:`sqlfront.connect`.
Keywords: TypeAlias = dict[str, Any]
#: A connection of the driver, as the pool holds it.
DriverConnection: TypeAlias = Any
