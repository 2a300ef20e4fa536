import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Entity {
  readonly kind: string;
  readonly key: string;
  readonly text?: string;
}

interface Snapshot {
  readonly namespace: string;
  readonly dryRun?: boolean;
  readonly entities: readonly Entity[];
}

/** A context request to a memory service. */
interface Question {
  readonly query: string;
  readonly max_tokens?: number;
  readonly scope: { readonly namespace: string; readonly namespaces?: readonly string[] };
}

const bodyBytesMax = 9_000_000;
/** The maximum number of stored snapshots; the demo sends one. */
const namespacesMax = 100;

/**
 * A memory service for the temporary Baton of the demo: it keeps one snapshot per namespace in memory and returns the
 * whole snapshot for every request. It accepts events and discards them. It implements no other call of the memory
 * service (docs/reference/memory.md): anything else returns 404.
 * @returns its address on loopback, and a function that stops it
 */
export async function startDemoMemory(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const known = new Map<string, readonly Entity[]>();
  const server = createServer((request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    jsonOf(request)
      .then((body) => answerTo(known, `${request.method} ${request.url}`, body))
      .then(
        ({ status, body }) => send(status, body),
        () => send(400, {}),
      );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

function answerTo(known: Map<string, readonly Entity[]>, call: string, body: unknown) {
  switch (call) {
    case 'GET /healthz':
      return { status: 200, body: { status: 'ok' } };
    case 'POST /api/memory/observations:batch':
      return { status: 207, body: taken(body as { observations: readonly unknown[] }) };
    case 'POST /api/memory/reconcile':
      return { status: 200, body: reconcile(known, body as Snapshot) };
    case 'POST /api/memory/context':
      return { status: 200, body: contextOf(known, body as Question) };
    default:
      return { status: 404, body: {} };
  }
}

function taken({ observations }: { readonly observations: readonly unknown[] }): object {
  const results = observations.map((_, n) => ({ observation_id: `observation-${n}` }));
  return { results, accepted: results.length, duplicates: 0, failed: 0 };
}

function reconcile(known: Map<string, readonly Entity[]>, snapshot: Snapshot): object {
  const { namespace, entities, dryRun = false } = snapshot;
  const before = new Map((known.get(namespace) ?? []).map((entity) => [entity.key, entity]));
  const after = new Set(entities.map(({ key }) => key));
  const isOther = (entity: Entity) =>
    before.has(entity.key) && JSON.stringify(before.get(entity.key)) !== JSON.stringify(entity);
  const changes = {
    opened: entities.filter(({ key }) => !before.has(key)).map(nameOf),
    changed: entities.filter(isOther).map(nameOf),
    closed: [...before.values()].filter(({ key }) => !after.has(key)).map(nameOf),
  };
  if (!dryRun && known.size < namespacesMax) known.set(namespace, entities);
  const stateToken = createHash('sha256')
    .update(JSON.stringify(known.get(namespace) ?? []))
    .digest('hex');
  return { duplicate: false, dryRun, stateToken, changes };
}

function contextOf(
  known: Map<string, readonly Entity[]>,
  { query, max_tokens: budget, scope }: Question,
): object {
  const namespaces = scope.namespaces ?? [scope.namespace];
  const entities = namespaces.flatMap((namespace) => known.get(namespace) ?? []);
  const sections = entities.map(({ key, text = '' }) => ({ title: key, text }));
  const trace_id = createHash('sha256').update(JSON.stringify(scope)).digest('hex').slice(0, 16);
  // An estimate: a token has about four characters.
  const token_estimate = Math.ceil(JSON.stringify(sections).length / 4);
  return { query, sections, sources: [], token_estimate, budget, conflicts: [], trace_id, stats: {} };
}

const nameOf = ({ kind, key }: Entity) => ({ kind, key });

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > bodyBytesMax) throw new Error('too long a body');
  }
  return text === '' ? undefined : JSON.parse(text);
}
