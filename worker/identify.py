"""What a server is: its health, its models, its fingerprint, and the dialect it understands."""

from dataclasses import dataclass

from app.model.errors import UsageError
from app.model.lease import Cause
from worker.asking import Dialect
from worker.backoff import cause_of_status
from worker.endpoint import HEALTH_TIMEOUT_S, AskFailed, Endpoint
from worker.fingerprint import Model, dialect_of, fingerprint_of, models_of


@dataclass(frozen=True, slots=True)
class Known:
    """A server that is up."""

    model: Model  # the one to ask
    models: dict[str, Model]
    fingerprint: dict[str, str | int | bool | None]
    dialect: Dialect


async def identify(
    endpoint: Endpoint,
    wanted_model: str | None,
    *,
    raw_text: bool | None,
    token_ids: bool,
    stream: bool,
    timeout_s: float = HEALTH_TIMEOUT_S,
) -> Known:
    """Ask for health, models and fingerprint. Raises AskFailed, or UsageError where --model does not fit."""
    health, _ = await endpoint.get("/health", timeout_s)
    if health >= 500:
        raise AskFailed(Cause.UNREACHABLE, f"GET /health says {health}", status=health)
    models = await _models(endpoint, timeout_s)
    _, info = await endpoint.get("/server_info", timeout_s)
    model = _choose(models, wanted_model, endpoint.base_url)
    dialect = dialect_of(info, model, raw_text=raw_text, token_ids=token_ids, stream=stream)
    return Known(model, {known.id: known for known in models}, fingerprint_of(info, model), dialect)


async def _models(endpoint: Endpoint, timeout_s: float) -> list[Model]:
    path = endpoint.base_url.removeprefix(endpoint.root) + "/models"
    status, listing = await endpoint.get(path, timeout_s)
    if status != 200:
        raise AskFailed(cause_of_status(status), f"GET {path} says {status}", status=status)
    models = models_of(listing)
    if not models:
        raise AskFailed(Cause.NO_SUCH_MODEL, f"GET {path} lists no model", status=status)
    return models


def _choose(models: list[Model], wanted: str | None, url: str) -> Model:
    """The model of --model, or the only one listed: SGLang answers 200 for any name, so an answer proves nothing."""
    listed = ", ".join(model.id for model in models)
    if wanted is not None:
        found = [model for model in models if model.id == wanted]
        if not found:
            raise UsageError(f"{url} does not serve {wanted}; it lists {listed}.")
        return found[0]
    if len(models) > 1:
        raise UsageError(f"{url} lists several models: {listed}. Choose one with --model.")
    return models[0]
