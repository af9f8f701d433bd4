// Live updates, steppers, and buttons that show their result without loading a page. Every page also
// works without this script.
"use strict";

// --- Live updates: the server sends the parts of the page that have changed ----------------------

// Replaces only the nodes that differ, so that an element in use is not replaced unnecessarily.
const exchange = (old, part) => {
  if (old.isEqualNode(part)) return;
  const [before, after] = [[...old.childNodes], [...part.childNodes]];
  const isSameFrame = old.cloneNode().isEqualNode(part.cloneNode()) && before.length === after.length
    && before.every((node, index) => node.nodeName === after[index].nodeName && node.id === after[index].id);
  if (isSameFrame) before.forEach((node, index) => exchange(node, after[index]));
  else old.replaceWith(part);
};

const replace = (markup) => {
  const template = document.createElement("template");
  template.innerHTML = markup;
  const focused = document.activeElement?.id;
  for (const part of [...template.content.children]) {
    const old = document.getElementById(part.id);
    if (!old) continue;
    const open = [...old.querySelectorAll("details")].map((details) => details.open);
    part.querySelectorAll("details").forEach((details, index) => { details.open = open[index]; });
    // What a person has typed, or the server has filled in, stays.
    part.querySelectorAll("input[id]").forEach((field) => {
      const typed = document.getElementById(field.id);
      if (typed?.hasAttribute("value")) field.setAttribute("value", typed.getAttribute("value"));
      if (typed) field.value = typed.value;
    });
    exchange(old, part);
  }
  // An update must not scroll the page under the user's finger.
  if (focused && document.activeElement?.id !== focused) {
    document.getElementById(focused)?.focus({ preventScroll: true });
  }
  document.querySelectorAll(".stepper").forEach(foretell);
  dispatchEvent(new Event("replaced"));
};

// Shows in the title of the tab how many kiosks are offline, need attention or lack fruit.
const title = document.title;
const count = () => {
  const number = Number(document.querySelector("[data-problems]")?.dataset.problems ?? 0);
  document.title = number > 0 ? `(${number}) ${title}` : title;
};
addEventListener("replaced", count);
count();

// Names the time zone of the page only if its time differs from the time of the browser.
document.querySelectorAll("[data-zone]").forEach((note) => {
  const now = new Date();
  const clock = (timeZone) => now.toLocaleString("en", { timeZone });
  try { note.hidden = clock(note.dataset.zone) === clock(undefined); } catch { note.hidden = false; }
});

// Closes the foldable sections on a phone, so that the live orders need less scrolling.
if (matchMedia("(max-width: 820px)").matches) {
  document.querySelectorAll("details.fold").forEach((details) => { details.open = false; });
}

// The browser may set the focus, and scroll to it, before it has read the rest of the page: then it
// cannot scroll as far as the button below the field.
if (!location.hash) document.querySelector("[autofocus]")?.scrollIntoView({ block: "nearest" });

// To reload the answer to a form, or to go back to it, loads the page of the form and sends nothing again. Without
// an answer the browser asks, and sends the same id again.
if (document.body.dataset.reload && !document.querySelector("[data-unanswered]")) {
  history.replaceState(null, "", document.body.dataset.reload);
}

// "/" begins a search, as on many sites.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest?.("input, select, textarea")) return;
  const field = document.querySelector("form[role=search] [type=search], form [type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// Enter in the field of a reason would press the first button of the page that sends the same form.
addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches?.("input[form]")) event.preventDefault();
});

const listen = (address) => {
  const sign = document.querySelector(".disconnected");
  const ended = document.getElementById("ended");
  let source = null;
  let retry = 0;
  const close = () => { source?.close(); source = null; clearTimeout(retry); };
  // A page whose session has ended asks for the login; otherwise the connection is tried again.
  const closed = () => {
    retry = setTimeout(open, 5000);
    const account = document.querySelector(".who")?.href;
    if (!account) return;
    fetch(account, { method: "HEAD", redirect: "manual" }).then((answer) => {
      if (answer.type !== "opaqueredirect") return;
      close();
      [sign.hidden, ended.hidden] = [true, false];
    }, () => {});
  };
  const open = () => {
    close();
    if (document.hidden) return;
    source = new EventSource(address);
    source.onopen = () => {
      sign.hidden = true;
      // The user has logged in again on another page: the forms of this one are of the old session. What was
      // typed into them stays, with the link to the login.
      const isTyped = [...document.querySelectorAll("main input:not([type=hidden]), main textarea")]
        .some((field) => field.value !== field.defaultValue);
      if (!ended.hidden && !isTyped) location.reload();
    };
    source.onmessage = (event) => replace(event.data);
    source.onerror = () => {
      sign.hidden = false;
      // The browser does not reconnect after an error response.
      if (source.readyState === EventSource.CLOSED) closed();
    };
  };
  // A hidden page needs no updates, and a browser opens only six connections for all pages.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  // The server sends all parts on a new connection. Parts inserted from an answer may be outdated.
  addEventListener("answered", open);
  open();
};

// --- Steppers ------------------------------------------------------------------------------------

const foretell = (stepper) => {
  const input = stepper.querySelector("input");
  const change = Number.parseInt(input.value, 10) || 0;
  const shown = stepper.parentElement.querySelector("[data-stock]");
  const after = Number(shown?.dataset.stock) + change;
  const capacity = Number(stepper.dataset.capacity ?? Infinity);
  const output = stepper.querySelector("output");
  const text = change === 0 ? "" : `→ ${after}`;
  if (output.value !== text) output.value = text;
  output.classList.toggle("bad", change !== 0 && (after < 0 || (change > 0 && after > capacity)));
};

