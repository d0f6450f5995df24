#!/bin/sh
# Makes the virtual environment: the locked dependencies, and Eventide itself in editable form.
set -eu
venv=$1
python=
for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Eventide needs Python 3.11 or newer; none was found on PATH. Install one, or set PYTHON=..." >&2
    exit 1
fi
if ! [ -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv" || {
        echo "Python cannot make virtual environments here; on Debian or Ubuntu: apt-get install python3-venv" >&2
        exit 1
    }
fi
echo "Installing dependencies into $venv ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
touch "$venv/.ready"
