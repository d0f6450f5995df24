"""A record's value to columns and, where it does not fit them, a reason: JSON, Avro, and raw bytes or text.

One expression decides: a record without a reason is an event, one with a reason is bad.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from eventide.engines.json_records import TYPES, read_json
from eventide.engines.spark.workers import settled
from eventide.errors import InputError, did_you_mean

_KEY, _VALUE, _TIME = "__eventide_key_in", "__eventide_value_in", "__eventide_time_in"
_READ, _PARSED, _CORRUPT, _TEXT = "__eventide_read", "__eventide_parsed", "__eventide_corrupt", "__eventide_text"
_END = "__eventide_end"
# Put behind an Avro record: a reader that stops before or after it has not read what the writer wrote.
_END_BYTES = bytes.fromhex("9be1a753c0d4f28e")

Reasons = list[tuple[Column, Column]]


@dataclass(frozen=True)
class Payload(ABC):
    """The declared columns; those in `required` are never NULL in an event."""

    columns: tuple[str, ...]
    required: frozenset[str]

    @property
    def inputs(self) -> list[Column]:
        """What `parse` reads, of the columns that Spark's connector gives."""
        return [sf.col("value").alias(_VALUE)]

    @abstractmethod
    def parse(self, raw: DataFrame, keep: Sequence[str], reason: str, in_words: bool = True) -> DataFrame:
        """The columns, those to keep, and the reason, which is NULL for an event.

        Without words it only says that there is one, by the same conditions: a shorter program for every record.
        """

    def _finish(
        self, df: DataFrame, found: Mapping[str, Column], keep: Sequence[str], reason: str, in_words: bool
    ) -> DataFrame:
        columns = [found[name].alias(name) for name in self.columns]
        return df.select(*columns, *keep, self._reason(found, in_words).alias(reason))

    def _reason(self, found: Mapping[str, Column], in_words: bool) -> Column:
        nulls = [(found[name].isNull(), sf.lit(f"{name} is NULL or missing")) for name in self._required_in_order()]
        reasons = [*self._reasons(found), *nulls]
        if not in_words:
            return sf.when(reduce(or_, (condition for condition, _ in reasons)), "bad")
        chosen = sf.when(sf.lit(False), "")
        for condition, text in reasons:
            chosen = chosen.when(condition, text)
        return chosen

    def _required_in_order(self) -> list[str]:
        return [name for name in self.columns if name in self.required]

    @abstractmethod
    def _reasons(self, found: Mapping[str, Column]) -> Reasons:
        """Conditions and what they mean, the first that holds counts; NULL does not hold."""


