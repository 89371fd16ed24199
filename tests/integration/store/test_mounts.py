"""Which file system a path lies on, as proc(5) describes mountinfo."""

from pathlib import Path

import pytest

from app.store.place import NETWORK_FILE_SYSTEMS, file_system_of

TABLE = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 0:40 / /data rw shared:7 master:2 - nfs4 server:/export rw,vers=4.2
31 30 8:17 / /data/local rw - xfs /dev/sdb1 rw
32 31 0:41 / /data/local/far\040away rw - cifs //server/share\040name rw
33 22 0:42 / /tab\011back\134slash\012line rw - fuse.sshfs host: rw
34 22 0:43 / /m\303\251 rw - ext4 /dev/sdc1 rw
35 22 0:44 / /"""
TABLE = TABLE.replace(rb"\303\251", "é".encode())
TABLE += "größe".encode() + b" rw - nfs server:/a rw\n"
TABLE += b"36 22 0:45 / /not\xffutf8 rw - nfs server:/b rw\n"
TABLE += "37 22 0:46 / /line\u2028\x0bbreaks\x85 rw - nfs server:/c rw\n".encode()
TABLE += b"38 22 8:33 / /twice rw - nfs server:/d rw\n39 38 8:33 / /twice rw - ext4 /dev/sdd1 rw\n"


@pytest.fixture
def mountinfo(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_bytes(TABLE)
    return path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/t.db", "ext4"),
        ("/srv/t.db", "ext4"),
        ("/database/t.db", "ext4"),  # no part of /data
        ("/data/t.db", "nfs4"),
        ("/data/local", "xfs"),
        ("/data/local/t.db", "xfs"),
        ("/data/locals/t.db", "nfs4"),
        ("/data/local/far away/t.db", "cifs"),
        ("/data/local/far/t.db", "xfs"),
        ("/tab\tback\\slash\nline/t.db", "fuse.sshfs"),
        ("/mé/t.db", "ext4"),
        ("/größe/t.db", "nfs"),
        ("/not\udcffutf8/t.db", "nfs"),
        ("/line\u2028\x0bbreaks\x85/t.db", "nfs"),
        ("/twice/t.db", "ext4"),  # what was mounted last hides what lies below
    ],
)
def test_the_innermost_mount_decides(mountinfo: Path, path: str, kind: str) -> None:
    assert file_system_of(Path(path), mountinfo) == kind


def test_where_the_system_does_not_tell_nothing_is_assumed(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "missing") is None


def test_the_real_table_of_this_system_is_understood(tmp_path: Path) -> None:
    table = Path("/proc/self/mountinfo")
    if not table.exists():
        pytest.skip("no mountinfo on this system")
    assert file_system_of(Path("/proc/self/status"), table) == "proc"
    assert file_system_of(tmp_path, table) not in NETWORK_FILE_SYSTEMS
