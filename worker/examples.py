"""The examples that every command shows under its help; a test parses each of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from worker import cli_settings


@dataclass(frozen=True, slots=True)
class Example:
    """One line to type, and what it is for."""

    call: str
    why: str


def _of(*pairs: tuple[str, str]) -> tuple[Example, ...]:
    return tuple(Example(call, why) for why, call in pairs)


SERVER = "http://127.0.0.1:30000"
EXAMPLES = {
    "import": _of(
        ("A file of prompts; 16,384 tokens an answer at most:",
         "thinkledger import B1_glaive prompts.jsonl --max-tokens 16384"),
        ("What would be added, and what each row becomes; nothing is written:",
         "thinkledger import B1_glaive prompts.jsonl --dry-run --jsonl"),
        ("Whole conversations, every answer made anew:", "thinkledger import mt_bench question.jsonl --turns all"),
        ("Four answers a prompt, each with a seed of its own:", "thinkledger import four prompts.jsonl --samples 4"),
        ("From another program:", "zcat prompts.jsonl.gz | thinkledger import B1_glaive -"),
    ),
    "datasets": _of(("All of them, with their sizes:", "thinkledger datasets")),
    "datasets show": _of(("The settings of one:", "thinkledger datasets show B1_glaive")),
    "datasets set": _of(
        ("A higher token limit for what is not asked yet:", "thinkledger datasets set B1_glaive --max-tokens 32768"),
        ("A model that often answers without thinking:", "thinkledger datasets set B1_glaive --min-capture 0.6"),
    ),
    "datasets pause": _of(
        ("Ask nothing more of it, and say why:", 'thinkledger datasets pause B1_glaive --reason "new weights"')
    ),
    "datasets resume": _of(("End every hold on your word:", "thinkledger datasets resume B1_glaive")),
    "datasets delete": _of(("After a backup, and with the question asked:", "thinkledger datasets delete B1_glaive")),
    "worker": _of(("Ask one server until nothing is left:", f"worker start --endpoint {SERVER} --until-empty")),
    "worker start": _of(
        ("One server, until nothing is left:", f"worker start --endpoint {SERVER} --until-empty"),
        ("Two servers, 128 requests at once, one dataset, for ever:",
         f"worker start --endpoint {SERVER} --endpoint http://10.0.0.2:30000 --concurrency 128 --dataset B1_glaive"),
        ("A first look: a hundred answers:", f"worker start --endpoint {SERVER} --limit 100"),
        ("A server with a key, from a variable of yours:",
         "worker start --endpoint https://api.example/v1 --api-key-env MY_KEY --model kimi-k2.5"),
    ),
    "worker list": _of(("For a program:", "worker list --json")),
    "worker drain": _of(("Number 3 of the list goes home when its open answers have come:", "worker drain 3")),
    "status": _of(
        ("One dataset, shown again every two seconds:", "thinkledger status B1_glaive --watch"),
        ("For cron: a line for each thing that needs a person, and an exit code:",
         'thinkledger status --check || notify "thinkledger needs you"'),
    ),
    "samples": _of(
        ("What lost its thought:", "thinkledger samples B1_glaive --verdict missing"),
        ("The longest thoughts, a hundred of them:", "thinkledger samples B1_glaive --sort longest --limit 100"),
        ("The ids of what failed by a time-out:",
         "thinkledger samples B1_glaive --state failed --cause timed_out --jsonl | jq -r .sample_id"),
    ),
    "sample": _of(
        ("Everything about one:", "thinkledger sample B1_glaive glaive-00017"),
        ("The bytes that the server sent:",
         "thinkledger sample B1_glaive glaive-00017 --part raw --raw > body.json"),
    ),
    "export": _of(
        ("Captured answers as JSON lines, with a manifest:", "thinkledger export --dataset B1_glaive"),
        ("Rows for SpecForge with the server's token ids, compressed:",
         "thinkledger export --dataset B1_glaive --preset tokens -o tokens.jsonl.zst"),
        ("As far as it is, for a look:",
         "thinkledger export --dataset B1_glaive --allow-incomplete --limit 10 -o - | jq ."),
        ("Is the file still what was written?", "thinkledger export --check B1_glaive.jsonl"),
    ),
    "parse": _of(
        ("What the parser makes of a file of bodies:", "thinkledger parse bodies.jsonl"),
        ("Of one stored body:",
         "thinkledger sample B1_glaive glaive-00017 --part raw --raw | jq -c '{body: .}' | thinkledger parse"),
    ),
    "reparse": _of(
        ("How verdicts would change; nothing is written:", "thinkledger reparse B1_glaive"),
        ("Write it:", "thinkledger reparse B1_glaive --apply"),
        ("In a pipeline: write nothing if any answer would be worse:",
         "thinkledger reparse --all --apply --fail-on-regression"),
    ),
    "retry": _of(
        ("How many were cut off:", "thinkledger retry B1_glaive --verdict truncated --dry-run"),
        ("Ask exactly those again, with more room:",
         "thinkledger retry B1_glaive --verdict truncated --max-tokens 32768 --expect 118 --yes"),
        ("What the server refused:", "thinkledger retry B1_glaive --state failed --cause rejected"),
    ),
    "cancel": _of(
        ("How many it would take out:",
         "thinkledger cancel B1_glaive --state failed --cause rejected --dry-run"),
        ("Everything that is not done:", "thinkledger cancel B1_glaive --all --yes"),
    ),
    "probe": _of(
        ("What a server is, and where its reasoning comes:", f"thinkledger probe --endpoint {SERVER}"),
        ("Ask as a held dataset does; ends its hold when reasoning is there:",
         f"thinkledger probe --endpoint {SERVER} --dataset B1_glaive"),
    ),
    "simulate": _of(
        ("A server that answers well, but not at first:",
         "thinkledger simulate --port 30000 --persona sglang --fault http_503@first:3"),
        ("Slow answers, sixteen at once:",
         "thinkledger simulate --latency lognormal:2,0.6 --slots 16"),
    ),
    "demo": _of(
        ("With a dashboard that stays up until Ctrl-C:", "thinkledger demo"),
        ("To its end, for scripts:", "thinkledger demo --exit"),
    ),
    "serve": _of(
        ("On this machine, in a browser:", "thinkledger serve --open"),
        ("For looking only:", "thinkledger serve --read-only"),
        ("Behind a proxy that ends TLS:",
         "thinkledger serve --root-path /thinkledger --allowed-host gpu.example --trusted-origin https://gpu.example"),
    ),
    "metrics": _of(
        ("For the text file collector of a node exporter:",
         "thinkledger metrics > thinkledger.prom.part && mv thinkledger.prom.part thinkledger.prom")
    ),
    "verify": _of(
        ("A quick look at the store of this folder:", "thinkledger verify"),
        ("Every body of a backup:", "thinkledger --db B1.db verify --full"),
    ),
    "backup": _of(
        ("Beside the store:", "thinkledger backup"),
        ("Every hour from cron, two dozen kept:",
         "thinkledger --db /srv/drafter/thinkledger.db --no-progress backup /mnt/backups --keep 24"),
    ),
    "restore": _of(
        ("After every worker and server was stopped:",
         "thinkledger --db B1.db restore B1.db.backups/B1-20260729T120000.000Z.db")
    ),
    "copy": _of(
        ("From a file to a server, after every worker and server was stopped:",
         "thinkledger copy B1.db postgresql://thinkledger@db.example.org/runs"),
        ("And back:", "thinkledger copy postgresql://thinkledger@db.example.org/runs B1-again.db"),
    ),
    "migrate": _of(
        ("What would be done:", "thinkledger --db B1.db migrate --dry-run"),
        ("Do it; a backup is made first:", "thinkledger --db B1.db migrate"),
    ),
    "doctor": _of(
        ("This machine and the store of this folder:", "thinkledger doctor"),
        ("The server too:", f"thinkledger doctor --endpoint {SERVER}"),
    ),
    "sql": _of(
        ("Jobs by verdict:", 'thinkledger sql "SELECT verdict, count(*) AS n FROM job GROUP BY 1"'),
        ("The longest thought:",
         'thinkledger sql "SELECT sample_id, reasoning_chars FROM job ORDER BY 2 DESC LIMIT 1"'),
    ),
    "config": _of(
        ("Every setting, and where it comes from:", "thinkledger config"),
        ("The same for a program:", "thinkledger config --json"),
    ),
    "completion": _of(
        ("bash, for this shell; in ~/.bashrc for all:", 'eval "$(thinkledger completion bash)"'),
        ("fish:", "thinkledger completion fish > ~/.config/fish/completions/thinkledger.fish"),
    ),
}  # fmt: skip


def show_in_help(group: click.Group) -> None:
    """Write them under the help of every command, one a paragraph, so that no line of them is wrapped."""
    for words, command in cli_settings.every(group):
        command.epilog = "\n\n".join([*filter(None, [command.epilog]), *_paragraphs(words)])


def _paragraphs(words: str) -> Iterator[str]:
    yield "Examples:"
    for example in EXAMPLES[words]:
        yield f"\b\n  {example.why}\n    {example.call}"
