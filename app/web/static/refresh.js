"use strict";
// Keeps the page current: asks for its changing part, and replaces only what has changed. The page works without it.
(() => {
  const LONGEST_SECONDS = 60;
  const QUIET_MS = 30_000; // between two announcements
  const KEY = "thinkledger.interval";

  const part = () => document.getElementById("overview");
  const asOf = document.getElementById("as-of");
  const banner = document.getElementById("banner");
  const choice = document.getElementById("interval");
  const announcer = document.getElementById("announcer");
  const source = part().dataset.source;

  let tag = null;
  let timer = null;
  let failures = 0;
  let stopped = false;
  let announcedMs = Date.now();

  function remembered() {
    try {
      return window.localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off
    }
  }

  function remember(value) {
    try {
      window.localStorage.setItem(KEY, value);
    } catch {
      // then only this page knows
    }
  }

  const seconds = () => Number(choice.value);

  function plan() {
    window.clearTimeout(timer);
    if (stopped || document.hidden || seconds() === 0) return;
    const wait = Math.min(LONGEST_SECONDS, seconds() * 2 ** failures);
    timer = window.setTimeout(poll, wait * 1000);
  }

  async function poll() {
    try {
      const headers = tag === null ? {} : { "If-None-Match": tag };
      const patience = AbortSignal.timeout(10_000);
      const answer = await fetch(source, { headers, cache: "no-store", redirect: "error", signal: patience });
      await take(answer);
    } catch {
      trouble("Connection lost");
    }
    plan();
  }

  async function take(answer) {
    if (answer.status === 200) {
      replace(await answer.text());
      tag = answer.headers.get("ETag");
    } else if (answer.status === 401 || answer.status === 404) {
      stopped = true;
      trouble(answer.status === 401 ? "Logged out. Reload the page to log in" : "This page is gone");
      return;
    } else if (answer.status !== 304) {
      trouble(`The server answers with ${answer.status}`);
      return;
    }
    failures = 0;
    banner.hidden = true;
    document.body.classList.remove("stale");
    asOf.textContent = answer.headers.get("X-As-Of") ?? asOf.textContent;
  }

  function trouble(what) {
    failures += 1;
    banner.textContent = `${what}. Last update ${asOf.textContent}.`;
    banner.hidden = false;
    document.body.classList.toggle("stale", stopped || failures >= 3);
  }

  function replace(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("overview");
    if (fresh === null) throw new Error("no fragment");
    const old = [...part().querySelectorAll("[data-live]")];
    const next = [...fresh.querySelectorAll("[data-live]")];
    document.title = fresh.dataset.title;
    announce(fresh.dataset.say);
    if (old.map((one) => one.id).join() !== next.map((one) => one.id).join()) {
      part().replaceWith(document.adoptNode(fresh)); // something came or went
      return;
    }
    old.forEach((one, place) => swap(one, next[place]));
  }

  // What a person is reading with the keyboard or has marked stays until they leave it.
  function swap(old, next) {
    if (old.isEqualNode(next) || old.contains(document.activeElement) || isMarked(old)) return;
    for (const opened of old.querySelectorAll("details[open][id]")) {
      next.querySelector(`#${CSS.escape(opened.id)}`)?.setAttribute("open", "");
    }
    old.replaceWith(document.adoptNode(next));
  }

  function isMarked(element) {
    const marked = window.getSelection();
    return marked !== null && !marked.isCollapsed && marked.containsNode(element, true);
  }

  function announce(text) {
    if (Date.now() - announcedMs < QUIET_MS || announcer.textContent === text) return;
    announcedMs = Date.now();
    announcer.textContent = text;
  }

  choice.value = remembered() ?? "5";
  if (choice.selectedIndex < 0) choice.value = "5";
  document.getElementById("refresh").hidden = false;
  choice.addEventListener("change", () => {
    remember(choice.value);
    failures = 0;
    plan();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) window.clearTimeout(timer);
    else if (!stopped && seconds() > 0) poll();
  });
  plan();
})();
