import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepMessage } from '@baton/kernel/testing/leaks/leaks';
import type { MemoryItem } from '../../memory/gateway/memory.ts';
import { MemoryKnowledge } from './memory-knowledge.ts';

/** A received batch, regardless of the response. */
export interface ArrivedBatch {
  readonly namespace: string;
  readonly ids: readonly string[];
  readonly items: readonly MemoryItem[];
  readonly headers: IncomingMessage['headers'];
  readonly atMs: number;
}

/** A received query or document, regardless of the response. */
export interface ArrivedCall {
  readonly method: string;
  readonly path: string;
  readonly namespace: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests inspect the form of the query
  readonly body: any;
  readonly headers: IncomingMessage['headers'];
}

/** The behavior of the service for one namespace, or for all. */
export interface MemoryBehaviour {
  readonly delayMs?: number;
  /** Sends no response until this resolves. */
  readonly until?: Promise<unknown>;
  /** Closes the connection instead of responding. */
  readonly hangsUp?: boolean;
  /** Processes the request, then closes the connection without a response. */
  readonly losesAnswers?: boolean;
  /** Sends a response that never ends, one byte per interval. */
  readonly tricklesEveryMs?: number;
  /** Rejects any call with this namespace, alone or among others, with this status. */
  readonly refusesNamespace?: { readonly name: string; readonly status: number };
  /** Returns this for every request, and stores nothing. */
  readonly answer?: {
    readonly status: number;
    readonly body?: string;
    readonly headers?: Record<string, string>;
  };
  /** The event ids that are rejected, each by itself in a 207. */
  readonly refused?: ReadonlySet<string>;
  /** The event ids that make it reject the whole batch with this status. */
  readonly refusedWhole?: { readonly ids: ReadonlySet<string>; readonly status: number };
}

/**
 * A memory service with the API of docs/reference/memory.md#memory-service: it stores items by namespace, once per
 * (system, stream, external_id), in the order of arrival.
 */
export interface TestMemory {
  readonly url: string;
  readonly arrived: ArrivedBatch[];
  /** Every other call. */
  readonly calls: ArrivedCall[];
  readonly knowledge: MemoryKnowledge;
  /** The stored items, by namespace. */
  kept(namespace: string): readonly MemoryItem[];
  /** The ids of the stored events. */
  keptIds(namespace: string): string[];
  /** The maximum number of concurrent requests of a namespace so far. */
  parallelMax(namespace: string): number;
  /**
   * @param namespace if absent, the behavior applies to all namespaces without their own
   */
  behave(behaviour: MemoryBehaviour, namespace?: string): void;
  close(): Promise<void>;
}

const itemsMax = 500;

export async function startMemoryService(): Promise<TestMemory> {
  const arrived: ArrivedBatch[] = [];
  const calls: ArrivedCall[] = [];
  const knowledge = new MemoryKnowledge();
  const kept = new Map<string, Map<string, MemoryItem>>();
  const underWay = new Map<string, { now: number; max: number }>();
  const behaviours = new Map<string, MemoryBehaviour>();
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === 'GET' && req.url === '/healthz') return send(res, 200, { status: 'ok' });
    const text = await textOf(req);
    keepMessage({ authorization: req.headers.authorization ?? '' }, text);
    if (req.url !== '/api/memory/observations:batch') return answerCall(req, res, text);
    const { observations, scope } = JSON.parse(text) as {
      observations: MemoryItem[];
      scope: { namespace: string };
    };
    const ids = observations.map(idOf);
    arrived.push({
      namespace: scope.namespace,
      ids,
      items: observations,
      headers: req.headers,
      atMs: performance.now(),
    });
    const counted = underWay.get(scope.namespace) ?? { now: 0, max: 0 };
    underWay.set(scope.namespace, counted);
    counted.now += 1;
    counted.max = Math.max(counted.max, counted.now);
    res.once('close', () => {
      counted.now -= 1;
    });
    const behaviour = behaviourTo(scope.namespace);
    if (await misbehaves(behaviour, res)) return;
    if (observations.length > itemsMax) return send(res, 413, {});
    const { refusedWhole } = behaviour;
    if (refusedWhole !== undefined && ids.some((id) => refusedWhole.ids.has(id)))
      return send(res, refusedWhole.status, { error: 'invalid' });
    return send(res, 207, take(scope.namespace, observations, behaviour.refused ?? new Set()));
  }

  const behaviourTo = (namespace: string) => behaviours.get(namespace) ?? behaviours.get('') ?? {};

  async function misbehaves(behaviour: MemoryBehaviour, res: ServerResponse): Promise<boolean> {
    const { delayMs, until, hangsUp, answer: fixed, tricklesEveryMs } = behaviour;
    if (delayMs !== undefined) await sleep(delayMs, undefined, { ref: false });
    await until;
    if (hangsUp) {
      res.destroy();
      return true;
    }
    if (tricklesEveryMs !== undefined) {
      res.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => res.write(' '), tricklesEveryMs).unref();
      res.once('close', () => clearInterval(timer));
      return true;
    }
    if (fixed === undefined) return false;
    const { status, body = '{}', headers } = fixed;
    res.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(body);
    return true;
  }

  async function answerCall(req: IncomingMessage, res: ServerResponse, text: string): Promise<void> {
    const { pathname: path, searchParams } = new URL(req.url ?? '', origin);
    const method = req.method as string;
    const body = text === '' ? {} : JSON.parse(text);
    const namespace = String(body.scope?.namespace ?? body.namespace ?? searchParams.get('namespace') ?? '');
    calls.push({ method, path, namespace, body, headers: req.headers });
    const behaviour = behaviourTo(namespace);
    if (await misbehaves(behaviour, res)) return;
    const { refusesNamespace: refused, losesAnswers } = behaviour;
    if (refused !== undefined && (body.scope?.namespaces ?? [namespace]).includes(refused.name))
      return send(res, refused.status, {});
    const told = knowledge.handle(method, path, searchParams, body) ?? { status: 404, body: {} };
    if (losesAnswers) return void res.destroy();
    return send(res, told.status, told.body);
  }

  function take(namespace: string, observations: readonly MemoryItem[], refused: ReadonlySet<string>) {
    const memory = kept.get(namespace) ?? new Map<string, MemoryItem>();
    kept.set(namespace, memory);
    let [accepted, duplicates, failed] = [0, 0, 0];
    const results = observations.map((item) => {
      const { system, stream, external_id: id } = item.source;
      if (refused.has(idOf(item))) {
        failed += 1;
        return { error: { code: 'invalid_observation' } };
      }
      const key = `${system} ${stream} ${id}`;
      if (memory.has(key)) duplicates += 1;
      else {
        memory.set(key, item);
        accepted += 1;
      }
      return { observation_id: `obs-${[...memory.keys()].indexOf(key)}` };
    });
    return { results, accepted, duplicates, failed };
  }

  const keptOf = (namespace: string) => [...(kept.get(namespace)?.values() ?? [])];
  return {
    url: origin,
    arrived,
    calls,
    knowledge,
    kept: keptOf,
    keptIds: (namespace) => keptOf(namespace).map(idOf),
    parallelMax: (namespace) => underWay.get(namespace)?.max ?? 0,
    behave: (behaviour, namespace = '') => void behaviours.set(namespace, behaviour),
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

/** The id of an item's event. */
function idOf(item: MemoryItem): string {
  return item.source.external_id.replace('event:', '');
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
  return text;
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
