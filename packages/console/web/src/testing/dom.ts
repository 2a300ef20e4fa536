import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Window } from 'happy-dom';
import { transformWithOxc } from 'vite';

// Provides a document in this process and the hooks with which Node loads the page's components. Import components with
// `await import()`: Node loads the static imports of a test before it runs this module.

const sources = dirnameOf('..');
const longTimerMs = 10_000;
export const origin = 'http://baton.test';

/** A navigation that the page requested. A real browser would load the new page. */
export interface Departure {
  readonly way: 'assign' | 'replace' | 'reload';
  readonly to: string;
}

export const departures: Departure[] = [];
/** Messages that this page has sent to the other tabs. */
export const toldToTabs: unknown[] = [];
/** Texts that the page has copied to the clipboard. */
export const copied: string[] = [];
/** Sockets that the page has opened, newest last. */
export const sockets: FakeSocket[] = [];

/** Notifications that the page has shown, newest last. */
export const notifications: FakeNotification[] = [];

/** The locks of this process, before the browser's globals replace its own. */
const { locks } = globalThis.navigator;
const window = new Window({ url: `${origin}/`, width: 1280, height: 800 });

/** Transforms modules with JSX in advance, because hooks are synchronous. A style sheet returns its class names. */
async function loadComponents(): Promise<void> {
  const files = globSync('**/*.tsx', { cwd: sources }).map((file) => join(sources, file));
  const transformed = await Promise.all(
    files.map(async (file) => {
      const options = { lang: 'tsx', jsx: { runtime: 'automatic' } } as const;
      const { code } = await transformWithOxc(await readFile(file, 'utf8'), file, options);
      return [pathToFileURL(file).href, code] as const;
    }),
  );
  const modules = new Map(transformed);
  registerHooks({
    // By default Node would resolve the server builds of TanStack's packages.
    resolve: (specifier, context, next) =>
      specifier.startsWith('@tanstack/')
        ? next(specifier, { ...context, conditions: ['browser', ...context.conditions] })
        : next(specifier, context),
    load(url, context, next) {
      const style = 'export default new Proxy({}, { get: (_, name) => String(name) });';
      const source = url.endsWith('.css') ? style : modules.get(url);
      return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
    },
  });
}

/** Copies the browser's globals into this process. `fetch` and timers remain those of Node. */
function provideGlobals(): void {
  const own = new Set(['undefined', 'NaN', 'Infinity', 'globalThis', 'window', 'self', 'top', 'parent']);
  const kept =
    /^(set|clear)(Timeout|Interval|Immediate)$|^(fetch|performance|queueMicrotask|structuredClone|console|crypto|URL|URLSearchParams|AbortController|AbortSignal|Headers|Request|Response|Blob|TextEncoder|TextDecoder|ReadableStream|WritableStream|TransformStream|process|global|Buffer)$/;
  const names = new Set<string>();
  for (
    let one: object | null = window;
    one !== null && one !== Object.prototype;
    one = Object.getPrototypeOf(one)
  )
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  for (const name of names) {
    const isOfLanguage =
      name in globalThis &&
      /^[A-Z]/.test(name) &&
      !/^(Event|EventTarget|CustomEvent|MessageEvent|CloseEvent|FormData|File|Navigator|Storage)$/.test(name);
    if (own.has(name) || kept.test(name) || isOfLanguage || name === 'constructor') continue;
    const value = (window as unknown as Record<string, unknown>)[name];
    const isMethod = typeof value === 'function' && !/^[A-Z]/.test(name);
    define(globalThis, name, isMethod ? (value as () => unknown).bind(window) : value);
  }
  // Timers of 10 s or longer must not keep the process alive.
  const { setTimeout: after } = globalThis;
  const patient = (act: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = after(act, ms, ...args);
    return (ms ?? 0) >= longTimerMs ? timer.unref() : timer;
  };
  define(globalThis, 'setTimeout', patient);
  define(globalThis, 'window', globalThis);
  define(globalThis, 'self', globalThis);
  define(globalThis, 'location', watchedLocation());
  define(globalThis, 'BroadcastChannel', FakeChannel);
  define(globalThis, 'WebSocket', FakeSocket);
  define(globalThis, 'ResizeObserver', FakeObserver);
  define(globalThis, 'IntersectionObserver', FakeIntersections);
  define(globalThis, 'Notification', FakeNotification);
  define(window.navigator, 'locks', locks);
  define(globalThis, 'scrollTo', () => undefined);
  define(window.navigator, 'clipboard', {
    writeText: async (text: string) => void copied.push(text),
  });
  // happy-dom has no layout: virtual lists use these sizes as their viewport.
  for (const [name, size] of [
    ['offsetHeight', 700],
    ['offsetWidth', 1000],
    ['clientHeight', 700],
  ] as const)
    Object.defineProperty(window.HTMLElement.prototype, name, { configurable: true, get: () => size });
  define(window.Element.prototype, 'scrollIntoView', () => undefined);
  define(window.Element.prototype, 'scrollTo', () => undefined);
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { configurable: true, writable: true, value });
}

