"""Faults in what is trusted: kept machine code, its key and folder, the Python of workers, addresses with passwords.

And in what comes before any query: names that load when they are used, and how a command is stopped.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CACHE = "tests/compilation/test_cache.py::test_"
ENDINGS = "tests/test_cli_endings.py::test_a_signal_"
FOLDER, FILES = "compilation/private_folder.py", "compilation/signed_files.py"

COMPILATION = (
    Mutant(
        "compiled code: a file is loaded whatever its digest",
        "SignedFiles.read",
        "return content if hmac.compare_digest(held[:head], self._head(name, content)) else None",
        "return content",
        (f"{CACHE}a_planted_pickle_does_not_run",),
    ),
    Mutant(
        "compiled code: a file counts under any name",
        "SignedFiles._head",
        'f"{self._folder}/{name}\\n".encode() + content',
        "content",
        (f"{CACHE}code_that_was_signed_under_another_name_does_not_run",),
    ),
    Mutant(
        "compiled code: a key that others can read is trusted",
        "_trusted_key",
        "key = _read_regular(path, private=True)",
        "key = _read_regular(path)",
        (f"{CACHE}a_key_that_others_may_know_signs_nothing",),
    ),
    Mutant(
        "compiled code: a file of another user is trusted",
        "_read_regular",
        "if not stat.S_ISREG(found.st_mode) or not is_ours(found):",
        "if not stat.S_ISREG(found.st_mode):",
        (f"{CACHE}a_key_that_others_may_know_signs_nothing",),
    ),
    Mutant(
        "compiled code: a folder that a group may write to is used",
        "private_folder",
        '_check(outside.stat(), _OTHERS_WRITE, "others may write to it")',
        '_check(outside.stat(), stat.S_IWOTH, "others may write to it")',
        (f"{CACHE}a_folder_that_others_may_write_to_is_not_used",),
    ),
    Mutant(
        "compiled code: a folder of another user is used",
        "_check",
        "if not is_ours(found):",
        "if False:",
        (f"{CACHE}a_folder_of_another_user_is_not_used",),
    ),
    Mutant(
        "compiled code: a link to a folder is followed",
        "private_folder",
        "inside.lstat()",
        "inside.stat()",
        (f"{CACHE}a_link_in_place_of_the_folder_inside_is_not_followed",),
    ),
    Mutant(
        "compiled code: a half-written file stays",
        "_replace",
        "os.unlink(temporary)",
        "pass",
        (f"{CACHE}a_write_that_fails_at_its_end_leaves_nothing_behind",),
    ),
    Mutant(
        "workers: a Python that was chosen is replaced",
        "use_this_python",
        "context.pythonExec == _FIRST_ON_PATH and _CHOSEN not in os.environ and sys.executable",
        "context.pythonExec == _FIRST_ON_PATH and sys.executable",
        (
            "tests/engines/test_missing_parts.py::test_a_python_without_eventide_that_was_chosen_is_named_with_the_line_that_mends_it",
        ),
    ),
    Mutant(
        "messages: a password before an @ that holds another one is shown",
        "_address",
        'text.removeprefix("kafka://").rpartition("@")',
        '("", "", text.removeprefix("kafka://"))',
        ("tests/test_cli_stream.py::test_no_message_gives_a_password_away",),
    ),
    Mutant(
        "imports: a module takes the place of the function of its name",
        "_Package.__setattr__",
        "if isinstance(value, ModuleType) and _HOMES.get(name) == value.__name__:",
        "if False:",
        ("tests/test_imports.py::test_a_module_that_is_set_on_the_package_is_the_function_of_its_name",),
    ),
    Mutant(
        "commands: one that is stopped while it loads ends with the number of the signal",
        "_leave",
        "os._exit(128 + number)",
        "os._exit(number)",
        (f"{ENDINGS}ends_the_process_at_once_until_the_work_begins",),
    ),
    Mutant(
        "commands: SIGTERM in the middle of the work is passed over",
        "stop_by_exception",
        "lambda number, frame: sys.exit(128 + number)",
        "lambda number, frame: None",
        (f"{ENDINGS}is_an_exception_when_the_work_has_begun",),
    ),
)