@dataclass(frozen=True)
class Json(Payload):
    """A JSON object in UTF-8. Fields that are not declared are left out, missing ones are NULL."""

    schema: StructType
    options: Mapping[str, str]

    def parse(self, raw: DataFrame, keep: Sequence[str], reason: str, in_words: bool = True) -> DataFrame:
        """Words need the record's text, so with them Spark parses all; without, only what Arrow leaves to it."""
        text = sf.col(_VALUE).cast("string").alias(_TEXT)
        by_spark = sf.from_json(_TEXT, self._read_as(), self._settings())
        if in_words or not self._is_for_arrow():
            parsed = raw.select(*keep, text).withColumn(_PARSED, by_spark)
        else:
            read = self._read_with_arrow(raw.select(*keep, _VALUE))
            parsed = read.select(*keep, _READ, text).withColumn(_PARSED, sf.coalesce(_READ, by_spark))
        return self._finish(parsed, {field.name: self._column(field) for field in self.schema}, keep, reason, in_words)

    def _is_for_arrow(self) -> bool:
        """Options change what Spark takes for a value."""
        return not self.options and all(f.dataType.simpleString() in TYPES or self._is_cast(f) for f in self.schema)

    def _read_with_arrow(self, raw: DataFrame) -> DataFrame:
        """With a struct of the columns where Arrow has read the record; there the value is NULL."""
        types = {field.name: TYPES[field.dataType.simpleString()] for field in self._read_as()}
        columns = pa.schema([(name, types[name]) for name in self.columns])

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                values = batch.column(_VALUE)
                table, is_read = read_json(values, columns)
                arrays = [*(column.combine_chunks() for column in table.columns), pa.nulls(len(values), pa.string())]
                struct = pa.StructArray.from_arrays(arrays, names=list(types), mask=pa.array(~is_read))
                left = pc.if_else(pa.array(is_read), None, values)
                yield batch.set_column(batch.num_columns - 1, _VALUE, left).append_column(_READ, struct)

        return raw.mapInArrow(settled(read), StructType([*raw.schema.fields, StructField(_READ, self._read_as())]))

    def _read_as(self) -> StructType:
        fields = [StructField(f.name, StringType() if self._is_cast(f) else f.dataType) for f in self.schema]
        return StructType([*fields, StructField(_CORRUPT, StringType())])

    def _is_cast(self, field: StructField) -> bool:
        """Spark's parser takes a number in place of a TIMESTAMP for seconds, and one in milliseconds for nonsense."""
        return isinstance(field.dataType, TimestampType) and "timestampFormat" not in self.options

    def _settings(self) -> dict[str, str]:
        return {**self.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}

    def _column(self, field: StructField) -> Column:
        column = _field(field.name)
        return column.try_cast("timestamp") if self._is_cast(field) else column

    def _reasons(self, found: Mapping[str, Column]) -> Reasons:
        text = sf.col(_TEXT)
        wrong = sf.array_join(sf.array(*(self._wrong(field, found[field.name]) for field in self.schema)), "; ")
        is_cast = [(field.name, found[field.name]) for field in self.schema if self._is_cast(field)]
        return [
            (text.isNull() & sf.col(_PARSED).isNull(), sf.lit("the value is NULL")),
            (~sf.is_valid_utf8(text), sf.lit("the value is not UTF-8 text")),
            (sf.col(_PARSED).isNull(), sf.lit("the value is no JSON object")),
            (
                _field(_CORRUPT).isNotNull(),
                sf.when(self._is_not_one_object(), "the value is no JSON object")
                .when(wrong == "", "a value inside a column has another type than the schema's")
                .otherwise(wrong),
            ),
            *((column.isNull() & _field(name).isNotNull(), wrong) for name, column in is_cast),
            # The parser stops behind the object. Where the first } is the last letter nothing can follow.
            (
                text.isNotNull() & (sf.instr(text, "}") != sf.length(text)) & self._is_not_one_object(),
                sf.lit("there is more behind the JSON object"),
            ),
        ]

    def _is_not_one_object(self) -> Column:
        """Whether the text, in brackets, is anything but an array of one object."""
        nothing = StructType([StructField("__eventide_nothing", StringType())])
        listed = sf.from_json(sf.concat(sf.lit("["), _TEXT, sf.lit("]")), _array(nothing), dict(self.options))
        is_one = (sf.size(listed) == 1) & sf.try_element_at(listed, sf.lit(1)).isNotNull()
        return ~sf.coalesce(is_one, sf.lit(False))

    def _wrong(self, field: StructField, column: Column) -> Column:
        """What is wrong with one column, NULL if nothing is."""
        given = sf.get_json_object(sf.col(_TEXT), f"$['{field.name}']")
        shown = sf.concat(sf.lit(f"{field.name} is no {field.dataType.simpleString()}: "), sf.left(given, sf.lit(60)))
        return sf.when(column.isNull() & given.isNotNull(), shown)


@dataclass(frozen=True)
class Avro(Payload):
    """An Avro record of the declared schema, as written, without a file's header."""

    schema: str
    options: Mapping[str, str]
    registry_header: bool | int

    def parse(self, raw: DataFrame, keep: Sequence[str], reason: str, in_words: bool = True) -> DataFrame:
        value = sf.substring(_VALUE, 6, 2**31 - 1) if self._has_header else sf.col(_VALUE)
        body = sf.concat(value, sf.lit(bytearray(_END_BYTES)))
        settings = [sf.lit(text) for pair in {**self.options, "mode": "PERMISSIVE"}.items() for text in pair]
        decoded = sf.call_function("from_avro", body, sf.lit(self.schema), sf.create_map(*settings))
        parsed = raw.select(*keep, _VALUE, decoded.alias(_PARSED))
        return self._finish(parsed, {name: _field(name) for name in self.columns}, keep, reason, in_words)

    @property
    def _has_header(self) -> bool:
        return self.registry_header is not False

    def _reasons(self, found: Mapping[str, Column]) -> Reasons:
        value = sf.col(_VALUE)
        reasons = [(value.isNull(), sf.lit("the value is NULL"))]
        if self._has_header:
            begins = sf.substring(_VALUE, 1, 1) == sf.lit(bytearray(b"\x00"))
            no_header = ~(begins & (sf.octet_length(value) >= 5))
            reasons.append((no_header, sf.lit("the value does not begin with a schema registry's header")))
        if self.registry_header is not True and self._has_header:
            wanted = bytearray(self.registry_header.to_bytes(4, "big"))
            number = sf.conv(sf.hex(sf.substring(_VALUE, 2, 4)), 16, 10)
            text = sf.concat(sf.lit("the value names schema "), number, sf.lit(f", not {self.registry_header}"))
            reasons.append((sf.substring(_VALUE, 2, 4) != sf.lit(wanted), text))
        whole = sf.coalesce(_field(_END) == sf.lit(bytearray(_END_BYTES)), sf.lit(False))
        return [*reasons, (~whole, sf.lit("the value is not a record of the Avro schema"))]


