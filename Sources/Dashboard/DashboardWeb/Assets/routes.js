// Stores stop reports in this browser, and sends each one with the same id until the kiosk answers,
// also after a time without a network. Every page also works without this script.

// The path below which a proxy serves the pages, with a / at its end: two folders above this script.
const BASE = new URL("../../", import.meta.url).pathname;

// --- Storage: an entry for each stop, by the path of its page -----------------------------------

// Entries are kept for the user who made them.
const PREFIX = "stop:";
// Only entries in these states are sent. A draft is not confirmed yet; the other states need a person.
const UNSENT = ["waiting", "unknown", "login", "other"];

const user = (page = document) => page.getElementById("saved")?.dataset.user;

// The path of the stop's page, which also answers a correction and a removal.
const HERE = location.pathname.replace(/\/(correct|remove)$/, "");

const key = (path) => `${PREFIX}${user()} ${path}`;

const read = (name) => { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } };

const entry = (path) => read(key(path));

// All entries of this user, and the unsent entries of other users, which are sent at their next login.
const entries = () => Object.keys(localStorage)
  .filter((name) => name.startsWith(PREFIX))
  .map((name) => ({ path: name.slice(name.indexOf(" ") + 1), ...read(name) }))
  .map((stop) => (stop.user !== user() && UNSENT.includes(stop.state) ? { ...stop, state: "other" } : stop))
  .filter((stop) => stop.user === user() || stop.state === "other");

const save = (path, changes) => {
  const stored = entry(path);
  // A delivery can end after its entry was deleted, for example on another page.
  if (!stored && !changes.fields) return;
  localStorage.setItem(key(path), JSON.stringify({ ...stored, ...changes }));
  show();
};

const discard = (path) => { localStorage.removeItem(key(path)); show(); };

// The values of the fields, without the CSRF token, which is requested again before sending.
const valuesOf = (form) => [...new FormData(form)].filter(([name]) => name !== "csrf_token");

// The numbers as a query, which fills in the form of a page. `kinds` maps the kinds of fields to keep
// to their new names.
const query = (fields, kinds) => "?" + new URLSearchParams(fields.flatMap(([name, value]) => {
  const [kind, fruit] = name.split(".");
  return kinds[kind] && fruit && value !== "" ? [[`${kinds[kind]}.${fruit}`, value]] : [];
}));

const OWN = { brought: "brought", counted: "counted", ledger: "ledger", best: "best" };

// The numbers in words, such as `Kiwi +5, Mango +0 (3 counted)`.
const list = (fields, names, counted) => {
  const values = new Map(fields);
  return Object.entries(names ?? {}).flatMap(([fruit, name]) => {
    const [brought, count] = [Number(values.get(`brought.${fruit}`)), values.get(`counted.${fruit}`)];
    if (!brought && !count) return [];
    return [`${name} ${brought < 0 ? "−" : "+"}${Math.abs(brought)}${count ? ` (${count} ${counted})` : ""}`];
  }).join(", ");
};

// Whether the report of this page was sent at most two seconds ago: with a good network it is answered now.
let isSending = false;

// Shows a banner while the report of this page is stored and not answered: the driver need not wait.
const driveOn = () => {
  const banner = document.getElementById("drive-on");
  if (!banner) return;
  const isSaved = !isSending && ["waiting", "unknown"].includes(entry(HERE)?.state);
  if (isSaved && banner.hidden) {
    banner.hidden = false;
    banner.scrollIntoView({ block: "start" });
    banner.focus();
    navigator.vibrate?.(200);
  }
  banner.hidden = !isSaved;
};

const show = () => {
  driveOn();
  const section = document.getElementById("saved");
  if (!section) return;
  const rows = entries().map(({ path, title, state, fields, names, user: owner }) => {
    const row = document.createElement("li");
    const link = document.createElement("a");
    link.href = path;
    link.textContent = title;
    const chip = document.createElement("span");
    const isWaiting = state === "draft" || UNSENT.includes(state);
    chip.className = isWaiting ? "chip warn" : "chip bad";
    chip.textContent = section.dataset[state] + (state === "other" ? ` ${owner}` : "");
    row.dataset.state = state;
    row.append(link, " ", chip);
    // The page of the stop shows the difference, and links that correct it.
    if (state === "others") link.href = path + query(fields, OWN);
    // The route was deleted, or is another driver's: an operator can still send the numbers as a restock. They are
    // not sent again by themselves, because somebody may have restocked the kiosk with them.
    if (state === "gone" && section.dataset.restocks) link.href = BASE + path.slice(BASE.length).replace(/^routes\/[^/]*\//, "") + query(fields, { brought: "add" });
    if (state === "gone" || state === "others") {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = section.dataset.discard;
      button.addEventListener("click", () => { if (confirm(section.dataset.sure)) discard(path); });
      row.append(" ", list(fields, names, section.dataset.counted), " ", button);
    }
    return row;
  });
  section.querySelector("ul").replaceChildren(...rows);
  section.hidden = rows.length === 0;
};

// --- Sending ------------------------------------------------------------------------------------

// A signal that aborts a request. (`AbortSignal.timeout` is missing in iOS 15.)
const timeout = (milliseconds) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
};

