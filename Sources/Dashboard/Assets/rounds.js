// Sheets of a round that are filled in where there is no network: they stay in this browser, and are
// sent with the same id when there is one again. Every page works without it.

// --- What is kept: an entry for each sheet, by the path of its page ------------------------------

const PREFIX = "sheet:";
// Only these are sent. A draft is not confirmed yet; the others need somebody.
const UNSENT = ["waiting", "unknown", "login", "other"];

const entry = (path) => {
  try { return JSON.parse(localStorage.getItem(PREFIX + path)); } catch { return null; }
};

const entries = () => Object.keys(localStorage)
  .filter((key) => key.startsWith(PREFIX))
  .map((key) => ({ path: key.slice(PREFIX.length), ...entry(key.slice(PREFIX.length)) }));

const keep = (path, changes) => {
  localStorage.setItem(PREFIX + path, JSON.stringify({ ...entry(path), ...changes }));
  show();
};

const discard = (path) => { localStorage.removeItem(PREFIX + path); show(); };

const user = (page = document) => page.getElementById("kept")?.dataset.user;

// What the fields say; the code that shows where a form comes from is asked for anew when it is sent.
const read = (form) => [...new FormData(form)].filter(([name]) => name !== "proof");

const show = () => {
  const section = document.getElementById("kept");
  if (!section) return;
  const rows = entries().map(({ path, title, state, fields, user: owner }) => {
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
    if (state === "gone" || state === "others") {
      const numbers = fields.filter(([name, value]) => name !== "id" && value !== "");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = section.dataset.discard;
      button.addEventListener("click", () => discard(path));
      row.append(" ", numbers.map((pair) => pair.join(" ")).join(", "), " ", button);
    }
    return row;
  });
  section.querySelector("ul").replaceChildren(...rows);
  section.hidden = rows.length === 0;
};

// --- Sending ------------------------------------------------------------------------------------

// Longer than a kiosk may take to answer.
const ask = (path, options = {}) =>
  fetch(path, { cache: "no-store", signal: AbortSignal.timeout(20000), ...options });

const parse = async (response) =>
  new DOMParser().parseFromString(await response.text(), "text/html");

// What is to become of a sheet that was not taken.
const refusal = (response) => {
  if (response.redirected) return "login";
  if (response.status === 404) return "gone";
  // The server, or what is before it, cannot take it now.
  if (response.status >= 500 || response.status === 429 || response.status === 408) return "waiting";
  return response.ok ? null : "refused";
};

const deliver = async (path) => {
  const sheet = entry(path);
  if (!sheet || !UNSENT.includes(sheet.state)) return;
  try {
    // A page of now says who is logged in, and has the code that forms bring back.
    const look = await ask(path);
    if (refusal(look)) return keep(path, { state: refusal(look) });
    const fresh = await parse(look);
    if (user(fresh) !== sheet.user) return keep(path, { state: "other" });
    const proof = fresh.querySelector("[name=proof]")?.value ?? "";
    const body = new URLSearchParams([...sheet.fields, ["proof", proof]]);
    const response = await ask(path, { method: "POST", body });
    if (refusal(response)) return keep(path, { state: refusal(response) });
    const page = await parse(response);
    const outcome = page.querySelector("[data-outcome]")?.dataset.outcome;
    // A proxy's own page, say.
    if (!outcome) return keep(path, { state: "waiting" });
    const isHere = path === location.pathname;
    if (outcome === "unknown") keep(path, { state: "unknown" });
    else if (outcome === "others") keep(path, { state: "others" });
    else if (outcome === "applied" || isHere) discard(path);
    else keep(path, { state: outcome === "again" ? "again" : "look" });
    if (isHere && outcome !== sheet.state) exchange(page);
  } catch {
    keep(path, { state: sheet.state === "unknown" ? "unknown" : "waiting" });
  }
};

const exchange = (page) => {
  document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  enlivenSheet();
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

// --- The sheet on this page -----------------------------------------------------------------------

const enlivenSheet = () => {
  const form = document.querySelector("form[data-fill]");
  const path = location.pathname;
  const outcome = document.querySelector("[data-outcome]")?.dataset.outcome;
  let kept = entry(path);
  // The page shows what has become of it.
  if (kept?.state === "look" || (kept?.state === "draft" && outcome === "applied")) {
    discard(path);
    kept = null;
  }
  if (!form) return;
  const title = form.dataset.fill;
  if (kept && outcome !== "unknown") {
    for (const [name, value] of kept.fields) {
      const field = form.elements[name];
      // What may have been sent already keeps its id.
      if (field && (name !== "id" || UNSENT.includes(kept.state))) field.value = value;
    }
  }
  form.addEventListener("input", ({ target }) => {
    // What is counted now is compared with what the ledger says now.
    const [kind, fruit] = target.name.split(".");
    if (kind === "counted") {
      const now = document.getElementById(`ledger-${fruit}`)?.querySelector("[data-ledger]");
      const ledger = form.elements[`ledger.${fruit}`];
      if (now && ledger) ledger.value = now.dataset.ledger;
    }
    if (entry(path)?.state !== "waiting") keep(path, { title, user: user(), fields: read(form), state: "draft" });
  });
  form.addEventListener("submit", (event) => {
    try {
      keep(path, { title, user: user(), fields: read(form), state: "waiting" });
    } catch {
      // There is no room in this browser: it is sent as any form.
      return;
    }
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    deliver(path).finally(() => {
      button.disabled = false;
      if (entry(path)) document.getElementById("kept").scrollIntoView({ block: "end" });
    });
  });
};

// --- Pages that open without a network ------------------------------------------------------------

const takeAlong = async () => {
  if (!navigator.serviceWorker || !globalThis.caches) return;
  await navigator.serviceWorker.register("/worker.js", { scope: "/rounds" });
  const sheets = [...document.querySelectorAll("a[data-sheet]")].map((link) => link.href);
  if (!sheets.length) return;
  // Somebody else's pages are not for whoever is here now.
  if (localStorage.getItem("rounds-user") !== user()) await caches.delete("rounds");
  localStorage.setItem("rounds-user", user());
  const files = [...document.querySelectorAll("link[href], script[src]")]
    .map((element) => element.href ?? element.src);
  const cache = await caches.open("rounds");
  for (const address of [...files, "/rounds", location.pathname, ...sheets]) {
    const answer = await fetch(address);
    if (!answer.ok || answer.redirected) return;
    await cache.put(address, answer);
  }
  // Those of rounds long ago go.
  const old = (await cache.keys()).slice(0, -400);
  for (const request of old) await cache.delete(request);
  document.getElementById("along").textContent = document.getElementById("kept").dataset.along;
};

enlivenSheet();
show();
deliverAll();
takeAlong().catch(() => {});
addEventListener("online", deliverAll);
document.addEventListener("visibilitychange", () => { if (!document.hidden) deliverAll(); });
addEventListener("storage", show);
// A browser does not know of each dead spot.
setInterval(deliverAll, 15000);
const print = document.querySelector("[data-print]");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => window.print());
}
