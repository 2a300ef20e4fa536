import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Endpoint, endpointName } from '@baton/kernel/http/service';
import { endpoints } from '../app/endpoints.ts';
import { type ErrorCode, errors } from '../provisioning/errors.ts';
import { scimError } from '../provisioning/scim/protocol/scim-errors.ts';
import { type Answer, adminHeader, type TestIdentity } from './identity.ts';

/** A valid request. A fault is inserted into it, or changes the state that it requires. */
export interface Attempt {
  readonly ids: Record<string, string>;
  headers: Record<string, string>;
  query: string;
  // biome-ignore lint/suspicious/noExplicitAny: faults change it arbitrarily
  body: any;
}

/** A malformed request is refused with a list, which has no code. */
export type Code = ErrorCode | 'a list';

/** One fault, by its code; a note distinguishes two faults with the same code. */
export interface Fault<A extends Attempt = Attempt> {
  readonly code: Code;
  readonly note?: string;
  /** Returns a promise if it changes the database. The next pair then needs restored or new objects. */
  put(attempt: A): unknown;
}

export interface CheckOrder<A extends Attempt = Attempt> {
  /** `POST /tenants` */
  readonly endpoint: string;
  prepare(): Promise<A>;
  /** The faults, in the same order as in docs/reference. */
  readonly faults: readonly Fault<A>[];
  /** Faults whose order is tested at another endpoint; here, only pairs of neighbours are tested. */
  readonly proven?: readonly Fault<A>[];
  /** Codes of the endpoint that aren't part of the order. */
  readonly besides?: readonly ErrorCode[];
  /** Completes the request after the faults have been inserted. */
  finish?(attempt: A): unknown;
  /** Reverts the faults' changes to the database. Without this function, the next pair prepares new objects. */
  restore?(attempt: A): Promise<unknown>;
}

export const fault = <A extends Attempt>(
  code: Code,
  put: (attempt: A) => unknown,
  note?: string,
): Fault<A> => ({ code, put, ...(note === undefined ? {} : { note }) });

/** Pairs that run in parallel, each with its own objects. */
const pairsAtOnce = 8;

/** The first refusals of every admin endpoint, in order. */
export const adminFaults: readonly Fault[] = [
  fault('unauthorized', (attempt) => {
    attempt.headers = { ...attempt.headers, 'x-iam-bootstrap-token': 'another' };
  }),
  fault('a list', (attempt) => {
    if (attempt.body === undefined) attempt.query = '?nobody=asked';
    else attempt.body = { ...attempt.body, nobody: 'asked' };
  }),
];

export function attemptOf(
  ids: Record<string, string>,
  body?: unknown,
  headers: Record<string, string> = adminHeader,
): Attempt {
  return { ids, headers: { ...headers }, query: '', body };
}

/**
 * Tests an order of checks: the request is accepted, each fault alone returns its code, and of any two faults, the one
 * that the reference lists first takes precedence. Every code that the endpoint declares must be part of the order.
 */
export function orderTests<A extends Attempt>(
  identity: () => TestIdentity,
  orders: readonly CheckOrder<A>[],
): void {
  for (const order of orders) {
    const endpoint = endpoints.find((one) => endpointName(one) === order.endpoint);
    test(`${order.endpoint} checks in the documented order`, async () => {
      assert.ok(endpoint, 'no such endpoint');
      const codes = [...new Set(order.faults.map(({ code }) => code))];
      // These codes have no place in an order; `rate_limited` is one of them because failure limits are off by default.
      const outside = new Set<string>([...(order.besides ?? []), 'rate_limited', 'unauthorized', 'a list']);
      const placed = codes.filter((code) => !outside.has(code));
      const declared = endpoint.errors.filter((code) => !outside.has(code));
      assert.deepEqual(placed, declared, 'the codes that the endpoint declares, in order');
      const attempt = await order.prepare();
      const accepted = await sendAttempt(identity(), order, endpoint, attempt);
      assert.equal(accepted.status, endpoint.status, `without a fault: ${JSON.stringify(accepted.body)}`);
      const pairs = pairsOf(order).values();
      await Promise.all(Array.from({ length: pairsAtOnce }, () => tryPairs(order, endpoint, pairs)));
    });
  }

  /** Reuses the objects for the next pair, because a rejected request changes nothing, unless a fault changed them. */
  async function tryPairs(
    order: CheckOrder<A>,
    endpoint: Endpoint<never>,
    pairs: Iterable<readonly [Fault<A>, Fault<A>]>,
  ): Promise<void> {
    let prepared: A | undefined;
    for (const [winner, loser] of pairs) {
      prepared ??= await order.prepare();
      const isChanged = await expectWinner(order, endpoint, structuredClone(prepared), winner, loser);
      if (!isChanged) continue;
      if (order.restore === undefined) prepared = undefined;
      else await order.restore(prepared);
    }
  }

  /** @returns whether a fault changed the database */
  async function expectWinner(
    order: CheckOrder<A>,
    endpoint: Endpoint<never>,
    attempt: A,
    winner: Fault<A>,
    loser: Fault<A>,
  ): Promise<boolean> {
    // The later fault is inserted first, because the earlier one may remove an object that the later one needs.
    const faults = loser === winner ? [winner] : [loser, winner];
    let isChanged = false;
    for (const one of faults) {
      const change = one.put(attempt);
      isChanged ||= change instanceof Promise;
      await change;
    }
    const { status, body } = await sendAttempt(identity(), order, endpoint, attempt);
    const name = ({ code, note }: Fault<A>) => (note === undefined ? code : `${code} (${note})`);
    const message = loser === winner ? name(winner) : `${name(winner)} before ${name(loser)}`;
    assert.deepEqual(readCode(status, body), winner.code, `${message}: ${status} ${JSON.stringify(body)}`);
    return isChanged;
  }
}

/** All pairs, with the earlier fault first; each fault is also paired with itself. */
function pairsOf<A extends Attempt>({ faults, proven = [] }: CheckOrder<A>) {
  const isTried = (first: number, second: number) =>
    second - first < 2 || ![first, second].every((index) => proven.includes(faults[index] as Fault<A>));
  return faults.flatMap((winner, first) =>
    faults.flatMap((loser, second) =>
      second >= first && isTried(first, second) ? [[winner, loser] as const] : [],
    ),
  );
}

async function sendAttempt<A extends Attempt>(
  identity: TestIdentity,
  order: CheckOrder<A>,
  endpoint: Endpoint<never>,
  attempt: A,
): Promise<Answer> {
  await order.finish?.(attempt);
  const { ids, headers, query, body } = attempt;
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? assert.fail(name));
  const whole = endpoint.root ? path : `/api/v1${path}`;
  return identity.request(endpoint.method, `${whole}${query}`, { headers, body });
}

/** The code of a refusal whose status matches the table. SCIM codes are identified by the start of their messages. */
function readCode(status: number, body: Record<string, unknown>): string | undefined {
  const { detail } = body;
  if (Array.isArray(detail)) return status === 422 ? 'a list' : undefined;
  const codes = Object.keys(errors) as ErrorCode[];
  if ('schemas' in body) {
    const isForm = scimError('invalid_request').body.detail === detail;
    if (isForm) return status === 400 ? 'a list' : undefined;
    return codes.find((code) => {
      const wanted = scimError(code);
      return wanted.status === status && String(detail).startsWith(wanted.body.detail);
    });
  }
  const isKnown = codes.some((code) => {
    const { status: usual, otherStatus }: { status: number; otherStatus?: number } = errors[code];
    return code === detail && (status === usual || status === otherStatus);
  });
  return isKnown ? (detail as string) : undefined;
}
