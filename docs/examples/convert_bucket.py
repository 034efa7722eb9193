"""Convert all binaries of a bucket into a store in a bucket, on a cluster of Dask.

python convert_bucket.py 's3://builds/2026?region=R' 's3://symbols?region=R'
"""

import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import dask.bag
import obstore
from obstore.store import ObjectStore, from_url

import gsym


def open_bucket(url: str) -> ObjectStore:
    """The bucket at a URL with settings of obstore."""
    location, _, query = url.partition("?")
    settings: dict[str, Any] = dict(parse_qsl(query))
    return from_url(location, **settings)


def convert(name: str, binaries: str, symbols: str) -> tuple[str, str]:
    """Publish the module of an object; its name, and its debug id or a reason."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, Path(name).name)
        with path.open("wb") as file:
            file.writelines(obstore.get(open_bucket(binaries), name))
        try:
            entry = gsym.add_file(gsym.Store(Path(folder, "store")), path).entry
        except gsym.GsymError as error:
            return name, error.reason
        gsym.BucketStore(symbols).publish(entry)
        return name, entry.identity.debug_id


def main(binaries: str, symbols: str) -> None:
    """Print a line for each object."""
    pages = obstore.list(open_bucket(binaries))
    names = [each["path"] for page in pages for each in page]
    bag = dask.bag.from_sequence(names, npartitions=max(1, min(len(names), 1000)))
    for name, outcome in bag.map(convert, binaries, symbols).compute():
        print(name, outcome)


if __name__ == "__main__":
    main(*sys.argv[1:])
