import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';

/** How the store deviates from its normal behavior. */
export interface SecretStoreBehaviour {
  /** Returns this for every request. */
  readonly answer?: { status: number; body?: string; headers?: Record<string, string> };
  readonly delayMs?: number;
  /** Starts a response with status 200 and never ends it: one byte per interval, in milliseconds. */
  readonly tricklesEveryMs?: number;
  /** Closes the connection. */
  readonly hangsUp?: boolean;
}

/** A store with the KV version 2 API of Vault that rejects all requests outside that API. */
export interface TestSecretStore {
  readonly url: string;
  /** The settings of a service that uses this store. */
  readonly settings: Record<string, string>;
  /** The values by their paths below `kv/data/`. */
  readonly values: ReadonlyMap<string, string>;
  /** Each request as `METHOD path`. */
  readonly asked: string[];
  behave(behaviour: SecretStoreBehaviour): void;
  /** Called in the middle of each request, which continues when the promise resolves. */
  beforeAnswer?: () => Promise<void>;
  /** @throws Error when a request was not part of the API */
  close(): Promise<void>;
}

interface StoredSecret {
  readonly value: string;
  readonly version: number;
}

const address = /^\/v1\/kv\/(data|metadata)\/(tenants\/[a-z0-9-]+(?:\/[a-z0-9][a-z0-9-]*){2,5})$/;

export async function startSecretStore(): Promise<TestSecretStore> {
  const token = `hvs.${randomBytes(24).toString('base64url')}`;
  keepSecret('token of the secret store', token);
  const stored = new Map<string, StoredSecret>();
  const values = new Map<string, string>();
  const asked: string[] = [];
  const faults: string[] = [];
  let behaviour: SecretStoreBehaviour = {};
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const store: TestSecretStore = {
    url,
    settings: { CP_SECRET_STORE_URL: url, CP_SECRET_STORE_TOKEN: token },
    values,
    asked,
    behave(next) {
      behaviour = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      if (faults.length > 0)
        throw new Error(`Requests that Vault's wire doesn't have:\n${faults.join('\n')}`);
    },
  };
  return store;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const text = await readText(req);
    asked.push(`${req.method} ${req.url}`);
    await store.beforeAnswer?.();
    if (await misbehaves(res)) return;
    if (req.headers['x-vault-token'] !== token) return send(res, 403, { errors: ['permission denied'] });
    const fault = faultOf(req, text);
    if (fault !== undefined) {
      faults.push(`${req.method} ${req.url}: ${fault}`);
      return send(res, 400, { errors: [fault] });
    }
    const [, , path = ''] = address.exec(req.url ?? '') ?? [];
    if (req.method === 'GET') return read(res, path);
    if (req.method === 'POST') return write(res, path, text);
    stored.delete(path);
    values.delete(path);
    return send(res, 204);
  }

  async function misbehaves(res: ServerResponse): Promise<boolean> {
    const { answer: fixed, delayMs, hangsUp, tricklesEveryMs } = behaviour;
    if (delayMs !== undefined) await sleep(delayMs, undefined, { ref: false });
    if (hangsUp) res.destroy();
    else if (tricklesEveryMs !== undefined) {
      res.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => res.write(' '), tricklesEveryMs).unref();
      res.once('close', () => clearInterval(timer));
    } else if (fixed !== undefined)
      res.writeHead(fixed.status, { 'content-type': 'application/json', ...fixed.headers }).end(fixed.body);
    else return false;
    return true;
  }

  function read(res: ServerResponse, path: string): void {
    const found = stored.get(path);
    if (found === undefined) return send(res, 404, { errors: [] });
    const { value, version } = found;
    return send(res, 200, wrapped({ data: { value }, metadata: metadataOf(version) }));
  }

  function write(res: ServerResponse, path: string, text: string): void {
    const { data, options } = JSON.parse(text) as { data: { value: string }; options?: { cas: number } };
    const version = stored.get(path)?.version ?? 0;
    if (options !== undefined && options.cas !== version)
      return send(res, 400, { errors: ['check-and-set parameter did not match the current version'] });
    stored.set(path, { value: data.value, version: version + 1 });
    values.set(path, data.value);
    return send(res, 200, wrapped(metadataOf(version + 1)));
  }
}

/** The reason why Vault would reject a request, or interpret it differently. */
function faultOf(req: IncomingMessage, text: string): string | undefined {
  const [, kind] = address.exec(req.url ?? '') ?? [];
  if (kind === undefined) return 'no path of the KV engine';
  if (req.headers['x-vault-request'] !== 'true') return 'without X-Vault-Request';
  if (req.method === 'DELETE')
    return kind === 'metadata' && text === '' ? undefined : 'a deletion that leaves versions';
  if (kind !== 'data') return 'metadata are neither read nor written';
  if (req.method === 'GET') return text === '' ? undefined : 'a read with a body';
  if (req.method !== 'POST') return 'no such method';
  if (req.headers['content-type'] !== 'application/json') return 'the body is not declared as JSON';
  const { data, options, ...rest } = JSON.parse(text) as Record<string, Record<string, unknown> | undefined>;
  const isValue = Object.keys(data ?? {}).join() === 'value' && typeof data?.['value'] === 'string';
  const isOption = options === undefined || (Object.keys(options).join() === 'cas' && options['cas'] === 0);
  return isValue && isOption && Object.keys(rest).length === 0 ? undefined : 'another body';
}

function metadataOf(version: number): object {
  return {
    created_time: new Date().toISOString(),
    custom_metadata: null,
    deletion_time: '',
    destroyed: false,
    version,
  };
}

function wrapped(data: object): object {
  return {
    request_id: newId(),
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
    mount_type: 'kv',
  };
}

async function readText(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function send(res: ServerResponse, status: number, body?: object): void {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  res.end(body === undefined ? undefined : JSON.stringify(body));
}