// The timeout exceeds the time that the server waits for the answer of a kiosk.
const ask = (path, options = {}) =>
  fetch(path, { cache: "no-store", signal: timeout(20000), ...options });

const parse = async (response) =>
  new DOMParser().parseFromString(await response.text(), "text/html");

// The next state of a stop that the server did not accept, or null if it accepted the request.
const refusal = (response) => {
  if (response.redirected) return "login";
  if (response.status === 404) return "gone";
  // A temporary failure of the server or of a proxy.
  if (response.status >= 500 || response.status === 429 || response.status === 408) return "waiting";
  return response.ok ? null : "refused";
};

const attempt = async (path) => {
  const stop = entry(path);
  if (!stop || !UNSENT.includes(stop.state)) return;
  try {
    // The current page contains the logged-in user and a valid CSRF token.
    const current = await ask(path);
    if (refusal(current)) return save(path, { state: refusal(current) });
    const fresh = await parse(current);
    if (user(fresh) !== stop.user) return save(path, { state: "other" });
    const csrfToken = fresh.querySelector("[name=csrf_token]")?.value ?? "";
    // The seconds since the visit: what fitted then counts.
    const ago = Math.round((Date.now() - (stop.at ?? Date.now())) / 1000);
    const body = new URLSearchParams([...stop.fields, ["csrf_token", csrfToken], ["ago", String(ago)]]);
    const response = await ask(path, { method: "POST", body });
    if (refusal(response)) return save(path, { state: refusal(response) });
    const page = await parse(response);
    const outcome = page.querySelector("[data-outcome]")?.dataset.outcome;
    // Not a page of the dashboard, but for example one of a proxy.
    if (!outcome) return save(path, { state: "waiting" });
    const isHere = path === HERE;
    if (outcome === "unknown") save(path, { state: "unknown" });
    else if (outcome === "others") save(path, { state: "others" });
    else if (outcome === "applied" || isHere) discard(path);
    else save(path, { state: outcome === "again" ? "again" : "rejected" });
    if (isHere && outcome !== stop.state) exchange(page);
  } catch {
    save(path, { state: stop.state === "unknown" ? "unknown" : "waiting" });
  }
};

// One delivery at a time: a second one of the same stop could end later, with an earlier state.
let last = Promise.resolve();
const deliver = (path) => (last = last.catch(() => {}).then(() => attempt(path)));

const exchange = (page) => {
  document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  bindForm();
  show();
  document.querySelector("main [role=alert], main [role=status]")?.scrollIntoView({ block: "center" });
};

let isBusy = false;
const deliverAll = async () => {
  if (isBusy || !user()) return;
  isBusy = true;
  try {
    for (const { path, state } of entries()) if (UNSENT.includes(state)) await deliver(path);
  } finally {
    isBusy = false;
  }
};

// --- The stop on this page -----------------------------------------------------------------------

// The page may be from the cache, and the kiosk has sold more since: then the numbers on it are marked.
// The clock of the phone may be wrong: each live update measures by how much, because the page may be from the
// cache.
addEventListener("replaced", () => {
  const now = document.querySelector("#as-of [data-now]")?.dataset.now;
  if (now) localStorage.setItem("clock-lead", String(Date.now() - Number(now)));
});
const isOld = () => {
  const at = Number(document.querySelector("#as-of [data-at]")?.dataset.at ?? 0);
  return Date.now() - Number(localStorage.getItem("clock-lead")) - at > 120_000;
};

const showAge = () => document.getElementById("as-of")?.classList.toggle("old", isOld());
addEventListener("replaced", showAge);

// Before the confirmation, shows the amount that fits, unless the stock on the page is old.
const bindLine = (line) => {
  const brought = line.querySelector("[name^='brought.']");
  const counted = line.querySelector("[name^='counted.']");
  const note = line.querySelector(".fits");
  const room = () => {
    const held = counted.value || (isOld() ? "" : line.querySelector("[data-ledger]").dataset.ledger);
    return line.dataset.capacity && held ? Math.max(0, Number(line.dataset.capacity) - Number(held)) : Infinity;
  };
  const check = () => {
    note.hidden = !(Number(brought.value) > room());
    if (!note.hidden) note.querySelector("b").textContent = String(room());
  };
  addEventListener("replaced", check);
  line.addEventListener("input", check);
  note.querySelector("button").addEventListener("click", () => {
    brought.value = String(room());
    brought.dispatchEvent(new Event("input", { bubbles: true }));
  });
  check();
};

