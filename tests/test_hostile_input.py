"""Input made to do harm, through the whole command: one line of complaint at most, bounded memory, no traceback."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_logs import assertion, busy, crash, pool_text, prefix
from packing import make_tar, make_zip

from memcheck_cli.forensics.analysis import Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger import bounds
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.render.analysis_json import document
from memcheck_cli.sources import Source

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
EVIL = "\x1b]0;x\x07\x1b[31m\u202e\u061cx\x9b2J\r\x08"
BROKEN = busy("full", 100, 80, 0, 0, 0, 10, rank="TP0")
BALANCED = busy("full", 100, 90, 0, 0, 0, 10, rank="TP0")


class Ran:
    """code, out, err, and the peak of its memory in MB."""

    def __init__(self, code: int, out: bytes, err: bytes, memory: float) -> None:
        self.code = code
        self.out = out.decode()  # whatever comes out is UTF-8
        self.err = err.decode()
        self.memory = memory
        assert "Traceback" not in self.err, self.err
        assert "Exception ignored" not in self.err, self.err

    @property
    def answer(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.out)
        return data


# A child's peak memory starts as that of the process it was made from: a small process starts the command and tells.
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "memcheck_cli", *sys.argv[2:]], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
"""


def run(
    *arguments: str | Path,
    stdin: Iterable[bytes] | bytes | None = None,
    timeout: float = 60,
    **environment: str,
) -> Ran:
    """Run the command. stdin: a text, or blocks that are made while it reads."""
    told, tell = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", LAUNCHER, str(tell), *map(str, arguments)],
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        pass_fds=[tell],
        start_new_session=True,
    )
    os.close(tell)

    def write() -> None:
        assert process.stdin is not None
        try:
            for block in [stdin] if isinstance(stdin, bytes) else stdin or ():
                process.stdin.write(block)
            process.stdin.close()
        except BrokenPipeError:
            pass

    taken: dict[str, bytes] = {}

    def take(name: str, stream: Any) -> None:
        taken[name] = stream.read()

    threads = [
        threading.Thread(target=take, args=("out", process.stdout)),
        threading.Thread(target=take, args=("err", process.stderr)),
    ]
    if stdin is not None:
        threads.append(threading.Thread(target=write, daemon=True))
    for thread in threads:
        thread.start()
    killer = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
    killer.start()
    process.wait()
    killer.cancel()
    with os.fdopen(told, "rb") as report:
        code, _, peak = report.read().partition(b" ")
    for thread in threads[:2]:
        thread.join()
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    assert code and int(code) >= 0, "it took too long, or was killed"
    return Ran(int(code), taken["out"], taken["err"], int(peak) / 1024)


def text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


# What reaches a terminal


def evil_log() -> bytes:
    wrapped = {"log": BROKEN, "container_name": f"/engine{EVIL}"}
    return text(
        f"{prefix()}server_args=ServerArgs(model_path='{EVIL}', tp_size=2, page_size=16, x='{EVIL}')",
        BALANCED,
        f"{prefix('TP0')}Abort running request. req.rid='{EVIL}'",
        f"{prefix('TP0')}Decode batch, #running-req: 1, #token: 64, token usage: 0.02 {EVIL}",
        BROKEN,
        *assertion("full", 100, 80, 0, 0, 0, 10, rank="TP0"),
        *crash(f"token_to_kv_pool_allocator memory leak detected! {EVIL}", "TP0", error="RuntimeError"),
        f"/srv/{EVIL}.py:13: UserWarning: {EVIL} memory leak detected!",
        json.dumps(wrapped),
        f"(Engine{EVIL} pid=3) {BROKEN}",
        f"{EVIL}  | {BROKEN}",
        f"{BROKEN}, note={EVIL}, n{EVIL}=3",
        f"{prefix('TP0')}{EVIL}[Mem Check (BUSY)] [{EVIL}] total=1, available=2",
        f"{prefix('TP0')}pool memory leak detected! {pool_text('full', 100, 80)}, leaked_full_pages={{{EVIL}}}",
    )


