"""One chat request from its first byte to its last: understand, choose a persona, take a slot, wait, send."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from worker.simulator import tokens
from worker.simulator.behaviour import Behaviour
from worker.simulator.delivery import drip, send_at_once, send_over, wait_forever
from worker.simulator.http import Receive, Send, read_body, respond, unless_gone
from worker.simulator.personas import persona_named
from worker.simulator.reply import Delivery, Problem, Reply
from worker.simulator.request import check_length, facts_of, read_request
from worker.simulator.slots import Slots
from worker.simulator.stats import Stats
from worker.simulator.timeline import Timeline
from worker.simulator.wire import Rendered, envelope, render

_IMMEDIATE = frozenset({Delivery.WHOLE, Delivery.HALF, Delivery.CUT})


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request will get, decided before anything is sent."""

    key: str
    reply: Reply
    rendered: Rendered
    seconds: float  # from the moment it has a slot

    @property
    def immediate(self) -> bool:
        """It is sent within one turn of the loop, so nobody has to watch for a client that hangs up."""
        return self.seconds == 0 and self.reply.delivery in _IMMEDIATE and not self.reply.padding

    @property
    def answers(self) -> bool:
        """The client gets a whole completion that came to an end."""
        message = self.reply.message
        return message is not None and message.finish != "abort" and self.reply.delivery is not Delivery.HALF


class Chat:
    """POST /v1/chat/completions."""

    def __init__(
        self, behaviour: Behaviour, stats: Stats, slots: Slots, timeline: Timeline, cut_all: Callable[[], None]
    ) -> None:
        self._cut_all = cut_all
        self._behaviour = behaviour
        self._stats = stats
        self._slots = slots
        self._timeline = timeline

    async def __call__(self, credential: str, receive: Receive, send: Send) -> None:
        """Answer one request. A client that hangs up before its answer is complete is counted as aborted."""
        self._stats.opened()
        try:
            body = await read_body(receive)
            if body is None or not await self._answer(body, credential, receive, send):
                self._stats.aborted += 1
        finally:
            self._stats.closed()

    async def _answer(self, body: bytes, credential: str, receive: Receive, send: Send) -> bool:
        try:
            plan = self._plan(body, credential)
        except ValueError as error:
            self._stats.sent(400)
            await respond(send, 400, envelope(400, Problem(str(error), "BadRequestError")))
            return True
        if not plan.reply.generated:
            await self._send(plan, send)
            return True
        if plan.immediate and self._slots.try_enter():
            await self._send_and_leave(plan, send)
            return True
        return await unless_gone(self._generate(plan, send), receive)

    def _plan(self, body: bytes, credential: str) -> Plan:
        request = read_request(body)
        prompt = request.prompt
        config = self._behaviour.config
        name, ordinal = self._behaviour.next_persona(prompt, self._timeline.seconds)
        facts = facts_of(request, prompt, config.answer_bytes, credential, ordinal)
        key = facts.digest.hex()[:16]
        self._stats.asked(key, name, body)
        if config.record is not None:
            _record(config.record, body)
        rendered_prompt = request.rendered()
        check_length(tokens.count(rendered_prompt), request.limit, config.context_length)
        persona = persona_named(name)
        replies = [persona(facts)]
        replies += [persona(replace(facts, choice=choice)) for choice in range(1, request.n)]
        rendered = render(replies, request, rendered_prompt)
        return Plan(key, replies[0], rendered, self._behaviour.latency(facts.digest))

    async def _generate(self, plan: Plan, send: Send) -> None:
        await self._slots.enter()
        try:
            await self._produce(plan, send)
        finally:
            self._slots.leave()

    async def _produce(self, plan: Plan, send: Send) -> None:
        if plan.reply.delivery is Delivery.NEVER:
            await wait_forever()
        if plan.rendered.streamed and plan.seconds and plan.reply.delivery is Delivery.WHOLE:
            await send_over(plan.rendered, plan.seconds, send)
            self._count(plan)
            return
        await asyncio.sleep(plan.seconds)
        await self._send(plan, send)

    async def _send_and_leave(self, plan: Plan, send: Send) -> None:
        try:
            await self._send(plan, send)
        finally:
            self._slots.leave()

    async def _send(self, plan: Plan, send: Send) -> None:
        if plan.reply.delivery is Delivery.ENDS:
            os._exit(1)
        elif plan.reply.delivery is Delivery.CUTS_ALL:
            self._stats.cut += 1
            self._cut_all()
            return
        if plan.reply.delivery is Delivery.DRIPPED:
            await drip(plan.rendered, plan.reply.drip_seconds, send)
        elif not await send_at_once(plan.rendered, plan.reply.delivery, send):
            self._stats.cut += 1
            return
        self._count(plan)

    def _count(self, plan: Plan) -> None:
        self._stats.sent(plan.rendered.status)
        if plan.answers:
            self._stats.answer(plan.key)


def _record(file: str, body: bytes) -> None:
    """Add a request to the record. A body may hold line ends between its values, so it is written anew."""
    with Path(file).open("ab") as record:
        record.write(msgspec.json.encode(msgspec.json.decode(body)) + b"\n")
