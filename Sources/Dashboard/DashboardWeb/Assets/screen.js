// The script of the pages for customers: the wall and the tablet. It is ES2017, and uses only what Safari 12
// and Chrome 61 have: no optional chaining, no replaceChildren, no ResizeObserver.
"use strict";

const body = document.body;
const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));

// --- The wall: the largest text with which everything fits ----------------------------------------

const isWithin = (element) =>
  element.scrollWidth <= element.clientWidth + 1 && element.scrollHeight <= element.clientHeight + 1;

// Sets the largest size, in pixels, from `least` to `most`, with which the text fits.
const enlarge = (element, least, most, fits) => {
  let [low, high] = [least, Math.max(least, Math.floor(most))];
  while (low < high) {
    const size = Math.ceil((low + high) / 2);
    element.style.fontSize = `${size}px`;
    if (fits()) low = size;
    else high = size - 1;
  }
  element.style.fontSize = `${low}px`;
};

// The number of columns with which the cards are largest, by the rule of WallPage.swift, for the real area.
const columns = (count, width, height) => {
  const rows = (number) => Math.ceil(count / number);
  const size = (number) => Math.min(width / number, height / rows(number) / 1.15);
  let best = 1;
  for (let number = 2; number <= Math.min(count, 9); number += 1) if (size(number) > size(best)) best = number;
  return Math.ceil(count / rows(best));
};

const fit = () => (body.classList.contains("wall") ? fitWall() : fitTablet());

const fitWall = () => {
  const height = window.innerHeight;
  const floor = document.querySelector(".floor");
  const boxes = document.getElementById("boxes");
  const isUpright = height > window.innerWidth;
  if (boxes && boxes.children.length) {
    // Tickets that are only being made are a line below the menu, which then has the whole width.
    floor.classList.toggle("low", !boxes.querySelector(".pay, .ready, .sorry"));
    enlarge(boxes, 8, height * (isUpright ? 0.026 : 0.044), () =>
      isWithin(boxes) && all(".box, .box li, .box p, .box span", boxes).every((part) =>
        part.scrollWidth <= part.clientWidth + 1 || part.clientWidth === 0)
        && Array.from(boxes.children).every((box) =>
          box.getBoundingClientRect().bottom <= boxes.getBoundingClientRect().bottom + 1));
  }
  const cannot = document.querySelector(".cannot");
  const isAlone = !document.querySelector(".can");
  if (cannot) {
    enlarge(cannot, 8, Math.min(height, window.innerWidth) * 0.034, () =>
      cannot.offsetHeight <= floor.clientHeight * (isAlone ? 0.8 : 0.2) && isWithin(cannot));
  }
  const list = document.querySelector(".can ul");
  if (!list) return;
  const cards = all(".card", list);
  const words = all(".words", list);
  const least = Math.max(10, Math.min(height, window.innerWidth) / 72);
  const number = columns(cards.length, list.clientWidth, list.clientHeight);
  list.className = `w${number} u${number}`;
  // The place of each card's row.
  const rows = cards.map((card) => card.parentNode.offsetTop);
  words.forEach((each) => { each.style.minHeight = ""; });
  // The words may have this share of a card, so that the picture has the rest. All words of a row have the same size:
  // up to half of the rows, those with long names, may have smaller words than the others.
  const isInside = (card, index, share) => {
    const room = card.clientHeight - 2 * parseFloat(getComputedStyle(card).paddingTop);
    return words[index].offsetHeight <= room * share && words[index].scrollWidth <= words[index].clientWidth;
  };
  const fits = (share, isOneSize) => () => {
    const size = parseFloat(list.style.fontSize);
    list.style.setProperty("--facts", `${Math.max(least, size * 0.5)}px`);
    list.style.setProperty("--long", `${Math.max(least, size * 0.8)}px`);
    words.forEach((each) => each.classList.remove("long"));
    const long = new Set(rows.filter((row, index) => !isInside(cards[index], index, share)));
    if (isOneSize ? long.size : long.size * 2 > new Set(rows).size) return false;
    words.forEach((each, index) => each.classList.toggle("long", long.has(rows[index])));
    return cards.every((card, index) => isInside(card, index, long.has(rows[index]) ? Math.max(share, 0.6) : share));
  };
  list.style.overflowWrap = "normal";
  const choose = (smallest, most, share) => {
    enlarge(list, smallest, most, fits(share));
    const size = parseFloat(list.style.fontSize);
    // One size for all rows, if it is not much smaller.
    enlarge(list, smallest, size, fits(share, true));
    if (parseFloat(list.style.fontSize) < size * 0.9) enlarge(list, smallest, size, fits(share));
    return fits(share)();
  };
  const [smallest, most] = [Math.ceil(least), height / (isUpright ? 20 : 14)];
  // A word that is wider than its card at the smallest size is broken.
  const isChosen = choose(smallest, most, 0.45) || choose(smallest, most, 0.6) || choose(8, least, 0.7);
  if (!isChosen) list.style.overflowWrap = "";
  if (cannot) cannot.style.fontSize = `${Math.min(parseFloat(cannot.style.fontSize), parseFloat(list.style.fontSize) - 1)}px`;
  // The pictures of a row have the same size, and most rows the usual one; those above long names are smaller.
  const heights = words.map((each) => each.offsetHeight);
  const usual = heights.slice().sort((one, two) => one - two)[Math.floor(heights.length / 2)];
  words.forEach((each, index) => {
    each.style.minHeight = `${Math.max(usual, ...heights.filter((size, other) => rows[other] === rows[index]))}px`;
  });
};

