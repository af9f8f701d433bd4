// Opens the pages of a route where there is no network: as they were when there was one.
"use strict";

const ROUTES = "routes";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

// What is older is shown only where the network brings nothing in four seconds.
const page = async (request) => {
  const cache = await caches.open(ROUTES);
  const { pathname } = new URL(request.url);
  const old = await cache.match(pathname);
  try {
    const answer = await fetch(request, old ? { signal: AbortSignal.timeout(4000) } : undefined);
    if (old && answer.ok && answer.type === "basic") await cache.put(pathname, answer.clone());
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
  // Their paths change with what is in them.
  if (pathname.startsWith("/assets/")) {
    event.respondWith(caches.match(request).then((file) => file ?? fetch(request)));
  }
});