const bindForm = () => {
  const form = document.querySelector("form[data-fill]");
  const path = HERE;
  const outcome = document.querySelector("[data-outcome]")?.dataset.outcome;
  let saved = entry(path);
  // The page itself shows this outcome.
  if (saved?.state === "rejected" || (saved?.state === "draft" && outcome === "applied")) {
    discard(path);
    saved = null;
  }
  if (!form) return;
  const title = form.dataset.fill;
  const names = Object.fromEntries([...form.querySelectorAll(".line")].map((line) =>
    [line.querySelector("[name^='brought.']").name.split(".")[1], line.querySelector("legend").textContent]));
  if (saved && outcome !== "unknown") {
    for (const [name, value] of saved.fields) {
      const field = form.elements[name];
      // A stop that may have been sent already keeps its id.
      if (field && (name !== "id" || UNSENT.includes(saved.state))) field.value = value;
    }
    if (form.elements.fit) form.elements.fit.checked = saved.fields.some(([name]) => name === "fit");
  }
  form.querySelectorAll(".line").forEach(bindLine);
  form.addEventListener("input", ({ target }) => {
    // A count is compared with the ledger at the time of counting.
    const [kind, fruit] = target.name.split(".");
    if (kind === "counted") {
      const now = document.getElementById(`ledger-${fruit}`)?.querySelector("[data-ledger]");
      const ledger = form.elements[`ledger.${fruit}`];
      if (now && ledger) ledger.value = now.dataset.ledger;
    }
    if (entry(path)?.state !== "waiting") {
      save(path, { title, names, user: user(), fields: valuesOf(form), state: "draft" });
    }
  });
  form.addEventListener("submit", (event) => {
    isSending = true;
    const sent = () => { isSending = false; show(); };
    setTimeout(sent, 2000);
    try {
      save(path, { title, names, user: user(), fields: valuesOf(form), state: "waiting", at: Date.now() });
    } catch {
      // The storage of the browser is full: submit the form directly.
      return;
    }
    event.preventDefault();
    const button = form.querySelector("button.primary");
    button.disabled = true;
    deliver(path).finally(() => {
      sent();
      button.disabled = false;
      const note = document.querySelector("#drive-on:not([hidden])") ?? document.getElementById("saved");
      if (entry(path)) note.scrollIntoView({ block: note.id === "saved" ? "end" : "start" });
    });
  });
};

// --- Offline pages ---------------------------------------------------------------------------------

const cacheForOffline = async () => {
  if (!navigator.serviceWorker || !globalThis.caches) return;
  await navigator.serviceWorker.register(`${BASE}worker.js`, { scope: `${BASE}routes` });
  // Deletes the pages of another user.
  if (localStorage.getItem("routes-user") !== user()) await caches.delete("routes");
  localStorage.setItem("routes-user", user());
  const stops = [...document.querySelectorAll("a[data-stop]")].map((link) => link.href);
  if (!stops.length) return;
  const files = [...document.querySelectorAll("link[href], script[src]")]
    .map((element) => element.href ?? element.src);
  const cache = await caches.open("routes");
  for (const address of [...files, `${BASE}routes`, location.pathname, ...stops]) {
    const answer = await fetch(address);
    if (!answer.ok || answer.redirected) return;
    await cache.put(address, answer);
  }
  // Keeps the newest 400 files.
  const old = (await cache.keys()).slice(0, -400);
  for (const request of old) await cache.delete(request);
  document.getElementById("offline-ready").textContent = document.getElementById("saved").dataset.offlineReady;
};

// Deletes the stored entry when the user decides about unsent numbers by a link or a button. The card of the
// stored entries has an attribute of the same name, with the text of a button.
document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-discard]:not(#saved)")) discard(HERE);
});
// Shows the comparison of the own numbers with the report that was sent, which the page makes from its address, also
// if a link without numbers has opened it.
const compare = () => {
  const stop = entry(HERE);
  if (stop?.state !== "others" || location.pathname !== HERE || location.search) return;
  if (!document.querySelector("form[data-fill]")) location.replace(HERE + query(stop.fields, OWN));
};

bindForm();
show();
compare();
showAge();
deliverAll();
cacheForOffline().catch(() => {});
addEventListener("online", deliverAll);
document.addEventListener("visibilitychange", () => { if (!document.hidden) deliverAll(); });
addEventListener("storage", show);
// Browsers do not report every return of the network.
setInterval(() => { deliverAll(); showAge(); }, 15000);
const print = document.querySelector("[data-print]");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => window.print());
}
