"use strict";
// Makes pages nicer that work without it: keeps them current, answers keys, copies exact text, remembers the theme.
(() => {
  const LONGEST_SECONDS = 60, QUIET_MS = 30_000, STALE_AFTER = 3;
  const THEMES = ["system", "light", "dark"];
  const byId = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Storage may be switched off: then only this page knows.
  const attempt = (what, otherwise) => { try { return what() ?? otherwise; } catch { return otherwise; } };
  const remembered = (key, otherwise) => attempt(() => window.localStorage.getItem(`thinkledger.${key}`), otherwise);
  const remember = (key, value) => attempt(() => window.localStorage.setItem(`thinkledger.${key}`, value), null);

  function setTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    if (byId("theme")) byId("theme").textContent = `Theme: ${theme}`;
  }

  function nextTheme() {
    const theme = THEMES[(THEMES.indexOf(remembered("theme", "system")) + 1) % THEMES.length];
    remember("theme", theme);
    setTheme(theme);
    say(`Theme: ${theme}`);
  }

  function say(text) {
    byId("announcer").textContent = text;
  }

  // The address that `serve` prints carries a one-time code behind the #, which browsers never send by themselves.
  function logIn() {
    const form = byId("login"), code = window.location.hash.slice(1);
    if (!form || !code) return;
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    byId("token").value = code;
    form.requestSubmit();
  }

  // Polling: the page is asked for once more, and only marked elements that differ are replaced.
  const live = { tag: null, timer: null, failures: 0, stopped: false, saidMs: 0, waiting: new Map() };
  const seconds = () => Number(byId("interval").value);
  const JITTER = 0.2;  // tabs that were opened together do not ask together for ever

  const spread = () => 1 - JITTER / 2 + JITTER * Math.random();

  function plan() {
    window.clearTimeout(live.timer);
    if (live.stopped || document.hidden || seconds() === 0) return;
    live.timer = window.setTimeout(poll, Math.min(LONGEST_SECONDS, seconds() * 2 ** live.failures) * spread() * 1000);
  }

  async function poll() {
    const headers = live.tag === null ? { "X-Live": "1" } : { "X-Live": "1", "If-None-Match": live.tag };
    try {
      const patience = AbortSignal.timeout(10_000);
      await take(await fetch(window.location.href, { headers, cache: "no-store", redirect: "error", signal: patience }));
    } catch {
      trouble("Connection lost");
    }
    plan();
  }

  async function take(answer) {
    if (answer.status === 401 || answer.status === 404) {
      live.stopped = true;
      trouble(answer.status === 401 ? "Logged out. Reload the page to log in" : "This page is gone");
      return;
    }
    if (answer.status === 200) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
    else if (answer.status !== 304) {
      trouble(`The server answers with ${answer.status}`);
      return;
    }
    live.tag = answer.headers.get("ETag");
    live.failures = 0;
    byId("banner").hidden = true;
    document.body.classList.remove("stale");
    byId("as-of").textContent = answer.headers.get("X-As-Of") ?? byId("as-of").textContent;
  }

  function trouble(what) {
    live.failures += 1;
    byId("banner").textContent = `${what}, last update ${byId("as-of").textContent}.`;
    byId("banner").hidden = false;
    document.body.classList.toggle("stale", live.stopped || live.failures >= STALE_AFTER);
  }

  function update(fresh) {
    document.title = fresh.title;
    for (const old of all("[data-live]")) {
      const next = fresh.getElementById(old.id);
      if (next) swap(old, next);
    }
    for (const list of all("[data-list]")) compare(list, fresh.getElementById(list.id));
    const text = fresh.body.dataset.say;
    if (text && text !== document.body.dataset.say && Date.now() - live.saidMs > QUIET_MS) {
      live.saidMs = Date.now();
      document.body.dataset.say = text;
      say(text);
    }
  }

  // What a person has marked, or is typing into, stays until they leave it; focus on a button or a link moves over.
  function swap(old, next) {
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    if (same(old, next) || isMarked(old) || (held && (!held.id || held.matches("input, select, textarea")))) return;
    for (const opened of all("details[open][id]", old)) {
      next.querySelector(`#${CSS.escape(opened.id)}`)?.setAttribute("open", "");
    }
    old.replaceWith(document.adoptNode(next));
    if (held) byId(held.id)?.focus({ preventScroll: true });
  }

  function same(old, next) {
    const closed = old.cloneNode(true);
    for (const details of all("details[open]", closed)) details.removeAttribute("open");
    return closed.isEqualNode(next);
  }

  function isMarked(element) {
    const marked = window.getSelection();
    return marked !== null && !marked.isCollapsed && marked.containsNode(element, true);
  }

  // A list never moves under its reader: what came or went waits behind a button.
  function compare(list, fresh) {
    const ids = (one) => [...one.children].map((child) => child.id);
    if (!fresh || ids(list).join() === ids(fresh).join()) return;
    const known = new Set(ids(list)), came = ids(fresh).filter((id) => !known.has(id)).length;
    const button = byId(`${list.id}-news`);
    if (!button) return;
    button.textContent = came ? `${came} new, show` : "Changed, show";
    button.hidden = false;
    button.onclick = () => {
      list.replaceChildren(...[...fresh.cloneNode(true).children].map((child) => document.adoptNode(child)));
      button.hidden = true;
    };
  }

  // Panes of stored text. Copying takes the exact text from the server: what is shown may be cut or made visible.
  const pane = () => document.activeElement?.closest("[data-pane]") ?? document.querySelector("[data-pane]");

  async function copy(from) {
    const answer = await fetch(from.querySelector("[data-download]").href, { cache: "no-store" });
    if (!answer.ok) return say(`Not copied: ${answer.status}`);
    try {
      await window.navigator.clipboard.writeText(await answer.text());
      say(`${from.dataset.pane} copied`);
    } catch {
      window.getSelection().selectAllChildren(from.querySelector("pre"));
      say("The browser does not let pages copy here: the text is selected instead");
    }
  }

  function press(button, on) {
    button.setAttribute("aria-pressed", String(on));
    return on;
  }

  const SHOWN = { " ": "\u00b7", "\t": "\u2192\t", "\n": "\u00b6\n" };

  function showInvisibles(from, on) {
    const walker = document.createTreeWalker(from.querySelector("pre"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      text.plain ??= text.data;
      text.data = on ? text.plain.replace(/[ \t\n]/g, (sign) => SHOWN[sign]) : text.plain;
    }
  }

  function clicked(event) {
    const button = event.target.closest("button");
    const from = button?.closest("[data-pane]");
    if (button?.id === "theme") nextTheme();
    else if (button?.id === "help") byId("keys").showModal();
    else if (button?.dataset.do === "copy") copy(from);
    else if (button?.dataset.do === "wrap") from.classList.toggle("unwrapped", !press(button, button.ariaPressed !== "true"));
    else if (button?.dataset.do === "invisibles") showInvisibles(from, press(button, button.ariaPressed !== "true"));
  }

  let before = "";
  const go = (element) => element && (element.matches("a, button") ? element.click() : element.focus());
  const KEYS = {
    "/": () => go(document.querySelector("[data-filter]")),
    "?": () => byId("keys").showModal(),
    j: () => step(1),
    k: () => step(-1),
    y: () => pane() && copy(pane()),
    d: () => go((pane() ?? document).querySelector("[data-download]")),
    r: () => toggleRefresh(),
    t: nextTheme,
    Escape: () => document.activeElement?.blur(),
  };
  for (const number of [1, 2, 3]) KEYS[number] = () => all("[data-pane] pre")[number - 1]?.focus();

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (event.target.matches("input, select, textarea") && event.key !== "Escape") return;
    const action = before === "g" ? () => go(document.querySelector(`[data-go="${CSS.escape(event.key)}"]`)) : KEYS[event.key];
    before = event.key === "g" && before !== "g" ? "g" : "";
    if (!action || before === "g") return;
    event.preventDefault();
    action();
  }

  function step(by) {
    const link = document.querySelector(by > 0 ? "[data-next]" : "[data-previous]");
    if (link) return link.click();
    const lines = all("[data-line]");
    const here = lines.indexOf(document.activeElement?.closest("tr")?.querySelector("[data-line]"));
    lines[Math.max(0, Math.min(lines.length - 1, here + by))]?.focus();
  }

  function toggleRefresh() {
    const choice = byId("interval");
    if (!choice) return;
    choice.value = choice.value === "0" ? remembered("pace", "5") : "0";
    choice.dispatchEvent(new Event("change"));
    say(choice.value === "0" ? "Refreshing is paused" : `Refreshing every ${choice.value} seconds`);
  }

  function keepCurrent() {
    const choice = byId("interval");
    choice.value = remembered("interval", "5");
    if (choice.selectedIndex < 0) choice.value = "5";
    choice.addEventListener("change", () => {
      if (choice.value !== "0") remember("pace", choice.value);
      remember("interval", choice.value);
      live.failures = 0;
      plan();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) window.clearTimeout(live.timer);
      else if (!live.stopped && seconds() > 0) poll();
    });
    plan();
  }

  setTheme(remembered("theme", "system"));
  document.addEventListener("DOMContentLoaded", () => {
    setTheme(remembered("theme", "system"));
    for (const element of all("[data-script]")) element.hidden = false;
    document.addEventListener("click", clicked);
    document.addEventListener("keydown", pressed);
    if (byId("interval")) keepCurrent();
    logIn();
  });
})();