@pytest.fixture(scope="module")
def evil_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("evil") / f"d{EVIL}\n"
    directory.mkdir()
    (directory / f"a{EVIL}.log").write_bytes(evil_log())
    (directory / f"b{EVIL}.zip").write_bytes(make_zip({f"m{EVIL}/x.log": evil_log(), f"../../{EVIL}": evil_log()}))
    (directory / f"c{EVIL}.tar").write_bytes(make_tar({f"m{EVIL}/x.log": evil_log()}))
    (directory / f"e{EVIL}.gz").write_bytes(b"\x1f\x8b\x08broken")
    os.mkfifo(directory / f"f{EVIL}")
    return directory


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "{}"],
        ["analyze", "{}", "-v", "--trends"],
        ["replay", "{}"],
        ["diff", "{}", "{}"],
        ["diff", "{}", "{}", "--format", "markdown"],
        ["artifacts", "{}"],
        ["artifacts", "{}", "--format", "markdown"],
        ["artifacts", "{}", "--format", "junit"],
        ["audit", "{}"],
        ["forms", EVIL + BROKEN + EVIL],
        ["explain", EVIL],
        [EVIL],
        ["analyze", "{}", "--format", EVIL],
        ["analyze", "{}", "--total", EVIL],
        ["analyze", "{}", "--max-expanded", EVIL],
        ["analyze", "{}", "-o", f"/nowhere{EVIL}/x"],
        ["analyze", "{}", "--rejects", f"/nowhere{EVIL}/x"],
        ["analyze", f"/nowhere{EVIL}"],
        ["analyze", "{}", "--rank", EVIL],
    ],
    ids=lambda arguments: UNSEEN.sub("~", " ".join(arguments)),
)
def test_nothing_invisible_reaches_a_terminal(evil_path: Path, arguments: list[str]) -> None:
    ran = run(*(argument.replace("{}", str(evil_path)) for argument in arguments))
    assert not UNSEEN.search(ran.out.replace("\r\n", "\n"))
    assert not UNSEEN.search(ran.err)
    assert ran.code in (0, 1, 2, 3, 4)


def test_what_is_told_in_json_is_json(evil_path: Path) -> None:
    for verb in ("analyze", "replay", "artifacts"):
        ran = run(verb, evil_path, "--format", "json")
        assert ran.answer["schema"] == f"memcheck.{'analysis' if verb == 'analyze' else verb}/1"
        assert not UNSEEN.search(ran.err)


# Size


