"""Files that `save` would not write: entries, documents and arrays exchanged."""

import io
import json
import zipfile

import numpy as np

from bochner._core.atomic_files import checksum
from bochner.export.archive import DIGEST, DOCUMENT, TAG


def seal(path):
    """Write the checksum that belongs to the bytes."""
    with open(path, "r+b") as file:
        digest = checksum(file, file.seek(0, 2) - DIGEST).hexdigest()
        file.seek(-DIGEST, 2)
        file.write(digest.encode())


def changed(source, target, edit=None, entries=None, compression=zipfile.ZIP_STORED):
    """A file with other entries or another document, and a checksum that agrees."""
    with zipfile.ZipFile(source) as file:
        held = [(name, file.read(name)) for name in file.namelist()]
    if edit is not None:
        document = json.loads(held[0][1])
        edit(document["model"])
        held[0] = (DOCUMENT, json.dumps(document).encode())
    if entries is not None:
        held = entries(held)
    with zipfile.ZipFile(target, "w", compression) as file:
        for name, content in held:
            file.writestr(name, content)
        file.comment = TAG + b"0" * DIGEST
    seal(target)


def npy(array, shape=None, pickled=False):
    """Bytes of an array, its shape declared otherwise."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=pickled)
    if shape is None:
        return out.getvalue()
    found = out.getvalue()
    end = found.index(b"\n") + 1
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
    return found[:10] + repr(header).encode().ljust(end - 11) + b"\n" + found[end:]


def with_arrays(source, target, arrays):
    """A file with other arrays under some names."""
    entries = {f"{name}.npy": npy(array) for name, array in arrays.items()}
    changed(
        source,
        target,
        entries=lambda held: (
            [(n, entries.pop(n, found)) for n, found in held] + list(entries.items())
        ),
    )
