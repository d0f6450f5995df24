#!/bin/sh
# Finds Java 17 or newer, installs it with the system's package manager where possible, or says what to do.
# Sourced by the Makefile, so that JAVA_HOME and PATH reach the command that follows.

_java_version() {
    "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

_find_java() {
    for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java 2>/dev/null)" \
        /usr/lib/jvm/*/bin/java /opt/homebrew/opt/openjdk*/bin/java /usr/local/opt/openjdk*/bin/java; do
        [ -n "$candidate" ] && [ -x "$candidate" ] || continue
        version=$(_java_version "$candidate")
        if [ -n "$version" ] && [ "$version" -ge 17 ]; then
            java_found=$candidate
            return 0
        fi
    done
    return 1
}

_install_java() {
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo="sudo -n"
    if command -v apt-get >/dev/null; then
        $sudo apt-get update -qq && $sudo apt-get install -y -qq openjdk-17-jre-headless
    elif command -v dnf >/dev/null; then
        $sudo dnf install -y -q java-17-openjdk-headless
    elif command -v brew >/dev/null; then
        brew install --quiet openjdk@17
    else
        return 1
    fi
}

if ! _find_java; then
    echo "Java 17 or newer is not here; trying the system's package manager ..." >&2
    { _install_java >/dev/null 2>&1 && _find_java; } || {
        echo "Eventide's Spark engines need Java 17 or newer. Install a JDK or JRE, or set JAVA_HOME, and try again." >&2
        exit 1
    }
fi
# /usr/bin/java is a chain of links; the home is above the real binary's folder.
JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$java_found")")")
export JAVA_HOME
PATH="$JAVA_HOME/bin:$PATH"
export PATH
