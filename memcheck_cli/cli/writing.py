"""What the verbs that write a document have in common."""

from __future__ import annotations

import json
from typing import IO


def write_json(data: object, file: IO[str]) -> None:
    """One JSON document, UTF-8 whatever the encoding of the output is."""
    encoding = (getattr(file, "encoding", None) or "utf-8").lower().replace("_", "-")
    json.dump(data, file, ensure_ascii=encoding not in ("utf-8", "utf8"), indent=1)
    file.write("\n")