def blocks(size: int, block: bytes) -> Iterator[bytes]:
    """`size` MB of a block that is repeated."""
    block = block * ((1 << 20) // len(block))
    for _ in range(size):
        yield block


LONG = {
    "text": b"x",
    "tag": b"[Mem Check (BUSY)] [full] total=100, ",
    "terms": b", available=9",
    "braces": b"{[(",
    "escapes": b"\x1b[",
    "quotes": b'\\"',
    "nuls": b"\0",
    "bytes": b"\xff\xfe\x80",
    "blanks": b" ",
}


@pytest.mark.parametrize("what", LONG)
def test_a_line_of_100_mb(what: str) -> None:
    """The line is passed over in bounded memory, and the lines behind it are read."""
    head = f"{BALANCED}\n{prefix('TP0')}[Mem Check (BUSY)] [full] total=100, available=".encode()
    ran = run(
        "analyze",
        "-",
        "--format",
        "json",
        stdin=(part for parts in ([head], blocks(100, LONG[what]), [b"\n", text(BROKEN)]) for part in parts),
    )
    assert ran.code == 1
    assert [(found["line"], found["delta"]) for found in ran.answer["breaks"]] == [(3, -10)]
    assert ran.memory < 200


@pytest.mark.parametrize("head", ['{"log":"', "2026-09-01T00:00:00.4Z stderr P ", "server_args=ServerArgs(a=", "[1] "])
def test_a_wrapped_line_of_100_mb(head: str) -> None:
    parts = ([f"{BALANCED}\n{head}".encode()], blocks(100, b"x y "), [b"\n", text("x", BROKEN)])
    ran = run("analyze", "-", "--format", "json", stdin=(part for each in parts for part in each))
    assert [(found["line"], found["delta"]) for found in ran.answer["breaks"]] == [(4, -10)]
    assert ran.memory < 200


def test_a_file_of_one_line_without_an_end(tmp_path: Path) -> None:
    with (tmp_path / "sparse.log").open("wb") as file:
        file.write(text(BALANCED, BROKEN))
        file.truncate(300 << 20)
    ran = run("analyze", tmp_path, "--format", "json")
    assert (ran.code, len(ran.answer["breaks"])) == (1, 1)
    assert ran.memory < 200


# Number


def many(form: Callable[[int], str], count: int) -> Iterator[bytes]:
    for start in range(0, count, 1000):
        yield "".join(f"{form(number)}\n" for number in range(start, min(count, start + 1000))).encode()


def ranked(line: str, number: int) -> str:
    return line.replace("TP0", f"TP{number}")


START = f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=4, page_size=16)"
MANY: dict[str, tuple[Callable[[int], str], str | None]] = {
    "ranks": (lambda n: ranked(BROKEN, n), "many-streams"),
    "processes": (lambda n: f"(Engine pid={n}) {BROKEN}", "many-streams"),
    "labels": (lambda n: f"c{n}  | {BROKEN}", "many-streams"),
    "runs": (lambda n: f"{START}\n{BROKEN}", "many-runs"),
    "starts of processes": (lambda n: f"(Engine pid={n}) {START}\n(Engine pid={n}) {BROKEN}", "many-streams"),
    "idle reports": (lambda n: f"(E pid={n}) {prefix()}pool memory leak detected! {pool_text('full', 9, 8)}", None),
    "page reports": (lambda n: f"(E pid={n}) KV double free: sub-pool 0 has 3 duplicate pages.", None),
    "assertions": (lambda n: "\n".join(assertion("full", 1000 + n, 9, rank="TP0")), None),
    "assertions of ranks": (lambda n: "\n".join(assertion("full", 1000, 9, rank=f"TP{n}")), None),
    "pools": (lambda n: BROKEN.replace("[full]", f"[p{n}]"), None),
    "terms": (lambda n: f"{BROKEN}, a{n}=1, b{n}=2", None),
    "deltas": (lambda n: busy("full", 10**9, n * n, rank="TP0"), None),
    "flaps": (lambda n: busy("full", 100, 100 - n % 2, rank="TP0"), None),
    "crashes": (lambda n: f"(E pid={n}) " + crash("x", "TP0")[0] + f"\n(E pid={n}) {BROKEN}", None),
    "captured": (lambda n: f"==== F ====\n---- Captured stderr call ----\n{ranked(BROKEN, n)}", None),
    "copies": (lambda n: f"E   ValueError: pool memory leak detected! {pool_text('full', 9 + n, 8)}", None),
}


