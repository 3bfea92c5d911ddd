#!/bin/sh
# Installs inkcell for one user:
#   curl -fsSL REPOSITORY/releases/latest/download/install.sh | sh
# INKCELL_INSTALL_DIR is the folder for the binary [default: ~/.local/bin]. INKCELL_DOWNLOAD_URL is the folder with the
# archives [default: those of this release].
set -eu

version=0.1.0
from=${INKCELL_DOWNLOAD_URL:-REPOSITORY/releases/download/v$version}
to=${INKCELL_INSTALL_DIR:-$HOME/.local/bin}

fail() {
    echo "error: $1" >&2
    exit 1
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL -o "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1"
    else
        fail "curl or wget is needed to download inkcell"
    fi
}

main() {
    case $(uname -s) in
        Linux) system=unknown-linux-gnu ;;
        Darwin) system=apple-darwin ;;
        *) fail "there is no binary for $(uname -s)" ;;
    esac
    case $(uname -m) in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no binary for $(uname -m)" ;;
    esac
    name=inkcell-$version-$machine-$system
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    fetch "$from/$name.tar.xz" "$work/$name.tar.xz" || fail "cannot download $from/$name.tar.xz"
    fetch "$from/$name.tar.xz.sha256" "$work/$name.tar.xz.sha256" || fail "cannot download the checksum of $name.tar.xz"
    cd "$work"
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum -c "$name.tar.xz.sha256" >/dev/null 2>&1 || fail "the checksum of $name.tar.xz does not match"
    else
        shasum -a 256 -c "$name.tar.xz.sha256" >/dev/null 2>&1 || fail "the checksum of $name.tar.xz does not match"
    fi
    # Small systems have no xz. inkcell needs python3 anyway, and that can unpack, too.
    tar -xJf "$name.tar.xz" 2>/dev/null || python3 -m tarfile -e "$name.tar.xz" 2>/dev/null ||
        fail "xz or python3 is needed to unpack $name.tar.xz"
    mkdir -p "$to"
    # A running inkcell keeps its old file.
    cp "$name/inkcell" "$to/.inkcell-new"
    chmod 755 "$to/.inkcell-new"
    mv -f "$to/.inkcell-new" "$to/inkcell"
    echo "Installed $("$to/inkcell" --version) in $to"
    case :$PATH: in
        *":$to:"*) ;;
        *) echo "Add it to PATH: export PATH=\"$to:\$PATH\"" ;;
    esac
    echo "Check it: inkcell doctor"
}

# Nothing runs before the whole script has arrived.
main
