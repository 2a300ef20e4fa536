import './dom.ts';
import assert from 'node:assert/strict';
import { test as nodeTest, type TestContext } from 'node:test';
import type { ComponentType } from 'react';
import { approvalWith } from './approvals.ts';
import {
  copied,
  departures,
  FakeNotification,
  hearFromTab,
  notifications,
  sockets,
  toldToTabs,
} from './dom.ts';
import { all, type Role, textIn } from './look.ts';
import { type Answers, exampleOf, FakeService, type Others, Refusal } from './service.ts';

const { createElement } = await import('react');
const { createRoot } = await import('react-dom/client');
const { QueryClientProvider } = await import('@tanstack/react-query');
const { RouterProvider } = await import('@tanstack/react-router');
const { queries } = await import('../queries.ts');
const { router } = await import('../router.tsx');
const { setServerClock } = await import('../server-clock.ts');

/**
 * The router's own function: a mounted page replaces it, and the replacement would make the next page wait for the
 * unmounted one.
 */
const { startTransition } = router;
/** Only a failing test waits this long. */
const patienceMs = 60_000;
/** The clock for waiting, which stays real where a test replaces the page's clock. */
const nowMs = performance.now.bind(performance);

export const meId = '0190b2c4-0000-7000-8000-0000000000ad';
/** Every permission that a page checks, except `admin`. */
export const everything = [
  'agents.read',
  'approvals.read',
  'claims.manage',
  'events.read',
  'goals.read',
  'operations.manage',
  'operations.read',
  'org.manage',
  'org.read',
  'principals.read',
  'principals.write',
  'processes.operate',
  'processes.read',
  'projects.manage',
  'projects.read',
  'rules.read',
  'rules.write',
  'sessions.manage',
  'sessions.open',
  'tasks.claim',
  'tasks.read',
  'tasks.write',
];

type Me = ReturnType<typeof exampleOf<'harness.getContext'>>;

/** Returns the context of Ada, the signed-in person. */
export function meWith(other: Partial<Me> = {}): Me {
  const example = exampleOf('harness.getContext');
  return {
    ...example,
    tenant: { ...example.tenant, name: 'Acme' },
    principal: { id: meId, kind: 'human', displayName: 'Ada', status: 'active' },
    session: null,
    activeSessions: [],
    activeClaims: [],
    activeRuns: [],
    suspendedRuns: [],
    pendingApprovals: [],
    permissions: everything,
    ...other,
  };
}

const claims = { iss: 'https://iam.test', tenant_id: '0190b2c4-0000-7000-8000-00000000007e' };
/** An access token in the form that pages parse; no test validates its signature. */
const accessToken = `e30.${btoa(JSON.stringify(claims))}.none`;

const usual: Answers = {
  'events.list': { items: [], nextCursor: 'ec1_end', hasMore: false, prevCursor: null },
  'approvals.get': ({ ids: [id = ''] }) => approvalWith({ id }),
  // The navigation shows their number while the administration is unlocked.
  'identity.signInRequests.list': { items: [], next_after: null },
  // Sentences about events look up the names of their objects.
  'tasks.get': new Refusal(404, 'not_found'),
  'runs.get': new Refusal(404, 'not_found'),
  'principals.get': ({ ids: [id = ''] }) =>
    exampleOf('principals.get', {
      id,
      displayName: id === meId ? 'Ada' : 'Grace',
      kind: id === meId ? 'human' : 'agent',
    }),
};
const usualOthers: Others = {
  '/console/token': { accessToken, expiresIn: 300, person: 'ada' },
  '/console/demo': { isAllowed: false },
  '/console/providers': { providers: [] },
};

let mounted: (() => void) | undefined;
let service: FakeService | undefined;

interface OpenOptions {
  readonly me?: Partial<Me>;
  readonly answers?: Answers;
  readonly others?: Others;
}

/** Opens the console at an address and waits until the page is idle. */
export async function open(path: string, options: OpenOptions = {}): Promise<FakeService> {
  const opened = await begin(path, options);
  await settled();
  return opened;
}

/** Opens the console at an address. */
export async function begin(
  path: string,
  { me = {}, answers = {}, others = {} }: OpenOptions = {},
): Promise<FakeService> {
  assert.equal(mounted, undefined, 'one page at a time');
  const opened = new FakeService(
    { ...usual, 'harness.getContext': meWith(me), ...answers },
    { ...usualOthers, ...others },
  );
  service = opened;
  globalThis.fetch = opened.fetch;
  router.history.replace(path);
  // Load the route first: otherwise the first render shows the page of the previous test.
  await router.load();
  const container = document.body.appendChild(document.createElement('div'));
  const root = createRoot(container, { onUncaughtError: (error) => void crashes.push(error) });
  root.render(
    createElement(QueryClientProvider, { client: queries }, createElement(RouterProvider, { router })),
  );
  mounted = () => {
    root.unmount();
    container.remove();
  };
  return opened;
}

/** Renders one component alone and unmounts the previous one. */
export async function draw<Props extends object>(
  component: ComponentType<Props>,
  props: Props,
): Promise<void> {
  mounted?.();
  const container = document.body.appendChild(document.createElement('div'));
  const root = createRoot(container, { onUncaughtError: (error) => void crashes.push(error) });
  root.render(createElement(QueryClientProvider, { client: queries }, createElement(component, props)));
  mounted = () => {
    root.unmount();
    container.remove();
  };
  await settled();
}

const crashes: unknown[] = [];

