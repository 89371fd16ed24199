"""Where the files that are not code lie: beside the packages in a checkout, inside `app` in a wheel."""

from pathlib import Path

_APP = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder `templates` or `migrations`."""
    packed = _APP / "_data" / name
    return packed if packed.is_dir() else _APP.parent / name
