"""What is refused before Spark is asked, and what fetching says when it cannot."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import eventide as ev
from eventide.errors import InputError
from tests.kafka import artifacts

SCHEMA = "user string, ts timestamp"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"servers": ":9092"}, "':9092' is not the address of a Kafka broker"),
        ({"servers": "localhost"}, "'localhost' is not the address of a Kafka broker"),
        ({"servers": "kafka://localhost:9092"}, "'kafka://localhost:9092' is not the address of a Kafka broker"),
        ({"servers": "localhost:99999"}, "'localhost:99999' is not the address of a Kafka broker"),
        ({"servers": "one:9092,"}, "'' is not the address of a Kafka broker"),
        ({"servers": None}, "'None' is not the address of a Kafka broker"),
        ({"topic": "a b"}, "'a b' is not the name of a topic"),
        ({"topic": ""}, "'' is not the name of a topic"),
        ({"topic": []}, "there is no topic"),
        ({"topic": 7}, "7 is not the name of a topic"),
        ({"topic": "x" * 250}, f"'{'x' * 250}' is not the name of a topic"),
        ({"format": "jsn"}, "format='jsn' is not possible"),
        ({"schema": None}, "schema is text, found None"),
        ({"schema": " ", "format": "raw"}, "schema is text, found ' '"),
        ({"ts": ""}, "ts is the name of the time column, found ''"),
        ({"starting": "now"}, "starting='now' is not possible"),
        ({"max_events_per_batch": 0}, "max_events_per_batch is a number from 1 on, found 0"),
        ({"max_events_per_batch": True}, "max_events_per_batch is a number from 1 on, found True"),
        ({"registry_header": True}, "registry_header is for Avro records"),
        ({"registry_header": -1, "format": "avro"}, "registry_header is True, False or a schema's id, found -1"),
        ({"options": ["x"]}, "options are names with values, found list"),
        ({"options": {"Subscribe": "x"}}, "the option 'Subscribe' is set by an argument"),
        ({"options": {"failondataloss": False}}, "failOnDataLoss must stay true"),
    ],
)
def test_a_wrong_argument_says_what_is_wrong(given: dict[str, Any], message: str) -> None:
    arguments = {"servers": "localhost:9092", "topic": "orders", "schema": SCHEMA, **given}
    with pytest.raises(InputError) as caught:
        ev.kafka.read(None, **arguments)
    assert caught.value.message.startswith(message)


def test_a_format_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(InputError, match="did you mean 'json'"):
        ev.kafka.read(None, "localhost:9092", "orders", schema=SCHEMA, format="jso")


class _Stream:
    isStreaming = True  # noqa: N815


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": [{"a": 1}]}, "write takes a Spark DataFrame, found list"),
        ({"topic": "a,b"}, "rows are written to one topic, found a, b"),
        ({"checkpoint": ""}, "checkpoint is the path of a folder, found ''"),
        ({"checkpoint": None}, "checkpoint is the path of a folder, found None"),
        ({"trigger": 5}, "trigger is text, found 5"),
        ({"trigger": "5 seconds", "once": True}, "once=True reads what is there and stops"),
        ({"options": {"topic": "b"}}, "the option 'topic' is set by an argument"),
        ({"servers": ""}, "'' is not the address of a Kafka broker"),
    ],
)
def test_wrong_arguments_of_write_say_what_is_wrong(given: dict[str, Any], message: str) -> None:
    arguments = {"rows": _Stream(), "servers": "localhost:9092", "topic": "t", "checkpoint": "c", **given}
    with pytest.raises(InputError) as caught:
        ev.kafka.write(**arguments)
    assert caught.value.message.startswith(message)


def test_archives_that_cannot_be_fetched_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "\t\t:: org.example#absent;1.0: not found\n"
    failed = subprocess.CompletedProcess([], 1, stdout=said)
    monkeypatch.setattr(artifacts, "ROOT", tmp_path)
    monkeypatch.setattr(artifacts, "FOLDER", tmp_path / "build" / "kafka")
    monkeypatch.setattr(artifacts, "BROKER", artifacts.Artifacts(("org.example:absent:1.0",)))
    monkeypatch.setattr(artifacts.shutil, "which", lambda name: name)
    monkeypatch.setattr(artifacts.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(artifacts.FetchError) as caught:
        artifacts.broker_jars()
    text = str(caught.value)
    assert "the broker's Java archives cannot be fetched from the public repository" in text
    assert "org.example:absent:1.0" in text and "org.example#absent;1.0: not found" in text
    assert not list((tmp_path / "build" / "kafka").glob("broker-*"))


SECRET = "hunter2"
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{SECRET}";'


@pytest.mark.parametrize(
    "given",
    [
        {"servers": f"ann:{SECRET}@localhost:9092"},
        {"servers": f"kafka://ann:{SECRET}@localhost:9092"},
        {"servers": f"localhost:9092,ann:{SECRET}@localhost:9093"},
        {"servers": f"ann:{SECRET}/x@y@localhost:9092"},
        {"options": [("kafka.sasl.jaas.config", LOGIN)]},
        {"options": {7: LOGIN}},
        {"options": {"kafka.sasl.jaas.config": LOGIN, "kafka.bootstrap.servers": SECRET}},
    ],
)
def test_no_message_gives_a_password_away(given: dict[str, Any]) -> None:
    for call, rest in ((ev.kafka.read, {"schema": SCHEMA}), (ev.kafka.write, {"checkpoint": "c"})):
        with pytest.raises(InputError) as caught:
            call(_Stream(), **{"servers": "localhost:9092", "topic": "orders", **rest, **given})
        assert SECRET not in str(caught.value) and SECRET not in repr(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka.sasl.jaas.config", LOGIN),
        ("kafka.ssl.keystore.password", SECRET),
        ("kafka.ssl.key.password", SECRET),
        ("kafka.ssl.truststore.Password", SECRET),
        ("kafka.sasl.oauthbearer.client.credentials.client.secret", SECRET),
        ("avro.basic.auth.user.info", f"ann:{SECRET}"),
    ],
)
def test_what_spark_says_is_passed_on_without_the_passwords_of_the_options(name: str, value: str) -> None:
    from pyspark.errors import IllegalArgumentException

    from eventide.engines.spark.kafka import explained

    def refuse() -> None:
        raise IllegalArgumentException(f"cannot use {name}={value}")

    with pytest.raises(InputError, match=r"Spark refuses this: cannot use .*\*\*\*") as caught:
        explained({name: value}, refuse)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'s3a://key:se/c@ret's@bucket/x' is a file", "'s3a://***@bucket/x' is a file"),
        ("no port in kafka://host:9092/topic@x, nor a@b:c", "no port in kafka://***@x, nor a@b:c"),
        ("https://user@host/x has no password", "https://user@host/x has no password"),
        ("a:b@c is no address, ftp://host either", "a:b@c is no address, ftp://host either"),
    ],
)
def test_addresses_are_shown_without_their_passwords(text: str, shown: str) -> None:
    assert str(InputError(text)) == shown
    assert str(InputError("x", hint=text)) == f"x\nHint: {shown}"


def test_hiding_passwords_takes_one_pass_over_the_text() -> None:
    started = time.process_time()
    InputError("://:" * 300_000 + " a@b")
    assert time.process_time() - started < 2


# How a login may be written, and the parts of it that nobody may read.
LOGINS = {
    "a semicolon in quotes": ('required username="ann" password="hunter2;xyzzy";', ["hunter2", "xyzzy"]),
    "a semicolon in single quotes": ("required password='hunter2;xyzzy' username=ann;", ["hunter2", "xyzzy"]),
    "semicolons and spaces": ('required password = "hunter2; xyzzy ;quux" ;', ["hunter2", "xyzzy", "quux"]),
    "an escaped quote": (r'required password="hunter2\";xyzzy";', ["hunter2", "xyzzy"]),
    "the other quote inside": ("""required password="hunter2';xyzzy";""", ["hunter2", "xyzzy"]),
    "no quotes": ("required username=ann password=hunter2;xyzzy;", ["hunter2", "xyzzy"]),
    "a quote that is never closed": ('required password="hunter2;xyzzy', ["hunter2", "xyzzy"]),
    "another case, a longer name": ('required keyStorePassWord="hunter2;xyzzy";', ["hunter2", "xyzzy"]),
    "a secret": ('required clientId="ann" clientSecret="hunter2;xyzzy" scope="s";', ["hunter2", "xyzzy"]),
    "two modules": ('required password="hunter2;a"; Other required password="xyzzy;b";', ["hunter2", "xyzzy"]),
    "a line break": ('required\n  password="hunter2;\nxyzzy";', ["hunter2", "xyzzy"]),
}


@pytest.mark.parametrize("spelling", LOGINS)
def test_a_password_with_semicolons_is_hidden_whole_and_in_parts(spelling: str) -> None:
    import json

    from pyspark.errors import IllegalArgumentException

    from eventide.engines.spark.kafka import explained

    login, parts = LOGINS[spelling]
    fragments = [part for value in login.split("=")[1:] for part in value.split(";")]
    for told in (login, json.dumps(login), login.replace("\\", ""), *fragments):

        def refuse(told: str = told) -> None:
            raise IllegalArgumentException(f"Value not specified for key '{told}' in JAAS config")

        with pytest.raises(InputError) as caught:
            explained({"kafka.sasl.jaas.config": f"org.example.Module {login}"}, refuse)
        assert not [part for part in parts if part in str(caught.value)]