// --- The tablet: few juices use the whole screen ---------------------------------------------------

const fitTablet = () => {
  const list = document.querySelector(".juices");
  if (!list) return;
  const [root, style] = [document.documentElement, body.style];
  body.classList.remove("tall", "huge");
  ["--row", "--columns"].forEach((name) => style.removeProperty(name));
  const cards = all(".juice:not(.gone)", list);
  if (!cards.length) return;
  const lines = Math.ceil(cards.length / Number(getComputedStyle(list).getPropertyValue("--most")));
  style.setProperty("--columns", Math.ceil(cards.length / lines));
  const end = Math.max(...all(".juice", list).map((card) => card.getBoundingClientRect().bottom));
  const free = list.getBoundingClientRect().bottom - end - 14;
  const row = Math.min(...cards.map((card) => card.offsetHeight)) + Math.floor(free / lines);
  // Some rows may be higher than others: then less is free.
  const fits = () => root.scrollHeight <= window.innerHeight;
  const set = (size) => {
    style.setProperty("--row", `${size}px`);
    body.classList.toggle("tall", size >= 240);
    body.classList.toggle("huge", size >= 400);
    return fits();
  };
  if (free > 0 && !set(row) && !set(row - Math.ceil((root.scrollHeight - window.innerHeight) / lines))) {
    style.removeProperty("--row");
    body.classList.remove("tall", "huge");
  }
};

// --- Live updates: the server sends the parts of the page that have changed ----------------------

// Replaces only the nodes that differ, so that a button in use is not replaced unnecessarily.
const exchange = (old, part) => {
  if (old.isEqualNode(part)) return;
  const [before, after] = [Array.from(old.childNodes), Array.from(part.childNodes)];
  const isSameFrame = old.cloneNode(false).isEqualNode(part.cloneNode(false)) && before.length === after.length
    && before.every((node, index) => node.nodeName === after[index].nodeName && node.id === after[index].id);
  if (isSameFrame) before.forEach((node, index) => exchange(node, after[index]));
  else old.parentNode.replaceChild(part, old);
};

// The times here are those of `performance`, which continue when the clock of the device is set.
let updatedAt = performance.now();

const replace = (markup) => {
  const template = document.createElement("template");
  template.innerHTML = markup;
  let isChanged = body.classList.contains("silent");
  for (const part of Array.from(template.content.childNodes)) {
    const old = part.id ? document.getElementById(part.id) : null;
    if (old) exchange(old, part);
    // The time of the server needs no layout.
    if (old && part.id !== "alive") isChanged = true;
  }
  updatedAt = performance.now();
  body.classList.remove("silent");
  const version = document.querySelector("#alive [data-version]");
  if (version && version.dataset.version !== body.dataset.version) location.reload();
  if (!isChanged) return;
  fit();
  settle();
};

let source = null;
let retry = 0;

const close = () => {
  if (source) source.close();
  source = null;
  clearTimeout(retry);
};

