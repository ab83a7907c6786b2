"""Writes old.h5 and new.h5 beside itself: the same content in the oldest and the newest layout of HDF5.

Made with h5py 3.14.0 (HDF5 1.14.6) and numpy 2. tests/containers/hdf5_test.cpp knows the values.
"""
import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent

for name, version in [("old", "earliest"), ("new", "latest")]:
    # new.h5 begins behind a user block, so its addresses do not count from the start of the file.
    with h5py.File(HERE / f"{name}.h5", "w", libver=version, userblock_size=512 if name == "new" else 0) as f:
        a = np.arange(35, dtype="<f4").reshape(5, 7)
        f["plain"] = a
        f["big_endian"] = a.astype(">f8")
        f["half"] = a.astype("<f2")
        f["truth"] = a > 16
        f["bfloat16"] = (a.view("<u4") >> 16).astype("<u2").view("V2")
        f["scalar"] = np.int64(-3)
        f["empty"] = np.zeros((0, 4), "<f4")
        f.create_dataset("chunked", data=a, chunks=(2, 3))
        f.create_dataset("packed", data=a, chunks=(2, 3), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("one_chunk", data=a, chunks=(5, 7), compression="gzip")
        f.create_dataset("growing", data=a, chunks=(2, 3), maxshape=(None, None), compression="gzip")
        f.create_dataset("paged", data=np.arange(1100, dtype="i1"), chunks=(1,))
        f.create_dataset("lzf", data=a, compression="lzf")
        f.create_dataset("strings", data=["x", "yé"], dtype=h5py.string_dtype())
        f["compound"] = np.zeros(2, dtype=[("x", "f4")])
        f["soft"] = h5py.SoftLink("/plain")
        f["external"] = h5py.ExternalLink("other.h5", "/plain")
        plain = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plain.set_layout(h5py.h5d.COMPACT)
        compact = h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((5, 7)), dcpl=plain)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, a)
        f.attrs["long"] = "héllo " * 200
        f.attrs["fixed"] = np.bytes_("abc")
        f.attrs["names"] = np.array([b"a", b"bcd"])
        f.attrs["long_names"] = ["k", "", "lm"]
        f.attrs["no_names"] = np.zeros((0,))
        f.attrs["number"] = 5
        many = f.create_group("many", track_order=True)
        for i in range(40):
            many.create_group(f"layer_{39 - i}")
            many.attrs[f"a{i}"] = np.arange(i)
