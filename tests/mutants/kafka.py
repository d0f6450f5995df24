"""Faults in what Kafka's functions refuse."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ARGUMENTS = ("tests/kafka/test_arguments.py",)

KAFKA = (
    Mutant(
        "kafka: an address without a port passes",
        "kafka.py",
        "if not host or",
        "if",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: a port past the last passes",
        "kafka.py",
        "not 0 < int(port) < 65536",
        "not 0 < int(port)",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: an argument is overridden by an option in other letters",
        "kafka.py",
        "if name.lower() in arguments:",
        "if name in arguments:",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: data loss may be ignored",
        "kafka.py",
        'name.lower() == "failondataloss" and value.lower() != "true"',
        'name == "failOnDataLoss" and value.lower() != "true"',
        ARGUMENTS,
    ),
    Mutant(
        "kafka: a topic's name of 250 letters passes",
        "kafka.py",
        "0 < len(name) < 250",
        "0 < len(name) < 251",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: True is a number of events",
        "kafka.py",
        "type(max_events_per_batch) is not int",
        "not isinstance(max_events_per_batch, int)",
        ARGUMENTS,
    ),
    Mutant(
        "kafka: rows go to several topics",
        "kafka.py",
        "if len(topics) != 1:",
        "if len(topics) < 1:",
        ARGUMENTS,
    ),
)