const open = () => {
  close();
  // A preview has no live updates.
  if (document.hidden || !body.dataset.live) return;
  source = new EventSource(body.dataset.live);
  source.onmessage = (event) => replace(event.data);
  source.onerror = () => {
    // The browser does not reconnect after an error response.
    if (source && source.readyState === 2) retry = setTimeout(open, 5000);
  };
};

document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => { if (event.persisted) open(); });

// After 30 seconds without an update, the page shows that the kiosk is out of service instead of old tickets,
// and connects again.
let connectedAt = performance.now();
const watch = () => {
  const now = performance.now();
  if (now - updatedAt < 30000 || !body.dataset.live) return;
  body.classList.add("silent");
  if (now - connectedAt < 10000 || document.hidden) return;
  connectedAt = now;
  open();
};

// Counts down the time to pay.
const tick = () => {
  all("[data-left]").forEach((left) => {
    const seconds = Math.max(0, Number(left.dataset.left) - 1);
    left.dataset.left = seconds;
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  });
  all("progress").forEach((bar) => { bar.value -= 1; });
};

setInterval(() => { watch(); tick(); }, 1000);

// --- The tablet: shows the answer without loading a page ------------------------------------------

// The message of an order that has ended goes after a minute, for the next customer.
let settled = 0;
// The last button that was pressed without an answer. The next press of another one is another order, and so is
// each press after the message has gone: they are another customer's.
let unanswered = null;
const beginOrder = () => {
  unanswered = null;
  const numbers = Array.from(crypto.getRandomValues(new Uint32Array(4)));
  all("form[data-inline] [name=id]").forEach((field) => {
    field.value = `tablet-${numbers.map((number) => number.toString(36)).join("")}`;
  });
};

const settle = () => {
  const message = document.querySelector(".message");
  const isEnded = message && message.querySelector(".good, .bad, p.warn");
  if (!isEnded) {
    clearTimeout(settled);
    settled = 0;
  } else if (!settled) {
    settled = setTimeout(() => { settled = 0; message.textContent = ""; beginOrder(); fit(); }, 60000);
  }
};

const press = async (form, button) => {
  const message = document.querySelector(".message");
  message.setAttribute("aria-busy", "true");
  clearTimeout(settled);
  if (unanswered && unanswered !== button.value) beginOrder();
  const fields = new URLSearchParams();
  all("input", form).forEach((input) => fields.append(input.name, input.value));
  fields.append(button.name, button.value);
  // The time of the press by the server's clock, which refuses the press if a stalled network delivers it late.
  const update = Number(document.querySelector("#alive [data-now]").dataset.now);
  fields.append("at", String(Math.round(update + performance.now() - updatedAt)));
  const limit = new Promise((resolve, reject) => setTimeout(reject, 10000));
  try {
    const response = await Promise.race([limit, fetch(form.action, {
      method: "POST", body: String(fields), credentials: "same-origin",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    })]);
    // The link of the page is not valid any more.
    if (response.status === 404) body.classList.add("silent");
    const page = new DOMParser().parseFromString(await Promise.race([limit, response.text()]), "text/html");
    const answer = page.querySelector(".message");
    if (!response.ok || !answer) throw new Error("no answer");
    message.innerHTML = answer.innerHTML;
    fit();
    // The next press is a new order with a new id.
    const id = page.querySelector("[data-inline] [name=id]");
    if (id) form.querySelector("[name=id]").value = id.value;
    unanswered = null;
    // The server sends all parts on a new connection. Parts in an answer may be out of date.
    open();
  } catch (error) {
    // The page stays, and sends nothing by itself. Another press of the button has the same id: both order one juice.
    unanswered = button.value;
    const notice = document.createElement("p");
    notice.className = "notice warn";
    notice.textContent = message.dataset.none;
    message.textContent = "";
    message.appendChild(notice);
    fit();
  }
  clearTimeout(settled);
  settled = 0;
  settle();
  message.removeAttribute("aria-busy");
  window.scrollTo(0, 0);
};

all("form[data-inline]").forEach((form) => {
  let isBusy = false;
  let pressed = null;
  form.addEventListener("click", (event) => { pressed = event.target.closest("button") || pressed; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy || !pressed) return;
    isBusy = true;
    await press(form, pressed);
    isBusy = false;
  });
});

addEventListener("resize", fit);
addEventListener("load", fit);
fit();
settle();
open();
