"""Clients of others, with the same prompts and the same server as our worker, each with what it resumes from.

Run by the Python of their own virtual environment, without anything of ours:
`python -m benchmarks.other_clients NAME URL PROMPTS FOLDER LIMIT`. What was answered goes into the
folder, by the means of each.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

IN_FLIGHT = 64
NO_LIMIT = 10**9  # a minute


def prompts_of(file: Path, limit: int) -> Iterator[dict[str, Any]]:
    """The first prompts of a file."""
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, limit))


def curator(url: str, file: Path, folder: Path, limit: int) -> int:
    """Its cache: a file of requests, one of responses, and a data set of both."""
    there = find_spec("litellm")  # brings the tokenizer along that is else fetched at the first start
    assert there is not None
    assert there.origin is not None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(there.origin).parent / "litellm_core_utils" / "tokenizers")
    from bespokelabs import curator as library

    class Asking(library.LLM):  # type: ignore[misc]
        def prompt(self, row: dict[str, Any]) -> Any:
            return row["messages"]

        def parse(self, row: dict[str, Any], response: Any) -> Any:
            return {"sample_id": row["sample_id"], "response": response}

    limits = dict.fromkeys(("max_requests_per_minute", "max_tokens_per_minute"), NO_LIMIT)
    params = {"base_url": url, "max_concurrent_requests": IN_FLIGHT, **limits}
    asking = Asking(model_name="kimi-k2.5", backend="openai", backend_params=params)
    answered = asking(list(prompts_of(file, limit)), working_dir=str(folder))
    return len(answered.dataset)


def datatrove(url: str, file: Path, folder: Path, limit: int) -> int:
    """Its checkpoints: a store of answers by request, and chunks of finished documents beside the output."""
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.inference.run_inference import InferenceConfig, InferenceRunner
    from datatrove.pipeline.writers import JsonlWriter

    documents = [
        Document(text="", id=row["sample_id"], metadata={"messages": row["messages"]})
        for row in prompts_of(file, limit)
    ]

    async def ask(document: Any, generate: Callable[[dict[str, Any]], Any]) -> Any:
        return await generate({"messages": document.metadata["messages"]})

    config = InferenceConfig(
        server_type="endpoint",
        model_name_or_path="kimi-k2.5",
        endpoint_url=url.removesuffix("/v1"),
        max_concurrent_generations=IN_FLIGHT,
    )
    output = folder / "output"
    runner = InferenceRunner(
        ask, config, JsonlWriter(str(output), output_filename="${rank}_${chunk_index}.jsonl", compression=None),
        checkpoints_local_dir=str(folder / "checkpoints"),
    )  # fmt: skip
    LocalPipelineExecutor([documents, runner], logging_dir=str(folder / "logs"), tasks=1).run()
    return sum(len(one.read_bytes().splitlines()) for one in output.glob("*.jsonl"))


CLIENTS: dict[str, Callable[[str, Path, Path, int], int]] = {"curator": curator, "datatrove": datatrove}


def main(name: str, url: str, file: str, folder: str, limit: str) -> None:
    """Ask so many prompts, and make sure that there are as many answers."""
    os.environ |= {"OPENAI_API_KEY": "none", "TELEMETRY_ENABLED": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}  # nothing is fetched while it is measured
    Path(folder).mkdir()
    answered = CLIENTS[name](url, Path(file), Path(folder), int(limit))
    if answered != int(limit):
        sys.exit(f"{name}: {answered} of {limit} were answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