const step = (button) => {
  const stepper = button.closest(".stepper");
  const input = stepper.querySelector("input");
  const stock = Number(stepper.parentElement.querySelector("[data-stock]")?.dataset.stock ?? 0);
  const most = Number(stepper.dataset.capacity ?? Infinity) - stock;
  const next = (Number.parseInt(input.value, 10) || 0) + Number(button.dataset.step);
  input.value = String(Math.max(-stock, Math.min(Math.max(0, most), next)));
  foretell(stepper);
};

const enliven = (stepper) => {
  for (const button of stepper.querySelectorAll("[data-step]")) {
    button.hidden = false;
    let timer = 0;
    const release = () => clearTimeout(timer);
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      step(button);
      let pause = 400;
      const again = () => {
        step(button);
        pause = Math.max(30, pause * 0.8);
        timer = setTimeout(again, pause);
      };
      timer = setTimeout(again, pause);
    });
    for (const name of ["pointerup", "pointerleave", "pointercancel"]) {
      button.addEventListener(name, release);
    }
    // Clicks of the keyboard and of screen readers have no pointer events.
    button.addEventListener("click", (event) => { if (event.detail === 0) step(button); });
    button.addEventListener("contextmenu", (event) => event.preventDefault());
  }
  stepper.querySelector("input").addEventListener("input", () => foretell(stepper));
  foretell(stepper);
};

// --- The virtual panel: shows the answer without loading a page -----------------------------------

let updatedAt = performance.now();
addEventListener("replaced", () => { updatedAt = performance.now(); });

// The last button that was pressed without an answer. The next press of another one is another order.
let unanswered = null;

const press = async (form, button) => {
  const message = document.querySelector(".message");
  message.setAttribute("aria-busy", "true");
  if (unanswered && unanswered !== button.value) {
    const numbers = [...crypto.getRandomValues(new Uint32Array(4))];
    form.elements.id.value = `panel-${numbers.map((number) => number.toString(36)).join("")}`;
  }
  const fields = new URLSearchParams(new FormData(form));
  fields.set(button.name, button.value);
  // The time of the press by the server's clock, which refuses the press if a stalled network delivers it late.
  const update = Number(document.querySelector("#alive [data-now]").dataset.now);
  fields.set("at", String(Math.round(update + performance.now() - updatedAt)));
  const limit = new AbortController();
  setTimeout(() => limit.abort(), 10000);
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, signal: limit.signal });
    if (response.redirected) { location.assign(response.url); return; }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const answer = page.querySelector(".message") ?? page.querySelector("main");
    message.replaceChildren(...answer.childNodes);
    if (message.querySelector("[id]")) dispatchEvent(new Event("answered"));
    // The next press is a new order with a new id.
    const id = page.querySelector("[data-inline] [name=id]");
    if (id) form.elements.id.value = id.value;
    unanswered = null;
  } catch {
    // The page stays, and sends nothing by itself. Another press of the button has the same id: both order one juice.
    unanswered = button.value;
    const notice = document.createElement("p");
    [notice.className, notice.textContent] = ["notice warn", message.dataset.none];
    message.replaceChildren(notice);
  } finally {
    message.removeAttribute("aria-busy");
  }
};

document.querySelectorAll("form[data-inline]").forEach((form) => {
  let isBusy = false;
  let pressed = null;
  form.addEventListener("click", ({ target }) => { pressed = target.closest("button") ?? pressed; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    // `submitter` is missing before iOS 15.4.
    const button = event.submitter ?? pressed;
    if (isBusy || !button) return;
    isBusy = true;
    await press(form, button);
    isBusy = false;
  });
});
// --- Typed numbers stay when another form of the page is sent --------------------------------------

const restock = document.querySelector("form[data-restock]");
if (restock) {
  const name = `typed:${restock.action}`;
  const user = document.querySelector("form[action$='/logout']")?.dataset.user;
  const typed = JSON.parse(sessionStorage.getItem(name) ?? "{}");
  // For five minutes: later, and for another user, they belong to no restock of this page.
  const isCurrent = typed.user === user && Math.abs(Date.now() - typed.at) < 300_000;
  for (const [field, value] of isCurrent ? typed.fields : []) {
    const input = restock.elements[field];
    if (!input) continue;
    input.value = value;
    input.closest("details")?.setAttribute("open", "");
    // They are reviewed before they are sent.
    restock.querySelector("[value=now]")?.remove();
  }
  sessionStorage.removeItem(name);
  document.addEventListener("submit", ({ target }) => {
    if (target === restock || target.method !== "post" || !target.closest("main")) return;
    const fields = [...restock.querySelectorAll("[type=number]")]
      .filter((input) => input.value !== input.defaultValue).map((input) => [input.name, input.value]);
    sessionStorage.setItem(name, JSON.stringify({ user, at: Date.now(), fields }));
  });
}
document.querySelectorAll(".stepper").forEach(enliven);
// Deletes the cached pages at logout, and the user's drafts if the user agrees.
document.querySelector("form[action$='/logout']")?.addEventListener("submit", ({ target }) => {
  globalThis.caches?.delete("routes");
  const drafts = Object.keys(localStorage).filter((key) =>
    key.startsWith(`stop:${target.dataset.user} `) && localStorage.getItem(key).includes('"state":"draft"'));
  if (drafts.length && confirm(target.dataset.drafts)) drafts.forEach((key) => localStorage.removeItem(key));
});
// Deletes them before the login of another user, who would get them in a slow network.
document.querySelector("form[action$='/login']")?.addEventListener("submit", ({ target }) => {
  if (target.elements.name.value !== localStorage.getItem("routes-user")) globalThis.caches?.delete("routes");
});
if (document.body.dataset.live) listen(document.body.dataset.live);