/** Returns a `location` that tests can read. It records navigations and does not perform them. */
function watchedLocation(): object {
  const { location } = window;
  const note = (way: Departure['way']) => (to: unknown) =>
    void departures.push({ way, to: String(to ?? '') });
  const ways = { assign: note('assign'), replace: note('replace'), reload: note('reload') };
  return new Proxy(location, {
    get: (target, name) =>
      name in ways ? ways[name as Departure['way']] : (Reflect.get(target, name, target) as unknown),
    set: (target, name, value) =>
      name === 'href' ? (note('assign')(value), true) : Reflect.set(target, name, value, target),
  });
}

/** Node's `BroadcastChannel` would keep this process alive and deliver messages to other tests. */
class FakeChannel extends window.EventTarget {
  constructor() {
    super();
    channels.add(this);
  }
  postMessage(data: unknown): void {
    toldToTabs.push(data);
  }
}

const channels = new Set<FakeChannel>();

/** Delivers a message from another tab. */
export function hearFromTab(data: unknown): void {
  for (const channel of channels) channel.dispatchEvent(new window.MessageEvent('message', { data }));
}

/** A socket whose server is the test. */
export class FakeSocket extends window.EventTarget {
  readonly url: string;
  readonly protocols: readonly string[];
  isClosed = false;

  constructor(url: string, protocols: readonly string[] = []) {
    super();
    this.url = url;
    this.protocols = protocols;
    sockets.push(this);
  }

  /** Delivers a message from the service. */
  brings(message: object): void {
    this.dispatchEvent(new window.MessageEvent('message', { data: JSON.stringify(message) }));
  }

  close(): void {
    this.isClosed = true;
  }
}

/** A notification of the desktop, which the test can click. */
export class FakeNotification {
  static permission: NotificationPermission = 'default';
  /** What the person answers to the browser's prompt. */
  static answer: NotificationPermission = 'granted';
  static asked = 0;
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  isClosed = false;
  onclick: (() => void) | null = null;

  constructor(title: string, { body = '', tag = '' }: NotificationOptions = {}) {
    [this.title, this.body, this.tag] = [title, body, tag];
    if (FakeNotification.permission === 'granted') notifications.push(this);
  }

  static async requestPermission(): Promise<NotificationPermission> {
    FakeNotification.asked += 1;
    FakeNotification.permission = FakeNotification.answer;
    return FakeNotification.permission;
  }

  close(): void {
    this.isClosed = true;
  }
}

class FakeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

interface Intersection {
  readonly target: unknown;
  readonly isIntersecting: boolean;
}

/** happy-dom has no layout, so every element counts as on the screen. */
class FakeIntersections extends FakeObserver {
  readonly #report: (entries: readonly Intersection[]) => void;

  constructor(report: (entries: readonly Intersection[]) => void) {
    super();
    this.#report = report;
  }

  override observe(target?: unknown): void {
    queueMicrotask(() => this.#report([{ target, isIntersecting: true }]));
  }
}

function dirnameOf(path: string): string {
  return fileURLToPath(new URL(`${path}/`, import.meta.url)).replace(/\/$/, '');
}

await loadComponents();
provideGlobals();
