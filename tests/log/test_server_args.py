"""Launch flags: the two printed forms, command lines, and damage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.checker.releases import RELEASES
from memcheck_cli.log import server_args
from memcheck_cli.log.records import Value
from memcheck_cli.log.server_args import FLAGS, LONGEST, parse_command, read_server_args

DATA = Path(__file__).parent / "data"
REAL = {
    release: (DATA / f"server_args-{release}.txt").read_text(encoding="utf-8").rstrip("\n")
    for release in ("0.5.8", "0.5.12", "0.5.23")
}


def flags_of(text: str) -> dict[str, Value]:
    found = read_server_args(text)
    return {} if found is None else found.flags


def test_real_dict_of_0_5_23() -> None:
    args = read_server_args(REAL["0.5.23"])
    assert args is not None
    assert (args.style, args.whole, len(args.fields)) == ("dict", True, 546)
    assert args.flags["page_size"] == 1
    assert args.flags["max_total_tokens"] == 1536
    assert args.flags["chunked_prefill_size"] == 256
    assert args.flags["disaggregation_mode"] == "null"
    assert args.flags["speculative_algorithm"] is None
    assert args.flags["swa_full_tokens_ratio"] == 0.8
    assert args.flags["log_level"] == "info"
    assert args.flags["model_path"] == "models/tiny_llama"
    assert "return_aux_hidden_state_layer_ids" in args.fields, "the last field"
    assert "backend" not in args.fields, "a key of a nested dict is no field"


@pytest.mark.parametrize(("release", "count"), [("0.5.8", 325), ("0.5.12", 381)])
def test_real_dataclass_reprs(release: str, count: int) -> None:
    args = read_server_args(REAL[release])
    assert args is not None
    assert (args.style, args.whole, len(args.fields)) == ("repr", True, count)
    assert args.flags["page_size"] == 1
    assert args.flags["decode_log_interval"] == 10
    assert args.flags["disable_overlap_schedule"] is False
    assert ("enable_streaming_session" in args.fields) is (release == "0.5.12")


def test_values_of_every_kind() -> None:
    text = (
        "server_args=ServerArgs(model_path='a/b-7B', page_size=64, chunked_prefill_size=-1, dtype=<DType.HALF: 'h'>, "
        "lora_paths=[Ref(name='x, page_size=7', path=\"it's\")], cfg={'page_size': 3, 'deep': [(1, 2), {'a': 'b)'}]}, "
        "hicache_write_policy='write_back', mem_fraction_static=0.85, enable_mixed_chunk=True, tp_size=None, "
        "speculative_algorithm='EAGLE3', quoted='a\\'b, tp_size=9', enable_lora=torch.bool)"
    )
    assert flags_of(text) == {
        "model_path": "a/b-7B",
        "page_size": 64,
        "chunked_prefill_size": -1,
        "hicache_write_policy": "write_back",
        "mem_fraction_static": 0.85,
        "enable_mixed_chunk": True,
        "tp_size": None,
        "speculative_algorithm": "EAGLE3",
    }


@pytest.mark.parametrize("release", REAL)
def test_a_cut_text_never_gives_another_value(release: str) -> None:
    """Wherever the line is cut, each flag is missing or as in the whole line."""
    text = REAL[release]
    whole = flags_of(text)
    for end in [*range(600), *range(600, len(text), 37)]:
        cut = read_server_args(text[:end])
        if cut is not None:
            assert not cut.whole
            assert cut.flags.items() <= whole.items(), text[max(0, end - 40) : end]


def test_a_cut_number_is_dropped() -> None:
    assert flags_of("server_args=ServerArgs(tp_size=2, page_size=6") == {"tp_size": 2}
    assert flags_of("server_args={'tp_size': 2, 'page_size': 6") == {"tp_size": 2}
    assert flags_of("server_args=ServerArgs(tp_size=2, page_size=64)") == {"tp_size": 2, "page_size": 64}


def test_a_line_torn_by_another_writer_stops_there() -> None:
    torn = "server_args=ServerArgs(tp_size=2, page_size=1[2026-11-30 01:32:53 TP1] Load, page_size=64, dp_size=4)"
    assert flags_of(torn) == {"tp_size": 2}
    torn = "server_args=ServerArgs(tp_size=2, page_si[2026-11-30 01:32:53 TP1] Load weight, page_size=64)"
    assert flags_of(torn) == {"tp_size": 2}
    torn = "server_args=ServerArgs(tp_size=2, model_path='a[2026-11-30 01:32:53] server_args=ServerArgs(model_path='b')"
    assert flags_of(torn) == {"tp_size": 2}


def test_secrets_and_absurd_numbers_get_no_further() -> None:
    text = f"server_args=ServerArgs(api_key='s3cret', page_size={'9' * 30}, tp_size=2)"
    assert flags_of(text) == {"tp_size": 2}


def test_what_is_no_server_args() -> None:
    assert read_server_args("") is None
    assert read_server_args("server_args=None") is None
    assert flags_of("the server_args are fine") == {}


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("--page-size 16", {"page_size": 16}),
        ("--page-size=16", {"page_size": 16}),
        ("--page_size 16", {"page_size": 16}),
        ("--tp 2 --dp=4 --pp 1 --ep 8", {"tp_size": 2, "dp_size": 4, "pp_size": 1, "ep_size": 8}),
        ("--tp-size 2 --tensor-parallel-size 4", {"tp_size": 4}),
        (
            "--speculative-algo EAGLE --speculative-eagle-topk 8",
            {"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 8},
        ),
        ("--enable-mixed-chunk --disable-radix-cache", {"enable_mixed_chunk": True, "disable_radix_cache": True}),
        (
            "--enable-hicache --hicache-write-policy write_back",
            {"enable_hierarchical_cache": True, "hicache_write_policy": "write_back"},
        ),
        ("--chunked-prefill-size -1", {"chunked_prefill_size": -1}),
        ("--mem-fraction-static 0.8", {"mem_fraction_static": 0.8}),
        ('"--page-size", "16", "--tp=4", "--log-level","debug"', {"page_size": 16, "tp_size": 4, "log_level": "debug"}),
        ("'--page-size' '16'", {"page_size": 16}),
        ("--model-path \"a/b\" --model 'c/d'", {"model_path": "c/d"}),
        ("--disaggregation-mode prefill", {"disaggregation_mode": "prefill"}),
        ("--enable-dp-attention=false", {"enable_dp_attention": False}),
        ("--page-size --tp 2", {"tp_size": 2}),
        ("--page-size 16abc --max-total-tokens 1e9", {}),
        ("--page-size " + "1" * 40, {}),
        ("---page-size 4 x--page-size 4", {}),
        ("--unknown 5 --page-sizes 4", {}),
        ("--page-size 16 \\", {"page_size": 16}),
    ],
)
def test_command_lines(command: str, flags: dict[str, object]) -> None:
    assert parse_command(command) == flags


def test_the_table_names_releases_that_exist() -> None:
    for flag in FLAGS:
        for border in (flag.first, flag.last):
            assert border is None or border in RELEASES, flag
    assert len({flag.name for flag in FLAGS}) == len(FLAGS)
    options = [option for flag in FLAGS for option in flag.options]
    assert len(set(options)) == len(options)


PIECES = st.sampled_from(
    [
        "server_args=",
        "ServerArgs(",
        "{",
        "}",
        ")",
        "(",
        "[",
        "]",
        "'",
        '"',
        "\\",
        ", ",
        "=",
        ": ",
        "page_size",
        "tp_size=2",
        "'page_size': 7",
        "--page-size",
        " 16",
        "--tp=3",
        "None",
        "True",
        "\n",
        "[2026-11-30 01:32:53 TP1] ",
        "é",
        "\x00",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_no_text_raises_and_no_value_is_invented(text: str) -> None:
    for flags in (flags_of(text), parse_command(text)):
        for value in flags.values():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert str(value) in text or str(int(value)) in text
            elif isinstance(value, str):
                assert value in text


@pytest.mark.parametrize(
    "hostile",
    [
        "server_args=ServerArgs(a='\\",
        "server_args={'a': [",
        "server_args=ServerArgs(a=1, ",
        "server_args=",
        "--page-size ",
        "--",
        "ServerArgs(a=",
        "server_args=ServerArgs(a='\\' ",
        "'--tp' ",
        '--page-size="',
        "server_args=ServerArgs(a=\"'",
    ],
)
def test_time_grows_with_the_text_and_no_faster(hostile: str) -> None:
    def parse(size: int) -> None:
        text = hostile + hostile[-12:] * (size // len(hostile[-12:]))
        flags_of(text)
        parse_command(text)

    assert_linear(parse, 480_000)


@given(st.text(alphabet="a1=,'\" \\()[]{}:_", max_size=60), st.booleans())
def test_plain_fields_are_read_as_all_others(inner: str, as_dict: bool) -> None:
    text = "server_args={'a1': " + inner if as_dict else f"server_args=ServerArgs(a1={inner}"
    told = read_server_args(text)
    with pytest.MonkeyPatch.context() as patched:
        for name in ("_PLAIN_FIELD", "_PLAIN_KEY"):
            patched.setattr(server_args, name, re.compile("(?!)"))
        assert read_server_args(text) == told


@pytest.mark.parametrize("value", ["1, ", "'x', ", "[1, 2], ", "9"])
def test_a_text_without_end_is_read_so_far(value: str) -> None:
    head = "server_args=ServerArgs(page_size=16, a="
    args = read_server_args(head + value * (2 * LONGEST // len(value)) + ", tp_size=4)")
    assert args is not None
    assert (args.flags, args.whole) == ({"page_size": 16}, False)
    args = read_server_args(head + "x" * (LONGEST - 100) + ", tp_size=4)")
    assert args is not None
    assert (args.flags, args.whole) == ({"page_size": 16, "tp_size": 4}, True)