@pytest.mark.parametrize("what", MANY)
def test_far_too_many(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """With bounds that are soon reached."""
    for name, bound in (("STREAMS", 300), ("PROCESSES", 300), ("RUNS", 300), ("PEERS", 20), ("BURSTS", 10)):
        monkeypatch.setattr(bounds, name, bound)
    form, finding = MANY[what]
    source = Source("many.log", lambda _: io.BytesIO(b"".join(many(form, 3000))))  # type: ignore[arg-type,return-value]
    for how in ({}, {"exact": True}):
        reading = read_source(source, **how)  # type: ignore[arg-type]
        answer = document(analyze_readings([reading], Settings(), Scope()))
        assert answer["verdict"] == "broken"
        assert len(answer["streams"]) <= 302
        if finding is not None:
            assert [item["kind"] for item in answer["findings"] if item["kind"].startswith("many")] == [finding]
            records = sum(pool["records"] for stream in answer["streams"] for pool in stream["pools"].values())
            assert records == answer["sources"][0]["records"] == 3000


@pytest.mark.parametrize(("what", "count"), [("ranks", 50_000), ("runs", 12_000), ("starts of processes", 12_000)])
def test_memory_is_bounded(what: str, count: int) -> None:
    ran = run("analyze", "-", "--format", "json", stdin=many(MANY[what][0], count))
    assert ran.answer["verdict"] == "broken"
    assert ran.answer["sources"][0]["records"] == count
    assert ran.memory < 200


def test_what_is_not_told_apart_is_judged_all_the_same() -> None:
    """Of the ranks beyond the bound one breaks."""
    lines = many(lambda n: ranked(BROKEN if n == bounds.STREAMS + 50 else BALANCED, n), bounds.STREAMS + 100)
    ran = run("analyze", "-", "--format", "json", stdin=lines)
    (found,) = ran.answer["breaks"]
    assert (found["rank"], found["line"], found["delta"], found["series_breaks"]) == (
        bounds.FURTHER_RANKS,
        bounds.STREAMS + 51,
        -10,
        1,
    )
    assert (found["iteration"], found["from_end"], found["last_balanced"], found["moved"]) == (None, None, None, None)
    (finding,) = [item for item in ran.answer["findings"] if item["kind"] == "many-streams"]
    assert finding["line"] == bounds.STREAMS + 1
    assert "10,000" in run("analyze", "-", stdin=many(lambda n: ranked(BALANCED, n), bounds.STREAMS + 1)).out


def test_a_set_of_200_000_pages() -> None:
    pages = ", ".join(map(str, range(200_000)))
    line = f"{prefix('TP0')}pool memory leak detected! {pool_text('full', 100, 80)}, leaked_full_pages={{{pages}}}"
    ran = run("analyze", "-", "--format", "json", stdin=text(line))
    (found,) = ran.answer["breaks"]
    assert len(found["extra_terms"]["leaked_full_pages"]) == 200_000
    assert ran.memory < 200
    assert len(run("analyze", "-", stdin=text(line)).out) < 8000


@pytest.mark.parametrize("depth", [500, 100_000])
@pytest.mark.parametrize("brackets", ["{}", "[]", "()"])
def test_brackets_within_brackets(brackets: str, depth: int) -> None:
    deep = brackets[0] * depth + brackets[1] * depth
    ran = run(
        "analyze",
        "-",
        "--format",
        "json",
        stdin=text(
            f"{prefix()}server_args=ServerArgs(model_path='m', x={deep}, page_size=16)",
            f"{prefix()}server_args={{'model_path': 'm', 'x': {deep[:depth]}}}",
            f"{prefix('TP0')}pool memory leak detected! {pool_text('full', 100, 80)}, leaked_full_pages={deep}",
            f"{BROKEN}, x={deep}",
            f'{{"log": {deep}}}',
            f'{{"log": "{BROKEN}", "x": {deep}}}',
            BROKEN,
        ),
    )
    assert ran.code == 1
    assert ran.answer["breaks"][-1]["line"] == 7 or ran.answer["breaks"][0]["line"] == 6


# Files


def bomb(size: int) -> bytes:
    """A zip with a text of `size` MB of line feeds in it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive, archive.open("x", "w") as file:
        for _ in range(size):
            file.write(b"\n" * (1 << 20))
    return packed.getvalue()


def quine() -> bytes:
    """A gzip file that unpacks to the next of a chain that has no end within the bounds."""
    import gzip

    data = text(BROKEN)
    for _ in range(40):
        data = gzip.compress(data)
    return data


def test_bombs_and_chains(tmp_path: Path) -> None:
    (tmp_path / "bomb.zip").write_bytes(bomb(400))
    (tmp_path / "chain.gz").write_bytes(quine())
    nested = text(BROKEN)
    for _ in range(20):
        nested = make_zip({"a": nested})
    (tmp_path / "nested.zip").write_bytes(nested)
    ran = run("analyze", tmp_path, "--format", "json")
    assert ran.code in (3, 4)
    errors = {source["name"].split("/")[-1]: source["error"] for source in ran.answer["sources"] if source["error"]}
    assert len(errors) == 3
    assert all("limit" in error or "ratio" in error or "times" in error for error in errors.values()), errors
    assert len(ran.err.splitlines()) == 3
    assert ran.memory < 200


def test_names_that_climb(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(make_zip({"../../../etc/x.log": text(BROKEN), "/etc/y.log": text(BROKEN)}))
    (tmp_path / "b.tar").write_bytes(make_tar({"../../z.log": text(BROKEN)}))
    ran = run("analyze", tmp_path, "--format", "json")
    assert [source["name"].removeprefix(f"{tmp_path}/") for source in ran.answer["sources"]] == [
        "a.zip/etc/x.log",
        "a.zip/etc/y.log",
        "b.tar/z.log",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.tar"]


def test_links_in_circles(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    (tmp_path / "a" / "x.log").write_bytes(text(BROKEN))
    (tmp_path / "twice.log").symlink_to(tmp_path / "a" / "x.log")
    ran = run("analyze", tmp_path, "--format", "json")
    assert ran.code == 1
    assert len(ran.answer["breaks"]) == 1
    assert run("analyze", tmp_path / "self").code == 4


def test_a_file_that_is_cut_or_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    for size in (0, 10, 5_000_000, 20_000_000):
        path.write_bytes(text(BROKEN) + text(BALANCED) * 150_000)

        def change(size: int = size) -> None:
            time.sleep(0.25)
            os.truncate(path, size)
            with path.open("ab") as file:
                for _ in range(100):
                    file.write(text(BROKEN))
                    file.flush()
                    time.sleep(0.002)

        thread = threading.Thread(target=change)
        thread.start()
        ran = run("analyze", path, "--format", "json")
        thread.join()
        # On a slow machine there may be nothing left when the reading begins.
        assert ran.code == 1 or (ran.code == 3 and size < 100)
        assert len(ran.err.splitlines()) <= 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(text(BROKEN))
    (tmp_path / "x.log").chmod(0)
    ran = run("analyze", tmp_path / "x.log")
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(0)
    assert run("analyze", tmp_path / "d").code == 4
    (tmp_path / "d").chmod(0o700)


@pytest.mark.parametrize("name", ["/dev/null", "/proc/self/environ", "/proc/self/mem", "/dev/zero", "/dev/full", "/"])
def test_things_that_are_no_logs(name: str) -> None:
    if name == "/":
        name = "/dev/fd"
    if name in ("/dev/zero", "/dev/full"):
        # They have no end: the line is passed over for as long as somebody waits.
        process = subprocess.Popen(
            [sys.executable, "-m", "memcheck_cli", "analyze", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(2)
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.terminate()
        process.communicate()
        assert int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) < 200_000
        return
    assert run("analyze", name).code in (3, 4)


# The ends of the command


def shell(line: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("MEMCHECK", f"{sys.executable} -m memcheck_cli")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in ran.stderr and "Exception" not in ran.stderr, ran.stderr
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def wide_log(tmp_path: Path) -> Path:
    path = tmp_path / "wide.log"
    path.write_bytes(b"".join(many(lambda n: ranked(BROKEN, n), 400)))
    return path


@pytest.mark.parametrize("verb", ["analyze -v", "analyze --format json", "replay", "artifacts", "diff"])
def test_a_pipe_closed_early_is_no_error(wide_log: Path, verb: str) -> None:
    path = f"{wide_log} {wide_log}" if verb == "diff" else wide_log
    code, _, told = shell(f"MEMCHECK {verb} {path} | head -c 1")
    assert (code in (0, 1), told) == (True, "")


def test_a_large_answer_to_a_reader_that_goes_is_0(wide_log: Path) -> None:
    code, _, told = shell(f"MEMCHECK analyze {wide_log} --format json | head -1")
    assert (code, told) == (0, "")


def test_standard_streams_that_are_closed(wide_log: Path) -> None:
    assert shell("MEMCHECK analyze - <&-")[::2] == (4, "memcheck: -: there is no standard input\n")
    assert shell("MEMCHECK analyze <&-")[0] == 2
    assert shell(f"MEMCHECK analyze {wide_log} >&-")[0] == 1
    assert shell(f"MEMCHECK analyze {wide_log} --format json >&-")[0] == 1
    assert shell("MEMCHECK analyze /nowhere 2>&-")[0] == 4
    assert shell("MEMCHECK analyze /nowhere 2>/dev/full")[0] == 4
    assert shell(f"MEMCHECK analyze {wide_log} 2>&- >/dev/full")[0] == 4
    assert shell("MEMCHECK frobnicate 2>/dev/full")[0] == 2


def test_outputs_that_cannot_be_written(wide_log: Path, tmp_path: Path) -> None:
    for arguments, code in (
        ("> /dev/full", 4),
        ("--format json > /dev/full", 4),
        ("-o /dev/full", 4),
        (f"-o {tmp_path}", 2),
        ("-o /nowhere/x", 2),
        (f"--rejects {tmp_path}", 2),
        ("--rejects /nowhere/x", 2),
        ("--rejects /dev/full", 4),
    ):
        path = wide_log
        if "rejects /dev/full" in arguments:
            path = tmp_path / "torn.log"
            path.write_text(BROKEN[:-30] + "\n")
        got, _, told = shell(f"MEMCHECK analyze {path} {arguments}")
        assert got == code, (arguments, told)
        assert len([line for line in told.splitlines() if not line.startswith(("Usage", "Try", "BROKEN"))]) <= 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["--page-size", "0"],
        ["--page-size", "x"],
        ["--page-size", "9" * 40],
        ["--total", "full"],
        ["--total", "=3"],
        ["--total", "full=-3"],
        ["--total", "full=" + "9" * 6000],
        ["--total", "full=\u0663"],
        ["--max-expanded", "-1"],
        ["--max-expanded", "nan"],
        ["--max-expanded", "inf"],
        ["--max-expanded", "1e999G"],
        ["--max-nesting", "-1"],
        ["--checked-level", "x"],
        ["--format", "xml"],
        ["--nothing"],
        ["--rank"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_options_that_make_no_sense(wide_log: Path, arguments: list[str]) -> None:
    ran = run("analyze", wide_log, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert 1 <= len(ran.err.splitlines()) <= 4


# The same answer every time


def test_outputs_do_not_depend_on_the_run(evil_path: Path, wide_log: Path) -> None:
    samples = Path(__file__).parents[1] / "samples"
    for arguments in (
        ["analyze", evil_path, samples, wide_log, "--format", "json"],
        ["analyze", samples, "-v", "--trends"],
        ["artifacts", samples, "--format", "json"],
        ["replay", samples / "two-ranks.log", "--format", "json"],
        ["diff", samples / "pair-good.log", samples / "pair-bad.log", "--format", "json"],
        ["audit", samples / "spec_tests", "--format", "json"],
    ):
        outputs = {run(*arguments, PYTHONHASHSEED=seed).out for seed in ("1", "4711")}
        assert len(outputs) == 1, arguments


def test_json_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "sch\u00f6n \u4e2d.log"
    path.write_bytes(text(BROKEN))
    plain = run("analyze", path, "--format", "json").answer
    for encoding in ("ascii", "latin-1", "utf-16"):
        ran = subprocess.run(
            [sys.executable, "-m", "memcheck_cli", "analyze", path, "--format", "json"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (1, b"")
        assert json.loads(ran.stdout.decode("utf-16" if encoding == "utf-16" else "ascii")) == plain
