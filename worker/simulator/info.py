"""What the server tells about itself: its models, its version, its parsers, and the secrets that real ones tell too."""

import time

from worker.simulator.config import Config

VERSION = "0.5.23"
_PARSED = frozenset({"sglang_parser"})

Object = dict[str, object]


def is_vllm(config: Config) -> bool:
    """vLLM has no /server_info, and names itself as the owner of its models."""
    return config.persona == "vllm"


def models(config: Config) -> Object:
    """GET /v1/models."""
    model: Object = {
        "id": config.model,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "vllm" if is_vllm(config) else "sglang",
        "root": config.model,
        "parent": None,
        "max_model_len": config.context_length,
    }
    return {"object": "list", "data": [model]}


def server_info(config: Config, port: int) -> Object:
    """GET /server_info, in the part that is of use to a client; the keys stand in it in clear."""
    parser = "kimi_k2" if config.persona in _PARSED else None
    return {
        "model_path": f"/models/{config.model}",
        "tokenizer_path": f"/models/{config.model}",
        "served_model_name": config.model,
        "context_length": config.context_length,
        "host": config.host,
        "port": port,
        "api_key": config.api_key,
        "admin_api_key": config.admin_api_key,
        "reasoning_parser": parser,
        "tool_call_parser": parser,
        "max_running_requests": config.slots,
        "random_seed": 869243188,
        "launch_command": _launch_command(config, port, parser),
        "status": "ready",
        "max_req_input_len": config.context_length - 6,
        "internal_states": [{"last_gen_throughput": 1234.5, "memory_usage": {}}],
        "version": VERSION,
    }


def _launch_command(config: Config, port: int, parser: str | None) -> str:
    parts = [f"--model-path /models/{config.model} --served-model-name {config.model}"]
    parts.append(f"--host {config.host} --port {port}")
    if parser is not None:
        parts.append(f"--reasoning-parser {parser} --tool-call-parser {parser}")
    if config.api_key is not None:
        parts.append(f"--api-key {config.api_key}")
    if config.admin_api_key is not None:
        parts.append(f"--admin-api-key {config.admin_api_key}")
    return " ".join(parts)
