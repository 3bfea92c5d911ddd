"""Archives of packages, and facts about files, for `cargo xtask package`. One call does one thing: pack.py VERB ARGS.

Archives are the same for the same files: names are sorted, and times are fixed.
"""

import hashlib
import io
import json
import lzma
import os
import sys
import tarfile
import zipfile


def files(folder):
    """The files of a folder, sorted, as paths relative to it."""
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names]
    return sorted(found)


def zip_folder(archive, folder):
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name in files(folder):
            path = os.path.join(folder, name)
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = os.stat(path).st_mode << 16
            with open(path, "rb") as file:
                out.writestr(entry, file.read())


def unzip(archive, folder):
    with zipfile.ZipFile(archive) as source:
        for entry in source.infolist():
            path = source.extract(entry, folder)
            # The standard library forgets which files are programs.
            if entry.external_attr >> 16:
                os.chmod(path, entry.external_attr >> 16 & 0o777)


def tar_xz(archive, folder):
    """The archive has one folder with the name of this one."""
    root = os.path.basename(os.path.abspath(folder))
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as out:
        for name in files(folder):
            path = os.path.join(folder, name)
            entry = tarfile.TarInfo(root + "/" + name)
            entry.size = os.path.getsize(path)
            entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with open(path, "rb") as file:
                out.addfile(entry, file)
    with open(archive, "wb") as file:
        file.write(lzma.compress(plain.getvalue(), preset=9))


def untar(archive, folder):
    with tarfile.open(archive) as source:
        source.extractall(folder)


def checksum(path):
    """The line that `sha256sum -c` reads."""
    with open(path, "rb") as file:
        print(f"{hashlib.sha256(file.read()).hexdigest()}  {os.path.basename(path)}")


def needs(binary):
    """The versions of symbols that a program needs of its libraries, one a line."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    with open(binary, "rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, GNUVerNeedSection):
                for _, versions in section.iter_versions():
                    for version in versions:
                        print(version.name)


def yaml_as_json(path):
    import yaml

    with open(path, encoding="utf-8") as file:
        print(json.dumps(yaml.safe_load(file)))


VERBS = {
    "zip": zip_folder,
    "unzip": unzip,
    "tar": tar_xz,
    "untar": untar,
    "checksum": checksum,
    "needs": needs,
    "yaml": yaml_as_json,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