/** Unmounts the page and clears its caches, its storage and the recorded calls. */
async function leave(): Promise<void> {
  for (const close of document.querySelectorAll<HTMLElement>('[aria-label="Notifications"] button'))
    close.click();
  mounted?.();
  mounted = undefined;
  router.startTransition = startTransition;
  queries.getMutationCache().clear();
  queries.clear();
  const left = service;
  service = undefined;
  for (const list of [departures, toldToTabs, copied, sockets, notifications] as unknown[][]) list.length = 0;
  localStorage.clear();
  setServerClock(new Date(Date.now()).toUTCString());
  document.body.replaceChildren();
  await pause();
  assert.deepEqual(crashes.splice(0), []);
  assert.deepEqual(left?.unknown ?? [], [], 'the page sent requests without a prepared response');
}

/** Registers a test that unmounts its page. Hooks would run only for the first file of a process that runs several. */
export function test(name: string, act: (t: TestContext) => unknown): void {
  void nodeTest(name, async (t) => {
    try {
      await act(t);
    } catch (error) {
      await leave().catch(() => undefined);
      throw error;
    }
    await leave();
  });
}

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

/** Waits until a condition holds. */
export async function until<Value>(
  look: () => Value | undefined | false | null,
  what?: () => string,
): Promise<Value> {
  const endsAt = nowMs() + patienceMs;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false && found !== null) return found;
    if (nowMs() > endsAt) assert.fail(`${what?.() ?? String(look)}; the page shows:\n${seen()}`);
    await pause();
  }
}

/** Waits until the page has no pending query, mutation, navigation or render. */
export async function settled(): Promise<void> {
  let quiet = 0;
  let before = '';
  await until(() => {
    const now = document.body.innerHTML;
    const isBusy = queries.isFetching() > 0 || queries.isMutating() > 0 || router.state.status !== 'idle';
    quiet = isBusy || now !== before || document.body.children.length === 0 ? 0 : quiet + 1;
    before = now;
    return quiet >= 4;
  });
}

/** Returns all visible text. */
export const seen = (within: Element = document.body): string => textIn(within);

/** Waits until a text is visible. */
export async function see(text: string | RegExp): Promise<void> {
  await until(
    () => (typeof text === 'string' ? seen().includes(text) : text.test(seen())),
    () => `waited for ${text}`,
  );
}

export function notSeen(text: string | RegExp): void {
  const isSeen = typeof text === 'string' ? seen().includes(text) : text.test(seen());
  assert.ok(!isSeen, `${text} is shown:\n${seen()}`);
}

/** Waits until a text is no longer visible. */
export async function unseen(text: string | RegExp): Promise<void> {
  await until(
    () => !(typeof text === 'string' ? seen().includes(text) : text.test(seen())),
    () => `waited until ${text} disappeared`,
  );
}

/** Waits for an element of a role and name, and returns the first one. */
export function find<Found extends HTMLElement = HTMLElement>(
  role: Role,
  name?: string | RegExp,
  within?: Element,
): Promise<Found> {
  return until(
    () => all(role, name, within)[0] as Found | undefined,
    () => `waited for the ${role} ${name ?? ''}`,
  );
}

/** Returns the accessible description of a control. */
export function describedBy(control: Element): string {
  const ids = control.getAttribute('aria-describedby')?.split(' ') ?? [];
  return ids.map((id) => document.getElementById(id)?.textContent ?? `no element ${id}`).join(' ');
}

/** Returns whether an element of this role and name exists. */
export const isThere = (role: Role, name?: string | RegExp): boolean => all(role, name).length > 0;

/** Waits for an enabled element of this role and name, and clicks it. */
export async function click(role: Role, name?: string | RegExp, within?: Element): Promise<void> {
  const element = await until(
    () => all(role, name, within).find((one) => !(one as HTMLButtonElement).disabled),
    () => `waited for the ${role} ${name ?? ''} to press`,
  );
  element.focus();
  element.click();
  await settled();
}

/** Fills the field of this name, or selects an option in it. */
export async function fill(role: 'textbox' | 'combobox', name: string | RegExp, text: string): Promise<void> {
  const field = await find<HTMLInputElement>(role, name);
  field.focus();
  setValue(field, text);
  await settled();
}

/** Calls the setter of the class: React overrides the setter of the element and would ignore the change. */
function setValue(field: HTMLInputElement, text: string): void {
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value') ?? {};
  set?.call(field, text);
  for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }));
}

/** Submits the form that contains a field. */
export async function submit(role: 'textbox' | 'combobox', name: string | RegExp): Promise<void> {
  (await find<HTMLInputElement>(role, name)).form?.requestSubmit();
  await settled();
}

let pressedAtMs = 0;

/** Presses keys in sequence on the focused element. */
export async function press(...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const name = key.replace('Control+', '');
    const isControl = key !== name;
    const event = new KeyboardEvent('keydown', {
      key: name,
      ctrlKey: isControl,
      bubbles: true,
      cancelable: true,
    });
    // A key sequence times out after a second: fixed timestamps keep it together on a slow machine.
    pressedAtMs += 10;
    Object.defineProperty(event, 'timeStamp', { value: pressedAtMs });
    (document.activeElement ?? document.body).dispatchEvent(event);
    await settled();
  }
}

/** Returns the address without its origin. */
export const address = (): string => location.pathname + location.search + location.hash;

export * from './service.ts';
export { all, copied, departures, FakeNotification, hearFromTab, notifications, sockets, toldToTabs };
