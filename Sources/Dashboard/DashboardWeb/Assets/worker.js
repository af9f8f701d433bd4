// Serves the cached pages of a route when there is no network.
"use strict";

const ROUTES = "routes";
// The path below which a proxy serves the pages, with a / at its end.
const BASE = new URL("./", location).pathname;

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

// A signal that aborts a request. (`AbortSignal.timeout` is missing in iOS 15.)
const timeout = (milliseconds) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
};

// Returns the cached page only if the request fails or takes longer than four seconds.
const page = async (request) => {
  const cache = await caches.open(ROUTES);
  const { pathname, search } = new URL(request.url);
  const old = await cache.match(pathname);
  try {
    const answer = await fetch(request, old ? { signal: timeout(4000) } : undefined);
    // A query fills in numbers, which belong to one visit of the page.
    if (old && !search && answer.ok && answer.type === "basic") await cache.put(pathname, answer.clone());
    return answer;
  } catch {
    return old ?? Response.error();
  }
};

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate") event.respondWith(page(request));
  // The path of an asset changes with its content, so a cached asset is never outdated.
  if (pathname.startsWith(`${BASE}assets/`)) {
    event.respondWith(caches.match(request).then((file) => file ?? fetch(request)));
  }
});