@dataclass(frozen=True)
class Raw(Payload):
    """The key and the value as they are, and Kafka's time."""

    types: Mapping[str, str]

    @property
    def inputs(self) -> list[Column]:
        return [sf.col("key").alias(_KEY), sf.col("value").alias(_VALUE), sf.col("timestamp").alias(_TIME)]

    def parse(self, raw: DataFrame, keep: Sequence[str], reason: str, in_words: bool = True) -> DataFrame:
        found = {name: sf.col(_source(name)).cast(kind) for name, kind in self.types.items()}
        return self._finish(raw, found, keep, reason, in_words)

    def _reasons(self, found: Mapping[str, Column]) -> Reasons:
        texts = [name for name, kind in self.types.items() if kind == "string"]
        return [(~sf.is_valid_utf8(found[name]), sf.lit(f"the {name} is not UTF-8 text")) for name in texts]


def make_payload(
    format: str, schema: str, ts: str | None, options: Mapping[str, str], registry_header: bool | int
) -> Payload:
    """The payload of a declared schema."""
    if format == "avro":
        return _make_avro(schema, ts, options, registry_header)
    declared = StructType.fromDDL(schema)
    if not declared.fields:
        raise InputError("the schema has no columns", hint='such as "user string, ts timestamp, kind string"')
    names = [field.name for field in declared]
    _check_names(names)
    required = {field.name for field in declared if not field.nullable}
    times = [field.name for field in declared if field.dataType.typeName() == "timestamp"]
    required |= _time_column(ts, names, times)
    if format == "raw":
        return Raw(tuple(names), frozenset(required), _raw_types(declared))
    quoted = next((name for name in names if "'" in name), None)
    if quoted is not None:
        raise InputError(f"the column {quoted} of a JSON record has a quote in its name", hint="name it otherwise")
    return Json(tuple(names), frozenset(required), declared, dict(options))


def _time_column(ts: str | None, names: Sequence[str], times: Sequence[str]) -> set[str]:
    """The time column, which is required: the one that is named, else `ts`, else the only timestamp."""
    if ts is None:
        return {"ts"} if "ts" in names else set(times) if len(times) == 1 else set()
    if ts not in names:
        raise InputError(f"the schema has no time column '{ts}'", hint=did_you_mean(ts, names))
    return {ts}


def _check_names(names: Sequence[str]) -> None:
    folded = [name.lower() for name in names]
    for idx, name in enumerate(folded):
        if name in folded[:idx]:
            raise InputError(f"the schema has two columns '{names[idx]}'")
        if name.startswith("__eventide"):
            raise InputError(f"the column name '{names[idx]}' is taken", hint="names do not begin with __eventide")


def _raw_types(declared: StructType) -> dict[str, str]:
    types = {field.name: field.dataType.typeName() for field in declared}
    wanted = 'such as "key string, value binary, ts timestamp"'
    for name, kind in types.items():
        if kind not in (("string", "binary") if name in ("key", "value") else ("timestamp",)):
            message = f"a raw record has no column '{name} {kind}'"
            raise InputError(message, hint=f"key and value, each string or binary, and Kafka's timestamp: {wanted}")
    if sum(kind == "timestamp" for kind in types.values()) > 1:
        raise InputError("a raw record has one timestamp", hint=wanted)
    return types


def _source(name: str) -> str:
    return {"key": _KEY, "value": _VALUE}.get(name, _TIME)


def _make_avro(schema: str, ts: str | None, options: Mapping[str, str], registry_header: bool | int) -> Avro:
    names = _avro_names(schema)
    _check_names(names)
    required = _time_column(ts, names, ())
    options = {key: _with_end(text) if key == "avroSchema" else text for key, text in options.items()}
    read_as = options.get("avroSchema", schema)
    columns = tuple(name for name in _avro_names(read_as) if name != _END)
    return Avro(columns, frozenset(required), _with_end(schema), options, registry_header)


def _avro_names(schema: str) -> list[str]:
    """The fields of an Avro record."""
    hint = '{"type": "record", "name": "Order", "fields": [{"name": "user", "type": "string"}, ...]}'
    try:
        tree = json.loads(schema)
    except ValueError as error:
        raise InputError(f"the Avro schema is no JSON: {error}", hint=hint) from None
    fields = tree.get("fields") if isinstance(tree, dict) and tree.get("type") == "record" else None
    if not isinstance(fields, list) or not fields:
        raise InputError("the Avro schema is not a record with fields", hint=hint)
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
            raise InputError(f"a field of the Avro schema has no name or no type: {json.dumps(field)}", hint=hint)
    return [field["name"] for field in fields]


def _with_end(schema: str) -> str:
    """The schema of a record with the end mark behind it."""
    tree = json.loads(schema)
    mark = {"type": "fixed", "name": "EventideEnd", "size": len(_END_BYTES)}
    return json.dumps({**tree, "fields": [*tree["fields"], {"name": _END, "type": mark}]})


def _array(of: StructType) -> str:
    return f"array<{of.simpleString()}>"


def _field(name: str) -> Column:
    return sf.col(_PARSED).getField(name)
